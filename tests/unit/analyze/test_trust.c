/* Every doubt, planted one by one into an honest recording. */
#include "analyze/whatif_mark.h"
#include "unit/analyze/judged.h"
#include "unit/analyze/made.h"

enum { KiB = 1024, SEGMENT = 0x100000, SECOND = 0x200000 };

/* Honest events: a segment, two blocks of which one stays. Lies come behind; the end state is honest_end(). */
static made honest_begin(void) {
  made m = made_begin();
  made_time(&m, made_event(&m, VS_EVENT_SEGMENT_ALLOC, SEGMENT, 8 * KiB), 100); /* 0 */
  made_time(&m, made_event(&m, VS_EVENT_ALLOC, SEGMENT, 1000), 110);            /* 1 */
  made_time(&m, made_event(&m, VS_EVENT_ALLOC, SEGMENT + KiB, 2000), 120);      /* 2 */
  made_time(&m, made_event(&m, VS_EVENT_FREE_REQUESTED, SEGMENT, 1000), 130);   /* 3 */
  made_time(&m, made_event(&m, VS_EVENT_FREE_COMPLETED, SEGMENT, 1000), 130);   /* 4 */
  return m;
}
enum { NEXT = 5 }; /* the first event behind them */

static void honest_end(made *m) {
  made_trace(m, 0);
  vs_segment *segment = made_segment(m, 0, SEGMENT, 8 * KiB, "small");
  segment->has = VS_SEGMENT_HAS_ALLOCATED | VS_SEGMENT_HAS_ACTIVE | VS_SEGMENT_HAS_REQUESTED;
  segment->allocated_size = segment->active_size = 2 * KiB;
  segment->requested_size = 2000;
  (void)made_block(m, KiB, 1000, VS_BLOCK_INACTIVE);
  (void)made_block(m, 2 * KiB, 2000, VS_BLOCK_ALLOCATED);
  (void)made_block(m, 5 * KiB, 0, VS_BLOCK_INACTIVE);
}

static vs_trust judge(made *m, int32_t device) {
  const vs_slice *slice = made_slice(m, device);
  vs_curves curves;
  vs_lifetimes lifetimes;
  vs_curves_measure(slice, &curves);
  expect_ok(vs_lifetimes_build(m->host, slice, &lifetimes));
  const vs_trust trust = judged(m->host, &lifetimes, &curves);
  vs_lifetimes_deinit(m->host, &lifetimes);
  return trust;
}

typedef struct wanted {
  vs_finding_kind kind;
  uint64_t count;
  int64_t first_event;
} wanted;

static bool was_found[VS_FINDING_KINDS]; /* by any test so far */

/* Ends and frees `m`. Exactly these doubts, and completeness by their severities. */
static void expect_findings(made *m, int32_t device, const wanted *list, size_t count) {
  const vs_trust trust = judge(m, device);
  bool complete = true;
  for (size_t kind = 0; kind < VS_FINDING_KINDS; kind++) {
    wanted want = {(vs_finding_kind)kind, 0, -1};
    for (size_t i = 0; i < count; i++)
      if (list[i].kind == kind) want = list[i];
    const vs_tally *got = &trust.findings[kind];
    if (got->count != want.count || got->first_event != want.first_event)
      fail_msg("%s: count %d at %d, not %d at %d", vs_finding_name((vs_finding_kind)kind), (int)got->count,
               (int)got->first_event, (int)want.count, (int)want.first_event);
    if (want.count > 0) was_found[kind] = true;
    if (want.count > 0 && vs_finding_severity(want.kind) != VS_SEVERITY_NOTE) complete = false;
  }
  assert_int_equal(trust.is_complete, complete);
  made_end(m);
}

#define EXPECT(m, ...) \
  expect_findings((m), 0, (wanted[]){__VA_ARGS__}, sizeof((wanted[]){__VA_ARGS__}) / sizeof(wanted))

static void test_honest(void **state) {
  (void)state;
  made m = honest_begin();
  honest_end(&m);
  expect_findings(&m, 0, NULL, 0);
}

