/* NVRTC under its public names. Programs are handles of the real library, which are only passed on. */
#ifndef VS_SIMCUDA_ABI_NVRTC_H
#define VS_SIMCUDA_ABI_NVRTC_H

#include <stddef.h>

#ifndef VS_ABI_TOOLKIT
#define VS_ABI_TOOLKIT 0
#endif

#if VS_ABI_TOOLKIT
#include <nvrtc.h>
#else
typedef enum nvrtcResult {
#define VS_NVRTC_RESULT(name, number, text) name = number,
#include "faces/simcuda/abi/nvrtc_results.def"
#undef VS_NVRTC_RESULT
} nvrtcResult;
typedef struct _nvrtcProgram *nvrtcProgram;
#endif

#include "faces/simcuda/abi/declare.h"
#include "faces/simcuda/abi/nvrtc_names.def"
#include "faces/simcuda/abi/declared.h"

#endif
