/* Arrays: device memory of two or three dimensions, kept as rows at a pitch. The layout that a real driver uses
 * is unknown, so the size is that of the rows. Textures and surfaces over arrays are handles that no kernel
 * reads. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "faces/simcuda/driver/driver.h"

#define ARRAYS UINT64_C(0x4a000000) /* a handle is this + 256 * number */
enum { MOST_ARRAYS = 1 << 14, ROW_ALIGNMENT = 512 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static vs_driver_array *arrays[MOST_ARRAYS];

static CUarray handle_of(uint32_t number) {
  VS_ASSERT(number < MOST_ARRAYS);
  return vs_handle(ARRAYS + number * UINT64_C(256));
}

/* The number of a handle; MOST_ARRAYS for a value that is not a handle of an array. */
static uint32_t number_of(CUarray array) {
  const uint64_t offset = vs_number(array) - ARRAYS;
  return offset % 256 == 0 && offset / 256 < MOST_ARRAYS ? (uint32_t)(offset / 256) : MOST_ARRAYS;
}

const vs_driver_array *vs_driver_array_find(CUarray array) {
  const uint32_t number = number_of(array);
  if (number == MOST_ARRAYS) return NULL;
  pthread_mutex_lock(&lock);
  const vs_driver_array *found = arrays[number];
  pthread_mutex_unlock(&lock);
  return found;
}

/* Bytes of one channel; 0 for a format that is not simulated (compressed and video ones). */
static uint32_t channel_bytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4;
    default: return 0;
  }
}

/* Computes the layout of an array. Fails: INVALID_VALUE, NOT_SUPPORTED for formats and kinds that are not
 * simulated. */
static CUresult lay_out(const CUDA_ARRAY3D_DESCRIPTOR *descriptor, vs_driver_array *array) {
  const uint64_t channels = descriptor->NumChannels;
  VS_CU_NEED(descriptor->Width != 0 && (channels == 1 || channels == 2 || channels == 4));
  VS_CU_NEED(descriptor->Width <= 1 << 20 && descriptor->Height <= 1 << 20 && descriptor->Depth <= 1 << 16);
  const uint32_t bytes = channel_bytes(descriptor->Format);
  if (bytes == 0) {
    vs_simcuda_not_simulated("CUDA driver", "arrays of compressed and video formats");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  *array = (vs_driver_array){.descriptor = *descriptor, .element_bytes = bytes * (uint32_t)channels};
  const uint64_t row = descriptor->Width * array->element_bytes;
  array->pitch = (row + ROW_ALIGNMENT - 1) / ROW_ALIGNMENT * ROW_ALIGNMENT;
  array->height = descriptor->Height == 0 ? 1 : descriptor->Height;
  array->depth = descriptor->Depth == 0 ? 1 : descriptor->Depth;
  VS_ASSERT(array->pitch >= row && array->pitch % ROW_ALIGNMENT == 0);
  return CUDA_SUCCESS;
}

static CUresult keep(const vs_driver_array *array, CUarray *handle) {
  vs_driver_array *kept = malloc(sizeof *kept);
  if (kept == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  *kept = *array;
  pthread_mutex_lock(&lock);
  uint32_t number = 0;
  while (number < MOST_ARRAYS && arrays[number] != NULL) number++;
  if (number < MOST_ARRAYS) arrays[number] = kept;
  pthread_mutex_unlock(&lock);
  if (number == MOST_ARRAYS) {
    free(kept);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *handle = handle_of(number);
  VS_ASSERT(number_of(*handle) == number);
  return CUDA_SUCCESS;
}

CUresult sim_cuArray3DCreate_v2(CUarray *handle, const CUDA_ARRAY3D_DESCRIPTOR *descriptor) {
  VS_CU_NEED(handle != NULL && descriptor != NULL);
  vs_simcuda_charge_caller(__builtin_return_address(0));
  vs_driver_array array;
  VS_CU_TRY(lay_out(descriptor, &array));
  CUdeviceptr address = 0;
  VS_CU_TRY(sim_cuMemAlloc_v2(&address, array.pitch * array.height * array.depth));
  array.address = address;
  const CUresult result = keep(&array, handle);
  if (result != CUDA_SUCCESS) (void)sim_cuMemFree_v2(address);
  return result;
}

CUresult sim_cuArrayCreate_v2(CUarray *handle, const CUDA_ARRAY_DESCRIPTOR *descriptor) {
  VS_CU_NEED(descriptor != NULL);
  vs_simcuda_charge_caller(__builtin_return_address(0));
  const CUDA_ARRAY3D_DESCRIPTOR all = {.Width = descriptor->Width,
                                       .Height = descriptor->Height,
                                       .Format = descriptor->Format,
                                       .NumChannels = descriptor->NumChannels};
  return sim_cuArray3DCreate_v2(handle, &all);
}

CUresult sim_cuArrayDestroy(CUarray handle) {
  const uint32_t number = number_of(handle);
  if (number == MOST_ARRAYS) return CUDA_ERROR_INVALID_HANDLE;
  pthread_mutex_lock(&lock);
  vs_driver_array *array = arrays[number];
  arrays[number] = NULL;
  pthread_mutex_unlock(&lock);
  if (array == NULL) return CUDA_ERROR_INVALID_HANDLE;
  const CUdeviceptr address = array->address;
  free(array);
  return sim_cuMemFree_v2(address);
}

CUresult sim_cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *descriptor, CUarray handle) {
  VS_CU_NEED(descriptor != NULL);
  const vs_driver_array *array = vs_driver_array_find(handle);
  if (array == NULL) return CUDA_ERROR_INVALID_HANDLE;
  *descriptor = array->descriptor;
  return CUDA_SUCCESS;
}

CUresult sim_cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *descriptor, CUarray handle) {
  VS_CU_NEED(descriptor != NULL);
  CUDA_ARRAY3D_DESCRIPTOR all;
  VS_CU_TRY(sim_cuArray3DGetDescriptor_v2(&all, handle));
  *descriptor = (CUDA_ARRAY_DESCRIPTOR){
      .Width = all.Width, .Height = all.Height, .Format = all.Format, .NumChannels = all.NumChannels};
  return CUDA_SUCCESS;
}

CUresult sim_cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *requirements, CUarray handle,
                                          CUdevice device) {
  VS_CU_NEED(requirements != NULL);
  if (!vs_driver_is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  const vs_driver_array *array = vs_driver_array_find(handle);
  if (array == NULL) return CUDA_ERROR_INVALID_HANDLE;
  *requirements = (CUDA_ARRAY_MEMORY_REQUIREMENTS){.size = array->pitch * array->height * array->depth,
                                                   .alignment = ROW_ALIGNMENT};
  return CUDA_SUCCESS;
}
