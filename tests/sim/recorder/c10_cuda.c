/* A caching allocator that calls what PyTorch's calls, in the same order: each block has a segment of its own.
 *
 *   IS_OLD       it is not registered when the library is loaded, as in releases before 2.7
 *   IS_OTHER     its virtual table is another one
 *   IS_STATIC    cudaMalloc is its own */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct device {
  int8_t type, index;
} device;

typedef struct stream {
  device on;
  int64_t id;
} stream;

void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *block, int64_t bytes, size_t allocated, size_t reserved, device d);
void _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(int64_t bytes, size_t allocated, size_t reserved, device d);
void _ZN3c1012SetAllocatorENS_10DeviceTypeEPNS_9AllocatorEh(int8_t type, void *allocator, uint8_t priority);
int _ZNK3c109Allocator18is_simple_data_ptrERKNS_7DataPtrE(const void *allocator, const void *pointer);
int cudaMemGetInfo(size_t *available, size_t *total);
#if IS_STATIC
static int cudaMalloc(void **memory, size_t bytes) {
  static uintptr_t next = 0x7e0000000000;
  *memory = (void *)next;
  next += bytes;
  return 0;
}
static int cudaFree(void *memory) {
  (void)memory;
  return 0;
}
#else
int cudaMalloc(void **memory, size_t bytes);
int cudaFree(void *memory);
#endif

enum { MOST = 4096, SEGMENT = 2 << 20 };
static const device gpu = {1, 0};
static size_t allocated, reserved;
static int64_t current;
static _Thread_local int is_freeing; /* PyTorch's stream may throw then, because the driver is shutting down: nobody asks for it */
static struct {
  void *address;
  size_t bytes, segment;
} blocks[MOST];

static _Thread_local volatile int *gate; /* the thread's next allocation waits until this is not 0 */

static void *get(size_t bytes) {
  for (int i = 0; i < MOST; i++) {
    if (blocks[i].address != NULL) continue;
    blocks[i].bytes = (bytes + 511) / 512 * 512;
    blocks[i].segment = (bytes + SEGMENT - 1) / SEGMENT * SEGMENT;
    if (cudaMalloc(&blocks[i].address, blocks[i].segment) != 0) return NULL;
    allocated += blocks[i].bytes;
    reserved += blocks[i].segment;
    while (gate != NULL && *gate == 0) {}
    _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(blocks[i].address, (int64_t)blocks[i].bytes, allocated, reserved, gpu);
    return blocks[i].address;
  }
  return NULL;
}

void test_free(void *address) {
  for (int i = 0; i < MOST; i++) {
    if (blocks[i].address != address) continue;
    allocated -= blocks[i].bytes;
    is_freeing = 1;
    _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(address, -(int64_t)blocks[i].bytes, allocated, reserved, gpu);
    is_freeing = 0;
    (void)cudaFree(address);
    reserved -= blocks[i].segment;
    blocks[i].address = NULL;
    return;
  }
}

/* ---- the object */

static void *allocate(void **result, void *self, size_t bytes) {
  (void)self;
  *result = get(bytes);
  return result;
}
static void destroy(void) {}

static const void *const table[] = {0, 0, destroy, destroy, allocate,
#if IS_OTHER
                                    destroy,
#else
                                    _ZNK3c109Allocator18is_simple_data_ptrERKNS_7DataPtrE,
#endif
                                    destroy};
static struct {
  const void *const *table;
} object = {table + 2};
void *_ZN3c104cuda20CUDACachingAllocator9allocatorE = &object;

void *test_allocate(size_t bytes) {
  void *result[4];
  return ((void *(*)(void *, void *, size_t))object.table[2])(result, &object, bytes) == result ? result[0] : NULL;
}
void *test_allocate_behind(volatile int *opens, size_t bytes) {
  gate = opens;
  return test_allocate(bytes);
}
void *test_raw_alloc(size_t bytes) { return get(bytes); }
void test_refuse(size_t bytes) {
  _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE((int64_t)bytes, allocated, reserved, gpu);
}

stream _ZN3c104cuda20getCurrentCUDAStreamEa(int8_t index) {
  if (is_freeing) abort();
  return (stream){{1, index}, current};
}
void *_ZNK3c104cuda10CUDAStream6streamEv(const stream *s) { return (void *)(s->id * 16); }
/* On a thread that has a state of Python's, and no frame. */
static void *run_thread(void *bytes) {
  int (*ensure)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
  void (*release)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "PyGILState_Release");
  const int before = ensure();
  (void)test_allocate((size_t)bytes);
  release(before);
  return NULL;
}
void test_thread(size_t bytes) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run_thread, (void *)bytes) == 0) pthread_join(thread, NULL);
}

void test_set_stream(int64_t id) { current = id; }

size_t test_free_bytes(void) {
  size_t available = 0, total = 0;
  (void)cudaMemGetInfo(&available, &total);
  return available;
}

#if !IS_OLD
__attribute__((constructor)) static void begin(void) {
  _ZN3c1012SetAllocatorENS_10DeviceTypeEPNS_9AllocatorEh(1, &object, 0);
}
#endif
