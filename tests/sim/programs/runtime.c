/* A program that was linked with the CUDA runtime, whichever VS_CUDART says: it calls the names that the library exports, and
 * prints what it found as JSON. */
#include "faces/simcuda/abi/cudart.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* The public names, declared by the list that they are exported by. */
#define VS_FACE(result, name, arguments) extern result name arguments;
#define VS_LIKE(name, as)                extern __typeof__(as) name;
#define VS_SAME(name, as)                VS_LIKE(name, as)
#define VS_PER_THREAD(name, as, stream)  VS_LIKE(name, as)
#define VS_REFUSED(name)                 extern cudaError_t name();
#define VS_REFUSED_TEXT(name)            VS_REFUSED(name)
#include "faces/simcuda/abi/cudart_names.def"

static void need(cudaError_t error, const char *what) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  exit(1);
}
#define NEED(call) need((call), #call)

/* The same memory is known to the runtime of the other version, where that is loaded too. */
static int other_knows(void *memory) {
  void *other = dlopen(VS_CUDART == 13 ? "libcudart.so.12" : "libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
  __typeof__(sim_cudaFree) *release =
      other == NULL ? NULL : (__typeof__(sim_cudaFree) *)dlsym(other, "cudaFree");
  return release != NULL && release(memory) == cudaSuccess;
}

int main(void) {
  int version = 0, count = 0;
  size_t before = 0, after = 0, total = 0;
  void *memory = NULL, *pool_memory = NULL, *entry = NULL;
  enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  char text[16] = "";
  cudaStream_t stream;
  NEED(cudaRuntimeGetVersion(&version));
  NEED(cudaGetDeviceCount(&count));
  NEED(cudaMemGetInfo(&before, &total));
  NEED(cudaMalloc(&memory, 64 << 20));
  NEED(cudaMemGetInfo(&after, &total));
  NEED(cudaMemcpy(memory, "through", 8, cudaMemcpyHostToDevice));
  NEED(cudaMemcpy(text, memory, 8, cudaMemcpyDeviceToHost));
  NEED(cudaStreamCreate(&stream));
  NEED(cudaMallocAsync(&pool_memory, 1 << 20, stream));
  NEED(cudaFreeAsync(pool_memory, stream));
  NEED(cudaStreamSynchronize(stream));
  NEED(cudaGetDriverEntryPoint("cuMemCreate", &entry, cudaEnableDefault, &found));
  const int refused = (int)cudaCreateTextureObject(), again = (int)cudaCreateTextureObject();
  const int unknown = (int)cudaLaunchKernel(&version, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL);
  printf(
      "{\"version\": %d, \"count\": %d, \"took\": %zu, \"total\": %zu, \"text\": \"%s\", \"stream\": %zu, ",
      version, count, before - after, total, text, (size_t)stream);
  printf("\"refused\": [%d, %d], \"unknown\": %d, \"last\": %d, \"driver\": [%d, %d], \"shared\": %d}\n",
         refused, again, unknown, (int)cudaGetLastError(), (int)found, entry != NULL, other_knows(memory));
  return 0;
}
