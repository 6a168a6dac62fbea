/* Mappings, states, names, levels and times against a second account of what their headers say. */
#include "analyze/holes.h"
#include "analyze/curve_index.h"
#include "analyze/block_names.h"
#include "analyze/times.h"
#include "property/analyze/traces.h"

/* ---- mappings: cell by cell, backwards ----------------------------------------------------------------- */

enum { MOST_STRETCHES = 600 };

/* What lay in one cell, the last first. */
typedef struct cell_past {
  struct {
    uint32_t start, end, segment;
  } stretches[MOST_STRETCHES];
  uint32_t count;
} cell_past;

static bool covers(uint64_t address, uint64_t size, uint64_t cell) {
  return address <= cell * TRACE_CELL && cell * TRACE_CELL < address + size;
}

static void look_at_cell(const vs_slice *slice, uint64_t cell, cell_past *out) {
  const vs_snapshot *s = slice->snapshot;
  bool is_open = false;
  *out = (cell_past){.count = 0};
  for (uint32_t i = 0; i < slice->segment_count; i++) {
    const vs_segment *segment = &s->segments.data[slice->segments[i]];
    if (!covers(segment->address, segment->total_size, cell)) continue;
    out->stretches[0].end = VS_NO_EVENT;
    out->stretches[0].segment = slice->segments[i];
    is_open = true;
  }
  for (uint32_t event = slice->event_count; event-- > 0;) {
    const vs_event_kind kind = vs_events_kind(&s->events, event);
    if (kind < VS_EVENT_SEGMENT_ALLOC || kind > VS_EVENT_SEGMENT_UNMAP) continue;
    if (vs_events_missing(&s->events, event) != 0) continue;
    if (!covers(vs_events_address(&s->events, event), vs_events_size(&s->events, event), cell)) continue;
    if (is_open) out->stretches[out->count++].start = event;
    is_open = kind == VS_EVENT_SEGMENT_FREE || kind == VS_EVENT_SEGMENT_UNMAP;
    out->stretches[out->count].end = event;
    out->stretches[out->count].segment = VS_NO_ROW;
  }
  if (is_open) out->stretches[out->count++].start = VS_NO_EVENT;
}

static bool is_same_stretch(const cell_past *a, uint32_t i, const cell_past *b, uint32_t k) {
  return a->stretches[i].start == b->stretches[k].start && a->stretches[i].end == b->stretches[k].end &&
         a->stretches[i].segment == b->stretches[k].segment;
}

/* Each stretch of each cell is in one row, and neighbours with the same one are in the same row. */
static void compare_mappings(const vs_mappings *mappings) {
  static cell_past now, before;
  size_t rows = 0;
  before.count = 0;
  assert_null(vs_mappings_check(mappings));
  for (uint64_t cell = 0; cell < TRACE_CELLS + 8; cell++) {
    look_at_cell(mappings->slice, cell, &now);
    uint32_t found = 0;
    for (size_t i = 0; i < mappings->rows.count; i++) {
      const vs_mapping *row = &mappings->rows.data[i];
      if (!covers(row->address, row->size, cell)) continue;
      found++;
      uint32_t k = 0;
      while (k < now.count && (now.stretches[k].start != row->start || now.stretches[k].end != row->end)) k++;
      assert_true(k < now.count);
      assert_int_equal(row->segment, now.stretches[k].segment);
    }
    assert_int_equal(found, now.count);
    for (uint32_t i = 0; i < now.count; i++) {
      bool goes_on = false;
      for (uint32_t k = 0; k < before.count; k++) goes_on |= is_same_stretch(&now, i, &before, k);
      rows += !goes_on;
    }
    before = now;
  }
  size_t far = 0; /* the segment for honest blocks */
  for (size_t i = 0; i < mappings->rows.count; i++)
    far += mappings->rows.data[i].address >= (uint64_t)1 << 40;
  assert_int_equal(mappings->rows.count, rows + far);
}

