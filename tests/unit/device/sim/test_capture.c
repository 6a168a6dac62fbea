#include "unit/device/sim/work.h"

static machine m;

/* ---- what comes out ------------------------------------------------------------------------------------ */

static void work_becomes_a_chain(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim);
  const uint64_t before = sim->streams.clock_ns;
  static const vs_sim_node_kind kinds[] = {VS_SIM_NODE_KERNEL, VS_SIM_NODE_MEMCPY, VS_SIM_NODE_MEMSET,
                                           VS_SIM_NODE_HOST,   VS_SIM_NODE_EMPTY,  VS_SIM_NODE_KERNEL};
  begin_capture(sim, stream);
  assert_int_equal(status_of(sim, stream), VS_SIM_CAPTURE_ACTIVE);
  for (size_t i = 0; i < 6; i++) expect_sim_ok(vs_sim_op(sim, 0, stream, kinds[i]));
  const uint64_t graph = end_capture(sim, stream);
  assert_int_equal(status_of(sim, stream), VS_SIM_NOT_CAPTURED);
  expect_edges(sim, graph, "0>1 1>2 2>3 3>4 4>5 ");
  uint64_t counts[VS_SIM_NODE_KINDS];
  expect_sim_ok(vs_sim_graph_counts(sim, graph, counts));
  assert_int_equal(counts[VS_SIM_NODE_KERNEL], 2);
  for (size_t i = 1; i < 5; i++) assert_int_equal(counts[kinds[i]], 1);
  for (size_t i = 0; i < 6; i++)
    assert_int_equal(vs_sim_node_work(sim, node_at(sim, graph, i))->kind, kinds[i]);
  assert_int_equal(sim->streams.clock_ns, before); /* nothing ran */
  machine_end(&m);
}

static void an_empty_capture_is_an_empty_graph(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim);
  begin_capture(sim, stream);
  assert_int_equal(node_count(sim, end_capture(sim, stream)), 0);
  machine_end(&m);
}

static void work_says_whether_it_was_captured(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim);
  const vs_sim_work host = {.kind = VS_SIM_NODE_HOST, .object = 5, .operand = 6};
  bool captured = true;
  expect_sim_ok(vs_sim_work_add(sim, 0, stream, &host, &captured));
  assert_false(captured);
  begin_capture(sim, stream);
  expect_sim_ok(vs_sim_work_add(sim, 0, stream, &host, &captured));
  assert_true(captured);
  static const vs_sim_node_kind not_work[] = {VS_SIM_NODE_GRAPH,        VS_SIM_NODE_EVENT_WAIT,
                                              VS_SIM_NODE_EVENT_RECORD, VS_SIM_NODE_MEM_ALLOC,
                                              VS_SIM_NODE_CONDITIONAL,  VS_SIM_NODE_KINDS};
  for (size_t i = 0; i < 6; i++) expect_sim(vs_sim_op(sim, 0, stream, not_work[i]), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_work_add(sim, 0, stream, NULL, NULL), VS_SIM_INVALID_VALUE);
  const uint64_t graph = end_capture(sim, stream);
  assert_int_equal(node_count(sim, graph), 1);
  assert_int_equal(vs_sim_node_work(sim, node_at(sim, graph, 0))->operand, 6);
  machine_end(&m);
}

static void a_side_stream_forks_and_joins(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim), side = new_stream(sim), event = new_event(sim);
  kernel(sim, side); /* before: no part of it */
  begin_capture(sim, stream);
  kernel(sim, stream);
  record(sim, event, stream);
  wait_for(sim, side, event);
  assert_int_equal(status_of(sim, side), VS_SIM_CAPTURE_ACTIVE);
  assert_int_equal(info_of(sim, side).id, info_of(sim, stream).id);
  assert_int_equal(info_of(sim, side).graph, info_of(sim, stream).graph);
  kernel(sim, side);
  kernel(sim, stream);
  record(sim, event, side);
  wait_for(sim, stream, event);
  assert_int_equal(info_of(sim, stream).dependency_count, 2);
  kernel(sim, stream);
  const uint64_t graph = end_capture(sim, stream);
  assert_int_equal(status_of(sim, side), VS_SIM_NOT_CAPTURED);
  expect_edges(sim, graph, "0>1 0>2 2>3 1>3 ");
  kernel(sim, side); /* after: neither */
  assert_int_equal(node_count(sim, graph), 4);
  machine_end(&m);
}

