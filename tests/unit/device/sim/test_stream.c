#include "unit/device/sim/work.h"

static machine m;

/* ---- handles ------------------------------------------------------------------------------------------- */

static void handles_are_the_lowest_free_ones(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  uint64_t s[40];
  for (uint64_t i = 0; i < 40; i++) {
    s[i] = new_stream(sim);
    assert_int_equal(s[i], 0x50000000 + 256 * i);
  }
  expect_sim_ok(vs_sim_stream_destroy(sim, s[30]));
  expect_sim_ok(vs_sim_stream_destroy(sim, s[3]));
  expect_sim_ok(vs_sim_stream_destroy(sim, s[20]));
  assert_int_equal(new_stream(sim), s[3]);
  assert_int_equal(new_stream(sim), s[20]);
  assert_int_equal(new_stream(sim), s[30]);
  assert_int_equal(new_stream(sim), 0x50000000 + 256 * 40);
  machine_end(&m);
}

static void wrong_handles_are_refused(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim), event = new_event(sim);
  const uint64_t wrong[] = {3,          4,     stream + 1,       stream + 256, stream - 256,
                            UINT64_MAX, event, UINT64_C(1) << 63};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    uint64_t out;
    vs_sim_capture_info info;
    expect_sim(vs_sim_stream_destroy(sim, wrong[i]), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_stream_query(sim, 0, wrong[i]), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_stream_synchronize(sim, 0, wrong[i]), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_stream_wait_event(sim, 0, wrong[i], event, 0), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_event_record(sim, 0, event, wrong[i], 0), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_op(sim, 0, wrong[i], VS_SIM_NODE_KERNEL), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_op_uncapturable(sim, 0, wrong[i]), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_capture_begin(sim, &main_thread, 0, wrong[i], VS_SIM_CAPTURE_GLOBAL),
               VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_capture_end(sim, &main_thread, 0, wrong[i], &out), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_stream_capture_info(sim, 0, wrong[i], &info), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_capture_update(sim, 0, wrong[i], NULL, 0, VS_SIM_DEPENDENCIES_SET),
               VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_alloc_async(sim, 0, wrong[i], 0, 512, &out), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_free_async(sim, 0, wrong[i], 0), VS_SIM_INVALID_HANDLE);
    assert_null(vs_sim_stream_find(sim, 0, wrong[i]));
  }
  expect_sim_ok(vs_sim_stream_destroy(sim, stream));
  expect_sim(vs_sim_stream_destroy(sim, stream), VS_SIM_INVALID_HANDLE);
  machine_end(&m);
}

static void default_streams_belong_to_the_device_of_the_caller(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  for (uint32_t device = 0; device < CARDS; device++) {
    const vs_sim_stream *legacy = vs_sim_stream_find(sim, device, VS_SIM_STREAM_LEGACY);
    assert_ptr_equal(vs_sim_stream_find(sim, device, VS_SIM_STREAM_NULL), legacy);
    const vs_sim_stream *own = vs_sim_stream_find(sim, device, VS_SIM_STREAM_PER_THREAD);
    assert_true(legacy->device == device && own->device == device && legacy != own);
    assert_true(legacy->is_legacy && !own->is_legacy);
    assert_int_not_equal(legacy->id, own->id);
    assert_true(legacy->handle == VS_SIM_STREAM_LEGACY && own->handle == VS_SIM_STREAM_PER_THREAD);
  }
  assert_null(vs_sim_stream_find(sim, CARDS, VS_SIM_STREAM_LEGACY));
  for (uint64_t handle = 0; handle <= VS_SIM_STREAM_PER_THREAD; handle++)
    expect_sim(vs_sim_stream_destroy(sim, handle), VS_SIM_INVALID_HANDLE);
  machine_end(&m);
}

