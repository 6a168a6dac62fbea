/* Failed requests: what was there, and why it was not enough. */
#include "analyze/ooms.h"
#include "unit/analyze/made.h"

#define MiB UINT64_C(0x100000)

/* Two segments of 100 MiB on stream 0, mostly full: free blocks of 30 and 20 MiB; 15 MiB free on another stream. */
static made full_device(void) {
  made m = made_begin();
  const uint32_t other = made_stream(&m, 1), empty = made_stream(&m, 2), big = made_stack(&m, "forward", 1),
                 small = made_stack(&m, "load", 2);
  assert_int_equal(empty, 2);
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, 1000 * MiB, 100 * MiB); /* 0 */
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, 2000 * MiB, 100 * MiB); /* 1 */
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, 3000 * MiB, 40 * MiB);  /* 2 */
  (void)made_alloc(&m, 1000 * MiB, 70 * MiB, big);                     /* 3 */
  (void)made_alloc(&m, 2020 * MiB, 80 * MiB, big);                     /* 4 */
  (void)made_alloc(&m, 3000 * MiB, 25 * MiB, small);                   /* 5 */
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 1000 * MiB, 100 * MiB, "large");
  (void)made_block(&m, 70 * MiB, 70 * MiB, VS_BLOCK_ALLOCATED);
  (void)made_block(&m, 30 * MiB, 0, VS_BLOCK_INACTIVE);
  (void)made_segment(&m, 0, 2000 * MiB, 100 * MiB, "large");
  (void)made_block(&m, 20 * MiB, 0, VS_BLOCK_INACTIVE);
  (void)made_block(&m, 80 * MiB, 80 * MiB, VS_BLOCK_ALLOCATED);
  made_segment(&m, 0, 3000 * MiB, 40 * MiB, "large")->stream = other;
  (void)made_block(&m, 25 * MiB, 25 * MiB, VS_BLOCK_ALLOCATED);
  (void)made_block(&m, 15 * MiB, 0, VS_BLOCK_INACTIVE);
  return m;
}

static const uint64_t NOT_SAID = UINT64_MAX;

/* All that ooms are made of. */
typedef struct looked {
  vs_curves curves;
  vs_lifetimes lifetimes;
  vs_moment_index moments;
  vs_ooms ooms;
  vs_frames frames;
} looked;

static void look_begin(made *m, looked *l) {
  const vs_slice *slice = made_slice(m, 0);
  expect_ok(vs_frames_init(m->host, m->snapshot, &l->frames));
  vs_curves_measure(slice, &l->curves);
  expect_ok(vs_lifetimes_build(m->host, slice, &l->lifetimes));
  expect_ok(vs_moment_index_build(m->host, &l->lifetimes, &l->moments));
  expect_ok(vs_ooms_build(m->host, &l->moments, &l->curves, &l->frames, &l->ooms));
}

static void look_end(made *m, looked *l) {
  vs_ooms_deinit(m->host, &l->ooms);
  vs_frames_deinit(m->host, &l->frames);
  vs_moment_index_deinit(m->host, &l->moments);
  vs_lifetimes_deinit(m->host, &l->lifetimes);
}

typedef struct failure {
  uint64_t size, device_free;
  uint32_t stream, pool;
} failure;

/* Ends the trace with a failed request; `owners` may be NULL, else the caller frees them. */
static vs_oom fail_in(made *m, failure f, vs_owners *owners) {
  const bool said = f.device_free != NOT_SAID;
  const uint32_t event = made_event(m, VS_EVENT_OOM, said ? f.device_free : 0, f.size);
  expect_ok(vs_events_set_stream(m->host, &m->snapshot->events, event, f.stream));
  expect_ok(vs_events_set_pool(m->host, &m->snapshot->events, event, f.pool));
  if (!said) expect_ok(vs_events_set_missing(m->host, &m->snapshot->events, event, VS_EVENT_NO_ADDRESS));
  made_trace(m, 0);
  looked l;
  look_begin(m, &l);
  assert_int_equal(l.ooms.list.count, 1);
  if (owners != NULL) {
    *owners = l.ooms.list.data[0].owners;
    l.ooms.list.data[0].owners = (vs_owners){0};
  }
  const vs_oom oom = l.ooms.list.data[0];
  look_end(m, &l);
  return oom;
}

