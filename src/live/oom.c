/* Observers of failed allocations, and the message of a failure.
 *
 * An observer is called without any lock. Each place counts the calls of its observer that have not returned
 * (`running`), so that vs_live_unobserve_oom can wait for them; a place is used again when it is 0. A failure inside
 * an observer is not reported, else an observer that allocates would call itself. */
#include "alloc/size_text.h"
#include "live/backend.h"
#include "live/error_text.h"
#include "os/thread.h"

/* ---- telling */

/* The observer of `kind` with the next id in (id, last], counted as running; NULL if there is none. */
static vs_live_observer *enter(vs_live_observers *observers, vs_live_oom_kind kind, uint32_t id,
                               uint32_t last, vs_live_observer *copy) {
  vs_live_observer *next = NULL;
  vs_live_lock_take(&observers->lock);
  for (uint32_t i = 0; i < VS_LIVE_OBSERVERS; i++) {
    vs_live_observer *place = &observers->places[i];
    const bool is_wanted = place->call != NULL && place->kind == kind && place->id > id && place->id <= last;
    if (is_wanted && (next == NULL || place->id < next->id)) next = place;
  }
  if (next != NULL) {
    VS_ASSERT(next->id > id && next->id <= last);
    next->running++;
    *copy = *next;
  }
  vs_live_lock_give(&observers->lock);
  return next;
}

static void leave(vs_live_observers *observers, vs_live_observer *observer) {
  vs_live_lock_take(&observers->lock);
  VS_ASSERT(observer->id != 0 && observer->running > 0);
  if (--observer->running == 0 && observer->call == NULL) observer->id = 0;
  vs_live_lock_give(&observers->lock);
}

/* In the order of their registration. An observer that is registered meanwhile is called for the next failure. */
static void tell_all(vs_live *live, vs_live_oom_kind kind, const vs_live_oom *oom) {
  vs_live_observers *observers = &live->observers;
  if (vs_live_thread_observer() != NULL) return;
  vs_live_lock_take(&observers->lock);
  const uint32_t last = observers->last_id;
  vs_live_lock_give(&observers->lock);
  vs_live_observer copy = {.id = 0}, *place;
  while ((place = enter(observers, kind, copy.id, last, &copy)) != NULL) {
    vs_live_thread_observer_set(place);
    VS_ASSERT(copy.call != NULL && copy.kind == kind);
    copy.call(copy.ctx, oom);
    vs_live_thread_observer_set(NULL);
    leave(observers, place);
  }
}

void vs_live_tell_oom(vs_live *live, uint32_t device, const vs_alloc_oom *oom) {
  if (atomic_load_explicit(&live->observers.count, memory_order_acquire) == 0) return;
  const vs_live_oom told = {.device = device,
                            .is_rejected = oom->is_rejected,
                            .requested = oom->requested,
                            .driver_size = oom->driver_size,
                            .stream = oom->stream,
                            .device_free = oom->device_free,
                            .device_total = oom->device_total,
                            .limit = oom->limit,
                            .allocated = oom->allocated,
                            .reserved = oom->reserved};
  tell_all(live, oom->is_rejected ? VS_LIVE_ON_REJECTION : VS_LIVE_ON_OOM, &told);
}

/* ---- registering */

static vs_live_observer *free_place(vs_live_observers *observers) {
  for (uint32_t i = 0; i < VS_LIVE_OBSERVERS; i++)
    if (observers->places[i].id == 0) return &observers->places[i];
  return NULL;
}

vs_status vs_live_observe_oom(vs_live *live, vs_live_oom_kind kind, vs_live_oom_observer observer, void *ctx,
                              uint32_t *id) {
  vs_live_observers *observers = &live->observers;
  *id = 0;
  if (observer == NULL || (kind != VS_LIVE_ON_OOM && kind != VS_LIVE_ON_REJECTION))
    return vs_live_fail(live, VS_BAD_ARGUMENT, "the observer is NULL, or its kind is unknown");
  vs_live_lock_take(&observers->lock);
  vs_live_observer *place = free_place(observers);
  if (place != NULL) {
    VS_ASSERT(place->running == 0 && place->call == NULL);
    *id = ++observers->last_id;
    *place = (vs_live_observer){.call = observer, .ctx = ctx, .id = *id, .kind = kind};
    atomic_fetch_add_explicit(&observers->count, 1, memory_order_release);
  }
  vs_live_lock_give(&observers->lock);
  if (place != NULL) return VS_OK;
  return vs_live_fail(live, VS_LIMIT, "too many observers: the limit is %d", VS_LIVE_OBSERVERS);
}

