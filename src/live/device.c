/* One card: its allocator behind its lock, and the listeners of its events. */
#include "base/sized.h"
#include "live/backend.h"
#include "live/error_text.h"
#include "os/clock.h"

/* ---- locks and time */

void vs_live_lock_all(vs_live *live) {
  for (uint32_t i = 0; i < live->machine.count; i++) vs_live_lock_take(&live->devices[i]->lock);
}

void vs_live_unlock_all(vs_live *live) {
  for (uint32_t i = live->machine.count; i-- > 0;) vs_live_lock_give(&live->devices[i]->lock);
}

uint64_t vs_live_now(const vs_live *live) {
  return live->time == NULL ? vs_clock_ns() : (uint64_t)live->time(live->time_ctx) * 1000;
}

/* ---- events: under the lock, on the calling thread */

/* Reading the clock costs as much as an allocation, and reading thread-local memory costs something too: both are read
 * once for all events of a call. */
static void note_call(vs_live_device *device) {
  enum { NO_TEXT = 1 }; /* the empty text, since PyTorch's events always have metadata */
  const vs_live_thread *thread = vs_live_thread_of(&device->live->identity);
  device->call_metadata = thread == NULL || thread->metadata == 0 ? NO_TEXT : thread->metadata;
  device->call_time = vs_live_now(device->live);
}

/* ---- the recording: a free that is completed at once is one message. So FREE_REQUESTED is held back until the next event
 * of the call, which shows whether it was completed, or until the call ends. */

static vs_record_facts facts_of(const vs_live_device *device) {
  return (vs_record_facts){.time_ns = device->call_time,
                           .metadata = device->call_metadata,
                           .compile_context = device->live->compile_context,
                           .device = (int32_t)device->index};
}

__attribute__((noinline)) static void record_held(vs_live_device *device) {
  const vs_record_facts facts = facts_of(device);
  VS_ASSERT(device->is_held && device->held.kind == VS_EVENT_FREE_REQUESTED);
  device->is_held = false;
  vs_record_event(device->live->recorder, &device->held, &facts);
}

static void record(vs_live_device *device, const vs_event *event) {
  VS_ASSERT(device->live->recorder != NULL && device->call_time != 0);
  const vs_record_facts facts = facts_of(device);
  if (device->is_held && event->kind == VS_EVENT_FREE_COMPLETED && event->address == device->held.address) {
    device->is_held = false;
    vs_record_free(device->live->recorder, event, &facts);
    return;
  }
  if (device->is_held) record_held(device);
  device->is_held = event->kind == VS_EVENT_FREE_REQUESTED;
  if (device->is_held) device->held = *event;
  else vs_record_event(device->live->recorder, event, &facts);
}

static void remember(vs_live_device *device, const vs_event *event) {
  if (device->call_time == 0) note_call(device);
  if ((device->watch & VS_WATCH_HISTORY) != 0)
    vs_history_add(&device->history, device->live->host, event,
                   device->kept >= VS_HISTORY_CONTEXT_ALLOC ? event->context : VS_CONTEXT_NONE,
                   device->call_metadata, device->call_time);
  if ((device->watch & VS_WATCH_RECORDING) != 0) record(device, event);
}

static void observe(void *ctx, const vs_event *event) {
  vs_live_device *device = ctx;
  VS_ASSERT(device->watch != 0 || device->async != NULL); /* else the allocator has no observer */
  if ((device->watch & VS_WATCH_SCOPES) != 0) vs_scopes_event(&device->scopes, event);
  if ((device->watch & (VS_WATCH_HISTORY | VS_WATCH_RECORDING)) != 0) remember(device, event);
}

void vs_live_watch(vs_live_device *device, uint32_t listener, bool on) {
  const vs_observer observer = {.ctx = device, .event = observe};
  VS_ASSERT(listener == VS_WATCH_SCOPES || listener == VS_WATCH_HISTORY || listener == VS_WATCH_RECORDING);
  device->watch = on ? device->watch | listener : device->watch & ~listener;
  vs_alloc_observer_set(device->alloc, device->watch == 0 ? NULL : &observer);
}

