/* Shared by the files of captures, graphs, streams and events. */
#ifndef VS_DEVICE_SIM_GRAPH_INTERNAL_H
#define VS_DEVICE_SIM_GRAPH_INTERNAL_H

#include "device/sim/sim.h"

#define VS_SIM_ALL_DEVICES UINT32_MAX

/* ---- handles of graphs and nodes ---- */

static inline vs_sim_graph *vs_sim_graph_find(const vs_sim *sim, uint64_t handle) {
  return vs_sim_handle_find(&sim->graphs.graphs, VS_SIM_HANDLE_GRAPH, handle, NULL);
}

/* The graph of a node, and its number there; NULL for a wrong handle or a destroyed node. */
static inline vs_sim_graph *vs_sim_graph_of_node(const vs_sim *sim, uint64_t handle, uint32_t *number) {
  vs_sim_graph *graph = vs_sim_handle_find(&sim->graphs.graphs, VS_SIM_HANDLE_NODE, handle, number);
  if (graph == NULL || *number >= graph->nodes.count || graph->nodes.data[*number].is_gone) return NULL;
  return graph;
}

static inline uint64_t vs_sim_node_handle(const vs_sim *sim, const vs_sim_graph *graph, uint32_t number) {
  return vs_sim_handle_make(&sim->graphs.graphs, VS_SIM_HANDLE_NODE, graph->number, number);
}

/* ---- stream.c, event.c ---- */

/* Adds work to a stream that is not captured, and advances the clock. */
void vs_sim_stream_advance(vs_sim *sim, vs_sim_stream *stream);
/* Record and wait on a stream that is not captured. The wait needs space from vs_sim_stream_waits_reserve. */
void vs_sim_event_record_now(vs_sim *sim, vs_sim_event *event, vs_sim_stream *stream);
VS_MUST_CHECK vs_sim_error vs_sim_stream_waits_reserve(vs_sim *sim, vs_sim_stream *stream, size_t count);
void vs_sim_stream_wait_now(vs_sim *sim, vs_sim_stream *stream, const vs_sim_event *event);
/* The current end of a stream; whether a place is done; and completing it with all that it was ordered behind. */
vs_sim_point vs_sim_stream_point(const vs_sim_stream *stream);
bool vs_sim_point_is_done(const vs_sim *sim, const vs_sim_point *point);
void vs_sim_point_complete(vs_sim *sim, const vs_sim_point *point);
/* The same for all work of a stream, or of all streams of a device. */
bool vs_sim_stream_is_done(const vs_sim *sim, const vs_sim_stream *stream);
void vs_sim_stream_complete(vs_sim *sim, const vs_sim_stream *stream);
void vs_sim_streams_complete(vs_sim *sim, uint32_t device);
/* Whether an event that was not recorded in a capture is complete. */
bool vs_sim_event_is_complete(const vs_sim *sim, const vs_sim_event *event);

/* ---- capture.c ---- */

/* Called at the beginning of every use of a stream. Fails: 901 if its capture is invalid; 906 for a legacy stream while a
 * blocking stream of its device is captured, which invalidates that capture. */
VS_MUST_CHECK vs_sim_error vs_sim_stream_use(vs_sim *sim, const vs_sim_stream *stream);
/* Fails: 900 if a stream of the device is captured, which invalidates the capture. */
VS_MUST_CHECK vs_sim_error vs_sim_device_use(vs_sim *sim, uint32_t device);

/* The capture in which an event was recorded; NULL if it has ended. */
vs_sim_capture *vs_sim_capture_of(const vs_sim *sim, const vs_sim_event *event);
/* Adds the stream to the capture; capture->streams has space. */
void vs_sim_capture_enter(vs_sim_capture *capture, vs_sim_stream *stream);

/* ---- work.c ---- */

/* Adds a node behind the frontier of a captured stream; otherwise as vs_sim_graph_append. */
VS_MUST_CHECK vs_sim_error vs_sim_capture_node(vs_sim *sim, vs_sim_stream *stream, const vs_sim_work *work,
                                               vs_sim_graph *child, uint32_t *number);

/* ---- graph.c ---- */

