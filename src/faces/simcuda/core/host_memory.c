/* Host memory that CUDA allocates: real pages, which the simulation knows as ranges. */
#include "faces/simcuda/core/process_internal.h"

#include <sys/mman.h>

/* Maps pages that the kernel provides on first access. `at` 0: at any address. NULL if they cannot be mapped. */
static void *map_pages(uint64_t at, uint64_t size) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at == 0 ? 0 : MAP_FIXED_NOREPLACE);
  void *wanted = (void *)(uintptr_t)at; // NOLINT(performance-no-int-to-ptr)
  void *memory = mmap(wanted, (size_t)size, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  if (at == 0 || memory == wanted) return memory;
  (void)munmap(memory, (size_t)size); /* kernels before 4.17 ignore the flag and may choose another address */
  return NULL;
}

/* `size` rounded up to whole pages; 0 if that overflows. */
static uint64_t whole_pages(uint64_t size) {
  enum { PAGE = 4096 };
  uint64_t end;
  return vs_add_u64(size, PAGE - 1, &end) ? end / PAGE * PAGE : 0;
}

vs_sim_error vs_simcuda_host_alloc(uint64_t size, void **memory) {
  VS_SIM_TRY(vs_simcuda_begin());
  if (size == 0) return VS_SIM_INVALID_VALUE;
  const uint64_t bytes = whole_pages(size);
  void *pages = bytes == 0 ? NULL : map_pages(0, bytes);
  if (pages == NULL) return VS_SIM_OUT_OF_MEMORY;
  vs_simcuda_lock_begun();
  const vs_sim_error error = vs_sim_host_add(&vs_this_process.sim, (uintptr_t)pages, size, 0, bytes);
  vs_simcuda_unlock();
  if (error != VS_SIM_OK) (void)munmap(pages, (size_t)bytes);
  else *memory = pages;
  return error;
}

/* Ranges that the program registered itself have user 0: their pages are not ours to unmap. */
static vs_sim_error remove_range(uint64_t address, vs_sim_range *was) {
  VS_ASSERT(vs_simcuda_is_locked());
  const vs_sim_range *range = vs_sim_find(&vs_this_process.sim, address);
  if (range == NULL || range->kind != VS_SIM_RANGE_HOST || range->base != address || range->user == 0)
    return VS_SIM_INVALID_VALUE;
  return vs_sim_host_remove(&vs_this_process.sim, address, was);
}

vs_sim_error vs_simcuda_host_free(void *memory) {
  VS_SIM_TRY(vs_simcuda_begin());
  vs_sim_range was;
  vs_simcuda_lock_begun();
  const vs_sim_error error = remove_range((uintptr_t)memory, &was);
  vs_simcuda_unlock();
  if (error == VS_SIM_OK) (void)munmap(memory, (size_t)was.user);
  return error;
}

/* A managed allocation has its own granules, so no other range shares its pages. */
static vs_sim_error add_managed(uint32_t device, uint64_t size, uint64_t *address) {
  vs_sim *sim = &vs_this_process.sim;
  VS_SIM_TRY(vs_simcuda_use_locked(device));
  VS_SIM_TRY(vs_sim_managed_alloc(sim, device, size, address));
  vs_sim_range *range = vs_sim_find_mutable(sim, *address);
  VS_ASSERT(range != NULL && range->base == *address && range->kind == VS_SIM_RANGE_MANAGED);
  const uint64_t bytes = whole_pages(range->size);
  if (bytes != 0 && map_pages(*address, bytes) != NULL) {
    range->user = bytes;
    return VS_SIM_OK;
  }
  const vs_sim_error freed = vs_sim_free(sim, *address, NULL);
  return freed == VS_SIM_OK ? VS_SIM_OUT_OF_MEMORY : freed;
}

vs_sim_error vs_simcuda_managed_alloc(uint64_t size, void **memory) {
  VS_SIM_TRY(vs_simcuda_begin());
  if (size == 0) return VS_SIM_INVALID_VALUE;
  uint64_t address;
  vs_simcuda_lock_begun();
  const vs_sim_error error = add_managed(vs_simcuda_this_thread()->device, size, &address);
  vs_simcuda_unlock();
  if (error == VS_SIM_OK) *memory = (void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
  return error;
}
