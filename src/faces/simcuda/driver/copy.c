/* Copies and memsets. This file converts addresses, rows and arrays to ranges; core/copy.c does the rest. */
#include "faces/simcuda/driver/driver.h"

static CUresult copy(uint64_t to, uint64_t from, uint64_t size, vs_simcuda_direction direction,
                     uint64_t stream) {
  vs_driver_at at;
  VS_CU_TRY(vs_driver_enter(&at));
  return (CUresult)vs_simcuda_copy(to, from, size, direction, stream);
}

CUresult sim_cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size) {
  return copy(to, from, size, VS_SIMCUDA_BY_ADDRESS, VS_SIMCUDA_NO_STREAM);
}
CUresult sim_cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
  return copy(to, from, size, VS_SIMCUDA_BY_ADDRESS, vs_number(stream));
}
CUresult sim_cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size) {
  return copy(to, vs_number(from), size, VS_SIMCUDA_HOST_TO_DEVICE, VS_SIMCUDA_NO_STREAM);
}
CUresult sim_cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream stream) {
  return copy(to, vs_number(from), size, VS_SIMCUDA_HOST_TO_DEVICE, vs_number(stream));
}
CUresult sim_cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size) {
  return copy(vs_number(to), from, size, VS_SIMCUDA_DEVICE_TO_HOST, VS_SIMCUDA_NO_STREAM);
}
CUresult sim_cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream) {
  return copy(vs_number(to), from, size, VS_SIMCUDA_DEVICE_TO_HOST, vs_number(stream));
}
CUresult sim_cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t size) {
  return copy(to, from, size, VS_SIMCUDA_DEVICE_TO_DEVICE, VS_SIMCUDA_NO_STREAM);
}
CUresult sim_cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
  return copy(to, from, size, VS_SIMCUDA_DEVICE_TO_DEVICE, vs_number(stream));
}

static CUresult check_contexts(CUcontext to, CUcontext from) {
  return vs_driver_is_context(to) && vs_driver_is_context(from) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult sim_cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                          size_t size) {
  VS_CU_TRY(check_contexts(to_context, from_context));
  return copy(to, from, size, VS_SIMCUDA_DEVICE_TO_DEVICE, VS_SIMCUDA_NO_STREAM);
}
CUresult sim_cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                               size_t size, CUstream stream) {
  VS_CU_TRY(check_contexts(to_context, from_context));
  return copy(to, from, size, VS_SIMCUDA_DEVICE_TO_DEVICE, vs_number(stream));
}

/* Several copies in one call; their attributes are hints. The older form writes the index of the copy that
 * failed to *fail_index. */
CUresult sim_cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
                                CUmemcpyAttributes *attributes, size_t *attribute_indices,
                                size_t attribute_count, size_t *fail_index, CUstream stream) {
  (void)attribute_indices;
  VS_CU_NEED(to != NULL && from != NULL && sizes != NULL && count != 0);
  VS_CU_NEED(attributes != NULL && attribute_count != 0 && attribute_count <= count);
  for (size_t i = 0; i < count; i++) {
    const CUresult result = sim_cuMemcpyAsync(to[i], from[i], sizes[i], stream);
    if (result == CUDA_SUCCESS) continue;
    if (fail_index != NULL) *fail_index = i;
    return result;
  }
  return CUDA_SUCCESS;
}
CUresult sim_cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
                                   CUmemcpyAttributes *attributes, size_t *attribute_indices,
                                   size_t attribute_count, CUstream stream) {
  return sim_cuMemcpyBatchAsync(to, from, sizes, count, attributes, attribute_indices, attribute_count, NULL,
                                stream);
}

/* ---- arrays, from byte `offset` of their rows on */

static CUresult inside(CUarray handle, uint64_t offset, uint64_t size, uint64_t *address) {
  const vs_driver_array *array = vs_driver_array_find(handle);
  if (array == NULL) return CUDA_ERROR_INVALID_HANDLE;
  const uint64_t all = array->pitch * array->height * array->depth;
  VS_CU_NEED(offset <= all && size <= all - offset);
  *address = array->address + offset;
  return CUDA_SUCCESS;
}