static vs_live_observer *find(vs_live_observers *observers, uint32_t id) {
  for (uint32_t i = 0; i < VS_LIVE_OBSERVERS; i++)
    if (observers->places[i].id == id && observers->places[i].call != NULL) return &observers->places[i];
  return NULL;
}

void vs_live_unobserve_oom(vs_live *live, uint32_t id) {
  vs_live_observers *observers = &live->observers;
  vs_live_lock_take(&observers->lock);
  vs_live_observer *place = id == 0 ? NULL : find(observers, id);
  if (place == NULL) {
    vs_live_lock_give(&observers->lock);
    return;
  }
  VS_ASSERT(atomic_load_explicit(&observers->count, memory_order_relaxed) > 0);
  place->call = NULL;
  atomic_fetch_sub_explicit(&observers->count, 1, memory_order_release);
  /* An observer may remove itself: its own call cannot end before this function returns. */
  const uint32_t own = vs_live_thread_observer() == place ? 1 : 0;
  while (place->id == id && place->running > own) {
    vs_live_lock_give(&observers->lock);
    vs_thread_yield();
    vs_live_lock_take(&observers->lock);
  }
  if (place->id == id && place->running == 0) place->id = 0;
  vs_live_lock_give(&observers->lock);
}

/* ---- the message */

static void write_process(const vs_live_process *process, vs_text *out) {
  if (process->is_self) vs_text_cstr(out, "Including non-PyTorch memory, this process");
  else vs_text_format(out, "Process %U", process->pid);
  vs_text_cstr(out, " has ");
  vs_alloc_write_size(out, process->bytes);
  vs_text_cstr(out, " memory in use. ");
}

/* A simulated card is used by this process alone, so all that is not free belongs to it. Of a real card only the
 * caller of vs_live_open may know the processes. */
static void write_processes(const vs_live *live, uint32_t device, const vs_alloc_oom *oom, vs_text *out) {
  enum { MOST = 32 };
  vs_live_process rows[MOST];
  size_t count = 0;
  if (live->processes != NULL) {
    count = live->processes(live->processes_ctx, device, rows, MOST);
  } else if (live->machine.cuda == NULL) {
    rows[0] = (vs_live_process){.bytes = oom->device_total - oom->device_free, .is_self = true};
    count = 1;
  }
  for (size_t i = 0; i < count; i++) write_process(&rows[i], out);
}

vs_status vs_live_oom_write(vs_live *live, vs_writer to) {
  uint32_t device = 0;
  const vs_alloc_oom *oom = vs_live_thread_failure(&live->identity, &device);
  if (oom == NULL)
    return vs_live_fail(live, VS_NOT_FOUND, "no allocation of this thread failed for want of GPU memory");
  vs_text text, process;
  vs_text_init(&text, live->host, NULL);
  vs_text_init(&process, live->host, NULL);
  vs_status status;
  if (oom->rules == NULL) { /* backend:cudaMallocAsync: its message is that of the card's last failure */
    vs_live_device *card = live->devices[device];
    VS_ASSERT(card->async != NULL);
    vs_live_lock_take(&card->lock);
    status = vs_async_oom_write(card->async, &text);
    vs_live_lock_give(&card->lock);
  } else {
    write_processes(live, device, oom, &process);
    status = vs_text_finish(&process);
    if (status == VS_OK) status = vs_alloc_oom_write(oom, device, vs_text_view(&process), &text);
  }
  vs_text_deinit(&process);
  if (status == VS_OK) status = vs_text_finish(&text);
  if (status == VS_OK) status = to.write(to.ctx, text.bytes.data, text.bytes.count);
  vs_text_deinit(&text);
  return vs_live_result(live, status);
}
