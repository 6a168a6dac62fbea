#include "analyze/replay_device.h"

#include "alloc/adopt.h"

#define GRANULE      (UINT64_C(2) << 20)
#define MOST_ADDRESS (UINT64_MAX - GRANULE + 1)
#define MOST_PAGES   (UINT64_C(1) << 26)

enum { NO_REFUSAL = UINT32_MAX, NO_SPARE = UINT32_MAX };

vs_status vs_replay_device_init(const vs_host *host, vs_replay_device *device) {
  *device = (vs_replay_device){
      .host = host,
      .spare = NO_SPARE,
      .refused_at = NO_REFUSAL,
      .pages_left = MOST_PAGES,
      .most_work = UINT64_MAX,
      .capacity = UINT64_MAX,
  };
  VS_TRY(vs_sim_free_set_reserve(host, &device->free_addresses, 1));
  (void)vs_sim_free_set_put(&device->free_addresses, (vs_sim_span){GRANULE, MOST_ADDRESS - GRANULE},
                            (vs_sim_span){0, MOST_ADDRESS});
  return VS_OK;
}

void vs_replay_device_deinit(vs_replay_device *device) {
  vs_sim_free_set_deinit(device->host, &device->free_addresses);
  vs_vec_free(device->host, &device->ranges);
  vs_map_deinit(device->host, &device->by_address);
  vs_vec_free(device->host, &device->completions);
}

/* ---- ranges -------------------------------------------------------------------------------------------- */

static vs_status range_add(vs_replay_device *device, uint64_t address, uint64_t size) {
  VS_TRY(vs_map_reserve(device->host, &device->by_address));
  VS_TRY(vs_vec_reserve(device->host, &device->ranges, 1));
  VS_TRY(vs_sim_free_set_reserve(device->host, &device->free_addresses, device->by_address.count + 3));
  uint32_t at = device->spare;
  if (at == NO_SPARE) at = (uint32_t)device->ranges.count++;
  else device->spare = (uint32_t)device->ranges.data[at].address;
  device->ranges.data[at] = (vs_replay_range){address, size};
  vs_map_add(&device->by_address, address, at);
  vs_sim_free_set_cut(&device->free_addresses, address, size);
  return VS_OK;
}

/* The bytes of the range that began there; 0 if there is none. */
static uint64_t range_take(vs_replay_device *device, uint64_t address) {
  const size_t slot = vs_map_find(&device->by_address, address);
  if (slot == VS_MAP_NONE) return 0;
  const uint32_t at = device->by_address.slots[slot].value;
  const uint64_t size = device->ranges.data[at].size;
  vs_map_remove(&device->by_address, slot);
  device->ranges.data[at] = (vs_replay_range){.address = device->spare};
  device->spare = at;
  (void)vs_sim_free_set_put(&device->free_addresses, (vs_sim_span){address, size},
                            (vs_sim_span){0, MOST_ADDRESS});
  return size;
}

static bool is_free(const vs_replay_device *device, uint64_t address, uint64_t size) {
  return size != 0 && address <= MOST_ADDRESS && size <= MOST_ADDRESS - address &&
         vs_sim_free_set_cover(&device->free_addresses, address, size);
}

vs_status vs_replay_device_put(vs_replay_device *device, uint64_t address, uint64_t size, uint64_t bytes) {
  if (!is_free(device, address, size)) return VS_BAD_ARGUMENT;
  VS_TRY(range_add(device, address, size));
  device->used += bytes;
  return VS_OK;
}

void vs_replay_device_take(vs_replay_device *device, uint64_t address) { (void)range_take(device, address); }

