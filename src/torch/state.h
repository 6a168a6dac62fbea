/* Private to torch: the process' one allocator, and who says where a thread is. PyTorch's functions have no argument
 * that could carry it, so this is the one place in the library with a variable of the process. */
#ifndef VS_TORCH_STATE_H
#define VS_TORCH_STATE_H

#include "torch/where.h"
#include <stdatomic.h>

typedef struct vs_torch__state {
  _Atomic(vs_live *) live;                                                      /* set once; NULL before */
  const vs_host *host;                                                          /* set before `live` */
  _Atomic(vs_torch_where) where[VS_TORCH_ASKERS], where_freed[VS_TORCH_ASKERS]; /* of allocations, of frees */
  _Atomic uint64_t strange_frees;
} vs_torch__state;

extern vs_torch__state vs_torch__the;

static inline uint64_t vs_torch__number(const void *pointer) { return (uint64_t)(uintptr_t)pointer; }
static inline void *vs_torch__pointer(uint64_t number) {
  return (void *)(uintptr_t)number; /* NOLINT(performance-no-int-to-ptr): an address of the device */
}

#endif
