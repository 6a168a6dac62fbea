/* Captures against a naive model: tables of who captures what, dependencies as rows of a matrix, and the
 * rules of graph.h written down a second time. Every answer is compared, after every call the status of all
 * streams, and every graph that comes out, edge by edge. */
#include "support/random.h"
#include "unit/device/sim/work.h"

enum { STREAMS = 8, EVENTS = 6, NODES = 60, ROWS = STREAMS, STEPS = 3000, RUNS = 100, THREADS = 3 };

typedef struct model_stream {
  uint64_t handle;
  bool is_legacy, is_blocking;
  int capture; /* index, -1 for none */
  bool frontier[NODES];
} model_stream;

typedef struct model_event {
  uint64_t handle;
  bool is_outside; /* recorded, in no capture */
  int capture;     /* recorded in, -1 for none */
  bool frontier[NODES];
} model_event;

typedef struct model_capture {
  uint32_t origin, thread;
  vs_sim_capture_mode mode;
  bool is_over, is_invalid;
  uint32_t nodes;
  bool needs[NODES][NODES]; /* [node][one it depends on] */
} model_capture;

static machine m;
static model_stream streams[STREAMS];
static model_event events[EVENTS];
static model_capture captures[ROWS]; /* those that go on: rows are used again */
static uint64_t ids[ROWS];
static vs_sim_thread threads[THREADS];
static vs_sim *sim;

/* ROWS stands for one that is over and whose row is used again. */
static bool goes_on(int capture) { return capture >= 0 && capture < ROWS && !captures[capture].is_over; }

/* ---- the rules ----------------------------------------------------------------------------------------- */

/* Using the legacy stream beside blocking ones that are captured. */
static bool spoil_beside_legacy(uint32_t s, bool really) {
  bool found = false;
  for (uint32_t i = 0; i < STREAMS && streams[s].is_legacy; i++) {
    if (streams[i].capture < 0 || !streams[i].is_blocking) continue;
    if (really) captures[streams[i].capture].is_invalid = true;
    found = true;
  }
  return found;
}

static vs_sim_error use(uint32_t s) {
  if (streams[s].capture >= 0 && captures[streams[s].capture].is_invalid) return VS_SIM_CAPTURE_INVALIDATED;
  return spoil_beside_legacy(s, true) ? VS_SIM_CAPTURE_IMPLICIT : VS_SIM_OK;
}

static vs_sim_error model_ask(uint32_t s) {
  const vs_sim_error error = use(s);
  if (error != VS_SIM_OK || streams[s].capture < 0) return error;
  captures[streams[s].capture].is_invalid = true;
  return VS_SIM_CAPTURE_UNSUPPORTED;
}

static vs_sim_error model_op(uint32_t s) {
  const vs_sim_error error = use(s);
  if (error != VS_SIM_OK || streams[s].capture < 0) return error;
  model_capture *capture = &captures[streams[s].capture];
  memcpy(capture->needs[capture->nodes], streams[s].frontier, sizeof streams[s].frontier);
  memset(streams[s].frontier, 0, sizeof streams[s].frontier);
  streams[s].frontier[capture->nodes++] = true;
  return VS_SIM_OK;
}

static vs_sim_error model_record(uint32_t e, uint32_t s) {
  const vs_sim_error error = use(s);
  if (error != VS_SIM_OK) return error;
  events[e].is_outside = streams[s].capture < 0;
  events[e].capture = streams[s].capture;
  memcpy(events[e].frontier, streams[s].frontier, sizeof streams[s].frontier);
  return VS_SIM_OK;
}

static vs_sim_error model_wait_outside(uint32_t s, uint32_t e) {
  if (events[e].capture < 0) return use(s);
  if (!goes_on(events[e].capture)) return VS_SIM_CAPTURED_EVENT;
  if (captures[events[e].capture].is_invalid) return VS_SIM_CAPTURE_INVALIDATED;
  if (streams[s].is_legacy) {
    captures[events[e].capture].is_invalid = true;
    return VS_SIM_CAPTURE_IMPLICIT;
  }
  streams[s].capture = events[e].capture;
  memcpy(streams[s].frontier, events[e].frontier, sizeof streams[s].frontier);
  return VS_SIM_OK;
}

