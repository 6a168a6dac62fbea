/* Rounded sizes told by addresses: what a block keeps of the free block it was put into, and when that is unknown. */
#include "analyze/allocated.h"
#include "unit/analyze/made.h"

#define KiB UINT64_C(1024)
#define MiB UINT64_C(0x100000)

static void expect_true_peak(made *m, const vs_lifetimes *lifetimes, const vs_mappings *mappings,
                             vs_moment first, vs_moment last, int64_t wanted) {
  const vs_moment_range range = {first, last};
  int64_t peak;
  expect_ok(vs_allocated_peaks_between(m->host, lifetimes, mappings, &range, 1, &peak));
  assert_true(peak == wanted);
}

/* The peaks before and from the moment of the peak on, and at that moment alone. */
static void expect_ranges(made *m, const vs_lifetimes *lifetimes, const vs_mappings *mappings,
                          const vs_allocated *all) {
  const vs_moment end = vs_slice_end(lifetimes->slice);
  expect_true_peak(m, lifetimes, mappings, VS_AT_START, end, all->peak);
  expect_true_peak(m, lifetimes, mappings, all->peak_at, all->peak_at, all->peak);
  expect_true_peak(m, lifetimes, mappings, VS_AT_START, VS_AT_START, all->baseline);
  expect_true_peak(m, lifetimes, mappings, end, end, all->end);
  if (all->peak_at == VS_AT_START) return;
  const vs_moment_range two[] = {{VS_AT_START, all->peak_at - 1}, {all->peak_at, end}};
  int64_t peaks[2];
  expect_ok(vs_allocated_peaks_between(m->host, lifetimes, mappings, two, 2, peaks));
  assert_true(peaks[0] < all->peak && peaks[0] >= all->baseline && peaks[1] == all->peak);
}

static vs_allocated measure(made *m) {
  vs_lifetimes lifetimes;
  vs_mappings mappings;
  vs_allocated out;
  const vs_slice *slice = made_slice(m, 0);
  expect_ok(vs_lifetimes_build(m->host, slice, &lifetimes));
  expect_ok(vs_mappings_build(m->host, slice, &mappings));
  vs_address_check addresses;
  expect_ok(vs_allocated_measure(m->host, &lifetimes, &mappings, &addresses, &out));
  expect_ranges(m, &lifetimes, &mappings, &out);
  vs_mappings_deinit(m->host, &mappings);
  vs_lifetimes_deinit(m->host, &lifetimes);
  return out;
}

/* A trace of one segment, all of which is given back at its end: expect_peak. */
static made of_segment(uint64_t bytes) {
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, 100 * MiB, bytes);
  return m;
}

/* The kind of event that undoes one of this kind; VS_EVENT_UNKNOWN: none does. */
static vs_event_kind undone_by(vs_event_kind kind) {
  return kind == VS_EVENT_ALLOC           ? VS_EVENT_FREE_REQUESTED
         : kind == VS_EVENT_SEGMENT_ALLOC ? VS_EVENT_SEGMENT_FREE
         : kind == VS_EVENT_SEGMENT_MAP   ? VS_EVENT_SEGMENT_UNMAP
                                          : VS_EVENT_UNKNOWN;
}

static bool is_undone(const vs_events *events, uint32_t row, vs_event_kind by) {
  for (uint32_t later = row + 1; later < events->count; later++)
    if (vs_events_kind(events, later) == by &&
        vs_events_address(events, later) == vs_events_address(events, row))
      return true;
  return false;
}

/* Frees the blocks and then the segments that are left. */
static void give_back(made *m) {
  const vs_events *events = &m->snapshot->events;
  const uint32_t count = events->count;
  for (int segments = 0; segments < 2; segments++)
    for (uint32_t row = 0; row < count; row++) {
      const vs_event_kind by = undone_by(vs_events_kind(events, row));
      const uint64_t address = vs_events_address(events, row), size = vs_events_size(events, row);
      if (by == VS_EVENT_UNKNOWN || (segments == 0) != (by == VS_EVENT_FREE_REQUESTED) ||
          is_undone(events, row, by))
        continue;
      (void)made_event(m, by, address, size);
      if (segments == 0) (void)made_event(m, VS_EVENT_FREE_COMPLETED, address, size);
    }
}

