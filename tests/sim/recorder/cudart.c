/* Memory of a GPU that does not exist.
 *
 *   HAS_DRIVER  memory comes from the CUDA driver, whose functions it asks for as a CUDA runtime does */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#if HAS_DRIVER
static void *find(const char *name) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND), *found = NULL;
  int (*ask)(const char *, void **, int, unsigned long long, int *) =
      driver == NULL ? NULL : (int (*)(const char *, void **, int, unsigned long long, int *))dlsym(driver, "cuGetProcAddress_v2");
  if (ask == NULL || ask(name, &found, 12000, 0, NULL) != 0) abort();
  return found;
}

int cudaMalloc(void **memory, size_t bytes) { return ((int (*)(void **, size_t))find("cuMemAlloc"))(memory, bytes); }

int cudaFree(void *memory) { return ((int (*)(uintptr_t))find("cuMemFree"))((uintptr_t)memory); }
#else
static uintptr_t next = 0x7f0000000000;

int cudaMalloc(void **memory, size_t bytes) {
  *memory = (void *)next;
  next += (bytes + 0x1fffff) / 0x200000 * 0x200000;
  return 0;
}

int cudaFree(void *memory) {
  (void)memory;
  return 0;
}

#endif

int cudaMemGetInfo(size_t *available, size_t *total) {
  *available = 12345;
  *total = 1 << 30;
  return 0;
}
