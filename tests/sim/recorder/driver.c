/* A library that takes memory from the CUDA driver itself, as a library with a CUDA runtime inside does.
 *
 *   IS_LINKED      it is linked with libcuda.so.1; else it opens that, and asks for each function
 *   IS_OLD         it asks with the cuGetProcAddress of CUDA 11
 *   IS_PER_THREAD  the default stream is that of the thread */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef unsigned long long word;
typedef struct location {
  int type, id;
} location;
typedef struct properties {
  int type, handles;
  location at;
  void *none;
  unsigned char flags[8];
} properties;

#ifndef IS_OLD
#define IS_OLD 0
#endif
#ifndef IS_PER_THREAD
#define IS_PER_THREAD 0
#endif
#if IS_LINKED
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuMemAlloc_v2(word *address, size_t bytes);
int cuMemAllocPitch_v2(word *address, size_t *pitch, size_t width, size_t height, unsigned element);
int cuMemFree_v2(word address);
int cuMemAllocAsync(word *address, size_t bytes, void *stream);
int cuMemFreeAsync(word address, void *stream);
int cuMemCreate(word *handle, size_t bytes, const properties *properties, word flags);
int cuMemRelease(word handle);
int cuMemRetainAllocationHandle(word *handle, void *address);
int cuMemAddressReserve(word *address, size_t bytes, size_t alignment, word wish, word flags);
int cuMemAddressFree(word address, size_t bytes);
int cuMemMap(word address, size_t bytes, size_t offset, word handle, word flags);
int cuMemUnmap(word address, size_t bytes);
int cuMemGetInfo_v2(size_t *available, size_t *total);
int cuCtxCreate_v2(void **context, unsigned flags, int device);
int cuCtxDestroy_v2(void *context);
int cuDevicePrimaryCtxReset_v2(int device);
int cuDevicePrimaryCtxRelease_v2(int device);
#define CALL(name, symbol, version) symbol
#else
/* The real driver's own names are bound inside of it, as RTLD_DEEPBIND does it for the simulated one. */
static void *find(const char *name, int version) {
  enum { FLAGS = IS_PER_THREAD ? 2 : 0 };
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND), *found = NULL;
  if (driver == NULL) abort();
#if IS_OLD
  int (*ask)(const char *, void **, int, word) = (int (*)(const char *, void **, int, word))dlsym(driver, "cuGetProcAddress");
  if (ask == NULL || ask(name, &found, version, FLAGS) != 0) abort();
#else
  int (*ask)(const char *, void **, int, word, int *) =
      (int (*)(const char *, void **, int, word, int *))dlsym(driver, "cuGetProcAddress_v2");
  void *again = NULL;
  if (ask == NULL || ask("cuGetProcAddress", &again, 12000, FLAGS, NULL) != 0) abort(); /* as a runtime does */
  ask = (int (*)(const char *, void **, int, word, int *))again;
  if (ask(name, &found, version, FLAGS, NULL) != 0) abort();
#endif
  return found;
}
#define CALL(name, symbol, version) ((int (*)())find(#name, version))
#endif

static const properties on_device = {.type = 1, .at = {1, 0}};

/* The context of device 0 becomes this thread's. */
int test_begin(void) {
  void *context;
  if (CALL(cuInit, cuInit, 2000)((unsigned)0) != 0) return 1;
  if (CALL(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000)(&context, 0) != 0) return 2;
  return CALL(cuCtxSetCurrent, cuCtxSetCurrent, 4000)(context);
}

word test_alloc(size_t bytes) {
  word address = 0;
  return CALL(cuMemAlloc, cuMemAlloc_v2, 3020)(&address, bytes) == 0 ? address : 0;
}
/* Returns the pitch. */
size_t test_pitch(size_t width, size_t height) {
  word address = 0;
  size_t pitch = 0;
  return CALL(cuMemAllocPitch, cuMemAllocPitch_v2, 3020)(&address, &pitch, width, height, 4u) == 0 ? pitch : 0;
}
int test_give(word address) { return CALL(cuMemFree, cuMemFree_v2, 3020)(address); }
word test_async(size_t bytes) {
  word address = 0;
  return CALL(cuMemAllocAsync, cuMemAllocAsync, 11020)(&address, bytes, NULL) == 0 ? address : 0;
}
int test_give_async(word address) { return CALL(cuMemFreeAsync, cuMemFreeAsync, 11020)(address, NULL); }

word test_create(size_t bytes) {
  word handle = 0;
  return CALL(cuMemCreate, cuMemCreate, 10020)(&handle, bytes, &on_device, (word)0) == 0 ? handle : 0;
}
int test_release(word handle) { return CALL(cuMemRelease, cuMemRelease, 10020)(handle); }
word test_retain(word address) {
  word handle = 0;
  return CALL(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle, 11000)(&handle, (void *)address) == 0 ? handle : 0;
}
word test_reserve(size_t bytes) {
  word address = 0;
  return CALL(cuMemAddressReserve, cuMemAddressReserve, 10020)(&address, bytes, (size_t)0, (word)0, (word)0) == 0 ? address : 0;
}
int test_map(word address, size_t bytes, word handle) {
  return CALL(cuMemMap, cuMemMap, 10020)(address, bytes, (size_t)0, handle, (word)0);
}
int test_unmap(word address, size_t bytes) { return CALL(cuMemUnmap, cuMemUnmap, 10020)(address, bytes); }

/* A context of its own, in which it takes memory. */
void *test_context(size_t bytes) {
  void *context = NULL;
  word address = 0;
  if (CALL(cuCtxCreate, cuCtxCreate_v2, 3020)(&context, 0u, 0) != 0) return NULL;
  return CALL(cuMemAlloc, cuMemAlloc_v2, 3020)(&address, bytes) == 0 ? context : NULL;
}
int test_context_end(void *context) { return CALL(cuCtxDestroy, cuCtxDestroy_v2, 4000)(context); }
int test_reset(void) { return CALL(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, IS_OLD ? 7000 : 11000)(0); }
int test_primary_release(void) { return CALL(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, 11000)(0); }