static void expect_peak_of(made *m, uint64_t bytes, bool is_exact) {
  made_trace(m, 0);
  const vs_allocated allocated = measure(m);
  assert_int_equal(allocated.peak, bytes);
  assert_int_equal(allocated.is_exact, is_exact);
  assert_int_equal(allocated.baseline, 0);
  assert_int_equal(allocated.end, 0);
  made_end(m);
}

static void expect_peak(made *m, uint64_t bytes, bool is_exact) {
  give_back(m);
  expect_peak_of(m, bytes, is_exact);
}

static void test_small_blocks_are_rounded(void **state) {
  (void)state;
  made m = of_segment(2 * MiB);
  (void)made_alloc(&m, 100 * MiB, 700, 0); /* 1,024 */
  (void)made_alloc(&m, 100 * MiB + KiB, 1, 0);
  expect_peak(&m, 1024 + 512, true);
}

/* A height that is reached twice is a peak where it is reached first. */
static void test_the_first_of_equal_peaks(void **state) {
  (void)state;
  made m = of_segment(2 * MiB);
  const uint32_t first = made_alloc(&m, 100 * MiB, 512, 0);
  (void)made_free(&m, 100 * MiB, 512);
  (void)made_alloc(&m, 100 * MiB, 512, 0);
  give_back(&m);
  made_trace(&m, 0);
  const vs_allocated allocated = measure(&m);
  assert_int_equal(allocated.peak, 512);
  assert_int_equal(allocated.peak_at, first);
  made_end(&m);
}

/* Up to 1 MiB is not split off; one byte more, rounded, is. */
static void test_a_rest_of_1_mib_is_kept(void **state) {
  (void)state;
  made m = of_segment(20 * MiB);
  (void)made_alloc(&m, 100 * MiB, 19 * MiB - 5, 0);
  expect_peak(&m, 20 * MiB, true);
  m = of_segment(20 * MiB);
  (void)made_alloc(&m, 100 * MiB, 19 * MiB - 512, 0);
  expect_peak(&m, 19 * MiB - 512, true);
}

/* The free block ends where the next live block begins, also while that one waits for a stream. */
static void test_a_rest_between_blocks(void **state) {
  (void)state;
  made m = of_segment(20 * MiB);
  (void)made_alloc(&m, 100 * MiB, 3 * MiB, 0);
  (void)made_alloc(&m, 103 * MiB, 10 * MiB, 0);
  (void)made_free(&m, 100 * MiB, 3 * MiB);
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, 103 * MiB, 10 * MiB);
  (void)made_alloc(&m, 100 * MiB, 2 * MiB + 1, 0); /* keeps all 3 MiB */
  (void)made_alloc(&m, 113 * MiB, 7 * MiB, 0);     /* the peak is that of 3 and 10 */
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, 103 * MiB, 10 * MiB);
  (void)made_alloc(&m, 103 * MiB, 4 * MiB, 0); /* 14 */
  expect_peak(&m, 14 * MiB, true);
}

static void test_expandable_segments_split_everything(void **state) {
  (void)state;
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_SEGMENT_MAP, 100 * MiB, 20 * MiB);
  (void)made_alloc(&m, 100 * MiB, 19 * MiB + 5, 0);
  expect_peak(&m, 19 * MiB + 512, true);
}

static uint32_t made_setting(made *m, const char *key, uint64_t value) {
  vs_snapshot *s = m->snapshot;
  expect_ok(vs_vec_reserve(m->host, &s->settings, 1));
  s->settings.data[s->settings.count] =
      (vs_setting){.key = made_string(m, key), .kind = VS_SETTING_INT, .bits = value};
  s->has |= VS_HAS_SETTINGS;
  return (uint32_t)s->settings.count++;
}

/* With expandable segments on, what a block keeps in a segment of another kind is in doubt. */
static void test_expandable_segments_are_on(void **state) {
  (void)state;
  for (uint64_t rest = 0; rest < 2; rest++) {
    made m = of_segment(20 * MiB);
    const uint32_t setting = made_setting(&m, "expandable_segments", 1);
    m.snapshot->settings.data[setting].kind = VS_SETTING_BOOL;
    (void)made_alloc(&m, 100 * MiB, (20 - rest) * MiB, 0);
    expect_peak(&m, 20 * MiB, rest == 0);
  }
}