static void a_stream_of_another_device_joins_too(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim), far = new_stream_on(sim, 1, 1);
  uint64_t back;
  expect_sim_ok(vs_sim_event_create(sim, 1, 0, &back));
  begin_capture(sim, stream);
  wait_for(sim, far, mark(sim, stream)); /* before any node: its own root */
  kernel(sim, far);
  expect_sim(vs_sim_device_synchronize(sim, 1), VS_SIM_CAPTURE_UNSUPPORTED);
  expect_end(sim, stream, VS_SIM_CAPTURE_INVALIDATED);
  begin_capture(sim, stream);
  kernel(sim, stream);
  wait_for(sim, far, mark(sim, stream));
  kernel(sim, far);
  expect_sim_ok(vs_sim_event_record(sim, 1, back, far, 0));
  wait_for(sim, stream, back);
  expect_edges(sim, end_capture(sim, stream), "0>1 ");
  machine_end(&m);
}

static void joining_twice_adds_no_edge_twice(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim);
  begin_capture(sim, stream);
  kernel(sim, stream);
  const uint64_t event = mark(sim, stream);
  wait_for(sim, stream, event);
  wait_for(sim, stream, event);
  wait_for(sim, stream, new_event(sim)); /* never recorded: complete */
  kernel(sim, stream);
  expect_edges(sim, end_capture(sim, stream), "0>1 ");
  machine_end(&m);
}

/* The graph is there while it is written, with the nodes that came so far. */
static void the_graph_can_be_asked_for(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim);
  uint64_t exec, clone;
  begin_capture(sim, stream);
  kernel(sim, stream);
  const vs_sim_capture_info info = info_of(sim, stream);
  assert_int_equal(node_count(sim, info.graph), 1);
  assert_int_equal(info.dependency_count, 1);
  assert_int_equal(vs_sim_capture_dependency(sim, 0, stream, 0), node_at(sim, info.graph, 0));
  assert_int_equal(vs_sim_capture_dependency(sim, 0, stream, 1), 0);
  expect_sim(vs_sim_graph_destroy(sim, info.graph), VS_SIM_ILLEGAL_STATE);
  expect_sim(vs_sim_graph_instantiate(sim, info.graph, 0, &exec), VS_SIM_ILLEGAL_STATE);
  expect_sim(vs_sim_graph_clone(sim, info.graph, &clone), VS_SIM_ILLEGAL_STATE);
  expect_sim(vs_sim_node_destroy(sim, node_at(sim, info.graph, 0)), VS_SIM_ILLEGAL_STATE);
  assert_int_equal(end_capture(sim, stream), info.graph);
  expect_sim_ok(vs_sim_graph_destroy(sim, info.graph));
  expect_sim(vs_sim_stream_capture_info(sim, 0, stream, NULL), VS_SIM_INVALID_VALUE);
  machine_end(&m);
}

static void ids_rise(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t a = new_stream(sim), b = new_stream(sim);
  begin_capture(sim, a);
  begin_capture(sim, b); /* two at once */
  const uint64_t first = info_of(sim, a).id, second = info_of(sim, b).id;
  assert_true(first != 0 && second > first);
  assert_int_not_equal(info_of(sim, a).graph, info_of(sim, b).graph);
  kernel(sim, a);
  kernel(sim, b);
  kernel(sim, b);
  assert_int_equal(node_count(sim, end_capture(sim, a)), 1);
  begin_capture(sim, a);
  assert_true(info_of(sim, a).id > second);
  assert_int_equal(node_count(sim, end_capture(sim, b)), 2);
  assert_int_equal(node_count(sim, end_capture(sim, a)), 0);
  machine_end(&m);
}

/* ---- dependencies by hand ------------------------------------------------------------------------------ */

static void dependencies_can_be_set_and_added(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim);
  uint64_t node;
  begin_capture(sim, stream);
  kernel(sim, stream);
  const uint64_t graph = info_of(sim, stream).graph, first = node_at(sim, graph, 0);
  expect_sim_ok(vs_sim_capture_update(sim, 0, stream, NULL, 0, VS_SIM_DEPENDENCIES_SET));
  kernel(sim, stream); /* a second root */
  const uint64_t twice[] = {first, first};
  expect_sim_ok(vs_sim_capture_update(sim, 0, stream, twice, 2, VS_SIM_DEPENDENCIES_ADD));
  kernel(sim, stream);
  const vs_sim_work work = {.kind = VS_SIM_NODE_MEMSET};
  expect_sim_ok(
      vs_sim_graph_add(sim, graph, &first, 1, &work, &node)); /* by hand, into the graph that is written */
  expect_sim_ok(vs_sim_capture_update(sim, 0, stream, &node, 1, VS_SIM_DEPENDENCIES_SET));
  kernel(sim, stream);
  expect_edges(sim, graph, "1>2 0>2 0>3 3>4 ");
  /* 2 was taken from the frontier by hand: nothing is unjoined. */
  assert_int_equal(end_capture(sim, stream), graph);
  machine_end(&m);
}

