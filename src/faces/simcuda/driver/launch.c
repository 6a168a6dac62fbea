/* Launches, which only count, and occupancy, which is arithmetic. */
#include "faces/simcuda/core/occupancy.h"
#include "faces/simcuda/driver/driver.h"

/* Checks a launch as the driver does before it sends it to the device. */
static CUresult check(const vs_driver_at *at, const vs_driver_function *f, const unsigned int grid[static 3],
                      const unsigned int block[static 3], uint64_t shared) {
  const vs_sim_figures *figures = vs_simcuda_figures(at->device);
  VS_ASSERT(figures != NULL);
  VS_CU_NEED(grid[0] != 0 && grid[1] != 0 && grid[2] != 0 && block[0] != 0 && block[1] != 0 && block[2] != 0);
  VS_CU_NEED(grid[0] <= INT32_MAX && grid[1] <= 65535 && grid[2] <= 65535);
  VS_CU_NEED(block[0] <= 1024 && block[1] <= 1024 && block[2] <= 64);
  VS_CU_NEED((uint64_t)block[0] * block[1] * block[2] <= figures->threads_per_block);
  const uint64_t most = f->name == NULL          ? figures->shared_optin
                        : f->dynamic_shared != 0 ? f->dynamic_shared
                                                 : figures->shared_per_block - f->static_shared;
  VS_CU_NEED(shared <= most);
  return CUDA_SUCCESS;
}

static CUresult launch(CUfunction function, const unsigned int grid[static 3],
                       const unsigned int block[static 3], uint64_t shared, CUstream stream) {
  vs_driver_at at;
  VS_CU_TRY(vs_driver_enter(&at));
  vs_driver_function f;
  VS_CU_TRY(vs_driver_function_find(function, &f));
  VS_CU_TRY(check(&at, &f, grid, block, shared));
  return (CUresult)vs_simcuda_work_on(vs_number(stream), VS_SIMCUDA_KERNEL);
}

CUresult sim_cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                            unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                            unsigned int block_z, unsigned int shared, CUstream stream, void **arguments,
                            void **extra) {
  (void)arguments;
  (void)extra;
  return launch(function, (unsigned int[]){grid_x, grid_y, grid_z},
                (unsigned int[]){block_x, block_y, block_z}, shared, stream);
}

CUresult sim_cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                       unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                       unsigned int block_z, unsigned int shared, CUstream stream,
                                       void **arguments) {
  return sim_cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
                            arguments, NULL);
}

CUresult sim_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments,
                              void **extra) {
  VS_CU_NEED(config != NULL && (config->attrs != NULL || config->numAttrs == 0));
  return sim_cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
                            config->blockDimY, config->blockDimZ, config->sharedMemBytes, config->hStream,
                            arguments, extra);
}

CUresult sim_cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction function, void **arguments,
                                   void **extra) {
  if (config == NULL || config->hStream != NULL)
    return sim_cuLaunchKernelEx(config, function, arguments, extra);
  CUlaunchConfig own = *config;
  own.hStream = vs_handle(VS_SIM_STREAM_PER_THREAD);
  return sim_cuLaunchKernelEx(&own, function, arguments, extra);
}

/* ---- occupancy */

/* The inputs of the occupancy calculator for a function on the current device. */
static CUresult kernel_of(CUfunction function, const vs_sim_figures **figures, vs_occupancy_kernel *kernel) {
  vs_driver_at at;
  VS_CU_TRY(vs_driver_enter(&at));
  vs_driver_function f;
  VS_CU_TRY(vs_driver_function_find(function, &f));
  *figures = vs_simcuda_figures(at.device);
  VS_ASSERT(*figures != NULL);
  *kernel = (vs_occupancy_kernel){.registers = f.registers,
                                  .static_shared = f.static_shared,
                                  .most_dynamic_shared =
                                      f.name == NULL ? (*figures)->shared_optin : f.dynamic_shared};
  return CUDA_SUCCESS;
}

