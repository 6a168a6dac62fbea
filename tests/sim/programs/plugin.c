/* A pluggable allocator for PyTorch: hands out what the runtime gives, and counts. */
#include <stddef.h>
#include <stdio.h>

int cudaMalloc(void **pointer, size_t size);
int cudaFree(void *pointer);

static long given, taken;

void *plugin_malloc(size_t size, int device, void *stream) {
  (void)device, (void)stream;
  void *pointer = NULL;
  if (cudaMalloc(&pointer, size) != 0) return NULL;
  given++;
  return pointer;
}

void plugin_free(void *pointer, size_t size, int device, void *stream) {
  (void)size, (void)device, (void)stream;
  taken += cudaFree(pointer) == 0;
}

long plugin_given(void) { return given; }
long plugin_taken(void) { return taken; }
