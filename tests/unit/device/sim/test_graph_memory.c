#include "unit/device/sim/work.h"

static machine m;

static uint64_t figure(const vs_sim *sim, vs_sim_graph_memory which) {
  uint64_t bytes = UINT64_MAX;
  expect_sim_ok(vs_sim_graph_memory_get(sim, 0, which, &bytes));
  return bytes;
}

static uint64_t take(vs_sim *sim, uint64_t stream, uint64_t size) {
  uint64_t address = 0;
  expect_sim_ok(vs_sim_alloc_async(sim, 0, stream, 0, size, &address));
  return address;
}
static void give(vs_sim *sim, uint64_t stream, uint64_t address) {
  expect_sim_ok(vs_sim_free_async(sim, 0, stream, address));
}
static uint64_t instance(vs_sim *sim, uint64_t graph, uint64_t flags) {
  uint64_t exec = 0;
  expect_sim_ok(vs_sim_graph_instantiate(sim, graph, flags, &exec));
  return exec;
}

static void outside_of_captures_it_is_a_pool(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim), before = sim->streams.clock_ns;
  uint64_t pool, address;
  expect_sim_ok(vs_sim_pool_create(sim, 0, 0, &pool));
  const uint64_t a = take(sim, stream, 1000);
  assert_int_equal(vs_sim_find(sim, a)->owner, vs_sim_pool_current(sim, 0));
  assert_int_equal(vs_sim_find(sim, a)->kind, VS_SIM_RANGE_POOL);
  expect_sim_ok(vs_sim_alloc_async(sim, 0, stream, pool, 1000, &address));
  assert_int_equal(vs_sim_find(sim, address)->owner, pool);
  give(sim, stream, a);
  assert_null(vs_sim_find(sim, a));
  expect_sim(vs_sim_free_async(sim, 0, stream, a), VS_SIM_INVALID_VALUE);
  assert_int_equal(sim->streams.clock_ns, before + 3 * VS_SIM_WORK_NS);
  expect_sim(vs_sim_alloc_async(sim, 0, stream, 0, 0, &address), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_alloc_async(sim, 0, stream, 77, 1, &address), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_alloc_async(sim, 0, stream, 0, 1, NULL), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_alloc_async(sim, 0, stream, 0, UINT64_C(2) << 30, &address), VS_SIM_OUT_OF_MEMORY);
  machine_end(&m);
}

static void what_comes_and_goes_in_a_graph(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim);
  begin_capture(sim, stream);
  const uint64_t a = take(sim, stream, 100 * MIB);
  kernel(sim, stream);
  give(sim, stream, a);
  const uint64_t b = take(sim, stream, 100 * MIB); /* the same memory */
  give(sim, stream, b);
  expect_sim(vs_sim_free_async(sim, 0, stream, b), VS_SIM_INVALID_VALUE); /* it went already */
  const uint64_t graph = end_capture(sim, stream);
  assert_int_equal(a, b);
  expect_edges(sim, graph, "0>1 1>2 2>3 3>4 ");
  const vs_sim_work *work = vs_sim_node_work(sim, node_at(sim, graph, 0));
  assert_true(work->kind == VS_SIM_NODE_MEM_ALLOC && work->object == a && work->operand == 100 * MIB &&
              work->device == 0);
  work = vs_sim_node_work(sim, node_at(sim, graph, 2));
  assert_true(work->kind == VS_SIM_NODE_MEM_FREE && work->object == a);
  assert_int_equal(figure(sim, VS_SIM_GRAPH_USED), 0);
  assert_int_equal(figure(sim, VS_SIM_GRAPH_USED_HIGH), 100 * MIB);
  assert_int_equal(figure(sim, VS_SIM_GRAPH_RESERVED), 128 * MIB); /* chunks of 32 MiB */

  /* It stays reserved over synchronisations, goes by a trim, and comes back with a launch. */
  expect_sim_ok(vs_sim_device_synchronize(sim, 0));
  assert_int_equal(held(sim, 0), 128 * MIB);
  expect_sim_ok(vs_sim_graph_memory_trim(sim, 0));
  assert_int_equal(figure(sim, VS_SIM_GRAPH_RESERVED), 0);
  assert_int_equal(held(sim, 0), 0);
  expect_sim_ok(vs_sim_graph_memory_reset(sim, 0, VS_SIM_GRAPH_USED_HIGH));
  expect_sim_ok(vs_sim_graph_memory_reset(sim, 0, VS_SIM_GRAPH_RESERVED_HIGH));
  const uint64_t exec = instance(sim, graph, 0);
  for (int i = 0; i < 3; i++) expect_sim_ok(vs_sim_exec_launch(sim, 0, exec, stream));
  assert_int_equal(figure(sim, VS_SIM_GRAPH_USED), 0);
  assert_int_equal(figure(sim, VS_SIM_GRAPH_USED_HIGH), 100 * MIB);
  assert_int_equal(figure(sim, VS_SIM_GRAPH_RESERVED_HIGH), 128 * MIB);
  machine_end(&m);
}

