/* Modules, libraries, functions, kernels and variables of device code.
 *
 * A module and a library are the same here, and so are a function and a kernel. Handles are addresses of our
 * records, and one table has all of them, so any other value is recognised. Functions of the runtime are not in the
 * table: they are accepted with default properties, and their memory is never read. Records of functions stay when
 * their module is unloaded, marked as gone, so that a stale handle is not mistaken for one of the runtime. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "faces/simcuda/driver/driver.h"
#include "faces/simcuda/driver/image.h"

typedef struct variable {
  struct variable *next;
  uint64_t address, size;
  char name[]; /* zero-terminated */
} variable;

typedef struct module {
  struct function *functions;
  variable *variables;
  vs_image image;
} module;

typedef struct function {
  struct function *next; /* of the module */
  module *module;        /* NULL: unloaded */
  uint32_t registers;
  uint64_t static_shared;
  uint64_t dynamic_shared; /* 0: not set */
  char name[];             /* zero-terminated */
} function;

enum { IS_MODULE = 1, IS_FUNCTION = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards everything below */
static vs_map known;                                     /* from a record's address to its kind */

/* For assertions: a thread holds the lock. */
static bool is_locked(void) {
  if (pthread_mutex_trylock(&lock) != 0) return true;
  pthread_mutex_unlock(&lock);
  return false;
}

static uint32_t kind_of(const void *handle) {
  VS_ASSERT(is_locked());
  const size_t slot = vs_map_find(&known, vs_number(handle));
  return slot == VS_MAP_NONE ? 0 : known.slots[slot].value;
}

static bool remember(const void *handle, uint32_t kind) {
  VS_ASSERT(kind_of(handle) == 0 && (kind == IS_MODULE || kind == IS_FUNCTION));
  if (vs_map_reserve(vs_host_default(), &known) != VS_OK) return false;
  vs_map_add(&known, vs_number(handle), kind);
  return true;
}

/* Takes the lock and returns the module. INVALID_HANDLE, without the lock, for any other value. */
static CUresult find_module(const void *handle, module **found) {
  VS_CU_TRY(vs_driver_begin());
  pthread_mutex_lock(&lock);
  if (kind_of(handle) == IS_MODULE) {
    *found = (module *)(uintptr_t)handle;
    return CUDA_SUCCESS;
  }
  pthread_mutex_unlock(&lock);
  return CUDA_ERROR_INVALID_HANDLE;
}

static CUresult done(CUresult result) {
  VS_ASSERT(is_locked());
  pthread_mutex_unlock(&lock);
  return result;
}

/* ---- loading */

static CUresult load(const void *data, uint64_t size, void **handle) {
  vs_driver_at at;
  VS_CU_TRY(vs_driver_enter(&at));
  module *made = calloc(1, sizeof *made);
  if (made == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  vs_image_load(&made->image, data, size);
  if (made->image.kind == VS_IMAGE_NONE) {
    free(made);
    return CUDA_ERROR_INVALID_IMAGE;
  }
  pthread_mutex_lock(&lock);
  const bool is_known = remember(made, IS_MODULE);
  pthread_mutex_unlock(&lock);
  if (!is_known) {
    vs_image_free(&made->image);
    free(made);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *handle = made;
  return CUDA_SUCCESS;
}

/* Reads a whole file, and appends a zero byte. */
static CUresult read_file(const char *path, char **data, uint64_t *size) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return CUDA_ERROR_FILE_NOT_FOUND;
  char *bytes = NULL;
  size_t count = 0, capacity = 0;
  for (size_t got = 1; got != 0; count += got) {
    if (count + 1 >= capacity) {
      capacity = capacity == 0 ? 1 << 16 : capacity * 2;
      char *more = realloc(bytes, capacity);
      if (more == NULL) break;
      bytes = more;
    }
    got = fread(bytes + count, 1, capacity - count - 1, file);
  }
  const bool is_read = bytes != NULL && feof(file) != 0 && ferror(file) == 0;
  fclose(file);
  if (!is_read) {
    free(bytes);
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  bytes[count] = 0;
  *data = bytes;
  *size = count + 1;
  return CUDA_SUCCESS;
}

static CUresult load_file(const char *path, void **handle) {
  VS_CU_NEED(path != NULL);
  char *data = NULL;
  uint64_t size = 0;
  VS_CU_TRY(read_file(path, &data, &size));
  const CUresult result = load(data, size, handle);
  free(data);
  return result;
}

/* Fills the output options of PTX compilation: no time taken, empty logs. */
static void answer_options(unsigned int count, const CUjit_option *options, void **values) {
  enum { WALL_TIME = 2, INFO_LOG = 3, INFO_LOG_SIZE = 4, ERROR_LOG = 5, ERROR_LOG_SIZE = 6 };
  for (unsigned int i = 0; options != NULL && values != NULL && i < count; i++) switch ((int)options[i]) {
      case WALL_TIME:
      case INFO_LOG_SIZE:
      case ERROR_LOG_SIZE: values[i] = NULL; break;
      case INFO_LOG:
      case ERROR_LOG:
        if (values[i] != NULL) *(char *)values[i] = 0;
        break;
      default: break;
    }
}

CUresult sim_cuModuleLoadData(CUmodule *handle, const void *image) {
  VS_CU_NEED(handle != NULL && image != NULL);
  return load(image, UINT64_MAX, (void **)handle);
}

CUresult sim_cuModuleLoadDataEx(CUmodule *handle, const void *image, unsigned int count,
                                CUjit_option *options, void **values) {
  VS_CU_TRY(sim_cuModuleLoadData(handle, image));
  answer_options(count, options, values);
  return CUDA_SUCCESS;
}

CUresult sim_cuModuleLoadFatBinary(CUmodule *handle, const void *image) {
  return sim_cuModuleLoadData(handle, image);
}

CUresult sim_cuModuleLoad(CUmodule *handle, const char *path) {
  VS_CU_NEED(handle != NULL);
  return load_file(path, (void **)handle);
}

CUresult sim_cuLibraryLoadData(CUlibrary *handle, const void *code, CUjit_option *options, void **values,
                               unsigned int count, CUlibraryOption *library_options, void **library_values,
                               unsigned int library_count) {
  (void)library_options;
  (void)library_values;
  (void)library_count;
  VS_CU_NEED(handle != NULL && code != NULL);
  VS_CU_TRY(load(code, UINT64_MAX, (void **)handle));
  answer_options(count, options, values);
  return CUDA_SUCCESS;
}

CUresult sim_cuLibraryLoadFromFile(CUlibrary *handle, const char *path, CUjit_option *options, void **values,
                                   unsigned int count, CUlibraryOption *library_options,
                                   void **library_values, unsigned int library_count) {
  (void)library_options;
  (void)library_values;
  (void)library_count;
  VS_CU_NEED(handle != NULL);
  VS_CU_TRY(load_file(path, (void **)handle));
  answer_options(count, options, values);
  return CUDA_SUCCESS;
}

static CUresult unload(void *handle) {
  module *gone;
  VS_CU_TRY(find_module(handle, &gone));
  vs_map_remove(&known, vs_map_find(&known, vs_number(handle)));
  for (function *f = gone->functions; f != NULL; f = f->next) f->module = NULL;
  pthread_mutex_unlock(&lock);
  while (gone->variables != NULL) {
    variable *next = gone->variables->next;
    vs_sim *sim = vs_simcuda_lock();
    if (sim != NULL) {
      (void)!vs_sim_free(sim, gone->variables->address, NULL);
      vs_simcuda_unlock();
    }
    free(gone->variables);
    gone->variables = next;
  }
  vs_image_free(&gone->image);
  free(gone);
  return CUDA_SUCCESS;
}

CUresult sim_cuModuleUnload(CUmodule handle) { return unload(handle); }
CUresult sim_cuLibraryUnload(CUlibrary handle) { return unload(handle); }

CUresult sim_cuLibraryGetModule(CUmodule *handle, CUlibrary library) {
  VS_CU_NEED(handle != NULL);
  module *found;
  VS_CU_TRY(find_module(library, &found));
  *handle = (CUmodule)(void *)found;
  return done(CUDA_SUCCESS);
}

CUresult sim_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode) {
  VS_CU_NEED(mode != NULL);
  const char *wish = getenv("CUDA_MODULE_LOADING");
  *mode = wish != NULL && strcmp(wish, "EAGER") == 0 ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

/* ---- functions */

/* The record of a kernel, made at its first look-up. Under the lock. */
static CUresult record_of(module *in, const vs_image_kernel *kernel, void **handle) {
  VS_ASSERT(kind_of(in) == IS_MODULE && kernel->name != NULL);
  for (function *f = in->functions; f != NULL; f = f->next)
    if (strlen(f->name) == kernel->name_size && memcmp(f->name, kernel->name, kernel->name_size) == 0) {
      *handle = f;
      return CUDA_SUCCESS;
    }
  function *made = calloc(1, sizeof *made + kernel->name_size + 1);
  if (made == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  if (!remember(made, IS_FUNCTION)) {
    free(made);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  memcpy(made->name, kernel->name, kernel->name_size);
  made->registers = kernel->registers;
  made->static_shared = kernel->shared_bytes;
  made->module = in;
  made->next = in->functions;
  in->functions = made;
  *handle = made;
  return CUDA_SUCCESS;
}

static CUresult get_function(void **handle, void *of, const char *name) {
  VS_CU_NEED(handle != NULL && name != NULL);
  module *in;
  VS_CU_TRY(find_module(of, &in));
  vs_image_kernel kernel;
  if (!vs_image_kernel_find(&in->image, name, &kernel)) return done(CUDA_ERROR_NOT_FOUND);
  return done(record_of(in, &kernel, handle));
}

CUresult sim_cuModuleGetFunction(CUfunction *handle, CUmodule of, const char *name) {
  return get_function((void **)handle, of, name);
}
CUresult sim_cuLibraryGetKernel(CUkernel *handle, CUlibrary of, const char *name) {
  return get_function((void **)handle, of, name);
}

/* A fat binary is mostly compressed, so its functions cannot be counted. */
static CUresult count_functions(unsigned int *count, void *of) {
  VS_CU_NEED(count != NULL);
  module *in;
  VS_CU_TRY(find_module(of, &in));
  if (in->image.kind == VS_IMAGE_FAT) {
    pthread_mutex_unlock(&lock);
    vs_simcuda_not_simulated("CUDA driver", "the list of kernels in a fat binary");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  vs_image_kernel kernel;
  for (*count = 0; vs_image_kernel_at(&in->image, *count, &kernel);) ++*count;
  return done(CUDA_SUCCESS);
}

static CUresult list_functions(void **handles, unsigned int room, void *of) {
  VS_CU_NEED(handles != NULL && room != 0);
  unsigned int count = 0;
  VS_CU_TRY(count_functions(&count, of));
  module *in;
  VS_CU_TRY(find_module(of, &in));
  vs_image_kernel kernel;
  for (uint32_t i = 0; i < room && vs_image_kernel_at(&in->image, i, &kernel); i++) {
    const CUresult result = record_of(in, &kernel, &handles[i]);
    if (result != CUDA_SUCCESS) return done(result);
  }
  return done(CUDA_SUCCESS);
}

CUresult sim_cuModuleGetFunctionCount(unsigned int *count, CUmodule of) { return count_functions(count, of); }
CUresult sim_cuLibraryGetKernelCount(unsigned int *count, CUlibrary of) { return count_functions(count, of); }
CUresult sim_cuModuleEnumerateFunctions(CUfunction *handles, unsigned int room, CUmodule of) {
  return list_functions((void **)handles, room, of);
}
CUresult sim_cuLibraryEnumerateKernels(CUkernel *handles, unsigned int room, CUlibrary of) {
  return list_functions((void **)handles, room, of);
}

/* Takes the lock. *found is NULL for a function that is not in the table. */
static CUresult find_function(const void *handle, function **found) {
  if (handle == NULL) return CUDA_ERROR_INVALID_HANDLE;
  pthread_mutex_lock(&lock);
  const uint32_t kind = kind_of(handle);
  *found = kind == IS_FUNCTION ? (function *)(uintptr_t)handle : NULL;
  const bool is_gone = *found != NULL && (*found)->module == NULL;
  return kind == IS_MODULE || is_gone ? done(CUDA_ERROR_INVALID_HANDLE) : CUDA_SUCCESS;
}

CUresult vs_driver_function_find(CUfunction handle, vs_driver_function *out) {
  function *found;
  VS_CU_TRY(find_function(handle, &found));
  *out = found == NULL ? (vs_driver_function){.registers = 32}
                       : (vs_driver_function){.name = found->name,
                                              .registers = found->registers,
                                              .static_shared = found->static_shared,
                                              .dynamic_shared = found->dynamic_shared};
  return done(CUDA_SUCCESS);
}

CUresult sim_cuKernelGetFunction(CUfunction *handle, CUkernel kernel) {
  VS_CU_NEED(handle != NULL);
  function *found;
  VS_CU_TRY(find_function(kernel, &found));
  *handle = (CUfunction)(void *)kernel;
  return done(CUDA_SUCCESS);
}

static CUresult get_module(void **handle, const void *of) {
  VS_CU_NEED(handle != NULL);
  function *found;
  VS_CU_TRY(find_function(of, &found));
  if (found == NULL) return done(CUDA_ERROR_INVALID_HANDLE);
  *handle = found->module;
  return done(CUDA_SUCCESS);
}
CUresult sim_cuFuncGetModule(CUmodule *handle, CUfunction of) { return get_module((void **)handle, of); }
CUresult sim_cuKernelGetLibrary(CUlibrary *handle, CUkernel of) { return get_module((void **)handle, of); }

static CUresult get_name(const char **name, const void *of) {
  VS_CU_NEED(name != NULL);
  function *found;
  VS_CU_TRY(find_function(of, &found));
  if (found == NULL) return done(CUDA_ERROR_INVALID_HANDLE);
  *name = found->name;
  return done(CUDA_SUCCESS);
}
CUresult sim_cuFuncGetName(const char **name, CUfunction of) { return get_name(name, of); }
CUresult sim_cuKernelGetName(const char **name, CUkernel of) { return get_name(name, of); }

CUresult sim_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction of) {
  VS_CU_NEED(state != NULL);
  function *found;
  VS_CU_TRY(find_function(of, &found));
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return done(CUDA_SUCCESS);
}

CUresult sim_cuFuncLoad(CUfunction of) {
  function *found;
  VS_CU_TRY(find_function(of, &found));
  return done(CUDA_SUCCESS);
}

/* ---- attributes of functions */

static CUresult get_attribute(int *value, CUfunction_attribute attribute, const void *of, uint32_t device) {
  VS_CU_NEED(value != NULL);
  vs_driver_function f;
  VS_CU_TRY(vs_driver_function_find((CUfunction)(uintptr_t)of, &f));
  const vs_sim_figures *figures = vs_simcuda_figures(device);
  if (figures == NULL) return CUDA_ERROR_INVALID_DEVICE;
  const uint64_t dynamic =
      f.dynamic_shared != 0 ? f.dynamic_shared : figures->shared_per_block - f.static_shared;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = (int)figures->threads_per_block; break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)f.static_shared; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = (int)f.registers; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = (int)(figures->compute_major * 10 + figures->compute_minor);
      break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = (int)dynamic; break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = -1; break;
    default:
      if ((unsigned int)attribute > CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE)
        return CUDA_ERROR_INVALID_VALUE;
      *value = 0;
  }
  return CUDA_SUCCESS;
}

static CUresult set_attribute(CUfunction_attribute attribute, int value, const void *of, uint32_t device) {
  const vs_sim_figures *figures = vs_simcuda_figures(device);
  if (figures == NULL) return CUDA_ERROR_INVALID_DEVICE;
  VS_CU_NEED((unsigned int)attribute >= CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
             (unsigned int)attribute <= CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
  function *found;
  VS_CU_TRY(find_function(of, &found));
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || found == NULL)
    return done(CUDA_SUCCESS);
  if (value < 0 || (uint64_t)value + found->static_shared > figures->shared_optin)
    return done(CUDA_ERROR_INVALID_VALUE);
  found->dynamic_shared = (uint64_t)value;
  return done(CUDA_SUCCESS);
}

CUresult sim_cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction of) {
  return get_attribute(value, attribute, of, vs_simcuda_this_thread()->device);
}
CUresult sim_cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel of, CUdevice device) {
  return get_attribute(value, attribute, of, (uint32_t)device);
}
CUresult sim_cuFuncSetAttribute(CUfunction of, CUfunction_attribute attribute, int value) {
  return set_attribute(attribute, value, of, vs_simcuda_this_thread()->device);
}
CUresult sim_cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel of, CUdevice device) {
  return set_attribute(attribute, value, of, (uint32_t)device);
}

