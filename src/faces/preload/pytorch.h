/* PyTorch's CUDA allocator as it lies in this process: where it is, what it calls, and how its calls are led here.
 *
 * Five calls are seen:
 *
 *   reportMemoryUsageToProfiler   after each allocation, and at each free            exported by libc10.so
 *   reportOutOfMemoryToProfiler   before an out-of-memory error is raised             likewise
 *   Allocator::allocate           what was requested, before it is rounded           slot 2 of the allocator's virtual table
 *   cudaMalloc, cudaFree          segments                                            the linkage table of libc10_cuda.so
 *
 * The loader binds the first two to this library where that is preloaded. Where it is loaded while the program runs, they are led here
 * through the linkage table, too.
 *
 * None of them is an interface of PyTorch's. So each is checked when it is looked for, and again in each call as far as it can
 * be: what cannot be trusted is not used, and vs_pytorch_doubts says so. */
#ifndef VS_PRELOAD_PYTORCH_H
#define VS_PRELOAD_PYTORCH_H

#include <vramscope/base.h>

#define VS_PRELOAD_API __attribute__((visibility("default")))

/* Passed by value in one register, as PyTorch's struct of this name is. */
typedef struct c10_device {
  int8_t type, index;
} c10_device;

enum { C10_CUDA = 1, C10_MOST_DEVICES = 128 };

typedef void vs_usage_function(void *block, int64_t bytes, size_t allocated, size_t reserved,
                               c10_device device);
typedef void vs_refusal_function(int64_t bytes, size_t allocated, size_t reserved, c10_device device);
/* c10::Allocator::allocate(size_t): the result has a destructor, so its address comes first, and is returned. */
typedef void *vs_allocate_function(void *result, void *allocator, size_t bytes);
typedef int vs_cuda_malloc_function(void **memory, size_t bytes);
typedef int vs_cuda_free_function(void *memory);

#define VS_C10_USAGE       _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
#define VS_C10_REFUSAL     _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE
#define VS_C10_TEXT_(name) #name
#define VS_C10_TEXT(name)  VS_C10_TEXT_(name)

/* What PyTorch calls instead of its own, and the originals, which these call on (hooks.c finds the first two where they are NULL). */
typedef struct vs_pytorch_calls {
  vs_usage_function *usage;
  vs_refusal_function *refusal;
  vs_allocate_function *allocate;
  vs_cuda_malloc_function *cuda_malloc;
  vs_cuda_free_function *cuda_free;
} vs_pytorch_calls;

typedef enum vs_pytorch_doubt {
  VS_DOUBT_REQUESTS = 1, /* `allocate` could not be trusted: requests have their blocks' sizes */
  VS_DOUBT_SEGMENTS =
      2, /* cudaMalloc is not called through the linkage table, or memory comes in another way */
  VS_DOUBT_STREAMS = 4,      /* the current stream cannot be asked for */
  VS_DOUBT_STACKS = 8,       /* Python's stacks cannot be read */
  VS_DOUBT_ANNOTATIONS = 16, /* named ranges are not seen (record_function.h), or there is no room for them */
  VS_DOUBT_FIRST_REQUESTS = 32, /* threads were in the allocator when its calls were led here */
} vs_pytorch_doubt;

/* An address inside the library that has the allocator. NULL: it is not loaded. */
const void *vs_pytorch_find(void);

/* Leads the calls of the library that contains `inside` to `ours`, until vs_pytorch_detach; does nothing and returns false while they are.
 * `allocator`: the object, NULL: it is looked for. `is_bound`: the loader has bound the first two calls. Takes locks of the loader; none of
 * PyTorch's or Python's. Threads may make these calls meanwhile. */
bool vs_pytorch_attach(const void *inside, void *allocator, bool is_bound, const vs_pytorch_calls *ours);

bool vs_pytorch_is_attached(void);

/* Whether the first two calls were led here through the linkage table. */
bool vs_pytorch_is_led_here(void);

/* Leads the calls back. What another library has changed since is left, and stays led here. Calls in other threads may go on for a
 * moment, so this library stays loaded. */
void vs_pytorch_detach(void);

/* The originals; members are NULL for calls that were never led here. */
const vs_pytorch_calls *vs_pytorch_originals(void);

/* What cannot be trusted, of VS_DOUBT_...; it gets less only when calls are led here anew. VS_DOUBT_ANNOTATIONS stays: it is not about
 * the library that has the allocator. */
uint32_t vs_pytorch_doubts(void);
void vs_pytorch_doubt_add(vs_pytorch_doubt doubt);

/* The handle of the calling thread's current stream. False: unknown. */
bool vs_pytorch_stream(c10_device device, uint64_t *stream);

/* The calling thread's current device; 0 where that is unknown. */
int32_t vs_pytorch_current_device(void);

/* The free bytes of the current device, as the driver reports them. False: unknown. */
bool vs_pytorch_driver_free(uint64_t *bytes);

#endif