CUresult sim_cuMemcpyHtoA_v2(CUarray to, size_t offset, const void *from, size_t size) {
  uint64_t address = 0;
  VS_CU_TRY(inside(to, offset, size, &address));
  return sim_cuMemcpyHtoD_v2(address, from, size);
}
CUresult sim_cuMemcpyHtoAAsync_v2(CUarray to, size_t offset, const void *from, size_t size, CUstream stream) {
  uint64_t address = 0;
  VS_CU_TRY(inside(to, offset, size, &address));
  return sim_cuMemcpyHtoDAsync_v2(address, from, size, stream);
}
CUresult sim_cuMemcpyAtoH_v2(void *to, CUarray from, size_t offset, size_t size) {
  uint64_t address = 0;
  VS_CU_TRY(inside(from, offset, size, &address));
  return sim_cuMemcpyDtoH_v2(to, address, size);
}
CUresult sim_cuMemcpyAtoHAsync_v2(void *to, CUarray from, size_t offset, size_t size, CUstream stream) {
  uint64_t address = 0;
  VS_CU_TRY(inside(from, offset, size, &address));
  return sim_cuMemcpyDtoHAsync_v2(to, address, size, stream);
}
CUresult sim_cuMemcpyDtoA_v2(CUarray to, size_t offset, CUdeviceptr from, size_t size) {
  uint64_t address = 0;
  VS_CU_TRY(inside(to, offset, size, &address));
  return sim_cuMemcpyDtoD_v2(address, from, size);
}
CUresult sim_cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, size_t offset, size_t size) {
  uint64_t address = 0;
  VS_CU_TRY(inside(from, offset, size, &address));
  return sim_cuMemcpyDtoD_v2(to, address, size);
}
CUresult sim_cuMemcpyAtoA_v2(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t size) {
  uint64_t target = 0, source = 0;
  VS_CU_TRY(inside(to, to_offset, size, &target));
  VS_CU_TRY(inside(from, from_offset, size, &source));
  return sim_cuMemcpyDtoD_v2(target, source, size);
}

/* ---- boxes of rows */

/* One side of a copy of boxes. */
typedef struct side {
  CUmemorytype type;
  uint64_t address;     /* of the first byte to copy */
  uint64_t pitch, rows; /* bytes from row to row, rows from layer to layer */
} side;

static CUresult find_side(side *out, CUmemorytype type, const void *host, CUdeviceptr device, CUarray array,
                          uint64_t pitch, uint64_t rows, const uint64_t at[static 3],
                          const uint64_t extent[static 2]) {
  *out = (side){
      .type = type, .pitch = pitch == 0 ? extent[0] + at[0] : pitch, .rows = rows == 0 ? extent[1] : rows};
  switch (type) {
    case CU_MEMORYTYPE_HOST: out->address = vs_number(host); break;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED: out->address = device; break;
    case CU_MEMORYTYPE_ARRAY: {
      const vs_driver_array *found = vs_driver_array_find(array);
      if (found == NULL) return CUDA_ERROR_INVALID_HANDLE;
      VS_CU_NEED(at[0] + extent[0] <= found->pitch && at[1] + extent[1] <= found->height &&
                 at[2] < found->depth);
      out->address = found->address;
      out->pitch = found->pitch;
      out->rows = found->height;
      break;
    }
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  VS_CU_NEED(out->pitch >= extent[0]);
  out->address += at[0] + (at[1] + at[2] * out->rows) * out->pitch;
  return CUDA_SUCCESS;
}

static vs_simcuda_direction direction_of(const side *to, const side *from) {
  if (to->type == CU_MEMORYTYPE_UNIFIED || from->type == CU_MEMORYTYPE_UNIFIED) return VS_SIMCUDA_BY_ADDRESS;
  if (from->type == CU_MEMORYTYPE_HOST)
    return to->type == CU_MEMORYTYPE_HOST ? VS_SIMCUDA_HOST_TO_HOST : VS_SIMCUDA_HOST_TO_DEVICE;
  return to->type == CU_MEMORYTYPE_HOST ? VS_SIMCUDA_DEVICE_TO_HOST : VS_SIMCUDA_DEVICE_TO_DEVICE;
}

/* Layers that are adjacent on both sides are copied as one box. */
static CUresult copy_layers(const side *to, const side *from, uint64_t width, uint64_t height, uint64_t depth,
                            uint64_t stream) {
  vs_driver_at at;
  VS_CU_TRY(vs_driver_enter(&at));
  if (width == 0 || height == 0 || depth == 0) return CUDA_SUCCESS;
  VS_ASSERT(to->pitch >= width && from->pitch >= width);
  if (to->rows == height && from->rows == height) {
    height *= depth;
    depth = 1;
  }
  for (uint64_t z = 0; z < depth; z++)
    VS_CU_TRY(vs_simcuda_copy_rows(to->address + z * to->rows * to->pitch, to->pitch,
                                   from->address + z * from->rows * from->pitch, from->pitch, width, height,
                                   direction_of(to, from), stream));
  return CUDA_SUCCESS;
}

static CUresult copy_box(const CUDA_MEMCPY3D *c, uint64_t stream) {
  side to, from;
  const uint64_t extent[] = {c->WidthInBytes, c->Height};
  VS_CU_NEED(c->srcLOD == 0 && c->dstLOD == 0);
  VS_CU_TRY(find_side(&from, c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray, c->srcPitch,
                      c->srcHeight, (const uint64_t[]){c->srcXInBytes, c->srcY, c->srcZ}, extent));
  VS_CU_TRY(find_side(&to, c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray, c->dstPitch, c->dstHeight,
                      (const uint64_t[]){c->dstXInBytes, c->dstY, c->dstZ}, extent));
  return copy_layers(&to, &from, c->WidthInBytes, c->Height, c->Depth, stream);
}

static CUDA_MEMCPY3D box_of(const CUDA_MEMCPY2D *c) {
  return (CUDA_MEMCPY3D){.srcXInBytes = c->srcXInBytes,
                         .srcY = c->srcY,
                         .srcMemoryType = c->srcMemoryType,
                         .srcHost = c->srcHost,
                         .srcDevice = c->srcDevice,
                         .srcArray = c->srcArray,
                         .srcPitch = c->srcPitch,
                         .dstXInBytes = c->dstXInBytes,
                         .dstY = c->dstY,
                         .dstMemoryType = c->dstMemoryType,
                         .dstHost = c->dstHost,
                         .dstDevice = c->dstDevice,
                         .dstArray = c->dstArray,
                         .dstPitch = c->dstPitch,
                         .WidthInBytes = c->WidthInBytes,
                         .Height = c->Height,
                         .Depth = 1};
}

CUresult sim_cuMemcpy2D_v2(const CUDA_MEMCPY2D *c) {
  VS_CU_NEED(c != NULL);
  const CUDA_MEMCPY3D box = box_of(c);
  return copy_box(&box, VS_SIMCUDA_NO_STREAM);
}

CUresult sim_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, CUstream stream) {
  VS_CU_NEED(c != NULL);
  const CUDA_MEMCPY3D box = box_of(c);
  return copy_box(&box, vs_number(stream));
}

