/* Work that a program gives to a stream: a node in a capture, else it takes effect now. */
#include "device/sim/graph_internal.h"

/* ---- launches, copies, host functions ---- */

vs_sim_error vs_sim_capture_node(vs_sim *sim, vs_sim_stream *stream, const vs_sim_work *work,
                                 vs_sim_graph *child, uint32_t *number) {
  if (vs_vec_reserve(sim->host, &stream->frontier, 1) != VS_OK) return VS_SIM_OUT_OF_MEMORY;
  VS_SIM_TRY(vs_sim_graph_append(sim, stream->capture->graph, stream->frontier.data, stream->frontier.count,
                                 work, child, number));
  VS_ASSERT(stream->frontier.capacity > 0 && *number < stream->capture->graph->nodes.count);
  stream->frontier.data[0] = *number;
  stream->frontier.count = 1;
  return VS_SIM_OK;
}

static bool is_work(vs_sim_node_kind kind) {
  return kind == VS_SIM_NODE_KERNEL || kind == VS_SIM_NODE_MEMCPY || kind == VS_SIM_NODE_MEMSET ||
         kind == VS_SIM_NODE_HOST || kind == VS_SIM_NODE_EMPTY;
}

vs_sim_error vs_sim_work_add(vs_sim *sim, uint32_t device, uint64_t handle, const vs_sim_work *work,
                             bool *captured) {
  uint32_t number;
  vs_sim_stream *stream = vs_sim_stream_find(sim, device, handle);
  if (stream == NULL) return VS_SIM_INVALID_HANDLE;
  if (work == NULL || !is_work(work->kind)) return VS_SIM_INVALID_VALUE;
  VS_SIM_TRY(vs_sim_stream_use(sim, stream));
  if (stream->capture != NULL) VS_SIM_TRY(vs_sim_capture_node(sim, stream, work, NULL, &number));
  else vs_sim_stream_advance(sim, stream);
  if (captured != NULL) *captured = stream->capture != NULL;
  return VS_SIM_OK;
}

vs_sim_error vs_sim_op(vs_sim *sim, uint32_t device, uint64_t stream, vs_sim_node_kind kind) {
  return vs_sim_work_add(sim, device, stream, &(vs_sim_work){.kind = kind}, NULL);
}

vs_sim_error vs_sim_op_uncapturable(vs_sim *sim, uint32_t device, uint64_t handle) {
  vs_sim_stream *stream = vs_sim_stream_find(sim, device, handle);
  if (stream == NULL) return VS_SIM_INVALID_HANDLE;
  VS_SIM_TRY(vs_sim_stream_use(sim, stream));
  if (stream->capture != NULL) {
    stream->capture->is_invalid = true;
    return VS_SIM_CAPTURE_UNSUPPORTED;
  }
  vs_sim_stream_advance(sim, stream);
  return VS_SIM_OK;
}

/* ---- records and waits ---- */

/* Records an event on a captured stream. */
static vs_sim_error record_captured(vs_sim *sim, vs_sim_stream *stream, vs_sim_event *event, uint32_t flags) {
  uint32_t number;
  if (flags == VS_SIM_EVENT_EXTERNAL) {
    const vs_sim_work work = {.kind = VS_SIM_NODE_EVENT_RECORD, .object = event->handle};
    return vs_sim_capture_node(sim, stream, &work, NULL, &number);
  }
  const size_t count = stream->frontier.count, had = event->frontier.count;
  if (vs_vec_reserve(sim->host, &event->frontier, count > had ? count - had : 0) != VS_OK)
    return VS_SIM_OUT_OF_MEMORY;
  event->is_recorded = false;
  event->capture_id = stream->capture->id;
  event->capture_row = stream->capture->row;
  event->frontier.count = count;
  if (count != 0) memcpy(event->frontier.data, stream->frontier.data, count * sizeof(uint32_t));
  return VS_SIM_OK;
}

/* Adds the event's frontier to the stream's. */
static vs_sim_error merge(vs_sim *sim, vs_sim_stream *stream, const vs_sim_event *event) {
  vs_sim_graph *graph = stream->capture->graph;
  VS_ASSERT(vs_sim_capture_of(sim, event) == stream->capture);
  if (vs_vec_reserve(sim->host, &stream->frontier, event->frontier.count) != VS_OK)
    return VS_SIM_OUT_OF_MEMORY;
  vs_sim_graph_unmark(graph);
  for (size_t i = 0; i < stream->frontier.count; i++) (void)vs_sim_node_mark(graph, stream->frontier.data[i]);
  for (size_t i = 0; i < event->frontier.count; i++)
    if (vs_sim_node_mark(graph, event->frontier.data[i]))
      stream->frontier.data[stream->frontier.count++] = event->frontier.data[i];
  return VS_SIM_OK;
}

static vs_sim_error wait_captured(vs_sim *sim, vs_sim_stream *stream, const vs_sim_event *event,
                                  uint32_t flags) {
  uint32_t number;
  VS_SIM_TRY(vs_sim_stream_use(sim, stream));
  if (flags == VS_SIM_EVENT_EXTERNAL) {
    const vs_sim_work work = {.kind = VS_SIM_NODE_EVENT_WAIT, .object = event->handle};
    return vs_sim_capture_node(sim, stream, &work, NULL, &number);
  }
  if (event->capture_id == 0 && !event->is_recorded)
    return VS_SIM_OK; /* a never recorded event is complete */
  vs_sim_capture *capture = vs_sim_capture_of(sim, event);
  if (capture == stream->capture) return merge(sim, stream, event);
  stream->capture->is_invalid = true;
  if (event->capture_id == 0) return VS_SIM_CAPTURE_ISOLATION;
  if (capture == NULL) return VS_SIM_CAPTURED_EVENT;
  capture->is_invalid = true;
  return VS_SIM_CAPTURE_MERGE;
}

