/* Recording to a .vram file, from the beginning or from the middle of a run. */
#include "base/sized.h"
#include "live/backend.h"
#include "live/settings.h"

/* ---- the program's settings and cards: all cards' locks are held */

static vs_status put_setting(void *ctx, const vs_live_setting *setting) {
  static const vs_record_setting_kind kinds[] = {
      [VS_SETTING_NONE] = VS_RECORD_SETTING_NONE,     [VS_SETTING_BOOL] = VS_RECORD_SETTING_BOOL,
      [VS_SETTING_INT] = VS_RECORD_SETTING_INT,       [VS_SETTING_REAL] = VS_RECORD_SETTING_REAL,
      [VS_SETTING_STRING] = VS_RECORD_SETTING_STRING, [VS_SETTING_DICT] = VS_RECORD_SETTING_DICT,
  };
  VS_ASSERT((size_t)setting->kind < sizeof kinds / sizeof *kinds);
  const vs_record_setting_value value = {.key = setting->key,
                                         .kind = kinds[setting->kind],
                                         .depth = setting->depth,
                                         .bits = setting->bits,
                                         .text = setting->text};
  vs_record_put_setting(ctx, &value);
  return VS_OK;
}

static void put_devices(vs_live *live) {
  for (uint32_t i = 0; i < live->machine.count; i++)
    vs_record_device(live->recorder, (int32_t)i, vs_str_from(vs_live_machine_name(&live->machine, i)),
                     live->machine.cards[i].device.total_bytes);
}

/* ---- the state of a moment */

typedef struct visit {
  vs_recorder *recorder;
  int32_t device;
} visit;

static vs_status put_segment(void *ctx, const vs_alloc_segment_info *segment) {
  const visit *v = ctx;
  const vs_record_segment record = {.address = segment->address,
                                    .size = segment->size,
                                    .stream = segment->stream,
                                    .allocated = segment->allocated,
                                    .active = segment->active,
                                    .requested = segment->requested,
                                    .pool = segment->pool,
                                    .context = segment->context,
                                    .device = v->device,
                                    .registration = -1, /* as in snapshots: 2.15 writes none */
                                    .is_small = segment->is_small,
                                    .is_expandable = segment->is_expandable};
  vs_record_state_segment(v->recorder, &record);
  return VS_OK;
}

static vs_status put_block(void *ctx, const vs_alloc_block_info *block) {
  static const vs_record_block_state states[] = {[VS_ALLOC_BLOCK_ALLOCATED] = VS_RECORD_ALLOCATED,
                                                 [VS_ALLOC_BLOCK_PENDING] = VS_RECORD_PENDING,
                                                 [VS_ALLOC_BLOCK_FREE] = VS_RECORD_FREE};
  const visit *v = ctx;
  VS_ASSERT(block->state == VS_ALLOC_BLOCK_FREE || block->requested <= block->size);
  const vs_record_block record = {.address = block->address,
                                  .size = block->size,
                                  .requested = block->requested,
                                  .context = block->context,
                                  .state = states[block->state]};
  vs_record_state_block(v->recorder, &record);
  return VS_OK;
}

static vs_status put_state(vs_live *live, vs_record_moment moment) {
  vs_status status = VS_OK;
  vs_record_state_begin(live->recorder, moment, vs_live_now(live));
  for (uint32_t i = 0; i < live->machine.count && status == VS_OK; i++) {
    visit v = {.recorder = live->recorder, .device = (int32_t)i};
    const vs_alloc_visitor visitor = {.ctx = &v, .segment = put_segment, .block = put_block};
    status = vs_alloc_visit(live->devices[i]->alloc, (vs_pool_id){0, 0}, &visitor);
  }
  if (status == VS_OK) vs_record_state_end(live->recorder);
  return status;
}

static bool is_empty(const vs_live *live) {
  for (uint32_t i = 0; i < live->machine.count; i++)
    if (vs_alloc_statistics_of(live->devices[i]->alloc)
            ->part[VS_ALLOC_ALL]
            .current[VS_ALLOC_RESERVED_BYTES] != 0)
      return false;
  return true;
}

/* ---- on and off: all cards' locks and that of the annotations are held */

