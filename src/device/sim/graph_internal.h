/* What the files of captures and graphs share with each other, and with streams and events. */
#ifndef VS_DEVICE_SIM_GRAPH_INTERNAL_H
#define VS_DEVICE_SIM_GRAPH_INTERNAL_H

#include "device/sim/sim.h"

#define VS_SIM_ALL_DEVICES UINT32_MAX

/* ---- handles of graphs and nodes ---- */

static inline vs_sim_graph *vs_sim_graph_find(const vs_sim *sim, uint64_t handle) {
  return vs_sim_handle_find(&sim->graphs.graphs, VS_SIM_HANDLE_GRAPH, handle, NULL);
}

/* The graph of a node, and its number there; NULL for a handle that names none, or a gone one. */
static inline vs_sim_graph *vs_sim_graph_of_node(const vs_sim *sim, uint64_t handle, uint32_t *number) {
  vs_sim_graph *graph = vs_sim_handle_find(&sim->graphs.graphs, VS_SIM_HANDLE_NODE, handle, number);
  if (graph == NULL || *number >= graph->nodes.count || graph->nodes.data[*number].is_gone) return NULL;
  return graph;
}

static inline uint64_t vs_sim_node_handle(const vs_sim *sim, const vs_sim_graph *graph, uint32_t number) {
  return vs_sim_handle_make(&sim->graphs.graphs, VS_SIM_HANDLE_NODE, graph->number, number);
}

/* ---- stream.c, event.c ---- */

/* Work on a stream that is not captured; the clock goes on. */
void vs_sim_stream_advance(vs_sim *sim, vs_sim_stream *stream);
/* Record and wait on a stream that is not captured. The wait needs room. */
void vs_sim_event_record_now(vs_sim *sim, vs_sim_event *event, vs_sim_stream *stream);
VS_MUST_CHECK vs_sim_error vs_sim_stream_waits_reserve(vs_sim *sim, vs_sim_stream *stream, size_t count);
void vs_sim_stream_wait_now(vs_sim *sim, vs_sim_stream *stream, const vs_sim_event *event);
/* Where the stream is now, whether a place is done, and to make it done with all it was ordered behind. */
vs_sim_point vs_sim_stream_point(const vs_sim_stream *stream);
bool vs_sim_point_is_done(const vs_sim *sim, const vs_sim_point *point);
void vs_sim_point_complete(vs_sim *sim, const vs_sim_point *point);
/* The same of a stream's work, or of all streams of a device. */
bool vs_sim_stream_is_done(const vs_sim *sim, const vs_sim_stream *stream);
void vs_sim_stream_complete(vs_sim *sim, const vs_sim_stream *stream);
void vs_sim_streams_complete(vs_sim *sim, uint32_t device);
/* Whether an event that was not recorded in a capture is complete. */
bool vs_sim_event_is_complete(const vs_sim *sim, const vs_sim_event *event);

/* ---- capture.c ---- */

/* What every use of a stream as such begins with: 901 where its capture is invalid, 906 for a legacy stream
 * beside which a blocking one is captured (and that capture is invalid then). */
VS_MUST_CHECK vs_sim_error vs_sim_stream_use(vs_sim *sim, const vs_sim_stream *stream);
/* 900 for a device of which a stream is captured, whose capture is then invalid. */
VS_MUST_CHECK vs_sim_error vs_sim_device_use(vs_sim *sim, uint32_t device);

/* The capture that an event was recorded in, while it goes on; else NULL. */
vs_sim_capture *vs_sim_capture_of(const vs_sim *sim, const vs_sim_event *event);
/* The stream takes part from now on; there is room in capture->streams. */
void vs_sim_capture_enter(vs_sim_capture *capture, vs_sim_stream *stream);

/* ---- work.c ---- */

/* The next node of a captured stream; as vs_sim_graph_append. */
VS_MUST_CHECK vs_sim_error vs_sim_capture_node(vs_sim *sim, vs_sim_stream *stream, const vs_sim_work *work,
                                               vs_sim_graph *child, uint32_t *number);

/* ---- graph.c ---- */

