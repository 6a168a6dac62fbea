#include "unit/device/sim/work.h"

static machine m;

static uint64_t instance(vs_sim *sim, uint64_t graph, uint64_t flags) {
  uint64_t exec = 0;
  expect_sim_ok(vs_sim_graph_instantiate(sim, graph, flags, &exec));
  return exec;
}
static void launch(vs_sim *sim, uint64_t exec, uint64_t stream) {
  expect_sim_ok(vs_sim_exec_launch(sim, 0, exec, stream));
}

/* A graph of `kernels` in a row. */
static uint64_t captured_row(vs_sim *sim, uint64_t stream, int kernels) {
  begin_capture(sim, stream);
  for (int i = 0; i < kernels; i++) kernel(sim, stream);
  return end_capture(sim, stream);
}

static void a_launch_takes_the_time_of_its_nodes(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_SYNC);
  const uint64_t stream = new_stream(sim), exec = instance(sim, captured_row(sim, stream, 5), 0);
  const uint64_t before = sim->streams.clock_ns;
  launch(sim, exec, stream);
  assert_int_equal(sim->streams.clock_ns, before + 5 * VS_SIM_WORK_NS);
  expect_sim(vs_sim_stream_query(sim, 0, stream), VS_SIM_NOT_READY);
  expect_sim_ok(vs_sim_stream_synchronize(sim, 0, stream));
  launch(sim, instance(sim, captured_row(sim, stream, 0), 0), stream); /* nothing, but given to the stream */
  expect_sim(vs_sim_stream_query(sim, 0, stream), VS_SIM_NOT_READY);
  machine_end(&m);
}

static void an_exec_outlives_its_graph(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim), graph = captured_row(sim, stream, 3),
                 exec = instance(sim, graph, 0);
  expect_sim_ok(vs_sim_graph_destroy(sim, graph));
  launch(sim, exec, stream);
  assert_int_equal(vs_sim_exec_find(sim, exec)->flags, 0);
  expect_sim_ok(vs_sim_exec_upload(sim, 0, exec, stream));
  expect_sim_ok(vs_sim_exec_destroy(sim, exec));
  expect_sim(vs_sim_exec_launch(sim, 0, exec, stream), VS_SIM_INVALID_HANDLE);
  expect_sim(vs_sim_exec_destroy(sim, exec), VS_SIM_INVALID_HANDLE);
  machine_end(&m);
}

static void flags_and_faults(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim), graph = captured_row(sim, stream, 1);
  uint64_t exec;
  expect_sim(vs_sim_graph_instantiate(sim, graph, 16, &exec), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_graph_instantiate(sim, graph, VS_SIM_INSTANTIATE_DEVICE_LAUNCH, &exec),
             VS_SIM_NOT_SUPPORTED);
  expect_sim(vs_sim_graph_instantiate(sim, graph, 0, NULL), VS_SIM_INVALID_VALUE);
  assert_int_equal(vs_sim_exec_find(sim, instance(sim, graph, 11))->flags, 11);
  vs_sim_fault_set(sim, VS_SIM_FAULT_INSTANTIATE, 1);
  vs_sim_fault_set(sim, VS_SIM_FAULT_GRAPH, 1);
  expect_sim(vs_sim_graph_instantiate(sim, graph, 0, &exec), VS_SIM_OUT_OF_MEMORY);
  expect_sim(vs_sim_capture_begin(sim, &main_thread, 0, stream, VS_SIM_CAPTURE_GLOBAL), VS_SIM_OUT_OF_MEMORY);
  assert_int_equal(status_of(sim, stream), VS_SIM_NOT_CAPTURED);
  (void)captured_row(sim, stream, 1);
  machine_end(&m);
}

