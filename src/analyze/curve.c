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

/* The free that lowers a curve of blocks. */
static vs_event_kind ends(vs_curve_kind kind, vs_closing closing) {
  if (kind == VS_CURVE_REQUESTED)
    return closing.at_request ? VS_EVENT_FREE_REQUESTED : VS_EVENT_FREE_COMPLETED;
  return closing.only_completion ? VS_EVENT_FREE_COMPLETED : VS_EVENT_FREE_REQUESTED;
}

static vs_curve_effects effects_of(vs_closing closing) {
  VS_ASSERT(!closing.at_request || !closing.only_completion);
  vs_curve_effects e = {{{0}}};
  e.sign[VS_EVENT_ALLOC][VS_CURVE_REQUESTED] = 1;
  e.sign[VS_EVENT_ALLOC][VS_CURVE_HELD] = 1;
  e.sign[ends(VS_CURVE_REQUESTED, closing)][VS_CURVE_REQUESTED] = -1;
  e.sign[ends(VS_CURVE_HELD, closing)][VS_CURVE_HELD] = -1;
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
  const vs_curve_effects e = effects_of(closing);
  vs_curve_signs signs;
  VS_ASSERT((int)kind < VS_CURVE_KINDS);
  for (size_t event = 0; event <= VS_EVENT_KIND_COUNT; event++) signs.of[event] = (int8_t)e.sign[event][kind];
  return signs;
}