/* ---- gaps ---------------------------------------------------------------------------------------------- */

static void test_no_trace(void **state) {
  (void)state;
  made m = made_begin();
  honest_end(&m);
  EXPECT(&m, {VS_FINDING_NO_TRACE, 1, -1});
}

static void add_setting(made *m, uint8_t depth, vs_setting_kind kind, uint64_t bits) {
  const uint32_t key = made_string(m, "trace_alloc_overflowed");
  expect_ok(vs_vec_reserve(m->host, &m->snapshot->settings, 1));
  m->snapshot->settings.data[m->snapshot->settings.count++] =
      (vs_setting){.key = key, .kind = (uint8_t)kind, .depth = depth, .bits = bits};
}

static void test_ring_wrapped(void **state) {
  (void)state;
  made m = honest_begin();
  honest_end(&m);
  add_setting(&m, 0, VS_SETTING_BOOL, true);
  EXPECT(&m, {VS_FINDING_RING_WRAPPED, 1, -1});
  m = honest_begin();
  honest_end(&m);
  add_setting(&m, 0, VS_SETTING_BOOL, false);
  add_setting(&m, 0, VS_SETTING_INT, 1);
  add_setting(&m, 0, VS_SETTING_DICT, 1);
  add_setting(&m, 1, VS_SETTING_BOOL, true); /* of something else */
  expect_findings(&m, 0, NULL, 0);
  m = made_begin(); /* pinned memory has a ring of its own */
  (void)made_event(&m, VS_EVENT_SNAPSHOT, 0, 0);
  made_trace(&m, VS_DEVICE_HOST);
  add_setting(&m, 0, VS_SETTING_BOOL, true);
  expect_findings(&m, VS_DEVICE_HOST, NULL, 0);
}