static void wrong_dependencies_change_nothing(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim);
  uint64_t other, foreign;
  const vs_sim_work work = {.kind = VS_SIM_NODE_EMPTY};
  expect_sim_ok(vs_sim_graph_create(sim, 0, &other));
  expect_sim_ok(vs_sim_graph_add(sim, other, NULL, 0, &work, &foreign));
  expect_sim(vs_sim_capture_update(sim, 0, stream, NULL, 0, VS_SIM_DEPENDENCIES_SET), VS_SIM_ILLEGAL_STATE);
  begin_capture(sim, stream);
  kernel(sim, stream);
  const uint64_t own = vs_sim_capture_dependency(sim, 0, stream, 0);
  const uint64_t bad[][2] = {{own, foreign}, {own, 0}, {own, own + 16}, {own, other}};
  for (size_t i = 0; i < 4; i++)
    for (int how = 0; how < 2; how++) {
      expect_sim(vs_sim_capture_update(sim, 0, stream, bad[i], 2, (vs_sim_dependencies)how),
                 VS_SIM_INVALID_VALUE);
      assert_int_equal(info_of(sim, stream).dependency_count, 1);
      assert_int_equal(vs_sim_capture_dependency(sim, 0, stream, 0), own);
    }
  expect_sim(vs_sim_capture_update(sim, 0, stream, NULL, 1, VS_SIM_DEPENDENCIES_SET), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_capture_update(sim, 0, stream, &own, 1, (vs_sim_dependencies)2), VS_SIM_INVALID_VALUE);
  (void)end_capture(sim, stream);
  machine_end(&m);
}

static void a_capture_can_go_on_in_a_graph(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim), other = new_stream(sim);
  uint64_t graph, nodes[2], out;
  const vs_sim_work work = {.kind = VS_SIM_NODE_EMPTY};
  expect_sim_ok(vs_sim_graph_create(sim, 0, &graph));
  for (int i = 0; i < 2; i++) expect_sim_ok(vs_sim_graph_add(sim, graph, NULL, 0, &work, &nodes[i]));
  expect_sim(vs_sim_capture_begin_to(sim, &main_thread, 0, stream, graph, &graph, 1, VS_SIM_CAPTURE_GLOBAL),
             VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_capture_begin_to(sim, &main_thread, 0, stream, 0, NULL, 0, VS_SIM_CAPTURE_GLOBAL),
             VS_SIM_INVALID_HANDLE);
  expect_sim_ok(
      vs_sim_capture_begin_to(sim, &main_thread, 0, stream, graph, nodes, 2, VS_SIM_CAPTURE_GLOBAL));
  expect_sim(vs_sim_capture_begin_to(sim, &main_thread, 0, other, graph, nodes, 2, VS_SIM_CAPTURE_GLOBAL),
             VS_SIM_ILLEGAL_STATE);
  kernel(sim, stream);
  assert_int_equal(end_capture(sim, stream), graph);
  expect_edges(sim, graph, "0>2 1>2 ");
  uint64_t outer, node, child; /* but not in one that belongs to a node */
  expect_sim_ok(vs_sim_graph_create(sim, 0, &outer));
  expect_sim_ok(vs_sim_graph_add_child(sim, outer, NULL, 0, graph, &node));
  expect_sim_ok(vs_sim_node_child(sim, node, &child));
  expect_sim(vs_sim_capture_begin_to(sim, &main_thread, 0, stream, child, NULL, 0, VS_SIM_CAPTURE_GLOBAL),
             VS_SIM_NOT_SUPPORTED);
  /* One that fails leaves the program its graph, with what came into it. */
  expect_sim_ok(vs_sim_capture_begin_to(sim, &main_thread, 0, stream, graph, NULL, 0, VS_SIM_CAPTURE_GLOBAL));
  kernel(sim, stream);
  expect_sim(vs_sim_stream_query(sim, 0, stream), VS_SIM_CAPTURE_UNSUPPORTED);
  expect_end(sim, stream, VS_SIM_CAPTURE_INVALIDATED);
  assert_int_equal(node_count(sim, graph), 4);
  expect_sim_ok(vs_sim_graph_instantiate(sim, graph, 0, &out));
  begin_capture(sim, stream); /* and nothing of it behind */
  assert_int_equal(info_of(sim, stream).dependency_count, 0);
  (void)end_capture(sim, stream);
  machine_end(&m);
}

