/* The driver calls that an allocator makes, as a table of functions.
 *
 * A device is one card as one process sees it. The simulated card (device/sim) and the real driver (device/cuda) implement the same
 * table, so an allocator works with both. Every function takes `ctx` first. Sizes are bytes, addresses device addresses, streams
 * the driver's handles (0 is the default stream).
 *
 * Not thread-safe unless the implementation says so; an allocator calls under its own lock. */
#ifndef VS_DEVICE_DEVICE_H
#define VS_DEVICE_DEVICE_H

#include <vramscope/base.h>

typedef enum vs_device_result {
  VS_DEVICE_OK = 0,
  VS_DEVICE_OUT_OF_MEMORY, /* of the card: an allocator can release memory and try again */
  VS_DEVICE_NOT_READY,     /* event_query: not yet complete. This is not a failure */
  VS_DEVICE_NOT_SUPPORTED, /* by this card, driver or build */
  VS_DEVICE_NO_HOST_MEMORY,
  VS_DEVICE_FAILED, /* anything else: `code` has the driver's number */
} vs_device_result;

/* The status that an allocator returns to its caller. NOT_READY is only an answer of event_query, so here it is an error. */
static inline vs_status vs_device_status(vs_device_result result) {
  switch (result) {
    case VS_DEVICE_OK: return VS_OK;
    case VS_DEVICE_OUT_OF_MEMORY: return VS_DEVICE_MEMORY;
    case VS_DEVICE_NOT_SUPPORTED: return VS_UNSUPPORTED;
    case VS_DEVICE_NO_HOST_MEMORY: return VS_NO_MEMORY;
    case VS_DEVICE_NOT_READY:
    case VS_DEVICE_FAILED: break;
  }
  return VS_DEVICE;
}

/* The capture in which a stream takes part. The stream's next work would depend on `nodes`, which are borrowed until the next
 * call. */
typedef struct vs_device_capture {
  bool is_active;
  uint64_t graph;
  const uint64_t *nodes;
  uint64_t node_count;
} vs_device_capture;

typedef struct vs_device_ops {
  /* Whole segments (cudaMalloc, cudaFree), and free and total memory of the card (cudaMemGetInfo). */
  vs_device_result (*alloc)(void *ctx, uint64_t size, uint64_t *address);
  vs_device_result (*free)(void *ctx, uint64_t address);
  vs_device_result (*memory_info)(void *ctx, uint64_t *free_bytes, uint64_t *total_bytes);

  /* Virtual memory management (cuMem...): addresses, physical memory, and mappings with access for this card. All sizes are
   * multiples of 2 MiB. */
  vs_device_result (*reserve)(void *ctx, uint64_t size, uint64_t *address);
  vs_device_result (*unreserve)(void *ctx, uint64_t address, uint64_t size);
  vs_device_result (*create)(void *ctx, uint64_t size, uint64_t *handle);
  vs_device_result (*release)(void *ctx, uint64_t handle);
  vs_device_result (*map)(void *ctx, uint64_t address, uint64_t size, uint64_t handle);
  vs_device_result (*access)(void *ctx, uint64_t address, uint64_t size);
  vs_device_result (*unmap)(void *ctx, uint64_t address, uint64_t size);

  /* Events and streams. An event is created once and recorded many times. */
  vs_device_result (*event_create)(void *ctx, uint64_t *event);
  vs_device_result (*event_destroy)(void *ctx, uint64_t event);
  vs_device_result (*event_record)(void *ctx, uint64_t event, uint64_t stream);
  vs_device_result (*event_query)(void *ctx, uint64_t event); /* OK or NOT_READY */
  vs_device_result (*event_synchronize)(void *ctx, uint64_t event);
  vs_device_result (*stream_synchronize)(void *ctx, uint64_t stream);

  /* Graph capture. `needs`: the nodes that `node` depends on, borrowed until the next call. */
  vs_device_result (*capture_info)(void *ctx, uint64_t stream, vs_device_capture *capture);
  vs_device_result (*needs)(void *ctx, uint64_t graph, uint64_t node, const uint64_t **nodes,
                            uint64_t *count);

  /* Stream-ordered memory of the card's default pool (cudaMallocAsync): used and reserved bytes are those of the pool. */
  vs_device_result (*async_alloc)(void *ctx, uint64_t size, uint64_t stream, uint64_t *address);
  vs_device_result (*async_free)(void *ctx, uint64_t address, uint64_t stream);
  vs_device_result (*async_trim)(void *ctx, uint64_t keep);
  vs_device_result (*async_info)(void *ctx, uint64_t *used, uint64_t *used_peak, uint64_t *reserved,
                                 uint64_t *reserved_peak);

  /* The driver's number and text for the last VS_DEVICE_FAILED, for messages. */
  int64_t (*last_code)(void *ctx, const char **text);
} vs_device_ops;

/* `ops` and `ctx` outlive every user of the device. */
typedef struct vs_device {
  const vs_device_ops *ops;
  void *ctx;
  uint32_t index;       /* the process's number of the card */
  uint64_t total_bytes; /* of the card, as its driver reports it */
} vs_device;

#endif