static vs_oom fail_once(uint64_t size, uint64_t device_free, uint32_t stream) {
  made m = full_device();
  m.snapshot->traces.count = 0;
  m.first_event = 0;
  const vs_oom oom = fail_in(&m, (failure){size, device_free, .stream = stream}, NULL);
  made_end(&m);
  return oom;
}

static void set(made *m, const char *key, vs_setting_kind kind, uint64_t bits) {
  m->snapshot->has |= VS_HAS_SETTINGS;
  expect_ok(vs_vec_reserve(m->host, &m->snapshot->settings, 1));
  m->snapshot->settings.data[m->snapshot->settings.count++] =
      (vs_setting){.key = made_string(m, key), .kind = (uint8_t)kind, .bits = bits};
}

/* A segment that is there from the first event on and at the end: a live block, and behind it a free one. */
static vs_segment *half_used(made *m, uint64_t address, uint64_t used, uint64_t free, const char *kind) {
  (void)made_event(m, VS_EVENT_SEGMENT_ALLOC, address, used + free);
  (void)made_event(m, VS_EVENT_ALLOC, address, used);
  vs_segment *segment = made_segment(m, 0, address, used + free, kind);
  (void)made_block(m, used, used, VS_BLOCK_ALLOCATED);
  (void)made_block(m, free, 0, VS_BLOCK_INACTIVE);
  return segment;
}

static void test_facts(void **state) {
  (void)state;
  const vs_oom oom = fail_once(45 * MiB, 3 * MiB, 0);
  assert_int_equal(oom.event, 6);
  assert_int_equal(oom.size, 45 * MiB);
  assert_true(oom.is_free_known);
  assert_int_equal(oom.device_free, 3 * MiB);
  assert_int_equal(oom.requested, 175 * MiB);
  assert_int_equal(oom.held, 175 * MiB);
  assert_int_equal(oom.reserved, 240 * MiB);
  assert_true(oom.is_looked_at);
  assert_int_equal(oom.active, 175 * MiB);
  assert_int_equal(oom.cached, 65 * MiB);
  assert_int_equal(oom.largest_hole, 30 * MiB);
  assert_int_equal(oom.top.bytes, 150 * MiB);
  assert_int_equal(oom.top.count, 2);
  assert_int_equal(oom.cached_usable, 50 * MiB); /* not the 15 MiB of the other stream */
  assert_true(oom.is_short_known);
  assert_int_equal(oom.short_by, 15 * MiB);
}

/* All that was alive at the failure, by line, with the bytes of each block where they are equal. */
static void test_owners(void **state) {
  (void)state;
  made m = made_begin();
  const uint32_t equal = made_stack(&m, "forward", 1), mixed = made_stack(&m, "load", 2);
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, 1000 * MiB, 100 * MiB);
  for (uint64_t i = 0; i < 6; i++) (void)made_alloc(&m, (1000 + 10 * i) * MiB, 10 * MiB, equal);
  (void)made_alloc(&m, 1060 * MiB, 5 * MiB, mixed);
  (void)made_alloc(&m, 1065 * MiB, 4 * MiB, mixed);
  (void)made_alloc(&m, 1080 * MiB, 20 * MiB, mixed);
  (void)made_free(&m, 1080 * MiB,
                  20 * MiB); /* the peak is before the failure, and has another largest owner */
  vs_owners owners;
  (void)fail_in(&m, (failure){.size = 45 * MiB}, &owners);
  assert_int_equal(owners.lines.by, VS_BY_LINE);
  assert_int_equal(owners.lines.list.count, 2);
  assert_int_equal(owners.lines.bytes, 69 * MiB);
  assert_int_equal(owners.lines.list.data[0].bytes, 60 * MiB);
  assert_int_equal(owners.lines.list.data[0].count, 6);
  assert_int_equal(owners.lines.list.data[0].each, 10 * MiB);
  assert_int_equal(owners.lines.list.data[1].bytes, 9 * MiB);
  assert_int_equal(owners.lines.list.data[1].count, 2);
  assert_int_equal(owners.lines.list.data[1].each, 0);
  vs_owners_deinit(m.host, &owners);
  made_end(&m);
}

