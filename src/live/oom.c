/* Who hears of failures, and what is said of them.
 *
 * An observer is called without any lock. So that vs_live_unobserve_oom can promise that no call is running, each place
 * counts its calls (`running`), and a place is used again only when it is free and nobody runs in it. What fails while a
 * thread is in an observer is told to nobody: else one that allocates would call itself. */
#include "alloc/size_text.h"
#include "live/backend.h"
#include "live/error_text.h"
#include "os/thread.h"

/* ---- telling */

/* The next observer of `kind` behind the number `id`, but not behind `last`; counted as running. NULL: none. */
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
    next->running++;
    *copy = *next;
  }
  vs_live_lock_give(&observers->lock);
  return next;
}

static void leave(vs_live_observers *observers, vs_live_observer *observer) {
  vs_live_lock_take(&observers->lock);
  if (--observer->running == 0 && observer->call == NULL) observer->id = 0;
  vs_live_lock_give(&observers->lock);
}

/* In the order in which they came; who comes meanwhile hears of the next one. */
static void tell_all(vs_live *live, vs_live_oom_kind kind, const vs_live_oom *oom) {
  vs_live_observers *observers = &live->observers;
  if (vs_live_thread_observer() != NULL) return;
  vs_live_lock_take(&observers->lock);
  const uint32_t last = observers->last_id;
  vs_live_lock_give(&observers->lock);
  vs_live_observer copy = {.id = 0}, *place;
  while ((place = enter(observers, kind, copy.id, last, &copy)) != NULL) {
    vs_live_thread_observer_set(place);
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

/* ---- coming and going */

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
    return vs_live_fail(live, VS_BAD_ARGUMENT, "no observer, or a kind that is none");
  vs_live_lock_take(&observers->lock);
  vs_live_observer *place = free_place(observers);
  if (place != NULL) {
    *id = ++observers->last_id;
    *place = (vs_live_observer){.call = observer, .ctx = ctx, .id = *id, .kind = kind};
    atomic_fetch_add_explicit(&observers->count, 1, memory_order_release);
  }
  vs_live_lock_give(&observers->lock);
  if (place != NULL) return VS_OK;
  return vs_live_fail(live, VS_LIMIT, "%d observers are there, which is the limit", VS_LIVE_OBSERVERS);
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
  place->call = NULL;
  atomic_fetch_sub_explicit(&observers->count, 1, memory_order_release);
  const uint32_t own = vs_live_thread_observer() == place ? 1 : 0; /* it takes itself out */
  while (place->id == id && place->running > own) {
    vs_live_lock_give(&observers->lock);
    vs_thread_yield();
    vs_live_lock_take(&observers->lock);
  }
  if (place->id == id && place->running == 0) place->id = 0;
  vs_live_lock_give(&observers->lock);
}

/* ---- the sentence */

static void write_process(const vs_live_process *process, vs_text *out) {
  if (process->is_self) vs_text_cstr(out, "Including non-PyTorch memory, this process");
  else vs_text_format(out, "Process %U", process->pid);
  vs_text_cstr(out, " has ");
  vs_alloc_write_size(out, process->bytes);
  vs_text_cstr(out, " memory in use. ");
}

/* On a simulated card there is only this process: all that is not free is its own. Who uses a real one the caller may know. */
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
  if (oom->rules == NULL) { /* of backend:cudaMallocAsync, which keeps the card's last */
    vs_live_device *card = live->devices[device];
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