/* What a recording says of itself, each alone. */
static void test_what_a_recording_lost(void **state) {
  (void)state;
  const struct {
    vs_recording recording;
    wanted want;
  } cases[] = {
      {{.is_ended = true, .unknown_records = 3, .frames = 9}, {VS_FINDING_NOT_ENDED, 0, -1}},
      {{.is_ended = false}, {VS_FINDING_NOT_ENDED, 1, -1}},
      {{.is_ended = true, .unrecorded = 7}, {VS_FINDING_UNRECORDED_EVENTS, 7, -1}},
      {{.is_ended = true, .lost_frames = 2, .lost_bytes = 9}, {VS_FINDING_DAMAGED_FILE, 2, -1}},
      {{.is_ended = true, .lost_bytes = 9}, {VS_FINDING_DAMAGED_FILE, 1, -1}},
      {{.is_ended = true, .lost_events = 9}, {VS_FINDING_DAMAGED_FILE, 1, -1}},
      {{.is_ended = true, .earlier_frames = 4}, {VS_FINDING_RING_WRAPPED, 1, -1}},
      {{.is_ended = false, .stopped = VS_STRING_EMPTY}, {VS_FINDING_STOPPED, 1, -1}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    made m = honest_begin();
    honest_end(&m);
    m.snapshot->format = VS_FORMAT_VRAM;
    m.snapshot->recording = cases[i].recording;
    EXPECT(&m, cases[i].want);
  }
}

/* From when on: the first event after a gap, or the last one where none follows. */
static void test_from_when_on_events_are_missing(void **state) {
  (void)state;
  static const vs_finding_kind kinds[VS_GAP_CAUSES] = {[VS_GAP_UNRECORDED] = VS_FINDING_UNRECORDED_EVENTS,
                                                       [VS_GAP_STOPPED] = VS_FINDING_STOPPED,
                                                       [VS_GAP_DAMAGED] = VS_FINDING_DAMAGED_FILE};
  for (int i = 0; i < 2 * VS_GAP_CAUSES; i++) {
    const vs_gap_cause cause = (vs_gap_cause)(i / 2);
    made m = honest_begin();
    honest_end(&m);
    vs_recording *recording = &m.snapshot->recording;
    vs_trace *trace = &m.snapshot->traces.data[0];
    const vs_gap gap = {.cause = cause, .events = 30, .from_us = VS_NO_TIME, .to_us = VS_NO_TIME};
    m.snapshot->format = VS_FORMAT_VRAM;
    *recording = (vs_recording){.is_ended = true};
    recording->unrecorded = cause == VS_GAP_DAMAGED ? 0 : 30;
    recording->lost_frames = recording->lost_events = cause == VS_GAP_DAMAGED ? 30 : 0;
    if (cause == VS_GAP_STOPPED) recording->stopped = VS_STRING_EMPTY;
    expect_ok(vs_vec_reserve(m.host, &recording->gaps, 1));
    recording->gaps.data[recording->gaps.count++] = gap;
    trace->missing_from[cause] = i % 2 == 0 ? 3 : trace->count + 1;
    EXPECT(&m, {kinds[cause], 30, i % 2 == 0 ? 2 : (int64_t)trace->count - 1});
  }
}

static void test_began_late(void **state) {
  (void)state;
  made m = honest_begin(); /* only reserved before */
  (void)made_event(&m, VS_EVENT_SEGMENT_FREE, SECOND, 8 * KiB);
  honest_end(&m);
  EXPECT(&m, {VS_FINDING_BEGAN_LATE, 1, -1});
  m = honest_begin(); /* two blocks that are freed, one that stays */
  (void)made_free(&m, SEGMENT + 4 * KiB, 10);
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, SEGMENT + 5 * KiB, 10);
  honest_end(&m);
  m.snapshot->blocks.data[2].state = VS_BLOCK_ALLOCATED;
  m.snapshot->segments.data[0].has = 0;
  m.snapshot->segments.data[0].allocated_size = m.snapshot->segments.data[0].active_size = 0;
  m.snapshot->segments.data[0].requested_size = 0;
  EXPECT(&m, {VS_FINDING_FREE_WITHOUT_ALLOC, 2, NEXT}, {VS_FINDING_LIVE_WITHOUT_ALLOC, 1, -1},
         {VS_FINDING_BEGAN_LATE, 3, -1});
}

static void test_unknown_state(void **state) {
  (void)state;
  made m = honest_begin();
  honest_end(&m);
  m.snapshot->blocks.data[0].state = m.snapshot->blocks.data[2].state = VS_BLOCK_UNKNOWN;
  EXPECT(&m, {VS_FINDING_UNKNOWN_STATE, 2, -1});
}

/* ---- contradictions ------------------------------------------------------------------------------------ */

static void test_alloc_not_at_end(void **state) {
  (void)state;
  made m = honest_begin();
  (void)made_event(&m, VS_EVENT_ALLOC, SEGMENT + 4 * KiB, 10);
  (void)made_event(&m, VS_EVENT_ALLOC, SEGMENT + 5 * KiB, 10);
  honest_end(&m);
  EXPECT(&m, {VS_FINDING_ALLOC_NOT_AT_END, 2, NEXT},
         {VS_FINDING_NEGATIVE_CURVE, 2, -1}); /* start and event 0 */
}

static void test_double_free(void **state) {
  (void)state;
  made m = honest_begin();
  (void)made_event(&m, VS_EVENT_ALLOC, SEGMENT, 10);
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, SEGMENT, 10);
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, SEGMENT, 10);
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, SEGMENT, 10);
  honest_end(&m);
  EXPECT(&m, {VS_FINDING_DOUBLE_FREE, 1, NEXT + 2});
}

static void test_double_alloc(void **state) {
  (void)state;
  made m = honest_begin();
  (void)made_event(&m, VS_EVENT_ALLOC, SEGMENT, 10);
  (void)made_event(&m, VS_EVENT_ALLOC, SEGMENT, 10);
  (void)made_free(&m, SEGMENT, 10);
  honest_end(&m);
  EXPECT(&m, {VS_FINDING_DOUBLE_ALLOC, 1, NEXT + 1}, {VS_FINDING_NEGATIVE_CURVE, 2, -1});
}

