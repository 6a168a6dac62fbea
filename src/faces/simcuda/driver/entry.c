/* Look-up of the driver's functions by name and version, for programs and for the runtime.
 *
 * The table gives, for each name, the exported function that it means from a version on. The answer for a
 * version is the newest entry that is not newer than it. A second column is for per-thread default streams.
 *
 * NVIDIA's libraries use cuGetExportTable to check that a driver is genuine. This driver is not, so the call
 * always refuses, whichever table is requested. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "faces/simcuda/driver/driver.h"

typedef void (*function)(void);

#define VS_ENTRY(name, version, symbol) extern void symbol(void);
#define VS_ENTRY_PER_THREAD(name, version, symbol, per_thread) \
  extern void symbol(void);                                    \
  extern void per_thread(void);
#include "faces/simcuda/driver/entry_points.def"
#undef VS_ENTRY
#undef VS_ENTRY_PER_THREAD

typedef struct entry {
  const char *name;
  int version;
  function symbol, per_thread;
} entry;

static const entry entries[] = {
#define VS_ENTRY(name, version, symbol)                        {#name, version, symbol, symbol},
#define VS_ENTRY_PER_THREAD(name, version, symbol, per_thread) {#name, version, symbol, per_thread},
#include "faces/simcuda/driver/entry_points.def"
#undef VS_ENTRY
#undef VS_ENTRY_PER_THREAD
};

/* The first entry of a name, in a table sorted by name and version. NULL if the name is not in the table. */
static const entry *find(const char *name) {
  size_t low = 0, high = VS_COUNT(entries);
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (strcmp(entries[middle].name, name) < 0) low = middle + 1;
    else high = middle;
  }
  return low < VS_COUNT(entries) && strcmp(entries[low].name, name) == 0 ? &entries[low] : NULL;
}

enum { LEGACY_STREAM = 1, PER_THREAD_STREAM = 2 };

CUresult sim_cuGetProcAddress_v2(const char *name, void **address, int version, cuuint64_t flags,
                                 CUdriverProcAddressQueryResult *status) {
  VS_CU_NEED(name != NULL && address != NULL && flags <= PER_THREAD_STREAM);
  *address = NULL;
  CUdriverProcAddressQueryResult is = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  for (const entry *e = find(name);
       e != NULL && e < entries + VS_COUNT(entries) && strcmp(e->name, name) == 0; e++) {
    if (e->version > version) {
      if (*address == NULL) is = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
      break;
    }
    const function chosen = flags == PER_THREAD_STREAM ? e->per_thread : e->symbol;
    memcpy(address, &chosen, sizeof chosen);
    is = CU_GET_PROC_ADDRESS_SUCCESS;
  }
  if (status != NULL) {
    *status = is;
    return CUDA_SUCCESS; /* a caller that passes `status` gets the reason there instead of an error */
  }
  return is == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult sim_cuGetProcAddress_v2_ptsz(const char *name, void **address, int version, cuuint64_t flags,
                                      CUdriverProcAddressQueryResult *status) {
  return sim_cuGetProcAddress_v2(name, address, version,
                                 flags == LEGACY_STREAM ? LEGACY_STREAM : PER_THREAD_STREAM, status);
}

CUresult sim_cuGetProcAddress(const char *name, void **address, int version, cuuint64_t flags) {
  return sim_cuGetProcAddress_v2(name, address, version, flags, NULL);
}

/* The path of the file that contains this code. */
static const char *path_of(const void *code) {
  Dl_info info;
  return dladdr(code, &info) == 0 || info.dli_fname == NULL ? "the program" : info.dli_fname;
}

static bool is_of(const char *file, const char *library) {
  return strncmp(file, library, strlen(library)) == 0;
}

/* What to use instead of a library that contains the runtime, which users cannot link again. */
static const char *remedy_for(const char *path) {
  if (strstr(path, "/cupy") != NULL)
    return "CuPy up to release 12 loads libcudart.so and runs (12.3 is tested); later ones contain the "
           "runtime";
  return "Relink with `-cudart shared`, or use a build that loads libcudart.so; `vramscope doctor` lists "
         "what the "
         "simulation replaces";
}

/* NVRTC and nvJitLink also call this, and work without a table. Any other caller gets a runtime error from all of its later
 * calls. */
CUresult sim_cuGetExportTable(const void **table, const CUuuid *id) {
  (void)id;
  if (table != NULL) *table = NULL;
  const char *path = path_of(__builtin_return_address(0)), *slash = strrchr(path, '/');
  const char *file = slash == NULL ? path : slash + 1;
  if (is_of(file, "libnvrtc") || is_of(file, "libnvJitLink")) return CUDA_ERROR_NOT_SUPPORTED;
  char sentence[512];
  snprintf(sentence, sizeof sentence,
           "%.128s contains NVIDIA's own CUDA runtime (linked statically, or a real library beside the "
           "simulation), which requires a genuine driver: its calls will fail. %s.",
           file, remedy_for(path));
  /* A runtime may ask this first. The machine opens the file of the notes. */
  if (vs_simcuda_lock_machine() != NULL) vs_simcuda_unlock_machine();
  vs_simcuda_cannot_run(file, sentence);
  return CUDA_ERROR_NOT_SUPPORTED;
}
