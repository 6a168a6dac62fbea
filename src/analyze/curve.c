#include "analyze/curve.h"

const char *vs_curve_kind_name(vs_curve_kind kind) {
  return kind == VS_CURVE_REQUESTED ? "requested" : kind == VS_CURVE_HELD ? "held" : "reserved";
}

static int64_t minus(int64_t a, int64_t b) {
  int64_t difference;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b < 0 ? INT64_MAX : INT64_MIN;
}

static int64_t as_step(uint64_t size) { return size > INT64_MAX ? INT64_MAX : (int64_t)size; }

/* What an event does to each curve, as -1, 0 or 1 times its size. */
typedef struct effects {
  int8_t sign[VS_EVENT_KIND_COUNT + 1][VS_CURVE_KINDS];
} effects;

static effects effects_of(vs_closing closing) {
  effects e = {{{0}}};
  e.sign[VS_EVENT_ALLOC][VS_CURVE_REQUESTED] = 1;
  e.sign[VS_EVENT_ALLOC][VS_CURVE_HELD] = 1;
  e.sign[closing.at_request ? VS_EVENT_FREE_REQUESTED : VS_EVENT_FREE_COMPLETED][VS_CURVE_REQUESTED] = -1;
  e.sign[closing.only_completion ? VS_EVENT_FREE_COMPLETED : VS_EVENT_FREE_REQUESTED][VS_CURVE_HELD] = -1;
  e.sign[VS_EVENT_SEGMENT_ALLOC][VS_CURVE_RESERVED] = 1;
  e.sign[VS_EVENT_SEGMENT_MAP][VS_CURVE_RESERVED] = 1;
  e.sign[VS_EVENT_SEGMENT_FREE][VS_CURVE_RESERVED] = -1;
  e.sign[VS_EVENT_SEGMENT_UNMAP][VS_CURVE_RESERVED] = -1;
  return e;
}

/* Moves the three values over one event. */
static inline void advance(const vs_slice *slice, const effects *e, uint32_t event,
                           int64_t value[VS_CURVE_KINDS]) {
  const vs_events *events = &slice->snapshot->events;
  const uint32_t row = vs_slice_row(slice, event);
  const int8_t *sign = e->sign[vs_events_kind(events, row)];
  const int64_t step = as_step(vs_events_size(events, row));
  for (int kind = 0; kind < VS_CURVE_KINDS; kind++)
    value[kind] = vs_sat_add_i64(value[kind], sign[kind] * step);
}

static void add_end(const vs_slice *slice, vs_curves *out) {
  const vs_snapshot *s = slice->snapshot;
  for (uint32_t i = 0; i < slice->segment_count; i++) {
    const vs_segment *segment = &s->segments.data[slice->segments[i]];
    for (uint32_t b = 0; b < segment->block_count; b++) {
      const vs_block *block = &s->blocks.data[segment->first_block + b];
      const int64_t requested = as_step(block->requested_size);
      const bool allocated = block->state == VS_BLOCK_ALLOCATED, active = vs_block_is_active(block);
      int64_t *end = &out->curve[VS_CURVE_REQUESTED].end;
      if (out->closing.at_request ? allocated : active) *end = vs_sat_add_i64(*end, requested);
      end = &out->curve[VS_CURVE_HELD].end;
      if (out->closing.only_completion ? active : allocated) *end = vs_sat_add_i64(*end, requested);
      end = &out->curve[VS_CURVE_RESERVED].end;
      *end = vs_sat_add_i64(*end, as_step(block->size));
    }
  }
}

static void note_extremes(vs_curve *curve, int64_t value, vs_moment moment) {
  if (value > curve->peak) {
    curve->peak = value;
    curve->peak_at = moment;
  }
  if (value < curve->lowest) curve->lowest = value;
}

static void count_below_zero(const vs_slice *slice, const effects *e, vs_curves *out) {
  int64_t value[VS_CURVE_KINDS];
  for (int kind = 0; kind < VS_CURVE_KINDS; kind++) value[kind] = out->curve[kind].baseline;
  for (vs_moment moment = VS_AT_START;; moment++) {
    for (int kind = 0; kind < VS_CURVE_KINDS; kind++)
      if (value[kind] < 0 && out->curve[kind].below_zero++ == 0) out->curve[kind].first_below_zero = moment;
    if (moment == vs_slice_end(slice)) return;
    advance(slice, e, (uint32_t)(moment + 1), value);
  }
}

/* One pass with values relative to the start, which is known only when the pass is over. */
void vs_curves_measure(const vs_slice *slice, vs_curves *out) {
  *out = (vs_curves){.closing = vs_slice_closing(slice)};
  const effects e = effects_of(out->closing);
  add_end(slice, out);
  int64_t value[VS_CURVE_KINDS] = {0};
  for (int kind = 0; kind < VS_CURVE_KINDS; kind++) out->curve[kind].peak_at = VS_AT_START;
  for (uint32_t event = 0; event < slice->event_count; event++) {
    advance(slice, &e, event, value);
    for (int kind = 0; kind < VS_CURVE_KINDS; kind++) note_extremes(&out->curve[kind], value[kind], event);
  }
  bool below_zero = false;
  for (int kind = 0; kind < VS_CURVE_KINDS; kind++) {
    vs_curve *curve = &out->curve[kind];
    curve->baseline = minus(curve->end, value[kind]);
    curve->peak = vs_sat_add_i64(curve->peak, curve->baseline);
    curve->lowest = vs_sat_add_i64(curve->lowest, curve->baseline);
    below_zero |= curve->lowest < 0;
  }
  if (below_zero) count_below_zero(slice, &e, out);
}