/* A stream that is not captured waits for an event of a capture, and so joins it. */
static vs_sim_error join(vs_sim *sim, vs_sim_stream *stream, const vs_sim_event *event) {
  vs_sim_capture *capture = vs_sim_capture_of(sim, event);
  if (capture == NULL) return VS_SIM_CAPTURED_EVENT;
  if (capture->is_invalid) return VS_SIM_CAPTURE_INVALIDATED;
  if (stream->is_legacy) {
    capture->is_invalid = true;
    return VS_SIM_CAPTURE_IMPLICIT;
  }
  stream->frontier.count = 0;
  if (vs_vec_reserve(sim->host, &capture->streams, 1) != VS_OK ||
      vs_vec_reserve(sim->host, &stream->frontier, event->frontier.count) != VS_OK)
    return VS_SIM_OUT_OF_MEMORY;
  vs_sim_capture_enter(capture, stream);
  return merge(sim, stream, event);
}

vs_sim_error vs_sim_event_record(vs_sim *sim, uint32_t device, uint64_t event_handle, uint64_t stream_handle,
                                 uint32_t flags) {
  vs_sim_event *event = vs_sim_event_find(sim, event_handle);
  vs_sim_stream *stream = vs_sim_stream_find(sim, device, stream_handle);
  if (event == NULL || stream == NULL || event->device != stream->device) return VS_SIM_INVALID_HANDLE;
  if ((flags & ~(uint32_t)VS_SIM_EVENT_EXTERNAL) != 0) return VS_SIM_INVALID_VALUE;
  VS_SIM_TRY(vs_sim_stream_use(sim, stream));
  if (stream->capture != NULL) return record_captured(sim, stream, event, flags);
  if (flags != 0) return VS_SIM_INVALID_VALUE;
  vs_sim_event_record_now(sim, event, stream);
  return VS_SIM_OK;
}

vs_sim_error vs_sim_stream_wait_event(vs_sim *sim, uint32_t device, uint64_t stream_handle,
                                      uint64_t event_handle, uint32_t flags) {
  vs_sim_event *event = vs_sim_event_find(sim, event_handle);
  vs_sim_stream *stream = vs_sim_stream_find(sim, device, stream_handle);
  if (event == NULL || stream == NULL) return VS_SIM_INVALID_HANDLE;
  if ((flags & ~(uint32_t)VS_SIM_EVENT_EXTERNAL) != 0) return VS_SIM_INVALID_VALUE;
  if (stream->capture != NULL) return wait_captured(sim, stream, event, flags);
  if (flags != 0) return VS_SIM_INVALID_VALUE;
  if (event->capture_id != 0) return join(sim, stream, event);
  VS_SIM_TRY(vs_sim_stream_use(sim, stream));
  VS_SIM_TRY(vs_sim_stream_waits_reserve(sim, stream, 1));
  vs_sim_stream_wait_now(sim, stream, event);
  return VS_SIM_OK;
}

/* ---- stream-ordered memory ---- */

vs_sim_error vs_sim_alloc_async(vs_sim *sim, uint32_t device, uint64_t handle, uint64_t pool, uint64_t size,
                                uint64_t *address) {
  uint32_t number;
  vs_sim_stream *stream = vs_sim_stream_find(sim, device, handle);
  if (stream == NULL) return VS_SIM_INVALID_HANDLE;
  if (address == NULL) return VS_SIM_INVALID_VALUE;
  VS_SIM_TRY(vs_sim_stream_use(sim, stream));
  if (stream->capture != NULL) {
    const vs_sim_work work = {.kind = VS_SIM_NODE_MEM_ALLOC, .device = stream->device, .operand = size};
    VS_SIM_TRY(vs_sim_capture_node(sim, stream, &work, NULL, &number));
    *address = stream->capture->graph->nodes.data[number].work.object;
    return VS_SIM_OK;
  }
  if (pool == 0) pool = vs_sim_pool_current(sim, stream->device);
  VS_SIM_TRY(vs_sim_pool_alloc(sim, pool, size, address));
  vs_sim_stream_advance(sim, stream);
  return VS_SIM_OK;
}

vs_sim_error vs_sim_free_async(vs_sim *sim, uint32_t device, uint64_t handle, uint64_t address) {
  uint32_t number;
  vs_sim_stream *stream = vs_sim_stream_find(sim, device, handle);
  if (stream == NULL) return VS_SIM_INVALID_HANDLE;
  VS_SIM_TRY(vs_sim_stream_use(sim, stream));
  if (stream->capture != NULL) {
    const vs_sim_work work = {.kind = VS_SIM_NODE_MEM_FREE, .object = address};
    return vs_sim_capture_node(sim, stream, &work, NULL, &number);
  }
  vs_sim_error error = vs_sim_graph_free(sim, address);
  if (error == VS_SIM_NOT_FOUND) error = vs_sim_pool_free(sim, address);
  if (error == VS_SIM_OK) vs_sim_stream_advance(sim, stream);
  return error;
}
