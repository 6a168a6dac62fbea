#include "device/sim/graph_internal.h"

/* ---- which calls a capture forbids ---- */

/* Whether a stream of this capture is ordered with the legacy stream of `device`. */
static bool is_beside_legacy(const vs_sim_capture *capture, uint32_t device) {
  for (size_t i = 0; i < capture->streams.count; i++) {
    const vs_sim_stream *stream = capture->streams.data[i];
    if (stream->device == device && (stream->flags & VS_SIM_STREAM_NON_BLOCKING) == 0) return true;
  }
  return false;
}

static bool has_device(const vs_sim_capture *capture, uint32_t device) {
  for (size_t i = 0; i < capture->streams.count; i++)
    if (capture->streams.data[i]->device == device) return true;
  return false;
}

/* Whether `stream` is a legacy stream that would have to wait for captured streams of its device. */
static bool is_implicit(const vs_sim *sim, const vs_sim_stream *stream, bool invalidate) {
  const vs_sim_graphs *graphs = &sim->graphs;
  bool found = false;
  if (!stream->is_legacy || graphs->live_captures == 0) return false;
  for (size_t row = 0; row < graphs->captures.count; row++) {
    vs_sim_capture *capture = graphs->captures.data[row];
    if (capture == NULL || !is_beside_legacy(capture, stream->device)) continue;
    found = true;
    capture->is_invalid = capture->is_invalid || invalidate;
  }
  return found;
}

vs_sim_error vs_sim_stream_use(vs_sim *sim, const vs_sim_stream *stream) {
  if (stream->capture != NULL && stream->capture->is_invalid) return VS_SIM_CAPTURE_INVALIDATED;
  return is_implicit(sim, stream, true) ? VS_SIM_CAPTURE_IMPLICIT : VS_SIM_OK;
}

vs_sim_error vs_sim_device_use(vs_sim *sim, uint32_t device) {
  const vs_sim_graphs *graphs = &sim->graphs;
  vs_sim_error error = VS_SIM_OK;
  for (size_t row = 0; graphs->live_captures != 0 && row < graphs->captures.count; row++) {
    vs_sim_capture *capture = graphs->captures.data[row];
    if (capture == NULL || !has_device(capture, device)) continue;
    capture->is_invalid = true;
    error = VS_SIM_CAPTURE_UNSUPPORTED;
  }
  return error;
}

static bool is_prohibited(const vs_sim_capture *capture, const vs_sim_thread *thread) {
  if (thread->mode == VS_SIM_CAPTURE_RELAXED) return false;
  if (capture->thread == thread->id) return capture->mode != VS_SIM_CAPTURE_RELAXED;
  return capture->mode == VS_SIM_CAPTURE_GLOBAL && thread->mode == VS_SIM_CAPTURE_GLOBAL;
}

vs_sim_error vs_sim_unsafe_call(vs_sim *sim, const vs_sim_thread *thread) {
  const vs_sim_graphs *graphs = &sim->graphs;
  vs_sim_error error = VS_SIM_OK;
  if (thread == NULL) return VS_SIM_INVALID_VALUE;
  for (size_t row = 0; graphs->live_captures != 0 && row < graphs->captures.count; row++) {
    vs_sim_capture *capture = graphs->captures.data[row];
    if (capture == NULL || !is_prohibited(capture, thread)) continue;
    capture->is_invalid = true;
    error = VS_SIM_CAPTURE_UNSUPPORTED;
  }
  return error;
}

vs_sim_error vs_sim_exchange_capture_mode(vs_sim_thread *thread, vs_sim_capture_mode *mode) {
  if (thread == NULL || mode == NULL || (uint32_t)*mode > VS_SIM_CAPTURE_RELAXED) return VS_SIM_INVALID_VALUE;
  const vs_sim_capture_mode was = thread->mode;
  thread->mode = *mode;
  *mode = was;
  return VS_SIM_OK;
}

/* ---- begin ---- */

static void drop_capture(vs_sim *sim, vs_sim_capture *capture) {
  vs_vec_free(sim->host, &capture->streams);
  vs_host_free(sim->host, capture, sizeof *capture);
}