CUresult sim_cuMemcpy3D_v2(const CUDA_MEMCPY3D *c) {
  VS_CU_NEED(c != NULL);
  return copy_box(c, VS_SIMCUDA_NO_STREAM);
}
CUresult sim_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *c, CUstream stream) {
  VS_CU_NEED(c != NULL);
  return copy_box(c, vs_number(stream));
}

/* The structs differ only in their contexts, which name the devices of the addresses. The addresses here already
 * determine the device. */
static CUDA_MEMCPY3D without_contexts(const CUDA_MEMCPY3D_PEER *c) {
  return (CUDA_MEMCPY3D){.srcXInBytes = c->srcXInBytes,
                         .srcY = c->srcY,
                         .srcZ = c->srcZ,
                         .srcLOD = c->srcLOD,
                         .srcMemoryType = c->srcMemoryType,
                         .srcHost = c->srcHost,
                         .srcDevice = c->srcDevice,
                         .srcArray = c->srcArray,
                         .srcPitch = c->srcPitch,
                         .srcHeight = c->srcHeight,
                         .dstXInBytes = c->dstXInBytes,
                         .dstY = c->dstY,
                         .dstZ = c->dstZ,
                         .dstLOD = c->dstLOD,
                         .dstMemoryType = c->dstMemoryType,
                         .dstHost = c->dstHost,
                         .dstDevice = c->dstDevice,
                         .dstArray = c->dstArray,
                         .dstPitch = c->dstPitch,
                         .dstHeight = c->dstHeight,
                         .WidthInBytes = c->WidthInBytes,
                         .Height = c->Height,
                         .Depth = c->Depth};
}

CUresult sim_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *c) {
  VS_CU_NEED(c != NULL);
  const CUDA_MEMCPY3D box = without_contexts(c);
  return copy_box(&box, VS_SIMCUDA_NO_STREAM);
}
CUresult sim_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *c, CUstream stream) {
  VS_CU_NEED(c != NULL);
  const CUDA_MEMCPY3D box = without_contexts(c);
  return copy_box(&box, vs_number(stream));
}

/* ---- memsets */

static CUresult fill(uint64_t to, uint64_t pitch, uint32_t value, uint32_t element_bytes, uint64_t count,
                     uint64_t height, uint64_t stream) {
  vs_driver_at at;
  VS_CU_TRY(vs_driver_enter(&at));
  VS_ASSERT(element_bytes == 1 || element_bytes == 2 || element_bytes == 4);
  VS_CU_NEED(to % element_bytes == 0 &&
             (height <= 1 || (pitch % element_bytes == 0 && pitch / element_bytes >= count)));
  return (CUresult)vs_simcuda_fill(to, pitch, value, element_bytes, count, height, stream);
}

#define MEMSETS(bits, type)                                                                        \
  CUresult sim_cuMemsetD##bits##_v2(CUdeviceptr to, type value, size_t count) {                    \
    return fill(to, 0, value, bits / 8, count, 1, VS_SIMCUDA_NO_STREAM);                           \
  }                                                                                                \
  CUresult sim_cuMemsetD##bits##Async(CUdeviceptr to, type value, size_t count, CUstream stream) { \
    return fill(to, 0, value, bits / 8, count, 1, vs_number(stream));                              \
  }                                                                                                \
  CUresult sim_cuMemsetD2D##bits##_v2(CUdeviceptr to, size_t pitch, type value, size_t width,      \
                                      size_t height) {                                             \
    return fill(to, pitch, value, bits / 8, width, height, VS_SIMCUDA_NO_STREAM);                  \
  }                                                                                                \
  CUresult sim_cuMemsetD2D##bits##Async(CUdeviceptr to, size_t pitch, type value, size_t width,    \
                                        size_t height, CUstream stream) {                          \
    return fill(to, pitch, value, bits / 8, width, height, vs_number(stream));                     \
  }
MEMSETS(8, unsigned char)
MEMSETS(16, unsigned short)
MEMSETS(32, unsigned int)