/* A graph with nothing in it, without a handle; NULL when there is no memory. */
vs_sim_graph *vs_sim_graph_new(vs_sim *sim);
/* Gives it the handle that a program will know it by. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_publish(vs_sim *sim, vs_sim_graph *graph);
/* With its children, references and memory. */
void vs_sim_graph_drop(vs_sim *sim, vs_sim_graph *graph);
/* A copy with the same numbers and without a handle. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_copy(vs_sim *sim, const vs_sim_graph *graph, vs_sim_graph **copy);

/* Begins a walk: no node counts as seen. */
void vs_sim_graph_unmark(vs_sim_graph *graph);
/* Whether a node was not seen yet in this walk; now it was. */
static inline bool vs_sim_node_mark(vs_sim_graph *graph, uint32_t number) {
  const bool is_new = graph->nodes.data[number].mark != graph->epoch;
  graph->nodes.data[number].mark = graph->epoch;
  return is_new;
}
/* Marks everything that marked nodes depend on. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_mark_needs(vs_sim *sim, vs_sim_graph *graph);
/* The live nodes of a graph that is not is_ordered, each behind what it depends on. `order` has room for all
 * of them; fewer come out where the edges close a circle, and then it means nothing. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_order(vs_sim *sim, const vs_sim_graph *graph, uint32_t *order,
                                              uint32_t *count);

/* A node behind `count` different live nodes, which are not in graph->needs. Takes over `child` (may be NULL)
 * if it succeeds; takes the memory of an allocation node. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_append(vs_sim *sim, vs_sim_graph *graph, const uint32_t *needs,
                                               size_t count, const vs_sim_work *work, vs_sim_graph *child,
                                               uint32_t *number);
VS_MUST_CHECK vs_sim_error vs_sim_graph_set_work(const vs_sim *sim, vs_sim_graph *graph, uint32_t number,
                                                 const vs_sim_work *work);

/* ---- graph_object.c ---- */

VS_MUST_CHECK vs_sim_error vs_sim_callbacks_reserve(vs_sim *sim, size_t count);
void vs_sim_callback_push(vs_sim *sim, uint64_t function, uint64_t argument); /* there is room */
/* The graph gives back what it keeps of user objects; its copy keeps the same. */
void vs_sim_references_drop(vs_sim *sim, vs_sim_graph *graph);
VS_MUST_CHECK vs_sim_error vs_sim_references_copy(vs_sim *sim, const vs_sim_graph *from, vs_sim_graph *to);

/* ---- graph_memory.c ---- */

/* Before a memory node is appended. An allocation gets its piece and address (*range is its row), a free node
 * is asked whether there is such a piece. */
VS_MUST_CHECK vs_sim_error vs_sim_memory_node_begin(vs_sim *sim, vs_sim_work *work, uint32_t *range);
/* When the node is there. A free node gives the piece back if the node that made it is in the same graph. */
void vs_sim_memory_node_end(vs_sim *sim, vs_sim_graph *graph, uint32_t number);
/* A copy of the graph names its pieces too; a graph that goes no longer does. */
void vs_sim_ranges_keep(vs_sim *sim, const vs_sim_graph *graph);
void vs_sim_ranges_let_go(vs_sim *sim, const vs_sim_graph *graph);
/* Before a launch: takes and gives what comes and goes inside of it, and refuses it while its last memory is
 * used. */
VS_MUST_CHECK vs_sim_error vs_sim_ranges_rehearse(vs_sim *sim, const vs_sim_exec *exec);
/* A memory node is launched. */
void vs_sim_memory_node_launch(vs_sim *sim, const vs_sim_graph_node *node);

/* ---- what sim.c does with each part --------------------------------------------------------------------
 *
 * Captures end before the events and streams that they name, and these before the graphs. */

/* Ends, without a graph, all captures with a stream of the device. */
void vs_sim_captures_drop(vs_sim *sim, uint32_t device);
void vs_sim_events_drop(vs_sim *sim, uint32_t device);
/* All pieces of a device are gone: what still names them can no longer be launched. */
void vs_sim_ranges_drop(vs_sim *sim, uint32_t device);

/* Makes the default streams. sim->host and sim->device_count are set, sim->streams is zero.
 * Fails: VS_SIM_OUT_OF_MEMORY, and then there is nothing to deinit. */
VS_MUST_CHECK vs_sim_error vs_sim_streams_init(vs_sim *sim, vs_sim_event_rule rule);
void vs_sim_streams_deinit(vs_sim *sim);
/* Ends created streams of the device; its default streams are as new. */
void vs_sim_streams_reset(vs_sim *sim, uint32_t device);
bool vs_sim_streams_check(const vs_sim *sim);

/* All that is left, without callbacks. */
void vs_sim_graphs_deinit(vs_sim *sim);
bool vs_sim_graphs_check(const vs_sim *sim);

#endif