/* Edges against the order of the nodes are there, too, when the end asks who was joined. */
static void joins_are_seen_through_any_edge(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim), side = new_stream(sim);
  for (size_t joined = 0; joined < 2; joined++) {
    begin_capture(sim, stream);
    kernel(sim, stream);
    wait_for(sim, side, mark(sim, stream));
    kernel(sim, stream);
    kernel(sim, side);
    kernel(sim, side);
    const uint64_t graph = info_of(sim, stream).graph;
    const uint64_t first = node_at(sim, graph, 0), main_last = node_at(sim, graph, 1);
    const uint64_t side_first = node_at(sim, graph, 2), side_last = node_at(sim, graph, 3);
    const vs_sim_work work = {.kind = VS_SIM_NODE_EMPTY};
    uint64_t late; /* the origin stands behind it, and it behind the side's first or last */
    expect_sim_ok(vs_sim_graph_add(sim, graph, joined ? &side_last : &side_first, 1, &work, &late));
    expect_sim(vs_sim_graph_add_edges(sim, graph, &late, &first, 1), VS_SIM_INVALID_VALUE); /* a circle */
    expect_sim_ok(vs_sim_graph_add_edges(sim, graph, &late, &main_last, 1));
    if (joined) expect_edges(sim, end_capture(sim, stream), "0>1 4>1 0>2 2>3 3>4 ");
    else expect_end(sim, stream, VS_SIM_CAPTURE_UNJOINED);
  }
  machine_end(&m);
}

/* ---- 900 to 908 ---------------------------------------------------------------------------------------- */

/* The capture of `stream` is invalid: everything says so, the end too, and then all is well again. */
static void expect_invalidated(vs_sim *sim, uint64_t stream, uint64_t captured_event) {
  vs_sim_capture_info info = info_of(sim, stream);
  assert_int_equal(info.status, VS_SIM_CAPTURE_INVALID);
  assert_true(info.id == 0 && info.graph == 0 && info.dependency_count == 0);
  expect_sim(vs_sim_op(sim, 0, stream, VS_SIM_NODE_KERNEL), VS_SIM_CAPTURE_INVALIDATED);
  expect_sim(vs_sim_op_uncapturable(sim, 0, stream), VS_SIM_CAPTURE_INVALIDATED);
  expect_sim(vs_sim_stream_query(sim, 0, stream), VS_SIM_CAPTURE_INVALIDATED);
  expect_sim(vs_sim_stream_synchronize(sim, 0, stream), VS_SIM_CAPTURE_INVALIDATED);
  expect_sim(vs_sim_event_record(sim, 0, captured_event, stream, 0), VS_SIM_CAPTURE_INVALIDATED);
  expect_sim(vs_sim_stream_wait_event(sim, 0, stream, captured_event, 0), VS_SIM_CAPTURE_INVALIDATED);
  const uint64_t side = new_stream(sim);
  expect_sim(vs_sim_stream_wait_event(sim, 0, side, captured_event, 0), VS_SIM_CAPTURE_INVALIDATED);
  assert_int_equal(status_of(sim, side), VS_SIM_NOT_CAPTURED);
  expect_sim(vs_sim_capture_update(sim, 0, stream, NULL, 0, VS_SIM_DEPENDENCIES_SET),
             VS_SIM_CAPTURE_INVALIDATED);
  expect_sim(vs_sim_capture_begin(sim, &main_thread, 0, stream, VS_SIM_CAPTURE_GLOBAL), VS_SIM_ILLEGAL_STATE);
  expect_end(sim, stream, VS_SIM_CAPTURE_INVALIDATED);
  assert_int_equal(status_of(sim, stream), VS_SIM_NOT_CAPTURED);
  kernel(sim, stream);
}

typedef struct capturing {
  vs_sim *sim;
  uint64_t stream, side, event,
      outside; /* origin, a joined one, recorded in the capture, recorded before it */
} capturing;

static capturing capture_something(void) {
  capturing c = {.sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE)};
  c.stream = new_stream(c.sim);
  c.side = new_stream(c.sim);
  c.outside = mark(c.sim, c.stream);
  begin_capture(c.sim, c.stream);
  kernel(c.sim, c.stream);
  c.event = mark(c.sim, c.stream);
  wait_for(c.sim, c.side, c.event);
  return c;
}

