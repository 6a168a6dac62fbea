/* The results of the simulated device. Each value is the number of the corresponding CUDA error, on which the runtime and the
 * driver agree, so that a face can pass it on unchanged. */
#ifndef VS_DEVICE_SIM_ERROR_H
#define VS_DEVICE_SIM_ERROR_H

#include <vramscope/base.h>

typedef enum vs_sim_error {
  VS_SIM_OK = 0,
  VS_SIM_INVALID_VALUE = 1,
  VS_SIM_OUT_OF_MEMORY = 2, /* of the simulated card, or of the host */
  VS_SIM_NOT_INITIALIZED = 3,
  VS_SIM_DEVICE_UNAVAILABLE = 46,
  VS_SIM_NO_DEVICE = 100,
  VS_SIM_INVALID_DEVICE = 101,
  VS_SIM_INVALID_CONTEXT = 201,
  VS_SIM_MAP_FAILED = 205,
  VS_SIM_UNMAP_FAILED = 206,
  VS_SIM_ALREADY_MAPPED = 208,
  VS_SIM_NOT_MAPPED = 211,
  VS_SIM_PEER_ACCESS_UNSUPPORTED = 217,
  VS_SIM_INVALID_HANDLE = 400,
  VS_SIM_ILLEGAL_STATE = 401,
  VS_SIM_NOT_FOUND = 500,
  VS_SIM_NOT_READY = 600, /* an answer, not a failure: a face must not store it as the last error */
  VS_SIM_ILLEGAL_ADDRESS = 700,
  VS_SIM_PEER_ACCESS_ALREADY_ENABLED = 704,
  VS_SIM_PEER_ACCESS_NOT_ENABLED = 705,
  VS_SIM_HOST_MEMORY_ALREADY_REGISTERED = 712,
  VS_SIM_HOST_MEMORY_NOT_REGISTERED = 713,
  VS_SIM_NOT_PERMITTED = 800,
  VS_SIM_NOT_SUPPORTED = 801,
  VS_SIM_CAPTURE_UNSUPPORTED = 900,
  VS_SIM_CAPTURE_INVALIDATED = 901,
  VS_SIM_CAPTURE_MERGE = 902,
  VS_SIM_CAPTURE_UNMATCHED = 903,
  VS_SIM_CAPTURE_UNJOINED = 904,
  VS_SIM_CAPTURE_ISOLATION = 905,
  VS_SIM_CAPTURE_IMPLICIT = 906,
  VS_SIM_CAPTURED_EVENT = 907,
  VS_SIM_CAPTURE_WRONG_THREAD = 908,
  VS_SIM_GRAPH_EXEC_UPDATE_FAILURE = 910
} vs_sim_error;

/* Returns the failure of `expression` to the caller, if it is one (VS_TRY for this enum). */
#define VS_SIM_TRY(expression)                                  \
  do {                                                          \
    const vs_sim_error vs_sim_try_error = (expression);         \
    if (vs_sim_try_error != VS_SIM_OK) return vs_sim_try_error; \
  } while (0)

#endif
