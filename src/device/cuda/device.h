/* A card of the driver behind the face that allocators use (device/device.h).
 *
 *   vs_cuda_device card;
 *   vs_cuda_device_init(&card, host, cuda, 0, 0);
 *   vs_alloc_create(host, &card.device, ...)
 *
 * The card's context is made by the first call that needs it, so that a process with eight visible cards pays for those
 * it uses. Any thread may call: the driver has locks of its own. What is answered with an array (capture_info, needs)
 * and async_alloc are for one thread at a time, as the lock of the allocator above makes sure anyway. */
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
  _Atomic(CUcontext) context; /* NULL: nobody has needed it yet */
  _Atomic int32_t
      last;          /* CUresult behind the last answer that was no VS_DEVICE_OK; -1: a function is missing */
  CUmemoryPool pool; /* the card's own, once async_alloc has asked for it; NULL */
  VS_VEC(uint64_t) nodes;        /* what capture_info answered with */
  VS_VEC(uint64_t) needed;       /* what needs answered with */
  VS_VEC(CUgraphEdgeData) edges; /* room for what nobody reads */
} vs_cuda_device;

/* `card` is the driver's number, `index` the caller's. Nothing is taken of the card yet.
 * Fails: VS_BAD_ARGUMENT (no such card), VS_UNSUPPORTED (a function that allocating needs is missing: `error` names it) */
VS_MUST_CHECK vs_status vs_cuda_device_init(vs_cuda_device *device, const vs_host *host, const vs_cuda *cuda,
                                            uint32_t card, uint32_t index, vs_error *error);

/* Lets the context go, if it was needed. What was allocated stays while anybody else has the context. */
void vs_cuda_device_deinit(vs_cuda_device *device);

#endif
