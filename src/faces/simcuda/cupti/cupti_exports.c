/* CUPTI reports GPU activity to profilers, which is not simulated. All calls fail in the same way, so they share
 * one message.
 *
 * The real CUPTI must not be loaded: with a driver that has no private tables for it, it recurses without end. */
#define VS_FACE_REFUSAL 15
#include "faces/simcuda/abi/cupti.h"
#include "faces/simcuda/core/objects.h"
#include "faces/simcuda/core/trampoline.h"

#undef VS_REFUSED
#define VS_REFUSED(name) __asm__(VS_CALL(name, "0") "jmp sim_cupti_refused\n" VS_CALL_END(name));
#include "faces/simcuda/abi/cupti_names.def"
VS_FACE_LIBRARY("CUPTI")

CUptiResult sim_cupti_refused(void) {
  vs_simcuda_not_simulated("CUPTI", "profiling of the GPU; profilers see only the CPU");
  return CUPTI_ERROR_NOT_INITIALIZED;
}

/* The version of this library: that of toolkits 13.2 and 12.8, like the runtime's. Programs compare it before they use a GPU. */
CUptiResult sim_cuptiGetVersion(uint32_t *version) {
  if (version == NULL) return CUPTI_ERROR_INVALID_PARAMETER;
  *version = VS_TOOLKIT >= 13 ? 130200 : 26;
  return CUPTI_SUCCESS;
}

static CUptiResult find(CUptiResult result, const char **text, bool wants_sentence) {
  if (text == NULL) return CUPTI_ERROR_INVALID_PARAMETER;
  switch ((int)result) {
#define VS_CUPTI_RESULT(name, number, sentence) \
  case number:                                  \
    *text = wants_sentence ? sentence : #name;  \
    return CUPTI_SUCCESS;
#include "faces/simcuda/abi/cupti_results.def"
#undef VS_CUPTI_RESULT
    default: *text = wants_sentence ? "unknown error" : "unknown"; return CUPTI_ERROR_INVALID_PARAMETER;
  }
}

CUptiResult sim_cuptiGetResultString(CUptiResult result, const char **text) {
  return find(result, text, false);
}
CUptiResult sim_cuptiGetErrorMessage(CUptiResult result, const char **text) {
  return find(result, text, true);
}
