/* NVSHMEM can never be initialised here, because memory shared between GPUs is not simulated. So there is nothing
 * to free or to wait for, and no address is valid. */
#include "faces/simcuda/abi/nvshmem.h"

#include "faces/simcuda/core/process.h"

void *sim_nvshmem_malloc(size_t size) {
  (void)size;
  vs_simcuda_not_simulated("NVSHMEM", "nvshmem_malloc");
  return NULL;
}

void *sim_nvshmem_ptr(const void *address, int pe) {
  (void)address, (void)pe;
  vs_simcuda_not_simulated("NVSHMEM", "nvshmem_ptr");
  return NULL;
}

void *sim_nvshmemx_mc_ptr(nvshmem_team_t team, const void *address) {
  (void)team, (void)address;
  vs_simcuda_not_simulated("NVSHMEM", "nvshmemx_mc_ptr");
  return NULL;
}

void sim_nvshmem_free(void *memory) { (void)memory; }
void sim_nvshmem_barrier_all(void) { vs_simcuda_not_simulated("NVSHMEM", "nvshmem_barrier_all"); }

/* The version of the interface, not of a library. */
void sim_nvshmem_info_get_version(int *major, int *minor) {
  if (major != NULL) *major = 1;
  if (minor != NULL) *minor = 3;
}

int sim_nvshmem_team_n_pes(nvshmem_team_t team) {
  (void)team;
  return -1; /* no such team */
}

int sim_nvshmemid_init_status(void) { return 0; /* not initialised */ }
void sim_nvshmemid_hostlib_finalize(void) {}
