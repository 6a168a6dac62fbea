#include "unit/device/sim/work.h"

static machine m;

static uint64_t new_graph(vs_sim *sim) {
  uint64_t graph = 0;
  expect_sim_ok(vs_sim_graph_create(sim, 0, &graph));
  return graph;
}

static uint64_t add(vs_sim *sim, uint64_t graph, const uint64_t *needs, size_t count) {
  uint64_t node = 0;
  const vs_sim_work work = {.kind = VS_SIM_NODE_KERNEL, .object = 11, .operand = 12};
  expect_sim_ok(vs_sim_graph_add(sim, graph, needs, count, &work, &node));
  return node;
}

/* 0 -> 1, 0 -> 2, 1 -> 3, 2 -> 3 */
static uint64_t new_diamond(vs_sim *sim, uint64_t nodes[static 4]) {
  const uint64_t graph = new_graph(sim);
  nodes[0] = add(sim, graph, NULL, 0);
  nodes[1] = add(sim, graph, nodes, 1);
  nodes[2] = add(sim, graph, nodes, 1);
  nodes[3] = add(sim, graph, nodes + 1, 2);
  return graph;
}

/* ---- making and listing -------------------------------------------------------------------------------- */

static void a_diamond_by_hand(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  uint64_t nodes[4], list[6];
  const uint64_t graph = new_diamond(sim, nodes);
  expect_edges(sim, graph, "0>1 0>2 1>3 2>3 ");
  assert_int_equal(node_count(sim, graph), 4);
  assert_int_equal(edge_count(sim, graph), 4);
  for (size_t i = 0; i < 4; i++) assert_int_equal(node_at(sim, graph, i), nodes[i]);

  size_t count = 6;
  expect_sim_ok(vs_sim_graph_roots(sim, graph, list, &count));
  assert_true(count == 1 && list[0] == nodes[0] && list[1] == 0 && list[5] == 0);
  count = 6;
  expect_sim_ok(vs_sim_node_dependencies(sim, nodes[3], list, &count));
  assert_true(count == 2 && list[0] == nodes[1] && list[1] == nodes[2]);
  count = 6;
  expect_sim_ok(vs_sim_node_dependents(sim, nodes[0], list, &count));
  assert_true(count == 2 && list[0] == nodes[1] && list[1] == nodes[2]);
  uint64_t from[5], to[5];
  count = 5;
  expect_sim_ok(vs_sim_graph_edges(sim, graph, from, to, &count));
  assert_true(count == 4 && from[3] == nodes[2] && to[3] == nodes[3] && from[4] == 0 && to[4] == 0);
  count = 2; /* less room than there is */
  list[2] = 77;
  expect_sim_ok(vs_sim_graph_nodes(sim, graph, list, &count));
  assert_true(count == 2 && list[1] == nodes[1] && list[2] == 77);
  count = 0;
  expect_sim_ok(vs_sim_graph_nodes(sim, graph, list, &count));
  assert_int_equal(count, 0);

  expect_sim(vs_sim_graph_nodes(sim, graph, list, NULL), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_graph_edges(sim, graph, list, NULL, &count), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_node_dependencies(sim, nodes[0], NULL, NULL), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_node_dependents(sim, nodes[0], NULL, NULL), VS_SIM_INVALID_VALUE);
  machine_end(&m);
}

