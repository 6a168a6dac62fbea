/* NVSHMEM: the functions written by hand, which return no status. */
#ifndef VS_SIMCUDA_ABI_NVSHMEM_H
#define VS_SIMCUDA_ABI_NVSHMEM_H

#include <stddef.h>
#include <stdint.h>

typedef int32_t nvshmem_team_t;

void *sim_nvshmem_malloc(size_t size);
void *sim_nvshmem_ptr(const void *address, int pe);
void *sim_nvshmemx_mc_ptr(nvshmem_team_t team, const void *address);
void sim_nvshmem_free(void *memory);
void sim_nvshmem_barrier_all(void);
void sim_nvshmem_info_get_version(int *major, int *minor);
int sim_nvshmem_team_n_pes(nvshmem_team_t team);
int sim_nvshmemid_init_status(void);
void sim_nvshmemid_hostlib_finalize(void);

#endif
