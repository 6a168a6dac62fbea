/* A card of the driver as a vs_device for allocators (device/device.h).
 *
 *   vs_cuda_device card;
 *   vs_cuda_device_init(&card, host, cuda, 0, 0);
 *   vs_alloc_create(host, &card.device, ...)
 *
 * The first call that needs the card's context makes it, so that a process with eight visible cards pays only for those it uses.
 * Any thread may call, because the driver has its own locks. Only one thread at a time may call capture_info, needs (which return
 * arrays) and async_alloc; the allocator's lock ensures that. */
#ifndef VS_DEVICE_CUDA_DEVICE_H
#define VS_DEVICE_CUDA_DEVICE_H

#include "base/vec.h"
#include "device/cuda/cuda.h"
#include "device/device.h"
#include <stdatomic.h>

typedef struct vs_cuda_device {
  vs_device device;    /* ctx is this struct: it must not move */
  const vs_cuda *cuda; /* borrowed */
  const vs_host *host;
  uint32_t card; /* the driver's number */
  CUdevice handle;
  _Atomic(CUcontext) context; /* NULL: not made yet */
  _Atomic int32_t
      last; /* CUresult of the last call that did not return VS_DEVICE_OK; -1: a function is missing */
  CUmemoryPool pool;             /* the card's default pool; NULL before the first async_alloc */
  VS_VEC(uint64_t) nodes;        /* the answer of capture_info */
  VS_VEC(uint64_t) needed;       /* the answer of needs */
  VS_VEC(CUgraphEdgeData) edges; /* the driver writes it, but it is not used */
} vs_cuda_device;

/* `card` is the driver's number, `index` the caller's. It takes no memory of the card yet.
 * Fails: VS_BAD_ARGUMENT (no such card), VS_UNSUPPORTED (a function that allocating needs is missing: `error` names it) */
VS_MUST_CHECK vs_status vs_cuda_device_init(vs_cuda_device *device, const vs_host *host, const vs_cuda *cuda,
                                            uint32_t card, uint32_t index, vs_error *error);

/* Releases the context, if it was made. Memory stays allocated as long as another user of CUDA retains the context. */
void vs_cuda_device_deinit(vs_cuda_device *device);

#endif