/* A capture with a row and space for its origin; it is in no list yet. */
static vs_sim_error new_capture(vs_sim *sim, vs_sim_capture **out) {
  vs_sim_graphs *graphs = &sim->graphs;
  if (vs_vec_reserve(sim->host, &graphs->captures, 1) != VS_OK) return VS_SIM_OUT_OF_MEMORY;
  vs_sim_capture *capture = vs_host_alloc(sim->host, sizeof *capture);
  if (capture == NULL) return VS_SIM_OUT_OF_MEMORY;
  *capture = (vs_sim_capture){0};
  vs_sim_error error = VS_SIM_OK;
  if (vs_vec_reserve(sim->host, &capture->streams, 1) != VS_OK) error = VS_SIM_OUT_OF_MEMORY;
  if (error == VS_SIM_OK)
    error = vs_sim_numbers_take(sim->host, &graphs->capture_rows, VS_SIM_HANDLES_MOST, &capture->row);
  if (error != VS_SIM_OK) drop_capture(sim, capture);
  else *out = capture;
  return error;
}

void vs_sim_capture_enter(vs_sim_capture *capture, vs_sim_stream *stream) {
  capture->streams.data[capture->streams.count++] = stream;
  stream->capture = capture;
}

/* Starts the capture into `graph`, behind the stream's frontier. Everything it needs is allocated. */
static vs_sim_error begin(vs_sim *sim, const vs_sim_thread *thread, vs_sim_stream *stream,
                          vs_sim_graph *graph, vs_sim_capture_mode mode, bool owns_graph) {
  vs_sim_graphs *graphs = &sim->graphs;
  vs_sim_capture *capture;
  VS_SIM_TRY(new_capture(sim, &capture));
  capture->id = ++graphs->last_capture_id;
  capture->mode = mode;
  capture->thread = thread->id;
  capture->owns_graph = owns_graph;
  capture->graph = graph;
  capture->origin = stream;
  graph->is_captured = true;
  vs_sim_capture_enter(capture, stream);
  if (capture->row == graphs->captures.count) graphs->captures.count++;
  graphs->captures.data[capture->row] = capture;
  graphs->live_captures++;
  return VS_SIM_OK;
}

static vs_sim_error check_begin(vs_sim *sim, const vs_sim_thread *thread, uint32_t device, uint64_t handle,
                                vs_sim_capture_mode mode, vs_sim_stream **stream) {
  *stream = vs_sim_stream_find(sim, device, handle);
  if (*stream == NULL) return VS_SIM_INVALID_HANDLE;
  if (thread == NULL || (uint32_t)mode > VS_SIM_CAPTURE_RELAXED) return VS_SIM_INVALID_VALUE;
  if ((*stream)->is_legacy) return VS_SIM_CAPTURE_UNSUPPORTED;
  if ((*stream)->capture != NULL) return VS_SIM_ILLEGAL_STATE;
  (*stream)->frontier.count = 0;
  return VS_SIM_OK;
}

vs_sim_error vs_sim_capture_begin(vs_sim *sim, const vs_sim_thread *thread, uint32_t device, uint64_t handle,
                                  vs_sim_capture_mode mode) {
  vs_sim_stream *stream;
  VS_SIM_TRY(check_begin(sim, thread, device, handle, mode, &stream));
  VS_SIM_TRY(vs_sim_fault_step(sim, VS_SIM_FAULT_GRAPH));
  vs_sim_graph *graph = vs_sim_graph_new(sim);
  if (graph == NULL) return VS_SIM_OUT_OF_MEMORY;
  vs_sim_error error = vs_sim_graph_publish(sim, graph);
  if (error == VS_SIM_OK) error = begin(sim, thread, stream, graph, mode, true);
  if (error != VS_SIM_OK) vs_sim_graph_drop(sim, graph);
  return error;
}