static void wrong_handles_are_refused(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  uint64_t nodes[4], out, counts[VS_SIM_NODE_KINDS];
  const uint64_t graph = new_diamond(sim, nodes), stale = new_graph(sim), stream = new_stream(sim);
  const uint64_t stale_node = add(sim, stale, NULL, 0);
  const vs_sim_work work = {.kind = VS_SIM_NODE_EMPTY};
  expect_sim_ok(vs_sim_graph_destroy(sim, stale));
  (void)add(sim, new_graph(sim), NULL, 0); /* the same number again */
  const uint64_t wrong[] = {0,         1,         stale, stale_node, stream, new_event(sim), nodes[3] + 16,
                            graph + 1, UINT64_MAX};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const uint64_t w = wrong[i];
    size_t count = 0;
    expect_sim(vs_sim_graph_destroy(sim, w), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_graph_clone(sim, w, &out), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_graph_nodes(sim, w, NULL, &count), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_graph_roots(sim, w, NULL, &count), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_graph_edges(sim, w, NULL, NULL, &count), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_graph_counts(sim, w, counts), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_graph_add(sim, w, NULL, 0, &work, &out), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_graph_add_child(sim, w, NULL, 0, graph, &out), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_graph_add_child(sim, graph, NULL, 0, w, &out), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_graph_add_edges(sim, w, NULL, NULL, 0), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_graph_remove_edges(sim, w, NULL, NULL, 0), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_graph_instantiate(sim, w, 0, &out), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_graph_find_in_clone(sim, nodes[0], w, &out), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_graph_retain(sim, w, 0, 1, 0), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_graph_release(sim, w, 0, 1), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_node_destroy(sim, w), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_node_child(sim, w, &out), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_node_dependencies(sim, w, NULL, &count), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_node_dependents(sim, w, NULL, &count), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_node_set_work(sim, w, &work), VS_SIM_INVALID_HANDLE);
    assert_null(vs_sim_node_work(sim, w));
    expect_sim(vs_sim_graph_add(sim, graph, &w, 1, &work, &out), VS_SIM_INVALID_VALUE);
    expect_sim(vs_sim_exec_destroy(sim, w), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_exec_launch(sim, 0, w, stream), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_exec_upload(sim, 0, w, stream), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_exec_update(sim, w, graph, NULL, NULL), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_exec_set_work(sim, w, nodes[0], &work), VS_SIM_INVALID_HANDLE);
    assert_null(vs_sim_exec_find(sim, w));
    expect_sim(vs_sim_user_object_retain(sim, w, 1), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_user_object_release(sim, w, 1), VS_SIM_INVALID_HANDLE);
  }
  machine_end(&m);
}

static void what_cannot_be_added(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  uint64_t nodes[4], out;
  const uint64_t graph = new_diamond(sim, nodes), other = add(sim, new_graph(sim), NULL, 0);
  const vs_sim_work good = {.kind = VS_SIM_NODE_HOST}, conditional = {.kind = VS_SIM_NODE_CONDITIONAL},
                    child = {.kind = VS_SIM_NODE_GRAPH}, strange = {.kind = (vs_sim_node_kind)99},
                    no_event = {.kind = VS_SIM_NODE_EVENT_RECORD};
  const uint64_t twice[] = {nodes[0], nodes[1], nodes[0]};
  expect_sim(vs_sim_graph_add(sim, graph, twice, 3, &good, &out), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_graph_add(sim, graph, &other, 1, &good, &out), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_graph_add(sim, graph, NULL, 1, &good, &out), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_graph_add(sim, graph, twice, SIZE_MAX, &good, &out), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_graph_add(sim, graph, NULL, 0, NULL, &out), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_graph_add(sim, graph, NULL, 0, &good, NULL), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_graph_add(sim, graph, NULL, 0, &conditional, &out), VS_SIM_NOT_SUPPORTED);
  expect_sim(vs_sim_graph_add(sim, graph, NULL, 0, &child, &out), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_graph_add(sim, graph, NULL, 0, &strange, &out), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_graph_add(sim, graph, NULL, 0, &no_event, &out), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_graph_create(sim, 1, &out), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_graph_create(sim, 0, NULL), VS_SIM_INVALID_VALUE);
  assert_int_equal(node_count(sim, graph), 4);
  machine_end(&m);
}

/* ---- edges --------------------------------------------------------------------------------------------- */