static void a_launch_without_memory_is_none(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim);
  begin_capture(sim, stream);
  const uint64_t a = take(sim, stream, 300 * MIB), b = take(sim, stream, 300 * MIB);
  give(sim, stream, a);
  give(sim, stream, b);
  const uint64_t exec = instance(sim, end_capture(sim, stream), 0);
  expect_sim_ok(vs_sim_graph_memory_trim(sim, 0));
  const uint64_t other = allocated(sim, 0, 500 * MIB), before = sim->streams.clock_ns;
  expect_sim(vs_sim_exec_launch(sim, 0, exec, stream), VS_SIM_OUT_OF_MEMORY);
  assert_int_equal(sim->streams.clock_ns, before);
  assert_int_equal(figure(sim, VS_SIM_GRAPH_USED), 0); /* the half that it had went back */
  expect_sim_ok(vs_sim_free(sim, other, NULL));
  expect_sim_ok(vs_sim_exec_launch(sim, 0, exec, stream));
  machine_end(&m);
}

static void what_a_graph_leaves(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim);
  begin_capture(sim, stream);
  const uint64_t a = take(sim, stream, 10 * MIB), b = take(sim, stream, 10 * MIB);
  const uint64_t graph = end_capture(sim, stream), exec = instance(sim, graph, 0);
  expect_sim(vs_sim_graph_free(sim, a), VS_SIM_INVALID_VALUE); /* not launched yet */
  expect_sim(vs_sim_graph_free(sim, a + 512), VS_SIM_NOT_FOUND);
  expect_sim_ok(vs_sim_exec_launch(sim, 0, exec, stream));
  expect_sim(vs_sim_exec_launch(sim, 0, exec, stream), VS_SIM_INVALID_VALUE); /* it was not freed */
  expect_sim_ok(vs_sim_graph_free(sim, a));
  expect_sim(vs_sim_graph_free(sim, a), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_exec_launch(sim, 0, exec, stream), VS_SIM_INVALID_VALUE); /* b */
  give(sim, stream, b);
  expect_sim_ok(vs_sim_exec_launch(sim, 0, exec, stream)); /* at the same addresses */
  assert_non_null(vs_sim_find(sim, a));
  expect_sim_ok(vs_sim_graph_free(sim, b));

  /* a is allocated and outlives the graph that made it; b does not. */
  expect_sim_ok(vs_sim_graph_destroy(sim, graph));
  expect_sim_ok(vs_sim_exec_destroy(sim, exec));
  assert_null(vs_sim_find(sim, b));
  assert_int_equal(figure(sim, VS_SIM_GRAPH_USED), 10 * MIB);
  give(sim, stream, a);
  assert_int_equal(figure(sim, VS_SIM_GRAPH_USED), 0);
  expect_sim(vs_sim_graph_free(sim, a), VS_SIM_NOT_FOUND);
  machine_end(&m);
}

