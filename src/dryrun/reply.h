/* The answer of a dry run: docs/formats/dryrun.md describes its keys. */
#ifndef VS_DRYRUN_REPLY_H
#define VS_DRYRUN_REPLY_H

#include "codec/json_writer.h"
#include "dryrun/outcome.h"

/* Appends one JSON object on one line, without a line feed. If memory runs out, text->status says so. */
void vs_dryrun_put_reply(vs_text *text, const vs_outcome *outcome);

/* The same as a value of the reply that is being written. */
void vs_dryrun_reply_put(vs_jsonw *w, const vs_outcome *outcome);

/* The KV cache of an engine in it, as a value; null where none told it. */
void vs_dryrun_reply_kv_cache(vs_jsonw *w, const vs_result *result);

#endif
