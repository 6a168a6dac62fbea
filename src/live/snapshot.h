/* A snapshot of what there is now, and of what history has. */
#ifndef VS_LIVE_SNAPSHOT_H
#define VS_LIVE_SNAPSHOT_H

#include "live/state.h"
#include "snapshot/model.h"

/* Looks at one card after the other, each under its lock for as long as copying takes; a trace is copied before its card's
 * segments, and ends just before the snapshot's own event, as PyTorch does it. On success the caller owns *out.
 * Fails: VS_NO_MEMORY, VS_LIMIT (more than 2^32 events) */
VS_MUST_CHECK vs_status vs_live_snapshot(vs_live *live, bool with_history, vs_snapshot **out);

#endif
