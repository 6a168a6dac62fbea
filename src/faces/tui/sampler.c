#include "faces/tui/sampler.h"
#include "base/check.h"
#include "os/clock.h"
#include "os/process.h"

/* ---- the thread */

static void publish(vs_top_sampler *s, vs_status status, const vs_error *error) {
  vs_lock_take(&s->lock);
  VS_ASSERT(s->status == VS_OK); /* the thread ends after its first failure */
  if (status == VS_OK) {
    VS_ASSERT(s->filling.number > s->ready.number);
    const vs_top_sample ready = s->ready;
    s->ready = s->filling;
    s->filling = ready;
  } else {
    s->status = status;
    s->error = *error;
  }
  vs_lock_give(&s->lock);
}

/* The collector updates its previous sample, so the one to fill starts as a copy of the last. */
static vs_status carry_over(vs_top_sampler *s, vs_top_sample *last) {
  return s->collector.count == 0 ? VS_OK : vs_top_sample_copy(s->host, &s->filling, last);
}

static bool take_sample(vs_top_sampler *s, vs_top_sample *last) {
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  atomic_store(&s->asked_us, vs_process_clock_us());
  vs_status status = carry_over(s, last);
  if (status == VS_OK) status = vs_top_collect(&s->collector, &s->filling, &error);
  atomic_store(&s->asked_us, 0); /* what follows is no call of the driver */
  if (status == VS_OK)
    vs_top_sample_read_recordings(&s->filling, s->recordings, s->collector.selection != NULL);
  if (status == VS_OK) status = vs_top_sample_copy(s->host, last, &s->filling);
  if (status != VS_OK && error.text[0] == 0)
    vs_fail(&error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  publish(s, status, &error);
  return status == VS_OK;
}

/* Takes samples at fixed moments, so a slow answer does not shift the next one. Moments that passed during it are skipped. */
static void run(void *ctx) {
  vs_top_sampler *s = ctx;
  vs_top_sample last = {0};
  uint64_t due = vs_process_clock_us();
  while (!atomic_load(&s->is_over)) {
    const uint64_t interval = atomic_load(&s->interval_us), now = vs_process_clock_us();
    if (now < due) {
      const uint64_t most =
          due - now < interval ? due - now : interval; /* the interval may have become shorter */
      vs_wakeup_wait(&s->wake, most * 1000);
      if (due - now > interval) due = now + interval;
      continue;
    }
    if (!take_sample(s, &last) || interval == 0) break;
    due = due + interval > now ? due + interval : now + interval;
    VS_ASSERT(due > now);
  }
  vs_top_sample_deinit(s->host, &last);
  atomic_store(&s->has_ended, true);
}

/* ---- other threads */

vs_status vs_top_sampler_start(vs_top_sampler *s, const vs_host *host, const char *selection,
                               const vs_top_recordings *recordings, uint64_t interval_us) {
  *s = (vs_top_sampler){.host = host, .recordings = recordings, .status = VS_OK};
  vs_top_collector_init(&s->collector, host, selection);
  atomic_store(&s->interval_us, interval_us);
  return vs_thread_start(&s->thread, "vs-top", run, s);
}

bool vs_top_sampler_stop(vs_top_sampler *s) {
  enum { PATIENCE_MS = 300, STEP_MS = 5 };
  atomic_store(&s->is_over, true);
  vs_wakeup_send(&s->wake);
  for (int i = 0; i < PATIENCE_MS / STEP_MS && !atomic_load(&s->has_ended); i++)
    vs_clock_sleep_ns(UINT64_C(1000000) * STEP_MS);
  if (!atomic_load(&s->has_ended)) return false;
  vs_thread_join(&s->thread);
  vs_top_collector_deinit(&s->collector);
  vs_top_sample_deinit(s->host, &s->filling);
  vs_top_sample_deinit(s->host, &s->ready);
  return true;
}

void vs_top_sampler_set_interval(vs_top_sampler *s, uint64_t interval_us) {
  atomic_store(&s->interval_us, interval_us);
  vs_wakeup_send(&s->wake);
}

vs_status vs_top_sampler_take(vs_top_sampler *s, vs_top_sample *mine, bool *is_new, vs_error *error) {
  vs_lock_take(&s->lock);
  const vs_status status = s->status;
  if (status != VS_OK) *error = s->error;
  *is_new = s->ready.number > mine->number;
  if (*is_new) {
    VS_ASSERT(vs_top_sample_check(&s->ready) == NULL);
    const vs_top_sample taken = s->ready;
    s->ready = *mine;
    *mine = taken;
  }
  vs_lock_give(&s->lock);
  return status;
}

uint64_t vs_top_sampler_silence(const vs_top_sampler *s, uint32_t *row) {
  const uint64_t asked = atomic_load(&s->asked_us), now = vs_process_clock_us();
  *row = asked == 0 ? UINT32_MAX : atomic_load_explicit(&s->collector.at, memory_order_relaxed);
  return asked == 0 || now < asked ? 0 : now - asked;
}
