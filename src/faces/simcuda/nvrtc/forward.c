/* Forwards every call to the real library. If there is none, calls fail with empty results. */
#include <string.h>

#include "faces/simcuda/abi/nvrtc.h"
#include "faces/simcuda/nvrtc/real_library.h"

/* Defines sim_<name> with these parameters, forwarded as these arguments; `otherwise` runs before a failure. */
#define VS_FORWARD(name, parameters, arguments, otherwise) \
  nvrtcResult sim_##name parameters {                      \
    nvrtcResult(*real) parameters = NULL;                  \
    void *const found = vs_nvrtc_real(#name);              \
    memcpy(&real, &found, sizeof real);                    \
    if (real != NULL) return real arguments;               \
    otherwise;                                             \
    return NVRTC_ERROR_BUILTIN_OPERATION_FAILURE;          \
  }
#define VS_NOTHING (void)0
#define VS_EMPTY(pointer) \
  if ((pointer) != NULL) *(pointer) = 0

VS_FORWARD(nvrtcVersion, (int *major, int *minor), (major, minor), VS_EMPTY(major); VS_EMPTY(minor))
VS_FORWARD(nvrtcGetNumSupportedArchs, (int *count), (count), VS_EMPTY(count))
VS_FORWARD(nvrtcGetSupportedArchs, (int *archs), (archs), VS_NOTHING)
VS_FORWARD(nvrtcCreateProgram,
           (nvrtcProgram * program, const char *source, const char *name, int count,
            const char *const *headers, const char *const *names),
           (program, source, name, count, headers, names), VS_EMPTY(program))
VS_FORWARD(nvrtcDestroyProgram, (nvrtcProgram * program), (program), VS_EMPTY(program))
VS_FORWARD(nvrtcCompileProgram, (nvrtcProgram program, int count, const char *const *options),
           (program, count, options), VS_NOTHING)
VS_FORWARD(nvrtcAddNameExpression, (nvrtcProgram program, const char *name), (program, name), VS_NOTHING)
VS_FORWARD(nvrtcGetLoweredName, (nvrtcProgram program, const char *name, const char **lowered),
           (program, name, lowered), VS_EMPTY(lowered))
VS_FORWARD(nvrtcGetPCHHeapSize, (size_t * size), (size), VS_EMPTY(size))
VS_FORWARD(nvrtcSetPCHHeapSize, (size_t size), (size), VS_NOTHING)
VS_FORWARD(nvrtcGetPCHCreateStatus, (nvrtcProgram program), (program), VS_NOTHING)
VS_FORWARD(nvrtcGetPCHHeapSizeRequired, (nvrtcProgram program, size_t *size), (program, size), VS_EMPTY(size))
VS_FORWARD(nvrtcSetFlowCallback, (nvrtcProgram program, int (*callback)(void *, void *), void *payload),
           (program, callback, payload), VS_NOTHING)

/* A result of compilation, and its size. */
#define VS_FORWARD_RESULT(name)                                                       \
  VS_FORWARD(name, (nvrtcProgram program, char *bytes), (program, bytes), VS_NOTHING) \
  VS_FORWARD(name##Size, (nvrtcProgram program, size_t * size), (program, size), VS_EMPTY(size))
VS_FORWARD_RESULT(nvrtcGetPTX)
VS_FORWARD_RESULT(nvrtcGetCUBIN)
VS_FORWARD_RESULT(nvrtcGetNVVM)
VS_FORWARD_RESULT(nvrtcGetLTOIR)
VS_FORWARD_RESULT(nvrtcGetOptiXIR)
VS_FORWARD_RESULT(nvrtcGetProgramLog)

const char *sim_nvrtcGetErrorString(nvrtcResult result) {
  switch ((int)result) {
#define VS_NVRTC_RESULT(name, number, words) \
  case number:                               \
    return words;
#include "faces/simcuda/abi/nvrtc_results.def"
#undef VS_NVRTC_RESULT
    default: return "unknown error";
  }
}
