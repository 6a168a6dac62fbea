/* Copies and fills in all forms of the runtime. This file converts sources and destinations to addresses;
 * core/copy.c moves the bytes.
 *
 *   sync forms   VS_SIMCUDA_NO_STREAM: the default stream, and wait for it
 *   async forms  the given stream */
#include "faces/simcuda/cudart/array.h"
#include "faces/simcuda/cudart/registry.h"

static vs_sim_error begin_copy(enum cudaMemcpyKind kind) {
  vs_rt rt;
  VS_SIM_TRY(vs_rt_use(&rt));
  return (unsigned)kind > cudaMemcpyDefault ? (vs_sim_error)VS_RT_INVALID_DIRECTION : VS_SIM_OK;
}

static cudaError_t copy_bytes(uint64_t to, uint64_t from, size_t size, enum cudaMemcpyKind kind,
                              uint64_t stream) {
  vs_sim_error error = begin_copy(kind);
  if (error == VS_SIM_OK) error = vs_simcuda_copy(to, from, size, (vs_simcuda_direction)kind, stream);
  return vs_rt_answer(error);
}

static cudaError_t copy_rows(uint64_t to, size_t to_pitch, uint64_t from, size_t from_pitch, size_t width,
                             size_t height, enum cudaMemcpyKind kind, uint64_t stream) {
  vs_sim_error error = begin_copy(kind);
  if (error == VS_SIM_OK && height > 1 && (to_pitch < width || from_pitch < width))
    error = (vs_sim_error)VS_RT_INVALID_PITCH;
  if (error == VS_SIM_OK)
    error = vs_simcuda_copy_rows(to, to_pitch, from, from_pitch, width, height, (vs_simcuda_direction)kind,
                                 stream);
  return vs_rt_answer(error);
}

/* The forms of a copy that wait. cudaX uses the default stream; cudaX_ptds, which programs compiled for
 * per-thread default streams call, uses the calling thread's own. `call` is the form with `stream`. */
#define WAITING(name, arguments, call)                                            \
  cudaError_t sim_##name arguments {                                              \
    const cudaStream_t stream = VS_RT_HANDLE(cudaStream_t, VS_SIMCUDA_NO_STREAM); \
    return call;                                                                  \
  }                                                                               \
  cudaError_t sim_##name##_ptds arguments {                                       \
    const cudaStream_t stream = cudaStreamPerThread;                              \
    const cudaError_t error = call;                                               \
    return error != cudaSuccess ? error : sim_cudaStreamSynchronize(stream);      \
  }

cudaError_t sim_cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                                cudaStream_t stream) {
  return copy_bytes(VS_RT_NUMBER(to), VS_RT_NUMBER(from), size, kind, VS_RT_NUMBER(stream));
}
WAITING(cudaMemcpy, (void *to, const void *from, size_t size, enum cudaMemcpyKind kind),
        sim_cudaMemcpyAsync(to, from, size, kind, stream))

cudaError_t sim_cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                  size_t width, size_t height, enum cudaMemcpyKind kind,
                                  cudaStream_t stream) {
  return copy_rows(VS_RT_NUMBER(to), to_pitch, VS_RT_NUMBER(from), from_pitch, width, height, kind,
                   VS_RT_NUMBER(stream));
}
WAITING(cudaMemcpy2D,
        (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
         enum cudaMemcpyKind kind),
        sim_cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, stream))

/* ---- between devices: an address determines its device, so the device numbers are only checked */

static cudaError_t copy_peer(void *to, int to_device, const void *from, int from_device, size_t size,
                             uint64_t stream) {
  if (!vs_rt_is_device(to_device) || !vs_rt_is_device(from_device))
    return vs_rt_answer(VS_SIM_INVALID_DEVICE);
  return copy_bytes(VS_RT_NUMBER(to), VS_RT_NUMBER(from), size, cudaMemcpyDefault, stream);
}

cudaError_t sim_cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t size) {
  return copy_peer(to, to_device, from, from_device, size, VS_SIMCUDA_NO_STREAM);
}