static void edges_come_and_go(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  uint64_t n[4];
  const uint64_t graph = new_diamond(sim, n);
  const uint64_t from[] = {n[0], n[2]}, to[] = {n[3], n[1]}; /* the second against the order of making */
  expect_sim_ok(vs_sim_graph_add_edges(sim, graph, from, to, 2));
  expect_edges(sim, graph, "0>1 2>1 0>2 1>3 2>3 0>3 ");
  const uint64_t away_from[] = {n[2], n[0]}, away_to[] = {n[3], n[1]};
  expect_sim_ok(vs_sim_graph_remove_edges(sim, graph, away_from, away_to, 2));
  expect_edges(sim, graph, "2>1 0>2 1>3 0>3 ");
  machine_end(&m);
}

static void edges_are_all_or_nothing(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  uint64_t n[4];
  const uint64_t graph = new_diamond(sim, n), other = add(sim, new_graph(sim), NULL, 0);
  static const char before[] = "0>1 0>2 1>3 2>3 ";
  const struct {
    uint64_t from[2], to[2];
  } bad[] = {
      {{n[0], n[0]}, {n[3], n[3]}},  /* twice in one call */
      {{n[0], n[0]}, {n[3], n[1]}},  /* there already */
      {{n[0], n[1]}, {n[3], n[1]}},  /* to itself */
      {{n[0], n[3]}, {n[3], n[0]}},  /* a circle */
      {{n[2], n[3]}, {n[1], n[2]}},  /* a longer one: 2 1 3 2 */
      {{n[0], other}, {n[3], n[1]}}, /* another graph */
      {{n[0], n[1]}, {n[3], other}}, {{n[0], 0}, {n[3], n[1]}},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    expect_sim(vs_sim_graph_add_edges(sim, graph, bad[i].from, bad[i].to, 2), VS_SIM_INVALID_VALUE);
    expect_edges(sim, graph, before);
  }
  const uint64_t from[] = {n[1], n[0]}, to[] = {n[3], n[3]};
  expect_sim(vs_sim_graph_remove_edges(sim, graph, from, to, 2), VS_SIM_INVALID_VALUE);
  expect_edges(sim, graph, before);
  const uint64_t twice[] = {n[1], n[1]};
  expect_sim(vs_sim_graph_remove_edges(sim, graph, twice, to, 2), VS_SIM_INVALID_VALUE);
  expect_edges(sim, graph, before);
  expect_sim(vs_sim_graph_add_edges(sim, graph, NULL, to, 1), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_graph_remove_edges(sim, graph, from, NULL, 1), VS_SIM_INVALID_VALUE);
  expect_sim_ok(vs_sim_graph_add_edges(sim, graph, NULL, NULL, 0));
  machine_end(&m);
}

/* Edges added one by one to two nodes in turn: what their lists leave behind is squeezed out. */
static void left_overs_are_bounded(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  enum { MANY = 500 };
  const uint64_t graph = new_graph(sim);
  uint64_t n[MANY + 2];
  for (int i = 0; i < MANY + 2; i++) n[i] = add(sim, graph, NULL, 0);
  for (int i = 0; i < MANY; i++)
    for (int to = 0; to < 2; to++) expect_sim_ok(vs_sim_graph_add_edges(sim, graph, &n[i], &n[MANY + to], 1));
  const vs_sim_graph *inside = sim->graphs.graphs.slots.data[0].object;
  assert_int_equal(inside->live_edges, 2 * MANY);
  assert_true(inside->needs.count < 8 * MANY);
  size_t count = 0;
  for (int to = 0; to < 2; to++) {
    static uint64_t list[MANY];
    count = MANY;
    expect_sim_ok(vs_sim_node_dependencies(sim, n[MANY + to], list, &count));
    assert_int_equal(count, MANY);
    for (int i = 0; i < MANY; i++) assert_int_equal(list[i], n[i]);
  }
  machine_end(&m);
}

