/* Streams, events and captures for tests, each call in one word and expected to succeed. */
#ifndef VS_TESTS_WORK_H
#define VS_TESTS_WORK_H

#include "unit/device/sim/machine.h"

enum { CARDS = 2, CARD_BYTES = 1 << 30 };

static const vs_sim_thread main_thread = {.id = 1, .mode = VS_SIM_CAPTURE_GLOBAL};
static const vs_sim_thread other_thread = {.id = 2, .mode = VS_SIM_CAPTURE_GLOBAL};

static inline vs_sim *work_begin(machine *m, vs_sim_event_rule rule) {
  machine_begin(m, CARDS, CARD_BYTES);
  vs_sim *sim = process_begin(m, 7);
  sim->streams.rule = rule;
  return sim;
}

static inline uint64_t new_stream_on(vs_sim *sim, uint32_t device, uint32_t flags) {
  uint64_t stream = 0;
  expect_sim_ok(vs_sim_stream_create(sim, device, flags, 0, &stream));
  return stream;
}
static inline uint64_t new_stream(vs_sim *sim) { return new_stream_on(sim, 0, VS_SIM_STREAM_NON_BLOCKING); }

static inline uint64_t new_event(vs_sim *sim) {
  uint64_t event = 0;
  expect_sim_ok(vs_sim_event_create(sim, 0, 0, &event));
  return event;
}

static inline void kernel(vs_sim *sim, uint64_t stream) {
  expect_sim_ok(vs_sim_op(sim, 0, stream, VS_SIM_NODE_KERNEL));
}
static inline void record(vs_sim *sim, uint64_t event, uint64_t stream) {
  expect_sim_ok(vs_sim_event_record(sim, 0, event, stream, 0));
}
static inline void wait_for(vs_sim *sim, uint64_t stream, uint64_t event) {
  expect_sim_ok(vs_sim_stream_wait_event(sim, 0, stream, event, 0));
}
/* A new event, recorded now. */
static inline uint64_t mark(vs_sim *sim, uint64_t stream) {
  const uint64_t event = new_event(sim);
  record(sim, event, stream);
  return event;
}

static inline void begin_capture(vs_sim *sim, uint64_t stream) {
  expect_sim_ok(vs_sim_capture_begin(sim, &main_thread, 0, stream, VS_SIM_CAPTURE_GLOBAL));
}
static inline uint64_t end_capture(vs_sim *sim, uint64_t stream) {
  uint64_t graph = 0;
  expect_sim_ok(vs_sim_capture_end(sim, &main_thread, 0, stream, &graph));
  assert_int_not_equal(graph, 0);
  return graph;
}
/* The end has to fail so; there is no graph then, and the stream is free. */
static inline void expect_end(vs_sim *sim, uint64_t stream, vs_sim_error wanted) {
  uint64_t graph = 99;
  expect_sim(vs_sim_capture_end(sim, &main_thread, 0, stream, &graph), wanted);
  assert_int_equal(graph, 0);
}

static inline vs_sim_capture_info info_of(vs_sim *sim, uint64_t stream) {
  vs_sim_capture_info info = {0};
  expect_sim_ok(vs_sim_stream_capture_info(sim, 0, stream, &info));
  return info;
}
static inline vs_sim_capture_status status_of(vs_sim *sim, uint64_t stream) {
  return info_of(sim, stream).status;
}

static inline size_t node_count(const vs_sim *sim, uint64_t graph) {
  size_t count = 0;
  expect_sim_ok(vs_sim_graph_nodes(sim, graph, NULL, &count));
  return count;
}
static inline size_t edge_count(const vs_sim *sim, uint64_t graph) {
  size_t count = 0;
  expect_sim_ok(vs_sim_graph_edges(sim, graph, NULL, NULL, &count));
  return count;
}
static inline uint64_t node_at(const vs_sim *sim, uint64_t graph, size_t number) {
  uint64_t nodes[64];
  size_t count = 64;
  expect_sim_ok(vs_sim_graph_nodes(sim, graph, nodes, &count));
  assert_true(number < count);
  return nodes[number];
}

/* The edges by places in the list of nodes, as "0>1 1>2 ". */
static inline void expect_edges(const vs_sim *sim, uint64_t graph, const char *wanted) {
  uint64_t from[64], to[64], nodes[64];
  size_t edges = 64, count = 64;
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  expect_sim_ok(vs_sim_graph_edges(sim, graph, from, to, &edges));
  expect_sim_ok(vs_sim_graph_nodes(sim, graph, nodes, &count));
  for (size_t i = 0; i < edges; i++) {
    size_t a = 0, b = 0;
    while (nodes[a] != from[i]) a++;
    while (nodes[b] != to[i]) b++;
    vs_text_u64(&text, a);
    vs_text_byte(&text, '>');
    vs_text_u64(&text, b);
    vs_text_byte(&text, ' ');
  }
  expect_str_at(vs_text_view(&text), vs_str_from(wanted), __FILE__, __LINE__);
  vs_text_deinit(&text);
}

#endif
