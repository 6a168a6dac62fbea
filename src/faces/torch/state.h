/* Private to faces/torch: the process' one allocator, and who says where a thread is. PyTorch's functions have no argument
 * that could carry it, so this is the one place in the library with a variable of the process. */
#ifndef VS_FACES_TORCH_STATE_H
#define VS_FACES_TORCH_STATE_H

#include "faces/torch/torch.h"
#include <stdatomic.h>

typedef struct vs_torch__state {
  _Atomic(vs_live *) live;                                                      /* set once; NULL before */
  const vs_host *host;                                                          /* set before `live` */
  _Atomic(vs_torch_where) where[VS_TORCH_ASKERS], where_freed[VS_TORCH_ASKERS]; /* of allocations, of frees */
  _Atomic uint64_t strange_frees;
} vs_torch__state;

extern vs_torch__state vs_torch__the;

/* PyTorch looks these up by name (dlsym): they are declared here, where they are defined, and nowhere else. */
#define VS_TORCH_EXPORT __attribute__((visibility("default")))

static inline uint64_t vs_torch__number(const void *pointer) { return (uint64_t)(uintptr_t)pointer; }
static inline void *vs_torch__pointer(uint64_t number) {
  return (void *)(uintptr_t)number; /* NOLINT(performance-no-int-to-ptr): an address of the device */
}

typedef struct vs_torch__pool {
  uint64_t a, b;
} vs_torch__pool; /* c10::MempoolId_t, a std::pair of two numbers: trivially copied, so it goes as a struct does */

void *vs_torch_alloc(size_t size, int device, void *stream);
void *vs_torch_segment_alloc(size_t size, int device, void *stream);
void vs_torch_free(void *pointer, size_t size, int device, void *stream);
void vs_torch_init(int device_count);
void vs_torch_reset(void);
void vs_torch_memory_fraction(double fraction, int device);
void *vs_torch_base_alloc(void *pointer, size_t *size);
void vs_torch_record_stream(void *pointer, void *stream);
void vs_torch_begin_allocate_to_pool(int device, vs_torch__pool pool, const void *filter);
void vs_torch_end_allocate_to_pool(int device, vs_torch__pool pool);
void vs_torch_release_pool(int device, vs_torch__pool pool);

#endif