static void a_plain_free_takes_what_a_graph_left(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim);
  vs_sim_range was;
  begin_capture(sim, stream);
  const uint64_t a = take(sim, stream, MIB);
  const uint64_t graph = end_capture(sim, stream), exec = instance(sim, graph, 0);
  expect_sim(vs_sim_free(sim, a, NULL), VS_SIM_INVALID_VALUE); /* not launched yet */
  for (int launch = 0; launch < 2; launch++) {
    expect_sim_ok(vs_sim_exec_launch(sim, 0, exec, stream));
    expect_sim_ok(vs_sim_free(sim, a, &was));
    assert_int_equal(was.base, a);
    expect_sim(vs_sim_free(sim, a, NULL), VS_SIM_INVALID_VALUE);
  }
  assert_int_equal(figure(sim, VS_SIM_GRAPH_USED), MIB); /* it is the graph's until that is gone */
  machine_end(&m);
}

static void auto_free_frees_the_last_launch(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim);
  begin_capture(sim, stream);
  (void)take(sim, stream, 10 * MIB);
  const uint64_t exec = instance(sim, end_capture(sim, stream), VS_SIM_INSTANTIATE_AUTO_FREE);
  for (int i = 0; i < 5; i++) expect_sim_ok(vs_sim_exec_launch(sim, 0, exec, stream));
  assert_int_equal(figure(sim, VS_SIM_GRAPH_USED), 10 * MIB);
  machine_end(&m);
}

static void one_graph_frees_what_another_made(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim);
  begin_capture(sim, stream);
  const uint64_t a = take(sim, stream, 10 * MIB), ordinary = allocated(sim, 0, MIB);
  const uint64_t maker = instance(sim, end_capture(sim, stream), 0);
  begin_capture(sim, stream);
  give(sim, stream, a);
  expect_sim(vs_sim_free_async(sim, 0, stream, ordinary), VS_SIM_INVALID_VALUE); /* no graph's memory */
  const uint64_t freer = instance(sim, end_capture(sim, stream), 0);
  for (int i = 0; i < 3; i++) {
    expect_sim_ok(vs_sim_exec_launch(sim, 0, maker, stream));
    expect_sim_ok(vs_sim_exec_launch(sim, 0, freer, stream));
  }
  expect_sim_ok(vs_sim_exec_launch(sim, 0, freer, stream)); /* nothing left to free */
  expect_sim_ok(vs_sim_exec_destroy(sim, maker));
  expect_sim_ok(vs_sim_exec_launch(sim, 0, freer, stream));
  machine_end(&m);
}

/* A free node that comes after the exec was made: the exec still leaves its memory. */
static void a_later_free_node_does_not_change_an_exec(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim);
  uint64_t node;
  begin_capture(sim, stream);
  const uint64_t a = take(sim, stream, 10 * MIB), graph = end_capture(sim, stream),
                 exec = instance(sim, graph, 0);
  const vs_sim_work work = {.kind = VS_SIM_NODE_MEM_FREE, .object = a};
  const uint64_t maker = node_at(sim, graph, 0);
  expect_sim_ok(vs_sim_graph_add(sim, graph, &maker, 1, &work, &node));
  expect_sim_ok(vs_sim_exec_launch(sim, 0, exec, stream));
  expect_sim_ok(vs_sim_graph_destroy(sim, graph));
  assert_int_equal(figure(sim, VS_SIM_GRAPH_USED), 10 * MIB);
  expect_sim_ok(vs_sim_graph_free(sim, a));
  expect_sim_ok(vs_sim_exec_destroy(sim, exec));
  assert_int_equal(figure(sim, VS_SIM_GRAPH_USED), 0);
  machine_end(&m);
}