static void test_verdicts(void **state) {
  (void)state;
  assert_int_equal(fail_once(45 * MiB, 3 * MiB, 0).verdict, VS_OOM_FRAGMENTED);
  assert_int_equal(fail_once(50 * MiB, 3 * MiB, 0).verdict, VS_OOM_FRAGMENTED);
  assert_int_equal(fail_once(50 * MiB + 512, 3 * MiB, 0).verdict, VS_OOM_ELSEWHERE);
  assert_int_equal(fail_once(65 * MiB, 3 * MiB, 0).verdict, VS_OOM_ELSEWHERE);
  assert_int_equal(fail_once(67 * MiB, 3 * MiB, 0).verdict,
                   VS_OOM_FULL); /* a segment is free or cached, not both */
  assert_int_equal(fail_once(69 * MiB, NOT_SAID, 0).verdict, VS_OOM_UNKNOWN);
  assert_int_equal(fail_once(45 * MiB, NOT_SAID, 0).verdict, VS_OOM_FRAGMENTED);
  assert_int_equal(fail_once(28 * MiB, 3 * MiB, 1).verdict,
                   VS_OOM_ELSEWHERE); /* the free block is of stream 0 */
  assert_int_equal(fail_once(28 * MiB, 3 * MiB, 0).verdict,
                   VS_OOM_UNKNOWN); /* it would have served the request */
  assert_int_equal(fail_once(69 * MiB, 500 * MiB, 0).verdict, VS_OOM_LIMIT);
  assert_int_equal(fail_once(45 * MiB, 46 * MiB, 0).verdict,
                   VS_OOM_LIMIT); /* fragmented, too, but that did not matter */
  assert_int_equal(fail_once(69 * MiB, 70 * MiB, 0).verdict, VS_OOM_LIMIT);
  assert_int_equal(fail_once(69 * MiB, 69 * MiB, 0).verdict,
                   VS_OOM_FULL); /* the driver gives multiples of 2 MiB */
  assert_int_equal(fail_once(4096, 3 * MiB, 0).verdict, VS_OOM_LIMIT);
  assert_int_equal(fail_once(4096, MiB, 0).verdict,
                   VS_OOM_ELSEWHERE); /* the free blocks are of the large pool */
  assert_int_equal(fail_once(UINT64_MAX, UINT64_MAX - 1, 0).verdict, VS_OOM_FULL);
  for (int verdict = 0; verdict < VS_OOM_VERDICTS; verdict++)
    assert_true(strlen(vs_oom_verdict_name((vs_oom_verdict)verdict)) > 0);
}

/* The request less the larger of its largest free block and what new memory could have served. */
static void test_short(void **state) {
  (void)state;
  assert_int_equal(fail_once(69 * MiB, 3 * MiB, 0).short_by, 39 * MiB);
  assert_int_equal(fail_once(69 * MiB, 61 * MiB, 0).short_by,
                   9 * MiB); /* 60 MiB of it in multiples of 2 MiB */
  assert_int_equal(fail_once(69 * MiB, 69 * MiB, 0).short_by, MiB);
  assert_int_equal(fail_once(4096, MiB, 0).short_by, 4096); /* a small segment has 2 MiB */
  assert_int_equal(fail_once(9 * MiB, 19 * MiB, 2).short_by,
                   9 * MiB); /* and one for less than 10 MiB has 20 */
  assert_int_equal(fail_once(10 * MiB, 9 * MiB, 2).short_by, 2 * MiB);
  assert_false(fail_once(69 * MiB, NOT_SAID, 0).is_short_known);
  assert_false(fail_once(69 * MiB, 500 * MiB, 0).is_short_known);
  assert_false(fail_once(28 * MiB, 3 * MiB, 0).is_short_known);
}

/* 36 MiB free in the default pool, 34 + 32 in a private one. `asks`: 0 the default pool, 1 the private one, 2 not said. */
static vs_oom fail_with_pools(uint64_t size, int asks) {
  made m = made_begin();
  const uint32_t usual = made_pool(&m, 0, 0), own = made_pool(&m, 0, 7);
  half_used(&m, 1000 * MiB, 30 * MiB, 36 * MiB, "large")->pool = usual;
  half_used(&m, 2000 * MiB, 30 * MiB, 34 * MiB, "large")->pool = own;
  half_used(&m, 3000 * MiB, 30 * MiB, 32 * MiB, "large")->pool = own;
  const vs_oom oom = fail_in(&m, (failure){.size = size, .pool = (uint32_t[]){usual, own, 0}[asks]}, NULL);
  made_end(&m);
  return oom;
}