/* A range at `wanted` if that is possible (0: anywhere), else at the lowest address that fits. */
static vs_device_result range_make(vs_replay_device *device, uint64_t size, uint64_t wanted,
                                   uint64_t *address) {
  const uint64_t granules = size / GRANULE + (size % GRANULE != 0);
  *address = wanted;
  if ((wanted == 0 || !is_free(device, wanted, size)) &&
      !vs_sim_free_set_first(&device->free_addresses, granules * GRANULE, GRANULE, address))
    return VS_DEVICE_OUT_OF_MEMORY;
  return range_add(device, *address, size) == VS_OK ? VS_DEVICE_OK : VS_DEVICE_NO_HOST_MEMORY;
}

/* ---- which requests get memory ----------------------------------------------------------------------------------- */

/* The next step of the request that gives memory; NULL if there is none. */
static const vs_replay_step *next_giving(const vs_replay_device *device) {
  for (uint32_t i = device->next; i < device->end; i++)
    if (vs_replay_gives(device->steps[i].kind)) return &device->steps[i];
  return NULL;
}

/* Whether the device may give memory now. */
static bool may_give(vs_replay_device *device, uint64_t size) {
  if (size > device->capacity || device->used > device->capacity - size) return false;
  if (!device->follows) return true;
  if (device->next == device->end) return !device->must_fail;
  if (vs_replay_gives(device->steps[device->next].kind)) return true;
  if (device->refused_at == device->next) return next_giving(device) != NULL || !device->must_fail;
  device->refused_at = device->next;
  return false;
}

static uint64_t recorded_address(const vs_replay_device *device, vs_event_kind kind) {
  const vs_replay_step *step = device->follows ? next_giving(device) : NULL;
  return step != NULL && step->kind == kind ? step->address : 0;
}

static vs_device_result segment_alloc(void *ctx, uint64_t size, uint64_t *address) {
  vs_replay_device *device = ctx;
  if (!may_give(device, size)) return VS_DEVICE_OUT_OF_MEMORY;
  const vs_device_result result =
      range_make(device, size, recorded_address(device, VS_EVENT_SEGMENT_ALLOC), address);
  if (result == VS_DEVICE_OK) device->used += size;
  return result;
}

static vs_device_result segment_free(void *ctx, uint64_t address) {
  vs_replay_device *device = ctx;
  device->used -= range_take(device, address);
  return VS_DEVICE_OK;
}

static vs_device_result memory_info(void *ctx, uint64_t *free_bytes, uint64_t *total_bytes) {
  const vs_replay_device *device = ctx;
  *free_bytes = device->capacity - vs_min_u64(device->used, device->capacity);
  *total_bytes = device->capacity;
  return VS_DEVICE_OK;
}

/* ---- pages: a handle is its size ----------------------------------------------------------------------- */

static vs_device_result reserve(void *ctx, uint64_t size, uint64_t *address) {
  vs_replay_device *device = ctx;
  return range_make(device, size, recorded_address(device, VS_EVENT_SEGMENT_MAP), address);
}

static vs_device_result unreserve(void *ctx, uint64_t address, uint64_t size) {
  (void)size;
  vs_replay_device_take(ctx, address);
  return VS_DEVICE_OK;
}

static vs_device_result create(void *ctx, uint64_t size, uint64_t *handle) {
  vs_replay_device *device = ctx;
  if (device->pages_left == 0 || !may_give(device, size)) return VS_DEVICE_OUT_OF_MEMORY;
  device->pages_left--;
  device->used += size;
  *handle = size;
  return VS_DEVICE_OK;
}

static vs_device_result release(void *ctx, uint64_t handle) {
  vs_replay_device *device = ctx;
  device->used -= handle == VS_ALLOC_ADOPTED_HANDLE ? device->last_unmapped : handle;
  return VS_DEVICE_OK;
}

static vs_device_result map(void *ctx, uint64_t address, uint64_t size, uint64_t handle) {
  (void)ctx, (void)address, (void)size, (void)handle;
  return VS_DEVICE_OK;
}

/* Called once for a range that was mapped. */
static vs_device_result set_access(void *ctx, uint64_t address, uint64_t size) {
  vs_replay_device *device = ctx;
  (void)address, (void)size;
  device->work += device->unmapped;
  if (device->unmapped > 0) device->unmapped--;
  return device->work > device->most_work ? VS_DEVICE_FAILED : VS_DEVICE_OK;
}

