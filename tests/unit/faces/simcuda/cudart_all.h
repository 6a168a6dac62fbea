/* The runtime face in one piece, for its tests: VS_CUDART says which. */
#ifndef VS_TESTS_CUDART_ALL_H
#define VS_TESTS_CUDART_ALL_H

#include "faces/simcuda/cudart/array.c"
#include "faces/simcuda/cudart/copy.c"
#include "faces/simcuda/cudart/device.c"
#include "faces/simcuda/cudart/entry.c"
#include "faces/simcuda/cudart/error.c"
#include "faces/simcuda/cudart/event.c"
#include "faces/simcuda/cudart/fatbinary.c"
#include "faces/simcuda/cudart/function.c"
#include "faces/simcuda/cudart/graph.c"
#include "faces/simcuda/cudart/ipc.c"
#include "faces/simcuda/cudart/launch.c"
#include "faces/simcuda/cudart/library.c"
#include "faces/simcuda/cudart/memory.c"
#include "faces/simcuda/cudart/pool.c"
#include "faces/simcuda/cudart/registry.c"
#include "faces/simcuda/cudart/runtime.c"
#include "faces/simcuda/cudart/stream.c"

#include "unit/faces/simcuda/apart.h"

/* A call that goes well, and one that fails with exactly that. */
#define GOOD(call)          CHECK((call) == cudaSuccess)
#define FAILS(call, wanted) CHECK((call) == (wanted))

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* A program's fat binary with cubins for these architectures (0 ends the list), as its compiler lays it
 * down. */
typedef struct test_binary {
  struct {
    int magic, version;
    const void *data, *more;
  } wrapper;
  uint8_t container[1024];
} test_binary;

static inline void test_binary_init(test_binary *binary, const unsigned *architectures) {
  uint64_t size = VS_FATBINARY_HEAD_SIZE;
  memset(binary, 0, sizeof *binary);
  for (; *architectures != 0; architectures++, size += 64) {
    uint8_t *head = binary->container + size;
    head[0] = KIND_CUBIN;
    head[4] = 64;
    head[28] = (uint8_t)*architectures;
  }
  const uint32_t magic = CONTAINER_MAGIC;
  memcpy(binary->container, &magic, 4);
  binary->container[6] = VS_FATBINARY_HEAD_SIZE;
  const uint64_t rest = size - VS_FATBINARY_HEAD_SIZE;
  memcpy(binary->container + 8, &rest, 8);
  binary->wrapper.magic = VS_FATBINARY_WRAPPER_MAGIC;
  binary->wrapper.version = 1;
  binary->wrapper.data = binary->container;
}

/* Host functions that stand for kernels, and a variable's shadow. */
static char test_kernels[8], test_variable;

static inline void **test_register(test_binary *binary) {
  void **handle = sim___cudaRegisterFatBinary(&binary->wrapper);
  CHECK(handle != NULL);
  for (size_t i = 0; i < sizeof test_kernels; i++)
    sim___cudaRegisterFunction(handle, &test_kernels[i], NULL, "kernel", -1, NULL, NULL, NULL, NULL, NULL);
  sim___cudaRegisterVar(handle, &test_variable, NULL, "variable", 0, 256, 0, 0);
  sim___cudaRegisterFatBinaryEnd(handle);
  return handle;
}

static const unsigned test_architectures[] = {75, 80, 86, 90, 100, 120, 0};

#endif
