/* The part of CUPTI that answers, under its public names. */
#ifndef VS_SIMCUDA_ABI_CUPTI_H
#define VS_SIMCUDA_ABI_CUPTI_H

#include <stdint.h>

#ifndef VS_ABI_TOOLKIT
#define VS_ABI_TOOLKIT 0
#endif

#if VS_ABI_TOOLKIT
#include <cupti.h>
#else
typedef enum CUptiResult {
#define VS_CUPTI_RESULT(name, number, text) name = number,
#include "faces/simcuda/abi/cupti_results.def"
#undef VS_CUPTI_RESULT
} CUptiResult;
#endif

/* The trampolines of all other names jump to this. */
CUptiResult sim_cupti_refused(void);

#include "faces/simcuda/abi/declare.h"
#include "faces/simcuda/abi/cupti_names.def"
#include "faces/simcuda/abi/declared.h"

#endif
