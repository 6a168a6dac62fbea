/* Streams, events, captures and graphs, with each of their requests for host memory failing once. A call that
 * fails so says "out of memory" and changes nothing: done again it succeeds, and all that comes after is as
 * if it had never failed. */
#include "unit/device/sim/work.h"

static vs_sim_machine the_machine;

/* The call has to succeed, at the second try if the first one met the failure. */
#define CALL(call)                                     \
  do {                                                 \
    vs_sim_error error = (call);                       \
    if (error == VS_SIM_OUT_OF_MEMORY) failed = true;  \
    if (error == VS_SIM_OUT_OF_MEMORY) error = (call); \
    assert_int_equal(error, VS_SIM_OK);                \
  } while (0)

/* Begins on `host`; then `play` uses it and tells whether something failed. */
static vs_status with_sim(const vs_host *host, vs_sim_event_rule rule, bool (*play)(vs_sim *sim)) {
  const vs_sim_gpu gpu = {.profile = vs_sim_profile_find(VS_STR("H100")), .total_bytes = GIB};
  vs_sim sim;
  uint32_t slot;
  expect_ok(vs_sim_machine_init(&the_machine, &gpu, 1));
  expect_sim_ok(vs_sim_machine_enter(&the_machine, 1, 1, &slot));
  const vs_sim_error error = vs_sim_init(&sim, host, &the_machine, slot, NULL, rule);
  if (error != VS_SIM_OK) return error == VS_SIM_OUT_OF_MEMORY ? VS_NO_MEMORY : VS_BAD_ARGUMENT;
  const bool failed = play(&sim);
  assert_true(vs_sim_check(&sim));
  vs_sim_deinit(&sim);
  return failed ? VS_NO_MEMORY : VS_OK;
}

/* ---- streams and events -------------------------------------------------------------------------------- */

static bool play_streams(vs_sim *sim) {
  bool failed = false;
  uint64_t s[20], e[20];
  for (size_t i = 0; i < 20; i++) {
    CALL(vs_sim_stream_create(sim, 0, VS_SIM_STREAM_NON_BLOCKING, 0, &s[i]));
    assert_int_equal(s[i], VS_SIM_STREAM_BASE + VS_SIM_STREAM_STEP * i);
    CALL(vs_sim_event_create(sim, 0, 0, &e[i]));
    CALL(vs_sim_event_record(sim, 0, e[i], s[i], 0));
    for (size_t k = 0; k < i; k++) CALL(vs_sim_stream_wait_event(sim, 0, s[i], e[k], 0));
  }
  expect_sim_ok(vs_sim_stream_destroy(sim, s[3]));
  CALL(vs_sim_stream_create(sim, 0, 0, 0, &s[3]));
  assert_int_equal(s[3], VS_SIM_STREAM_BASE + VS_SIM_STREAM_STEP * 3);
  expect_sim_ok(vs_sim_event_query(sim, &main_thread, e[3]));
  expect_sim(vs_sim_event_query(sim, &main_thread, e[12]), VS_SIM_NOT_READY);
  expect_sim_ok(vs_sim_stream_synchronize(sim, 0, s[19]));
  for (size_t i = 0; i < 20; i++) expect_sim_ok(vs_sim_event_query(sim, &main_thread, e[i]));
  return failed;
}

static vs_status use_streams(const vs_host *host, void *ctx) {
  (void)ctx;
  return with_sim(host, VS_SIM_EVENTS_AT_SYNC, play_streams);
}

/* ---- captures ------------------------------------------------------------------------------------------ */