static void compare_versions(const vs_mappings *mappings) {
  for (size_t i = 0; i < mappings->rows.count; i++) {
    const vs_mapping *row = &mappings->rows.data[i];
    uint32_t ended = 0;
    for (size_t k = 0; k < mappings->rows.count; k++) {
      const vs_mapping *other = &mappings->rows.data[k];
      ended += other->address == row->address && row->start != VS_NO_EVENT && other->end <= row->start;
    }
    assert_int_equal(row->version, ended);
  }
}

static void compare_gets(const vs_mappings *mappings, test_random *random) {
  const vs_slice *slice = mappings->slice;
  const uint32_t first = (uint32_t)random_below(random, slice->event_count + 1),
                 end = first + (uint32_t)random_below(random, slice->event_count + 1 - first);
  uint32_t gets = 0, gives = 0;
  for (uint32_t event = first; event < end; event++) {
    const vs_event_kind kind = vs_events_kind(&slice->snapshot->events, event);
    gets += kind == VS_EVENT_SEGMENT_ALLOC || kind == VS_EVENT_SEGMENT_MAP;
    gives += kind == VS_EVENT_SEGMENT_FREE || kind == VS_EVENT_SEGMENT_UNMAP;
  }
  assert_int_equal(vs_count_events(mappings->gets.data, mappings->gets.count, first, end), gets);
  assert_int_equal(vs_count_events(mappings->gives.data, mappings->gives.count, first, end), gives);
}

/* ---- names --------------------------------------------------------------------------------------------- */

/* PyTorch counts a version of each address up at each completed free. */
static void compare_names(const vs_host *host, const vs_lifetimes *lifetimes) {
  vs_block_names names;
  const vs_slice *slice = lifetimes->slice;
  const vs_event_kind counted =
      lifetimes->closing.at_request ? VS_EVENT_FREE_REQUESTED : VS_EVENT_FREE_COMPLETED;
  expect_ok(vs_block_names_build(host, lifetimes, &names));
  assert_int_equal(names.versions.count, lifetimes->rows.count);
  for (size_t i = 0; i < lifetimes->rows.count; i++) {
    const vs_lifetime *row = &lifetimes->rows.data[i];
    uint32_t first = row->start, version = 0;
    for (uint32_t event = 0; event < slice->event_count && first == VS_NO_EVENT; event++)
      if (lifetimes->row_of_event.data[event] == i) first = event;
    for (uint32_t event = 0; event < slice->event_count && event < first; event++) {
      const bool is_end = lifetimes->row_of_event.data[event] != VS_NO_ROW &&
                          lifetimes->rows.data[lifetimes->row_of_event.data[event]].end == event;
      version += is_end && vs_events_kind(&slice->snapshot->events, event) == counted &&
                 vs_events_address(&slice->snapshot->events, event) == row->address;
    }
    assert_int_equal(names.versions.data[i], version);
    assert_true(vs_block_names_find(&names, lifetimes, row->address, version) <= i);
  }
  vs_block_names_deinit(host, &names);
}

/* ---- states -------------------------------------------------------------------------------------------- */

static void expect_same_state(const vs_state *state, const vs_mappings *mappings) {
  assert_null(vs_state_check(state));
  for (uint64_t cell = 0; cell < TRACE_CELLS + 8 && !state->is_exact; cell++) {
    bool is_there = false, is_shown = false;
    for (size_t i = 0; i < mappings->rows.count; i++)
      is_there |= vs_mapping_is_live(&mappings->rows.data[i], state->moment) &&
                  covers(mappings->rows.data[i].address, mappings->rows.data[i].size, cell);
    for (size_t i = 0; i < state->segments.count; i++)
      is_shown |= covers(state->segments.data[i].address, state->segments.data[i].size, cell);
    assert_int_equal(is_shown, is_there);
  }
}

static void expect_same_holes(const vs_holes *got, const vs_holes *wanted) {
  assert_int_equal(got->reserved, wanted->reserved);
  assert_int_equal(got->active, wanted->active);
  assert_int_equal(got->free, wanted->free);
  assert_int_equal(got->largest_hole, wanted->largest_hole);
  assert_int_equal(got->hole_count, wanted->hole_count);
  assert_int_equal(got->pinned, wanted->pinned);
  assert_int_equal(got->releasable, wanted->releasable);
  assert_int_equal(got->unusable, wanted->unusable);
  assert_int_equal(got->is_unusable_known, wanted->is_unusable_known);
}