static void test_size_mismatch(void **state) {
  (void)state;
  made m = honest_begin();
  (void)made_event(&m, VS_EVENT_ALLOC, SEGMENT, 10);
  (void)made_free(&m, SEGMENT, 11);
  honest_end(&m);
  EXPECT(&m, {VS_FINDING_SIZE_MISMATCH, 1, NEXT + 1});
}

static void test_overlap(void **state) {
  (void)state;
  made m = honest_begin();
  (void)made_event(&m, VS_EVENT_ALLOC, SEGMENT, 1025); /* reaches into the next */
  (void)made_free(&m, SEGMENT, 1025);
  (void)made_event(&m, VS_EVENT_ALLOC, SEGMENT, 1024); /* touches it only */
  (void)made_free(&m, SEGMENT, 1024);
  (void)made_event(&m, VS_EVENT_ALLOC, SEGMENT + 2 * KiB, 0); /* of no bytes, inside the other */
  (void)made_free(&m, SEGMENT + 2 * KiB, 0);
  honest_end(&m);
  EXPECT(&m, {VS_FINDING_OVERLAP, 2, NEXT});
  m = honest_begin(); /* over a block that is older than the trace, and mentioned only later */
  (void)made_event(&m, VS_EVENT_ALLOC, SEGMENT + 4 * KiB, 100);
  (void)made_free(&m, SEGMENT + 4 * KiB, 100);
  (void)made_free(&m, SEGMENT + 4 * KiB + 64, 200);
  (void)made_event(&m, VS_EVENT_ALLOC, SEGMENT + 4 * KiB, 100); /* it is gone now */
  (void)made_free(&m, SEGMENT + 4 * KiB, 100);
  honest_end(&m);
  EXPECT(&m, {VS_FINDING_OVERLAP, 1, NEXT}, {VS_FINDING_FREE_WITHOUT_ALLOC, 1, NEXT + 3},
         {VS_FINDING_BEGAN_LATE, 1, -1});
  m = honest_begin(); /* over one that was freed twice without an alloc: it is gone after the second time */
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, SEGMENT + 4 * KiB, 200);
  (void)made_event(&m, VS_EVENT_ALLOC, SEGMENT + 4 * KiB + 64, 100);
  (void)made_free(&m, SEGMENT + 4 * KiB + 64, 100);
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, SEGMENT + 4 * KiB, 200);
  honest_end(&m);
  EXPECT(&m, {VS_FINDING_OVERLAP, 1, NEXT + 1}, {VS_FINDING_FREE_WITHOUT_ALLOC, 2, NEXT},
         {VS_FINDING_BEGAN_LATE, 2, -1});
}

/* Its address reads as 0, which lies in no segment. */
static void test_alloc_without_address(void **state) {
  (void)state;
  made m = honest_begin();
  const uint32_t event = made_event(&m, VS_EVENT_ALLOC, 0, 10);
  expect_ok(vs_events_set_missing(m.host, &m.snapshot->events, event, VS_EVENT_NO_ADDRESS));
  honest_end(&m);
  EXPECT(&m, {VS_FINDING_ALLOC_NOT_AT_END, 1, NEXT}, {VS_FINDING_NEGATIVE_CURVE, 2, -1});
}

static void test_outside_segment(void **state) {
  (void)state;
  made m = honest_begin();
  (void)made_event(&m, VS_EVENT_ALLOC, SECOND, 10);
  (void)made_free(&m, SECOND, 10);
  (void)made_event(&m, VS_EVENT_ALLOC, SEGMENT + 7 * KiB, 2 * KiB); /* reaches over the end */
  (void)made_free(&m, SEGMENT + 7 * KiB, 2 * KiB);
  honest_end(&m);
  EXPECT(&m, {VS_FINDING_OUTSIDE_SEGMENT, 2, NEXT});
  m = made_begin(); /* without segment events the mapped pages are unknown */
  (void)made_event(&m, VS_EVENT_ALLOC, SECOND, 10);
  (void)made_free(&m, SECOND, 10);
  made_trace(&m, 0);
  expect_findings(&m, 0, NULL, 0);
}