static void a_node_goes_with_its_edges(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  uint64_t n[4];
  const uint64_t graph = new_diamond(sim, n);
  expect_sim_ok(vs_sim_node_destroy(sim, n[1]));
  expect_sim(vs_sim_node_destroy(sim, n[1]), VS_SIM_INVALID_HANDLE);
  expect_edges(sim, graph, "0>1 1>2 "); /* by places in the list */
  assert_int_equal(node_at(sim, graph, 2), n[3]);
  assert_null(vs_sim_node_work(sim, n[1]));
  const uint64_t fresh = add(sim, graph, &n[3], 1);
  assert_int_not_equal(fresh, n[1]); /* the number is not used again */
  assert_int_equal(node_count(sim, graph), 4);
  machine_end(&m);
}

/* Marks of walks are numbered; when the numbers are used up they begin again. */
static void walks_can_go_on_for_ever(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  uint64_t n[4];
  const uint64_t graph = new_diamond(sim, n);
  vs_sim_graph *inside = sim->graphs.graphs.slots.data[0].object;
  inside->epoch = UINT32_MAX - 3;
  for (uint32_t i = 0; i < 4; i++) inside->nodes.data[i].mark = i + 1; /* left from the first time round */
  for (int i = 0; i < 8; i++) (void)add(sim, graph, n, 4);
  assert_int_equal(edge_count(sim, graph), 4 + 8 * 4);
  assert_true(inside->epoch < 10);
  machine_end(&m);
}

/* ---- copies -------------------------------------------------------------------------------------------- */

static void a_clone_is_its_own(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  uint64_t n[4], clone, found;
  const uint64_t graph = new_diamond(sim, n);
  expect_sim_ok(vs_sim_graph_clone(sim, graph, &clone));
  assert_int_not_equal(clone, graph);
  (void)add(sim, graph, NULL, 0);
  expect_edges(sim, clone, "0>1 0>2 1>3 2>3 ");
  for (size_t i = 0; i < 4; i++) {
    expect_sim_ok(vs_sim_graph_find_in_clone(sim, n[i], clone, &found));
    assert_int_equal(found, node_at(sim, clone, i));
    assert_int_equal(vs_sim_node_work(sim, found)->operand, 12);
  }
  expect_sim(vs_sim_graph_find_in_clone(sim, found, clone, &found),
             VS_SIM_INVALID_VALUE); /* not of the source */
  expect_sim(vs_sim_graph_find_in_clone(sim, node_at(sim, graph, 4), clone, &found), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_graph_find_in_clone(sim, n[0], graph, &found), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_graph_find_in_clone(sim, n[0], clone, NULL), VS_SIM_INVALID_VALUE);
  expect_sim_ok(vs_sim_graph_find_in_clone(sim, n[2], clone, &found));
  expect_sim_ok(vs_sim_node_destroy(sim, found));
  expect_sim(vs_sim_graph_find_in_clone(sim, n[2], clone, &found), VS_SIM_INVALID_VALUE);
  expect_sim_ok(vs_sim_graph_destroy(sim, graph));
  assert_int_equal(node_count(sim, clone), 3);
  expect_sim(vs_sim_graph_clone(sim, clone, NULL), VS_SIM_INVALID_VALUE);
  machine_end(&m);
}

