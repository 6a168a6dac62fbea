/* The options of history, by the rules of torch.cuda.memory._record_memory_history. */
#include "base/sized.h"
#include "live/backend.h"
#include "live/error_text.h"

void vs_live_update_stacks_wanted(vs_live *live) {
  atomic_store_explicit(&live->stacks_wanted, live->history_stacks | live->recording_stacks,
                        memory_order_relaxed);
}

static uint32_t wanted_by(const vs_history_options *options) {
  if (options->enabled == VS_HISTORY_OFF || options->context == VS_HISTORY_CONTEXT_NEVER) return 0;
  return (uint32_t)VS_STACKS_ON_MALLOC |
         (options->context == VS_HISTORY_CONTEXT_ALL ? (uint32_t)VS_STACKS_ON_FREE : 0) |
         (options->stacks == VS_HISTORY_STACKS_NATIVE ? (uint32_t)VS_STACKS_NATIVE : 0);
}

/* ---- actions by name */

_Static_assert(VS_EVENT_KIND_COUNT <= 32, "a set of kinds is 32 bits");

static vs_status skip_one(vs_str name, uint32_t *skipped, vs_error *error) {
  for (int kind = 0; kind < VS_EVENT_KIND_COUNT; kind++) {
    if (!vs_str_equal(name, vs_str_from(vs_event_kind_action((vs_event_kind)kind)))) continue;
    *skipped |= UINT32_C(1) << kind;
    return VS_OK;
  }
  return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "\"%S\" is no action of the history", name);
}

static vs_status read_actions(const char *names, uint32_t *skipped, vs_error *error) {
  *skipped = 0;
  for (const char *at = names; at != NULL && *at != 0;) {
    size_t size = 0;
    while (at[size] != 0 && at[size] != ',') size++;
    if (size != 0) VS_TRY(skip_one((vs_str){at, size}, skipped, error));
    at += at[size] == ',' ? size + 1 : size;
  }
  return VS_OK;
}

/* ---- one card: its lock is held */

static vs_status keep_on(vs_live_device *device, const vs_history_options *options, uint32_t skipped) {
  const vs_host *host = device->live->host;
  if (options->enabled == VS_HISTORY_OFF || options->clear) vs_history_clear(&device->history, host);
  if (options->enabled == VS_HISTORY_OFF) {
    vs_live_watch(device, VS_WATCH_HISTORY, false);
    return VS_OK;
  }
  VS_TRY(vs_history_resize(&device->history, host,
                           options->enabled == VS_HISTORY_STATE ? 1 : options->max_entries));
  VS_ASSERT(device->history.capacity >= 1);
  device->history.skipped = skipped;
  device->kept = options->context;
  vs_live_watch(device, VS_WATCH_HISTORY, true);
  return VS_OK;
}

static vs_status keep_history(vs_live *live, const vs_history_options *options, vs_error *error) {
  uint32_t skipped;
  if (options->enabled != VS_HISTORY_OFF) VS_TRY(vs_backend_refuse_async(live, "history", error));
  VS_TRY(read_actions(options->skip_actions, &skipped, error));
  vs_live_lock_all(live);
  vs_status status = vs_live_annotations_keep(live, options);
  for (uint32_t i = 0; i < live->machine.count && status == VS_OK; i++)
    status = keep_on(live->devices[i], options, skipped);
  if (status == VS_OK) {
    live->history_stacks = wanted_by(options);
    vs_live_update_stacks_wanted(live);
  }
  vs_live_unlock_all(live);
  return status == VS_OK ? VS_OK : vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
}

vs_status vs_live_history_sized(vs_live *live, const vs_history_options *options, size_t size,
                                vs_error *error) {
  vs_history_options wanted;
  VS_TRY(vs_sized_take(&wanted, sizeof wanted, options, size, error));
  return keep_history(live, &wanted, error);
}

static vs_status history_info(vs_live *live, uint32_t index, vs_history_info *info) {
  vs_live_device *device = vs_live_at(live, index);
  if (device == NULL) return vs_live_no_device(live, index);
  vs_live_lock_take(&device->lock);
  *info = (vs_history_info){.entries = device->history.entries.count,
                            .overwritten = device->history.overwritten,
                            .lost = device->history.lost};
  vs_live_lock_give(&device->lock);
  return VS_OK;
}

vs_status vs_live_history_info_sized(vs_live *live, uint32_t index, vs_history_info *info, size_t size) {
  vs_history_info own = {0};
  const vs_status status = history_info(live, index, &own);
  if (status == VS_OK) vs_sized_give(info, size, &own, sizeof own);
  return status;
}