cudaError_t sim_cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t size,
                                    cudaStream_t stream) {
  return copy_peer(to, to_device, from, from_device, size, VS_RT_NUMBER(stream));
}

/* ---- several copies in one call. Hints about locations and order have no effect. */

static cudaError_t copy_batch(void *const *to, const void *const *from, const size_t *sizes, size_t count,
                              cudaStream_t stream) {
  if (count != 0 && (to == NULL || from == NULL || sizes == NULL)) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  for (size_t i = 0; i < count; i++) {
    const cudaError_t error = copy_bytes(VS_RT_NUMBER(to[i]), VS_RT_NUMBER(from[i]), sizes[i],
                                         cudaMemcpyDefault, VS_RT_NUMBER(stream));
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

#if VS_CUDART >= 13
cudaError_t sim_cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *sizes,
                                     size_t count, struct cudaMemcpyAttributes *attributes, size_t *first,
                                     size_t attribute_count, cudaStream_t stream) {
  (void)attributes, (void)first, (void)attribute_count;
  return copy_batch(to, from, sizes, count, stream);
}

cudaError_t sim_cudaMemcpyWithAttributesAsync(void *to, const void *from, size_t size,
                                              struct cudaMemcpyAttributes *attributes, cudaStream_t stream) {
  (void)attributes;
  return copy_bytes(VS_RT_NUMBER(to), VS_RT_NUMBER(from), size, cudaMemcpyDefault, VS_RT_NUMBER(stream));
}
#else
cudaError_t sim_cudaMemcpyBatchAsync(void **to, void **from, size_t *sizes, size_t count,
                                     struct cudaMemcpyAttributes *attributes, size_t *first,
                                     size_t attribute_count, size_t *failed, cudaStream_t stream) {
  (void)attributes, (void)first, (void)attribute_count;
  const cudaError_t error = copy_batch(to, (const void *const *)from, sizes, count, stream);
  if (error != cudaSuccess && failed != NULL) *failed = SIZE_MAX; /* as documented for "unknown which" */
  return error;
}
#endif

/* ---- variables of the device */

static vs_sim_error locate(const void *symbol, size_t size, size_t offset, uint64_t *address) {
  vs_rt rt;
  VS_SIM_TRY(vs_rt_use(&rt));
  vs_rt_symbol *variable = vs_rt_variable(symbol);
  if (variable == NULL) return (vs_sim_error)VS_RT_INVALID_SYMBOL;
  if (offset > variable->size || size > variable->size - offset) return VS_SIM_INVALID_VALUE;
  VS_SIM_TRY(vs_rt_variable_address(variable, rt.device, address));
  *address += offset;
  return VS_SIM_OK;
}

static cudaError_t to_symbol(const void *symbol, const void *from, size_t size, size_t offset,
                             enum cudaMemcpyKind kind, uint64_t stream) {
  uint64_t address = 0;
  if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
    return vs_rt_answer((vs_sim_error)VS_RT_INVALID_DIRECTION);
  const vs_sim_error error = locate(symbol, size, offset, &address);
  return error != VS_SIM_OK ? vs_rt_answer(error)
                            : copy_bytes(address, VS_RT_NUMBER(from), size, kind, stream);
}

static cudaError_t from_symbol(void *to, const void *symbol, size_t size, size_t offset,
                               enum cudaMemcpyKind kind, uint64_t stream) {
  uint64_t address = 0;
  if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
    return vs_rt_answer((vs_sim_error)VS_RT_INVALID_DIRECTION);
  const vs_sim_error error = locate(symbol, size, offset, &address);
  return error != VS_SIM_OK ? vs_rt_answer(error) : copy_bytes(VS_RT_NUMBER(to), address, size, kind, stream);
}

cudaError_t sim_cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t size, size_t offset,
                                        enum cudaMemcpyKind kind, cudaStream_t stream) {
  return to_symbol(symbol, from, size, offset, kind, VS_RT_NUMBER(stream));
}
WAITING(cudaMemcpyToSymbol,
        (const void *symbol, const void *from, size_t size, size_t offset, enum cudaMemcpyKind kind),
        sim_cudaMemcpyToSymbolAsync(symbol, from, size, offset, kind, stream))