static void what_a_stream_was_made_with(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  static const int32_t asked[] = {0, -1, -5, -6, 1, INT32_MIN, INT32_MAX}, got[] = {0, -1, -5, -5, 0, -5, 0};
  uint64_t last_id = 0, stream;
  for (size_t i = 0; i < 7; i++) {
    expect_sim_ok(vs_sim_stream_create(sim, i % 2, i % 2, asked[i], &stream));
    const vs_sim_stream *s = vs_sim_stream_find(sim, 0, stream);
    assert_int_equal(s->priority, got[i]);
    assert_int_equal(s->device, i % 2);
    assert_int_equal(s->flags, i % 2);
    assert_int_equal(s->handle, stream);
    assert_true(s->id > last_id);
    last_id = s->id;
  }
  expect_sim_ok(vs_sim_stream_destroy(sim, stream));
  assert_true(vs_sim_stream_find(sim, 0, new_stream(sim))->id > last_id); /* though the handle is the same */
  expect_sim(vs_sim_stream_create(sim, CARDS, 0, 0, &stream), VS_SIM_INVALID_DEVICE);
  expect_sim(vs_sim_stream_create(sim, 0, 2, 0, &stream), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_stream_create(sim, 0, 0, 0, NULL), VS_SIM_INVALID_VALUE);
  machine_end(&m);
}

/* ---- completion ---------------------------------------------------------------------------------------- */

static void at_once_nothing_is_ever_open(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t a = new_stream(sim), b = new_stream(sim);
  kernel(sim, a);
  const uint64_t e = mark(sim, a);
  wait_for(sim, b, e);
  kernel(sim, b);
  expect_sim_ok(vs_sim_stream_query(sim, 0, a));
  expect_sim_ok(vs_sim_stream_query(sim, 0, b));
  expect_sim_ok(vs_sim_stream_query(sim, 0, 0));
  expect_sim_ok(vs_sim_event_query(sim, &main_thread, e));
  assert_int_equal(vs_sim_stream_find(sim, 0, b)->waits.count, 0);
  machine_end(&m);
}

static void expect_open(vs_sim *sim, uint64_t stream) {
  expect_sim(vs_sim_stream_query(sim, 0, stream), VS_SIM_NOT_READY);
}
static void expect_done(vs_sim *sim, uint64_t stream) { expect_sim_ok(vs_sim_stream_query(sim, 0, stream)); }

static void at_sync_a_stream_is_open_until_it_is_synchronised(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_SYNC);
  const uint64_t a = new_stream(sim), b = new_stream(sim);
  expect_done(sim, a); /* nothing was given to it */
  kernel(sim, a);
  kernel(sim, b);
  expect_open(sim, a);
  expect_open(sim, a); /* asking changes nothing */
  expect_sim_ok(vs_sim_stream_synchronize(sim, 0, a));
  expect_done(sim, a);
  expect_open(sim, b);
  kernel(sim, a);
  expect_open(sim, a);
  machine_end(&m);
}

static void at_sync_waits_pull(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_SYNC);
  const uint64_t a = new_stream(sim), b = new_stream(sim), c = new_stream(sim);
  kernel(sim, a);
  const uint64_t in_a = mark(sim, a);
  kernel(sim, a);
  wait_for(sim, b, in_a);
  const uint64_t in_b = mark(sim, b);
  wait_for(sim, c, in_b);
  kernel(sim, c);
  /* c stood behind b up to its event, and b behind a up to its: not behind a's second kernel. */
  expect_sim_ok(vs_sim_stream_synchronize(sim, 0, c));
  expect_done(sim, b);
  expect_sim_ok(vs_sim_event_query(sim, &main_thread, in_a));
  expect_open(sim, a);
  machine_end(&m);
}

