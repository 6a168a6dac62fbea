/* The functions of NVML, each of which may be missing, and the cost of every call. Private to device/nvml.
 *
 *   unsigned int count = 0;
 *   nvmlReturn_t code = VS_NVML_CALL(api, nvmlDeviceGetCount_v2, &count);
 *
 * A missing function answers NVML_ERROR_FUNCTION_NOT_FOUND, as some libraries do themselves; then the caller tries an older
 * version of the function. */
#ifndef VS_DEVICE_NVML_API_H
#define VS_DEVICE_NVML_API_H

#include "device/abi/nvml_types.h"
#include "device/telemetry.h"
#include "os/clock.h"
#include "os/library.h"

typedef enum vs_nvml_function {
#define VS_NVML(name, parameters) VS_NVML_##name,
#include "device/nvml/nvml_api.def"
#undef VS_NVML
  VS_NVML_FUNCTION_COUNT
} vs_nvml_function;

typedef struct vs_nvml_functions {
#define VS_NVML(name, parameters) nvmlReturn_t(*name) parameters;
#include "device/nvml/nvml_api.def"
#undef VS_NVML
} vs_nvml_functions;

/* Invariant: a function is NULL exactly if its cost has is_missing; while the library is closed all are. `costs` is kept when the
 * library is closed and opened again. */
typedef struct vs_nvml_api {
  vs_library library;
  vs_nvml_functions functions;
  vs_telemetry_cost costs[VS_NVML_FUNCTION_COUNT];
  uint64_t started_ns; /* of the current call */
  int32_t lifecycle;   /* the last result that ended the connection; 0: it is open */
} vs_nvml_api;

/* Opens the library at `path` (NULL: the system's) and looks up all functions. Fails as vs_library_open. */
VS_MUST_CHECK vs_status vs_nvml_api_open(vs_nvml_api *api, const char *path, vs_error *error);
void vs_nvml_api_close(vs_nvml_api *api);

#define VS_NVML_CALL(api, name, ...)                                            \
  ((api)->started_ns = vs_clock_ns(),                                           \
   vs_nvml_called((api), VS_NVML_##name,                                        \
                  (api)->functions.name == NULL ? NVML_ERROR_FUNCTION_NOT_FOUND \
                                                : (api)->functions.name(__VA_ARGS__)))

/* Part of VS_NVML_CALL: counts the call that has just ended and returns its result. */
nvmlReturn_t vs_nvml_called(vs_nvml_api *api, vs_nvml_function function, nvmlReturn_t code);

/* Whether an older version should be tried: the function is missing, or does not know our version of its struct. */
static inline bool vs_nvml_is_too_new(nvmlReturn_t code) {
  return code == NVML_ERROR_FUNCTION_NOT_FOUND || code == NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
}

/* ---- results as metrics */

/* Converts a return code and a value to a metric. */
vs_metric vs_nvml_metric(nvmlReturn_t code, uint64_t value);

/* The same for bytes, where all ones means that the system does not let the driver know. */
vs_metric vs_nvml_bytes(nvmlReturn_t code, uint64_t value);

/* Our sentence for a return code. */
const char *vs_nvml_sentence(nvmlReturn_t code);

#endif
