/* vramscope torch: the allocator of <vramscope/live.h> as PyTorch's, in Python or C++, through PyTorch's interface for this
 * (torch.cuda.memory.CUDAPluggableAllocator).
 *
 *   torch.cuda.memory.change_current_allocator(                            in Python, before anything of torch.cuda is used
 *       torch.cuda.memory.CUDAPluggableAllocator("libvramscope.so.0", "vs_torch_alloc", "vs_torch_free"))
 *
 *   vs_live_options options = {};                                          in C++, before CUDA is used
 *   options.gpus = "cuda";
 *   vs_torch_open(&options, true, &error);
 *   auto own = torch::cuda::CUDAPluggableAllocator::createCustomAllocator(vs_torch_alloc, vs_torch_free);
 *   torch::cuda::CUDAPluggableAllocator::changeCurrentAllocator(own);
 *   vs_live_memory_of(vs_torch_live(), 0, &memory);                        figures, scopes, snapshots, recordings: all of live.h
 *
 * PyTorch accepts an allocator once in a process and cannot remove it again. So a process has one, which is opened once and stays
 * until the process ends. In Python, vramscope.torch.use_allocator() does all of this and also provides PyTorch's statistics.
 *
 * PyTorch and the C++ runtime are not linked but looked up in the process. A request that fails throws c10::OutOfMemoryError
 * (torch.OutOfMemoryError in Python), as PyTorch's own allocator does. If no exception can be made the process ends with a
 * sentence, because PyTorch does not check for a null pointer.
 *
 * Threads: every function may be called from any thread. */
#ifndef VRAMSCOPE_TORCH_H
#define VRAMSCOPE_TORCH_H

#include <vramscope/live.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opens the allocator. `options` as for vs_live_open; if PyTorch is loaded, current_stream is PyTorch's. `is_global`: it replaces
 * PyTorch's own allocator, so running out of memory has to be thrown. Without this call the first vs_torch_alloc opens it,
 * globally, over the cards of the CUDA driver or those in the variable VRAMSCOPE_GPU.
 *
 * Fails: VS_BAD_ARGUMENT (already open), VS_UNSUPPORTED (`is_global`, and PyTorch or the C++ runtime lack a symbol that throwing
 *        needs: `error` names it), and as vs_live_open does */
VS_API VS_MUST_CHECK vs_status vs_torch_open_sized(const vs_live_options *options, size_t size,
                                                   bool is_global, vs_error *error);
__attribute__((unused)) static inline VS_MUST_CHECK vs_status vs_torch_open(const vs_live_options *options,
                                                                            bool is_global, vs_error *error) {
  return vs_torch_open_sized(options, sizeof *options, is_global, error);
}

/* NULL if it is not open. It is never closed. */
VS_API vs_live *vs_torch_live(void);

/* ---- what PyTorch calls: the functions of its C++ class CUDAPluggableAllocator, by their types ------------------- */

VS_API void *vs_torch_alloc(size_t size, int device, void *stream);
VS_API void vs_torch_free(void *pointer, size_t size, int device, void *stream);

/* For a torch.cuda.MemPool, instead of vs_torch_alloc: a request that fails returns NULL, after which PyTorch frees cached memory
 * and tries again, or raises. It does not open the allocator; until that is open every request fails. */
VS_API void *vs_torch_segment_alloc(size_t size, int device, void *stream);

/* The other functions are for the setters of the same names: set_init_fn, set_reset_fn (empty_cache), set_memory_fraction_fn,
 * set_base_alloc_fn, set_record_stream_fn, set_begin_allocate_to_pool, set_end_allocate_to_pool_fn, set_release_pool. Without
 * them there are no CUDA graphs. `filter` points to a std::function<bool(cudaStream_t)> of libstdc++. */
typedef struct vs_torch_pool {
  uint64_t a, b;
} vs_torch_pool; /* c10::MempoolId_t */

VS_API void vs_torch_init(int device_count);
VS_API void vs_torch_reset(void);
VS_API void vs_torch_memory_fraction(double fraction, int device);
VS_API void *vs_torch_base_alloc(void *pointer, size_t *size);
VS_API void vs_torch_record_stream(void *pointer, void *stream);
VS_API void vs_torch_begin_allocate_to_pool(int device, vs_torch_pool pool, const void *filter);
VS_API void vs_torch_end_allocate_to_pool(int device, vs_torch_pool pool);
VS_API void vs_torch_release_pool(int device, vs_torch_pool pool);

#ifdef __cplusplus
}
#endif
#endif