static vs_device_result unmap(void *ctx, uint64_t address, uint64_t size) {
  vs_replay_device *device = ctx;
  (void)address;
  device->last_unmapped = size;
  return VS_DEVICE_OK;
}

/* ---- time ---------------------------------------------------------------------------------------------- */

static vs_device_result event_create(void *ctx, uint64_t *event) {
  vs_replay_device *device = ctx;
  if (vs_vec_reserve(device->host, &device->completions, 1) != VS_OK) return VS_DEVICE_NO_HOST_MEMORY;
  device->completions.data[device->completions.count++] = VS_NO_EVENT;
  *event = device->completions.count;
  return VS_DEVICE_OK;
}

static vs_device_result event_destroy(void *ctx, uint64_t event) {
  (void)ctx, (void)event;
  return VS_DEVICE_OK;
}

static vs_device_result event_record(void *ctx, uint64_t event, uint64_t stream) {
  vs_replay_device *device = ctx;
  (void)stream;
  device->completions.data[event - 1] = device->completes_at;
  return VS_DEVICE_OK;
}

static vs_device_result event_query(void *ctx, uint64_t event) {
  const vs_replay_device *device = ctx;
  return device->completions.data[event - 1] < device->now ? VS_DEVICE_OK : VS_DEVICE_NOT_READY;
}

static vs_device_result event_synchronize(void *ctx, uint64_t event) {
  (void)ctx, (void)event;
  return VS_DEVICE_OK;
}

/* Called once for a range that is unmapped. */
static vs_device_result stream_synchronize(void *ctx, uint64_t stream) {
  vs_replay_device *device = ctx;
  (void)stream;
  device->work += device->unmapped++;
  return device->work > device->most_work ? VS_DEVICE_FAILED : VS_DEVICE_OK;
}

/* ---- calls that leave nothing in a recording --------------------------------------------------------------------------- */

static vs_device_result capture_info(void *ctx, uint64_t stream, vs_device_capture *capture) {
  const vs_replay_device *device = ctx;
  (void)stream;
  *capture = (vs_device_capture){.is_active = device->is_capturing};
  return VS_DEVICE_OK;
}

static vs_device_result needs(void *ctx, uint64_t graph, uint64_t node, const uint64_t **nodes,
                              uint64_t *count) {
  (void)ctx, (void)graph, (void)node, (void)nodes, (void)count;
  return VS_DEVICE_NOT_SUPPORTED;
}

static vs_device_result async_alloc(void *ctx, uint64_t size, uint64_t stream, uint64_t *address) {
  (void)ctx, (void)size, (void)stream, (void)address;
  return VS_DEVICE_NOT_SUPPORTED;
}

static vs_device_result async_free(void *ctx, uint64_t address, uint64_t stream) {
  (void)ctx, (void)address, (void)stream;
  return VS_DEVICE_NOT_SUPPORTED;
}

static vs_device_result async_trim(void *ctx, uint64_t keep) {
  (void)ctx, (void)keep;
  return VS_DEVICE_NOT_SUPPORTED;
}

static vs_device_result async_info(void *ctx, uint64_t *used, uint64_t *used_peak, uint64_t *reserved,
                                   uint64_t *reserved_peak) {
  (void)ctx, (void)used, (void)used_peak, (void)reserved, (void)reserved_peak;
  return VS_DEVICE_NOT_SUPPORTED;
}

static int64_t last_code(void *ctx, const char **text) {
  (void)ctx;
  *text = "";
  return 0;
}

const vs_device_ops vs_replay_device_ops = {
    .alloc = segment_alloc,
    .free = segment_free,
    .memory_info = memory_info,
    .reserve = reserve,
    .unreserve = unreserve,
    .create = create,
    .release = release,
    .map = map,
    .access = set_access,
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