static void at_sync_a_wait_behind_the_place_does_not_pull(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_SYNC);
  const uint64_t a = new_stream(sim), b = new_stream(sim);
  const uint64_t in_a = mark(sim, a), early = mark(sim, b);
  wait_for(sim, b, in_a);
  kernel(sim, b);
  expect_sim_ok(vs_sim_event_synchronize(sim, &main_thread, early));
  expect_sim(vs_sim_event_query(sim, &main_thread, in_a), VS_SIM_NOT_READY);
  expect_open(sim, b);
  expect_sim_ok(vs_sim_stream_synchronize(sim, 0, b));
  expect_sim_ok(vs_sim_event_query(sim, &main_thread, in_a));
  machine_end(&m);
}

static void at_sync_a_device_is_all_its_streams(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_SYNC);
  const uint64_t a = new_stream(sim), far = new_stream_on(sim, 1, 1), farther = new_stream_on(sim, 1, 1);
  uint64_t e;
  expect_sim_ok(vs_sim_event_create(sim, 1, 0, &e));
  kernel(sim, far);
  kernel(sim, farther);
  expect_sim_ok(vs_sim_event_record(sim, 1, e, far, 0));
  wait_for(sim, a, e); /* across devices */
  kernel(sim, 0);
  expect_sim_ok(vs_sim_device_synchronize(sim, 0));
  expect_done(sim, a);
  expect_done(sim, 0);
  expect_done(sim, far);
  expect_open(sim, farther);
  expect_sim(vs_sim_device_synchronize(sim, CARDS), VS_SIM_INVALID_DEVICE);
  machine_end(&m);
}

static void at_sync_the_legacy_stream_stands_between(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_SYNC);
  const uint64_t a = new_stream_on(sim, 0, 0), b = new_stream_on(sim, 0, 0), free = new_stream(sim);
  kernel(sim, b);
  const uint64_t in_b = mark(sim, b);
  kernel(sim, free);
  kernel(sim, 0); /* behind b */
  kernel(sim, b);
  kernel(sim, a); /* behind the legacy stream */
  expect_sim_ok(vs_sim_stream_synchronize(sim, 0, a));
  expect_sim_ok(vs_sim_event_query(sim, &main_thread, in_b));
  expect_open(sim, b); /* its second kernel */
  expect_open(sim, free);
  expect_open(sim, 0); /* as b is */
  expect_sim_ok(vs_sim_stream_synchronize(sim, 0, 0));
  expect_done(sim, b);
  expect_done(sim, 0);
  expect_open(sim, free);
  machine_end(&m);
}

static void at_sync_blocking_streams_alone_are_strangers(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_SYNC);
  const uint64_t a = new_stream_on(sim, 0, 0);
  kernel(sim, a);
  kernel(sim, VS_SIM_STREAM_PER_THREAD);
  expect_sim_ok(vs_sim_stream_synchronize(sim, 0, VS_SIM_STREAM_PER_THREAD));
  expect_open(sim, a);
  const uint64_t early = mark(sim, a);
  kernel(sim, 0);
  kernel(sim, a);
  expect_sim_ok(vs_sim_event_synchronize(sim, &main_thread, early));
  assert_true(vs_sim_stream_find(sim, 0, 0)->done < vs_sim_stream_find(sim, 0, 0)->last);
  machine_end(&m);
}

static void destroying_a_stream_ends_its_work(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_SYNC);
  const uint64_t a = new_stream(sim), b = new_stream(sim);
  const uint64_t in_a = mark(sim, a);
  wait_for(sim, b, in_a);
  const uint64_t in_b = mark(sim, b);
  expect_sim_ok(vs_sim_stream_destroy(sim, b));
  expect_sim_ok(vs_sim_event_query(sim, &main_thread, in_b));
  expect_sim_ok(vs_sim_event_query(sim, &main_thread, in_a));
  assert_int_equal(new_stream(sim), b);
  kernel(sim, b); /* another stream under the same handle: the event is not in it */
  expect_sim_ok(vs_sim_event_query(sim, &main_thread, in_b));
  expect_sim_ok(vs_sim_event_synchronize(sim, &main_thread, in_b));
  expect_open(sim, b);
  machine_end(&m);
}