static void test_double_map(void **state) {
  (void)state;
  made m = honest_begin();
  (void)made_event(&m, VS_EVENT_SEGMENT_MAP, SEGMENT + 4 * KiB, 8 * KiB);
  (void)made_event(&m, VS_EVENT_SEGMENT_UNMAP, SEGMENT + 8 * KiB, 4 * KiB);
  honest_end(&m);
  EXPECT(&m, {VS_FINDING_DOUBLE_MAP, 1, NEXT}, {VS_FINDING_NEGATIVE_CURVE, 1, -1});
}

/* Reserved bytes are below zero at the start, requested bytes later: both count, and the first moment is told. */
static void test_two_curves_below_zero(void **state) {
  (void)state;
  made m = honest_begin();
  (void)made_event(&m, VS_EVENT_SEGMENT_MAP, SEGMENT + 4 * KiB, 8 * KiB);
  (void)made_event(&m, VS_EVENT_SEGMENT_UNMAP, SEGMENT + 8 * KiB, 4 * KiB);
  (void)made_free(&m, SEGMENT + 4 * KiB, 3000);
  (void)made_event(&m, VS_EVENT_ALLOC, SEGMENT + 4 * KiB, 3000);
  honest_end(&m);
  EXPECT(&m, {VS_FINDING_DOUBLE_MAP, 1, NEXT}, {VS_FINDING_NEGATIVE_CURVE, 2, -1},
         {VS_FINDING_FREE_WITHOUT_ALLOC, 1, NEXT + 2}, {VS_FINDING_ALLOC_NOT_AT_END, 1, NEXT + 4},
         {VS_FINDING_BEGAN_LATE, 1, -1});
}

static void test_unmap_unknown(void **state) {
  (void)state;
  made m = honest_begin();
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, SECOND, 8 * KiB);
  (void)made_event(&m, VS_EVENT_SEGMENT_FREE, SECOND, 8 * KiB);
  (void)made_event(&m, VS_EVENT_SEGMENT_FREE, SECOND, 8 * KiB);
  honest_end(&m);
  EXPECT(&m, {VS_FINDING_UNMAP_UNKNOWN, 1, NEXT + 2}, {VS_FINDING_BEGAN_LATE, 1, -1});
}

/* A page is unmapped in the middle of a block whose free is lost. */
static void test_unmap_inside_a_block(void **state) {
  (void)state;
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_SEGMENT_MAP, SEGMENT, 3 * KiB);
  (void)made_event(&m, VS_EVENT_ALLOC, SEGMENT, 3 * KiB);
  (void)made_event(&m, VS_EVENT_SEGMENT_UNMAP, SEGMENT + KiB, KiB);
  made_trace(&m, 0);
  (void)made_segment(&m, 0, SEGMENT, KiB, "small");
  (void)made_block(&m, KiB, 0, VS_BLOCK_INACTIVE);
  (void)made_segment(&m, 0, SEGMENT + 2 * KiB, KiB, "small");
  (void)made_block(&m, KiB, 0, VS_BLOCK_INACTIVE);
  EXPECT(&m, {VS_FINDING_UNMAP_LIVE, 1, 2}, {VS_FINDING_ALLOC_NOT_AT_END, 1, 1},
         {VS_FINDING_NEGATIVE_CURVE, 2, -1});
}

static void test_unmap_live(void **state) {
  (void)state;
  made m = honest_begin();
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, SECOND, 8 * KiB);
  (void)made_event(&m, VS_EVENT_ALLOC, SECOND + KiB, 10);
  (void)made_event(&m, VS_EVENT_SEGMENT_FREE, SECOND, 8 * KiB);
  (void)made_free(&m, SECOND + KiB, 10);
  honest_end(&m);
  EXPECT(&m, {VS_FINDING_UNMAP_LIVE, 1, NEXT + 2});
}

