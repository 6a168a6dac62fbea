/* Nanoseconds of the simulated runtime's calls: bench_simcuda_calls FOLDER-OF-THE-LIBRARIES
 *
 * The peer is malloc and free of the C library, in the same loop: what an allocation costs at best. Prints "NAME NS" lines. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 200000 };

typedef int (*call_malloc)(void **pointer, size_t size);
typedef int (*call_free)(void *pointer);
typedef int (*call_get_device)(int *device);
typedef int (*call_memset)(void *pointer, int value, size_t size, void *stream);

static void *library;

static void *need(const char *name) {
  void *found = dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "bench_simcuda_calls: %s\n", dlerror());
    exit(1);
  }
  return found;
}

static double now_ns(void) {
  struct timespec t;
  (void)timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void tell(const char *name, double began, double rounds) {
  printf("%s %.1f\n", name, (now_ns() - began) / rounds);
}

static void bench_pairs(call_malloc get, call_free give, size_t size, const char *name) {
  const double began = now_ns();
  for (int i = 0; i < ROUNDS; i++) {
    void *pointer = NULL;
    if (get(&pointer, size) != 0 || give(pointer) != 0) exit(1);
  }
  tell(name, began, ROUNDS);
}

/* Free one at random of many, allocate another: the pattern of a program that allocates without a cache. */
static void bench_many(call_malloc get, call_free give, const char *name) {
  enum { LIVE = 1000 };
  static void *live[LIVE];
  uint64_t random = 88172645463325252u;
  for (int i = 0; i < LIVE; i++)
    if (get(&live[i], (size_t)(i % 50 + 1) << 16) != 0) exit(1);
  const double began = now_ns();
  for (int i = 0; i < ROUNDS; i++) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    const size_t at = random % LIVE;
    if (give(live[at]) != 0 || get(&live[at], (size_t)(random % 50 + 1) << 16) != 0) exit(1);
  }
  tell(name, began, ROUNDS);
  for (int i = 0; i < LIVE; i++)
    if (give(live[i]) != 0) exit(1);
}

static int libc_malloc(void **pointer, size_t size) {
  *pointer = malloc(size);
  return *pointer == NULL;
}

static int libc_free(void *pointer) {
  free(pointer);
  return 0;
}

int main(int count, char **words) {
  char path[4096];
  if (count != 2) return 2;
  (void)snprintf(path, sizeof path, "%s/libcudart.so.13", words[1]);
  library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) {
    fprintf(stderr, "bench_simcuda_calls: %s\n", dlerror());
    return 1;
  }
  const call_malloc get = (call_malloc)need("cudaMalloc");
  const call_free give = (call_free)need("cudaFree");
  const call_get_device device = (call_get_device)need("cudaGetDevice");
  const call_memset fill = (call_memset)need("cudaMemsetAsync");
  bench_pairs(get, give, 2 << 20, "cudaMalloc+cudaFree");
  bench_many(get, give, "cudaMalloc+cudaFree,1000-live");
  bench_many(libc_malloc, libc_free, "malloc+free,1000-live");

  double began = now_ns();
  for (int i = 0, d; i < ROUNDS; i++)
    if (device(&d) != 0) return 1;
  tell("cudaGetDevice", began, ROUNDS);

  void *pointer;
  if (get(&pointer, 1 << 20) != 0) return 1;
  began = now_ns();
  for (int i = 0; i < ROUNDS; i++)
    if (fill(pointer, 0, 1 << 20, NULL) != 0) return 1;
  tell("cudaMemsetAsync", began, ROUNDS);
  return 0;
}
