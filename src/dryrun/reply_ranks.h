/* The ranks of a world in the reply (docs/formats/dryrun.md). */
#ifndef VS_DRYRUN_REPLY_RANKS_H
#define VS_DRYRUN_REPLY_RANKS_H

#include "codec/json_writer.h"
#include "dryrun/outcome.h"

/* The member "ranks" of the object that is being written. */
void vs_dryrun_reply_ranks(vs_jsonw *w, const vs_ranks *ranks);

#endif