static void unsupported(void **state) {
  (void)state;
  for (int which = 0; which < 7; which++) {
    const capturing c = capture_something();
    vs_sim_error got = VS_SIM_OK;
    switch (which) {
      case 0: got = vs_sim_stream_query(c.sim, 0, c.stream); break;
      case 1: got = vs_sim_stream_synchronize(c.sim, 0, c.side); break;
      case 2: got = vs_sim_device_synchronize(c.sim, 0); break;
      case 3: got = vs_sim_stream_destroy(c.sim, c.stream); break;
      case 4: got = vs_sim_stream_destroy(c.sim, c.side); break;
      case 5: got = vs_sim_op_uncapturable(c.sim, 0, c.stream); break;
      case 6: got = vs_sim_unsafe_call(c.sim, &main_thread); break;
      default: break;
    }
    assert_int_equal(got, VS_SIM_CAPTURE_UNSUPPORTED);
    expect_invalidated(c.sim, c.stream, c.event);
    assert_int_equal(status_of(c.sim, c.side), VS_SIM_NOT_CAPTURED);
    machine_end(&m);
  }
}

static void other_devices_can_be_synchronised(void **state) {
  (void)state;
  const capturing c = capture_something();
  expect_sim_ok(vs_sim_device_synchronize(c.sim, 1));
  assert_int_equal(status_of(c.sim, c.stream), VS_SIM_CAPTURE_ACTIVE);
  (void)end_capture(c.sim, c.stream);
  machine_end(&m);
}

static void the_legacy_stream_cannot_capture(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  for (uint64_t handle = 0; handle < 2; handle++)
    expect_sim(vs_sim_capture_begin(sim, &main_thread, 0, handle, VS_SIM_CAPTURE_RELAXED),
               VS_SIM_CAPTURE_UNSUPPORTED);
  begin_capture(sim, VS_SIM_STREAM_PER_THREAD); /* the other default stream can */
  (void)end_capture(sim, VS_SIM_STREAM_PER_THREAD);
  machine_end(&m);
}

static void illegal_state_and_values(void **state) {
  (void)state;
  const capturing c = capture_something();
  uint64_t graph;
  expect_sim(vs_sim_capture_begin(c.sim, &main_thread, 0, c.stream, VS_SIM_CAPTURE_GLOBAL),
             VS_SIM_ILLEGAL_STATE);
  expect_sim(vs_sim_capture_begin(c.sim, &main_thread, 0, c.side, VS_SIM_CAPTURE_GLOBAL),
             VS_SIM_ILLEGAL_STATE);
  expect_end(c.sim, new_stream(c.sim), VS_SIM_ILLEGAL_STATE);
  expect_end(c.sim, VS_SIM_STREAM_LEGACY, VS_SIM_ILLEGAL_STATE);
  expect_sim(vs_sim_capture_begin(c.sim, &main_thread, 0, new_stream(c.sim), (vs_sim_capture_mode)3),
             VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_capture_begin(c.sim, NULL, 0, new_stream(c.sim), VS_SIM_CAPTURE_GLOBAL),
             VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_capture_end(c.sim, &main_thread, 0, c.stream, NULL), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_capture_end(c.sim, NULL, 0, c.stream, &graph), VS_SIM_INVALID_VALUE);
  assert_int_equal(node_count(c.sim, end_capture(c.sim, c.stream)), 1); /* nothing was spoilt */
  machine_end(&m);
}

static void merge(void **state) {
  (void)state;
  const capturing c = capture_something();
  const uint64_t other = new_stream(c.sim);
  begin_capture(c.sim, other);
  const uint64_t others = mark(c.sim, other);
  expect_sim(vs_sim_stream_wait_event(c.sim, 0, other, c.event, 0), VS_SIM_CAPTURE_MERGE);
  expect_invalidated(c.sim, other, others);
  expect_invalidated(c.sim, c.stream, c.event);
  machine_end(&m);
}

static void unmatched(void **state) {
  (void)state;
  const capturing c = capture_something();
  expect_end(c.sim, c.side, VS_SIM_CAPTURE_UNMATCHED);
  (void)end_capture(c.sim, c.stream);
  machine_end(&m);
}

