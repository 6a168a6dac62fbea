#include "device/sim/device.h"
#include "unit/device/sim/work.h"

static machine m;
static vs_sim_device card;
static const vs_device_ops *ops;

/* Card 0 of two as an allocator sees it; ops and &card are the face. */
static vs_sim *card_begin(vs_sim_event_rule rule) {
  vs_sim *sim = work_begin(&m, rule);
  vs_sim_device_init(&card, sim, 0);
  ops = card.device.ops;
  assert_ptr_equal(card.device.ctx, &card);
  return sim;
}

static void card_end(void) {
  vs_sim_device_deinit(&card);
  machine_end(&m);
}

#define expect_device(call, wanted) assert_int_equal((call), (wanted))
#define expect_done(call)           expect_device(call, VS_DEVICE_OK)

static void expect_code(int64_t wanted) {
  const char *text = NULL;
  assert_int_equal(ops->last_code(&card, &text), wanted);
  assert_true(text != NULL && *text != 0);
}

static uint64_t segment(uint64_t size) {
  uint64_t address = 0;
  expect_done(ops->alloc(&card, size, &address));
  return address;
}

static uint64_t free_now(void) {
  uint64_t free_bytes = 0, total = 0;
  expect_done(ops->memory_info(&card, &free_bytes, &total));
  assert_int_equal(total, card.device.total_bytes);
  return free_bytes;
}

/* ---- segments ------------------------------------------------------------------------------------------ */

static void segments_are_the_cards(void **state) {
  (void)state;
  card_begin(VS_SIM_EVENTS_AT_ONCE);
  assert_int_equal(card.device.index, 0);
  assert_int_equal(card.device.total_bytes, CARD_BYTES);
  assert_int_equal(free_now(), CARD_BYTES - CONTEXT); /* asking uses the card */
  const uint64_t a = segment(2 * MIB), b = segment(20 * MIB);
  assert_int_equal(a, VS_SIM_WINDOW_BASE);
  assert_int_equal(b, a + 2 * MIB);
  assert_int_equal(free_now(), CARD_BYTES - CONTEXT - 22 * MIB);
  expect_done(ops->free(&card, a));
  assert_int_equal(segment(2 * MIB), a); /* the lowest address that fits */
  expect_device(ops->free(&card, a + 512), VS_DEVICE_FAILED);
  expect_code(VS_SIM_INVALID_VALUE);
  uint64_t none = 7;
  expect_device(ops->alloc(&card, CARD_BYTES, &none), VS_DEVICE_OUT_OF_MEMORY);
  assert_int_equal(none, 7);
  expect_device(ops->alloc(&card, 0, &none), VS_DEVICE_FAILED);
  card_end();
}

static void the_second_card_is_another_one(void **state) {
  (void)state;
  vs_sim *sim = card_begin(VS_SIM_EVENTS_AT_ONCE);
  vs_sim_device second;
  vs_sim_device_init(&second, sim, 1);
  uint64_t address = 0, event = 0;
  assert_int_equal(second.device.index, 1);
  expect_done(ops->alloc(&second, MIB, &address));
  assert_int_equal(address, VS_SIM_WINDOW_BASE + VS_SIM_WINDOW_SIZE);
  assert_int_equal(held(sim, 0), 0);
  expect_done(ops->event_create(&second, &event));
  expect_device(ops->event_record(&card, event, new_stream(sim)), VS_DEVICE_FAILED); /* a stream of card 0 */
  expect_code(VS_SIM_INVALID_HANDLE);
  vs_sim_device_deinit(&second);
  card_end();
}

/* ---- virtual memory ------------------------------------------------------------------------------------ */

static void memory_is_mapped_and_usable(void **state) {
  (void)state;
  vs_sim *sim = card_begin(VS_SIM_EVENTS_AT_ONCE);
  uint64_t range = 0, handle = 0;
  vs_sim_access access = VS_SIM_ACCESS_NONE;
  expect_done(ops->reserve(&card, 40 * MIB, &range));
  assert_int_equal(range, VS_SIM_RESERVED_BASE);
  expect_done(ops->create(&card, 20 * MIB, &handle));
  expect_done(ops->map(&card, range + 20 * MIB, 20 * MIB, handle));
  expect_sim_ok(vs_sim_access_get(sim, range + 20 * MIB, 0, &access));
  assert_int_equal(access, VS_SIM_ACCESS_NONE);
  expect_done(ops->access(&card, range + 20 * MIB, 20 * MIB));
  expect_sim_ok(vs_sim_access_get(sim, range + 20 * MIB, 0, &access));
  assert_int_equal(access, VS_SIM_ACCESS_READ_WRITE);
  assert_int_equal(held(sim, 0), 20 * MIB);
  expect_device(ops->unreserve(&card, range, 40 * MIB), VS_DEVICE_FAILED); /* something is mapped */
  expect_done(ops->unmap(&card, range + 20 * MIB, 20 * MIB));
  assert_int_equal(held(sim, 0), 20 * MIB);
  expect_done(ops->release(&card, handle));
  assert_int_equal(held(sim, 0), 0);
  expect_device(ops->release(&card, handle), VS_DEVICE_FAILED);
  expect_device(ops->create(&card, CARD_BYTES, &handle), VS_DEVICE_OUT_OF_MEMORY);
  expect_done(ops->unreserve(&card, range, 40 * MIB));
  expect_device(ops->reserve(&card, VS_SIM_RESERVED_END, &range), VS_DEVICE_OUT_OF_MEMORY);
  card_end();
}