CUresult sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function,
                                                                  int threads, size_t shared,
                                                                  unsigned int flags) {
  VS_CU_NEED(blocks != NULL && threads > 0 && flags <= 1);
  const vs_sim_figures *figures;
  vs_occupancy_kernel kernel;
  VS_CU_TRY(kernel_of(function, &figures, &kernel));
  *blocks = (int)vs_occupancy_blocks(figures, &kernel, (uint32_t)threads, shared);
  return CUDA_SUCCESS;
}
CUresult sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
                                                         size_t shared) {
  return sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}

/* Calls the program's function from block size to shared memory. */
static uint64_t shared_of(void *ctx, uint32_t threads) { return (*(CUoccupancyB2DSize *)ctx)((int)threads); }

CUresult sim_cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction function,
                                                       CUoccupancyB2DSize shared_for, size_t shared,
                                                       int limit, unsigned int flags) {
  VS_CU_NEED(grid != NULL && block != NULL && limit >= 0 && flags <= 1);
  const vs_sim_figures *figures;
  vs_occupancy_kernel kernel;
  VS_CU_TRY(kernel_of(function, &figures, &kernel));
  uint32_t blocks = 0;
  *block = (int)vs_occupancy_best_block(figures, &kernel, shared, shared_for == NULL ? NULL : shared_of,
                                        &shared_for, (uint32_t)limit, &blocks);
  VS_ASSERT(*block >= 0 && (uint32_t)*block <= figures->threads_per_block);
  *grid = (int)blocks;
  return CUDA_SUCCESS;
}
CUresult sim_cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function,
                                              CUoccupancyB2DSize shared_for, size_t shared, int limit) {
  return sim_cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, shared_for, shared, limit, 0);
}

/* The dynamic shared memory that a block may have if `blocks` blocks share a multiprocessor. */
CUresult sim_cuOccupancyAvailableDynamicSMemPerBlock(size_t *shared, CUfunction function, int blocks,
                                                     int threads) {
  VS_CU_NEED(shared != NULL && blocks > 0 && threads > 0);
  const vs_sim_figures *figures;
  vs_occupancy_kernel kernel;
  VS_CU_TRY(kernel_of(function, &figures, &kernel));
  const uint64_t each = figures->shared_per_sm / (uint32_t)blocks / 128 * 128;
  const uint64_t taken = figures->shared_reserved + kernel.static_shared;
  const uint64_t most = figures->shared_optin - kernel.static_shared;
  *shared = each <= taken ? 0 : each - taken < most ? each - taken : most;
  VS_ASSERT(*shared <= figures->shared_per_sm);
  return CUDA_SUCCESS;
}

/* Clusters of up to eight blocks run on every device; a cluster takes at most as many multiprocessors as it has
 * blocks. */
CUresult sim_cuOccupancyMaxPotentialClusterSize(int *size, CUfunction function,
                                                const CUlaunchConfig *config) {
  VS_CU_NEED(size != NULL && config != NULL);
  const vs_sim_figures *figures;
  vs_occupancy_kernel kernel;
  VS_CU_TRY(kernel_of(function, &figures, &kernel));
  if (figures->compute_major < 9) return CUDA_ERROR_NOT_SUPPORTED;
  *size = 8;
  return CUDA_SUCCESS;
}

static uint32_t cluster_size(const CUlaunchConfig *config) {
  for (unsigned int i = 0; i < config->numAttrs; i++)
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      const CUlaunchAttributeValue *size = &config->attrs[i].value;
      return size->clusterDim.x * size->clusterDim.y * size->clusterDim.z;
    }
  return 1;
}

CUresult sim_cuOccupancyMaxActiveClusters(int *clusters, CUfunction function, const CUlaunchConfig *config) {
  VS_CU_NEED(clusters != NULL && config != NULL && (config->attrs != NULL || config->numAttrs == 0));
  const vs_sim_figures *figures;
  vs_occupancy_kernel kernel;
  VS_CU_TRY(kernel_of(function, &figures, &kernel));
  if (figures->compute_major < 9) return CUDA_ERROR_NOT_SUPPORTED;
  const uint32_t size = cluster_size(config);
  VS_CU_NEED(size != 0);
  const uint32_t threads = config->blockDimX * config->blockDimY * config->blockDimZ;
  *clusters = (int)(vs_occupancy_blocks(figures, &kernel, threads, config->sharedMemBytes) *
                    figures->sm_count / size);
  return CUDA_SUCCESS;
}