static void test_time_backwards(void **state) {
  (void)state;
  made m = honest_begin();
  made_time(&m, made_event(&m, VS_EVENT_SNAPSHOT, 0, 0), 129);
  (void)made_event(&m, VS_EVENT_SNAPSHOT, 0, 0); /* says no time */
  made_time(&m, made_event(&m, VS_EVENT_SNAPSHOT, 0, 0), 128);
  made_time(&m, made_event(&m, VS_EVENT_SNAPSHOT, 0, 0), 128);
  honest_end(&m);
  EXPECT(&m, {VS_FINDING_TIME_BACKWARDS, 2, NEXT});
}

static void test_segment_sums(void **state) {
  (void)state;
  for (int figure = 0; figure < 4; figure++) {
    made m = honest_begin();
    honest_end(&m);
    vs_segment *segment = &m.snapshot->segments.data[0];
    uint64_t *const figures[] = {&segment->total_size, &segment->allocated_size, &segment->active_size,
                                 &segment->requested_size};
    (*figures[figure])++;
    EXPECT(&m, {VS_FINDING_SEGMENT_SUMS, 1, -1});
  }
}

static void test_block_layout(void **state) {
  (void)state;
  made m = honest_begin();
  honest_end(&m);
  m.snapshot->blocks.data[2].address += 1;
  EXPECT(&m, {VS_FINDING_BLOCK_LAYOUT, 1, -1});
}

static void test_segment_overlap(void **state) {
  (void)state;
  made m = honest_begin();
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, SECOND, KiB);
  honest_end(&m);
  (void)made_segment(&m, 0, SEGMENT + 8 * KiB - 1, KiB, "small");
  (void)made_block(&m, KiB, 0, VS_BLOCK_INACTIVE);
  EXPECT(&m, {VS_FINDING_SEGMENT_OVERLAP, 1, -1});
}

/* ---- notes --------------------------------------------------------------------------------------------- */

static void test_frees_at_request(void **state) {
  (void)state;
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_ALLOC, SEGMENT, 10);
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, SEGMENT, 10);
  made_trace(&m, 0);
  EXPECT(&m, {VS_FINDING_FREES_AT_REQUEST, 1, -1});
}

static void test_whatif(void **state) {
  (void)state;
  for (int is_estimate = 0; is_estimate < 2; is_estimate++) {
    const vs_whatif_mark mark = {.is_there = true, .is_estimate = is_estimate != 0};
    made m = honest_begin();
    expect_ok(vs_whatif_mark_add(m.snapshot, &mark));
    honest_end(&m);
    if (is_estimate) EXPECT(&m, {VS_FINDING_WHATIF, 1, -1}, {VS_FINDING_WHATIF_ESTIMATE, 1, -1});
    else EXPECT(&m, {VS_FINDING_WHATIF, 1, -1});
  }
}

static void test_marks_of_the_recorder(void **state) {
  (void)state;
  static const struct {
    const char *key;
    vs_finding_kind kind;
  } marks[] = {{"vramscope_rounded_requests", VS_FINDING_ROUNDED_REQUESTS},
               {"vramscope_inferred_segments", VS_FINDING_INFERRED_SEGMENTS},
               {"vramscope_unknown_streams", VS_FINDING_UNKNOWN_STREAMS},
               {"vramscope_native_stacks", VS_FINDING_NATIVE_STACKS},
               {"vramscope_missing_annotations", VS_FINDING_MISSING_ANNOTATIONS}};
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
    made m = honest_begin();
    const vs_setting one = {.kind = VS_SETTING_INT, .bits = 1};
    for (int twice = 0; twice < 2; twice++) /* a process and the child that it forked may both say it */
      expect_ok(vs_snapshot_setting_add(m.snapshot, vs_str_from(marks[i].key), one, VS_STR("")));
    honest_end(&m);
    EXPECT(&m, {marks[i].kind, 1, -1});
  }
}