cudaError_t sim_cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t size, size_t offset,
                                          enum cudaMemcpyKind kind, cudaStream_t stream) {
  return from_symbol(to, symbol, size, offset, kind, VS_RT_NUMBER(stream));
}
WAITING(cudaMemcpyFromSymbol,
        (void *to, const void *symbol, size_t size, size_t offset, enum cudaMemcpyKind kind),
        sim_cudaMemcpyFromSymbolAsync(to, symbol, size, offset, kind, stream))

cudaError_t sim_cudaGetSymbolAddress(void **memory, const void *symbol) {
  uint64_t address = 0;
  if (memory == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const vs_sim_error error = locate(symbol, 0, 0, &address);
  if (error == VS_SIM_OK) *memory = VS_RT_HANDLE(void *, address);
  return vs_rt_answer(error);
}

cudaError_t sim_cudaGetSymbolSize(size_t *size, const void *symbol) {
  if (size == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const vs_rt_symbol *variable = vs_rt_variable(symbol);
  if (variable == NULL) return vs_rt_answer((vs_sim_error)VS_RT_INVALID_SYMBOL);
  *size = (size_t)variable->size;
  return cudaSuccess;
}

/* ---- boxes: three dimensions, of memory or of an array */

/* One side of a copy: the address of its first byte, and the distances between rows and between layers. */
typedef struct side {
  uint64_t at;
  uint64_t pitch, layer;
} side;

/* Positions are in bytes for memory, in elements for arrays. */
static vs_sim_error find_side(cudaArray_const_t handle, struct cudaPos at,
                              const struct cudaPitchedPtr *memory, uint32_t *element_bytes, side *out) {
  vs_rt_array array;
  if (handle != NULL) {
    if (memory->ptr != NULL) return VS_SIM_INVALID_VALUE;
    if (!vs_rt_array_find(handle, &array)) return VS_SIM_INVALID_HANDLE;
    *element_bytes = array.element_bytes;
    *out = (side){.at = vs_rt_array_at(&array, at.x * array.element_bytes, at.y, at.z),
                  .pitch = array.pitch,
                  .layer = array.pitch * array.rows};
    return VS_SIM_OK;
  }
  const uint64_t layer = memory->pitch * memory->ysize;
  *out = (side){.at = VS_RT_NUMBER(memory->ptr) + at.z * layer + at.y * memory->pitch + at.x,
                .pitch = memory->pitch,
                .layer = layer};
  return VS_SIM_OK;
}

/* Copies with one call if the layers of both sides are adjacent, so that a capture records one copy. */
static cudaError_t copy_box(const side *to, const side *from, struct cudaExtent size,
                            enum cudaMemcpyKind kind, uint64_t stream) {
  VS_ASSERT(size.width != 0 && size.height != 0 && size.depth != 0);
  const bool is_even = to->layer == to->pitch * size.height && from->layer == from->pitch * size.height;
  if (size.depth == 1 || is_even)
    return copy_rows(to->at, to->pitch, from->at, from->pitch, size.width, size.height * size.depth, kind,
                     stream);
  for (size_t z = 0; z < size.depth; z++) {
    const cudaError_t error = copy_rows(to->at + z * to->layer, to->pitch, from->at + z * from->layer,
                                        from->pitch, size.width, size.height, kind, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

static cudaError_t copy_3d(const struct cudaMemcpy3DParms *what, uint64_t stream) {
  side to = {0}, from = {0};
  uint32_t element_bytes = 1;
  if (what == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  struct cudaExtent size = what->extent;
  vs_sim_error error = find_side(what->srcArray, what->srcPos, &what->srcPtr, &element_bytes, &from);
  if (error == VS_SIM_OK) error = find_side(what->dstArray, what->dstPos, &what->dstPtr, &element_bytes, &to);
  if (error != VS_SIM_OK) return vs_rt_answer(error);
  if (size.width == 0 || size.height == 0 || size.depth == 0) return vs_rt_answer(begin_copy(what->kind));
  size.width *= element_bytes;
  return copy_box(&to, &from, size, what->kind, stream);
}

cudaError_t sim_cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *what, cudaStream_t stream) {
  return copy_3d(what, VS_RT_NUMBER(stream));
}
WAITING(cudaMemcpy3D, (const struct cudaMemcpy3DParms *what), sim_cudaMemcpy3DAsync(what, stream))

static cudaError_t copy_3d_peer(const struct cudaMemcpy3DPeerParms *what, uint64_t stream) {
  if (what == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!vs_rt_is_device(what->srcDevice) || !vs_rt_is_device(what->dstDevice))
    return vs_rt_answer(VS_SIM_INVALID_DEVICE);
  const struct cudaMemcpy3DParms same = {.srcArray = what->srcArray,
                                         .srcPos = what->srcPos,
                                         .srcPtr = what->srcPtr,
                                         .dstArray = what->dstArray,
                                         .dstPos = what->dstPos,
                                         .dstPtr = what->dstPtr,
                                         .extent = what->extent,
                                         .kind = cudaMemcpyDefault};
  return copy_3d(&same, stream);
}

cudaError_t sim_cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *what, cudaStream_t stream) {
  return copy_3d_peer(what, VS_RT_NUMBER(stream));
}
WAITING(cudaMemcpy3DPeer, (const struct cudaMemcpy3DPeerParms *what), sim_cudaMemcpy3DPeerAsync(what, stream))

/* ---- arrays, in two dimensions: x in bytes, y in rows */

static cudaError_t to_array(cudaArray_t handle, size_t x, size_t y, const void *from, size_t pitch,
                            size_t width, size_t height, enum cudaMemcpyKind kind, uint64_t stream) {
  vs_rt_array array;
  if (!vs_rt_array_find(handle, &array)) return vs_rt_answer(VS_SIM_INVALID_HANDLE);
  return copy_rows(vs_rt_array_at(&array, x, y, 0), (size_t)array.pitch, VS_RT_NUMBER(from), pitch, width,
                   height, kind, stream);
}

static cudaError_t from_array(void *to, size_t pitch, cudaArray_const_t handle, size_t x, size_t y,
                              size_t width, size_t height, enum cudaMemcpyKind kind, uint64_t stream) {
  vs_rt_array array;
  if (!vs_rt_array_find(handle, &array)) return vs_rt_answer(VS_SIM_INVALID_HANDLE);
  return copy_rows(VS_RT_NUMBER(to), pitch, vs_rt_array_at(&array, x, y, 0), (size_t)array.pitch, width,
                   height, kind, stream);
}

cudaError_t sim_cudaMemcpy2DToArrayAsync(cudaArray_t array, size_t x, size_t y, const void *from,
                                         size_t pitch, size_t width, size_t height, enum cudaMemcpyKind kind,
                                         cudaStream_t stream) {
  return to_array(array, x, y, from, pitch, width, height, kind, VS_RT_NUMBER(stream));
}
WAITING(cudaMemcpy2DToArray,
        (cudaArray_t array, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height,
         enum cudaMemcpyKind kind),
        sim_cudaMemcpy2DToArrayAsync(array, x, y, from, pitch, width, height, kind, stream))

cudaError_t sim_cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t array, size_t x,
                                           size_t y, size_t width, size_t height, enum cudaMemcpyKind kind,
                                           cudaStream_t stream) {
  return from_array(to, pitch, array, x, y, width, height, kind, VS_RT_NUMBER(stream));
}
WAITING(cudaMemcpy2DFromArray,
        (void *to, size_t pitch, cudaArray_const_t array, size_t x, size_t y, size_t width, size_t height,
         enum cudaMemcpyKind kind),
        sim_cudaMemcpy2DFromArrayAsync(to, pitch, array, x, y, width, height, kind, stream))

cudaError_t sim_cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                         size_t from_x, size_t from_y, size_t width, size_t height,
                                         enum cudaMemcpyKind kind) {
  vs_rt_array source;
  if (!vs_rt_array_find(from, &source)) return vs_rt_answer(VS_SIM_INVALID_HANDLE);
  const uint64_t at = vs_rt_array_at(&source, from_x, from_y, 0);
  return to_array(to, to_x, to_y, VS_RT_HANDLE(const void *, at), (size_t)source.pitch, width, height, kind,
                  VS_SIMCUDA_NO_STREAM);
}

/* The oldest forms count bytes across rows: they are copied as whole rows and a rest. */
cudaError_t sim_cudaMemcpyToArrayAsync(cudaArray_t array, size_t x, size_t y, const void *from, size_t size,
                                       enum cudaMemcpyKind kind, cudaStream_t stream) {
  return sim_cudaMemcpy2DToArrayAsync(array, x, y, from, size, size, 1, kind, stream);
}
WAITING(cudaMemcpyToArray,
        (cudaArray_t array, size_t x, size_t y, const void *from, size_t size, enum cudaMemcpyKind kind),
        sim_cudaMemcpyToArrayAsync(array, x, y, from, size, kind, stream))

cudaError_t sim_cudaMemcpyFromArrayAsync(void *to, cudaArray_const_t array, size_t x, size_t y, size_t size,
                                         enum cudaMemcpyKind kind, cudaStream_t stream) {
  return sim_cudaMemcpy2DFromArrayAsync(to, size, array, x, y, size, 1, kind, stream);
}
WAITING(cudaMemcpyFromArray,
        (void *to, cudaArray_const_t array, size_t x, size_t y, size_t size, enum cudaMemcpyKind kind),
        sim_cudaMemcpyFromArrayAsync(to, array, x, y, size, kind, stream))

cudaError_t sim_cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                       size_t from_x, size_t from_y, size_t size, enum cudaMemcpyKind kind) {
  return sim_cudaMemcpy2DArrayToArray(to, to_x, to_y, from, from_x, from_y, size, 1, kind);
}

/* ---- fills: single bytes */

static cudaError_t fill_rows(uint64_t to, size_t pitch, int value, size_t width, size_t height,
                             uint64_t stream) {
  vs_sim_error error = begin_copy(cudaMemcpyDefault);
  if (error == VS_SIM_OK && height > 1 && pitch < width) error = (vs_sim_error)VS_RT_INVALID_PITCH;
  if (error == VS_SIM_OK)
    error = vs_simcuda_fill(to, pitch, (uint32_t)value & 0xff, 1, width, height, stream);
  return vs_rt_answer(error);
}

cudaError_t sim_cudaMemsetAsync(void *to, int value, size_t size, cudaStream_t stream) {
  return fill_rows(VS_RT_NUMBER(to), size, value, size, 1, VS_RT_NUMBER(stream));
}
WAITING(cudaMemset, (void *to, int value, size_t size), sim_cudaMemsetAsync(to, value, size, stream))

cudaError_t sim_cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height,
                                  cudaStream_t stream) {
  return fill_rows(VS_RT_NUMBER(to), pitch, value, width, height, VS_RT_NUMBER(stream));
}
WAITING(cudaMemset2D, (void *to, size_t pitch, int value, size_t width, size_t height),
        sim_cudaMemset2DAsync(to, pitch, value, width, height, stream))

static cudaError_t fill_3d(const struct cudaPitchedPtr *to, int value, struct cudaExtent size,
                           uint64_t stream) {
  const uint64_t layer = to->pitch * to->ysize, at = VS_RT_NUMBER(to->ptr);
  if (size.height == to->ysize)
    return fill_rows(at, to->pitch, value, size.width, size.height * size.depth, stream);
  for (size_t z = 0; z < size.depth; z++) {
    const cudaError_t error = fill_rows(at + z * layer, to->pitch, value, size.width, size.height, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t sim_cudaMemset3DAsync(struct cudaPitchedPtr to, int value, struct cudaExtent size,
                                  cudaStream_t stream) {
  return fill_3d(&to, value, size, VS_RT_NUMBER(stream));
}
WAITING(cudaMemset3D, (struct cudaPitchedPtr to, int value, struct cudaExtent size),
        sim_cudaMemset3DAsync(to, value, size, stream))
