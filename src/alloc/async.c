#include "alloc/async.h"
#include "alloc/size_text.h"
#include "alloc/statistics.h"
#include "base/map.h"

const char *const vs_async_unsupported[] = {"recordHistory",
                                            "snapshot",
                                            "createOrIncrefPool",
                                            "getPoolUseCount",
                                            "setUseOnOOM",
                                            "setNoSplit",
                                            "checkPoolLiveAllocations",
                                            "getCheckpointState",
                                            "setCheckpointPoolState",
                                            "attachOutOfMemoryObserver",
                                            "attachOomRejectionObserver",
                                            "attachAllocatorTraceTracker",
                                            "allocateWithAddress",
                                            "getExpandableSegmentSizes",
                                            "shareIpcHandle",
                                            "getIpcDevPtr",
                                            "resetAccumulatedStats",
                                            NULL};

typedef struct use {
  uint64_t stream, event; /* the event is recorded when the block is freed */
} use;

/* An allocation, until it is freed in the driver. */
typedef struct block {
  uint64_t address, size, stream;
  vs_context context;
  VS_VEC(use) uses; /* of other streams */
} block;

typedef struct failure {
  bool is_there;
  uint64_t wanted, size, limit, device_free, device_total; /* `wanted` of all allocations, without this one */
} failure;

/* Invariant: by_address holds the indices of allocated blocks, `waiting` those of blocks that were freed and that other
 * streams may still use; each block is in one of them or spare; `waiting` has room for all of them. */
struct vs_async {
  const vs_host *host;
  vs_device device;
  vs_observer observer;
  double fraction;
  uint64_t limit, wanted;
  VS_VEC(block) blocks; /* a spare one has address 0 */
  VS_VEC(uint32_t) spare, waiting;
  VS_VEC(uint64_t)
  events; /* spare ones, created once and recorded often; it has room for all that were created */
  size_t made;
  vs_map by_address;
  bool has_peaks; /* peaks are counted here since they were reset: the driver's cannot be reset */
  uint64_t used_peak, reserved_peak;
  failure failure;
};

/* ---- creating ---------------------------------------------------------------------------------------- */

vs_status vs_async_create(const vs_host *host, const vs_device *device, const vs_alloc_settings *settings,
                          const vs_observer *observer, vs_async **out) {
  vs_async *async = vs_host_alloc(host, sizeof *async);
  if (async == NULL) return VS_NO_MEMORY;
  *async = (vs_async){.host = host, .device = *device, .fraction = 1, .limit = UINT64_MAX};
  if (observer != NULL) async->observer = *observer;
  (void)settings; /* PyTorch reads no key here, not even per_process_memory_fraction */
  *out = async;
  return VS_OK;
}

void vs_async_destroy(vs_async *async) {
  if (async == NULL) return;
  const vs_device *device = &async->device;
  for (size_t i = 0; i < async->blocks.count; i++) {
    block *b = &async->blocks.data[i];
    for (size_t u = 0; u < b->uses.count; u++)
      (void)device->ops->event_destroy(device->ctx, b->uses.data[u].event);
    vs_vec_free(async->host, &b->uses);
  }
  for (size_t i = 0; i < async->events.count; i++)
    (void)device->ops->event_destroy(device->ctx, async->events.data[i]);
  vs_vec_free(async->host, &async->blocks);
  vs_vec_free(async->host, &async->spare);
  vs_vec_free(async->host, &async->waiting);
  vs_vec_free(async->host, &async->events);
  vs_map_deinit(async->host, &async->by_address);
  vs_host_free(async->host, async, sizeof *async);
}

vs_status vs_async_fraction_set(vs_async *async, double fraction) {
  if (!(fraction >= 0 && fraction <= 1)) return VS_BAD_ARGUMENT;
  async->fraction = fraction;
  async->limit = (uint64_t)(fraction * (double)async->device.total_bytes);
  return VS_OK;
}

double vs_async_fraction(const vs_async *async) { return async->fraction; }

/* ---- blocks -------------------------------------------------------------------------------------------- */

static void tell(const vs_async *async, vs_event_kind kind, const block *b, vs_context context) {
  if (async->observer.event == NULL) return;
  const vs_event event = {.address = b->address,
                          .size = b->size,
                          .rounded = b->size,
                          .stream = b->stream,
                          .context = context != VS_CONTEXT_NONE ? context : b->context,
                          .kind = kind};
  async->observer.event(async->observer.ctx, &event);
}

/* Makes room for one more block in every list. */
static vs_status make_room(vs_async *async) {
  VS_TRY(vs_map_reserve(async->host, &async->by_address));
  if (async->spare.count > 0) return VS_OK;
  VS_TRY(vs_vec_reserve(async->host, &async->blocks, 1));
  VS_TRY(vs_vec_reserve(async->host, &async->spare, async->blocks.count + 1));
  VS_TRY(vs_vec_reserve(async->host, &async->waiting, async->blocks.count + 1 - async->waiting.count));
  async->blocks.data[async->blocks.count] = (block){0};
  async->spare.data[async->spare.count++] = (uint32_t)async->blocks.count++;
  return VS_OK;
}