static void a_child_is_a_copy_inside(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  uint64_t n[4], node, inside, again;
  const uint64_t child = new_diamond(sim, n), graph = new_graph(sim);
  const uint64_t first = add(sim, graph, NULL, 0);
  expect_sim_ok(vs_sim_graph_add_child(sim, graph, &first, 1, child, &node));
  expect_edges(sim, graph, "0>1 ");
  assert_int_equal(node_count(sim, graph), 2); /* the child counts as one */
  expect_sim_ok(vs_sim_node_child(sim, node, &inside));
  expect_sim_ok(vs_sim_node_child(sim, node, &again));
  assert_true(inside == again && inside != child);
  expect_edges(sim, inside, "0>1 0>2 1>3 2>3 ");
  (void)add(sim, child, NULL, 0);
  assert_int_equal(node_count(sim, inside), 4);
  (void)add(sim, inside, NULL, 0); /* but the one inside can be changed */
  assert_int_equal(node_count(sim, inside), 5);
  expect_sim(vs_sim_graph_destroy(sim, inside), VS_SIM_ILLEGAL_STATE);
  expect_sim(vs_sim_node_child(sim, first, &again), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_node_child(sim, node, NULL), VS_SIM_INVALID_VALUE);
  expect_sim_ok(vs_sim_node_destroy(sim, node));
  size_t count;
  expect_sim(vs_sim_graph_nodes(sim, inside, NULL, &count), VS_SIM_INVALID_HANDLE);
  expect_sim_ok(vs_sim_graph_add_child(sim, graph, NULL, 0, graph, &node)); /* a copy of itself as it was */
  expect_sim_ok(vs_sim_node_child(sim, node, &inside));
  assert_int_equal(node_count(sim, inside), 1);
  machine_end(&m);
}

static void depth_and_size_are_bounded(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  uint64_t graph = new_graph(sim), node, inside;
  (void)add(sim, graph, NULL, 0);
  for (int level = 1; level < VS_SIM_GRAPH_DEEPEST; level++) { /* each holds the one before */
    const uint64_t outer = new_graph(sim);
    expect_sim_ok(vs_sim_graph_add_child(sim, outer, NULL, 0, graph, &node));
    graph = outer;
  }
  expect_sim(vs_sim_graph_add_child(sim, new_graph(sim), NULL, 0, graph, &node), VS_SIM_NOT_SUPPORTED);
  expect_sim_ok(vs_sim_node_child(sim, node, &inside)); /* the other way round: from inside */
  expect_sim(vs_sim_graph_add_child(sim, inside, NULL, 0, graph, &node), VS_SIM_NOT_SUPPORTED);

  graph = new_graph(sim); /* doubling: 2^24 nodes would be a lot of memory, so it is told that there are */
  (void)add(sim, graph, NULL, 0);
  vs_sim_graph *large = sim->graphs.graphs.slots.data[0].object;
  for (uint32_t i = 0; i < sim->graphs.graphs.slots.count; i++) {
    vs_sim_graph *g = sim->graphs.graphs.slots.data[i].object;
    if (g != NULL && g->handle == graph) large = g;
  }
  large->total_nodes = VS_SIM_GRAPH_MOST_NODES - 1;
  (void)add(sim, graph, NULL, 0);
  const vs_sim_work work = {.kind = VS_SIM_NODE_EMPTY};
  expect_sim(vs_sim_graph_add(sim, graph, NULL, 0, &work, &node), VS_SIM_NOT_SUPPORTED);
  expect_sim(vs_sim_graph_add_child(sim, new_graph(sim), NULL, 0, graph, &node), VS_SIM_NOT_SUPPORTED);
  large->total_nodes = large->live_nodes;
  machine_end(&m);
}

static void what_a_node_does_can_change(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  uint64_t n[4], node;
  const uint64_t graph = new_diamond(sim, n), event = new_event(sim);
  const vs_sim_work work = {.kind = VS_SIM_NODE_KERNEL, .object = 5};
  expect_sim_ok(vs_sim_node_set_work(sim, n[1], &work));
  assert_int_equal(vs_sim_node_work(sim, n[1])->object, 5);
  const vs_sim_work other_kind = {.kind = VS_SIM_NODE_MEMSET},
                    record = {.kind = VS_SIM_NODE_EVENT_RECORD, .object = event},
                    no_event = {.kind = VS_SIM_NODE_EVENT_RECORD, .object = 3};
  expect_sim(vs_sim_node_set_work(sim, n[1], &other_kind), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_node_set_work(sim, n[1], NULL), VS_SIM_INVALID_VALUE);
  expect_sim_ok(vs_sim_graph_add(sim, graph, NULL, 0, &record, &node));
  expect_sim(vs_sim_node_set_work(sim, node, &no_event), VS_SIM_INVALID_VALUE);
  assert_int_equal(vs_sim_node_work(sim, node)->object, event);
  machine_end(&m);
}