static vs_sim_error model_wait(uint32_t s, uint32_t e) {
  if (streams[s].capture < 0) return model_wait_outside(s, e);
  model_capture *own = &captures[streams[s].capture];
  if (own->is_invalid) return VS_SIM_CAPTURE_INVALIDATED;
  if (events[e].capture == streams[s].capture && goes_on(events[e].capture)) {
    for (int i = 0; i < NODES; i++) streams[s].frontier[i] |= events[e].frontier[i];
    return VS_SIM_OK;
  }
  if (events[e].capture < 0 && !events[e].is_outside) return VS_SIM_OK;
  own->is_invalid = true;
  if (events[e].capture < 0) return VS_SIM_CAPTURE_ISOLATION;
  if (!goes_on(events[e].capture)) return VS_SIM_CAPTURED_EVENT;
  captures[events[e].capture].is_invalid = true;
  return VS_SIM_CAPTURE_MERGE;
}

static vs_sim_error model_unsafe(const vs_sim_thread *thread) {
  vs_sim_error error = VS_SIM_OK;
  for (int c = 0; c < ROWS; c++) {
    if (captures[c].is_over) continue;
    const bool own = threads[captures[c].thread].id == thread->id;
    const bool refused =
        thread->mode != VS_SIM_CAPTURE_RELAXED &&
        (own ? captures[c].mode != VS_SIM_CAPTURE_RELAXED
             : captures[c].mode == VS_SIM_CAPTURE_GLOBAL && thread->mode == VS_SIM_CAPTURE_GLOBAL);
    if (!refused) continue;
    captures[c].is_invalid = true;
    error = VS_SIM_CAPTURE_UNSUPPORTED;
  }
  return error;
}

static vs_sim_error model_event_ask(const vs_sim_thread *thread, uint32_t e) {
  if (events[e].capture < 0) return model_unsafe(thread);
  if (goes_on(events[e].capture)) captures[events[e].capture].is_invalid = true;
  return VS_SIM_CAPTURED_EVENT;
}

static vs_sim_error model_device(void) {
  vs_sim_error error = VS_SIM_OK;
  for (uint32_t s = 0; s < STREAMS; s++) {
    if (streams[s].capture < 0) continue;
    captures[streams[s].capture].is_invalid = true;
    error = VS_SIM_CAPTURE_UNSUPPORTED;
  }
  return error;
}

static vs_sim_error model_begin(uint32_t t, uint32_t s, vs_sim_capture_mode mode, int row) {
  if (streams[s].is_legacy) return VS_SIM_CAPTURE_UNSUPPORTED;
  if (streams[s].capture >= 0) return VS_SIM_ILLEGAL_STATE;
  memset(&captures[row], 0, sizeof captures[row]);
  captures[row].origin = s;
  captures[row].thread = t;
  captures[row].mode = mode;
  for (uint32_t e = 0; e < EVENTS;
       e++) /* the row is another capture now: what was in the old one stays over */
    if (events[e].capture == row) events[e].capture = ROWS;
  streams[s].capture = row;
  memset(streams[s].frontier, 0, sizeof streams[s].frontier);
  return VS_SIM_OK;
}

static void reach(const model_capture *capture, int node, bool *reached) {
  if (reached[node]) return;
  reached[node] = true;
  for (int i = 0; i < NODES; i++)
    if (capture->needs[node][i]) reach(capture, i, reached);
}

static vs_sim_error model_end(uint32_t t, uint32_t s) {
  const int row = streams[s].capture;
  if (row < 0) return VS_SIM_ILLEGAL_STATE;
  model_capture *capture = &captures[row];
  if (capture->origin != s) return VS_SIM_CAPTURE_UNMATCHED;
  if (capture->mode != VS_SIM_CAPTURE_RELAXED && capture->thread != t) return VS_SIM_CAPTURE_WRONG_THREAD;
  bool reached[NODES] = {false};
  vs_sim_error error = capture->is_invalid ? VS_SIM_CAPTURE_INVALIDATED : VS_SIM_OK;
  for (int i = 0; i < NODES; i++)
    if (streams[s].frontier[i]) reach(capture, i, reached);
  for (uint32_t o = 0; o < STREAMS; o++)
    for (int i = 0; i < NODES && error == VS_SIM_OK; i++)
      if (streams[o].capture == row && streams[o].frontier[i] && !reached[i]) error = VS_SIM_CAPTURE_UNJOINED;
  capture->is_over = true;
  for (uint32_t o = 0; o < STREAMS; o++) {
    if (streams[o].capture != row) continue;
    streams[o].capture = -1;
    memset(streams[o].frontier, 0, sizeof streams[o].frontier);
  }
  return error;
}