static void a_ring_of_waits_ends(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_SYNC);
  enum { RING = 50 };
  uint64_t s[RING], e[RING];
  for (int i = 0; i < RING; i++) e[i] = mark(sim, s[i] = new_stream(sim));
  for (int round = 0; round < 5; round++)
    for (int i = 0; i < RING; i++) {
      wait_for(sim, s[i], e[(i + 1) % RING]);
      record(sim, e[i], s[i]);
    }
  expect_sim_ok(vs_sim_stream_synchronize(sim, 0, s[17]));
  expect_done(sim, s[17]);
  expect_sim_ok(vs_sim_device_synchronize(sim, 0));
  for (int i = 0; i < RING; i++) {
    expect_done(sim, s[i]);
    assert_int_equal(vs_sim_stream_find(sim, 0, s[i])->waits.count, 0);
  }
  machine_end(&m);
}

/* A program that never synchronises has bounded memory, and what is forgotten is only ever late. */
static void waits_are_bounded(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_SYNC);
  const uint64_t a = new_stream(sim), b = new_stream(sim);
  const uint64_t first = mark(sim, a), last = new_event(sim), other = mark(sim, new_stream(sim));
  wait_for(sim, b, other);
  wait_for(sim, b, first);
  for (int i = 0; i < 5 * VS_SIM_MOST_WAITS; i++) {
    record(sim, last, a);
    wait_for(sim, b, last);
    assert_true(vs_sim_stream_find(sim, 0, b)->waits.count <= VS_SIM_MOST_WAITS);
  }
  expect_sim_ok(vs_sim_stream_synchronize(sim, 0, b));
  expect_sim_ok(vs_sim_event_query(sim, &main_thread, last));
  expect_sim_ok(vs_sim_event_query(sim, &main_thread, first));
  expect_sim(vs_sim_event_query(sim, &main_thread, other), VS_SIM_NOT_READY); /* forgotten */
  machine_end(&m);
}

/* Those that are done make room before any is forgotten. */
static void what_is_done_is_forgotten_first(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_SYNC);
  enum { KEPT = 10 };
  const uint64_t a = new_stream(sim), b = new_stream(sim);
  uint64_t kept[KEPT];
  for (int i = 0; i < VS_SIM_MOST_WAITS; i++) {
    const bool is_kept = i % 100 == 0 && i / 100 < KEPT;
    const uint64_t event = mark(sim, is_kept ? new_stream(sim) : a);
    wait_for(sim, b, event);
    if (is_kept) kept[i / 100] = event;
    else expect_sim_ok(vs_sim_event_destroy(sim, event));
  }
  expect_sim_ok(vs_sim_stream_synchronize(sim, 0, a));
  wait_for(sim, b, mark(sim, new_stream(sim)));
  assert_int_equal(vs_sim_stream_find(sim, 0, b)->waits.count, KEPT + 1);
  expect_sim_ok(vs_sim_stream_synchronize(sim, 0, b));
  for (int i = 0; i < KEPT; i++) expect_sim_ok(vs_sim_event_query(sim, &main_thread, kept[i]));
  machine_end(&m);
}

static void a_reset_leaves_a_new_device(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_SYNC);
  const uint64_t a = new_stream(sim), far = new_stream_on(sim, 1, 0), e = mark(sim, a);
  const uint64_t captured = new_stream(sim);
  uint64_t far_event;
  expect_sim_ok(vs_sim_event_create(sim, 1, 0, &far_event));
  expect_sim_ok(vs_sim_event_record(sim, 1, far_event, far, 0));
  begin_capture(sim, captured);
  kernel(sim, captured);
  kernel(sim, 0);
  expect_sim_ok(vs_sim_device_reset(sim, 0));
  expect_sim(vs_sim_stream_query(sim, 0, a), VS_SIM_INVALID_HANDLE);
  expect_sim(vs_sim_stream_query(sim, 0, captured), VS_SIM_INVALID_HANDLE);
  expect_sim(vs_sim_event_query(sim, &main_thread, e), VS_SIM_INVALID_HANDLE);
  expect_done(sim, 0);
  assert_int_equal(sim->graphs.live_captures, 0);
  expect_open(sim, far);
  expect_sim(vs_sim_event_query(sim, &main_thread, far_event), VS_SIM_NOT_READY);
  assert_int_equal(new_stream(sim), a);
  kernel(sim, a);
  expect_sim(vs_sim_device_reset(sim, CARDS), VS_SIM_INVALID_DEVICE);
  expect_open(sim, a);
  machine_end(&m);
}

