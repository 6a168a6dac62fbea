/* Private to torch: the allocator of the process, and the functions that find a thread's stack. PyTorch's functions have no
 * argument for a context, so this is the only place in the library with a global variable. */
#ifndef VS_TORCH_STATE_H
#define VS_TORCH_STATE_H

#include "torch/where.h"
#include <stdatomic.h>

typedef struct vs_torch__state {
  _Atomic(vs_live *) live; /* set once; NULL before */
  const vs_host *host;     /* set before `live` */
  _Atomic(vs_torch_where) where[VS_TORCH_ASKERS],
      where_freed[VS_TORCH_ASKERS]; /* for allocations, for frees */
  _Atomic uint64_t strange_frees;   /* of unknown addresses */
} vs_torch__state;

extern vs_torch__state vs_torch__the;

static inline uint64_t vs_torch__number(const void *pointer) { return (uint64_t)(uintptr_t)pointer; }
static inline void *vs_torch__pointer(uint64_t number) {
  return (void *)(uintptr_t)number; /* NOLINT(performance-no-int-to-ptr): an address of the device */
}

#endif
