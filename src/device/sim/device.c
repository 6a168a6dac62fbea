#include "device/sim/device.h"

/* Thread id for the allocator's own calls. No other thread has it, so captures of other threads never match. */
#define THREAD (UINT64_MAX - 1)

/* ---- answers */

/* `memory`: the result for "out of memory", because the simulation has one error for the card's and the host's memory. */
static vs_device_result answer(vs_sim_device *device, vs_sim_error error, vs_device_result memory) {
  if (error == VS_SIM_OK) return VS_DEVICE_OK;
  device->last = error;
  switch (error) {
    case VS_SIM_OUT_OF_MEMORY: return memory;
    case VS_SIM_NOT_READY: return VS_DEVICE_NOT_READY;
    case VS_SIM_NOT_SUPPORTED: return VS_DEVICE_NOT_SUPPORTED;
    default: return VS_DEVICE_FAILED;
  }
}

static vs_device_result of_card(vs_sim_device *device, vs_sim_error error) {
  return answer(device, error, VS_DEVICE_OUT_OF_MEMORY);
}

static vs_device_result of_host(vs_sim_device *device, vs_sim_error error) {
  return answer(device, error, VS_DEVICE_NO_HOST_MEMORY);
}

static const char *words(vs_sim_error error) {
  switch (error) {
    case VS_SIM_OK: return "no error";
    case VS_SIM_INVALID_VALUE: return "invalid argument";
    case VS_SIM_OUT_OF_MEMORY: return "out of memory";
    case VS_SIM_INVALID_DEVICE: return "invalid device ordinal";
    case VS_SIM_INVALID_CONTEXT: return "invalid device context";
    case VS_SIM_INVALID_HANDLE: return "invalid resource handle";
    case VS_SIM_ILLEGAL_STATE: return "the object is not in a state for this call";
    case VS_SIM_NOT_FOUND: return "not found";
    case VS_SIM_NOT_READY: return "not ready";
    case VS_SIM_NOT_SUPPORTED: return "operation not supported";
    case VS_SIM_CAPTURE_UNSUPPORTED: return "not permitted while a stream is capturing";
    case VS_SIM_CAPTURE_INVALIDATED: return "the capture failed because of an earlier error";
    case VS_SIM_CAPTURE_IMPLICIT: return "the legacy stream would depend on a capturing stream";
    case VS_SIM_CAPTURED_EVENT: return "the event was last recorded in a capturing stream";
    default: return "the simulated driver refused";
  }
}

static int64_t last_code(void *ctx, const char **text) {
  const vs_sim_device *device = ctx;
  if (text != NULL) *text = words(device->last);
  return device->last;
}

/* ---- segments and figures */

static vs_device_result alloc(void *ctx, uint64_t size, uint64_t *address) {
  vs_sim_device *device = ctx;
  return of_card(device, vs_sim_alloc(device->sim, device->device.index, size, address));
}

static vs_device_result free_segment(void *ctx, uint64_t address) {
  vs_sim_device *device = ctx;
  return of_host(device, vs_sim_free(device->sim, address, NULL));
}

static vs_device_result memory_info(void *ctx, uint64_t *free_bytes, uint64_t *total_bytes) {
  vs_sim_device *device = ctx;
  return of_card(device, vs_sim_memory_info(device->sim, device->device.index, free_bytes, total_bytes));
}

/* ---- virtual memory */

/* A lack of addresses is reported like a lack of memory of the card. */
static vs_device_result reserve(void *ctx, uint64_t size, uint64_t *address) {
  vs_sim_device *device = ctx;
  return of_card(device, vs_sim_reserve(device->sim, size, 0, 0, address));
}

static vs_device_result unreserve(void *ctx, uint64_t address, uint64_t size) {
  vs_sim_device *device = ctx;
  return of_host(device, vs_sim_unreserve(device->sim, address, size));
}

static vs_device_result create(void *ctx, uint64_t size, uint64_t *handle) {
  vs_sim_device *device = ctx;
  return of_card(device, vs_sim_physical_create(device->sim, device->device.index, size, 0, handle));
}

static vs_device_result release(void *ctx, uint64_t handle) {
  vs_sim_device *device = ctx;
  return of_host(device, vs_sim_physical_release(device->sim, handle));
}

static vs_device_result map(void *ctx, uint64_t address, uint64_t size, uint64_t handle) {
  vs_sim_device *device = ctx;
  return of_host(device, vs_sim_map(device->sim, address, size, 0, handle));
}

static vs_device_result give_access(void *ctx, uint64_t address, uint64_t size) {
  vs_sim_device *device = ctx;
  return of_host(
      device, vs_sim_access_set(device->sim, address, size, device->device.index, VS_SIM_ACCESS_READ_WRITE));
}

static vs_device_result unmap(void *ctx, uint64_t address, uint64_t size) {
  vs_sim_device *device = ctx;
  return of_host(device, vs_sim_unmap(device->sim, address, size));
}

/* ---- time */

static vs_device_result event_create(void *ctx, uint64_t *event) {
  vs_sim_device *device = ctx;
  return of_host(device,
                 vs_sim_event_create(device->sim, device->device.index, VS_SIM_EVENT_NO_TIMING, event));
}

static vs_device_result event_destroy(void *ctx, uint64_t event) {
  vs_sim_device *device = ctx;
  return of_host(device, vs_sim_event_destroy(device->sim, event));
}

static vs_device_result event_record(void *ctx, uint64_t event, uint64_t stream) {
  vs_sim_device *device = ctx;
  return of_host(device, vs_sim_event_record(device->sim, device->device.index, event, stream, 0));
}

static vs_device_result event_query(void *ctx, uint64_t event) {
  vs_sim_device *device = ctx;
  return of_host(device, vs_sim_event_query(device->sim, &device->thread, event));
}

