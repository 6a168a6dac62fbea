/* CUDA arrays: memory for textures, whose layout is not published. Here an array is pitched memory, which has
 * about the right size and can be copied; textures and surfaces over it are not simulated.
 *
 * A handle is a number (VS_RT_ARRAYS + 256 * index), so a wrong one fails the look-up. */
#ifndef VS_SIMCUDA_ARRAY_H
#define VS_SIMCUDA_ARRAY_H

#include "faces/simcuda/cudart/runtime.h"

#define VS_RT_ARRAYS UINT64_C(0x5a000000)

typedef struct vs_rt_array {
  struct cudaChannelFormatDesc format;
  struct cudaExtent extent; /* in elements, as requested; height and depth 0 if absent */
  unsigned int flags;
  uint32_t element_bytes;
  uint64_t address;             /* 0: no array */
  uint64_t pitch, rows, layers; /* rows of a layer, layers: at least 1 */
} vs_rt_array;

/* Finds the array of a handle; false if there is none. */
VS_MUST_CHECK bool vs_rt_array_find(cudaArray_const_t handle, vs_rt_array *array);

/* The address of the element at byte x, row y, layer z. */
static inline uint64_t vs_rt_array_at(const vs_rt_array *array, uint64_t x, uint64_t y, uint64_t z) {
  return array->address + (z * array->rows + y) * array->pitch + x;
}

#endif
