/* Properties and occupancy of kernels, as far as they are known without reading the code.
 *
 * The architecture is known: that of the cubin that a driver would choose (fatbinary.h). Registers and static
 * shared memory are unknown, because the code is compressed. They are assumed to be REGISTERS, which limits
 * nothing, and 0. So occupancy is the limit by threads, blocks and dynamic shared memory: never too low, and too
 * high for kernels with many registers. */
#include "faces/simcuda/core/occupancy.h"
#include "faces/simcuda/cudart/registry.h"
#include "faces/simcuda/cudart/runtime.h"

enum { REGISTERS = 32, MOST_CLUSTER = 8 };

uint64_t vs_rt_dynamic_shared(const vs_rt_symbol *kernel, const vs_sim_figures *figures) {
  const vs_rt_settings *settings = kernel->settings;
  if (settings == NULL || settings->dynamic_shared < 0) return figures->shared_per_block;
  return vs_max_u64((uint64_t)settings->dynamic_shared, figures->shared_per_block);
}

/* Finds the kernel and its device; the other results may be NULL. */
static vs_sim_error kernel_here(const void *function, vs_rt_symbol **kernel, const vs_sim_figures **figures,
                                vs_fatbinary_choice *choice) {
  vs_rt rt;
  VS_SIM_TRY(vs_rt_use(&rt));
  if (figures != NULL) *figures = vs_simcuda_figures(rt.device);
  VS_ASSERT(figures == NULL || *figures != NULL);
  return vs_rt_kernel_for(function, rt.device, kernel, choice);
}

cudaError_t sim_cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function) {
  static const vs_rt_settings untouched = {.dynamic_shared = -1, .carveout = -1};
  vs_rt_symbol *kernel = NULL;
  const vs_sim_figures *figures = NULL;
  vs_fatbinary_choice code = {0, 0};
  if (attributes == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const vs_sim_error error = kernel_here(function, &kernel, &figures, &code);
  if (error != VS_SIM_OK) return vs_rt_answer(error);
  const vs_rt_settings *set = kernel->settings != NULL ? kernel->settings : &untouched;
  memset(attributes, 0, sizeof *attributes);
  attributes->maxThreadsPerBlock = (int)figures->threads_per_block;
  attributes->numRegs = REGISTERS;
  attributes->ptxVersion = (int)code.ptx;
  attributes->binaryVersion = (int)code.binary;
  attributes->maxDynamicSharedSizeBytes =
      set->dynamic_shared < 0 ? (int)figures->shared_per_block : (int)set->dynamic_shared;
  attributes->preferredShmemCarveout = set->carveout;
  attributes->clusterDimMustBeSet = set->cluster_must_be_set;
  attributes->requiredClusterWidth = set->cluster[0];
  attributes->requiredClusterHeight = set->cluster[1];
  attributes->requiredClusterDepth = set->cluster[2];
  attributes->clusterSchedulingPolicyPreference = set->cluster_policy;
  attributes->nonPortableClusterSizeAllowed = set->cluster_not_portable;
  return cudaSuccess;
}

static vs_sim_error set_attribute(vs_rt_symbol *kernel, const vs_sim_figures *figures, unsigned attribute,
                                  int value) {
  VS_ASSERT(kernel->kind == VS_RT_KERNEL && figures != NULL);
  vs_rt_settings *set = vs_rt_settings_of(kernel);
  if (set == NULL) return VS_SIM_OUT_OF_MEMORY;
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
      if (value < 0 || (uint32_t)value > figures->shared_optin) return VS_SIM_INVALID_VALUE;
      set->dynamic_shared = value;
      return VS_SIM_OK;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      if (value < -1 || value > 100) return VS_SIM_INVALID_VALUE;
      set->carveout = value;
      return VS_SIM_OK;
    case cudaFuncAttributeRequiredClusterWidth: set->cluster[0] = value; return VS_SIM_OK;
    case cudaFuncAttributeRequiredClusterHeight: set->cluster[1] = value; return VS_SIM_OK;
    case cudaFuncAttributeRequiredClusterDepth: set->cluster[2] = value; return VS_SIM_OK;
    case cudaFuncAttributeNonPortableClusterSizeAllowed: set->cluster_not_portable = value; return VS_SIM_OK;
    case cudaFuncAttributeClusterSchedulingPolicyPreference: set->cluster_policy = value; return VS_SIM_OK;
    default: return VS_SIM_INVALID_VALUE;
  }
}

cudaError_t sim_cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value) {
  vs_rt_symbol *kernel = NULL;
  const vs_sim_figures *figures = NULL;
  vs_sim_error error = kernel_here(function, &kernel, &figures, NULL);
  if (error == VS_SIM_OK) error = set_attribute(kernel, figures, (unsigned)attribute, value);
  return vs_rt_answer(error);
}

/* Settings apply to the kernel on all devices. */
cudaError_t sim_cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attribute,
                                                int value, int device) {
  vs_rt_symbol *symbol = vs_rt_kernel(kernel);
  vs_sim_error error = vs_simcuda_begin();
  if (error == VS_SIM_OK && !vs_rt_is_device(device)) error = VS_SIM_INVALID_DEVICE;
  if (error == VS_SIM_OK && symbol == NULL) error = VS_SIM_INVALID_HANDLE;
  if (error == VS_SIM_OK)
    error = set_attribute(symbol, vs_simcuda_figures((uint32_t)device), (unsigned)attribute, value);
  return vs_rt_answer(error);
}

