/* PyTorch's CUDA allocator as it lies in this process: where it is, what it calls, and how its calls are led here.
 *
 * Four calls are seen. The first two are bound to this library by the loader, because it is preloaded (hooks.c); the others are
 * led here once the library that has the allocator (libc10_cuda.so) is known:
 *
 *   reportMemoryUsageToProfiler   after each allocation, and at each free            exported by libc10.so
 *   reportOutOfMemoryToProfiler   before an out-of-memory error is raised             likewise
 *   Allocator::allocate           what was requested, before it is rounded           slot 2 of the allocator's virtual table
 *   cudaMalloc, cudaFree          segments                                            the linkage table of libc10_cuda.so
 *
 * None of them is an interface of PyTorch's. So each is checked when it is looked for, and again in each call as far as it can
 * be: what cannot be trusted is not used, and vs_pytorch_doubts says so. */
#ifndef VS_PRELOAD_PYTORCH_H
#define VS_PRELOAD_PYTORCH_H

#include <vramscope/base.h>

/* Passed by value in one register, as PyTorch's struct of this name is. */
typedef struct c10_device {
  int8_t type, index;
} c10_device;

enum { C10_CUDA = 1, C10_MOST_DEVICES = 128 };

/* c10::Allocator::allocate(size_t): the result has a destructor, so its address comes first, and is returned. */
typedef void *vs_allocate_function(void *result, void *allocator, size_t bytes);
typedef int vs_cuda_malloc_function(void **memory, size_t bytes);
typedef int vs_cuda_free_function(void *memory);

/* What PyTorch calls instead of its own, and the originals, which these call on. */
typedef struct vs_pytorch_calls {
  vs_allocate_function *allocate;
  vs_cuda_malloc_function *cuda_malloc;
  vs_cuda_free_function *cuda_free;
} vs_pytorch_calls;

typedef enum vs_pytorch_doubt {
  VS_DOUBT_REQUESTS = 1, /* `allocate` could not be trusted: requests have their blocks' sizes */
  VS_DOUBT_SEGMENTS =
      2, /* cudaMalloc is not called through the linkage table, or memory comes in another way */
  VS_DOUBT_STREAMS = 4, /* the current stream cannot be asked for */
  VS_DOUBT_STACKS = 8,  /* Python's stacks cannot be read */
} vs_pytorch_doubt;

/* Leads the calls of the library that contains `inside` to `ours`, at the first call in a process; later ones do nothing and return
 * false. `allocator`: the object, NULL: it is looked for. Takes locks of the loader; none of PyTorch's or Python's. */
bool vs_pytorch_attach(const void *inside, void *allocator, const vs_pytorch_calls *ours);

/* The originals; members are NULL for calls that are not led here. */
const vs_pytorch_calls *vs_pytorch_originals(void);

/* What cannot be trusted, of VS_DOUBT_...; it never gets less. */
uint32_t vs_pytorch_doubts(void);
void vs_pytorch_doubt_add(vs_pytorch_doubt doubt);

/* The handle of the calling thread's current stream. False: unknown. */
bool vs_pytorch_stream(c10_device device, uint64_t *stream);

/* The free bytes of the current device, as the driver reports them. False: unknown. */
bool vs_pytorch_driver_free(uint64_t *bytes);

#endif
