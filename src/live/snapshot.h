/* A snapshot of the current segments and blocks, and of history. */
#ifndef VS_LIVE_SNAPSHOT_H
#define VS_LIVE_SNAPSHOT_H

#include "live/state.h"
#include "snapshot/model.h"

/* Copies one card after the other, each under its lock. As in PyTorch, a card's trace is copied before its segments
 * and ends just before the snapshot's own event. On success the caller owns *out. Fails: VS_NO_MEMORY, VS_LIMIT
 * (more than 2^32 events) */
VS_MUST_CHECK vs_status vs_live_snapshot(vs_live *live, bool with_history, vs_snapshot **out);

#endif