CUresult sim_cuFuncSetCacheConfig(CUfunction of, CUfunc_cache config) {
  VS_CU_NEED((unsigned int)config <= 3);
  return sim_cuFuncLoad(of);
}
CUresult sim_cuKernelSetCacheConfig(CUkernel of, CUfunc_cache config, CUdevice device) {
  (void)device;
  return sim_cuFuncSetCacheConfig((CUfunction)(void *)of, config);
}
CUresult sim_cuFuncSetSharedMemConfig(CUfunction of, CUsharedconfig config) {
  VS_CU_NEED((unsigned int)config <= 2);
  return sim_cuFuncLoad(of);
}

/* ---- variables: device memory of the size in the cubin's symbol table */

/* Under the lock. */
static variable *find_variable(const module *in, const char *name) {
  VS_ASSERT(kind_of(in) == IS_MODULE);
  for (variable *v = in->variables; v != NULL; v = v->next)
    if (strcmp(v->name, name) == 0) return v;
  return NULL;
}

static CUresult make_variable(module *in, const char *name, uint64_t size, variable **made) {
  *made = calloc(1, sizeof **made + strlen(name) + 1);
  if (*made == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  memcpy((*made)->name, name, strlen(name) + 1);
  (*made)->size = size;
  vs_driver_at at;
  vs_simcuda_charge(VS_SIM_ACCOUNT_KERNELS);
  CUresult result = vs_driver_lock(&at);
  if (result == CUDA_SUCCESS)
    result = vs_driver_done(vs_sim_alloc(at.sim, at.device, size, &(*made)->address));
  if (result != CUDA_SUCCESS) {
    free(*made);
    return result;
  }
  VS_ASSERT(find_variable(in, name) == NULL && (*made)->address != 0);
  (*made)->next = in->variables;
  in->variables = *made;
  return CUDA_SUCCESS;
}

static CUresult get_global(CUdeviceptr *address, size_t *size, void *of, const char *name) {
  VS_CU_NEED(name != NULL);
  module *in;
  VS_CU_TRY(find_module(of, &in));
  variable *found = find_variable(in, name);
  uint64_t bytes = 0;
  if (found == NULL && !vs_image_variable(&in->image, name, &bytes)) {
    const bool is_elf = in->image.kind == VS_IMAGE_ELF;
    pthread_mutex_unlock(&lock);
    if (!is_elf) vs_simcuda_not_simulated("CUDA driver", "variables of PTX and fat binaries");
    return CUDA_ERROR_NOT_FOUND;
  }
  if (found == NULL) {
    const CUresult result = make_variable(in, name, bytes, &found);
    if (result != CUDA_SUCCESS) return done(result);
  }
  if (address != NULL) *address = found->address;
  if (size != NULL) *size = found->size;
  return done(CUDA_SUCCESS);
}

CUresult sim_cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *size, CUmodule of, const char *name) {
  return get_global(address, size, of, name);
}
CUresult sim_cuLibraryGetGlobal(CUdeviceptr *address, size_t *size, CUlibrary of, const char *name) {
  return get_global(address, size, of, name);
}
