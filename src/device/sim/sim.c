#include "device/sim/graph_internal.h"
#include "device/sim/memory_internal.h"

/* ---- init and deinit ----------------------------------------------------------------------------------- */

static void deinit_memory(vs_sim *sim) {
  vs_sim_pools_deinit(sim);
  vs_sim_memory_deinit(sim);
}

static vs_sim_error init_parts(vs_sim *sim, vs_sim_event_rule rule) {
  VS_SIM_TRY(vs_sim_memory_init(sim));
  vs_sim_error error = vs_sim_pools_init(sim);
  if (error == VS_SIM_OK) error = vs_sim_streams_init(sim, rule);
  if (error != VS_SIM_OK) deinit_memory(sim);
  return error;
}

vs_sim_error vs_sim_init(vs_sim *sim, const vs_host *host, vs_sim_machine *machine, uint32_t slot,
                         const vs_sim_hooks *hooks, vs_sim_event_rule rule) {
  VS_ASSERT(machine->card_count <= VS_SIM_MAX_DEVICES && slot < machine->process_limit);
  *sim = (vs_sim){.host = host, .machine = machine, .slot = slot, .device_count = machine->card_count};
  for (uint32_t d = 0; d < machine->card_count; d++) sim->cards[d] = d;
  if (hooks != NULL) sim->hooks = *hooks;
  return init_parts(sim, rule);
}

vs_sim_error vs_sim_show(vs_sim *sim, const uint32_t *cards, uint32_t count) {
  VS_ASSERT(count <= sim->machine->card_count);
  const vs_sim_event_rule rule = sim->streams.rule;
  vs_sim_deinit(sim);
  sim->device_count = count;
  for (uint32_t d = 0; d < count; d++) sim->cards[d] = cards[d];
  return init_parts(sim, rule);
}

void vs_sim_deinit(vs_sim *sim) {
  vs_sim_captures_drop(sim, VS_SIM_ALL_DEVICES);
  vs_sim_events_drop(sim, VS_SIM_ALL_DEVICES);
  vs_sim_streams_deinit(sim);
  vs_sim_graphs_deinit(sim);
  deinit_memory(sim);
}

vs_sim_error vs_sim_device_reset(vs_sim *sim, uint32_t device) {
  if (device >= sim->device_count) return VS_SIM_INVALID_DEVICE;
  vs_sim_captures_drop(sim, device);
  vs_sim_events_drop(sim, device);
  vs_sim_ranges_drop(sim, device);
  vs_sim_streams_reset(sim, device);
  vs_sim_pools_reset(sim, device);
  vs_sim_vmm_reset(sim, device);
  vs_sim_memory_reset(sim, device);
  return VS_SIM_OK;
}

bool vs_sim_check(vs_sim *sim) {
  if (!vs_sim_ranges_check(sim) || !vs_sim_streams_check(sim) || !vs_sim_graphs_check(sim)) return false;
  for (uint32_t d = 0; d < sim->device_count; d++) {
    uint64_t physical, chunks;
    if (!vs_sim_vmm_check(sim, d, &physical) || !vs_sim_pools_check(sim, d, &chunks)) return false;
    if (!vs_sim_window_check(sim, d, physical, chunks)) return false;
  }
  return true;
}

/* ---- a plain free -------------------------------------------------------------------------------------- */

vs_sim_error vs_sim_free(vs_sim *sim, uint64_t address, vs_sim_range *was) {
  const vs_sim_range *found = vs_sim_range_from(sim, &sim->memory.by_base, address);
  if (found == NULL) return VS_SIM_INVALID_VALUE;
  const vs_sim_range range = *found;
  switch (range.kind) {
    case VS_SIM_RANGE_DEVICE:
    case VS_SIM_RANGE_MANAGED: vs_sim_range_free(sim, &range); break;
    case VS_SIM_RANGE_POOL: {
      vs_sim_error error = vs_sim_graph_free(sim, address);
      if (error == VS_SIM_NOT_FOUND) error = vs_sim_pool_free(sim, address);
      VS_SIM_TRY(error);
      vs_sim_pools_synchronize(sim, range.device); /* cudaFree synchronises the device */
      break;
    }
    default: return VS_SIM_INVALID_VALUE;
  }
  if (was != NULL) *was = range;
  return VS_SIM_OK;
}

/* ---- queries and synchronisation, at which pools release memory ----------------------------------------- */

/* Finds a stream for a query or synchronisation, which invalidates a capture. */
static vs_sim_error ask_stream(vs_sim *sim, uint32_t device, uint64_t handle, vs_sim_stream **stream) {
  *stream = vs_sim_stream_find(sim, device, handle);
  if (*stream == NULL) return VS_SIM_INVALID_HANDLE;
  VS_SIM_TRY(vs_sim_stream_use(sim, *stream));
  if ((*stream)->capture == NULL) return VS_SIM_OK;
  (*stream)->capture->is_invalid = true;
  return VS_SIM_CAPTURE_UNSUPPORTED;
}

vs_sim_error vs_sim_stream_query(vs_sim *sim, uint32_t device, uint64_t handle) {
  vs_sim_stream *stream;
  VS_SIM_TRY(ask_stream(sim, device, handle, &stream));
  return vs_sim_stream_is_done(sim, stream) ? VS_SIM_OK : VS_SIM_NOT_READY;
}

vs_sim_error vs_sim_stream_synchronize(vs_sim *sim, uint32_t device, uint64_t handle) {
  vs_sim_stream *stream;
  VS_SIM_TRY(ask_stream(sim, device, handle, &stream));
  vs_sim_stream_complete(sim, stream);
  vs_sim_pools_synchronize(sim, stream->device);
  return VS_SIM_OK;
}

vs_sim_error vs_sim_device_synchronize(vs_sim *sim, uint32_t device) {
  if (device >= sim->device_count) return VS_SIM_INVALID_DEVICE;
  VS_SIM_TRY(vs_sim_device_use(sim, device));
  vs_sim_streams_complete(sim, device);
  vs_sim_pools_synchronize(sim, device);
  return VS_SIM_OK;
}

static vs_sim_error ask_event(vs_sim *sim, const vs_sim_thread *thread, vs_sim_event *event) {
  if (event == NULL) return VS_SIM_INVALID_HANDLE;
  if (event->capture_id != 0) {
    vs_sim_capture *capture = vs_sim_capture_of(sim, event);
    if (capture != NULL) capture->is_invalid = true;
    return VS_SIM_CAPTURED_EVENT;
  }
  return vs_sim_unsafe_call(sim, thread);
}

vs_sim_error vs_sim_event_query(vs_sim *sim, const vs_sim_thread *thread, uint64_t handle) {
  vs_sim_event *event = vs_sim_event_find(sim, handle);
  VS_SIM_TRY(ask_event(sim, thread, event));
  return vs_sim_event_is_complete(sim, event) ? VS_SIM_OK : VS_SIM_NOT_READY;
}

vs_sim_error vs_sim_event_synchronize(vs_sim *sim, const vs_sim_thread *thread, uint64_t handle) {
  vs_sim_event *event = vs_sim_event_find(sim, handle);
  VS_SIM_TRY(ask_event(sim, thread, event));
  if (event->is_recorded) vs_sim_point_complete(sim, &event->at);
  vs_sim_pools_synchronize(sim, event->device);
  return VS_SIM_OK;
}
