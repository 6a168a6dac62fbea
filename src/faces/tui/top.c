#include "faces/tui/top.h"
#include "base/check.h"
#include "faces/tui/draw.h"
#include "faces/tui/json.h"
#include "faces/tui/sampler.h"
#include "faces/tui/terminal.h"
#include "os/process.h"

enum { KEY_MS = 50, WAIT_US = 5000, WAITING_US = 3000000, SILENCE_US = 2000000 };

/* Static, because its thread still uses it after vs_top_run where the driver hangs. */
static vs_top_sampler sampler;

typedef struct running {
  const vs_top_plan *plan;
  vs_top_state state;
  vs_top_view view;
  vs_top_history history;
  vs_top_sample shown; /* on the screen; older than `newest` while it is paused */
  vs_top_sample newest;
  vs_canvas canvas;
  uint64_t stopped_us; /* at_us of the sample that was shown when the user paused */
  uint64_t hold_us;    /* as in vs_top_scene */
  uint64_t silent_s;   /* whole seconds without an answer of the driver; 0: fewer than SILENCE_US */
  uint32_t page;       /* rows of processes on the screen */
} running;

static void deinit(running *r) {
  const vs_host *host = r->plan->host;
  vs_top_view_deinit(host, &r->view);
  vs_top_history_deinit(host, &r->history);
  vs_top_sample_deinit(host, &r->shown);
  vs_top_sample_deinit(host, &r->newest);
  vs_canvas_deinit(host, &r->canvas);
}

/* ---- the first sample: the screen is taken over only when there is something to show */

/* Sets *is_ended if a signal asked to end. */
static vs_status wait_for_first(running *r, bool *is_ended, vs_error *error) {
  const uint64_t began = vs_process_clock_us();
  bool is_new = false, is_said = false;
  *is_ended = false;
  for (;;) {
    VS_TRY(vs_top_sampler_take(&sampler, &r->newest, &is_new, error));
    if (is_new) return VS_OK;
    *is_ended = vs_process_wait_end(WAIT_US);
    if (*is_ended) return VS_OK;
    if (!is_said && vs_process_clock_us() - began > WAITING_US) {
      r->plan->waiting(r->plan->ctx);
      is_said = true;
    }
  }
}

/* ---- text and JSON */

/* Draws a document. It lists only the processes that -u and -p name, so they are not filtered again. */
static vs_status draw_document(running *r, vs_json document) {
  const vs_host *host = r->plan->host;
  vs_top_state state = r->state;
  size_t left_out;
  state.wanted = (vs_top_wanted){0};
  VS_TRY(vs_top_take_json(host, document, &r->shown, &left_out));
  VS_TRY(vs_top_view_build(host, &r->view, &r->shown, &state));
  r->view.left_out = left_out;
  const vs_top_scene scene = {.sample = &r->shown, .state = &state, .view = &r->view};
  r->canvas.has_unicode = r->plan->has_unicode;
  VS_TRY(vs_top_draw(host, &r->canvas, &scene, r->plan->columns, VS_LAYOUT_UNBOUNDED, &r->page));
  vs_canvas_write(&r->canvas, r->plan->text, r->plan->has_colour);
  return VS_OK;
}

/* Prints the newest sample as text, made from the bytes that --json prints. */
static vs_status put_text(running *r) {
  vs_text bytes;
  vs_json_doc document;
  vs_error error;
  vs_text_init(&bytes, r->plan->host, NULL);
  vs_top_put_json(&bytes, &r->newest, &r->view, 0);
  vs_status status = bytes.status;
  if (status == VS_OK) status = vs_json_doc_init(&document, r->plan->host, vs_text_view(&bytes), &error);
  vs_text_deinit(&bytes);
  if (status != VS_OK) return status;
  status = draw_document(r, vs_json_root(&document));
  vs_json_doc_deinit(&document);
  return status;
}

static vs_status put_newest(running *r, vs_top_shape shape) {
  VS_TRY(vs_top_view_build(r->plan->host, &r->view, &r->newest, &r->state));
  if (shape == VS_TOP_ONCE) VS_TRY(put_text(r));
  else vs_top_put_json(r->plan->text, &r->newest, &r->view, shape == VS_TOP_JSON ? 2 : 0);
  return r->plan->flush(r->plan->ctx);
}

static vs_status run_data(running *r, vs_error *error) {
  bool is_ended, is_new;
  VS_TRY(wait_for_first(r, &is_ended, error));
  if (is_ended) return VS_OK;
  VS_TRY(put_newest(r, r->plan->shape));
  uint64_t rounds = r->plan->shape == VS_TOP_NDJSON ? r->plan->rounds : 1;
  while (rounds != 1 && !vs_process_wait_end(WAIT_US)) {
    VS_TRY(vs_top_sampler_take(&sampler, &r->newest, &is_new, error));
    if (!is_new) continue;
    VS_TRY(put_newest(r, r->plan->shape));
    rounds -= rounds != 0;
  }
  return VS_OK;
}

/* ---- the screen */