/* ---- user objects -------------------------------------------------------------------------------------- */

static void expect_callback(vs_sim *sim, uint64_t function, uint64_t argument) {
  vs_sim_callback callback = {0};
  assert_true(vs_sim_next_callback(sim, &callback));
  assert_int_equal(callback.function, function);
  assert_int_equal(callback.argument, argument);
}
static void expect_no_callback(vs_sim *sim) {
  vs_sim_callback callback;
  assert_false(vs_sim_next_callback(sim, &callback));
}

static uint64_t new_object(vs_sim *sim, uint64_t argument, uint32_t count) {
  uint64_t object = 0;
  expect_sim_ok(vs_sim_user_object_create(sim, 100, argument, count, VS_SIM_USER_OBJECT_NO_SYNC, &object));
  return object;
}

static void an_object_ends_with_its_last_reference(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t object = new_object(sim, 1, 2);
  expect_sim_ok(vs_sim_user_object_retain(sim, object, 3));
  expect_sim_ok(vs_sim_user_object_release(sim, object, 4));
  expect_no_callback(sim);
  expect_sim(vs_sim_user_object_release(sim, object, 2), VS_SIM_INVALID_VALUE);
  expect_sim_ok(vs_sim_user_object_release(sim, object, 1));
  expect_callback(sim, 100, 1);
  expect_no_callback(sim);
  expect_sim(vs_sim_user_object_retain(sim, object, 1), VS_SIM_INVALID_HANDLE);
  machine_end(&m);
}

static void graphs_clones_and_execs_keep_objects(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t object = new_object(sim, 1, 2), graph = new_graph(sim), outer = new_graph(sim);
  uint64_t clone, exec, node;
  expect_sim_ok(vs_sim_graph_retain(sim, graph, object, 1, VS_SIM_USER_OBJECT_MOVE));
  expect_sim(vs_sim_user_object_release(sim, object, 2), VS_SIM_INVALID_VALUE); /* one is the graph's now */
  expect_sim_ok(vs_sim_graph_retain(sim, graph, object, 2, 0));
  expect_sim_ok(vs_sim_user_object_release(sim, object, 1));
  expect_sim_ok(vs_sim_graph_clone(sim, graph, &clone));
  expect_sim_ok(vs_sim_graph_instantiate(sim, graph, 0, &exec));
  expect_sim_ok(vs_sim_graph_add_child(sim, outer, NULL, 0, graph, &node));
  expect_sim_ok(vs_sim_graph_release(sim, graph, object, 2));
  expect_sim(vs_sim_graph_release(sim, graph, object, 2), VS_SIM_INVALID_VALUE);
  expect_sim_ok(vs_sim_graph_destroy(sim, graph));
  expect_sim_ok(vs_sim_graph_destroy(sim, clone));
  expect_sim_ok(vs_sim_graph_destroy(sim, outer));
  expect_no_callback(sim);
  expect_sim_ok(vs_sim_exec_destroy(sim, exec));
  expect_callback(sim, 100, 1);
  machine_end(&m);
}