/* Driver calls that the allocator makes without the lock if the settings say so (release_lock_on_cudamalloc). */
static void unlock_for_driver(void *ctx) { vs_live_leave(ctx); }

static void lock_after_driver(void *ctx) {
  vs_live_device *device = ctx;
  vs_live_lock_take(&device->lock);
  device->call_time = 0; /* other threads may have made calls meanwhile */
}

static uint64_t current_stream(void *ctx) {
  const vs_live_device *device = ctx;
  return device->live->current_stream(device->live->current_stream_ctx, device->index);
}

/* ---- making */

vs_status vs_live_device_create(vs_live *live, uint32_t index, const vs_alloc_settings *settings,
                                vs_live_device **out) {
  VS_ASSERT(index < live->machine.count);
  vs_live_device *device = vs_host_alloc(live->host, sizeof *device);
  if (device == NULL) return VS_NO_MEMORY;
  *device = (vs_live_device){.live = live, .index = index, .history = {.capacity = 1}};
  const vs_device *card = &live->machine.cards[index].device;
  const vs_alloc_hooks hooks = {.ctx = device,
                                .unlock = unlock_for_driver,
                                .lock = lock_after_driver,
                                .current_stream = live->current_stream == NULL ? NULL : current_stream};
  vs_status status = vs_alloc_create(live->host, card, settings, NULL, &hooks, &device->alloc);
  if (status == VS_OK && settings->backend == VS_ALLOC_ASYNC) {
    const vs_observer observer = {.ctx = device, .event = observe};
    status = vs_async_create(live->host, card, settings, &observer, &device->async);
    if (status != VS_OK) vs_alloc_destroy(device->alloc);
  }
  if (status != VS_OK) {
    vs_host_free(live->host, device, sizeof *device);
    return status;
  }
  *out = device;
  return VS_OK;
}

/* A simulated card is destroyed next, with its memory; a driver's card outlives the object. */
static vs_status release_all(vs_live_device *device) {
  if (device->live->machine.cuda == NULL) return VS_OK;
  vs_alloc_observer_set(device->alloc, NULL);
  return vs_alloc_release_all(device->alloc);
}

vs_status vs_live_device_destroy(vs_live_device *device) {
  const vs_host *host = device->live->host;
  while (device->scopes.first != NULL) vs_scopes_end(&device->scopes, host, device->scopes.first);
  VS_ASSERT(device->scopes.accounts == NULL && !device->is_held);
  vs_history_deinit(&device->history, host);
  const vs_status status = release_all(device);
  if (device->async != NULL) vs_async_destroy(device->async);
  vs_alloc_destroy(device->alloc);
  vs_host_free(host, device, sizeof *device);
  return status;
}

/* ---- memory */

__attribute__((noinline)) static vs_context stack_take(const vs_live *live, uint32_t wanted) {
  const vs_live_thread *thread = vs_live_thread_of(&live->identity);
  if (thread != NULL && thread->stack != VS_CONTEXT_NONE) return thread->stack;
  return (wanted & VS_STACKS_NATIVE) != 0 ? vs_record_capture(live->stacks) : VS_CONTEXT_NONE;
}

/* The calling thread's stack, where it is wanted; taken before the lock. */
static inline vs_context stack_of_caller(const vs_live *live, uint32_t when) {
  const uint32_t wanted = atomic_load_explicit(&live->stacks_wanted, memory_order_relaxed);
  return (wanted & when) == 0 ? VS_CONTEXT_NONE : stack_take(live, wanted);
}

/* Whether the allocator counted a failure since the last call. Not every VS_DEVICE_MEMORY is one: a driver without free
 * addresses returns it as well. */
static bool has_new_oom(vs_live_device *device) {
  if (vs_backend_is_async(device)) return true;
  const vs_alloc_statistics *statistics = vs_alloc_statistics_of(device->alloc);
  const int64_t ooms = statistics->num_ooms + statistics->num_oom_rejections, before = device->ooms_told;
  VS_ASSERT(ooms >= before);
  device->ooms_told = ooms;
  return ooms != before;
}