/* Preferences without effect on memory. */
static cudaError_t prefer(const void *function, unsigned value, unsigned most) {
  vs_rt_symbol *kernel = NULL;
  if (value > most) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  return vs_rt_answer(kernel_here(function, &kernel, NULL, NULL));
}

cudaError_t sim_cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache preference) {
  return prefer(function, (unsigned)preference, cudaFuncCachePreferEqual);
}

cudaError_t sim_cudaFuncSetSharedMemConfig(const void *function, enum cudaSharedMemConfig preference) {
  return prefer(function, (unsigned)preference, cudaSharedMemBankSizeEightByte);
}

cudaError_t sim_cudaFuncGetName(const char **name, const void *function) {
  const vs_rt_symbol *kernel = vs_rt_kernel(function);
  if (name == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (kernel == NULL) return vs_rt_answer((vs_sim_error)VS_RT_INVALID_DEVICE_FUNCTION);
  *name = kernel->name;
  return cudaSuccess;
}

/* ---- occupancy */

static vs_occupancy_kernel assume(const vs_rt_symbol *kernel, const vs_sim_figures *figures) {
  return (vs_occupancy_kernel){.registers = REGISTERS,
                               .most_dynamic_shared = vs_rt_dynamic_shared(kernel, figures)};
}

cudaError_t sim_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function,
                                                                       int block_size, size_t shared_bytes,
                                                                       unsigned int flags) {
  vs_rt_symbol *kernel = NULL;
  const vs_sim_figures *figures = NULL;
  if (blocks == NULL || block_size <= 0 || (flags & ~(unsigned)cudaOccupancyDisableCachingOverride) != 0)
    return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const vs_sim_error error = kernel_here(function, &kernel, &figures, NULL);
  if (error != VS_SIM_OK) return vs_rt_answer(error);
  const vs_occupancy_kernel needs = assume(kernel, figures);
  *blocks = (int)vs_occupancy_blocks(figures, &needs, (uint32_t)block_size, shared_bytes);
  return cudaSuccess;
}

cudaError_t sim_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
                                                              int block_size, size_t shared_bytes) {
  return sim_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size,
                                                                    shared_bytes, 0);
}

/* The largest dynamic shared memory with which `blocks` blocks still fit on a multiprocessor. */
cudaError_t sim_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *function, int blocks,
                                                          int block_size) {
  vs_rt_symbol *kernel = NULL;
  const vs_sim_figures *figures = NULL;
  if (bytes == NULL || blocks <= 0 || block_size <= 0) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const vs_sim_error error = kernel_here(function, &kernel, &figures, NULL);
  if (error != VS_SIM_OK) return vs_rt_answer(error);
  const vs_occupancy_kernel needs = assume(kernel, figures);
  if (vs_occupancy_blocks(figures, &needs, (uint32_t)block_size, 0) < (uint32_t)blocks)
    return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const uint64_t share = figures->shared_per_sm / (uint32_t)blocks;
  const uint64_t left = share > figures->shared_reserved ? share - figures->shared_reserved : 0;
  *bytes = (size_t)vs_min_u64(left, needs.most_dynamic_shared);
  return cudaSuccess;
}

/* Clusters exist from compute capability 9.0 on, of up to 8 blocks on every such device. */
static vs_sim_error cluster_blocks(const cudaLaunchConfig_t *config, uint32_t *blocks) {
  *blocks = 1;
  if (config == NULL || (config->attrs == NULL && config->numAttrs != 0)) return VS_SIM_INVALID_VALUE;
  for (unsigned i = 0; i < config->numAttrs; i++)
    if (config->attrs[i].id == cudaLaunchAttributeClusterDimension)
      *blocks = config->attrs[i].val.clusterDim.x * config->attrs[i].val.clusterDim.y *
                config->attrs[i].val.clusterDim.z;
  return *blocks == 0 ? VS_SIM_INVALID_VALUE : VS_SIM_OK;
}

cudaError_t sim_cudaOccupancyMaxPotentialClusterSize(int *size, const void *function,
                                                     const cudaLaunchConfig_t *config) {
  vs_rt_symbol *kernel = NULL;
  const vs_sim_figures *figures = NULL;
  if (size == NULL || config == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const vs_sim_error error = kernel_here(function, &kernel, &figures, NULL);
  if (error == VS_SIM_OK && figures->compute_major < 9) return vs_rt_answer(VS_SIM_NOT_SUPPORTED);
  if (error == VS_SIM_OK) *size = MOST_CLUSTER;
  return vs_rt_answer(error);
}

cudaError_t sim_cudaOccupancyMaxActiveClusters(int *clusters, const void *function,
                                               const cudaLaunchConfig_t *config) {
  vs_rt_symbol *kernel = NULL;
  const vs_sim_figures *figures = NULL;
  uint32_t size = 1;
  if (clusters == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  vs_sim_error error = cluster_blocks(config, &size);
  if (error == VS_SIM_OK) error = kernel_here(function, &kernel, &figures, NULL);
  if (error == VS_SIM_OK && figures->compute_major < 9) error = VS_SIM_NOT_SUPPORTED;
  if (error != VS_SIM_OK) return vs_rt_answer(error);
  const vs_occupancy_kernel needs = assume(kernel, figures);
  const uint32_t threads = config->blockDim.x * config->blockDim.y * config->blockDim.z;
  const uint32_t blocks = vs_occupancy_blocks(figures, &needs, threads, config->dynamicSmemBytes);
  *clusters = (int)(blocks * figures->sm_count / size);
  return cudaSuccess;
}
