/* Recording to a .vram file, from the beginning or from the middle of a run. */
#include "alloc/settings_entries.h"
#include "base/sized.h"
#include "live/backend.h"
#include "os/thread.h"

/* ---- the program's settings and cards: all cards' locks are held */

static vs_status put_setting(void *ctx, const vs_alloc_entry *entry) {
  static const vs_record_setting_kind kinds[] = {
      [VS_ALLOC_ENTRY_BOOL] = VS_RECORD_SETTING_BOOL,     [VS_ALLOC_ENTRY_INT] = VS_RECORD_SETTING_INT,
      [VS_ALLOC_ENTRY_REAL] = VS_RECORD_SETTING_REAL,     [VS_ALLOC_ENTRY_DICT] = VS_RECORD_SETTING_DICT,
      [VS_ALLOC_ENTRY_STRING] = VS_RECORD_SETTING_STRING,
  };
  VS_ASSERT((size_t)entry->kind < sizeof kinds / sizeof *kinds);
  const vs_record_setting_value value = {.key = entry->key,
                                         .kind = kinds[entry->kind],
                                         .depth = entry->depth,
                                         .bits = entry->bits,
                                         .text = entry->text};
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

/* ---- after a loss: on the recorder's own thread
 *
 * A thread that records may hold a card's lock while it waits for this thread to make room, so this one only polls the locks. */

static bool poll_cards(vs_live *live) {
  uint32_t taken = 0;
  while (taken < live->machine.count && vs_live_lock_poll(&live->devices[taken]->lock)) taken++;
  if (taken == live->machine.count) return true;
  while (taken-- > 0) vs_live_lock_give(&live->devices[taken]->lock);
  return false;
}

static bool checkpoint(void *ctx, vs_recorder *recorder) {
  vs_live *live = ctx;
  if (!poll_cards(live)) return false;
  const bool is_held = vs_live_lock_poll(&live->annotations.lock);
  bool is_written = false;
  if (is_held &&
      live->recorder == recorder) /* else it is being started, or it is ending with a state of its own */
    is_written = put_state(live, VS_RECORD_AT_CHECKPOINT) == VS_OK;
  if (is_held) vs_live_lock_give(&live->annotations.lock);
  vs_live_unlock_all(live);
  return is_written;
}

/* ---- on and off: all cards' locks and that of the annotations are held */

static vs_status begin(vs_live *live) {
  VS_ASSERT(live->recorder != NULL && !live->annotations.is_recorded);
  live->recording_began = vs_live_now(live);
  vs_record_clock(live->recorder, live->wall_ns_at_zero);
  put_devices(live);
  const vs_alloc_settings *settings = vs_alloc_settings_of(live->devices[0]->alloc);
  const vs_str text = {settings->text, settings->text_size};
  VS_TRY(vs_alloc_entries_visit(settings, text, put_setting, live->recorder));
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

/* A child of a fork has one thread. The recorder's thread of the parent may have held the locks then. */
static bool is_child(const vs_live *live) { return live->forks != vs_fork_generation(); }

static void lock_everything(vs_live *live) {
  vs_live_lock_all(live);
  vs_live_lock_take(&live->annotations.lock);
}

static void unlock_everything(vs_live *live) {
  vs_live_lock_give(&live->annotations.lock);
  vs_live_unlock_all(live);
}

/* A recording by the program's own clock loses nothing, so that equal runs write equal files. */
static vs_status open_recorder(vs_live *live, const vs_recording_options *wanted, vs_recorder **recorder,
                               vs_error *error) {
  const bool is_simulated = live->time != NULL;
  const uint32_t wait_ms = wanted->wait_ms == 0 ? VS_LIVE_WAIT_MS : wanted->wait_ms;
  const vs_record_options options = {.path = wanted->path,
                                     .may_replace = wanted->may_replace,
                                     .stacks = live->stacks,
                                     .wait = is_simulated || !wanted->drops,
                                     .wait_ms = is_simulated ? 0 : wait_ms,
                                     .checkpoint = checkpoint,
                                     .checkpoint_ctx = live,
                                     .is_simulated = is_simulated};
  if (wanted->path == NULL) return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "a recording needs a path");
  return vs_record_open(live->host, &options, recorder, error);
}

vs_status vs_live_recording_begin_with(vs_live *live, const vs_recording_options *options, vs_error *error) {
  vs_recorder *recorder = NULL, *failed = NULL;
  VS_TRY(vs_backend_refuse_async(live, "recording", error));
  vs_status status = open_recorder(live, options, &recorder, error);
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
                               (options->stacks == VS_HISTORY_STACKS_NATIVE ? (uint32_t)VS_STACKS_NATIVE : 0);
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

vs_status vs_live_recording_begin_sized(vs_live *live, const vs_recording_options *options, size_t size,
                                        vs_error *error) {
  vs_recording_options wanted;
  VS_TRY(vs_sized_take(&wanted, sizeof wanted, options, size, error));
  return vs_live_recording_begin_with(live, &wanted, error);
}

vs_status vs_live_recording_start(vs_live *live, const char *path, bool may_replace, vs_history_stacks stacks,
                                  vs_error *error) {
  const vs_recording_options options = {.path = path, .may_replace = may_replace, .stacks = stacks};
  return vs_live_recording_begin_with(live, &options, error);
}

static vs_recording_info info_of(const vs_live *live, const vs_record_figures *figures) {
  const uint64_t since = figures->lost_since_ns, began = live->recording_began;
  return (vs_recording_info){.events = figures->events,
                             .lost = figures->lost_ring + figures->lost_file + figures->lost_other,
                             .bytes = figures->bytes,
                             .waits = figures->waits,
                             .waited_us = figures->waited_ns / 1000,
                             .checkpoints = figures->checkpoints,
                             .lost_from_us = since > began ? (since - began) / 1000 : 0};
}

/* The recorder was closed: keeps its figures. `status` is what closing returned. */
static vs_status conclude(vs_live *live, const vs_record_figures *figures, vs_status status,
                          vs_error *error) {
  const vs_recording_info info = info_of(live, figures);
  vs_live_lock_take(&live->annotations.lock);
  live->recorded = info;
  vs_live_lock_give(&live->annotations.lock);
  if (status != VS_OK || info.lost == 0) return status;
  return vs_fail(
      error, VS_LIMIT, VS_NO_OFFSET,
      "the recording lacks %U of %U events, the first %U ms after it began: its writer could not keep up; %s",
      info.lost, info.lost + info.events, info.lost_from_us / 1000,
      info.checkpoints != 0 ? "the file says which parts are exact" : "what follows is not exact");
}

/* Ends with the state of the cards, which saves readers from computing it. A recording without it (the process was
 * killed) still has all events. */
static vs_status forget_recording(vs_live *live) {
  if (live->recorder == NULL) return VS_NOT_FOUND;
  const vs_status status = vs_record_close(live->recorder, NULL, NULL);
  live->recorder = NULL;
  return status;
}

vs_status vs_live_recording_end(vs_live *live, vs_error *error) {
  if (is_child(live)) return forget_recording(live);
  lock_everything(live);
  vs_status last = VS_OK;
  vs_recorder *recorder = NULL;
  if (live->recorder != NULL) {
    last = put_state(live, VS_RECORD_AT_END);
    recorder = detach(live);
  }
  unlock_everything(live);
  if (recorder == NULL) return VS_NOT_FOUND;
  vs_record_figures figures;
  vs_status status = vs_record_close(recorder, &figures, error);
  status = conclude(live, &figures, status, error);
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
  vs_live_lock_take(&live->annotations.lock);
  vs_recording_info own = live->recorded;
  if (live->recorder != NULL) {
    const vs_record_figures figures = vs_record_figures_of(live->recorder);
    own = info_of(live, &figures);
    own.is_on = true;
  }
  vs_live_lock_give(&live->annotations.lock);
  vs_sized_give(info, size, &own, sizeof own);
}