/* Adds the nodes to the frontier, each once. Fails, without a change, unless all are nodes of the graph. */
static vs_sim_error add_dependencies(vs_sim *sim, vs_sim_stream *stream, vs_sim_graph *graph,
                                     const uint64_t *nodes, size_t count) {
  uint32_t number;
  if (count != 0 && nodes == NULL) return VS_SIM_INVALID_VALUE;
  for (size_t i = 0; i < count; i++)
    if (vs_sim_graph_of_node(sim, nodes[i], &number) != graph) return VS_SIM_INVALID_VALUE;
  const size_t most = count < graph->nodes.count ? count : graph->nodes.count;
  if (vs_vec_reserve(sim->host, &stream->frontier, most) != VS_OK) return VS_SIM_OUT_OF_MEMORY;
  vs_sim_graph_unmark(graph);
  for (size_t i = 0; i < stream->frontier.count; i++) (void)vs_sim_node_mark(graph, stream->frontier.data[i]);
  for (size_t i = 0; i < count; i++) {
    (void)vs_sim_graph_of_node(sim, nodes[i], &number);
    if (vs_sim_node_mark(graph, number)) stream->frontier.data[stream->frontier.count++] = number;
  }
  return VS_SIM_OK;
}

vs_sim_error vs_sim_capture_begin_to(vs_sim *sim, const vs_sim_thread *thread, uint32_t device,
                                     uint64_t stream_handle, uint64_t graph_handle,
                                     const uint64_t *dependencies, size_t count, vs_sim_capture_mode mode) {
  vs_sim_stream *stream;
  vs_sim_graph *graph = vs_sim_graph_find(sim, graph_handle);
  VS_SIM_TRY(check_begin(sim, thread, device, stream_handle, mode, &stream));
  if (graph == NULL) return VS_SIM_INVALID_HANDLE;
  if (graph->is_captured) return VS_SIM_ILLEGAL_STATE;
  if (graph->parent != NULL) return VS_SIM_NOT_SUPPORTED;
  VS_SIM_TRY(add_dependencies(sim, stream, graph, dependencies, count));
  return begin(sim, thread, stream, graph, mode, false);
}

/* ---- end ---- */

/* Ends the capture: all streams leave. Without `keep`, a graph that the capture made is dropped. */
static void finish(vs_sim *sim, vs_sim_capture *capture, bool keep) {
  vs_sim_graphs *graphs = &sim->graphs;
  for (size_t i = 0; i < capture->streams.count; i++) {
    VS_ASSERT(capture->streams.data[i]->capture == capture);
    capture->streams.data[i]->capture = NULL;
    capture->streams.data[i]->frontier.count = 0;
  }
  VS_ASSERT(capture->graph->is_captured && graphs->captures.data[capture->row] == capture);
  VS_ASSERT(graphs->live_captures > 0);
  capture->graph->is_captured = false;
  if (!keep && capture->owns_graph) vs_sim_graph_drop(sim, capture->graph);
  graphs->captures.data[capture->row] = NULL;
  vs_sim_numbers_give(&graphs->capture_rows, capture->row);
  graphs->live_captures--;
  drop_capture(sim, capture);
}

void vs_sim_captures_drop(vs_sim *sim, uint32_t device) {
  vs_sim_graphs *graphs = &sim->graphs;
  for (size_t row = 0; row < graphs->captures.count; row++) {
    vs_sim_capture *capture = graphs->captures.data[row];
    if (capture != NULL && (device == VS_SIM_ALL_DEVICES || has_device(capture, device)))
      finish(sim, capture, false);
  }
}

/* Whether the origin's next work would depend on the last work of every stream. */
static vs_sim_error check_joined(vs_sim *sim, vs_sim_capture *capture) {
  vs_sim_graph *graph = capture->graph;
  VS_ASSERT(capture->streams.count > 0 && capture->streams.data[0] == capture->origin);
  vs_sim_graph_unmark(graph);
  for (size_t i = 0; i < capture->origin->frontier.count; i++)
    (void)vs_sim_node_mark(graph, capture->origin->frontier.data[i]);
  VS_SIM_TRY(vs_sim_graph_mark_needs(sim, graph));
  for (size_t s = 0; s < capture->streams.count; s++) {
    const vs_sim_stream *stream = capture->streams.data[s];
    for (size_t i = 0; i < stream->frontier.count; i++)
      if (graph->nodes.data[stream->frontier.data[i]].mark != graph->epoch) return VS_SIM_CAPTURE_UNJOINED;
  }
  return VS_SIM_OK;
}