static void unjoined(void **state) {
  (void)state;
  capturing c = capture_something();
  kernel(c.sim, c.side);
  expect_end(c.sim, c.stream, VS_SIM_CAPTURE_UNJOINED);
  assert_int_equal(status_of(c.sim, c.stream), VS_SIM_NOT_CAPTURED);
  assert_int_equal(status_of(c.sim, c.side), VS_SIM_NOT_CAPTURED);
  machine_end(&m);

  c = capture_something(); /* joined, and then more work */
  kernel(c.sim, c.side);
  wait_for(c.sim, c.stream, mark(c.sim, c.side));
  kernel(c.sim, c.side);
  expect_end(c.sim, c.stream, VS_SIM_CAPTURE_UNJOINED);
  machine_end(&m);

  c = capture_something(); /* joined through a third stream */
  const uint64_t third = new_stream(c.sim);
  kernel(c.sim, c.side);
  wait_for(c.sim, third, mark(c.sim, c.side));
  kernel(c.sim, third);
  wait_for(c.sim, c.stream, mark(c.sim, third));
  (void)end_capture(c.sim, c.stream);
  machine_end(&m);
}

static void isolation(void **state) {
  (void)state;
  const capturing c = capture_something();
  expect_sim(vs_sim_stream_wait_event(c.sim, 0, c.side, c.outside, 0), VS_SIM_CAPTURE_ISOLATION);
  expect_invalidated(c.sim, c.stream, c.event);
  machine_end(&m);
}

/* Uses of the legacy stream beside a blocking stream that is captured. */
static vs_sim_error use_legacy(vs_sim *sim, int which, uint64_t event) {
  switch (which) {
    case 0: return vs_sim_op(sim, 0, VS_SIM_STREAM_NULL, VS_SIM_NODE_KERNEL);
    case 1: return vs_sim_stream_synchronize(sim, 0, VS_SIM_STREAM_LEGACY);
    case 2: return vs_sim_stream_query(sim, 0, VS_SIM_STREAM_NULL);
    case 3: return vs_sim_event_record(sim, 0, event, VS_SIM_STREAM_NULL, 0);
    case 4: return vs_sim_stream_wait_event(sim, 0, VS_SIM_STREAM_NULL, event, 0);
    case 5: return vs_sim_op_uncapturable(sim, 0, VS_SIM_STREAM_NULL);
    case 6: return vs_sim_free_async(sim, 0, VS_SIM_STREAM_NULL, 0);
    default: return VS_SIM_OK;
  }
}

static void implicit(void **state) {
  (void)state;
  for (int which = 0; which < 7; which++) {
    vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
    const uint64_t stream = new_stream_on(sim, 0, 0), outside = mark(sim, 0);
    vs_sim_capture_info info;
    begin_capture(sim, stream);
    const uint64_t event = mark(sim, stream);
    expect_sim(vs_sim_stream_capture_info(sim, 0, VS_SIM_STREAM_NULL, &info), VS_SIM_CAPTURE_IMPLICIT);
    assert_int_equal(status_of(sim, stream), VS_SIM_CAPTURE_ACTIVE);          /* asking does not hurt */
    expect_sim_ok(vs_sim_op(sim, 1, VS_SIM_STREAM_NULL, VS_SIM_NODE_KERNEL)); /* another device's */
    assert_int_equal(use_legacy(sim, which, outside), VS_SIM_CAPTURE_IMPLICIT);
    expect_invalidated(sim, stream, event);
    expect_sim_ok(vs_sim_op(sim, 0, VS_SIM_STREAM_NULL, VS_SIM_NODE_KERNEL));
    machine_end(&m);
  }
}

static void a_stream_that_does_not_block_leaves_the_legacy_stream_alone(void **state) {
  (void)state;
  const capturing c = capture_something();
  for (int which = 0; which < 6; which++) assert_int_equal(use_legacy(c.sim, which, c.outside), VS_SIM_OK);
  assert_int_equal(status_of(c.sim, VS_SIM_STREAM_NULL), VS_SIM_NOT_CAPTURED);
  (void)end_capture(c.sim, c.stream);
  machine_end(&m);
}

static void the_legacy_stream_cannot_join(void **state) {
  (void)state;
  const capturing c = capture_something();
  expect_sim(vs_sim_stream_wait_event(c.sim, 0, VS_SIM_STREAM_NULL, c.event, 0), VS_SIM_CAPTURE_IMPLICIT);
  expect_invalidated(c.sim, c.stream, c.event);
  machine_end(&m);
}