/* A segment that is gone does not contain the blocks that are allocated in the next one at its place. */
static void test_a_segment_in_place_of_another(void **state) {
  (void)state;
  made m = of_segment(40 * MiB);
  (void)made_event(&m, VS_EVENT_SEGMENT_FREE, 100 * MiB, 40 * MiB);
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, 90 * MiB, 20 * MiB);
  (void)made_alloc(&m, 90 * MiB, 10 * MiB, 0);
  (void)made_alloc(&m, 100 * MiB, 9 * MiB + 1, 0); /* keeps all 10 MiB that are left */
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 90 * MiB, 20 * MiB, "large");
  (void)made_block(&m, 10 * MiB, 10 * MiB, VS_BLOCK_ALLOCATED);
  (void)made_block(&m, 10 * MiB, 9 * MiB + 1, VS_BLOCK_ALLOCATED);
  const vs_allocated allocated = measure(&m);
  assert_int_equal(allocated.peak, 20 * MiB);
  assert_true(allocated.is_exact);
  made_end(&m);
}

/* From max_split_size on nothing is split off. */
static void test_max_split_size(void **state) {
  (void)state;
  made m = of_segment(100 * MiB);
  (void)made_setting(&m, "max_split_size", 30 * MiB);
  (void)made_alloc(&m, 100 * MiB, 30 * MiB, 0);
  expect_peak(&m, 100 * MiB, true);
  m = of_segment(100 * MiB);
  (void)made_setting(&m, "max_split_size", 30 * MiB);
  (void)made_alloc(&m, 100 * MiB, 30 * MiB - 512, 0);
  expect_peak(&m, 30 * MiB - 512, true);
}

/* The end state knows the size of what is live then, and contradicts a rule that gives another. */
static void test_the_end_state_knows(void **state) {
  (void)state;
  for (uint64_t other = 0; other < 2; other++) {
    made m = of_segment(20 * MiB);
    (void)made_alloc(&m, 100 * MiB, 4 * MiB, 0);
    (void)made_alloc(&m, (104 + other) * MiB, 5 * MiB, 0);
    (void)made_free(&m, (104 + other) * MiB, 5 * MiB);
    made_trace(&m, 0);
    (void)made_segment(&m, 0, 100 * MiB, 20 * MiB, "large");
    (void)made_block(&m, (4 + other) * MiB, 4 * MiB, VS_BLOCK_ALLOCATED);
    (void)made_block(&m, (16 - other) * MiB, 5 * MiB, VS_BLOCK_INACTIVE);
    const vs_allocated allocated = measure(&m);
    assert_int_equal(allocated.end, (4 + other) * MiB);
    assert_int_equal(allocated.peak, (9 + other) * MiB);
    assert_int_equal(allocated.baseline, 0);
    assert_int_equal(allocated.is_exact, other == 0);
    made_end(&m);
  }
}

/* A block that begins where no free block begins, does not fit, or lies in no segment. */
static void test_what_cannot_be(void **state) {
  (void)state;
  made m = of_segment(20 * MiB);
  (void)made_alloc(&m, 101 * MiB, 3 * MiB, 0);
  expect_peak(&m, 3 * MiB, false);
  m = of_segment(20 * MiB);
  (void)made_alloc(&m, 100 * MiB, 3 * MiB, 0);
  (void)made_alloc(&m, 103 * MiB + 512, 3 * MiB, 0);
  expect_peak(&m, 6 * MiB, false);
  m = of_segment(20 * MiB);
  (void)made_alloc(&m, 100 * MiB, 21 * MiB, 0);
  expect_peak(&m, 21 * MiB, false);
  m = of_segment(20 * MiB);
  (void)made_alloc(&m, 120 * MiB, MiB, 0);
  expect_peak(&m, MiB, false);
}