vs_curve_cursor vs_curve_cursor_at_start(const vs_slice *slice, const vs_curves *curves) {
  vs_curve_cursor cursor = {.slice = slice, .closing = curves->closing, .moment = VS_AT_START};
  for (int kind = 0; kind < VS_CURVE_KINDS; kind++) cursor.values[kind] = curves->curve[kind].baseline;
  return cursor;
}

void vs_curve_cursor_move(vs_curve_cursor *cursor, vs_moment moment) {
  const effects e = effects_of(cursor->closing);
  const vs_moment end = vs_slice_end(cursor->slice), to = moment < end ? moment : end;
  while (cursor->moment < to) advance(cursor->slice, &e, (uint32_t)++cursor->moment, cursor->values);
}

/* ---- columns ------------------------------------------------------------------------------------------- */

vs_status vs_curve_columns_build(const vs_host *host, const vs_slice *slice, const vs_curves *curves,
                                 vs_curve_columns *out) {
  *out = (vs_curve_columns){.count = slice->event_count};
  if (slice->event_count == 0) return VS_OK;
  size_t bytes;
  if (!vs_mul_size(slice->event_count, sizeof(int64_t), &bytes)) return VS_NO_MEMORY;
  for (int kind = 0; kind < VS_CURVE_KINDS; kind++) {
    out->column[kind] = vs_host_alloc(host, bytes);
    if (out->column[kind] == NULL) {
      vs_curve_columns_deinit(host, out);
      return VS_NO_MEMORY;
    }
  }
  const effects e = effects_of(curves->closing);
  int64_t value[VS_CURVE_KINDS];
  for (int kind = 0; kind < VS_CURVE_KINDS; kind++) value[kind] = curves->curve[kind].baseline;
  for (uint32_t event = 0; event < slice->event_count; event++) {
    advance(slice, &e, event, value);
    for (int kind = 0; kind < VS_CURVE_KINDS; kind++) out->column[kind][event] = value[kind];
  }
  return VS_OK;
}

void vs_curve_columns_deinit(const vs_host *host, vs_curve_columns *columns) {
  for (int kind = 0; kind < VS_CURVE_KINDS; kind++)
    vs_host_free(host, columns->column[kind], columns->count * sizeof(int64_t));
  *columns = (vs_curve_columns){0};
}

/* ---- drawing ------------------------------------------------------------------------------------------- */

static vs_curve_piece flat_piece(int64_t value) {
  return (vs_curve_piece){.low = value, .high = value, .last = value};
}

static void extend_piece(vs_curve_piece *piece, int64_t value) {
  if (value < piece->low) piece->low = value;
  if (value > piece->high) piece->high = value;
  piece->last = value;
}

void vs_curve_by_event(const int64_t *column, uint32_t first, uint32_t count, int64_t before,
                       vs_curve_piece *pieces, uint32_t piece_count) {
  uint64_t done = 0; /* events in pieces so far */
  for (uint32_t p = 0; p < piece_count; p++) {
    const uint64_t until = ((uint64_t)p + 1) * count / piece_count;
    pieces[p] = flat_piece(before);
    for (; done < until; done++) extend_piece(&pieces[p], column[first + done]);
    before = pieces[p].last;
  }
}

/* Which of `count` nearly equal parts of [0, span) `offset` lies in. */
static uint32_t part_of(uint64_t offset, uint64_t span, uint32_t count) {
  const uint64_t width = span / count, wider = span % count; /* the first `wider` parts have one more */
  if (offset < wider * (width + 1)) return (uint32_t)(offset / (width + 1));
  return (uint32_t)(wider + (offset - wider * (width + 1)) / width);
}

void vs_curve_by_time(const vs_slice *slice, const int64_t *column, int64_t baseline, int64_t from_us,
                      int64_t to_us, vs_curve_piece *pieces, uint32_t piece_count) {
  const uint64_t span = to_us > from_us ? (uint64_t)to_us - (uint64_t)from_us : 0;
  int64_t now = VS_NO_TIME, value = baseline; /* VS_NO_TIME is before every time */
  uint32_t piece = 0, event = 0;
  for (; event < slice->event_count; event++) {
    const int64_t time = vs_slice_time(slice, event);
    if (time > now) now = time;
    if (now >= from_us) break;
    value = column[event];
  }
  if (piece_count > 0) pieces[0] = flat_piece(value);
  for (; event < slice->event_count && piece_count > 0; event++) {
    const int64_t time = vs_slice_time(slice, event);
    if (time > now) now = time;
    if (now >= to_us) break;
    const uint32_t in = part_of((uint64_t)now - (uint64_t)from_us, span, piece_count);
    for (; piece < in; piece++) pieces[piece + 1] = flat_piece(pieces[piece].last);
    extend_piece(&pieces[piece], column[event]);
  }
  for (; piece + 1 < piece_count; piece++) pieces[piece + 1] = flat_piece(pieces[piece].last);
}

bool vs_slice_times(const vs_slice *slice, int64_t *first_us, int64_t *last_us) {
  *first_us = *last_us = VS_NO_TIME;
  for (uint32_t event = 0; event < slice->event_count; event++) {
    const int64_t time = vs_slice_time(slice, event);
    if (*first_us == VS_NO_TIME) *first_us = time;
    if (time > *last_us) *last_us = time;
  }
  return *first_us != VS_NO_TIME;
}