static bool play_captures(vs_sim *sim) {
  bool failed = false;
  enum { SIDES = 6 };
  uint64_t s[SIDES], e[SIDES], graph, exec, clone;
  for (size_t i = 0; i < SIDES; i++) {
    CALL(vs_sim_stream_create(sim, 0, VS_SIM_STREAM_NON_BLOCKING, 0, &s[i]));
    CALL(vs_sim_event_create(sim, 0, 0, &e[i]));
  }
  for (int round = 0; round < 2; round++) {
    CALL(vs_sim_capture_begin(sim, &main_thread, 0, s[0], VS_SIM_CAPTURE_GLOBAL));
    for (size_t i = 1; i < SIDES; i++) { /* a fan, and back */
      CALL(vs_sim_op(sim, 0, s[0], VS_SIM_NODE_KERNEL));
      CALL(vs_sim_event_record(sim, 0, e[0], s[0], 0));
      CALL(vs_sim_stream_wait_event(sim, 0, s[i], e[0], 0));
      CALL(vs_sim_op(sim, 0, s[i], VS_SIM_NODE_KERNEL));
      CALL(vs_sim_event_record(sim, 0, e[i], s[i], 0));
    }
    for (size_t i = 1; i < SIDES; i++) CALL(vs_sim_stream_wait_event(sim, 0, s[0], e[i], 0));
    CALL(vs_sim_event_record(sim, 0, e[0], s[0], 0)); /* with a long frontier */
    CALL(vs_sim_stream_wait_event(sim, 0, s[1], e[0], 0));
    CALL(vs_sim_op(sim, 0, s[0], VS_SIM_NODE_KERNEL));
    const uint64_t first = node_at(sim, info_of(sim, s[0]).graph, 0);
    CALL(vs_sim_capture_update(sim, 0, s[0], &first, 1, VS_SIM_DEPENDENCIES_ADD));
    CALL(vs_sim_event_record(sim, 0, e[0], s[0], VS_SIM_EVENT_EXTERNAL));
    CALL(vs_sim_capture_end(sim, &main_thread, 0, s[0], &graph));
    expect_edges(sim, graph, "0>1 0>2 2>3 2>4 4>5 4>6 6>7 6>8 8>9 8>10 1>10 3>10 5>10 7>10 9>10 10>11 0>11 ");
    CALL(vs_sim_graph_instantiate(sim, graph, 0, &exec));
    CALL(vs_sim_exec_launch(sim, 0, exec, s[0]));
    CALL(vs_sim_graph_clone(sim, graph, &clone));
    CALL(vs_sim_exec_update(sim, exec, clone, NULL, NULL));
    CALL(vs_sim_capture_begin_to(sim, &main_thread, 0, s[0], clone, NULL, 0, VS_SIM_CAPTURE_GLOBAL));
    CALL(vs_sim_exec_launch(sim, 0, exec, s[0]));
    CALL(vs_sim_capture_end(sim, &main_thread, 0, s[0], &clone));
    assert_int_equal(node_count(sim, clone), 13);
  }
  return failed;
}

static vs_status use_captures(const vs_host *host, void *ctx) {
  (void)ctx;
  return with_sim(host, VS_SIM_EVENTS_AT_SYNC, play_captures);
}

/* ---- graphs by hand ------------------------------------------------------------------------------------ */

