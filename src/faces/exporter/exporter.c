#include "faces/exporter/exporter.h"
#include "faces/exporter/gather.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/thread.h"

enum { FORMATS = 2, STEP_NS = 2 * 1000 * 1000 };

struct vs_exporter {
  vs_exporter_plan plan;
  vs_gatherer gatherer; /* used by the thread alone */
  vs_thread thread;
  vs_xids *xids; /* NULL: not watched */
  vs_wakeup wake;
  _Atomic bool is_over, has_ended, is_wanted;
  vs_lock lock; /* of what follows */
  vs_text texts[FORMATS];
  uint64_t at_us; /* when the figures were read, 0: never */
  vs_status status;
  vs_error error; /* of the first sample, where there is none */
};

/* ---- the thread */

static vs_status render(vs_exporter *x, vs_text texts[FORMATS]) {
  vs_status status = VS_OK;
  for (uint32_t i = 0; i < FORMATS; i++) {
    const vs_families_choice choice = {.format = (vs_exposition_format)i,
                                       .most_processes = x->plan.most_processes,
                                       .has_dcgm_names = x->plan.has_dcgm_names};
    vs_text_init(&texts[i], x->plan.host, NULL);
    vs_families_put(&texts[i], &x->gatherer.sample, &choice);
    if (texts[i].status != VS_OK) status = texts[i].status;
  }
  return status;
}

static void publish(vs_exporter *x, vs_text texts[FORMATS], uint64_t at_us) {
  vs_lock_take(&x->lock);
  for (uint32_t i = 0; i < FORMATS; i++) {
    const vs_text before = x->texts[i];
    x->texts[i] = texts[i];
    texts[i] = before;
  }
  x->at_us = at_us;
  vs_lock_give(&x->lock);
}

static void fail(vs_exporter *x, vs_status status, const vs_error *error) {
  vs_lock_take(&x->lock);
  x->status = status;
  x->error = *error;
  if (error->text[0] == 0) vs_fail(&x->error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  vs_lock_give(&x->lock);
}

static bool take_sample(vs_exporter *x) {
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_text texts[FORMATS];
  const uint64_t at_us = vs_process_clock_us();
  vs_status status = vs_gather_sample(&x->gatherer, &error);
  if (status == VS_OK) {
    status = render(x, texts);
    if (status == VS_OK) publish(x, texts, at_us);
    for (uint32_t i = 0; i < FORMATS; i++) vs_text_deinit(&texts[i]);
  }
  if (status != VS_OK) fail(x, status, &error);
  return status == VS_OK;
}

static void run(void *ctx) {
  const uint64_t long_ns = UINT64_C(3600) * 1000 * 1000 * 1000;
  vs_exporter *x = ctx;
  while (!atomic_load(&x->is_over)) {
    if (!atomic_exchange(&x->is_wanted, false)) vs_wakeup_wait(&x->wake, long_ns);
    else if (!take_sample(x)) break;
  }
  atomic_store(&x->has_ended, true);
}

/* ---- asking */

typedef enum look { FRESH, STALE, FAILED } look;

static look take_fresh(vs_exporter *x, vs_exposition_format format, uint64_t since_us, vs_text *text) {
  look found = STALE;
  vs_lock_take(&x->lock);
  if (x->status != VS_OK) {
    found = FAILED;
  } else if (x->at_us != 0 && x->at_us >= since_us) {
    found = FRESH;
    if (text != NULL) vs_text_str(text, vs_text_view(&x->texts[format]));
  }
  vs_lock_give(&x->lock);
  return found;
}

static look wait_for(vs_exporter *x, vs_exposition_format format, vs_text *text) {
  const uint64_t began = vs_process_clock_us();
  const uint64_t since = began > VS_EXPORTER_FRESH_US ? began - VS_EXPORTER_FRESH_US : 0;
  look found = take_fresh(x, format, since, text);
  if (found != STALE) return found;
  atomic_store(&x->is_wanted, true);
  vs_wakeup_send(&x->wake);
  while (found == STALE && vs_process_clock_us() - began < VS_EXPORTER_PATIENCE_US) {
    vs_clock_sleep_ns(STEP_NS);
    found = take_fresh(x, format, since, text);
  }
  return found;
}

vs_status vs_exporter_read(vs_exporter *x, vs_exposition_format format, vs_text *text) {
  const look found = wait_for(x, format, text);
  if (found == FRESH) return text->status;
  return found == FAILED ? x->status : VS_DEVICE;
}

/* ---- beginning and end */

vs_status vs_exporter_start(vs_exporter **out, const vs_exporter_plan *plan, vs_error *error) {
  vs_exporter *x = vs_host_alloc(plan->host, sizeof *x);
  *out = NULL;
  if (x == NULL) return vs_fail(error, VS_NO_MEMORY, VS_NO_OFFSET, "%s", vs_status_text(VS_NO_MEMORY));
  *x = (vs_exporter){.plan = *plan, .status = VS_OK};
  vs_gatherer_init(&x->gatherer, plan->host, plan->selection, plan->recordings);
  for (uint32_t i = 0; i < FORMATS; i++) vs_text_init(&x->texts[i], plan->host, NULL);
  if (plan->has_xids && vs_xids_start(&x->xids, plan->host) != VS_OK) x->xids = NULL;
  x->gatherer.xids = x->xids;
  if (vs_thread_start(&x->thread, "vs-exporter", run, x) != VS_OK) {
    atomic_store(&x->has_ended, true);
    (void)vs_exporter_stop(x);
    return vs_fail(error, VS_NO_MEMORY, VS_NO_OFFSET, "no thread can be started");
  }
  const look found = wait_for(x, VS_EXPOSITION_TEXT, NULL);
  if (found == FRESH) {
    *out = x;
    return VS_OK;
  }
  const vs_status status = found == FAILED ? x->status : VS_DEVICE;
  if (found == FAILED) *error = x->error;
  else vs_fail(error, status, VS_NO_OFFSET, "the driver does not answer");
  (void)vs_exporter_stop(x);
  return status;
}

bool vs_exporter_stop(vs_exporter *x) {
  enum { LOOKS = 150 };
  const vs_host *host = x->plan.host;
  atomic_store(&x->is_over, true);
  vs_wakeup_send(&x->wake);
  vs_xids_stop(x->xids);
  for (int i = 0; i < LOOKS && !atomic_load(&x->has_ended); i++) vs_clock_sleep_ns(STEP_NS);
  if (!atomic_load(&x->has_ended)) return false;
  vs_thread_join(&x->thread);
  const bool has_ended = vs_xids_free(x->xids);
  vs_gatherer_deinit(&x->gatherer);
  for (uint32_t i = 0; i < FORMATS; i++) vs_text_deinit(&x->texts[i]);
  vs_host_free(host, x, sizeof *x);
  return has_ended;
}