/* Of a block that is older than the trace nothing tells what was next to it. */
static void test_older_blocks(void **state) {
  (void)state;
  static const struct {
    uint64_t segment, size, baseline;
    bool is_exact;
  } cases[] = {
      {20 * MiB, 20 * MiB - 3, 20 * MiB, true}, /* fills it */
      {20 * MiB, 19 * MiB + 5, 19 * MiB + 512, false},
      {20 * MiB, 3 * MiB, 3 * MiB, false},
      {20 * MiB, MiB + 1, MiB + 512, false},
      {2 * MiB, 700, 1024, true},
      {2 * MiB, MiB, MiB, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    made m = made_begin();
    (void)made_free(&m, 100 * MiB, cases[i].size);
    (void)made_event(&m, VS_EVENT_SEGMENT_FREE, 100 * MiB, cases[i].segment);
    made_trace(&m, 0);
    const vs_allocated allocated = measure(&m);
    assert_int_equal(allocated.baseline, cases[i].baseline);
    assert_int_equal(allocated.peak, cases[i].baseline);
    assert_int_equal(allocated.peak_at, VS_AT_START);
    assert_int_equal(allocated.end, 0);
    assert_int_equal(allocated.is_exact, cases[i].is_exact);
    made_end(&m);
  }
}

/* What an older block may have had does not matter where the peak comes after it, or is higher by more. */
static void test_older_blocks_below_the_peak(void **state) {
  (void)state;
  for (uint64_t less = 0; less <= 512; less += 512) {
    made m = made_begin();
    (void)made_alloc(&m, 200 * MiB, 19 * MiB - less,
                     0); /* the peak, or 512 bytes below it, with what is in doubt */
    (void)made_free(&m, 200 * MiB, 19 * MiB - less);
    (void)made_free(&m, 100 * MiB, 3 * MiB);
    (void)made_alloc(&m, 200 * MiB, 20 * MiB, 0);
    (void)made_alloc(&m, 100 * MiB, 3 * MiB, 0);
    (void)made_free(&m, 200 * MiB, 20 * MiB);
    (void)made_free(&m, 100 * MiB, 3 * MiB);
    (void)made_event(&m, VS_EVENT_SEGMENT_FREE, 100 * MiB, 20 * MiB);
    (void)made_event(&m, VS_EVENT_SEGMENT_FREE, 200 * MiB, 20 * MiB);
    made_trace(&m, 0);
    const vs_allocated allocated = measure(&m);
    assert_int_equal(allocated.baseline, 3 * MiB);
    assert_int_equal(allocated.peak, 23 * MiB);
    assert_int_equal(allocated.is_exact, less != 0);
    made_end(&m);
  }
}

/* Freed before the trace: pending at its start, and no longer allocated. */
static void test_a_pending_block_is_not_allocated(void **state) {
  (void)state;
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, 100 * MiB, 20 * MiB);
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, 200 * MiB, 20 * MiB);
  (void)made_event(&m, VS_EVENT_SEGMENT_FREE, 100 * MiB, 20 * MiB);
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 200 * MiB, 20 * MiB, "large");
  (void)made_block(&m, 20 * MiB, 20 * MiB, VS_BLOCK_PENDING);
  const vs_allocated allocated = measure(&m);
  assert_int_equal(allocated.baseline, 20 * MiB);
  assert_int_equal(allocated.peak, 20 * MiB);
  assert_int_equal(allocated.end, 0);
  assert_true(allocated.is_exact);
  made_end(&m);
}

/* A private pool that takes another segment instead of the bytes that were left free does not split; one that needs more,
 * or memory of another stream, may. */