/* Marks the figures of the device that does not answer as old. */
static void mark_stale(vs_top_sample *sample, uint32_t row) {
  const vs_metric stale = {.reason = VS_REASON_STALE};
  if (row >= sample->devices.count) return;
  vs_top_device *device = &sample->devices.data[row];
  device->utilization = device->temperature = device->power = stale;
  device->memory.used = device->memory.free = device->memory.reserved = stale;
  device->memory.attributed = device->memory.unattributed = stale;
}

static vs_status draw(running *r) {
  uint32_t columns, rows;
  const bool is_silent = r->silent_s != 0;
  vs_terminal_size(&columns, &rows);
  VS_TRY(vs_top_view_build(r->plan->host, &r->view, &r->shown, &r->state));
  const vs_top_scene scene = {.sample = &r->shown,
                              .history = &r->history,
                              .state = &r->state,
                              .view = &r->view,
                              .now_us = r->state.is_paused ? r->stopped_us
                                        : is_silent        ? vs_process_clock_us()
                                                           : r->shown.at_us,
                              .silent_us = r->silent_s * 1000000,
                              .hold_us = r->hold_us};
  VS_TRY(vs_top_draw(r->plan->host, &r->canvas, &scene, columns, rows, &r->page));
  VS_ASSERT(r->canvas.columns <= columns && r->canvas.rows <= rows);
  vs_terminal_show(&r->canvas);
  return VS_OK;
}

/* Puts a new sample into the history, and onto the screen unless the user paused it. */
static vs_status follow(running *r, bool *is_changed, vs_error *error) {
  bool is_new;
  uint32_t row;
  VS_TRY(vs_top_sampler_take(&sampler, &r->newest, &is_new, error));
  if (is_new) vs_top_history_add(r->plan->host, &r->history, &r->newest);
  if (!r->state.is_paused && r->newest.number > r->shown.number) {
    const vs_top_sample shown = r->shown;
    r->shown = r->newest;
    r->newest = shown;
    r->newest.number = r->shown.number; /* vs_top_sampler_take looks for one that is newer than this */
    *is_changed = true;
  }
  const uint64_t silent = vs_top_sampler_silence(&sampler, &row);
  const uint64_t silent_s = silent < SILENCE_US ? 0 : silent / 1000000;
  if (silent_s != r->silent_s && !r->state.is_paused) {
    if (silent_s != 0) mark_stale(&r->shown, row);
    *is_changed = true;
  }
  if (!r->state.is_paused) r->silent_s = silent_s;
  return VS_OK;
}

static void press(running *r, uint32_t key) {
  const bool was_paused = r->state.is_paused;
  const uint64_t interval = r->state.interval_us;
  VS_ASSERT(vs_top_view_check(&r->view, &r->shown) == NULL); /* `draw` built it of this sample */
  vs_top_press(&r->state, &r->shown, &r->view, key, r->page);
  if (r->state.is_paused && !was_paused) r->stopped_us = r->shown.at_us;
  if (r->state.interval_us == interval) return;
  if (r->state.interval_us > r->hold_us) r->hold_us = r->state.interval_us;
  vs_top_sampler_set_interval(&sampler, r->state.interval_us);
}

static vs_status loop(running *r, vs_error *error) {
  bool is_changed = true, is_gone = false;
  while (!r->state.is_over && !is_gone) {
    VS_TRY(follow(r, &is_changed, error));
    if (is_changed) VS_TRY(draw(r));
    const uint32_t key = vs_terminal_key(KEY_MS, &is_gone);
    is_changed = key != VS_KEY_NONE;
    if (is_changed) press(r, key);
    if (vs_process_wait_end(0)) break;
  }
  return VS_OK;
}

static vs_status run_screen(running *r, vs_error *error) {
  bool is_ended;
  VS_TRY(wait_for_first(r, &is_ended, error));
  if (is_ended) return VS_OK;
  vs_top_history_add(r->plan->host, &r->history, &r->newest);
  r->canvas.has_unicode = r->plan->has_unicode;
  r->hold_us = r->state.interval_us;
  const vs_status opened = vs_terminal_open(r->plan->has_colour, &r->canvas.has_unicode, error);
  if (opened != VS_OK) {
    r->plan->no_screen(r->plan->ctx, error);
    return put_newest(r, VS_TOP_ONCE);
  }
  const vs_status status = loop(r, error);
  vs_terminal_close();
  return status;
}

vs_status vs_top_run(const vs_top_plan *plan, vs_error *error) {
  running r = {.plan = plan};
  const bool is_repeated = plan->shape == VS_TOP_SCREEN || plan->shape == VS_TOP_NDJSON;
  vs_top_state_init(&r.state, plan->interval_us);
  r.state.wanted = plan->wanted;
  vs_status status = vs_top_sampler_start(&sampler, plan->host, plan->selection, plan->recordings,
                                          is_repeated ? plan->interval_us : 0);
  if (status == VS_OK) {
    status = plan->shape == VS_TOP_SCREEN ? run_screen(&r, error) : run_data(&r, error);
    (void)vs_top_sampler_stop(&sampler);
  }
  if (status != VS_OK && error->text[0] == 0)
    vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  deinit(&r);
  return status;
}
