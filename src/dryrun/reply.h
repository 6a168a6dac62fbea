/* The answer of a dry run: docs/formats/dryrun.md describes its keys. */
#ifndef VS_DRYRUN_REPLY_H
#define VS_DRYRUN_REPLY_H

#include "dryrun/outcome.h"

/* Appends one JSON object on one line, without a line feed. If memory runs out, text->status says so. */
void vs_dryrun_put_reply(vs_text *text, const vs_outcome *outcome);

#endif
