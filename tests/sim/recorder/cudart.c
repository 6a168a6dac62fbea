/* Memory of a GPU that does not exist. */
#include <stddef.h>
#include <stdint.h>

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

int cudaMemGetInfo(size_t *available, size_t *total) {
  *available = 12345;
  *total = 1 << 30;
  return 0;
}
