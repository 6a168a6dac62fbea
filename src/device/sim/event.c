#include "device/sim/graph_internal.h"

static void drop_event(vs_sim *sim, vs_sim_event *event) {
  vs_sim_handles_remove(&sim->streams.events, event->number);
  vs_vec_free(sim->host, &event->frontier);
  vs_host_free(sim->host, event, sizeof *event);
}

void vs_sim_events_drop(vs_sim *sim, uint32_t device) {
  vs_sim_handles *events = &sim->streams.events;
  for (size_t i = 0; i < events->slots.count; i++) {
    vs_sim_event *event = events->slots.data[i].object;
    if (event != NULL && (device == VS_SIM_ALL_DEVICES || event->device == device)) drop_event(sim, event);
  }
}

vs_sim_event *vs_sim_event_find(const vs_sim *sim, uint64_t event) {
  return vs_sim_handle_find(&sim->streams.events, VS_SIM_HANDLE_EVENT, event, NULL);
}

vs_sim_error vs_sim_event_create(vs_sim *sim, uint32_t device, uint32_t flags, uint64_t *handle) {
  const uint32_t known = VS_SIM_EVENT_BLOCKING_SYNC | VS_SIM_EVENT_NO_TIMING | VS_SIM_EVENT_INTERPROCESS;
  if (device >= sim->device_count) return VS_SIM_INVALID_DEVICE;
  if (handle == NULL || (flags & ~known) != 0) return VS_SIM_INVALID_VALUE;
  if ((flags & VS_SIM_EVENT_INTERPROCESS) != 0 && (flags & VS_SIM_EVENT_NO_TIMING) == 0)
    return VS_SIM_INVALID_VALUE;
  VS_SIM_TRY(vs_sim_fault_step(sim, VS_SIM_FAULT_EVENT));
  vs_sim_event *event = vs_host_alloc(sim->host, sizeof *event);
  if (event == NULL) return VS_SIM_OUT_OF_MEMORY;
  *event = (vs_sim_event){.device = device, .flags = flags};
  const vs_sim_error error = vs_sim_handles_add(sim->host, &sim->streams.events, event, &event->number);
  if (error != VS_SIM_OK) {
    vs_host_free(sim->host, event, sizeof *event);
    return error;
  }
  event->handle = *handle = vs_sim_handle_make(&sim->streams.events, VS_SIM_HANDLE_EVENT, event->number, 0);
  return VS_SIM_OK;
}

vs_sim_error vs_sim_event_destroy(vs_sim *sim, uint64_t handle) {
  vs_sim_event *event = vs_sim_event_find(sim, handle);
  if (event == NULL) return VS_SIM_INVALID_HANDLE;
  drop_event(sim, event);
  return VS_SIM_OK;
}

/* ---- record and wait ---- */

void vs_sim_event_record_now(vs_sim *sim, vs_sim_event *event, vs_sim_stream *stream) {
  VS_ASSERT(stream->capture == NULL);
  vs_sim_stream_advance(sim, stream);
  event->is_recorded = true;
  event->capture_id = 0;
  event->frontier.count = 0;
  event->at = vs_sim_stream_point(stream);
  event->time_ns = sim->streams.clock_ns;
}

/* ---- queries ---- */

bool vs_sim_event_is_complete(const vs_sim *sim, const vs_sim_event *event) {
  return !event->is_recorded || vs_sim_point_is_done(sim, &event->at);
}

vs_sim_error vs_sim_event_elapsed(vs_sim *sim, uint64_t start_handle, uint64_t end_handle,
                                  int64_t *nanoseconds) {
  const vs_sim_event *start = vs_sim_event_find(sim, start_handle);
  const vs_sim_event *end = vs_sim_event_find(sim, end_handle);
  if (start == NULL || end == NULL || start->device != end->device) return VS_SIM_INVALID_HANDLE;
  if (nanoseconds == NULL) return VS_SIM_INVALID_VALUE;
  if (((start->flags | end->flags) & VS_SIM_EVENT_NO_TIMING) != 0) return VS_SIM_INVALID_HANDLE;
  if (start->capture_id != 0 || end->capture_id != 0) return VS_SIM_CAPTURED_EVENT;
  if (!start->is_recorded || !end->is_recorded) return VS_SIM_INVALID_HANDLE;
  if (!vs_sim_event_is_complete(sim, start) || !vs_sim_event_is_complete(sim, end)) return VS_SIM_NOT_READY;
  *nanoseconds = (int64_t)(end->time_ns - start->time_ns);
  return VS_SIM_OK;
}
