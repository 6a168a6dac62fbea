/* What a GPU is to an allocator: the calls it makes of a driver, as a value.
 *
 * A device is one card as one process sees it. The same face stands before the simulated card (device/sim) and the real
 * driver (device/cuda); an allocator cannot tell which it has. Every function takes `ctx` first. Sizes are bytes,
 * addresses device addresses, streams the driver's handles (0 is the default stream).
 *
 * Not safe for threads beyond what the implementation says; an allocator calls under its own lock. */
#ifndef VS_DEVICE_DEVICE_H
#define VS_DEVICE_DEVICE_H

#include <vramscope/base.h>

typedef enum vs_device_result {
  VS_DEVICE_OK = 0,
  VS_DEVICE_OUT_OF_MEMORY, /* the card has not got it: the one failure that an allocator can do something about */
  VS_DEVICE_NOT_READY,     /* event_query: not yet. No failure */
  VS_DEVICE_NOT_SUPPORTED, /* this card, driver or build cannot */
  VS_DEVICE_NO_HOST_MEMORY,
  VS_DEVICE_FAILED, /* anything else: `code` has the driver's number */
} vs_device_result;

/* What the caller of an allocator is told. NOT_READY is no failure: who gets it here asked too early. */
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

/* A capture that a stream takes part in. `nodes` are what the stream's next work would depend on: borrowed until the
 * next call. */
typedef struct vs_device_capture {
  bool is_active;
  uint64_t graph;
  const uint64_t *nodes;
  uint64_t node_count;
} vs_device_capture;

typedef struct vs_device_ops {
  /* Whole segments (cudaMalloc, cudaFree) and the card's own figures (cudaMemGetInfo). */
  vs_device_result (*alloc)(void *ctx, uint64_t size, uint64_t *address);
  vs_device_result (*free)(void *ctx, uint64_t address);
  vs_device_result (*memory_info)(void *ctx, uint64_t *free_bytes, uint64_t *total_bytes);

  /* Virtual memory by hand (cuMem...): addresses, physical memory, the one mapped to the other with access for this
   * card. All sizes are multiples of 2 MiB. */
  vs_device_result (*reserve)(void *ctx, uint64_t size, uint64_t *address);
  vs_device_result (*unreserve)(void *ctx, uint64_t address, uint64_t size);
  vs_device_result (*create)(void *ctx, uint64_t size, uint64_t *handle);
  vs_device_result (*release)(void *ctx, uint64_t handle);
  vs_device_result (*map)(void *ctx, uint64_t address, uint64_t size, uint64_t handle);
  vs_device_result (*access)(void *ctx, uint64_t address, uint64_t size);
  vs_device_result (*unmap)(void *ctx, uint64_t address, uint64_t size);

  /* Time. An event is made once and recorded often. */
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

  /* Stream-ordered memory of the card's own pool (cudaMallocAsync): bytes in use and reserved are the pool's. */
  vs_device_result (*async_alloc)(void *ctx, uint64_t size, uint64_t stream, uint64_t *address);
  vs_device_result (*async_free)(void *ctx, uint64_t address, uint64_t stream);
  vs_device_result (*async_trim)(void *ctx, uint64_t keep);
  vs_device_result (*async_info)(void *ctx, uint64_t *used, uint64_t *used_peak, uint64_t *reserved,
                                 uint64_t *reserved_peak);

  /* The driver's number behind the last VS_DEVICE_FAILED, and its words; for messages. */
  int64_t (*last_code)(void *ctx, const char **text);
} vs_device_ops;

/* `ops` and `ctx` live longer than whoever uses the device. */
typedef struct vs_device {
  const vs_device_ops *ops;
  void *ctx;
  uint32_t index;       /* as the process numbers its cards */
  uint64_t total_bytes; /* of the card, as its driver reports it */
} vs_device;

#endif