static block *find(vs_async *async, uint64_t address, size_t *slot) {
  *slot = vs_map_find(&async->by_address, address);
  return *slot == VS_MAP_NONE ? NULL : &async->blocks.data[async->by_address.slots[*slot].value];
}

/* Makes a block spare that the driver freed and that is in no list. */
static void forget(vs_async *async, uint32_t index, vs_context context) {
  block *b = &async->blocks.data[index];
  VS_ASSERT(b->address != 0 && b->uses.count == 0 && async->spare.count < async->spare.capacity);
  tell(async, VS_EVENT_FREE_COMPLETED, b, context);
  b->address = 0;
  async->spare.data[async->spare.count++] = index;
}

static vs_status driver_free(const vs_async *async, const block *b) {
  return vs_device_status(async->device.ops->async_free(async->device.ctx, b->address, b->stream));
}

/* ---- other streams ------------------------------------------------------------------------------------- */

vs_status vs_async_record_stream(vs_async *async, uint64_t address, uint64_t stream) {
  size_t slot;
  block *b = find(async, address, &slot);
  if (b == NULL) return VS_NOT_FOUND;
  if (stream == b->stream) return VS_OK;
  for (size_t i = 0; i < b->uses.count; i++)
    if (b->uses.data[i].stream == stream) return VS_OK;
  VS_TRY(vs_vec_reserve(async->host, &b->uses, 1));
  VS_TRY(vs_vec_reserve(async->host, &async->events, async->made + 1 - async->events.count));
  uint64_t event;
  if (async->events.count > 0) {
    event = async->events.data[--async->events.count];
  } else {
    VS_TRY(vs_device_status(async->device.ops->event_create(async->device.ctx, &event)));
    async->made++;
  }
  b->uses.data[b->uses.count++] = (use){stream, event};
  return VS_OK;
}

/* Removes the uses that are done; `waits`: waits for all of them. */
static vs_status finish_uses(vs_async *async, block *b, bool waits) {
  const vs_device *device = &async->device;
  while (b->uses.count > 0) {
    const uint64_t event = b->uses.data[b->uses.count - 1].event;
    const vs_device_result result = waits ? device->ops->event_synchronize(device->ctx, event)
                                          : device->ops->event_query(device->ctx, event);
    if (result == VS_DEVICE_NOT_READY) return VS_OK;
    VS_TRY(vs_device_status(result));
    b->uses.count--;
    VS_ASSERT(async->events.count < async->events.capacity);
    async->events.data[async->events.count++] = event;
  }
  return VS_OK;
}

static vs_status finish_waiting(vs_async *async, bool waits, vs_context context) {
  for (size_t i = 0; i < async->waiting.count;) {
    const uint32_t index = async->waiting.data[i];
    block *b = &async->blocks.data[index];
    VS_TRY(finish_uses(async, b, waits));
    if (b->uses.count > 0) {
      i++;
      continue;
    }
    VS_TRY(driver_free(async, b));
    forget(async, index, context);
    async->waiting.count--;
    memmove(&async->waiting.data[i], &async->waiting.data[i + 1], (async->waiting.count - i) * sizeof index);
  }
  return VS_OK;
}

vs_status vs_async_poll(vs_async *async, vs_context context) { return finish_waiting(async, false, context); }

/* ---- allocation ---------------------------------------------------------------------------------------- */

static vs_status fail(vs_async *async, uint64_t size) {
  failure *f = &async->failure;
  *f = (failure){.is_there = true, .wanted = async->wanted, .size = size, .limit = async->limit};
  VS_TRY(
      vs_device_status(async->device.ops->memory_info(async->device.ctx, &f->device_free, &f->device_total)));
  return VS_DEVICE_MEMORY;
}

/* Peaks rise only with an allocation. The allocation succeeds even if the figures cannot be measured. */
static void raise_peaks(vs_async *async) {
  vs_async_figures figures;
  if (async->has_peaks && vs_async_measure(async, &figures) != VS_OK) return;
}

vs_status vs_async_malloc(vs_async *async, uint64_t size, uint64_t stream, vs_context context,
                          uint64_t *address) {
  *address = 0;
  if (size == 0) return VS_OK;
  VS_TRY(finish_waiting(async, false, context));
  VS_TRY(make_room(async));
  uint64_t wanted;
  if (!vs_add_u64(async->wanted, size, &wanted) || wanted > async->limit) return fail(async, size);
  uint64_t got;
  const vs_device_result result = async->device.ops->async_alloc(async->device.ctx, size, stream, &got);
  if (result == VS_DEVICE_OUT_OF_MEMORY) return fail(async, size);
  VS_TRY(vs_device_status(result));
  VS_ASSERT(async->spare.count > 0);
  const uint32_t index = async->spare.data[--async->spare.count];
  block *b = &async->blocks.data[index];
  b->address = got;
  b->size = size;
  b->stream = stream;
  b->context = context;
  vs_map_add(&async->by_address, got, index);
  async->wanted = wanted;
  *address = got;
  tell(async, VS_EVENT_ALLOC, b, context);
  raise_peaks(async);
  return VS_OK;
}