static void host_nodes_become_callbacks_in_the_order_of_edges(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim);
  uint64_t graph, outer, child, n[4];
  vs_sim_callback callback;
  expect_sim_ok(vs_sim_graph_create(sim, 0, &graph));
  expect_sim_ok(vs_sim_graph_create(sim, 0, &outer));
  for (uint64_t i = 0; i < 4; i++) {
    const vs_sim_work work = {.kind = VS_SIM_NODE_HOST, .object = 7, .operand = i};
    expect_sim_ok(vs_sim_graph_add(sim, graph, NULL, 0, &work, &n[i]));
  }
  const uint64_t from[] = {n[3], n[1], n[2]}, to[] = {n[1], n[2], n[0]}; /* 3 1 2 0 */
  expect_sim_ok(vs_sim_graph_add_edges(sim, graph, from, to, 3));
  expect_sim_ok(vs_sim_graph_add_child(sim, outer, NULL, 0, graph, &child));
  launch(sim, instance(sim, graph, 0), stream);
  launch(sim, instance(sim, outer, 0), stream);
  static const uint64_t wanted[] = {3, 1, 2, 0, 3, 1, 2, 0};
  for (size_t i = 0; i < 8; i++) {
    assert_true(vs_sim_next_callback(sim, &callback));
    assert_true(callback.function == 7 && callback.argument == wanted[i]);
  }
  assert_false(vs_sim_next_callback(sim, &callback));
  machine_end(&m);
}

static void event_nodes_record_and_wait_at_the_launch(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_SYNC);
  const uint64_t stream = new_stream(sim), side = new_stream(sim);
  const uint64_t start = new_event(sim), end = new_event(sim), outside = mark(sim, side);
  int64_t ns;
  begin_capture(sim, stream);
  expect_sim_ok(vs_sim_event_record(sim, 0, start, stream, VS_SIM_EVENT_EXTERNAL));
  kernel(sim, stream);
  expect_sim_ok(vs_sim_stream_wait_event(sim, 0, stream, outside, VS_SIM_EVENT_EXTERNAL));
  expect_sim_ok(vs_sim_event_record(sim, 0, end, stream, VS_SIM_EVENT_EXTERNAL));
  const uint64_t exec = instance(sim, end_capture(sim, stream), 0);
  launch(sim, exec, stream);
  expect_sim(vs_sim_event_query(sim, &main_thread, start), VS_SIM_NOT_READY);
  expect_sim_ok(vs_sim_stream_synchronize(sim, 0, stream));
  expect_sim_ok(vs_sim_event_query(sim, &main_thread, outside)); /* it was waited for */
  expect_sim_ok(vs_sim_event_elapsed(sim, start, end, &ns));
  assert_int_equal(ns, 3 * VS_SIM_WORK_NS);
  expect_sim_ok(vs_sim_event_destroy(sim, end));
  const uint64_t before = sim->streams.clock_ns;
  expect_sim(vs_sim_exec_launch(sim, 0, exec, stream), VS_SIM_INVALID_HANDLE);
  assert_int_equal(sim->streams.clock_ns, before);
  machine_end(&m);
}

static void each_kind_of_event_node_needs_its_event(void **state) {
  (void)state;
  for (int kind = 0; kind < 2; kind++) {
    vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
    const uint64_t stream = new_stream(sim), event = new_event(sim);
    begin_capture(sim, stream);
    if (kind == 0) expect_sim_ok(vs_sim_event_record(sim, 0, event, stream, VS_SIM_EVENT_EXTERNAL));
    else expect_sim_ok(vs_sim_stream_wait_event(sim, 0, stream, event, VS_SIM_EVENT_EXTERNAL));
    const uint64_t exec = instance(sim, end_capture(sim, stream), 0);
    launch(sim, exec, stream);
    expect_sim_ok(vs_sim_event_destroy(sim, event));
    expect_sim(vs_sim_exec_launch(sim, 0, exec, stream), VS_SIM_INVALID_HANDLE);
    machine_end(&m);
  }
}

static void many_wait_nodes_are_bounded(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_SYNC);
  const uint64_t stream = new_stream(sim), side = new_stream(sim), outside = mark(sim, side);
  begin_capture(sim, stream);
  for (int i = 0; i < 3 * VS_SIM_MOST_WAITS; i++)
    expect_sim_ok(vs_sim_stream_wait_event(sim, 0, stream, outside, VS_SIM_EVENT_EXTERNAL));
  const uint64_t exec = instance(sim, end_capture(sim, stream), 0);
  for (int i = 0; i < 3; i++) launch(sim, exec, stream);
  assert_true(vs_sim_stream_find(sim, 0, stream)->waits.count <= VS_SIM_MOST_WAITS);
  expect_sim_ok(vs_sim_stream_synchronize(sim, 0, stream));
  expect_sim_ok(vs_sim_event_query(sim, &main_thread, outside));
  machine_end(&m);
}

