/* The answer of a dry run: docs/formats/dryrun.md describes its keys. */
#ifndef VS_DRYRUN_REPLY_H
#define VS_DRYRUN_REPLY_H

#include "dryrun/outcome.h"

/* One JSON object on one line, without a line feed. Lack of memory is the text's. */
void vs_dryrun_put_reply(vs_text *text, const vs_outcome *outcome);

#endif