static void compare_moment(const vs_host *host, const vs_moment_index *moments, vs_moment moment) {
  vs_liveset a, b;
  vs_fragmentation fragmentation;
  vs_holes holes;
  vs_holes_point point = {.moment = moment};
  uint64_t class_bytes[VS_HOLE_CLASSES], bytes = 0;
  expect_ok(vs_liveset_build(host, moments->lifetimes, moment, &a));
  expect_ok(vs_liveset_at(host, moments->lifetimes, &moments->spans, moment, &b));
  assert_int_equal(a.rows.count, b.rows.count);
  for (size_t i = 0; i < a.rows.count; i++) assert_int_equal(a.rows.data[i], b.rows.data[i]);
  assert_true(a.bytes == b.bytes && a.pending_bytes == b.pending_bytes && a.pending_count == b.pending_count);
  vs_liveset_deinit(host, &a);
  vs_liveset_deinit(host, &b);

  expect_ok(vs_fragmentation_at(host, moments, moment, 3, &fragmentation));
  expect_same_state(&fragmentation.state, &moments->mappings);
  expect_ok(vs_holes_at(host, moments, moment, &holes, class_bytes));
  expect_ok(vs_holes_course(host, moments, &point, 1));
  expect_same_holes(&point.holes, &fragmentation.all);
  expect_same_holes(&holes, &fragmentation.all);
  for (uint32_t c = 0; c < VS_HOLE_CLASSES; c++) assert_int_equal(point.class_bytes[c], class_bytes[c]);
  for (uint32_t c = 0; c < VS_HOLE_CLASSES; c++) bytes += class_bytes[c];
  assert_int_equal(bytes, holes.free);
  vs_fragmentation_deinit(host, &fragmentation);
}

/* ---- levels and times ---------------------------------------------------------------------------------- */

static vs_curve_extent measure(const int64_t *values, int64_t first, int64_t last) {
  vs_curve_extent extent = {values[first + 1], values[first + 1], values[last + 1], first};
  for (int64_t m = first; m <= last; m++) {
    if (values[m + 1] > extent.high) {
      extent.high = values[m + 1];
      extent.high_at = m;
    }
    if (values[m + 1] < extent.low) extent.low = values[m + 1];
  }
  return extent;
}

static void compare_rise(const vs_curve_index *curve, const int64_t *values) {
  vs_rise wanted = {-1, -1, 0};
  for (int64_t to = -1; to < (int64_t)curve->event_count; to++)
    for (int64_t from = -1; from < to; from++) {
      const int64_t bytes = values[to + 1] - values[from + 1];
      if (bytes <= 0 || (uint64_t)bytes < wanted.bytes) continue;
      if ((uint64_t)bytes == wanted.bytes && to != wanted.to) continue;
      wanted = (vs_rise){from, to, (uint64_t)bytes};
    }
  const vs_rise got = vs_curve_index_rise(curve);
  assert_int_equal(got.bytes, wanted.bytes);
  assert_int_equal(got.from, wanted.from);
  assert_int_equal(got.to, wanted.to);
}

/* `values` by moment + 1. */
static void compare_curve_index(const vs_curve_index *curve, const int64_t *values, test_random *random) {
  vs_curve_reader reader;
  vs_curve_reader_init(&reader, curve);
  for (int i = 0; i < 40; i++) {
    const int64_t first = (int64_t)random_below(random, curve->event_count + 1) - 1;
    const int64_t last =
        first + (int64_t)random_below(random, (uint64_t)((int64_t)curve->event_count - first));
    const vs_curve_extent got = vs_curve_reader_between(&reader, first, last),
                          wanted = measure(values, first, last);
    assert_true(got.high == wanted.high && got.low == wanted.low && got.last == wanted.last);
    assert_int_equal(got.high_at, wanted.high_at);
    assert_int_equal(vs_curve_reader_at(&reader, last), values[last + 1]);
  }
  compare_rise(curve, values);
}