static bool play_graphs(vs_sim *sim) {
  bool failed = false;
  enum { WIDE = 12 };
  uint64_t graph, outer, n[WIDE], node_in, inside, exec, object, clones[20];
  vs_sim_callback callback;
  CALL(vs_sim_graph_create(sim, 0, &graph));
  CALL(vs_sim_graph_create(sim, 0, &outer));
  for (uint64_t i = 0; i < WIDE; i++) {
    const vs_sim_work work = {.kind = VS_SIM_NODE_HOST, .object = 1, .operand = i};
    CALL(vs_sim_graph_add(sim, graph, n, i % 3, &work, &n[i]));
  }
  for (int i = WIDE - 1; i > 3; i--) { /* against the order of making, each into a list that moves */
    const uint64_t from[] = {n[i], n[i]}, to[] = {n[0], n[1]};
    if (i % 3 == 0) CALL(vs_sim_graph_add_edges(sim, graph, from, to, 2));
  }
  CALL(vs_sim_user_object_create(sim, 9, 9, 1, VS_SIM_USER_OBJECT_NO_SYNC, &object));
  CALL(vs_sim_graph_retain(sim, graph, object, 1, VS_SIM_USER_OBJECT_MOVE));
  CALL(vs_sim_graph_add_child(sim, outer, NULL, 0, graph, &node_in));
  CALL(vs_sim_node_child(sim, node_in, &inside));
  assert_int_equal(edge_count(sim, inside), edge_count(sim, graph));
  for (int i = 0; i < 20; i++) CALL(vs_sim_graph_clone(sim, inside, &clones[i])); /* the table grows */
  for (int i = 0; i < 20; i++) expect_sim_ok(vs_sim_graph_destroy(sim, clones[i]));
  CALL(vs_sim_graph_instantiate(sim, outer, 0, &exec));
  CALL(vs_sim_exec_launch(sim, 0, exec, VS_SIM_STREAM_PER_THREAD));
  for (int i = 0; i < WIDE; i++) assert_true(vs_sim_next_callback(sim, &callback) && callback.function == 1);
  expect_sim_ok(vs_sim_graph_destroy(sim, graph));
  expect_sim_ok(vs_sim_graph_destroy(sim, outer));
  assert_false(vs_sim_next_callback(sim, &callback));
  expect_sim_ok(vs_sim_exec_destroy(sim, exec));
  assert_true(vs_sim_next_callback(sim, &callback) && callback.function == 9);
  assert_false(vs_sim_next_callback(sim, &callback)); /* a copy that failed gave back what it kept */
  return failed;
}

static vs_status use_graphs(const vs_host *host, void *ctx) {
  (void)ctx;
  return with_sim(host, VS_SIM_EVENTS_AT_ONCE, play_graphs);
}

/* ---- graph memory -------------------------------------------------------------------------------------- */

static bool play_memory(vs_sim *sim) {
  bool failed = false;
  const uint64_t stream = VS_SIM_STREAM_PER_THREAD;
  uint64_t a[10], graph, exec, used;
  CALL(vs_sim_capture_begin(sim, &main_thread, 0, stream, VS_SIM_CAPTURE_GLOBAL));
  for (uint64_t i = 0; i < 10; i++) CALL(vs_sim_alloc_async(sim, 0, stream, 0, MIB * (i + 1), &a[i]));
  for (uint64_t i = 0; i < 5; i++) CALL(vs_sim_free_async(sim, 0, stream, a[i]));
  CALL(vs_sim_capture_end(sim, &main_thread, 0, stream, &graph));
  CALL(vs_sim_graph_instantiate(sim, graph, 0, &exec));
  expect_sim_ok(vs_sim_graph_memory_trim(sim, 0));
  CALL(vs_sim_exec_launch(sim, 0, exec, stream));
  expect_sim_ok(vs_sim_graph_memory_get(sim, 0, VS_SIM_GRAPH_USED, &used));
  assert_int_equal(used, (6 + 7 + 8 + 9 + 10) * MIB);
  for (uint64_t i = 5; i < 10; i++) CALL(vs_sim_free_async(sim, 0, stream, a[i]));
  expect_sim_ok(vs_sim_graph_destroy(sim, graph));
  expect_sim_ok(vs_sim_exec_destroy(sim, exec));
  expect_sim_ok(vs_sim_graph_memory_get(sim, 0, VS_SIM_GRAPH_USED, &used));
  assert_int_equal(used, 0);
  return failed;
}

static vs_status use_memory(const vs_host *host, void *ctx) {
  (void)ctx;
  return with_sim(host, VS_SIM_EVENTS_AT_ONCE, play_memory);
}

static void streams_and_events(void **state) {
  (void)state;
  assert_true(fault_prove(use_streams, NULL) > 60);
}
static void captures(void **state) {
  (void)state;
  assert_true(fault_prove(use_captures, NULL) > 60);
}
static void graphs(void **state) {
  (void)state;
  assert_true(fault_prove(use_graphs, NULL) > 30);
}
static void graph_memory(void **state) {
  (void)state;
  assert_true(fault_prove(use_memory, NULL) > 30);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(streams_and_events),
      cmocka_unit_test(captures),
      cmocka_unit_test(graphs),
      cmocka_unit_test(graph_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