/* ---- time ---------------------------------------------------------------------------------------------- */

static void events_follow_the_rule(void **state) {
  (void)state;
  vs_sim *sim = card_begin(VS_SIM_EVENTS_AT_SYNC);
  const uint64_t stream = new_stream(sim);
  uint64_t first = 0, second = 0;
  expect_done(ops->event_create(&card, &first));
  expect_done(ops->event_create(&card, &second));
  expect_done(ops->event_query(&card, first)); /* never recorded */
  expect_done(ops->event_record(&card, first, stream));
  kernel(sim, stream);
  expect_done(ops->event_record(&card, second, stream));
  expect_device(ops->event_query(&card, first), VS_DEVICE_NOT_READY);
  expect_done(ops->event_synchronize(&card, first));
  expect_done(ops->event_query(&card, first));
  expect_device(ops->event_query(&card, second), VS_DEVICE_NOT_READY);
  expect_done(ops->stream_synchronize(&card, stream));
  expect_done(ops->event_query(&card, second));
  expect_done(ops->event_destroy(&card, first));
  expect_device(ops->event_query(&card, first), VS_DEVICE_FAILED);
  expect_code(VS_SIM_INVALID_HANDLE);
  card_end();
}

/* ---- capture ------------------------------------------------------------------------------------------- */

static void an_allocator_works_while_others_capture(void **state) {
  (void)state;
  vs_sim *sim = card_begin(VS_SIM_EVENTS_AT_ONCE);
  const uint64_t captured = new_stream(sim), other = new_stream(sim);
  vs_device_capture capture = {.is_active = true};
  uint64_t event = 0;
  expect_done(ops->event_create(&card, &event));
  begin_capture(sim, captured);
  segment(2 * MIB);
  expect_done(ops->event_record(&card, event, other));
  expect_done(ops->event_query(&card, event));
  expect_done(ops->capture_info(&card, other, &capture));
  assert_false(capture.is_active);
  expect_done(ops->capture_info(&card, captured, &capture));
  assert_true(capture.is_active); /* nothing of this spoilt it */
  assert_int_equal(capture.node_count, 0);
  end_capture(sim, captured);
  expect_done(ops->capture_info(&card, captured, &capture));
  assert_false(capture.is_active);
  card_end();
}

static void nodes_need_what_was_before(void **state) {
  (void)state;
  vs_sim *sim = card_begin(VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim), other = new_stream(sim);
  vs_device_capture capture;
  uint64_t count = 0;
  const uint64_t *nodes = NULL;
  begin_capture(sim, stream);
  kernel(sim, stream);                     /* 0 */
  wait_for(sim, other, mark(sim, stream)); /* other joins behind 0 */
  kernel(sim, other);                      /* 1 */
  kernel(sim, stream);                     /* 2 */
  wait_for(sim, stream, mark(sim, other)); /* stream is behind 1 and 2 */
  expect_done(ops->capture_info(&card, stream, &capture));
  assert_int_equal(capture.node_count, 2);
  kernel(sim, stream); /* 3 */
  expect_done(ops->capture_info(&card, stream, &capture));
  assert_int_equal(capture.node_count, 1);
  assert_int_equal(capture.nodes[0], node_at(sim, capture.graph, 3));
  expect_done(ops->needs(&card, capture.graph, node_at(sim, capture.graph, 3), &nodes, &count));
  assert_int_equal(count, 2);
  assert_int_equal(nodes[0], node_at(sim, capture.graph, 2));
  assert_int_equal(nodes[1], node_at(sim, capture.graph, 1));
  expect_done(ops->needs(&card, capture.graph, node_at(sim, capture.graph, 0), &nodes, &count));
  assert_int_equal(count, 0);
  expect_edges(sim, end_capture(sim, stream), "0>1 0>2 2>3 1>3 ");
  card_end();
}