static vs_device_result event_synchronize(void *ctx, uint64_t event) {
  vs_sim_device *device = ctx;
  return of_host(device, vs_sim_event_synchronize(device->sim, &device->thread, event));
}

static vs_device_result stream_synchronize(void *ctx, uint64_t stream) {
  vs_sim_device *device = ctx;
  return of_host(device, vs_sim_stream_synchronize(device->sim, device->device.index, stream));
}

/* ---- capture */

static vs_device_result capture_info(void *ctx, uint64_t stream, vs_device_capture *capture) {
  vs_sim_device *device = ctx;
  const uint32_t index = device->device.index;
  vs_sim_capture_info info = {0};
  *capture = (vs_device_capture){0};
  const vs_sim_error error = vs_sim_stream_capture_info(device->sim, index, stream, &info);
  if (error != VS_SIM_OK) return of_host(device, error);
  if (info.status == VS_SIM_CAPTURE_INVALID) return of_host(device, VS_SIM_CAPTURE_INVALIDATED);
  if (info.status != VS_SIM_CAPTURE_ACTIVE) return VS_DEVICE_OK;
  device->nodes.count = 0;
  if (vs_vec_reserve(device->sim->host, &device->nodes, info.dependency_count) != VS_OK)
    return of_host(device, VS_SIM_OUT_OF_MEMORY);
  for (size_t i = 0; i < info.dependency_count; i++)
    device->nodes.data[device->nodes.count++] = vs_sim_capture_dependency(device->sim, index, stream, i);
  *capture = (vs_device_capture){true, info.graph, device->nodes.data, device->nodes.count};
  return VS_DEVICE_OK;
}

static vs_device_result needs(void *ctx, uint64_t graph, uint64_t node, const uint64_t **nodes,
                              uint64_t *count) {
  vs_sim_device *device = ctx;
  size_t room = 0;
  (void)graph; /* the node's handle contains it */
  *nodes = NULL;
  *count = 0;
  vs_sim_error error = vs_sim_node_dependencies(device->sim, node, NULL, &room);
  if (error != VS_SIM_OK) return of_host(device, error);
  device->needed.count = 0;
  if (vs_vec_reserve(device->sim->host, &device->needed, room) != VS_OK)
    return of_host(device, VS_SIM_OUT_OF_MEMORY);
  if (room > 0) error = vs_sim_node_dependencies(device->sim, node, device->needed.data, &room);
  if (error != VS_SIM_OK) return of_host(device, error);
  device->needed.count = room;
  *nodes = device->needed.data;
  *count = room;
  return VS_DEVICE_OK;
}

/* ---- stream-ordered memory */

static uint64_t pool_of(const vs_sim_device *device) {
  return vs_sim_pool_default(device->sim, device->device.index);
}

/* Makes the pool keep its memory until it is trimmed, as PyTorch's allocator configures it. */
static vs_device_result async_alloc(void *ctx, uint64_t size, uint64_t stream, uint64_t *address) {
  vs_sim_device *device = ctx;
  if (!device->keeps_pool) {
    const vs_sim_error error =
        vs_sim_pool_set(device->sim, pool_of(device), VS_SIM_POOL_RELEASE_THRESHOLD, UINT64_MAX);
    if (error != VS_SIM_OK) return of_host(device, error);
    device->keeps_pool = true;
  }
  return of_card(
      device, vs_sim_alloc_async(device->sim, device->device.index, stream, pool_of(device), size, address));
}

static vs_device_result async_free(void *ctx, uint64_t address, uint64_t stream) {
  vs_sim_device *device = ctx;
  return of_host(device, vs_sim_free_async(device->sim, device->device.index, stream, address));
}

static vs_device_result async_trim(void *ctx, uint64_t keep) {
  vs_sim_device *device = ctx;
  return of_host(device, vs_sim_pool_trim(device->sim, pool_of(device), keep));
}

static vs_device_result async_info(void *ctx, uint64_t *used, uint64_t *used_peak, uint64_t *reserved,
                                   uint64_t *reserved_peak) {
  vs_sim_device *device = ctx;
  const vs_sim_pool *pool = vs_sim_pool_find(device->sim, pool_of(device));
  if (pool == NULL) return of_host(device, VS_SIM_INVALID_DEVICE);
  *used = pool->used;
  *used_peak = pool->used_high;
  *reserved = pool->reserved;
  *reserved_peak = pool->reserved_high;
  return VS_DEVICE_OK;
}

static const vs_device_ops ops = {
    .alloc = alloc,
    .free = free_segment,
    .memory_info = memory_info,
    .reserve = reserve,
    .unreserve = unreserve,
    .create = create,
    .release = release,
    .map = map,
    .access = give_access,
    .unmap = unmap,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_query = event_query,
    .event_synchronize = event_synchronize,
    .stream_synchronize = stream_synchronize,
    .capture_info = capture_info,
    .needs = needs,
    .async_alloc = async_alloc,
    .async_free = async_free,
    .async_trim = async_trim,
    .async_info = async_info,
    .last_code = last_code,
};

void vs_sim_device_init(vs_sim_device *device, vs_sim *sim, uint32_t index) {
  VS_ASSERT(index < sim->device_count);
  *device = (vs_sim_device){
      .device = {.ops = &ops,
                 .ctx = device,
                 .index = index,
                 .total_bytes = sim->machine->cards[sim->cards[index]].figures.total_bytes},
      .sim = sim,
      .thread = {.id = THREAD, .mode = VS_SIM_CAPTURE_RELAXED},
  };
}

void vs_sim_device_deinit(vs_sim_device *device) {
  vs_vec_free(device->sim->host, &device->nodes);
  vs_vec_free(device->sim->host, &device->needed);
}
