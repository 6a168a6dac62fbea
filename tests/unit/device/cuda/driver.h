/* Our own simulated driver, opened by its path as a real one is by its name. A process has one driver, so each case runs in
 * a child of its own (apart.h). */
#ifndef VS_TESTS_DEVICE_CUDA_DRIVER_H
#define VS_TESTS_DEVICE_CUDA_DRIVER_H

#include "device/cuda/device.h"
#include "unit/faces/simcuda/driver_loaded.h"

/* The path of libcuda.so.1, in VRAMSCOPE_CUDA too; loaded, so that what a program would call (CU) is the same library. */
static inline const char *simulated_driver(void) {
  static char path[PATH_MAX];
  Dl_info info;
  void *init = driver_function("cuInit");
  CHECK(dladdr(init, &info) != 0);
  CHECK(snprintf(path, sizeof path, "%s", info.dli_fname) < (int)sizeof path);
  CHECK(setenv("VRAMSCOPE_CUDA", path, 1) == 0);
  return path;
}

static inline vs_cuda *open_driver(void) {
  vs_cuda *cuda = NULL;
  vs_cuda_failure failure;
  vs_error error;
  simulated_driver();
  CHECK(vs_cuda_open(vs_host_default(), NULL, &cuda, &failure, &error) == VS_OK);
  CHECK(failure.reason == VS_CUDA_OPENED && failure.code == 0);
  return cuda;
}

#endif