/* ---- comparing ----------------------------------------------------------------------------------------- */

static void compare_graph(const model_capture *capture, uint64_t graph) {
  uint64_t nodes[NODES], needs[NODES];
  size_t count = NODES;
  expect_sim_ok(vs_sim_graph_nodes(sim, graph, nodes, &count));
  assert_int_equal(count, capture->nodes);
  for (size_t i = 0; i < count; i++) {
    size_t need_count = NODES, wanted = 0;
    expect_sim_ok(vs_sim_node_dependencies(sim, nodes[i], needs, &need_count));
    for (size_t k = 0; k < NODES; k++) wanted += capture->needs[i][k];
    assert_int_equal(need_count, wanted);
    for (size_t n = 0; n < need_count; n++) {
      size_t k = 0;
      while (k < count && nodes[k] != needs[n]) k++;
      assert_true(k < count && capture->needs[i][k]);
    }
  }
}

static void compare_streams(void) {
  for (uint32_t s = 0; s < STREAMS; s++) {
    vs_sim_capture_info info;
    const vs_sim_error error = vs_sim_stream_capture_info(sim, 0, streams[s].handle, &info);
    assert_int_equal(error, spoil_beside_legacy(s, false) ? VS_SIM_CAPTURE_IMPLICIT : VS_SIM_OK);
    if (error != VS_SIM_OK) continue;
    const int row = streams[s].capture;
    assert_int_equal(info.status, row < 0                    ? VS_SIM_NOT_CAPTURED
                                  : captures[row].is_invalid ? VS_SIM_CAPTURE_INVALID
                                                             : VS_SIM_CAPTURE_ACTIVE);
    if (info.status != VS_SIM_CAPTURE_ACTIVE) continue;
    size_t wanted = 0;
    for (int i = 0; i < NODES; i++) wanted += streams[s].frontier[i];
    assert_int_equal(info.dependency_count, wanted);
    if (ids[row] == 0) ids[row] = info.id;
    assert_int_equal(info.id, ids[row]); /* one id per capture, for every thread */
    for (int other = 0; other < ROWS; other++)
      if (other != row && !captures[other].is_over) assert_int_not_equal(ids[other], info.id);
  }
}

/* ---- playing ------------------------------------------------------------------------------------------- */

static void begin(uint64_t seed) {
  sim = work_begin(&m, seed % 2 == 0 ? VS_SIM_EVENTS_AT_ONCE : VS_SIM_EVENTS_AT_SYNC);
  for (uint32_t s = 0; s < STREAMS; s++) {
    streams[s] = (model_stream){.capture = -1, .is_legacy = s == 0, .is_blocking = s == 1 || s == 2};
    if (s == 0) streams[s].handle = VS_SIM_STREAM_NULL;
    else if (s == 1) streams[s].handle = VS_SIM_STREAM_PER_THREAD;
    else streams[s].handle = new_stream_on(sim, 0, streams[s].is_blocking ? 0 : VS_SIM_STREAM_NON_BLOCKING);
  }
  for (uint32_t e = 0; e < EVENTS; e++) events[e] = (model_event){.handle = new_event(sim), .capture = -1};
  for (int c = 0; c < ROWS; c++) captures[c] = (model_capture){.is_over = true};
  memset(ids, 0, sizeof ids);
  for (uint32_t t = 0; t < THREADS; t++) threads[t] = (vs_sim_thread){.id = 10 + t};
}

static int free_row(void) {
  int row = 0;
  while (!captures[row].is_over) row++;
  return row;
}

static void play_begin(uint32_t t, uint32_t s, vs_sim_capture_mode mode) {
  const int row = free_row();
  assert_int_equal(vs_sim_capture_begin(sim, &threads[t], 0, streams[s].handle, mode),
                   model_begin(t, s, mode, row));
  if (streams[s].capture == row) ids[row] = 0;
}

static void play_end(uint32_t t, uint32_t s) {
  uint64_t graph;
  const int row = streams[s].capture;
  const vs_sim_error error = model_end(t, s);
  assert_int_equal(vs_sim_capture_end(sim, &threads[t], 0, streams[s].handle, &graph), error);
  assert_int_equal(graph != 0, error == VS_SIM_OK);
  if (error != VS_SIM_OK) return;
  compare_graph(&captures[row], graph);
  expect_sim_ok(vs_sim_graph_destroy(sim, graph));
}