/* Nor does one that comes while the program has the piece take it away. */
static void a_later_free_node_leaves_what_is_used(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim);
  uint64_t node;
  begin_capture(sim, stream);
  const uint64_t a = take(sim, stream, 10 * MIB), graph = end_capture(sim, stream),
                 exec = instance(sim, graph, 0);
  const vs_sim_work work = {.kind = VS_SIM_NODE_MEM_FREE, .object = a};
  const uint64_t maker = node_at(sim, graph, 0);
  expect_sim_ok(vs_sim_exec_launch(sim, 0, exec, stream));
  expect_sim_ok(vs_sim_exec_destroy(sim, exec));
  expect_sim_ok(vs_sim_graph_add(sim, graph, &maker, 1, &work, &node));
  assert_non_null(vs_sim_find(sim, a));
  expect_sim_ok(vs_sim_graph_free(sim, a));
  expect_sim_ok(vs_sim_graph_destroy(sim, graph));
  assert_int_equal(figure(sim, VS_SIM_GRAPH_USED), 0);
  machine_end(&m);
}

static void graphs_with_memory_are_special(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim);
  uint64_t graph, other, n[2], out;
  const vs_sim_work alloc = {.kind = VS_SIM_NODE_MEM_ALLOC, .operand = MIB};
  const vs_sim_work nowhere = {.kind = VS_SIM_NODE_MEM_ALLOC, .operand = MIB, .device = CARDS};
  const vs_sim_work nothing = {.kind = VS_SIM_NODE_MEM_ALLOC},
                    no_piece = {.kind = VS_SIM_NODE_MEM_FREE, .object = 5};
  expect_sim_ok(vs_sim_graph_create(sim, 0, &graph));
  expect_sim_ok(vs_sim_graph_create(sim, 0, &other));
  expect_sim_ok(vs_sim_graph_add(sim, graph, NULL, 0, &alloc, &n[0]));
  expect_sim(vs_sim_graph_add(sim, graph, NULL, 0, &nowhere, &out), VS_SIM_INVALID_DEVICE);
  expect_sim(vs_sim_graph_add(sim, graph, NULL, 0, &nothing, &out), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_graph_add(sim, graph, NULL, 0, &no_piece, &out), VS_SIM_INVALID_VALUE);
  const vs_sim_work empty = {.kind = VS_SIM_NODE_EMPTY};
  expect_sim_ok(vs_sim_graph_add(sim, graph, n, 1, &empty, &n[1]));
  assert_int_equal(node_count(sim, graph), 2);
  expect_sim(vs_sim_graph_clone(sim, graph, &out), VS_SIM_NOT_SUPPORTED);
  expect_sim(vs_sim_graph_add_child(sim, other, NULL, 0, graph, &out), VS_SIM_NOT_SUPPORTED);
  expect_sim(vs_sim_node_destroy(sim, n[1]), VS_SIM_NOT_SUPPORTED);
  expect_sim(vs_sim_graph_remove_edges(sim, graph, &n[0], &n[1], 1), VS_SIM_NOT_SUPPORTED);
  expect_sim(vs_sim_node_set_work(sim, n[0], &alloc), VS_SIM_NOT_SUPPORTED);
  const uint64_t exec = instance(sim, graph, 0);
  expect_sim(vs_sim_graph_instantiate(sim, graph, 0, &out), VS_SIM_NOT_SUPPORTED);
  vs_sim_update_result result;
  expect_sim(vs_sim_exec_update(sim, exec, graph, &result, NULL), VS_SIM_GRAPH_EXEC_UPDATE_FAILURE);
  assert_int_equal(result, VS_SIM_UPDATE_NOT_SUPPORTED);
  begin_capture(sim, stream);
  expect_sim(vs_sim_exec_launch(sim, 0, exec, stream), VS_SIM_NOT_SUPPORTED);
  (void)end_capture(sim, stream);
  expect_sim_ok(vs_sim_exec_destroy(sim, exec));
  (void)instance(sim, graph, 0); /* one at a time */
  uint64_t child, node;
  expect_sim_ok(vs_sim_graph_add_child(sim, other, NULL, 0, other, &node));
  expect_sim_ok(vs_sim_node_child(sim, node, &child));
  expect_sim(vs_sim_graph_add(sim, child, NULL, 0, &alloc, &out), VS_SIM_NOT_SUPPORTED);
  machine_end(&m);
}