vs_sim_error vs_sim_capture_end(vs_sim *sim, const vs_sim_thread *thread, uint32_t device,
                                uint64_t stream_handle, uint64_t *graph) {
  if (thread == NULL || graph == NULL) return VS_SIM_INVALID_VALUE;
  *graph = 0;
  vs_sim_stream *stream = vs_sim_stream_find(sim, device, stream_handle);
  if (stream == NULL) return VS_SIM_INVALID_HANDLE;
  vs_sim_capture *capture = stream->capture;
  if (capture == NULL) return VS_SIM_ILLEGAL_STATE;
  if (capture->origin != stream) return VS_SIM_CAPTURE_UNMATCHED;
  if (capture->mode != VS_SIM_CAPTURE_RELAXED && capture->thread != thread->id)
    return VS_SIM_CAPTURE_WRONG_THREAD;
  vs_sim_error error = VS_SIM_CAPTURE_INVALIDATED;
  if (!capture->is_invalid) error = check_joined(sim, capture);
  if (error == VS_SIM_OUT_OF_MEMORY) return error;
  if (error == VS_SIM_OK) *graph = capture->graph->handle;
  finish(sim, capture, error == VS_SIM_OK);
  return error;
}

/* ---- queries, and explicit dependencies ---- */

vs_sim_capture *vs_sim_capture_of(const vs_sim *sim, const vs_sim_event *event) {
  if (event->capture_id == 0 || event->capture_row >= sim->graphs.captures.count) return NULL;
  vs_sim_capture *capture = sim->graphs.captures.data[event->capture_row];
  return capture != NULL && capture->id == event->capture_id ? capture : NULL;
}

vs_sim_error vs_sim_stream_capture_info(vs_sim *sim, uint32_t device, uint64_t handle,
                                        vs_sim_capture_info *info) {
  const vs_sim_stream *stream = vs_sim_stream_find(sim, device, handle);
  if (stream == NULL) return VS_SIM_INVALID_HANDLE;
  if (info == NULL) return VS_SIM_INVALID_VALUE;
  if (is_implicit(sim, stream, false)) return VS_SIM_CAPTURE_IMPLICIT;
  *info = (vs_sim_capture_info){.status = VS_SIM_NOT_CAPTURED};
  if (stream->capture == NULL) return VS_SIM_OK;
  info->status = stream->capture->is_invalid ? VS_SIM_CAPTURE_INVALID : VS_SIM_CAPTURE_ACTIVE;
  if (stream->capture->is_invalid) return VS_SIM_OK;
  info->id = stream->capture->id;
  info->graph = stream->capture->graph->handle;
  info->dependency_count = stream->frontier.count;
  return VS_SIM_OK;
}

uint64_t vs_sim_capture_dependency(const vs_sim *sim, uint32_t device, uint64_t stream, size_t i) {
  const vs_sim_stream *s = vs_sim_stream_find(sim, device, stream);
  if (s == NULL || s->capture == NULL || i >= s->frontier.count) return 0;
  return vs_sim_node_handle(sim, s->capture->graph, s->frontier.data[i]);
}

vs_sim_error vs_sim_capture_update(vs_sim *sim, uint32_t device, uint64_t handle,
                                   const uint64_t *dependencies, size_t count, vs_sim_dependencies how) {
  vs_sim_stream *stream = vs_sim_stream_find(sim, device, handle);
  if (stream == NULL) return VS_SIM_INVALID_HANDLE;
  if (how != VS_SIM_DEPENDENCIES_ADD && how != VS_SIM_DEPENDENCIES_SET) return VS_SIM_INVALID_VALUE;
  VS_SIM_TRY(vs_sim_stream_use(sim, stream));
  if (stream->capture == NULL) return VS_SIM_ILLEGAL_STATE;
  const size_t was = stream->frontier.count;
  if (how == VS_SIM_DEPENDENCIES_SET) stream->frontier.count = 0;
  const vs_sim_error error = add_dependencies(sim, stream, stream->capture->graph, dependencies, count);
  if (error != VS_SIM_OK) stream->frontier.count = was;
  return error;
}