/* What is cached in a private pool is no memory for requests of the default pool, and the other way round. */
static void test_private_pools(void **state) {
  (void)state;
  for (int asks = 0; asks <= 2; asks += 2) {
    assert_int_equal(fail_with_pools(40 * MiB, asks).cached_usable, 36 * MiB);
    assert_int_equal(fail_with_pools(40 * MiB, asks).short_by, 4 * MiB);
    assert_int_equal(fail_with_pools(40 * MiB, asks).verdict, VS_OOM_ELSEWHERE);
    assert_int_equal(fail_with_pools(110 * MiB, asks).verdict, VS_OOM_FULL); /* 102 MiB are cached */
  }
  assert_int_equal(fail_with_pools(40 * MiB, 1).cached_usable, 66 * MiB);
  assert_int_equal(fail_with_pools(40 * MiB, 1).short_by, 6 * MiB);
  assert_int_equal(fail_with_pools(40 * MiB, 1).verdict, VS_OOM_FRAGMENTED);
  assert_int_equal(fail_with_pools(80 * MiB, 1).verdict, VS_OOM_ELSEWHERE);
}

static vs_oom fail_with_most(uint64_t size, uint64_t most) {
  made m = made_begin();
  set(&m, "max_split_size", VS_SETTING_INT, most);
  (void)half_used(&m, 1000 * MiB, 30 * MiB, 100 * MiB, "large");
  const vs_oom oom = fail_in(&m, (failure){.size = size}, NULL);
  made_end(&m);
  return oom;
}

/* A cached block of at least max_split_size is only for requests of at least that, and of nearly its size. */
static void test_max_split_size(void **state) {
  (void)state;
  assert_int_equal(fail_with_most(40 * MiB, 64 * MiB).verdict, VS_OOM_ELSEWHERE);
  assert_int_equal(fail_with_most(40 * MiB, 64 * MiB).cached_usable, 0);
  assert_int_equal(fail_with_most(40 * MiB, 64 * MiB).short_by, 40 * MiB);
  assert_int_equal(fail_with_most(40 * MiB, 100 * MiB).cached_usable, 0); /* just as large as the limit */
  assert_int_equal(fail_with_most(40 * MiB, 101 * MiB).cached_usable, 100 * MiB);
  assert_int_equal(fail_with_most(80 * MiB, 64 * MiB).cached_usable, 0); /* 20 MiB more than the request */
  assert_int_equal(fail_with_most(81 * MiB, 64 * MiB).cached_usable, 100 * MiB);
}

/* 60 MiB at the end of one expandable segment, 50 between its blocks. */
static vs_oom fail_expandable(uint64_t size, uint64_t device_free) {
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_SEGMENT_MAP, 1000 * MiB, 200 * MiB);
  (void)made_event(&m, VS_EVENT_ALLOC, 1000 * MiB, 40 * MiB);
  (void)made_event(&m, VS_EVENT_ALLOC, 1090 * MiB, 50 * MiB);
  vs_segment *segment = made_segment(&m, 0, 1000 * MiB, 200 * MiB, "large");
  segment->is_expandable = true;
  segment->has |= VS_SEGMENT_HAS_EXPANDABLE;
  (void)made_block(&m, 40 * MiB, 40 * MiB, VS_BLOCK_ALLOCATED);
  (void)made_block(&m, 50 * MiB, 0, VS_BLOCK_INACTIVE);
  (void)made_block(&m, 50 * MiB, 50 * MiB, VS_BLOCK_ALLOCATED);
  (void)made_block(&m, 60 * MiB, 0, VS_BLOCK_INACTIVE);
  const vs_oom oom = fail_in(&m, (failure){size, device_free, 0, 0}, NULL);
  made_end(&m);
  return oom;
}

