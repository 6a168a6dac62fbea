/* Memory that NCCL allocates, and memory that programs register with it. Registration costs nothing here: only
 * peers would map the memory. */
#include "faces/simcuda/nccl/comm.h"

#define VS_TAG_WINDOW VS_TAG('n', 'w', 'i', 'n')
#define VS_TAG_NOTICE VS_TAG('n', 'r', 'e', 'g')

/* A registered range; ncclWindow_t points to one. */
struct ncclWindow_vidmem {
  vs_object head;
  ncclComm_t comm;
  void *memory;
  size_t size;
};

static vs_shelf windows = VS_SHELF(VS_TAG_WINDOW, struct ncclWindow_vidmem);
static vs_shelf notices = VS_SHELF(VS_TAG_NOTICE, struct ncclWindow_vidmem);

/* ---- memory of ncclMemAlloc: reserved addresses with physical memory, in whole granules */

static vs_sim_error map_at(vs_sim *sim, uint32_t device, uint64_t size, uint64_t physical, uint64_t address) {
  VS_SIM_TRY(vs_sim_map(sim, address, size, 0, physical));
  return vs_sim_access_set(sim, address, size, device, VS_SIM_ACCESS_READ_WRITE);
}

static vs_sim_error map_new(vs_sim *sim, uint32_t device, uint64_t size, uint64_t *address) {
  uint64_t physical;
  VS_SIM_TRY(vs_sim_physical_create(sim, device, size, 0, &physical));
  vs_sim_error error = vs_sim_reserve(sim, size, 0, 0, address);
  if (error == VS_SIM_OK) {
    error = map_at(sim, device, size, physical, *address);
    const vs_sim_error undone = error == VS_SIM_OK ? VS_SIM_OK : vs_sim_unreserve(sim, *address, size);
    if (undone != VS_SIM_OK) return undone;
  }
  const vs_sim_error released = vs_sim_physical_release(sim, physical); /* the mapping keeps it */
  return error == VS_SIM_OK ? released : error;
}

ncclResult_t sim_ncclMemAlloc(void **memory, size_t size) {
  if (memory == NULL || size == 0)
    return vs_nccl_fail(ncclInvalidArgument, "ncclMemAlloc: no place, or no size");
  *memory = NULL;
  uint64_t whole, address = 0;
  if (!vs_add_u64(size, VS_SIM_GRANULE - 1, &whole))
    return vs_nccl_fail(ncclInvalidArgument, "ncclMemAlloc: too much");
  whole -= whole % VS_SIM_GRANULE;
  const uint32_t device = vs_simcuda_this_thread()->device;
  vs_sim_error error = vs_simcuda_begin();
  if (error == VS_SIM_OK) error = vs_simcuda_use(device);
  vs_simcuda_charge_caller(__builtin_return_address(0)); /* NCCL's allocator serves the program */
  vs_sim *sim = error == VS_SIM_OK ? vs_simcuda_lock() : NULL;
  if (sim != NULL) {
    error = map_new(sim, device, whole, &address);
    vs_simcuda_unlock();
  }
  if (error != VS_SIM_OK) return vs_nccl_fail_sim(error, "ncclMemAlloc");
  *memory = (void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
  return ncclSuccess;
}

ncclResult_t sim_ncclMemFree(void *memory) {
  if (memory == NULL) return ncclSuccess;
  const uint64_t address = (uint64_t)(uintptr_t)memory;
  vs_sim *sim = vs_simcuda_lock();
  if (sim == NULL) return vs_nccl_fail_sim(VS_SIM_NOT_INITIALIZED, "ncclMemFree");
  vs_sim_error error = VS_SIM_INVALID_VALUE;
  const vs_sim_range *range = vs_sim_find_reserved(sim, address);
  if (range != NULL && range->base == address) {
    const uint64_t size = range->size;
    error = vs_sim_unmap(sim, address, size);
    if (error == VS_SIM_OK) error = vs_sim_unreserve(sim, address, size);
  } else if (range == NULL) {
    error = vs_sim_free(sim, address, NULL); /* memory of cudaMalloc, which NCCL also accepts */
  }
  vs_simcuda_unlock();
  return error == VS_SIM_OK ? ncclSuccess : vs_nccl_fail_sim(error, "ncclMemFree");
}

/* ---- registration */

static ncclResult_t notice(vs_shelf *shelf, ncclComm_t comm, void *memory, size_t size, ncclWindow_t *out,
                           const char *name) {
  NCCL_TRY(vs_nccl_check(comm, name));
  if (out == NULL || memory == NULL || size == 0)
    return vs_nccl_fail(ncclInvalidArgument, "%s: an argument is 0", name);
  ncclWindow_t made = vs_shelf_take(shelf);
  if (made == NULL) return vs_nccl_fail(ncclSystemError, "no memory on the host");
  made->comm = comm;
  made->memory = memory;
  made->size = size;
  *out = made;
  return ncclSuccess;
}

static ncclResult_t forget(vs_shelf *shelf, ncclComm_t comm, void *handle, const char *name) {
  NCCL_TRY(vs_nccl_check(comm, name));
  if (handle == NULL) return ncclSuccess;
  if (!vs_object_is(handle, shelf->tag) || ((ncclWindow_t)handle)->comm != comm)
    return vs_nccl_fail(ncclInvalidArgument, "%s: nothing was registered so with this communicator", name);
  (void)vs_shelf_put_back(shelf, handle);
  return ncclSuccess;
}

ncclResult_t sim_ncclCommRegister(const ncclComm_t comm, void *memory, size_t size, void **handle) {
  ncclWindow_t made;
  if (handle == NULL) return vs_nccl_fail(ncclInvalidArgument, "ncclCommRegister: an argument is 0");
  NCCL_TRY(notice(&notices, comm, memory, size, &made, "ncclCommRegister"));
  *handle = made;
  return ncclSuccess;
}

ncclResult_t sim_ncclCommDeregister(const ncclComm_t comm, void *handle) {
  return forget(&notices, comm, handle, "ncclCommDeregister");
}

ncclResult_t sim_ncclCommWindowRegister(ncclComm_t comm, void *memory, size_t size, ncclWindow_t *window,
                                        int flags) {
  (void)flags; /* symmetric, strictly ordered: no other rank exists that could differ */
  return notice(&windows, comm, memory, size, window, "ncclCommWindowRegister");
}

ncclResult_t sim_ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window) {
  return forget(&windows, comm, window, "ncclCommWindowDeregister");
}

ncclResult_t sim_ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t window, void **memory) {
  NCCL_TRY(vs_nccl_check(comm, "ncclWinGetUserPtr"));
  if (memory == NULL || !vs_object_is(window, VS_TAG_WINDOW))
    return vs_nccl_fail(ncclInvalidArgument, "ncclWinGetUserPtr: this is no window");
  *memory = window->memory;
  return ncclSuccess;
}
