/* What PyTorch's caching allocator says of itself.
 *
 * The allocator calls a function of PyTorch's library c10 after each allocation and at each free, whether a profiler runs or not,
 * with the bytes that are allocated and reserved at that moment. This library is preloaded, so the loader binds these calls to the
 * functions below: they keep the peaks in the shared machine, where a process that is killed leaves them, and call on. The peaks
 * are those of torch.cuda.max_memory_allocated() and max_memory_reserved(), but that no reset lowers them.
 *
 * The two functions are no interface of PyTorch's. Releases 2.1 to 2.15 have them; where a release does not, the record of the process
 * says so (has_allocator), and the figures that PyTorch's own statistics give at the end are all there is. Pluggable allocators and
 * cudaMallocAsync do not call them. */
#include "faces/simcuda/core/process_internal.h"
#include "os/library.h"
#include <string.h>

/* Passed by value in one register, as PyTorch's struct of this name is. */
typedef struct c10_device {
  int8_t type, index;
} c10_device;

enum { C10_CUDA = 1 };

#define USAGE       _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
#define REFUSE      _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE
#define TEXT_(name) #name
#define TEXT(name)  TEXT_(name)

typedef void usage_function(void *block, int64_t bytes, size_t allocated, size_t reserved, c10_device device);
typedef void refuse_function(int64_t bytes, size_t allocated, size_t reserved, c10_device device);

VS_SIMCUDA_API usage_function USAGE;
VS_SIMCUDA_API refuse_function REFUSE;

/* ---- the record */

/* The record of this process on the card of a visible device; NULL for other devices and before the simulation has begun. */
static vs_sim_use *use_of(c10_device device) {
  if (device.type != C10_CUDA || device.index < 0 || !vs_simcuda_has_begun()) return NULL;
  const uint32_t card = vs_simcuda_card((uint32_t)device.index);
  return card == UINT32_MAX ? NULL : &vs_this_process.process->use[card];
}

static void raise_to(uint64_t *peak, uint64_t value) {
  uint64_t seen = __atomic_load_n(peak, __ATOMIC_RELAXED);
  while (seen < value &&
         !__atomic_compare_exchange_n(peak, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    continue;
}

static void keep(vs_sim_use *use, uint64_t allocated, uint64_t reserved) {
  VS_ASSERT(use != NULL);
  raise_to(&use->allocated_peak_bytes, allocated);
  raise_to(&use->reserved_peak_bytes, reserved);
  __atomic_store_n(&use->has_allocator, 1, __ATOMIC_RELAXED);
}

/* ---- calling on */

static bool are_in_one_library(const void *a, const void *b) {
  vs_library_place of_a, of_b;
  return vs_library_place_of(a, &of_a) && vs_library_place_of(b, &of_b) && of_a.base == of_b.base;
}

/* The function of that name in c10, which the library that contains `caller` is linked with, or is; a caller that has the function itself
 * may also be another library that stands before PyTorch's, such as the recorder. Not RTLD_NEXT: Python loads PyTorch's libraries where
 * that does not look. NULL: there is only this library's own. */
static void *original_of(const char *name, const void *caller) {
  void *found = vs_library_symbol_seen_from(caller, name);
  if (found != NULL && are_in_one_library(found, caller)) found = vs_library_loaded_symbol("libc10.so", name);
  return found != NULL && are_in_one_library(found, &vs_this_process) ? NULL : found;
}

/* The same, looked up once. Threads that look it up at the same time find the same. */
static void *kept_original(void *_Atomic *kept, const char *name, const void *caller) {
  void *original = atomic_load_explicit(kept, memory_order_acquire);
  if (original != NULL) return original;
  original = original_of(name, caller);
  atomic_store_explicit(kept, original, memory_order_release);
  return original;
}

/* dlsym returns a pointer to an object; POSIX provides for copying its bytes into a function pointer. */
void USAGE(void *block, int64_t bytes, size_t allocated, size_t reserved, c10_device device) {
  static void *_Atomic kept;
  void *const original = kept_original(&kept, TEXT(USAGE), __builtin_return_address(0));
  usage_function *next;
  vs_sim_use *use = use_of(device);
  if (use != NULL) keep(use, allocated, reserved);
  memcpy(&next, &original, sizeof next);
  if (next != NULL) next(block, bytes, allocated, reserved, device);
}

void REFUSE(int64_t bytes, size_t allocated, size_t reserved, c10_device device) {
  static void *_Atomic kept;
  void *const original = kept_original(&kept, TEXT(REFUSE), __builtin_return_address(0));
  refuse_function *next;
  vs_sim_use *use = use_of(device);
  if (use != NULL) __atomic_fetch_add(&use->out_of_memory_count, 1, __ATOMIC_RELAXED);
  memcpy(&next, &original, sizeof next);
  if (next != NULL) next(bytes, allocated, reserved, device);
}
