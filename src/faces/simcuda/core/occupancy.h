/* How many blocks of a kernel a multiprocessor can hold at once, by the published rules of the occupancy
 * calculator. */
#ifndef VS_SIMCUDA_OCCUPANCY_H
#define VS_SIMCUDA_OCCUPANCY_H

#include "device/sim/profile.h"

/* The resources that a kernel needs. */
typedef struct vs_occupancy_kernel {
  uint32_t registers;     /* per thread */
  uint64_t static_shared; /* bytes per block */
  /* Bytes of dynamic shared memory that a launch may request after opting in; 0: the limit without opting in. */
  uint64_t most_dynamic_shared;
} vs_occupancy_kernel;

static inline uint32_t vs_occupancy_least(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* Registers are allocated to warps, 256 at a time, and warps in groups of four, one for each partition of the
 * multiprocessor. */
static inline uint32_t vs_occupancy_by_registers(const vs_sim_figures *f, uint32_t registers,
                                                 uint32_t warps) {
  if (registers == 0) return UINT32_MAX;
  const uint32_t each = (registers * f->warp_size + 255) / 256 * 256;
  return f->registers_per_block / each / 4 * 4 / warps * (f->registers_per_sm / f->registers_per_block);
}

/* Shared memory is allocated to blocks, 128 bytes at a time (256 before compute capability 8), including the
 * part that CUDA reserves in each block. */
static inline uint32_t vs_occupancy_by_shared(const vs_sim_figures *f, uint64_t bytes) {
  const uint64_t unit = f->compute_major < 8 ? 256 : 128;
  const uint64_t each = (bytes + f->shared_reserved + unit - 1) / unit * unit;
  return each == 0 ? UINT32_MAX : (uint32_t)(f->shared_per_sm / each);
}

/* 0 if no block fits. */
static inline uint32_t vs_occupancy_blocks(const vs_sim_figures *f, const vs_occupancy_kernel *kernel,
                                           uint32_t threads, uint64_t dynamic_shared) {
  const uint64_t most = kernel->most_dynamic_shared != 0 ? kernel->most_dynamic_shared
                                                         : f->shared_per_block - kernel->static_shared;
  if (threads == 0 || threads > f->threads_per_block || dynamic_shared > most) return 0;
  const uint32_t warps = (threads + f->warp_size - 1) / f->warp_size;
  uint32_t blocks = vs_occupancy_least(f->blocks_per_sm, f->threads_per_sm / f->warp_size / warps);
  blocks = vs_occupancy_least(blocks, vs_occupancy_by_registers(f, kernel->registers, warps));
  return vs_occupancy_least(blocks, vs_occupancy_by_shared(f, kernel->static_shared + dynamic_shared));
}

/* The block size with the most resident threads, the largest of equals, and in *grid the number of blocks that
 * then fill the card. `shared_of` (may be NULL) gives the dynamic shared memory of a block of that size. */
static inline uint32_t vs_occupancy_best_block(const vs_sim_figures *f, const vs_occupancy_kernel *kernel,
                                               uint64_t dynamic_shared,
                                               uint64_t (*shared_of)(void *ctx, uint32_t), void *ctx,
                                               uint32_t most_threads, uint32_t *grid) {
  if (most_threads == 0 || most_threads > f->threads_per_block) most_threads = f->threads_per_block;
  uint32_t best = 0, best_resident = 0, best_blocks = 0;
  for (uint32_t threads = (most_threads + f->warp_size - 1) / f->warp_size * f->warp_size; threads != 0;
       threads -= f->warp_size) {
    const uint32_t size = vs_occupancy_least(threads, most_threads);
    const uint64_t shared = shared_of != NULL ? shared_of(ctx, size) : dynamic_shared;
    const uint32_t blocks = vs_occupancy_blocks(f, kernel, size, shared);
    if (blocks * size <= best_resident) continue;
    best = size;
    best_resident = blocks * size;
    best_blocks = blocks;
  }
  *grid = best_blocks * f->sm_count;
  return best;
}

#endif
