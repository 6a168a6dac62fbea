/* Reading and writing return a size, or a failure as a negative error number. */
#include "faces/simcuda/abi/cufile.h"

#include "faces/simcuda/core/process.h"

enum { PLATFORM_NOT_SUPPORTED = 5007 };

ssize_t sim_cuFileRead(CUfileHandle_t file, void *device, size_t size, off_t file_offset,
                       off_t device_offset) {
  (void)file, (void)device, (void)size, (void)file_offset, (void)device_offset;
  vs_simcuda_not_simulated("cuFile", "cuFileRead");
  return -PLATFORM_NOT_SUPPORTED;
}

ssize_t sim_cuFileWrite(CUfileHandle_t file, const void *device, size_t size, off_t file_offset,
                        off_t device_offset) {
  (void)file, (void)device, (void)size, (void)file_offset, (void)device_offset;
  vs_simcuda_not_simulated("cuFile", "cuFileWrite");
  return -PLATFORM_NOT_SUPPORTED;
}