/* What the account of another program does not say. */
static void test_accounts(void **state) {
  (void)state;
  const uint64_t has_them =
      !VS_FREESTANDING; /* the engine of the page reads no accounts, and says nothing of them */
  static const struct {
    uint32_t lacks;
    vs_finding_kind kind;
  } all[] = {{VS_LACKS_SEGMENTS, VS_FINDING_NO_SEGMENTS},
             {VS_LACKS_ROUNDING, VS_FINDING_NO_ROUNDING},
             {VS_LACKS_STREAMS, VS_FINDING_UNKNOWN_STREAMS},
             {VS_LACKS_STACKS, VS_FINDING_NO_STACKS}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    made m = honest_begin();
    honest_end(&m);
    m.snapshot->format = VS_FORMAT_KINETO;
    m.snapshot->lacks = all[i].lacks;
    if (all[i].lacks == VS_LACKS_SEGMENTS) m.snapshot->left_out = 3;
    const vs_trust trust = judge(&m, 0);
    assert_int_equal(trust.findings[all[i].kind].count, has_them);
    assert_int_equal(trust.findings[VS_FINDING_LEFT_OUT].count, i == 0 ? 3 * has_them : 0);
    was_found[all[i].kind] = was_found[VS_FINDING_LEFT_OUT] = true;
    made_end(&m);
  }
}

/* Entries of an account that were left out: of a kind that may be a GPU's, and of other processes on the same GPU. */
static void test_left_out_of_accounts(void **state) {
  (void)state;
  const uint64_t has_them = !VS_FREESTANDING;
  made m = honest_begin();
  honest_end(&m);
  m.snapshot->format = VS_FORMAT_NSYS;
  m.snapshot->unknown_kinds = 5;
  expect_ok(vs_vec_reserve(m.host, &m.snapshot->shown, 2));
  m.snapshot->shown.data[0] = (vs_shown_process){.device = 0, .pid = 7, .others = 2};
  m.snapshot->shown.data[1] = (vs_shown_process){.device = 1, .pid = 7, .others = 9};
  m.snapshot->shown.count = 2;
  const vs_trust trust = judge(&m, 0);
  assert_int_equal(trust.findings[VS_FINDING_UNKNOWN_KINDS].count, 5 * has_them);
  assert_int_equal(trust.findings[VS_FINDING_OTHER_PROCESSES].count, 2 * has_them);
  assert_true(VS_FREESTANDING || !trust.is_complete);
  was_found[VS_FINDING_UNKNOWN_KINDS] = was_found[VS_FINDING_OTHER_PROCESSES] = true;
  made_end(&m);
}

static void test_unknown_action(void **state) {
  (void)state;
  made m = honest_begin();
  const uint32_t name = made_string(&m, "defragment");
  expect_ok(vs_vec_reserve(m.host, &m.snapshot->actions, 1));
  m.snapshot->actions.data[m.snapshot->actions.count++] = name;
  (void)made_event(&m, VS_EVENT_UNKNOWN, SEGMENT, 99);
  (void)made_event(&m, VS_EVENT_UNKNOWN, SEGMENT, 99);
  honest_end(&m);
  EXPECT(&m, {VS_FINDING_UNKNOWN_ACTION, 2, NEXT});
}

static void test_unknown_keys(void **state) {
  (void)state;
  made m = honest_begin();
  honest_end(&m);
  m.snapshot->unknown_key_count = 7;
  EXPECT(&m, {VS_FINDING_UNKNOWN_KEYS, 7, -1});
}

/* ---- ranges -------------------------------------------------------------------------------------------- */