static void a_spoilt_capture_is_a_failure(void **state) {
  (void)state;
  vs_sim *sim = card_begin(VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim);
  vs_device_capture capture = {.is_active = true};
  begin_capture(sim, stream);
  expect_sim(vs_sim_stream_query(sim, 0, stream), VS_SIM_CAPTURE_UNSUPPORTED);
  expect_device(ops->capture_info(&card, stream, &capture), VS_DEVICE_FAILED);
  expect_code(VS_SIM_CAPTURE_INVALIDATED);
  assert_false(capture.is_active);
  expect_end(sim, stream, VS_SIM_CAPTURE_INVALIDATED);
  card_end();
}

/* ---- stream-ordered memory ----------------------------------------------------------------------------- */

static void the_default_pool_answers(void **state) {
  (void)state;
  vs_sim *sim = card_begin(VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim);
  uint64_t a = 0, used = 0, used_peak = 0, reserved = 0, reserved_peak = 0;
  expect_done(ops->async_alloc(&card, 3 * MIB, stream, &a));
  assert_int_equal(vs_sim_find(sim, a)->owner, vs_sim_pool_default(sim, 0));
  expect_done(ops->async_info(&card, &used, &used_peak, &reserved, &reserved_peak));
  assert_int_equal(used, 3 * MIB);
  assert_int_equal(reserved, VS_SIM_POOL_CHUNK);
  expect_done(ops->async_free(&card, a, stream));
  expect_device(ops->async_free(&card, a, stream), VS_DEVICE_FAILED);
  expect_done(ops->async_info(&card, &used, &used_peak, &reserved, &reserved_peak));
  assert_int_equal(used, 0);
  assert_int_equal(used_peak, 3 * MIB);
  expect_done(ops->stream_synchronize(&card, stream)); /* it keeps what it has */
  expect_done(ops->async_info(&card, &used, &used_peak, &reserved, &reserved_peak));
  assert_int_equal(reserved, VS_SIM_POOL_CHUNK);
  expect_done(ops->async_trim(&card, 0));
  expect_done(ops->async_info(&card, &used, &used_peak, &reserved, &reserved_peak));
  assert_int_equal(reserved, 0);
  assert_int_equal(reserved_peak, VS_SIM_POOL_CHUNK);
  expect_device(ops->async_alloc(&card, CARD_BYTES, stream, &a), VS_DEVICE_OUT_OF_MEMORY);
  card_end();
}

/* ---- faults -------------------------------------------------------------------------------------------- */

static void faults_on_request_come_through(void **state) {
  (void)state;
  vs_sim *sim = card_begin(VS_SIM_EVENTS_AT_ONCE);
  uint64_t made = 0;
  vs_sim_fault_set(sim, VS_SIM_FAULT_ALLOC, 2);
  segment(MIB);
  expect_device(ops->alloc(&card, MIB, &made), VS_DEVICE_OUT_OF_MEMORY);
  segment(MIB);
  vs_sim_fault_set(sim, VS_SIM_FAULT_EVENT, 1);
  expect_device(ops->event_create(&card, &made), VS_DEVICE_NO_HOST_MEMORY);
  vs_sim_fault_set(sim, VS_SIM_FAULT_CREATE, 1);
  expect_device(ops->create(&card, 2 * MIB, &made), VS_DEVICE_OUT_OF_MEMORY);
  card_end();
}

static void without_host_memory_questions_fail(void **state) {
  (void)state;
  vs_sim *sim = card_begin(VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim);
  vs_device_capture capture;
  uint64_t count = 9;
  const uint64_t *nodes;
  begin_capture(sim, stream);
  kernel(sim, stream);
  kernel(sim, stream);
  const uint64_t last = vs_sim_capture_dependency(sim, 0, stream, 0), graph = info_of(sim, stream).graph;
  m.host.fail_at = m.host.requests;
  expect_device(ops->capture_info(&card, stream, &capture), VS_DEVICE_NO_HOST_MEMORY);
  assert_false(capture.is_active);
  m.host.fail_at = m.host.requests;
  expect_device(ops->needs(&card, graph, last, &nodes, &count), VS_DEVICE_NO_HOST_MEMORY);
  assert_int_equal(count, 0);
  m.host.fail_at = FAULT_NEVER;
  expect_done(ops->needs(&card, graph, last, &nodes, &count));
  assert_int_equal(count, 1);
  end_capture(sim, stream);
  card_end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(segments_are_the_cards),
      cmocka_unit_test(the_second_card_is_another_one),
      cmocka_unit_test(memory_is_mapped_and_usable),
      cmocka_unit_test(events_follow_the_rule),
      cmocka_unit_test(an_allocator_works_while_others_capture),
      cmocka_unit_test(nodes_need_what_was_before),
      cmocka_unit_test(a_spoilt_capture_is_a_failure),
      cmocka_unit_test(the_default_pool_answers),
      cmocka_unit_test(faults_on_request_come_through),
      cmocka_unit_test(without_host_memory_questions_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