static void a_capture_that_fails_gives_its_memory_back(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim);
  uint64_t address;
  begin_capture(sim, stream);
  (void)take(sim, stream, 100 * MIB);
  expect_sim(vs_sim_alloc_async(sim, 0, stream, 0, UINT64_C(2) << 30, &address), VS_SIM_OUT_OF_MEMORY);
  assert_int_equal(node_count(sim, info_of(sim, stream).graph), 1);
  expect_sim(vs_sim_stream_query(sim, 0, stream), VS_SIM_CAPTURE_UNSUPPORTED);
  expect_sim(vs_sim_alloc_async(sim, 0, stream, 0, 1, &address), VS_SIM_CAPTURE_INVALIDATED);
  expect_sim(vs_sim_free_async(sim, 0, stream, address), VS_SIM_CAPTURE_INVALIDATED);
  expect_end(sim, stream, VS_SIM_CAPTURE_INVALIDATED);
  assert_int_equal(figure(sim, VS_SIM_GRAPH_USED), 0);
  machine_end(&m);
}

static void a_reset_takes_the_memory_of_graphs(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim);
  begin_capture(sim, stream);
  const uint64_t a = take(sim, stream, MIB), b = take(sim, stream, MIB);
  give(sim, stream, b);
  const uint64_t graph = end_capture(sim, stream), exec = instance(sim, graph, 0);
  expect_sim_ok(vs_sim_exec_launch(sim, 0, exec, stream));
  begin_capture(sim, stream);
  (void)take(sim, stream, MIB);
  expect_sim_ok(vs_sim_device_reset(sim, 0));
  assert_null(vs_sim_find(sim, a));
  assert_int_equal(held(sim, 0), 0);
  expect_sim(vs_sim_graph_free(sim, a), VS_SIM_NOT_FOUND);
  const uint64_t fresh = new_stream(sim), piece = take(sim, fresh, MIB);
  expect_sim(vs_sim_exec_launch(sim, 0, exec, fresh), VS_SIM_INVALID_VALUE);
  expect_sim_ok(vs_sim_exec_destroy(sim, exec));
  expect_sim_ok(vs_sim_graph_destroy(sim, graph));
  assert_non_null(vs_sim_find(sim, piece)); /* another allocation's by now */
  machine_end(&m);
}

static void figures(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  uint64_t bytes;
  expect_sim(vs_sim_graph_memory_get(sim, CARDS, VS_SIM_GRAPH_USED, &bytes), VS_SIM_INVALID_DEVICE);
  expect_sim(vs_sim_graph_memory_get(sim, 0, (vs_sim_graph_memory)4, &bytes), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_graph_memory_get(sim, 0, VS_SIM_GRAPH_USED, NULL), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_graph_memory_reset(sim, CARDS, VS_SIM_GRAPH_USED_HIGH), VS_SIM_INVALID_DEVICE);
  expect_sim(vs_sim_graph_memory_reset(sim, 0, VS_SIM_GRAPH_USED), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_graph_memory_reset(sim, 0, VS_SIM_GRAPH_RESERVED), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_graph_memory_trim(sim, CARDS), VS_SIM_INVALID_DEVICE);
  for (int i = 0; i < 4; i++) assert_int_equal(figure(sim, (vs_sim_graph_memory)i), 0);
  machine_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(outside_of_captures_it_is_a_pool),
      cmocka_unit_test(what_comes_and_goes_in_a_graph),
      cmocka_unit_test(a_launch_without_memory_is_none),
      cmocka_unit_test(what_a_graph_leaves),
      cmocka_unit_test(a_plain_free_takes_what_a_graph_left),
      cmocka_unit_test(auto_free_frees_the_last_launch),
      cmocka_unit_test(one_graph_frees_what_another_made),
      cmocka_unit_test(a_later_free_node_does_not_change_an_exec),
      cmocka_unit_test(a_later_free_node_leaves_what_is_used),
      cmocka_unit_test(graphs_with_memory_are_special),
      cmocka_unit_test(a_capture_that_fails_gives_its_memory_back),
      cmocka_unit_test(a_reset_takes_the_memory_of_graphs),
      cmocka_unit_test(figures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