/* A pool keeps what was freed until the program synchronises, in whatever way. */
static void each_synchronisation_lets_pools_give_back(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_SYNC);
  const uint64_t stream = new_stream(sim), event = mark(sim, stream);
  uint64_t address, other;
  for (int way = 0; way < 4; way++) {
    expect_sim_ok(vs_sim_alloc(sim, 0, 1 << 20, &other));
    expect_sim_ok(vs_sim_alloc_async(sim, 0, stream, 0, 1 << 20, &address));
    expect_sim_ok(vs_sim_free_async(sim, 0, stream, address));
    assert_int_equal(held(sim, 0), VS_SIM_POOL_CHUNK + VS_SIM_GRANULE);
    switch (way) {
      case 0: expect_sim_ok(vs_sim_stream_synchronize(sim, 0, stream)); break;
      case 1: expect_sim_ok(vs_sim_event_synchronize(sim, &main_thread, event)); break;
      case 2: expect_sim_ok(vs_sim_device_synchronize(sim, 0)); break;
      default: /* a free that no stream orders */
        expect_sim_ok(vs_sim_alloc_async(sim, 0, stream, 0, 1 << 20, &address));
        expect_sim_ok(vs_sim_free(sim, address, NULL));
    }
    assert_int_equal(held(sim, 0), VS_SIM_GRANULE);
    expect_sim_ok(vs_sim_free(sim, other, NULL));
  }
  machine_end(&m);
}

static void faults_on_request(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  uint64_t out;
  vs_sim_fault_set(sim, VS_SIM_FAULT_STREAM, 2);
  vs_sim_fault_set(sim, VS_SIM_FAULT_EVENT, 1);
  (void)new_stream(sim);
  expect_sim(vs_sim_stream_create(sim, 0, 0, 0, &out), VS_SIM_OUT_OF_MEMORY);
  expect_sim(vs_sim_event_create(sim, 0, 0, &out), VS_SIM_OUT_OF_MEMORY);
  assert_int_equal(new_stream(sim), VS_SIM_STREAM_BASE + VS_SIM_STREAM_STEP);
  (void)new_event(sim);
  machine_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(handles_are_the_lowest_free_ones),
      cmocka_unit_test(wrong_handles_are_refused),
      cmocka_unit_test(default_streams_belong_to_the_device_of_the_caller),
      cmocka_unit_test(what_a_stream_was_made_with),
      cmocka_unit_test(at_once_nothing_is_ever_open),
      cmocka_unit_test(at_sync_a_stream_is_open_until_it_is_synchronised),
      cmocka_unit_test(at_sync_waits_pull),
      cmocka_unit_test(at_sync_a_wait_behind_the_place_does_not_pull),
      cmocka_unit_test(at_sync_a_device_is_all_its_streams),
      cmocka_unit_test(at_sync_the_legacy_stream_stands_between),
      cmocka_unit_test(at_sync_blocking_streams_alone_are_strangers),
      cmocka_unit_test(destroying_a_stream_ends_its_work),
      cmocka_unit_test(a_ring_of_waits_ends),
      cmocka_unit_test(waits_are_bounded),
      cmocka_unit_test(what_is_done_is_forgotten_first),
      cmocka_unit_test(a_reset_leaves_a_new_device),
      cmocka_unit_test(each_synchronisation_lets_pools_give_back),
      cmocka_unit_test(faults_on_request),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