/* Moves the three values over one event. */
static inline void advance(const vs_slice *slice, const vs_curve_effects *e, uint32_t event,
                           int64_t value[VS_CURVE_KINDS]) {
  const vs_events *events = &slice->snapshot->events;
  const uint32_t row = vs_slice_row(slice, event);
  const int64_t *sign = e->sign[vs_events_kind(events, row)];
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

static void count_below_zero(const vs_slice *slice, vs_curves *out) {
  const vs_curve_effects e = effects_of(out->closing);
  int64_t value[VS_CURVE_KINDS];
  for (int kind = 0; kind < VS_CURVE_KINDS; kind++) value[kind] = out->curve[kind].baseline;
  for (vs_moment moment = VS_AT_START;; moment++) {
    for (int kind = 0; kind < VS_CURVE_KINDS; kind++)
      if (value[kind] < 0 && out->curve[kind].below_zero++ == 0) out->curve[kind].first_below_zero = moment;
    if (moment == vs_slice_end(slice)) return;
    advance(slice, &e, (uint32_t)(moment + 1), value);
  }
}

/* The events that may change a curve: `list`, or all where it is NULL. */
typedef struct course {
  const uint32_t *list;
  uint32_t count;
} course;

static course course_of(const vs_slice *slice, vs_curve_kind kind, vs_closing closing) {
  if (kind == VS_CURVE_RESERVED && !closing.lacks_segments)
    return (course){slice->others, slice->other_count};
  return (course){NULL, slice->event_count};
}

static inline uint32_t event_at(const course *c, uint32_t i) { return c->list == NULL ? i : c->list[i]; }

/* The course of one curve, relative to the start, whose own value is known only after the pass. */
typedef struct extremes {
  int64_t value, peak, lowest;
  vs_moment peak_at;
} extremes;

static inline void rise(extremes *x, int64_t step, uint32_t event) {
  x->value = vs_sat_add_i64(x->value, step);
  if (x->value <= x->peak) return;
  x->peak = x->value;
  x->peak_at = event;
}

static inline void fall(extremes *x, int64_t step) {
  x->value = vs_sat_add_i64(x->value, -step);
  if (x->value < x->lowest) x->lowest = x->value;
}

static void finish(const extremes *x, vs_curve *curve) {
  curve->baseline = minus(curve->end, x->value);
  curve->peak = vs_sat_add_i64(x->peak, curve->baseline);
  curve->lowest = vs_sat_add_i64(x->lowest, curve->baseline);
  curve->peak_at = x->peak_at;
  VS_ASSERT(curve->lowest <= curve->peak);
}

/* The two curves of blocks, which nearly every event changes: in one pass, and without the table of effects. */
static void measure_blocks(const vs_slice *slice, vs_closing closing, vs_curve *requested, vs_curve *held) {
  const vs_columns_of_slice columns = vs_slice_columns(slice);
  const uint32_t ends_requested = ends(VS_CURVE_REQUESTED, closing), ends_held = ends(VS_CURVE_HELD, closing);
  extremes r = {.peak_at = VS_AT_START}, h = r;
  for (uint32_t event = 0; event < slice->event_count; event++) {
    const uint32_t action = vs_action_at(columns, event);
    const int64_t step = as_step(vs_size_at(columns, event));
    if (action == VS_EVENT_ALLOC) {
      rise(&r, step, event);
      rise(&h, step, event);
    } else {
      if (action == ends_requested) fall(&r, step);
      if (action == ends_held) fall(&h, step);
    }
  }
  finish(&r, requested);
  finish(&h, held);
}

static void measure_reserved(const vs_slice *slice, vs_closing closing, vs_curve *reserved) {
  const vs_events *events = &slice->snapshot->events;
  const vs_curve_signs signs = vs_curve_signs_of(VS_CURVE_RESERVED, closing);
  const course c = course_of(slice, VS_CURVE_RESERVED, closing);
  extremes x = {.peak_at = VS_AT_START};
  for (uint32_t i = 0; i < c.count; i++) {
    const uint32_t row = vs_slice_row(slice, event_at(&c, i));
    const int8_t sign = signs.of[vs_events_kind(events, row)];
    if (sign > 0) rise(&x, as_step(vs_events_size(events, row)), event_at(&c, i));
    if (sign < 0) fall(&x, as_step(vs_events_size(events, row)));
  }
  finish(&x, reserved);
}

void vs_curves_measure(const vs_slice *slice, vs_curves *out) {
  *out = (vs_curves){.closing = vs_slice_closing(slice)};
  add_end(slice, out);
  measure_blocks(slice, out->closing, &out->curve[VS_CURVE_REQUESTED], &out->curve[VS_CURVE_HELD]);
  measure_reserved(slice, out->closing, &out->curve[VS_CURVE_RESERVED]);
  bool below_zero = false;
  for (int kind = 0; kind < VS_CURVE_KINDS; kind++) below_zero |= out->curve[kind].lowest < 0;
  if (below_zero) count_below_zero(slice, out);
}

int64_t vs_curve_at(const vs_slice *slice, const vs_curves *curves, vs_curve_kind kind, vs_moment moment) {
  const vs_curve_signs signs = vs_curve_signs_of(kind, curves->closing);
  const course c = course_of(slice, kind, curves->closing);
  const vs_events *events = &slice->snapshot->events;
  int64_t value = curves->curve[kind].baseline;
  for (uint32_t i = 0; i < c.count && event_at(&c, i) <= moment; i++) {
    const uint32_t row = vs_slice_row(slice, event_at(&c, i));
    value =
        vs_sat_add_i64(value, signs.of[vs_events_kind(events, row)] * as_step(vs_events_size(events, row)));
  }
  return value;
}

vs_curve_cursor vs_curve_cursor_at_start(const vs_slice *slice, const vs_curves *curves) {
  vs_curve_cursor cursor = {.slice = slice, .effects = effects_of(curves->closing), .moment = VS_AT_START};
  for (int kind = 0; kind < VS_CURVE_KINDS; kind++) cursor.values[kind] = curves->curve[kind].baseline;
  return cursor;
}

void vs_curve_cursor_move(vs_curve_cursor *cursor, vs_moment moment) {
  const vs_moment end = vs_slice_end(cursor->slice), to = moment < end ? moment : end;
  VS_ASSERT(cursor->moment >= VS_AT_START && cursor->moment <= end);
  while (cursor->moment < to)
    advance(cursor->slice, &cursor->effects, (uint32_t)++cursor->moment, cursor->values);
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
