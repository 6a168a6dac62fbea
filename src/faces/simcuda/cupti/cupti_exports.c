/* CUPTI tells profilers what the GPU does; this one does nothing. All calls fail alike, so one sentence for
 * all is enough.
 *
 * The real CUPTI must not be loaded at all: with a driver that has no private tables for it, it calls itself
 * without end. */
#define VS_FACE_REFUSAL 15
#include "faces/simcuda/abi/cupti.h"
#include "faces/simcuda/core/trampoline.h"

#undef VS_REFUSED
#define VS_REFUSED(name) __asm__(VS_CALL(name, "0") "jmp sim_cupti_refused\n" VS_CALL_END(name));
#include "faces/simcuda/abi/cupti_names.def"
VS_FACE_LIBRARY("CUPTI")

CUptiResult sim_cupti_refused(void) {
  vs_simcuda_not_simulated("CUPTI", "what profilers want to know of the GPU: they see the processor only");
  return CUPTI_ERROR_NOT_INITIALIZED;
}

static CUptiResult find(CUptiResult result, const char **text, bool wants_words) {
  if (text == NULL) return CUPTI_ERROR_INVALID_PARAMETER;
  switch ((int)result) {
#define VS_CUPTI_RESULT(name, number, words) \
  case number:                               \
    *text = wants_words ? words : #name;     \
    return CUPTI_SUCCESS;
#include "faces/simcuda/abi/cupti_results.def"
#undef VS_CUPTI_RESULT
    default: *text = wants_words ? "unknown error" : "unknown"; return CUPTI_ERROR_INVALID_PARAMETER;
  }
}

CUptiResult sim_cuptiGetResultString(CUptiResult result, const char **text) {
  return find(result, text, false);
}
CUptiResult sim_cuptiGetErrorMessage(CUptiResult result, const char **text) {
  return find(result, text, true);
}
