/* The two back ends of PyTorch's allocator behind one interface: native (alloc/alloc.h), and cudaMallocAsync
 * (alloc/async.h), which leaves nearly all decisions to the driver. The settings choose. With the second one `alloc` only
 * keeps the settings: it has no segments and no pools, and its figures are 0.
 *
 * The card's lock is held in all of these. */
#ifndef VS_LIVE_BACKEND_H
#define VS_LIVE_BACKEND_H

#include "alloc/async.h"
#include "live/state.h"

static inline bool vs_backend_is_async(const vs_live_device *device) {
  return __builtin_expect(device->async != NULL, 0);
}

static inline vs_status vs_backend_malloc(vs_live_device *device, uint64_t size, uint64_t stream,
                                          vs_context context, uint64_t *address) {
  return vs_backend_is_async(device) ? vs_async_malloc(device->async, size, stream, context, address)
                                     : vs_alloc_malloc(device->alloc, size, stream, context, address);
}

static inline vs_status vs_backend_free(vs_live_device *device, uint64_t address, vs_context context) {
  return vs_backend_is_async(device) ? vs_async_free(device->async, address, context)
                                     : vs_alloc_free(device->alloc, address, context);
}

static inline vs_status vs_backend_record_stream(vs_live_device *device, uint64_t address, uint64_t stream) {
  return vs_backend_is_async(device) ? vs_async_record_stream(device->async, address, stream)
                                     : vs_alloc_record_stream(device->alloc, address, stream);
}

static inline vs_status vs_backend_empty_cache(vs_live_device *device, vs_context context) {
  return vs_backend_is_async(device) ? vs_async_empty_cache(device->async, context)
                                     : vs_alloc_empty_cache(device->alloc, (vs_pool_id){0, 0}, context);
}

static inline vs_status vs_backend_fraction_set(vs_live_device *device, double fraction) {
  return vs_backend_is_async(device) ? vs_async_fraction_set(device->async, fraction)
                                     : vs_alloc_fraction_set(device->alloc, fraction);
}

static inline double vs_backend_fraction(const vs_live_device *device) {
  return vs_backend_is_async(device) ? vs_async_fraction(device->async) : vs_alloc_fraction(device->alloc);
}

/* The current figures: the allocator's own, or `room` filled with what the driver's pool tells, which is only the bytes
 * allocated and reserved, and their peaks. Fails: VS_DEVICE */
VS_MUST_CHECK vs_status vs_backend_statistics(vs_live_device *device, vs_alloc_statistics *room,
                                              const vs_alloc_statistics **statistics);

/* For what PyTorch does not have with this back end either: VS_UNSUPPORTED with a sentence if the cards use it. */
VS_MUST_CHECK vs_status vs_backend_refuse_async(const vs_live *live, const char *what, vs_error *error);

#endif
