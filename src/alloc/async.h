/* backend:cudaMallocAsync as in PyTorch: every request goes to the driver's stream-ordered pool, which caches and
 * splits memory itself. This adds:
 *
 *   a limit        wanted + size <= fraction * the card, once a fraction was set; wanted = requested bytes of the
 *                  allocations that are not freed
 *   other streams  a block is freed in the driver once the streams that were recorded on it are done
 *   figures        those of the pool: allocated and reserved bytes with their peaks. PyTorch's other figures are 0
 *
 * There is no history, no snapshot, no private pool, no observer of failures and no IPC (vs_async_unsupported); the
 * driver handles captures. PyTorch lets the driver wait for other streams; this queries events at the next call.
 *
 * As with vs_alloc: no lock, no clock; the caller serialises calls; statuses are those of alloc.h. */
#ifndef VS_ALLOC_ASYNC_H
#define VS_ALLOC_ASYNC_H

#include "alloc/settings.h"
#include "device/device.h"
#include "event/event.h"

typedef struct vs_async vs_async;

/* `observer` may be NULL; it gets ALLOC, FREE_REQUESTED and FREE_COMPLETED. As in PyTorch no setting has an effect,
 * not even the fraction: there is no limit until vs_async_fraction_set. */
VS_MUST_CHECK vs_status vs_async_create(const vs_host *host, const vs_device *device,
                                        const vs_alloc_settings *settings, const vs_observer *observer,
                                        vs_async **out);

/* Memory that is not freed stays allocated on the device. */
void vs_async_destroy(vs_async *async);

/* `size` 0 gives address 0. Fails: VS_DEVICE_MEMORY, VS_DEVICE, VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_async_malloc(vs_async *async, uint64_t size, uint64_t stream, vs_context context,
                                        uint64_t *address);

/* Fails: VS_NOT_FOUND, VS_DEVICE (nothing was done) */
VS_MUST_CHECK vs_status vs_async_free(vs_async *async, uint64_t address, vs_context context);

/* Fails: VS_NOT_FOUND, VS_DEVICE, VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_async_record_stream(vs_async *async, uint64_t address, uint64_t stream);

/* Completes the frees that waited for other streams, as every allocation does first. Fails: VS_DEVICE */
VS_MUST_CHECK vs_status vs_async_poll(vs_async *async, vs_context context);

/* Waits for the other streams; then the pool releases all memory that is not allocated. Fails: VS_DEVICE */
VS_MUST_CHECK vs_status vs_async_empty_cache(vs_async *async, vs_context context);

/* Fails: VS_BAD_ARGUMENT (not within 0 .. 1) */
VS_MUST_CHECK vs_status vs_async_fraction_set(vs_async *async, double fraction);
double vs_async_fraction(const vs_async *async);

typedef struct vs_async_figures {
  uint64_t used, used_peak, reserved, reserved_peak; /* of the driver's pool, rounded as it rounds */
  uint64_t wanted;  /* requested bytes of the allocations that are not freed; the limit bounds them */
  uint64_t waiting; /* freed blocks that other streams may still use */
} vs_async_figures;

/* Fails: VS_DEVICE */
VS_MUST_CHECK vs_status vs_async_measure(vs_async *async, vs_async_figures *figures);

/* The totals cannot be reset, as in PyTorch, where there are none. Fails: VS_DEVICE */
VS_MUST_CHECK vs_status vs_async_reset_peak(vs_async *async);

/* Every key of memory_stats(), as vs_alloc_statistics_visit. */
VS_MUST_CHECK vs_status vs_async_visit(const vs_async_figures *figures, const vs_alloc_settings *settings,
                                       vs_status (*visit)(void *ctx, vs_str key, int64_t value), void *ctx);

/* Appends the message of torch.OutOfMemoryError about the last failure; nothing if there was none. */
VS_MUST_CHECK vs_status vs_async_oom_write(const vs_async *async, vs_text *out);

/* The calls of PyTorch's allocators that this one refuses; NULL behind the last. */
extern const char *const vs_async_unsupported[];

#endif