/* Leaves the card after an allocation that failed for want of memory, and tells of it. Out of line, so that an allocation needs no
 * memory for the failure. */
__attribute__((noinline)) static vs_status fail_without_memory(vs_live_device *device, uint64_t size) {
  vs_live *live = device->live;
  const bool is_told = !vs_backend_is_async(device); /* the other back end has no observers */
  VS_ASSERT(!is_told || vs_alloc_last_oom(device->alloc) != NULL);
  const vs_alloc_oom oom = is_told ? *vs_alloc_last_oom(device->alloc) : (vs_alloc_oom){.requested = size};
  vs_live_leave(device);
  vs_live_thread_failed(&live->identity, device->index, &oom);
  if (is_told) vs_live_tell_oom(live, device->index, &oom);
  return vs_live_fail(live, VS_DEVICE_MEMORY,
                      "device %u has no memory for %U bytes (vs_live_oom_write has PyTorch's message)",
                      device->index, size);
}

vs_status vs_live_malloc(vs_live *live, uint32_t index, uint64_t size, uint64_t stream, uint64_t *address) {
  const vs_context context = stack_of_caller(live, VS_STACKS_ON_MALLOC);
  vs_live_device *device = vs_live_enter(live, index);
  if (device == NULL) return vs_live_no_device(live, index);
  const vs_status status = vs_backend_malloc(device, size, stream, context, address);
  VS_ASSERT(status != VS_OK || size == 0 || *address != 0);
  if (status == VS_DEVICE_MEMORY && has_new_oom(device)) return fail_without_memory(device, size);
  vs_live_leave(device);
  return vs_live_result(live, status);
}

vs_status vs_live_free(vs_live *live, uint32_t index, uint64_t address) {
  const vs_context context = stack_of_caller(live, VS_STACKS_ON_FREE);
  vs_live_device *device = vs_live_enter(live, index);
  if (device == NULL) return vs_live_no_device(live, index);
  const vs_status status = vs_backend_free(device, address, context);
  if (device->is_held) record_held(device);
  vs_live_leave(device);
  return vs_live_address_result(live, status, address);
}

vs_status vs_live_record_stream(vs_live *live, uint32_t index, uint64_t address, uint64_t stream) {
  vs_live_device *device = vs_live_enter(live, index);
  if (device == NULL) return vs_live_no_device(live, index);
  const vs_status status = vs_backend_record_stream(device, address, stream);
  vs_live_leave(device);
  return vs_live_address_result(live, status, address);
}

vs_status vs_live_empty_cache(vs_live *live) {
  vs_status first = VS_OK;
  const vs_context context = stack_of_caller(live, VS_STACKS_ON_FREE);
  for (uint32_t i = 0; i < live->machine.count; i++) {
    vs_live_device *device = vs_live_enter(live, i);
    const vs_status status = vs_backend_empty_cache(device, context);
    vs_live_leave(device);
    if (first == VS_OK) first = status;
  }
  return vs_live_result(live, first);
}

/* ---- limits and the card */

vs_status vs_live_fraction_set(vs_live *live, uint32_t index, double fraction) {
  vs_live_device *device = vs_live_enter(live, index);
  if (device == NULL) return vs_live_no_device(live, index);
  const vs_status status = vs_backend_fraction_set(device, fraction);
  vs_live_leave(device);
  if (status != VS_BAD_ARGUMENT) return vs_live_result(live, status);
  return vs_live_fail(live, status, "the fraction is not from 0 to 1");
}

vs_status vs_live_fraction(vs_live *live, uint32_t index, double *fraction) {
  vs_live_device *device = vs_live_enter(live, index);
  if (device == NULL) return vs_live_no_device(live, index);
  *fraction = vs_backend_fraction(device);
  vs_live_leave(device);
  return VS_OK;
}