static void play_event(uint32_t e) { /* a new one in its place */
  expect_sim_ok(vs_sim_event_destroy(sim, events[e].handle));
  events[e] = (model_event){.handle = new_event(sim), .capture = -1};
}

/* The thread that began a capture ends it now and then, so that captures end. */
static void play_right_end(test_random *random) {
  const uint32_t c = (uint32_t)random_below(random, ROWS);
  if (!captures[c].is_over) play_end(captures[c].thread, captures[c].origin);
}

/* Waits for each side stream, so that some captures come out whole. */
static void play_join_all(uint32_t s, uint32_t e) {
  const int row = streams[s].capture;
  for (uint32_t o = 0; o < STREAMS && row >= 0 && captures[row].origin == s; o++) {
    if (o == s || streams[o].capture != row) continue;
    assert_int_equal(vs_sim_event_record(sim, 0, events[e].handle, streams[o].handle, 0), model_record(e, o));
    assert_int_equal(vs_sim_stream_wait_event(sim, 0, streams[s].handle, events[e].handle, 0),
                     model_wait(s, e));
  }
}

/* Whether something is done is another test's question. */
static vs_sim_error answered(vs_sim_error error) { return error == VS_SIM_NOT_READY ? VS_SIM_OK : error; }

/* Whether a call would spoil a capture that could still come out well; calm runs mostly leave such calls. */
static bool would_spoil(uint64_t what, uint32_t s, uint32_t e) {
  const bool foreign = events[e].capture != streams[s].capture;
  return what < 13 || streams[s].is_legacy ||
         (what >= 220 && what < 300 && streams[s].capture >= 0 && foreign);
}

static void step(test_random *random, bool is_calm) {
  const uint32_t s = (uint32_t)random_below(random, STREAMS), e = (uint32_t)random_below(random, EVENTS);
  const uint32_t t = (uint32_t)random_below(random, THREADS);
  const uint64_t stream = streams[s].handle, event = events[e].handle;
  const vs_sim_capture_mode mode = (vs_sim_capture_mode)random_below(random, 3);
  const uint64_t what = random_below(random, 400);
  if (is_calm && would_spoil(what, s, e) && random_below(random, 200) != 0) return;
  if (what < 3) assert_int_equal(answered(vs_sim_stream_query(sim, 0, stream)), model_ask(s));
  else if (what < 5) assert_int_equal(vs_sim_stream_synchronize(sim, 0, stream), model_ask(s));
  else if (what < 8)
    assert_int_equal(answered(vs_sim_event_query(sim, &threads[t], event)), model_event_ask(&threads[t], e));
  else if (what < 10)
    assert_int_equal(vs_sim_event_synchronize(sim, &threads[t], event), model_event_ask(&threads[t], e));
  else if (what < 12) assert_int_equal(vs_sim_unsafe_call(sim, &threads[t]), model_unsafe(&threads[t]));
  else if (what < 13) assert_int_equal(vs_sim_device_synchronize(sim, 0), model_device());
  else if (what < 30) threads[t].mode = mode;
  else if (what < 60) play_begin(t, s, mode);
  else if (what < 75) play_end(t, s);
  else if (what < 95) play_right_end(random);
  else if (what < 130) play_join_all(s, e);
  else if (what < 140) play_event(e);
  else if (what < 220) assert_int_equal(vs_sim_event_record(sim, 0, event, stream, 0), model_record(e, s));
  else if (what < 300) assert_int_equal(vs_sim_stream_wait_event(sim, 0, stream, event, 0), model_wait(s, e));
  else if (streams[s].capture < 0 || captures[streams[s].capture].nodes < NODES)
    assert_int_equal(vs_sim_op(sim, 0, stream, VS_SIM_NODE_KERNEL), model_op(s));
}

static void captures_follow_the_rules(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= RUNS; seed++) {
    test_random random = {seed};
    begin(seed);
    for (int i = 0; i < STEPS; i++) {
      step(&random, seed % 4 != 0);
      compare_streams();
      assert_true(vs_sim_check(sim));
    }
    machine_end(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(captures_follow_the_rules)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
