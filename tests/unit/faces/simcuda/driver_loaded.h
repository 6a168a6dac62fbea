/* The driver face as a program meets it: the library, opened by its path, and its functions by their exported names. Each
 * case opens it in a child of its own (apart.h), where it begins the simulation. */
#ifndef VS_TESTS_DRIVER_LOADED_H
#define VS_TESTS_DRIVER_LOADED_H

#include <dlfcn.h>
#include <limits.h>

#include "faces/simcuda/abi/driver.h"
#include "unit/faces/simcuda/apart.h"

/* The folder of the libraries: VRAMSCOPE_SIMCUDA, or beside the folder of the test's own program. */
static inline void *load_face(const char *soname) {
  char path[PATH_MAX], own[PATH_MAX] = "";
  const char *folder = getenv("VRAMSCOPE_SIMCUDA");
  if (folder == NULL) {
    CHECK(readlink("/proc/self/exe", own, sizeof own - 1) > 0);
    *strrchr(own, '/') = 0;
    *strrchr(own, '/') = 0;
    strcat(own, "/simcuda");
    folder = own;
  }
  CHECK(snprintf(path, sizeof path, "%s/%s", folder, soname) < (int)sizeof path);
  void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) fprintf(stderr, "%s\n", dlerror());
  CHECK(library != NULL);
  return library;
}

static inline void *driver_function(const char *name) {
  static void *library;
  if (library == NULL) library = load_face("libcuda.so.1");
  void *found = dlsym(library, name);
  if (found == NULL) fprintf(stderr, "%s is not exported\n", name);
  CHECK(found != NULL);
  return found;
}

/* CU(cuInit)(0): the exported function, with the type that is declared for it. */
#define CU(name) ((__typeof__(&sim_##name))driver_function(#name))

/* A call that goes well, and one that fails with exactly that. */
#define GOOD(name, ...)          expect_result(#name, CU(name)(__VA_ARGS__), CUDA_SUCCESS, __LINE__)
#define FAILS(wanted, name, ...) expect_result(#name, CU(name)(__VA_ARGS__), (wanted), __LINE__)

static inline void expect_result(const char *name, CUresult is, CUresult wanted, int line) {
  if (is == wanted) return;
  fprintf(stderr, "line %d: %s answers %d in place of %d\n", line, name, (int)is, (int)wanted);
  _exit(3);
}

#define MIB (UINT64_C(1) << 20)

/* cuInit, and a context of the program's own on device 0, which it returns. */
static inline CUcontext begin_driver(void) {
  CUcontext context = NULL;
  GOOD(cuInit, 0);
  GOOD(cuCtxCreate_v2, &context, 0, 0);
  return context;
}

static inline uint64_t free_bytes(void) {
  size_t is_free = 0, total = 0;
  GOOD(cuMemGetInfo_v2, &is_free, &total);
  return is_free;
}

#endif