/* With expandable segments new pages continue the free block at the end of a segment. */
static void test_expandable(void **state) {
  (void)state;
  assert_true(fail_expandable(105 * MiB, 45 * MiB).is_expandable);
  assert_int_equal(fail_expandable(100 * MiB, 45 * MiB).verdict, VS_OOM_LIMIT); /* 60 + two pages of 20 */
  assert_int_equal(fail_expandable(105 * MiB, 45 * MiB).verdict, VS_OOM_FRAGMENTED);
  assert_int_equal(fail_expandable(105 * MiB, 45 * MiB).short_by, 5 * MiB);
  assert_int_equal(fail_expandable(155 * MiB, 45 * MiB).verdict,
                   VS_OOM_FRAGMENTED); /* 110 cached and 45 free */
  assert_int_equal(fail_expandable(156 * MiB, 45 * MiB).verdict, VS_OOM_FULL);
  assert_int_equal(fail_expandable(156 * MiB, 45 * MiB).short_by, 56 * MiB);
  assert_int_equal(fail_expandable(105 * MiB, NOT_SAID).verdict, VS_OOM_FRAGMENTED);
  assert_int_equal(fail_expandable(120 * MiB, NOT_SAID).verdict, VS_OOM_UNKNOWN);
}

/* What is behind a block of an ordinary large segment is part of it up to 1 MiB: PyTorch does not split that off. */
static void test_what_is_not_split_off(void **state) {
  (void)state;
  for (uint64_t is_expandable = 0; is_expandable < 2; is_expandable++) {
    made m = made_begin();
    set(&m, "expandable_segments", VS_SETTING_BOOL, is_expandable);
    (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, 1000 * MiB, 30 * MiB);
    (void)made_event(&m, VS_EVENT_ALLOC, 1000 * MiB, 19 * MiB + 300);
    (void)made_event(&m, VS_EVENT_ALLOC, 1020 * MiB, 8 * MiB);
    (void)made_event(&m, VS_EVENT_OOM, 0, 40 * MiB);
    (void)made_free(&m, 1000 * MiB, 19 * MiB + 300);
    (void)made_free(&m, 1020 * MiB, 8 * MiB);
    (void)made_event(&m, VS_EVENT_SEGMENT_FREE, 1000 * MiB, 30 * MiB);
    made_trace(&m, 0);
    looked l;
    look_begin(&m, &l);
    const vs_oom *oom = &l.ooms.list.data[0];
    const uint64_t sliver = MiB - 512;
    assert_false(oom->is_exact);
    assert_int_equal(oom->cached, 2 * MiB + (is_expandable ? sliver : 0));
    assert_int_equal(oom->active, 30 * MiB - oom->cached);
    look_end(&m, &l);
    made_end(&m);
  }
}

static void test_holes_by_place(void **state) {
  (void)state;
  const vs_oom oom = fail_once(28 * MiB, 0, 1);
  assert_int_equal(oom.largest_hole, 30 * MiB);
  assert_int_equal(oom.largest_hole_kind, 30 * MiB);
  assert_int_equal(oom.largest_hole_area, 15 * MiB);
  assert_int_equal(fail_once(512, 0, 0).largest_hole_kind, 0);
}

/* Of many failures only the first and the last ones are looked at; the plain facts are there for all. */
static void test_many(void **state) {
  (void)state;
  made m = full_device();
  m.snapshot->traces.count = 0;
  m.first_event = 0;
  for (uint64_t i = 0; i < 10; i++) {
    (void)made_event(&m, VS_EVENT_OOM, i, 45 * MiB);
    (void)made_event(&m, VS_EVENT_ALLOC, 512 * i, 10);
    (void)made_free(&m, 512 * i, 10);
  }
  made_trace(&m, 0);
  looked l;
  look_begin(&m, &l);
  assert_int_equal(l.ooms.list.count, 10);
  for (size_t i = 0; i < 10; i++) {
    assert_int_equal(l.ooms.list.data[i].device_free, i);
    assert_int_equal(l.ooms.list.data[i].requested, 175 * MiB);
    assert_int_equal(l.ooms.list.data[i].is_looked_at, i == 0 || i > 10 - VS_OOM_LOOKS);
  }
  expect_ok(vs_oom_look(m.host, &l.moments, &l.frames, &l.ooms.list.data[3]));
  assert_int_equal(l.ooms.list.data[3].verdict, VS_OOM_FRAGMENTED);
  look_end(&m, &l);
  made_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_facts),          cmocka_unit_test(test_owners),
      cmocka_unit_test(test_verdicts),       cmocka_unit_test(test_short),
      cmocka_unit_test(test_private_pools),  cmocka_unit_test(test_max_split_size),
      cmocka_unit_test(test_expandable),     cmocka_unit_test(test_what_is_not_split_off),
      cmocka_unit_test(test_holes_by_place), cmocka_unit_test(test_many),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
