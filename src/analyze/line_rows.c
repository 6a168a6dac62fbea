#include "analyze/line_rows.h"

static void set_bit(uint64_t *bits, uint32_t at) { bits[at / 64] |= UINT64_C(1) << at % 64; }

static vs_status rows_mark(const vs_lifetimes *lifetimes, vs_keys *keys, uint32_t key, uint64_t *bits) {
  for (uint32_t row = 0; row < lifetimes->rows.count; row++) {
    const vs_keyed keyed = vs_keyed_lifetime(lifetimes, NULL, row);
    uint32_t its;
    VS_TRY(vs_key_of(keys, &keyed, &its));
    if (its == key) set_bit(bits, row);
  }
  return VS_OK;
}

static vs_status failures_mark(const vs_slice *slice, vs_keys *keys, uint32_t key, uint64_t *bits) {
  const vs_events *events = &slice->snapshot->events;
  for (uint32_t i = 0; i < slice->other_count; i++) {
    const uint32_t event = slice->others[i], row = vs_slice_row(slice, event);
    if (vs_events_kind(events, row) != VS_EVENT_OOM) continue;
    const vs_keyed keyed = {.stack = vs_events_stack(events, row), .start = event, .end = VS_NO_EVENT};
    uint32_t its;
    VS_TRY(vs_key_of(keys, &keyed, &its));
    if (its == key) set_bit(bits, event);
  }
  return VS_OK;
}

static vs_status build(const vs_host *host, const vs_lifetimes *lifetimes, vs_keys *keys, uint32_t key,
                       vs_line_rows *out) {
  const size_t rows = lifetimes->rows.count / 64 + 1, events = lifetimes->slice->event_count / 64 + 1;
  VS_TRY(vs_vec_reserve(host, &out->rows, rows));
  VS_TRY(vs_vec_reserve(host, &out->events, events));
  memset(out->rows.data, 0, rows * sizeof *out->rows.data);
  memset(out->events.data, 0, events * sizeof *out->events.data);
  out->rows.count = rows;
  out->events.count = events;
  VS_TRY(rows_mark(lifetimes, keys, key, out->rows.data));
  return failures_mark(lifetimes->slice, keys, key, out->events.data);
}

vs_status vs_line_rows_build(const vs_host *host, const vs_lifetimes *lifetimes, vs_keys *keys, uint32_t key,
                             vs_line_rows *out) {
  *out = (vs_line_rows){0};
  VS_ASSERT(keys->by == VS_BY_LINE && keys->slice == lifetimes->slice && key < keys->bound);
  const vs_status status = build(host, lifetimes, keys, key, out);
  if (status != VS_OK) vs_line_rows_deinit(host, out);
  return status;
}

void vs_line_rows_deinit(const vs_host *host, vs_line_rows *rows) {
  vs_vec_free(host, &rows->rows);
  vs_vec_free(host, &rows->events);
}
