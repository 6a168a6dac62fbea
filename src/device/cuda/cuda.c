/* Finds the driver and its functions, and the texts of its errors. */
#include "device/cuda/cuda.h"
#include "base/mem.h"
#include "base/text.h"
#include "os/process.h"

/* ---- the functions, as a table: symbol, need, and offset in vs_cuda_api */

typedef struct function {
  const char *symbol;
  vs_cuda_need need;
  size_t offset;
} function;

static const function functions[] = {
#define VS_CUDA(need, name, symbol, parameters) {symbol, VS_CUDA_##need, offsetof(vs_cuda_api, name)},
#include "device/cuda/cuda_api.def"
#undef VS_CUDA
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* POSIX: all pointers to functions have the same size and representation, so one type can hold any of them. */
typedef void (*any_function)(void);
_Static_assert(sizeof(vs_cuda_api) == FUNCTIONS * sizeof(any_function), "a table of functions only");

static void *place_of(vs_cuda_api *api, const function *of) { return (char *)api + of->offset; }

static bool has_function(const vs_cuda_api *api, const function *of) {
  any_function address;
  memcpy(&address, (const char *)api + of->offset, sizeof address);
  return address != NULL;
}

const char *vs_cuda_missing(const vs_cuda *cuda, uint32_t number, vs_cuda_need *need) {
  for (size_t i = 0; i < FUNCTIONS; i++) {
    VS_ASSERT(functions[i].offset < sizeof(vs_cuda_api));
    if (has_function(&cuda->api, &functions[i]) || number-- != 0) continue;
    *need = functions[i].need;
    return functions[i].symbol;
  }
  return NULL;
}

/* ---- errors */

static const char *known_name(CUresult error) {
  switch (error) {
#define VS_CU_ERROR(name, number, text) \
  case name:                            \
    return #name;
#include "device/abi/driver_errors.def"
#undef VS_CU_ERROR
  }
  return "an error without a name";
}

static const char *known_text(CUresult error) {
  switch (error) {
#define VS_CU_ERROR(name, number, text) \
  case name:                            \
    return text;
#include "device/abi/driver_errors.def"
#undef VS_CU_ERROR
  }
  return "unknown error";
}

const char *vs_cuda_error_name(const vs_cuda *cuda, CUresult error) {
  const char *name = NULL;
  if (cuda->api.error_name != NULL && cuda->api.error_name(error, &name) == CUDA_SUCCESS && name != NULL)
    return name;
  return known_name(error);
}

const char *vs_cuda_error_text(const vs_cuda *cuda, CUresult error) {
  const char *text = NULL;
  if (cuda->api.error_string != NULL && cuda->api.error_string(error, &text) == CUDA_SUCCESS && text != NULL)
    return text;
  return known_text(error);
}

/* ---- opening */

static vs_status refuse(const vs_cuda *cuda, CUresult code, const char *call, vs_cuda_failure *failure,
                        vs_error *error) {
  failure->reason = VS_CUDA_REFUSED;
  failure->code = (int32_t)code;
  vs_format(failure->name, sizeof failure->name, "%s", vs_cuda_error_name(cuda, code));
  vs_format(failure->sentence, sizeof failure->sentence, "%s", vs_cuda_error_text(cuda, code));
  return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET, "the CUDA driver refuses (%s): %s (%s, %d)", call,
                 failure->sentence, failure->name, failure->code);
}

static vs_status find_functions(vs_cuda *cuda, vs_cuda_failure *failure, vs_error *error) {
  for (size_t i = 0; i < FUNCTIONS; i++) {
    vs_library_find(&cuda->library, functions[i].symbol, place_of(&cuda->api, &functions[i]));
    if (functions[i].need != VS_CUDA_INIT || has_function(&cuda->api, &functions[i])) continue;
    failure->reason = VS_CUDA_NO_SYMBOL;
    vs_format(failure->name, sizeof failure->name, "%s", functions[i].symbol);
    return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET, "the CUDA driver has no function %s",
                   functions[i].symbol);
  }
  return VS_OK;
}

static vs_status start(vs_cuda *cuda, vs_cuda_failure *failure, vs_error *error) {
  int count = 0, version = 0;
  CUresult result = cuda->api.init(0);
  if (result == CUDA_SUCCESS) result = cuda->api.device_count(&count);
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_NO_DEVICE)
    return refuse(cuda, result, "cuInit", failure, error);
  VS_ASSERT(cuda->api.device_count != NULL && cuda->api.driver_version != NULL); /* INIT */
  cuda->count = result == CUDA_SUCCESS && count > 0 ? (uint32_t)count : 0;
  if (cuda->api.driver_version(&version) == CUDA_SUCCESS) cuda->driver_version = version;
  return VS_OK;
}

/* The name is enough, except in WSL, whose folder not every loader searches. */
static vs_status load(vs_library *library, const char *path, vs_error *error) {
  static const char *const usual[] = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", NULL};
  if (path == NULL) path = vs_process_variable("VRAMSCOPE_CUDA");
  const char *const wanted[] = {path, NULL};
  return vs_library_open(library, path != NULL && *path != 0 ? wanted : usual, error);
}

vs_status vs_cuda_open(const vs_host *host, const char *path, vs_cuda **out, vs_cuda_failure *failure,
                       vs_error *error) {
  vs_cuda_failure ignored;
  if (failure == NULL) failure = &ignored;
  *failure = (vs_cuda_failure){.reason = VS_CUDA_OPENED};
  *out = NULL;
  vs_cuda *cuda = vs_host_alloc(host, sizeof *cuda);
  if (cuda == NULL) return vs_fail(error, VS_NO_MEMORY, VS_NO_OFFSET, "%s", vs_status_text(VS_NO_MEMORY));
  memset(cuda, 0, sizeof *cuda);
  cuda->host = host;
  vs_status status = load(&cuda->library, path, error);
  if (status != VS_OK) failure->reason = VS_CUDA_NO_LIBRARY;
  if (status == VS_OK) status = find_functions(cuda, failure, error);
  if (status == VS_OK) status = start(cuda, failure, error);
  if (status == VS_OK) *out = cuda;
  else vs_cuda_close(cuda);
  return status;
}

void vs_cuda_close(vs_cuda *cuda) {
  if (cuda == NULL) return;
  vs_library_close(&cuda->library);
  vs_host_free(cuda->host, cuda, sizeof *cuda);
}
