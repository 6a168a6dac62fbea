#include "live/look.h"

static vs_status see_segment(void *ctx, const vs_alloc_segment_info *segment) {
  vs_live_look *look = ctx;
  VS_TRY(vs_vec_reserve(look->host, &look->segments, 1));
  VS_TRY(vs_vec_reserve(look->host, &look->block_counts, 1));
  look->segments.data[look->segments.count++] = *segment;
  look->block_counts.data[look->block_counts.count++] = 0;
  return VS_OK;
}

static vs_status see_block(void *ctx, const vs_alloc_block_info *block) {
  vs_live_look *look = ctx;
  VS_TRY(vs_vec_reserve(look->host, &look->blocks, 1));
  look->blocks.data[look->blocks.count++] = *block;
  look->block_counts.data[look->block_counts.count - 1]++;
  return VS_OK;
}

static vs_status see(vs_live_look *look, vs_live_device *device, bool with_history) {
  const vs_alloc_visitor visitor = {.ctx = look, .segment = see_segment, .block = see_block};
  const bool is_kept = (device->watch & VS_WATCH_HISTORY) != 0;
  look->settings = *vs_alloc_settings_of(device->alloc);
  if (with_history && is_kept) {
    VS_TRY(vs_history_copy_init(&look->history, &device->history, look->host));
    look->overwritten = device->history.overwritten;
    look->max_entries = device->history.capacity;
  }
  VS_TRY(vs_alloc_visit(device->alloc, (vs_pool_id){0, 0}, &visitor));
  device->call_time = 0;
  vs_alloc_mark_snapshot(device->alloc, (vs_pool_id){0, 0});
  return VS_OK;
}

vs_status vs_live_look_init(vs_live_look *look, vs_live_device *device, bool with_history) {
  *look = (vs_live_look){.host = device->live->host};
  vs_live_lock_take(&device->lock);
  const vs_status status = see(look, device, with_history);
  vs_live_lock_give(&device->lock);
  if (status != VS_OK) vs_live_look_deinit(look);
  return status;
}

void vs_live_look_deinit(vs_live_look *look) {
  vs_vec_free(look->host, &look->segments);
  vs_vec_free(look->host, &look->block_counts);
  vs_vec_free(look->host, &look->blocks);
  vs_history_copy_deinit(&look->history, look->host);
}
