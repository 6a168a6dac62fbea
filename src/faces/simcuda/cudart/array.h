/* CUDA arrays: memory for textures, whose layout is the device's secret. Here an array is pitched memory, so
 * that it costs about what it should and can be copied; textures and surfaces over it are not simulated.
 *
 * A handle is a number (VS_RT_ARRAYS + 256 * index), so that a wrong one is a failed look-up. */
#ifndef VS_SIMCUDA_ARRAY_H
#define VS_SIMCUDA_ARRAY_H

#include "faces/simcuda/cudart/runtime.h"

#define VS_RT_ARRAYS UINT64_C(0x5a000000)

typedef struct vs_rt_array {
  struct cudaChannelFormatDesc format;
  struct cudaExtent extent; /* in elements, as it was asked for: height and depth 0 where there is none */
  unsigned int flags;
  uint32_t element_bytes;
  uint64_t address;             /* 0: no array */
  uint64_t pitch, rows, layers; /* rows of a layer, layers: at least 1 */
} vs_rt_array;

/* What a handle names; false if nothing. */
VS_MUST_CHECK bool vs_rt_array_find(cudaArray_const_t handle, vs_rt_array *array);

/* Where the element at x bytes, row y, layer z lies. */
static inline uint64_t vs_rt_array_at(const vs_rt_array *array, uint64_t x, uint64_t y, uint64_t z) {
  return array->address + (z * array->rows + y) * array->pitch + x;
}

#endif
