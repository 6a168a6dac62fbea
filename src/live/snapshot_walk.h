/* Copies of a card's segments, blocks and history, made under its lock, so that a snapshot is built without it. */
#ifndef VS_LIVE_SNAPSHOT_WALK_H
#define VS_LIVE_SNAPSHOT_WALK_H

#include "live/state.h"

/* Invariant: the counts in `block_counts` (one for each segment) add up to blocks.count. */
typedef struct vs_live_snapshot_walk {
  const vs_host *host;
  VS_VEC(vs_alloc_segment_info) segments;
  VS_VEC(uint32_t) block_counts;
  VS_VEC(vs_alloc_block_info) blocks;
  vs_history_copy history;
  uint64_t overwritten, max_entries; /* of history; 0, 0 if none is kept */
  vs_alloc_settings settings;
} vs_live_snapshot_walk;

/* Takes the card's lock, and makes a snapshot event. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_live_snapshot_walk_init(vs_live_snapshot_walk *walk, vs_live_device *device,
                                                   bool with_history);
void vs_live_snapshot_walk_deinit(vs_live_snapshot_walk *walk);

#endif