static void compare_curves(const vs_host *host, const vs_slice *slice, test_random *random) {
  vs_curves curves;
  vs_curve_index curve[VS_CURVE_KINDS];
  vs_curves_measure(slice, &curves);
  expect_ok(vs_curve_index_of_curves(host, slice, &curves, curve));
  int64_t *values = test_malloc((slice->event_count + 1) * sizeof *values);
  for (int kind = 0; kind < VS_CURVE_KINDS; kind++) {
    vs_curve_cursor cursor = vs_curve_cursor_at_start(slice, &curves);
    for (uint32_t done = 0; done <= slice->event_count; done++) {
      vs_curve_cursor_move(&cursor, (vs_moment)done - 1);
      values[done] = cursor.values[kind];
    }
    compare_curve_index(&curve[kind], values, random);
    vs_curve_index_deinit(host, &curve[kind]);
  }
  test_free(values);
}

static void compare_curve_index_of_spans(const vs_host *host, const vs_moment_index *moments,
                                         test_random *random) {
  vs_curve_index curve;
  const uint32_t events = moments->spans.event_count;
  expect_ok(vs_curve_index_of_spans(host, &moments->spans, &curve));
  int64_t *values = test_malloc((events + 1) * sizeof *values);
  for (uint32_t done = 0; done <= events; done++) {
    values[done] = 0;
    for (size_t i = 0; i < moments->lifetimes->rows.count; i++)
      if (vs_lifetime_is_live(&moments->lifetimes->rows.data[i], (vs_moment)done - 1))
        values[done] += (int64_t)moments->lifetimes->rows.data[i].size;
  }
  compare_curve_index(&curve, values, random);
  test_free(values);
  vs_curve_index_deinit(host, &curve);
}

static void compare_times(const vs_host *host, const vs_slice *slice) {
  vs_times times;
  expect_ok(vs_times_build(host, slice, &times));
  int64_t now = VS_NO_TIME;
  for (uint32_t event = 0; event < slice->event_count && now == VS_NO_TIME; event++)
    now = vs_slice_time(slice, event);
  assert_int_equal(times.first_us, now);
  assert_int_equal(vs_times_at(&times, VS_AT_START), now);
  if (now != VS_NO_TIME) assert_int_equal(vs_times_first(&times, now), VS_AT_START);
  for (uint32_t event = 0; event < slice->event_count && now != VS_NO_TIME; event++) {
    const int64_t before = now, time = vs_slice_time(slice, event);
    if (time > now) now = time;
    assert_int_equal(vs_times_at(&times, event), now);
    for (int64_t t = before + 1; t <= now; t++) assert_int_equal(vs_times_first(&times, t), event);
  }
  assert_int_equal(times.last_us, now);
  if (now != VS_NO_TIME) assert_int_equal(vs_times_first(&times, now + 1), slice->event_count);
  vs_times_deinit(host, &times);
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static void compare_all(const vs_host *host, const vs_slice *slice, test_random *random) {
  vs_lifetimes lifetimes;
  vs_moment_index moments;
  expect_ok(vs_lifetimes_build(host, slice, &lifetimes));
  expect_ok(vs_moment_index_build(host, &lifetimes, &moments));
  compare_mappings(&moments.mappings);
  compare_versions(&moments.mappings);
  compare_gets(&moments.mappings, random);
  compare_names(host, &lifetimes);
  for (int i = 0; i < 20; i++)
    compare_moment(host, &moments, (vs_moment)random_below(random, slice->event_count + 1) - 1);
  compare_curves(host, slice, random);
  compare_curve_index_of_spans(host, &moments, random);
  compare_times(host, slice);
  vs_moment_index_deinit(host, &moments);
  vs_lifetimes_deinit(host, &lifetimes);
}

static void test_moments(void **state) {
  (void)state;
  test_random random = {6};
  for (int i = 0; i < 400; i++) {
    const trace_plan plan = plan_at_random(&random);
    made m = trace_at_random(&random, &plan);
    expect_ok(vs_slices_build(m.host, m.snapshot, &m.slices));
    const vs_slice *slice = vs_slices_find(&m.slices, 0);
    if (slice != NULL) compare_all(m.host, slice, &random);
    made_end(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_moments)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