static void an_update_changes_what_the_exec_keeps(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t a = new_graph(sim), b = new_graph(sim);
  uint64_t exec;
  expect_sim_ok(vs_sim_graph_retain(sim, a, new_object(sim, 1, 1), 1, VS_SIM_USER_OBJECT_MOVE));
  expect_sim_ok(vs_sim_graph_retain(sim, b, new_object(sim, 2, 1), 1, VS_SIM_USER_OBJECT_MOVE));
  expect_sim_ok(vs_sim_graph_instantiate(sim, a, 0, &exec));
  expect_sim_ok(vs_sim_graph_destroy(sim, a));
  expect_no_callback(sim);
  expect_sim_ok(vs_sim_exec_update(sim, exec, b, NULL, NULL));
  expect_callback(sim, 100, 1);
  expect_sim_ok(vs_sim_graph_destroy(sim, b));
  expect_no_callback(sim);
  expect_sim_ok(vs_sim_exec_destroy(sim, exec));
  expect_callback(sim, 100, 2);
  machine_end(&m);
}

static void callbacks_come_in_order(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  uint64_t objects[20];
  for (uint64_t i = 0; i < 20; i++) objects[i] = new_object(sim, i, 1);
  for (uint64_t i = 0; i < 10; i++) expect_sim_ok(vs_sim_user_object_release(sim, objects[i], 1));
  for (uint64_t i = 0; i < 5; i++) expect_callback(sim, 100, i);
  const uint64_t late = new_object(sim, 99, 1); /* with some still waiting */
  for (uint64_t i = 10; i < 20; i++) expect_sim_ok(vs_sim_user_object_release(sim, objects[i], 1));
  expect_sim_ok(vs_sim_user_object_release(sim, late, 1));
  for (uint64_t i = 5; i < 20; i++) expect_callback(sim, 100, i);
  expect_callback(sim, 100, 99);
  expect_no_callback(sim);
  machine_end(&m);
}

static void counts_of_references(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  uint64_t out;
  const uint64_t object = new_object(sim, 1, INT32_MAX), graph = new_graph(sim);
  expect_sim(vs_sim_user_object_create(sim, 100, 1, 0, 1, &out), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_user_object_create(sim, 100, 1, UINT32_MAX, 1, &out), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_user_object_create(sim, 100, 1, 1, 0, &out), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_user_object_create(sim, 0, 1, 1, 1, &out), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_user_object_create(sim, 100, 1, 1, 1, NULL), VS_SIM_INVALID_VALUE);
  for (int i = 0; i < 10; i++) expect_sim_ok(vs_sim_user_object_retain(sim, object, INT32_MAX));
  expect_sim(vs_sim_user_object_retain(sim, object, 0), VS_SIM_INVALID_VALUE);
  expect_sim_ok(vs_sim_graph_retain(sim, graph, object, INT32_MAX, 0));
  expect_sim(vs_sim_graph_retain(sim, graph, object, 1, 0), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_graph_retain(sim, graph, object, 1, 2), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_graph_retain(sim, graph, new_object(sim, 2, 1), 2, VS_SIM_USER_OBJECT_MOVE),
             VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_graph_release(sim, graph, new_object(sim, 3, 1), 1), VS_SIM_INVALID_VALUE);
  machine_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_diamond_by_hand),
      cmocka_unit_test(wrong_handles_are_refused),
      cmocka_unit_test(what_cannot_be_added),
      cmocka_unit_test(edges_come_and_go),
      cmocka_unit_test(edges_are_all_or_nothing),
      cmocka_unit_test(left_overs_are_bounded),
      cmocka_unit_test(a_node_goes_with_its_edges),
      cmocka_unit_test(walks_can_go_on_for_ever),
      cmocka_unit_test(a_clone_is_its_own),
      cmocka_unit_test(a_child_is_a_copy_inside),
      cmocka_unit_test(depth_and_size_are_bounded),
      cmocka_unit_test(what_a_node_does_can_change),
      cmocka_unit_test(an_object_ends_with_its_last_reference),
      cmocka_unit_test(graphs_clones_and_execs_keep_objects),
      cmocka_unit_test(an_update_changes_what_the_exec_keeps),
      cmocka_unit_test(callbacks_come_in_order),
      cmocka_unit_test(counts_of_references),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