vs_status vs_async_free(vs_async *async, uint64_t address, vs_context context) {
  size_t slot;
  if (address == 0) return VS_OK;
  block *b = find(async, address, &slot);
  if (b == NULL) return VS_NOT_FOUND;
  const vs_device *device = &async->device;
  for (size_t i = 0; i < b->uses.count; i++)
    VS_TRY(vs_device_status(
        device->ops->event_record(device->ctx, b->uses.data[i].event, b->uses.data[i].stream)));
  if (b->uses.count == 0) VS_TRY(driver_free(async, b));
  const uint32_t index = async->by_address.slots[slot].value;
  vs_map_remove(&async->by_address, slot);
  VS_ASSERT(async->wanted >= b->size);
  async->wanted -= b->size;
  tell(async, VS_EVENT_FREE_REQUESTED, b, context);
  if (b->uses.count > 0) async->waiting.data[async->waiting.count++] = index;
  else forget(async, index, context);
  return VS_OK;
}

vs_status vs_async_empty_cache(vs_async *async, vs_context context) {
  VS_TRY(finish_waiting(async, true, context));
  return vs_device_status(async->device.ops->async_trim(async->device.ctx, 0));
}

/* ---- figures ------------------------------------------------------------------------------------------- */

vs_status vs_async_measure(vs_async *async, vs_async_figures *figures) {
  vs_async_figures f = {.wanted = async->wanted, .waiting = async->waiting.count};
  const vs_device *device = &async->device;
  VS_TRY(vs_device_status(
      device->ops->async_info(device->ctx, &f.used, &f.used_peak, &f.reserved, &f.reserved_peak)));
  if (async->has_peaks) {
    f.used_peak = async->used_peak = vs_max_u64(async->used_peak, f.used);
    f.reserved_peak = async->reserved_peak = vs_max_u64(async->reserved_peak, f.reserved);
  }
  *figures = f;
  return VS_OK;
}

vs_status vs_async_reset_peak(vs_async *async) {
  vs_async_figures f;
  VS_TRY(vs_async_measure(async, &f));
  async->has_peaks = true;
  async->used_peak = f.used;
  async->reserved_peak = f.reserved;
  return VS_OK;
}

typedef struct without_totals {
  vs_status (*visit)(void *ctx, vs_str key, int64_t value);
  void *ctx;
} without_totals;

/* There are no totals, so what is computed from a total is 0. */
static vs_status visit_without_totals(void *ctx, vs_str key, int64_t value) {
  const without_totals *next = ctx;
  static const vs_str freed = {".freed", 6};
  const bool is_freed =
      key.size > freed.size && vs_str_equal((vs_str){key.data + key.size - freed.size, freed.size}, freed);
  return next->visit(next->ctx, key, is_freed ? 0 : value);
}

vs_status vs_async_visit(const vs_async_figures *figures, const vs_alloc_settings *settings,
                         vs_status (*visit)(void *ctx, vs_str key, int64_t value), void *ctx) {
  static const vs_alloc_group used[] = {VS_ALLOC_ALLOCATED_BYTES, VS_ALLOC_ACTIVE_BYTES};
  vs_alloc_statistics statistics = {0};
  vs_alloc_figures *all = &statistics.part[VS_ALLOC_ALL];
  for (size_t i = 0; i < 2; i++) {
    all->current[used[i]] = (int64_t)figures->used;
    all->peak[used[i]] = (int64_t)figures->used_peak;
  }
  all->current[VS_ALLOC_RESERVED_BYTES] = (int64_t)figures->reserved;
  all->peak[VS_ALLOC_RESERVED_BYTES] = (int64_t)figures->reserved_peak;
  without_totals next = {visit, ctx};
  return vs_alloc_statistics_visit(&statistics, NULL, 0, settings, visit_without_totals, &next);
}

vs_status vs_async_oom_write(const vs_async *async, vs_text *out) {
  const failure *f = &async->failure;
  if (!f->is_there) return out->status;
  vs_text_format(
      out, "Allocation on device %u would exceed allowed memory. (out of memory)\nCurrently allocated     : ",
      async->device.index);
  vs_alloc_write_size(out, f->wanted);
  vs_text_cstr(out, "\nRequested               : ");
  vs_alloc_write_size(out, f->size);
  vs_text_cstr(out, "\nDevice limit            : ");
  vs_alloc_write_size(out, f->device_total);
  vs_text_cstr(out, "\nFree (according to CUDA): ");
  vs_alloc_write_size(out, f->device_free);
  vs_text_cstr(out, "\nPyTorch limit (set by user-supplied memory fraction)\n                        : ");
  vs_alloc_write_size(out, f->limit);
  return out->status;
}