static void captured_event(void **state) {
  (void)state;
  for (int which = 0; which < 2; which++) {
    const capturing c = capture_something();
    assert_int_equal(which == 0 ? vs_sim_event_query(c.sim, &main_thread, c.event)
                                : vs_sim_event_synchronize(c.sim, &main_thread, c.event),
                     VS_SIM_CAPTURED_EVENT);
    expect_invalidated(c.sim, c.stream, c.event);
    machine_end(&m);
  }
  const capturing c = capture_something();
  const uint64_t late = new_stream(c.sim);
  int64_t ns;
  (void)end_capture(c.sim, c.stream);
  /* It never was anywhere in time, so it stays one until it is recorded again. */
  expect_sim(vs_sim_event_query(c.sim, &main_thread, c.event), VS_SIM_CAPTURED_EVENT);
  expect_sim(vs_sim_event_elapsed(c.sim, c.outside, c.event, &ns), VS_SIM_CAPTURED_EVENT);
  expect_sim(vs_sim_stream_wait_event(c.sim, 0, late, c.event, 0), VS_SIM_CAPTURED_EVENT);
  begin_capture(c.sim, late); /* another capture, in the same row */
  expect_sim(vs_sim_stream_wait_event(c.sim, 0, c.side, c.event, 0), VS_SIM_CAPTURED_EVENT);
  expect_sim(vs_sim_stream_wait_event(c.sim, 0, late, c.event, 0), VS_SIM_CAPTURED_EVENT);
  expect_end(c.sim, late, VS_SIM_CAPTURE_INVALIDATED);
  record(c.sim, c.event, late);
  expect_sim_ok(vs_sim_event_query(c.sim, &main_thread, c.event));
  expect_sim_ok(vs_sim_event_elapsed(c.sim, c.outside, c.event, &ns));
  machine_end(&m);
}

static void wrong_thread(void **state) {
  (void)state;
  for (int mode = 0; mode < 3; mode++) {
    vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
    const uint64_t stream = new_stream(sim);
    uint64_t graph;
    expect_sim_ok(vs_sim_capture_begin(sim, &main_thread, 0, stream, (vs_sim_capture_mode)mode));
    kernel(sim, stream);
    expect_sim(vs_sim_capture_end(sim, &other_thread, 0, stream, &graph),
               mode == VS_SIM_CAPTURE_RELAXED ? VS_SIM_OK : VS_SIM_CAPTURE_WRONG_THREAD);
    if (mode != VS_SIM_CAPTURE_RELAXED) graph = end_capture(sim, stream); /* the right one still can */
    assert_int_equal(node_count(sim, graph), 1);
    machine_end(&m);
  }
}

/* ---- unsafe calls -------------------------------------------------------------------------------------- */

/* The rules of the header as a table: [capture's mode][the caller's mode], by whether it is the capture's
 * thread. */
static void unsafe_calls_by_mode(void **state) {
  (void)state;
  static const bool refused_to_own[3][3] = {{true, true, false}, {true, true, false}, {false, false, false}};
  static const bool refused_to_other[3][3] = {
      {true, false, false}, {false, false, false}, {false, false, false}};
  for (int begun = 0; begun < 3; begun++)
    for (int mode = 0; mode < 3; mode++)
      for (int own = 0; own < 2; own++) {
        vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
        const uint64_t stream = new_stream(sim), outside = mark(sim, 0);
        const vs_sim_thread caller = {.id = own ? main_thread.id : other_thread.id,
                                      .mode = (vs_sim_capture_mode)mode};
        const bool refused = own ? refused_to_own[begun][mode] : refused_to_other[begun][mode];
        expect_sim_ok(vs_sim_unsafe_call(sim, &caller)); /* no stream captures */
        expect_sim_ok(vs_sim_capture_begin(sim, &main_thread, 0, stream, (vs_sim_capture_mode)begun));
        /* Asking an event from before the capture is one of them. */
        assert_int_equal(vs_sim_event_query(sim, &caller, outside),
                         refused ? VS_SIM_CAPTURE_UNSUPPORTED : VS_SIM_OK);
        assert_int_equal(status_of(sim, stream), refused ? VS_SIM_CAPTURE_INVALID : VS_SIM_CAPTURE_ACTIVE);
        assert_int_equal(vs_sim_unsafe_call(sim, &caller), refused ? VS_SIM_CAPTURE_UNSUPPORTED : VS_SIM_OK);
        if (refused) expect_end(sim, stream, VS_SIM_CAPTURE_INVALIDATED);
        else (void)end_capture(sim, stream);
        expect_sim_ok(vs_sim_event_synchronize(sim, &caller, outside));
        machine_end(&m);
      }
}