static void test_mapped_ranges(void **state) {
  (void)state;
  made m = honest_begin();
  (void)made_event(&m, VS_EVENT_SEGMENT_FREE, SECOND, 8 * KiB);
  honest_end(&m);
  vs_ranges mapped;
  const vs_slice *slice = made_slice(&m, 0);
  expect_ok(vs_mapped_at(m.host, slice, VS_AT_START, &mapped));
  assert_true(vs_ranges_cover(&mapped, SECOND, SECOND + 8 * KiB, NULL));
  assert_false(vs_ranges_meet(&mapped, SEGMENT, SEGMENT + 8 * KiB));
  vs_ranges_deinit(m.host, &mapped);
  expect_ok(vs_mapped_at(m.host, slice, NEXT, &mapped));
  assert_false(vs_ranges_meet(&mapped, SECOND, SECOND + 8 * KiB));
  assert_true(vs_ranges_cover(&mapped, SEGMENT, SEGMENT + 8 * KiB, NULL));
  vs_ranges_deinit(m.host, &mapped);
  made_end(&m);
}

static void test_names(void **state) {
  (void)state;
  for (int kind = 0; kind < VS_FINDING_KINDS; kind++) {
    assert_true(strlen(vs_finding_name((vs_finding_kind)kind)) > 0);
    const char *sentence = vs_finding_sentence((vs_finding_kind)kind);
    assert_true(strlen(sentence) > 0 && sentence[strlen(sentence) - 1] != '.');
    for (int other = 0; other < kind; other++)
      assert_string_not_equal(vs_finding_name((vs_finding_kind)kind),
                              vs_finding_name((vs_finding_kind)other));
  }
  assert_string_equal(vs_severity_name(vs_finding_severity(VS_FINDING_OVERLAP)), "contradiction");
  assert_string_equal(vs_severity_name(vs_finding_severity(VS_FINDING_BEGAN_LATE)), "gap");
  assert_string_equal(vs_severity_name(vs_finding_severity(VS_FINDING_UNKNOWN_KEYS)), "note");
}

static void test_every_finding_is_planted(void **state);

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_honest),
    cmocka_unit_test(test_no_trace),
    cmocka_unit_test(test_ring_wrapped),
    cmocka_unit_test(test_what_a_recording_lost),
    cmocka_unit_test(test_from_when_on_events_are_missing),
    cmocka_unit_test(test_began_late),
    cmocka_unit_test(test_unknown_state),
    cmocka_unit_test(test_alloc_not_at_end),
    cmocka_unit_test(test_double_free),
    cmocka_unit_test(test_double_alloc),
    cmocka_unit_test(test_size_mismatch),
    cmocka_unit_test(test_overlap),
    cmocka_unit_test(test_alloc_without_address),
    cmocka_unit_test(test_outside_segment),
    cmocka_unit_test(test_double_map),
    cmocka_unit_test(test_two_curves_below_zero),
    cmocka_unit_test(test_unmap_unknown),
    cmocka_unit_test(test_unmap_live),
    cmocka_unit_test(test_unmap_inside_a_block),
    cmocka_unit_test(test_time_backwards),
    cmocka_unit_test(test_segment_sums),
    cmocka_unit_test(test_block_layout),
    cmocka_unit_test(test_segment_overlap),
    cmocka_unit_test(test_frees_at_request),
    cmocka_unit_test(test_marks_of_the_recorder),
    cmocka_unit_test(test_whatif),
    cmocka_unit_test(test_accounts),
    cmocka_unit_test(test_left_out_of_accounts),
    cmocka_unit_test(test_unknown_action),
    cmocka_unit_test(test_unknown_keys),
    cmocka_unit_test(test_mapped_ranges),
    cmocka_unit_test(test_names),
    cmocka_unit_test(test_every_finding_is_planted),
};

/* By the tests above, which are run once more: a runner may give each test memory of its own. A row of findings.def that
 * none of them plants is one that nothing counts, or whose counter is not tested. */
static void test_every_finding_is_planted(void **state) {
  for (size_t i = 0; tests[i].test_func != test_every_finding_is_planted; i++) tests[i].test_func(state);
  for (int kind = 0; kind < VS_FINDING_KINDS; kind++)
    if (!was_found[kind]) fail_msg("no test plants \"%s\"", vs_finding_name((vs_finding_kind)kind));
}

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
