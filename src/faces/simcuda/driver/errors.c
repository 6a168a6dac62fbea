/* Names and descriptions of results. Programs print them; the descriptions are ours. */
#include "faces/simcuda/driver/driver.h"

static CUresult find(CUresult error, const char **text, bool wants_words) {
  VS_CU_NEED(text != NULL);
  *text = NULL;
  switch ((int)error) {
#define VS_CU_ERROR(name, number, words) \
  case number:                           \
    *text = wants_words ? words : #name; \
    return CUDA_SUCCESS;
#include "device/abi/driver_errors.def"
#undef VS_CU_ERROR
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult sim_cuGetErrorName(CUresult error, const char **text) { return find(error, text, false); }
CUresult sim_cuGetErrorString(CUresult error, const char **text) { return find(error, text, true); }
