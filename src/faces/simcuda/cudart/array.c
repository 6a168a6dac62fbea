#include "faces/simcuda/cudart/array.h"

#include <pthread.h>

enum { ARRAY_ROW_UNIT = 512, MOST_CHANNEL_BITS = 32 };

static struct {
  pthread_mutex_t lock;
  VS_VEC(vs_rt_array) arrays;
} array_table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static vs_rt_array *find_array(cudaArray_const_t handle) {
  const uint64_t number = VS_RT_NUMBER(handle) - VS_RT_ARRAYS;
  if (number % 256 != 0 || number / 256 >= array_table.arrays.count) return NULL;
  vs_rt_array *array = &array_table.arrays.data[number / 256];
  VS_ASSERT(array->address == 0 || (array->rows != 0 && array->layers != 0 && array->element_bytes != 0));
  return array->address != 0 ? array : NULL;
}

bool vs_rt_array_find(cudaArray_const_t handle, vs_rt_array *array) {
  pthread_mutex_lock(&array_table.lock);
  const vs_rt_array *found = find_array(handle);
  if (found != NULL) *array = *found;
  pthread_mutex_unlock(&array_table.lock);
  return found != NULL;
}

/* 0 for a format that no element can have. */
static uint32_t bytes_of_element(const struct cudaChannelFormatDesc *format) {
  const int bits[4] = {format->x, format->y, format->z, format->w};
  uint32_t sum = 0;
  for (int i = 0; i < 4; i++) {
    if (bits[i] < 0 || bits[i] > MOST_CHANNEL_BITS || bits[i] % 8 != 0) return 0;
    sum += (uint32_t)bits[i] / 8;
  }
  return sum;
}

/* Computes the layout; false if the array is invalid or its size overflows. */
static bool lay_out(vs_rt_array *array, uint64_t *size) {
  size_t width, rows, bytes;
  array->element_bytes = bytes_of_element(&array->format);
  if (array->element_bytes == 0 || array->extent.width == 0) return false;
  if (!vs_mul_size(array->extent.width, array->element_bytes, &width) || width > SIZE_MAX - ARRAY_ROW_UNIT)
    return false;
  array->pitch = (width + ARRAY_ROW_UNIT - 1) / ARRAY_ROW_UNIT * ARRAY_ROW_UNIT;
  array->rows = array->extent.height == 0 ? 1 : array->extent.height;
  array->layers = array->extent.depth == 0 ? 1 : array->extent.depth;
  if (!vs_mul_size(array->rows, array->layers, &rows) || !vs_mul_size(rows, (size_t)array->pitch, &bytes))
    return false;
  VS_ASSERT(array->pitch >= width && array->pitch % ARRAY_ROW_UNIT == 0);
  *size = bytes;
  return true;
}

static vs_sim_error keep_array(const vs_rt_array *array, cudaArray_t *handle) {
  size_t i = 0;
  pthread_mutex_lock(&array_table.lock);
  while (i < array_table.arrays.count && array_table.arrays.data[i].address != 0) i++;
  const bool has_room =
      i < array_table.arrays.count || vs_vec_reserve(vs_host_default(), &array_table.arrays, 1) == VS_OK;
  if (has_room && i == array_table.arrays.count)
    array_table.arrays.data[array_table.arrays.count++].address = 0;
  VS_ASSERT(array->address != 0 && (!has_room || array_table.arrays.data[i].address == 0));
  if (has_room) array_table.arrays.data[i] = *array;
  pthread_mutex_unlock(&array_table.lock);
  *handle = VS_RT_HANDLE(cudaArray_t, VS_RT_ARRAYS + 256 * i);
  return has_room ? VS_SIM_OK : VS_SIM_OUT_OF_MEMORY;
}

static cudaError_t make_array(cudaArray_t *handle, const struct cudaChannelFormatDesc *format,
                              struct cudaExtent extent, unsigned int flags) {
  const unsigned known =
      cudaArrayLayered | cudaArraySurfaceLoadStore | cudaArrayCubemap | cudaArrayTextureGather;
  vs_rt rt;
  uint64_t size = 0;
  if (handle == NULL || format == NULL || (flags & ~known) != 0) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  vs_rt_array array = {.format = *format, .extent = extent, .flags = flags};
  if (!lay_out(&array, &size)) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!vs_rt_enter(&rt)) return rt.failure;
  vs_sim_error error = vs_sim_unsafe_call(rt.sim, &rt.thread->sim);
  if (error == VS_SIM_OK) error = vs_sim_alloc(rt.sim, rt.device, size, &array.address);
  if (error == VS_SIM_OK && (error = keep_array(&array, handle)) != VS_SIM_OK)
    error = vs_sim_free(rt.sim, array.address, NULL) == VS_SIM_OK ? error : VS_SIM_OUT_OF_MEMORY;
  return vs_rt_leave(error);
}

cudaError_t sim_cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format, size_t width,
                                size_t height, unsigned int flags) {
  vs_simcuda_charge_caller(__builtin_return_address(0));
  return make_array(array, format, (struct cudaExtent){width, height, 0}, flags);
}

cudaError_t sim_cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format,
                                  struct cudaExtent extent, unsigned int flags) {
  vs_simcuda_charge_caller(__builtin_return_address(0));
  return make_array(array, format, extent, flags);
}

cudaError_t sim_cudaFreeArray(cudaArray_t handle) {
  vs_rt rt;
  uint64_t address = 0;
  if (!vs_rt_enter(&rt)) return rt.failure;
  if (handle == NULL) return vs_rt_leave(VS_SIM_OK);
  pthread_mutex_lock(&array_table.lock);
  vs_rt_array *array = find_array(handle);
  if (array != NULL) {
    address = array->address;
    array->address = 0;
  }
  pthread_mutex_unlock(&array_table.lock);
  if (address == 0) return vs_rt_leave(VS_SIM_INVALID_HANDLE);
  return vs_rt_leave_synchronized(vs_sim_free(rt.sim, address, NULL));
}

cudaError_t sim_cudaArrayGetInfo(struct cudaChannelFormatDesc *format, struct cudaExtent *extent,
                                 unsigned int *flags, cudaArray_t handle) {
  vs_rt_array array;
  if (!vs_rt_array_find(handle, &array)) return vs_rt_answer(VS_SIM_INVALID_HANDLE);
  if (format != NULL) *format = array.format;
  if (extent != NULL) *extent = array.extent;
  if (flags != NULL) *flags = array.flags;
  return cudaSuccess;
}

cudaError_t sim_cudaArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *needs, cudaArray_t handle,
                                               int device) {
  vs_rt_array array;
  if (needs == NULL || !vs_rt_is_device(device)) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!vs_rt_array_find(handle, &array)) return vs_rt_answer(VS_SIM_INVALID_HANDLE);
  *needs = (struct cudaArrayMemoryRequirements){.size = (size_t)(array.pitch * array.rows * array.layers),
                                                .alignment = ARRAY_ROW_UNIT};
  return cudaSuccess;
}

cudaError_t sim_cudaGetChannelDesc(struct cudaChannelFormatDesc *format, cudaArray_const_t handle) {
  vs_rt_array array;
  if (format == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!vs_rt_array_find(handle, &array)) return vs_rt_answer(VS_SIM_INVALID_HANDLE);
  *format = array.format;
  return cudaSuccess;
}

struct cudaChannelFormatDesc sim_cudaCreateChannelDesc(int x, int y, int z, int w,
                                                       enum cudaChannelFormatKind kind) {
  return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}