static void the_thread_mode_is_exchanged(void **state) {
  (void)state;
  vs_sim_thread thread = {.id = 9, .mode = VS_SIM_CAPTURE_GLOBAL};
  vs_sim_capture_mode mode = VS_SIM_CAPTURE_RELAXED;
  expect_sim_ok(vs_sim_exchange_capture_mode(&thread, &mode));
  assert_true(mode == VS_SIM_CAPTURE_GLOBAL && thread.mode == VS_SIM_CAPTURE_RELAXED);
  expect_sim_ok(vs_sim_exchange_capture_mode(&thread, &mode));
  assert_true(mode == VS_SIM_CAPTURE_RELAXED && thread.mode == VS_SIM_CAPTURE_GLOBAL);
  mode = (vs_sim_capture_mode)3;
  expect_sim(vs_sim_exchange_capture_mode(&thread, &mode), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_exchange_capture_mode(&thread, NULL), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_exchange_capture_mode(NULL, &mode), VS_SIM_INVALID_VALUE);
  assert_int_equal(thread.mode, VS_SIM_CAPTURE_GLOBAL);
}

/* ---- events as nodes, and ends ------------------------------------------------------------------------- */

static void external_events_become_nodes(void **state) {
  (void)state;
  const capturing c = capture_something();
  const uint64_t timed = new_event(c.sim);
  expect_sim_ok(vs_sim_event_record(c.sim, 0, timed, c.stream, VS_SIM_EVENT_EXTERNAL));
  expect_sim_ok(vs_sim_stream_wait_event(c.sim, 0, c.stream, c.outside, VS_SIM_EVENT_EXTERNAL));
  const uint64_t graph = end_capture(c.sim, c.stream);
  expect_edges(c.sim, graph, "0>1 1>2 ");
  assert_int_equal(vs_sim_node_work(c.sim, node_at(c.sim, graph, 1))->kind, VS_SIM_NODE_EVENT_RECORD);
  assert_int_equal(vs_sim_node_work(c.sim, node_at(c.sim, graph, 1))->object, timed);
  assert_int_equal(vs_sim_node_work(c.sim, node_at(c.sim, graph, 2))->kind, VS_SIM_NODE_EVENT_WAIT);
  expect_sim_ok(vs_sim_event_query(c.sim, &main_thread, timed)); /* not recorded yet, and no captured event */
  machine_end(&m);
}

static void ending_the_machine_ends_captures(void **state) {
  (void)state;
  const capturing c = capture_something();
  expect_sim_ok(vs_sim_event_destroy(c.sim, c.event)); /* which is no longer needed */
  kernel(c.sim, c.side);
  machine_end(&m); /* nothing is left */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(work_becomes_a_chain),
      cmocka_unit_test(an_empty_capture_is_an_empty_graph),
      cmocka_unit_test(work_says_whether_it_was_captured),
      cmocka_unit_test(a_side_stream_forks_and_joins),
      cmocka_unit_test(a_stream_of_another_device_joins_too),
      cmocka_unit_test(joining_twice_adds_no_edge_twice),
      cmocka_unit_test(the_graph_can_be_asked_for),
      cmocka_unit_test(ids_rise),
      cmocka_unit_test(dependencies_can_be_set_and_added),
      cmocka_unit_test(wrong_dependencies_change_nothing),
      cmocka_unit_test(a_capture_can_go_on_in_a_graph),
      cmocka_unit_test(joins_are_seen_through_any_edge),
      cmocka_unit_test(unsupported),
      cmocka_unit_test(other_devices_can_be_synchronised),
      cmocka_unit_test(the_legacy_stream_cannot_capture),
      cmocka_unit_test(illegal_state_and_values),
      cmocka_unit_test(merge),
      cmocka_unit_test(unmatched),
      cmocka_unit_test(unjoined),
      cmocka_unit_test(isolation),
      cmocka_unit_test(implicit),
      cmocka_unit_test(a_stream_that_does_not_block_leaves_the_legacy_stream_alone),
      cmocka_unit_test(the_legacy_stream_cannot_join),
      cmocka_unit_test(captured_event),
      cmocka_unit_test(wrong_thread),
      cmocka_unit_test(unsafe_calls_by_mode),
      cmocka_unit_test(the_thread_mode_is_exchanged),
      cmocka_unit_test(external_events_become_nodes),
      cmocka_unit_test(ending_the_machine_ends_captures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