static vs_status begin(vs_live *live) {
  VS_ASSERT(live->recorder != NULL && !live->annotations.is_recorded);
  vs_record_clock(live->recorder, live->wall_ns_at_zero);
  put_devices(live);
  VS_TRY(vs_live_settings_visit(vs_alloc_settings_of(live->devices[0]->alloc), put_setting, live->recorder));
  if (!is_empty(live)) VS_TRY(put_state(live, VS_RECORD_AT_START));
  for (uint32_t i = 0; i < live->machine.count; i++)
    vs_live_watch(live->devices[i], VS_WATCH_RECORDING, true);
  live->annotations.is_recorded = true;
  return VS_OK;
}

/* No thread uses the recorder any more when this returns it: the locks that guard its uses are held. */
static vs_recorder *detach(vs_live *live) {
  vs_recorder *recorder = live->recorder;
  VS_ASSERT(recorder != NULL);
  for (uint32_t i = 0; i < live->machine.count; i++)
    vs_live_watch(live->devices[i], VS_WATCH_RECORDING, false);
  live->annotations.is_recorded = false;
  live->recorder = NULL;
  live->recording_stacks = 0;
  vs_live_update_stacks_wanted(live);
  return recorder;
}

static void lock_everything(vs_live *live) {
  vs_live_lock_all(live);
  vs_live_lock_take(&live->annotations.lock);
}

static void unlock_everything(vs_live *live) {
  vs_live_lock_give(&live->annotations.lock);
  vs_live_unlock_all(live);
}

vs_status vs_live_recording_start(vs_live *live, const char *path, bool may_replace, vs_history_stacks stacks,
                                  vs_error *error) {
  const vs_record_options options = {.path = path,
                                     .may_replace = may_replace,
                                     .stacks = live->stacks,
                                     .wait = live->time != NULL,
                                     .is_simulated = live->time != NULL};
  vs_recorder *recorder = NULL, *failed = NULL;
  VS_TRY(vs_backend_refuse_async(live, "recording", error));
  vs_status status = vs_record_open(live->host, &options, &recorder, error);
  if (status != VS_OK) return status;
  lock_everything(live);
  if (live->recorder != NULL) {
    status = vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "a recording is being written already");
    failed = recorder;
  } else {
    live->recorder = recorder;
    status = begin(live);
    if (status != VS_OK) {
      vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
      failed = detach(live);
    } else {
      live->recording_stacks = (uint32_t)VS_STACKS_ON_MALLOC |
                               (stacks == VS_HISTORY_STACKS_NATIVE ? (uint32_t)VS_STACKS_NATIVE : 0);
      vs_live_update_stacks_wanted(live);
    }
  }
  unlock_everything(live);
  if (failed != NULL) {
    const vs_status closed = vs_record_close(failed, NULL, NULL);
    (void)closed; /* `error` has the first failure */
  }
  return status;
}

/* Ends with the state of the cards, which saves readers from computing it. A recording without it (the process was
 * killed) still has all events. */
vs_status vs_live_recording_end(vs_live *live, vs_error *error) {
  lock_everything(live);
  vs_status last = VS_OK;
  vs_recorder *recorder = NULL;
  if (live->recorder != NULL) {
    last = put_state(live, VS_RECORD_AT_END);
    recorder = detach(live);
  }
  unlock_everything(live);
  if (recorder == NULL) return VS_NOT_FOUND;
  const vs_status status = vs_record_close(recorder, NULL, error);
  if (status != VS_OK || last == VS_OK) return status;
  return vs_fail(error, last, VS_NO_OFFSET, "the recording lacks the state at the end: %s",
                 vs_status_text(last));
}

vs_status vs_live_recording_stop(vs_live *live, vs_error *error) {
  const vs_status status = vs_live_recording_end(live, error);
  if (status == VS_NOT_FOUND) vs_fail(error, status, VS_NO_OFFSET, "no recording is being written");
  return status;
}

void vs_live_recording_info_sized(vs_live *live, vs_recording_info *info, size_t size) {
  vs_recording_info own = {.is_on = false};
  vs_live_lock_take(&live->annotations.lock);
  if (live->recorder != NULL) {
    const vs_record_figures figures = vs_record_figures_of(live->recorder);
    own = (vs_recording_info){.is_on = true,
                              .events = figures.events,
                              .lost = figures.lost_ring + figures.lost_file + figures.lost_other,
                              .bytes = figures.bytes};
  }
  vs_live_lock_give(&live->annotations.lock);
  vs_sized_give(info, size, &own, sizeof own);
}
