#include "faces/preload/driver.h"
#include "device/sim/library_memory.h"
#include "base/check.h"
#include "faces/preload/driver_lookup.h"
#include "faces/preload/driver_memory.h"
#include "faces/preload/pytorch.h"
#include "faces/preload/recording.h"
#include "os/library.h"
#include "os/stackwalk.h"
#include <stdatomic.h>
#include <string.h>

/* ---- who asked */

static const char *file_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

static bool begins_with(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

static bool is_pytorch(const char *path) { return begins_with(file_of(path), "libc10_cuda."); }

/* Between the driver and the one who asked: a CUDA runtime, the driver, and this library. */
static const char anchor; /* inside of this library */

static bool is_between(const vs_library_place *place) {
  const char *file = file_of(place->path);
  vs_library_place here;
  return begins_with(file, "libcudart.") || begins_with(file, "libcuda.") ||
         (vs_library_place_of(&anchor, &here) && here.base == place->base);
}

/* Of the callers of the function where `start` is, or else the one at `caller`. */
static bool find_owner(const void *caller, vs_stackwalk_start start, vs_library_place *owner) {
  vs_stackwalk_result walk;
  if (!vs_library_place_of(caller, owner)) return false;
  if (!is_between(owner) || !vs_stackwalk_begin(start, &walk)) return true;
  for (uint32_t i = walk.count; i != 0; i--) {
    vs_library_place place;
    const void *const at =
        (const void *)(uintptr_t)(walk.frames[i - 1].address - 1); // NOLINT(performance-no-int-to-ptr)
    if (!vs_library_place_of(at, &place) || is_between(&place)) continue;
    *owner = place;
    break;
  }
  vs_stackwalk_end();
  return true;
}

/* For our functions themselves: whoever calls them calls the driver. */
#define OWNER(owner, device) owner_of(__builtin_return_address(0), vs_stackwalk_here(), (device), (owner))

/* The first time that memory of it is asked for. */
static void look_at_card(int32_t device) {
  static _Atomic bool has_looked[C10_MOST_DEVICES];
  char name[VS_DRIVER_CARD_NAME];
  uint64_t bytes;
  if (device >= C10_MOST_DEVICES || atomic_exchange(&has_looked[device], true)) return;
  if (vs_driver_card(device, name, sizeof name, &bytes)) vs_driver_memory_card(device, name, bytes);
}

/* From vs_driver_watch on memory is followed, also while nothing is recorded: a recording that begins later has it then. Constant once the
 * library is loaded. */
static bool is_watched;

/* A library's memory begins the recording, so that a program without PyTorch has one. Not where only a request of PyTorch's that fails keeps
 * it. PyTorch's allocator begins one itself, before it calls the driver. */
static void open_recording(const vs_driver_owner *owner) {
  if (owner->is_pytorch || vs_recording_is_on_oom()) return;
  if (vs_recording_is_wanted()) (void)vs_recording_now();
}

static bool owner_of(const void *caller, vs_stackwalk_start start, int32_t device, vs_driver_owner *owner) {
  vs_library_place place;
  if (device < 0 || !is_watched || !find_owner(caller, start, &place)) return false;
  look_at_card(device);
  *owner = (vs_driver_owner){.path = place.path, .is_pytorch = is_pytorch(place.path), .device = device};
  open_recording(owner);
  return true;
}

/* ---- calling on */

/* Where the driver is not loaded, a program that is not linked with it can call these all the same. */
#define CALL_ON(code, symbol, type, arguments)                     \
  type *const next = (type *)vs_driver_original(VS_CALL_##symbol); \
  const CUresult code = next == NULL ? CUDA_ERROR_NOT_INITIALIZED : next arguments

/* ---- memory at an address */

typedef CUresult alloc_function(CUdeviceptr *, size_t);
typedef CUresult pitch_function(CUdeviceptr *, size_t *, size_t, size_t, unsigned int);
typedef CUresult async_function(CUdeviceptr *, size_t, CUstream);
typedef CUresult pool_function(CUdeviceptr *, size_t, CUmemoryPool, CUstream);
typedef CUresult free_function(CUdeviceptr);
typedef CUresult free_async_function(CUdeviceptr, CUstream);

#define TOLD(code, address, bytes)                                                  \
  do {                                                                              \
    vs_driver_owner owner;                                                          \
    if ((code) == CUDA_SUCCESS && OWNER(&owner, vs_driver_current_device()))        \
      vs_driver_allocated(&owner, (address), (bytes), vs_driver_current_context()); \
  } while (0)

static CUresult mem_alloc(CUdeviceptr *address, size_t bytes) {
  CALL_ON(code, cuMemAlloc_v2, alloc_function, (address, bytes));
  TOLD(code, *address, bytes);
  return code;
}

static CUresult mem_alloc_pitch(CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
                                unsigned int element) {
  CALL_ON(code, cuMemAllocPitch_v2, pitch_function, (address, pitch, width, height, element));
  TOLD(code, *address, *pitch * height);
  return code;
}

static CUresult mem_alloc_async(CUdeviceptr *address, size_t bytes, CUstream stream) {
  CALL_ON(code, cuMemAllocAsync, async_function, (address, bytes, stream));
  TOLD(code, *address, bytes);
  return code;
}

static CUresult mem_alloc_async_per_thread(CUdeviceptr *address, size_t bytes, CUstream stream) {
  CALL_ON(code, cuMemAllocAsync_ptsz, async_function, (address, bytes, stream));
  TOLD(code, *address, bytes);
  return code;
}

static CUresult mem_alloc_from_pool(CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream stream) {
  CALL_ON(code, cuMemAllocFromPoolAsync, pool_function, (address, bytes, pool, stream));
  TOLD(code, *address, bytes);
  return code;
}

static CUresult mem_alloc_from_pool_per_thread(CUdeviceptr *address, size_t bytes, CUmemoryPool pool,
                                               CUstream stream) {
  CALL_ON(code, cuMemAllocFromPoolAsync_ptsz, pool_function, (address, bytes, pool, stream));
  TOLD(code, *address, bytes);
  return code;
}

/* What is freed is forgotten before, because another thread may get the address at once; if it could not be freed, the program has a
 * mistake, or its context has an error. */
static CUresult mem_free(CUdeviceptr address) {
  vs_driver_freed(address);
  CALL_ON(code, cuMemFree_v2, free_function, (address));
  return code;
}

static CUresult mem_free_async(CUdeviceptr address, CUstream stream) {
  vs_driver_freed(address);
  CALL_ON(code, cuMemFreeAsync, free_async_function, (address, stream));
  return code;
}

static CUresult mem_free_async_per_thread(CUdeviceptr address, CUstream stream) {
  vs_driver_freed(address);
  CALL_ON(code, cuMemFreeAsync_ptsz, free_async_function, (address, stream));
  return code;
}

/* ---- physical memory */

typedef CUresult create_function(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
                                 unsigned long long);
typedef CUresult retain_function(CUmemGenericAllocationHandle *, void *);
typedef CUresult release_function(CUmemGenericAllocationHandle);
typedef CUresult map_function(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long);
typedef CUresult unmap_function(CUdeviceptr, size_t);

static CUresult mem_create(CUmemGenericAllocationHandle *handle, size_t bytes,
                           const CUmemAllocationProp *properties, unsigned long long flags) {
  CALL_ON(code, cuMemCreate, create_function, (handle, bytes, properties, flags));
  vs_driver_owner owner;
  if (code == CUDA_SUCCESS && properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
      OWNER(&owner, properties->location.id))
    vs_driver_created(&owner, *handle, bytes);
  return code;
}

static CUresult mem_retain(CUmemGenericAllocationHandle *handle, void *address) {
  CALL_ON(code, cuMemRetainAllocationHandle, retain_function, (handle, address));
  if (code == CUDA_SUCCESS) vs_driver_retained(*handle);
  return code;
}

static CUresult mem_release(CUmemGenericAllocationHandle handle) {
  vs_driver_released(handle);
  CALL_ON(code, cuMemRelease, release_function, (handle));
  return code;
}

static CUresult mem_map(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                        unsigned long long flags) {
  CALL_ON(code, cuMemMap, map_function, (address, bytes, offset, handle, flags));
  if (code == CUDA_SUCCESS) vs_driver_mapped(handle, address, bytes);
  return code;
}

static CUresult mem_unmap(CUdeviceptr address, size_t bytes) {
  vs_driver_unmapped(address, bytes);
  CALL_ON(code, cuMemUnmap, unmap_function, (address, bytes));
  return code;
}

/* ---- contexts */

typedef CUresult destroy_function(CUcontext);
typedef CUresult primary_function(CUdevice);
typedef CUresult retain_primary_function(CUcontext *, CUdevice);

static CUresult context_destroy(CUcontext context) {
  CALL_ON(code, cuCtxDestroy_v2, destroy_function, (context));
  if (code == CUDA_SUCCESS && context != NULL) vs_driver_context_ended((uint64_t)(uintptr_t)context);
  return code;
}

static CUresult primary_retain(CUcontext *context, CUdevice device) {
  CALL_ON(code, cuDevicePrimaryCtxRetain, retain_primary_function, (context, device));
  if (code == CUDA_SUCCESS) vs_driver_primary_context(device, (uint64_t)(uintptr_t)*context);
  return code;
}

static CUresult primary_was_reset(CUresult code, CUdevice device) {
  if (code == CUDA_SUCCESS) vs_driver_primary_context_ended(device);
  return code;
}

static CUresult primary_reset(CUdevice device) {
  CALL_ON(code, cuDevicePrimaryCtxReset_v2, primary_function, (device));
  return primary_was_reset(code, device);
}

/* Which CUDA's runtimes ask for. */
static CUresult primary_reset_old(CUdevice device) {
  CALL_ON(code, cuDevicePrimaryCtxReset, primary_function, (device));
  return primary_was_reset(code, device);
}

/* The context ends with its last user. */
static CUresult primary_was_released(CUresult code, CUdevice device) {
  if (code == CUDA_SUCCESS && !vs_driver_has_primary_context(device)) vs_driver_primary_context_ended(device);
  return code;
}

static CUresult primary_release(CUdevice device) {
  CALL_ON(code, cuDevicePrimaryCtxRelease_v2, primary_function, (device));
  return primary_was_released(code, device);
}

static CUresult primary_release_old(CUdevice device) {
  CALL_ON(code, cuDevicePrimaryCtxRelease, primary_function, (device));
  return primary_was_released(code, device);
}

/* ---- questions for functions */

typedef CUresult address_function(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
typedef CUresult old_address_function(const char *, void **, int, cuuint64_t);

static CUresult get_address(const char *name, void **address, int version, cuuint64_t flags,
                            CUdriverProcAddressQueryResult *found) {
  CALL_ON(code, cuGetProcAddress_v2, address_function, (name, address, version, flags, found));
  if (code == CUDA_SUCCESS) vs_driver_replace_answer(name, address, version, flags);
  return code;
}

/* Unless the flags say otherwise, the default stream is that of the thread. */
static CUresult get_address_per_thread(const char *name, void **address, int version, cuuint64_t flags,
                                       CUdriverProcAddressQueryResult *found) {
  enum { LEGACY = 1, PER_THREAD = 2 }; /* CU_GET_PROC_ADDRESS_... */
  CALL_ON(code, cuGetProcAddress_v2_ptsz, address_function, (name, address, version, flags, found));
  if (code == CUDA_SUCCESS)
    vs_driver_replace_answer(name, address, version, (flags & LEGACY) != 0 ? flags : flags | PER_THREAD);
  return code;
}

static CUresult get_address_old(const char *name, void **address, int version, cuuint64_t flags) {
  CALL_ON(code, cuGetProcAddress, old_address_function, (name, address, version, flags));
  if (code == CUDA_SUCCESS) vs_driver_replace_answer(name, address, version, flags);
  return code;
}

/* ---- ours, by pointer and by name */

static vs_driver_function *const ours[VS_DRIVER_CALLS] = {
#define VS_DRIVER_CALL(name, symbol, version, stream, ours) (vs_driver_function *)ours,
#include "faces/preload/driver_calls.def"
};

/* The names that the loader binds, as the driver exports them. */
#define VS_DRIVER_CALL(name, symbol, version, stream, ours) \
  VS_PRELOAD_API extern __typeof__(ours) symbol __attribute__((alias(#ours)));
#include "faces/preload/driver_calls.def"

void vs_driver_watch(void) {
  is_watched = true;
  vs_driver_lookup_begin(ours);
}

/* ---- a simulated GPU */

static vs_sim_library_listener has_memory;
static void has_memory(const vs_sim_library_memory *memory) {
  const char *path = memory->library == NULL ? "" : memory->library;
  const vs_driver_owner owner = {.path = path, .is_pytorch = is_pytorch(path), .device = memory->device};
  if (memory->library == NULL) vs_driver_memory_missed();
  if (memory->device >= C10_MOST_DEVICES) return;
  vs_driver_memory_card(memory->device, memory->card, memory->card_bytes);
  if (path[0] == '\0') return;
  open_recording(&owner);
  vs_driver_library_has(&owner, memory->bytes);
}

static vs_sim_listen *find_simulated(void) {
  vs_sim_listen *listen = NULL;
  vs_library_loaded_function(NULL, VS_SIM_LISTEN, &listen);
  return listen;
}

bool vs_driver_is_simulated(void) { return find_simulated() != NULL; }

void vs_driver_listen(void) {
  VS_ASSERT(vs_driver_is_simulated());
  find_simulated()(has_memory);
}
