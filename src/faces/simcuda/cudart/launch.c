/* Launches. A kernel does nothing here: a launch is checked and counted on its stream. */
#include "faces/simcuda/cudart/registry.h"
#include "faces/simcuda/cudart/runtime.h"

/* The parameters of a launch, except the kernel's arguments, which are never read. */
typedef struct launch_shape {
  dim3 grid, block;
  uint64_t shared_bytes;
  uint64_t stream;
} launch_shape;

static bool launch_fits(const launch_shape *what, const vs_sim_figures *figures) {
  const uint64_t threads = (uint64_t)what->block.x * what->block.y;
  if (what->grid.x == 0 || what->grid.y == 0 || what->grid.z == 0) return false;
  if (what->block.x == 0 || what->block.y == 0 || what->block.z == 0) return false;
  if (what->grid.x > INT32_MAX || what->grid.y > 65535 || what->grid.z > 65535) return false;
  if (what->block.x > 1024 || what->block.y > 1024 || what->block.z > 64) return false;
  return threads * what->block.z <= figures->threads_per_block;
}

static vs_sim_error launch_kernel(const void *function, const launch_shape *what) {
  vs_rt rt;
  vs_rt_symbol *kernel = NULL;
  VS_SIM_TRY(vs_rt_use(&rt));
  VS_SIM_TRY(vs_rt_kernel_for(function, rt.device, &kernel, NULL));
  const vs_sim_figures *figures = vs_simcuda_figures(rt.device);
  if (!launch_fits(what, figures)) return (vs_sim_error)VS_RT_INVALID_CONFIGURATION;
  if (what->shared_bytes > vs_rt_dynamic_shared(kernel, figures)) return VS_SIM_INVALID_VALUE;
  if (vs_rt_has_many_kernels()) VS_SIM_TRY(vs_simcuda_own_take_first(rt.device, VS_SIM_OWN_KERNELS));
  return vs_simcuda_work_on(what->stream, VS_SIMCUDA_KERNEL);
}

cudaError_t sim_cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                                 size_t shared_bytes, cudaStream_t stream) {
  (void)arguments;
  return vs_rt_answer(
      launch_kernel(function, &(launch_shape){grid, block, shared_bytes, VS_RT_NUMBER(stream)}));
}

/* Compiled code calls this since 12.x, with a handle instead of the function. */
cudaError_t sim___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                                   size_t shared_bytes, cudaStream_t stream) {
  return sim_cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}

cudaError_t sim_cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                                            size_t shared_bytes, cudaStream_t stream) {
  return sim_cudaLaunchKernel(function, grid, block, arguments, shared_bytes, stream);
}

/* Records the events among the attributes behind the kernel, which is complete by then. */
static vs_sim_error record_events(const cudaLaunchConfig_t *config) {
  for (unsigned i = 0; i < config->numAttrs; i++) {
    const cudaLaunchAttribute *attribute = &config->attrs[i];
    cudaEvent_t event = NULL;
    if (attribute->id == cudaLaunchAttributeProgrammaticEvent) event = attribute->val.programmaticEvent.event;
    if (attribute->id == cudaLaunchAttributeLaunchCompletionEvent)
      event = attribute->val.launchCompletionEvent.event;
    if (event == NULL) continue;
    vs_rt rt;
    if (!vs_rt_enter(&rt)) return (vs_sim_error)rt.failure;
    VS_SIM_TRY((vs_sim_error)vs_rt_leave(
        vs_sim_event_record(rt.sim, rt.device, VS_RT_NUMBER(event), VS_RT_NUMBER(config->stream), 0)));
  }
  return VS_SIM_OK;
}

cudaError_t sim_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function,
                                    void **arguments) {
  (void)arguments;
  if (config == NULL || (config->attrs == NULL && config->numAttrs != 0))
    return vs_rt_answer(VS_SIM_INVALID_VALUE);
  vs_sim_error error =
      launch_kernel(function, &(launch_shape){config->gridDim, config->blockDim, config->dynamicSmemBytes,
                                              VS_RT_NUMBER(config->stream)});
  if (error == VS_SIM_OK) error = record_events(config);
  return vs_rt_answer(error);
}

cudaError_t sim_cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *function,
                                         void **arguments) {
  if (config == NULL || config->stream != NULL) return sim_cudaLaunchKernelExC(config, function, arguments);
  cudaLaunchConfig_t own = *config;
  own.stream = cudaStreamPerThread;
  return sim_cudaLaunchKernelExC(&own, function, arguments);
}

cudaError_t sim___cudaGetKernel(cudaKernel_t *handle, const void *function) {
  vs_rt_symbol *kernel = vs_rt_kernel(function);
  if (handle == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (kernel == NULL) return vs_rt_answer((vs_sim_error)VS_RT_INVALID_DEVICE_FUNCTION);
  *handle = (cudaKernel_t)(void *)kernel;
  return cudaSuccess;
}

cudaError_t sim_cudaGetKernel(cudaKernel_t *handle, const void *function) {
  return sim___cudaGetKernel(handle, function);
}

cudaError_t sim_cudaGetFuncBySymbol(cudaFunction_t *handle, const void *function) {
  vs_rt rt;
  vs_rt_symbol *kernel = NULL;
  if (handle == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  vs_sim_error error = vs_rt_use(&rt);
  if (error == VS_SIM_OK) error = vs_rt_kernel_for(function, rt.device, &kernel, NULL);
  if (error == VS_SIM_OK) *handle = (cudaFunction_t)(void *)kernel;
  return vs_rt_answer(error);
}

/* ---- the configuration between <<< and >>>: pushed by the caller, popped by the kernel's stub in host code */

enum {
  MOST_CONFIGURATIONS = sizeof(((vs_simcuda_thread *)0)->configurations) / sizeof(struct vs_simcuda_launch)
};

unsigned sim___cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                         struct CUstream_st *stream) {
  vs_simcuda_thread *thread = vs_simcuda_this_thread();
  if (thread->configuration_count == MOST_CONFIGURATIONS) return (unsigned)vs_rt_answer(VS_SIM_OUT_OF_MEMORY);
  thread->configurations[thread->configuration_count++] =
      (struct vs_simcuda_launch){.grid = {grid.x, grid.y, grid.z},
                                 .block = {block.x, block.y, block.z},
                                 .shared_bytes = shared_bytes,
                                 .stream = VS_RT_NUMBER(stream)};
  return 0;
}

cudaError_t sim___cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream) {
  vs_simcuda_thread *thread = vs_simcuda_this_thread();
  if (grid == NULL || block == NULL || shared_bytes == NULL || stream == NULL)
    return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (thread->configuration_count == 0) return vs_rt_answer((vs_sim_error)cudaErrorMissingConfiguration);
  const struct vs_simcuda_launch *top = &thread->configurations[--thread->configuration_count];
  *grid = (dim3){top->grid[0], top->grid[1], top->grid[2]};
  *block = (dim3){top->block[0], top->block[1], top->block[2]};
  *shared_bytes = (size_t)top->shared_bytes;
  *(cudaStream_t *)stream = VS_RT_HANDLE(cudaStream_t, top->stream);
  return cudaSuccess;
}