vs_status vs_live_stream_create(vs_live *live, uint32_t index, uint64_t *stream) {
  if (vs_live_at(live, index) == NULL) return vs_live_no_device(live, index);
  const vs_status status = vs_live_machine_stream(&live->machine, index, stream);
  if (status != VS_UNSUPPORTED) return vs_live_result(live, status);
  return vs_live_fail(live, status, "device %u is real: its streams are made by the CUDA driver", index);
}

/* Without the card's lock: other threads may allocate while this one waits. */
vs_status vs_live_synchronize(vs_live *live, uint32_t index, uint64_t stream) {
  const vs_live_device *device = vs_live_at(live, index);
  if (device == NULL) return vs_live_no_device(live, index);
  const vs_device *card = &live->machine.cards[index].device;
  return vs_live_result(live,
                        card->ops->stream_synchronize(card->ctx, stream) == VS_DEVICE_OK ? VS_OK : VS_DEVICE);
}

vs_status vs_live_memory_info(vs_live *live, uint32_t index, uint64_t *free_bytes, uint64_t *total_bytes) {
  if (vs_live_at(live, index) == NULL) return vs_live_no_device(live, index);
  const vs_device *card = &live->machine.cards[index].device;
  return vs_live_result(
      live, card->ops->memory_info(card->ctx, free_bytes, total_bytes) == VS_DEVICE_OK ? VS_OK : VS_DEVICE);
}

static vs_status device_of(const vs_live *live, uint32_t index, vs_live_device_info *info) {
  if (vs_live_at(live, index) == NULL) return vs_live_no_device(live, index);
  *info = (vs_live_device_info){.total_bytes = live->machine.cards[index].device.total_bytes,
                                .is_simulated = live->machine.cuda == NULL};
  vs_format(info->name, sizeof info->name, "%s", vs_live_machine_name(&live->machine, index));
  return VS_OK;
}

vs_status vs_live_device_of_sized(const vs_live *live, uint32_t index, vs_live_device_info *info,
                                  size_t size) {
  vs_live_device_info own = {0};
  const vs_status status = device_of(live, index, &own);
  if (status == VS_OK) vs_sized_give(info, size, &own, sizeof own);
  return status;
}

/* ---- scopes: the lock around scopes.h */

vs_status vs_live_scope_begin(vs_live *live, uint32_t index, vs_scope **scope) {
  *scope = NULL;
  vs_live_device *device = vs_live_enter(live, index);
  if (device == NULL) return vs_live_no_device(live, index);
  vs_alloc_statistics room;
  const vs_alloc_statistics *now;
  vs_status status = vs_backend_statistics(device, &room, &now);
  if (status == VS_OK) status = vs_scopes_begin(&device->scopes, live->host, now, scope);
  if (status == VS_OK) {
    VS_ASSERT(*scope == device->scopes.first);
    (*scope)->device = device;
    vs_live_watch(device, VS_WATCH_SCOPES, true);
  }
  vs_live_leave(device);
  return vs_live_result(live, status);
}

void vs_live_scope_read_sized(vs_scope *scope, vs_scope_figures *figures, size_t size) {
  vs_live_device *device = scope->device;
  vs_scope_figures own;
  VS_ASSERT(device != NULL);
  vs_live_lock_take(&device->lock);
  vs_scopes_read(&device->scopes, scope, &own);
  vs_live_leave(device);
  vs_sized_give(figures, size, &own, sizeof own);
}

void vs_live_scope_end_sized(vs_scope *scope, vs_scope_figures *figures, size_t size) {
  vs_scope_figures own;
  if (scope == NULL) return;
  vs_live_device *device = scope->device;
  vs_live_lock_take(&device->lock);
  VS_ASSERT((device->watch & VS_WATCH_SCOPES) != 0);
  if (figures != NULL) vs_scopes_read(&device->scopes, scope, &own);
  vs_scopes_end(&device->scopes, device->live->host, scope);
  if (!vs_scopes_are_open(&device->scopes)) vs_live_watch(device, VS_WATCH_SCOPES, false);
  vs_live_leave(device);
  if (figures != NULL) vs_sized_give(figures, size, &own, sizeof own);
}