static void launching_into_a_capture_makes_a_child(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim), exec = instance(sim, captured_row(sim, stream, 3), 0);
  const uint64_t before = sim->streams.clock_ns;
  uint64_t child;
  begin_capture(sim, stream);
  kernel(sim, stream);
  launch(sim, exec, stream);
  kernel(sim, stream);
  expect_sim(vs_sim_exec_upload(sim, 0, exec, stream), VS_SIM_CAPTURE_UNSUPPORTED);
  expect_sim(vs_sim_exec_launch(sim, 0, exec, stream), VS_SIM_CAPTURE_INVALIDATED);
  expect_end(sim, stream, VS_SIM_CAPTURE_INVALIDATED);
  begin_capture(sim, stream);
  kernel(sim, stream);
  launch(sim, exec, stream);
  kernel(sim, stream);
  const uint64_t graph = end_capture(sim, stream);
  expect_edges(sim, graph, "0>1 1>2 ");
  expect_sim_ok(vs_sim_node_child(sim, node_at(sim, graph, 1), &child));
  expect_edges(sim, child, "0>1 1>2 ");
  assert_int_equal(sim->streams.clock_ns, before);
  launch(sim, instance(sim, graph, 0), stream);
  assert_int_equal(sim->streams.clock_ns, before + 5 * VS_SIM_WORK_NS);
  machine_end(&m);
}

/* ---- updates ------------------------------------------------------------------------------------------- */

static void expect_update(vs_sim *sim, uint64_t exec, uint64_t graph, vs_sim_update_result wanted,
                          uint64_t wanted_node) {
  vs_sim_update_result result = VS_SIM_UPDATE_NOT_SUPPORTED;
  uint64_t node = 99;
  expect_sim(vs_sim_exec_update(sim, exec, graph, &result, &node),
             wanted == VS_SIM_UPDATE_SUCCESS ? VS_SIM_OK : VS_SIM_GRAPH_EXEC_UPDATE_FAILURE);
  assert_int_equal(result, wanted);
  assert_int_equal(node, wanted_node);
}

static uint64_t hosts(vs_sim *sim, uint64_t stream, uint64_t function, int count) {
  const vs_sim_work work = {.kind = VS_SIM_NODE_HOST, .object = function};
  begin_capture(sim, stream);
  for (int i = 0; i < count; i++) expect_sim_ok(vs_sim_work_add(sim, 0, stream, &work, NULL));
  return end_capture(sim, stream);
}

static void an_update_takes_what_nodes_do(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim), a = hosts(sim, stream, 1, 2), b = hosts(sim, stream, 2, 2);
  const uint64_t exec = instance(sim, a, 0);
  uint64_t outer_a, outer_b, node;
  vs_sim_callback callback;
  expect_update(sim, exec, b, VS_SIM_UPDATE_SUCCESS, 0);
  expect_sim_ok(vs_sim_exec_update(sim, exec, b, NULL, NULL));
  launch(sim, exec, stream);
  for (int i = 0; i < 2; i++) assert_true(vs_sim_next_callback(sim, &callback) && callback.function == 2);

  expect_sim_ok(vs_sim_graph_create(sim, 0, &outer_a)); /* in children too */
  expect_sim_ok(vs_sim_graph_create(sim, 0, &outer_b));
  expect_sim_ok(vs_sim_graph_add_child(sim, outer_a, NULL, 0, a, &node));
  expect_sim_ok(vs_sim_graph_add_child(sim, outer_b, NULL, 0, b, &node));
  const uint64_t outer = instance(sim, outer_a, 0);
  expect_update(sim, outer, outer_b, VS_SIM_UPDATE_SUCCESS, 0);
  launch(sim, outer, stream);
  for (int i = 0; i < 2; i++) assert_true(vs_sim_next_callback(sim, &callback) && callback.function == 2);
  machine_end(&m);
}

