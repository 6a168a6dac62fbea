#include "live/snapshot_walk.h"

static vs_status see_segment(void *ctx, const vs_alloc_segment_info *segment) {
  vs_live_snapshot_walk *walk = ctx;
  VS_TRY(vs_vec_reserve(walk->host, &walk->segments, 1));
  VS_TRY(vs_vec_reserve(walk->host, &walk->block_counts, 1));
  walk->segments.data[walk->segments.count++] = *segment;
  walk->block_counts.data[walk->block_counts.count++] = 0;
  return VS_OK;
}

static vs_status see_block(void *ctx, const vs_alloc_block_info *block) {
  vs_live_snapshot_walk *walk = ctx;
  VS_TRY(vs_vec_reserve(walk->host, &walk->blocks, 1));
  VS_ASSERT(walk->segments.count > 0 && walk->block_counts.count == walk->segments.count);
  walk->blocks.data[walk->blocks.count++] = *block;
  walk->block_counts.data[walk->block_counts.count - 1]++;
  return VS_OK;
}

static vs_status see(vs_live_snapshot_walk *walk, vs_live_device *device, bool with_history) {
  const vs_alloc_visitor visitor = {.ctx = walk, .segment = see_segment, .block = see_block};
  const bool is_kept = (device->watch & VS_WATCH_HISTORY) != 0;
  VS_ASSERT(device->async == NULL);
  walk->settings = *vs_alloc_settings_of(device->alloc);
  if (with_history && is_kept) {
    VS_TRY(vs_history_copy_init(&walk->history, &device->history, walk->host));
    walk->overwritten = device->history.overwritten;
    walk->max_entries = device->history.capacity;
  }
  VS_TRY(vs_alloc_visit(device->alloc, (vs_pool_id){0, 0}, &visitor));
  device->call_time = 0;
  vs_alloc_mark_snapshot(device->alloc, (vs_pool_id){0, 0});
  return VS_OK;
}

vs_status vs_live_snapshot_walk_init(vs_live_snapshot_walk *walk, vs_live_device *device, bool with_history) {
  *walk = (vs_live_snapshot_walk){.host = device->live->host};
  vs_live_lock_take(&device->lock);
  const vs_status status = see(walk, device, with_history);
  vs_live_lock_give(&device->lock);
  if (status != VS_OK) vs_live_snapshot_walk_deinit(walk);
  return status;
}

void vs_live_snapshot_walk_deinit(vs_live_snapshot_walk *walk) {
  vs_vec_free(walk->host, &walk->segments);
  vs_vec_free(walk->host, &walk->block_counts);
  vs_vec_free(walk->host, &walk->blocks);
  vs_history_copy_deinit(&walk->history, walk->host);
}