static void test_private_pools(void **state) {
  (void)state;
  static const struct {
    uint64_t size;
    bool is_of_other_stream, is_exact;
  } cases[] = {{17, false, false}, {18, false, true}, {17, true, true}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    made m = made_begin();
    vs_events *events = &m.snapshot->events;
    const uint32_t pool = made_pool(&m, 0, 1), other = made_stream(&m, 7),
                   sizes[] = {20, (uint32_t)cases[c].size};
    for (uint32_t i = 0; i < 2; i++) {
      const uint32_t event = made_event(&m, VS_EVENT_SEGMENT_ALLOC, (100 + 100 * i) * MiB, sizes[i] * MiB);
      expect_ok(vs_events_set_pool(m.host, events, event, pool));
      if (i == 1 && cases[c].is_of_other_stream)
        expect_ok(vs_events_set_stream(m.host, events, event, other));
      (void)made_alloc(&m, (100 + 100 * i) * MiB, i == 0 ? 3 * MiB : sizes[1] * MiB,
                       0); /* the first leaves 17 */
    }
    (void)made_free(&m, 100 * MiB, 3 * MiB);
    (void)made_free(&m, 200 * MiB, sizes[1] * MiB);
    for (uint32_t i = 0; i < 2; i++) {
      const uint32_t event = made_event(&m, VS_EVENT_SEGMENT_FREE, (100 + 100 * i) * MiB, sizes[i] * MiB);
      expect_ok(vs_events_set_pool(m.host, events, event, pool));
      if (i == 1 && cases[c].is_of_other_stream)
        expect_ok(vs_events_set_stream(m.host, events, event, other));
    }
    expect_peak_of(&m, (3 + cases[c].size) * MiB, cases[c].is_exact);
  }
}

/* The range of a block that was freed is no segment: the next block at its address keeps its own size. The first block may be older
 * than the trace. */
static void expect_sizes_of_account(bool is_older) {
  made m = made_begin();
  m.snapshot->format = VS_FORMAT_KINETO;
  m.snapshot->lacks = VS_LACKS_SEGMENTS;
  if (!is_older) (void)made_event(&m, VS_EVENT_ALLOC, 100 * MiB, 4 * MiB - 1);
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, 100 * MiB, 4 * MiB - 1);
  (void)made_event(&m, VS_EVENT_ALLOC, 100 * MiB, 3 * MiB);
  (void)made_event(&m, VS_EVENT_ALLOC, 200 * MiB, 8 * MiB);
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, 100 * MiB, 3 * MiB);
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 200 * MiB, 8 * MiB, "");
  (void)made_block(&m, 8 * MiB, 8 * MiB, VS_BLOCK_ALLOCATED);
  const vs_allocated allocated = measure(&m);
  assert_int_equal(allocated.peak, 11 * MiB);
  assert_int_equal(allocated.end, 8 * MiB);
  made_end(&m);
}

static void test_accounts_say_the_sizes(void **state) {
  (void)state;
  if (VS_FREESTANDING) return; /* the page's engine reads no accounts */
  expect_sizes_of_account(false);
  expect_sizes_of_account(true);
}

/* Without completed frees it is unknown which free blocks were one. */
static void test_half_recorded_frees(void **state) {
  (void)state;
  made m = of_segment(2 * MiB);
  (void)made_alloc(&m, 100 * MiB, 700, 0);
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, 100 * MiB, 700);
  (void)made_event(&m, VS_EVENT_SEGMENT_FREE, 100 * MiB, 2 * MiB);
  expect_peak_of(&m, 1024, false);
  m = of_segment(2 * MiB);
  (void)made_alloc(&m, 100 * MiB, 700, 0);
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, 100 * MiB, 700);
  (void)made_event(&m, VS_EVENT_SEGMENT_FREE, 100 * MiB, 2 * MiB);
  expect_peak_of(&m, 1024, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_small_blocks_are_rounded),
      cmocka_unit_test(test_the_first_of_equal_peaks),
      cmocka_unit_test(test_a_rest_of_1_mib_is_kept),
      cmocka_unit_test(test_a_rest_between_blocks),
      cmocka_unit_test(test_expandable_segments_split_everything),
      cmocka_unit_test(test_expandable_segments_are_on),
      cmocka_unit_test(test_a_segment_in_place_of_another),
      cmocka_unit_test(test_max_split_size),
      cmocka_unit_test(test_the_end_state_knows),
      cmocka_unit_test(test_what_cannot_be),
      cmocka_unit_test(test_older_blocks),
      cmocka_unit_test(test_older_blocks_below_the_peak),
      cmocka_unit_test(test_a_pending_block_is_not_allocated),
      cmocka_unit_test(test_private_pools),
      cmocka_unit_test(test_accounts_say_the_sizes),
      cmocka_unit_test(test_half_recorded_frees),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
