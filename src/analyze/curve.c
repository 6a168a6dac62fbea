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

/* By kind of event: the change of each curve, as -1, 0 or 1 times the event's size. */
typedef struct effects {
  int8_t sign[VS_EVENT_KIND_COUNT + 1][VS_CURVE_KINDS];
} effects;

static effects effects_of(vs_closing closing) {
  VS_ASSERT(!closing.at_request || !closing.only_completion);
  effects e = {{{0}}};
  e.sign[VS_EVENT_ALLOC][VS_CURVE_REQUESTED] = 1;
  e.sign[VS_EVENT_ALLOC][VS_CURVE_HELD] = 1;
  e.sign[closing.at_request ? VS_EVENT_FREE_REQUESTED : VS_EVENT_FREE_COMPLETED][VS_CURVE_REQUESTED] = -1;
  e.sign[closing.only_completion ? VS_EVENT_FREE_COMPLETED : VS_EVENT_FREE_REQUESTED][VS_CURVE_HELD] = -1;
  if (closing.lacks_segments) { /* each block counts as a segment of its own */
    e.sign[VS_EVENT_ALLOC][VS_CURVE_RESERVED] = 1;
    e.sign[VS_EVENT_FREE_REQUESTED][VS_CURVE_RESERVED] = -1;
  }
  e.sign[VS_EVENT_SEGMENT_ALLOC][VS_CURVE_RESERVED] = 1;
  e.sign[VS_EVENT_SEGMENT_MAP][VS_CURVE_RESERVED] = 1;
  e.sign[VS_EVENT_SEGMENT_FREE][VS_CURVE_RESERVED] = -1;
  e.sign[VS_EVENT_SEGMENT_UNMAP][VS_CURVE_RESERVED] = -1;
  return e;
}

vs_curve_signs vs_curve_signs_of(vs_curve_kind kind, vs_closing closing) {
  const effects e = effects_of(closing);
  vs_curve_signs signs;
  VS_ASSERT((int)kind < VS_CURVE_KINDS);
  for (size_t event = 0; event <= VS_EVENT_KIND_COUNT; event++) signs.of[event] = e.sign[event][kind];
  return signs;
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

/* One pass with values relative to the start, whose own value is known only after the pass. */
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
    VS_ASSERT(curve->lowest <= curve->peak && curve->peak_at <= vs_slice_end(slice));
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
  VS_ASSERT(cursor->moment >= VS_AT_START && cursor->moment <= end);
  while (cursor->moment < to) advance(cursor->slice, &e, (uint32_t)++cursor->moment, cursor->values);
}

vs_curve_peaks vs_curve_cursor_peaks(vs_curve_cursor *cursor, vs_moment first, vs_moment last) {
  vs_curve_peaks out;
  VS_ASSERT(first >= cursor->moment && first <= last && last <= vs_slice_end(cursor->slice));
  for (vs_moment moment = first; moment <= last; moment++) {
    vs_curve_cursor_move(cursor, moment);
    for (int kind = 0; kind < VS_CURVE_KINDS; kind++) {
      if (moment != first && cursor->values[kind] <= out.peak[kind]) continue;
      out.peak[kind] = cursor->values[kind];
      out.at[kind] = moment;
    }
  }
  return out;
}

vs_curve_peaks vs_curves_peaks_between(const vs_slice *slice, const vs_curves *curves, vs_moment first,
                                       vs_moment last) {
  vs_curve_cursor cursor = vs_curve_cursor_at_start(slice, curves);
  VS_ASSERT(first >= VS_AT_START);
  return vs_curve_cursor_peaks(&cursor, first, last);
}