/* An empty graph without a handle; NULL if there is no memory. */
vs_sim_graph *vs_sim_graph_new(vs_sim *sim);
/* Gives the graph a handle for the program. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_publish(vs_sim *sim, vs_sim_graph *graph);
/* Destroys the graph with its children, references and memory. */
void vs_sim_graph_drop(vs_sim *sim, vs_sim_graph *graph);
/* A copy with the same numbers and without a handle. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_copy(vs_sim *sim, const vs_sim_graph *graph, vs_sim_graph **copy);

/* Begins a walk: no node counts as visited. */
void vs_sim_graph_unmark(vs_sim_graph *graph);
/* Marks a node as visited in this walk; true if it was not before. */
static inline bool vs_sim_node_mark(vs_sim_graph *graph, uint32_t number) {
  const bool is_new = graph->nodes.data[number].mark != graph->epoch;
  graph->nodes.data[number].mark = graph->epoch;
  return is_new;
}
/* Marks all nodes that marked nodes depend on, directly or not. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_mark_needs(vs_sim *sim, vs_sim_graph *graph);
/* The live nodes of a graph without is_ordered, in topological order. `order` has space for all of them. If *count is less than
 * live_nodes, the edges close a cycle and `order` has no meaning. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_order(vs_sim *sim, const vs_sim_graph *graph, uint32_t *order,
                                              uint32_t *count);

/* Adds a node that depends on `count` different live nodes; `needs` does not point into graph->needs. On success the graph owns
 * `child` (may be NULL). An allocation node allocates its memory. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_append(vs_sim *sim, vs_sim_graph *graph, const uint32_t *needs,
                                               size_t count, const vs_sim_work *work, vs_sim_graph *child,
                                               uint32_t *number);
VS_MUST_CHECK vs_sim_error vs_sim_graph_set_work(const vs_sim *sim, vs_sim_graph *graph, uint32_t number,
                                                 const vs_sim_work *work);

/* ---- graph_object.c ---- */

VS_MUST_CHECK vs_sim_error vs_sim_callbacks_reserve(vs_sim *sim, size_t count);
void vs_sim_callback_push(vs_sim *sim, uint64_t function, uint64_t argument); /* there is space */
/* Release the graph's references to user objects, and copy them to a copy of the graph. */
void vs_sim_references_drop(vs_sim *sim, vs_sim_graph *graph);
VS_MUST_CHECK vs_sim_error vs_sim_references_copy(vs_sim *sim, const vs_sim_graph *from, vs_sim_graph *to);

/* ---- graph_memory.c ---- */

/* Called before a memory node is added. For an allocation it allocates the block and sets the address (*range is its row); for a
 * free node it checks that there is such a block. */
VS_MUST_CHECK vs_sim_error vs_sim_memory_node_begin(vs_sim *sim, vs_sim_work *work, uint32_t *range);
/* Called after the node was added. A free node frees the block if the node that allocated it is in the same graph. */
void vs_sim_memory_node_end(vs_sim *sim, vs_sim_graph *graph, uint32_t number);
/* Count a copy of the graph as a user of its blocks, and end that for a graph that is destroyed. */
void vs_sim_ranges_keep(vs_sim *sim, const vs_sim_graph *graph);
void vs_sim_ranges_let_go(vs_sim *sim, const vs_sim_graph *graph);
/* Called before a launch: allocates and frees the blocks that live only inside it. Fails while the memory of the last launch is
 * not freed. */
VS_MUST_CHECK vs_sim_error vs_sim_ranges_rehearse(vs_sim *sim, const vs_sim_exec *exec);
/* Launches a memory node. */
void vs_sim_memory_node_launch(vs_sim *sim, const vs_sim_graph_node *node);

/* ---- called by sim.c -----------------------------------------------------------------------------------
 *
 * Captures end before the events and streams that they refer to, and these before the graphs. */

/* Ends all captures with a stream of the device; their graphs are dropped. */
void vs_sim_captures_drop(vs_sim *sim, uint32_t device);
void vs_sim_events_drop(vs_sim *sim, uint32_t device);
/* Drops all blocks of a device: graphs that refer to them can no longer be launched. */
void vs_sim_ranges_drop(vs_sim *sim, uint32_t device);

/* Makes the default streams. sim->host and sim->device_count are set, sim->streams is zero.
 * Fails: VS_SIM_OUT_OF_MEMORY, and then there is nothing to deinit. */
VS_MUST_CHECK vs_sim_error vs_sim_streams_init(vs_sim *sim, vs_sim_event_rule rule);
void vs_sim_streams_deinit(vs_sim *sim);
/* Destroys the created streams of the device and resets its default streams. */
void vs_sim_streams_reset(vs_sim *sim, uint32_t device);
bool vs_sim_streams_check(const vs_sim *sim);

/* Frees everything, without callbacks. */
void vs_sim_graphs_deinit(vs_sim *sim);
bool vs_sim_graphs_check(const vs_sim *sim);

#endif
