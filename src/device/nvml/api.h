/* The functions of NVML, each found or not on its own, and what every call of them cost. Private to device/nvml.
 *
 *   unsigned int count = 0;
 *   nvmlReturn_t code = VS_NVML_CALL(api, nvmlDeviceGetCount_v2, &count);
 *
 * A function that is missing answers NVML_ERROR_FUNCTION_NOT_FOUND, as some libraries do themselves; then the next rung of
 * a ladder has its turn. */
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

/* Invariant: functions has NULL exactly where costs says missing; all are while the library is closed. costs outlives the
 * library: it counts on when it is opened again. */
typedef struct vs_nvml_api {
  vs_library library;
  vs_nvml_functions functions;
  vs_telemetry_cost costs[VS_NVML_FUNCTION_COUNT];
  uint64_t started_ns; /* of the call that is under way */
  int32_t lifecycle;   /* the last answer that ends a connection; 0: it stands */
} vs_nvml_api;

/* Opens the library at `path`, NULL: the system's, and looks everything up. Fails as vs_library_open. */
VS_MUST_CHECK vs_status vs_nvml_api_open(vs_nvml_api *api, const char *path, vs_error *error);
void vs_nvml_api_close(vs_nvml_api *api);

#define VS_NVML_CALL(api, name, ...)                                            \
  ((api)->started_ns = vs_clock_ns(),                                           \
   vs_nvml_called((api), VS_NVML_##name,                                        \
                  (api)->functions.name == NULL ? NVML_ERROR_FUNCTION_NOT_FOUND \
                                                : (api)->functions.name(__VA_ARGS__)))

/* Behind VS_NVML_CALL: counts the call that has just ended and passes its answer on. */
nvmlReturn_t vs_nvml_called(vs_nvml_api *api, vs_nvml_function function, nvmlReturn_t code);

/* Whether an older rung is to be tried: the function is missing, or does not know our version of its struct. */
static inline bool vs_nvml_is_too_new(nvmlReturn_t code) {
  return code == NVML_ERROR_FUNCTION_NOT_FOUND || code == NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
}

/* ---- answers */

/* A return code and a value as a metric. */
vs_metric vs_nvml_metric(nvmlReturn_t code, uint64_t value);

/* A number of bytes, of which all ones is "the system does not let me know". */
vs_metric vs_nvml_bytes(nvmlReturn_t code, uint64_t value);

/* Our sentence for a return code. */
const char *vs_nvml_sentence(nvmlReturn_t code);

#endif