static void an_update_wants_the_same_topology(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim), row = captured_row(sim, stream, 3), exec = instance(sim, row, 0);
  uint64_t clone;
  expect_update(sim, exec, captured_row(sim, stream, 2), VS_SIM_UPDATE_TOPOLOGY_CHANGED, 0);
  expect_sim_ok(vs_sim_graph_clone(sim, row, &clone));
  const uint64_t first = node_at(sim, clone, 0), second = node_at(sim, clone, 1),
                 third = node_at(sim, clone, 2);
  expect_sim_ok(vs_sim_graph_remove_edges(sim, clone, &second, &third, 1));
  expect_update(sim, exec, clone, VS_SIM_UPDATE_TOPOLOGY_CHANGED, third);
  expect_sim_ok(vs_sim_graph_add_edges(sim, clone, &first, &third, 1)); /* as many edges, but another one */
  expect_update(sim, exec, clone, VS_SIM_UPDATE_TOPOLOGY_CHANGED, third);
  begin_capture(sim, stream);
  kernel(sim, stream);
  expect_sim_ok(vs_sim_op(sim, 0, stream, VS_SIM_NODE_MEMCPY));
  kernel(sim, stream);
  const uint64_t other_kind = end_capture(sim, stream);
  expect_update(sim, exec, other_kind, VS_SIM_UPDATE_KIND_CHANGED, node_at(sim, other_kind, 1));
  begin_capture(sim, stream);
  expect_sim(vs_sim_exec_update(sim, exec, info_of(sim, stream).graph, NULL, NULL), VS_SIM_ILLEGAL_STATE);
  (void)end_capture(sim, stream);
  expect_sim(vs_sim_exec_update(sim, exec, exec, NULL, NULL), VS_SIM_INVALID_HANDLE);
  launch(sim, exec, stream);
  machine_end(&m);
}

/* Nodes are compared by their rank among the living, not by number. */
static void an_update_sees_past_gaps(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim), row = captured_row(sim, stream, 2), exec = instance(sim, row, 0);
  const uint64_t longer = captured_row(sim, stream, 3);
  expect_sim_ok(vs_sim_node_destroy(sim, node_at(sim, longer, 0)));
  expect_edges(sim, longer, "0>1 ");
  expect_update(sim, exec, longer, VS_SIM_UPDATE_SUCCESS, 0);
  expect_update(sim, instance(sim, longer, 0), row, VS_SIM_UPDATE_SUCCESS, 0);
  launch(sim, exec, stream);
  begin_capture(sim, stream); /* marks are marks again */
  kernel(sim, stream);
  (void)end_capture(sim, stream);
  machine_end(&m);
}

static void single_nodes_of_an_exec_can_be_set(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim), graph = hosts(sim, stream, 1, 2), exec = instance(sim, graph, 0);
  const vs_sim_work work = {.kind = VS_SIM_NODE_HOST, .object = 9}, other = {.kind = VS_SIM_NODE_KERNEL};
  const uint64_t foreign = node_at(sim, captured_row(sim, stream, 2), 1);
  vs_sim_callback callback;
  expect_sim_ok(vs_sim_exec_set_work(sim, exec, node_at(sim, graph, 1), &work));
  assert_int_equal(vs_sim_node_work(sim, node_at(sim, graph, 1))->object, 1); /* the graph's own stays */
  expect_sim(vs_sim_exec_set_work(sim, exec, node_at(sim, graph, 1), &other), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_exec_set_work(sim, exec, foreign, &other), VS_SIM_INVALID_VALUE);
  uint64_t late;
  expect_sim_ok(vs_sim_graph_add(sim, graph, NULL, 0, &work, &late)); /* not in the exec */
  expect_sim(vs_sim_exec_set_work(sim, exec, late, &work), VS_SIM_INVALID_VALUE);
  launch(sim, exec, stream);
  assert_true(vs_sim_next_callback(sim, &callback) && callback.function == 1);
  assert_true(vs_sim_next_callback(sim, &callback) && callback.function == 9);
  machine_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_launch_takes_the_time_of_its_nodes),
      cmocka_unit_test(an_exec_outlives_its_graph),
      cmocka_unit_test(flags_and_faults),
      cmocka_unit_test(host_nodes_become_callbacks_in_the_order_of_edges),
      cmocka_unit_test(event_nodes_record_and_wait_at_the_launch),
      cmocka_unit_test(each_kind_of_event_node_needs_its_event),
      cmocka_unit_test(many_wait_nodes_are_bounded),
      cmocka_unit_test(launching_into_a_capture_makes_a_child),
      cmocka_unit_test(an_update_takes_what_nodes_do),
      cmocka_unit_test(an_update_wants_the_same_topology),
      cmocka_unit_test(an_update_sees_past_gaps),
      cmocka_unit_test(single_nodes_of_an_exec_can_be_set),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
