/* NVRTC under its public names. Programs are handles of the real library: nothing is known of them here. */
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

const char *sim_nvrtcGetErrorString(nvrtcResult);
nvrtcResult sim_nvrtcVersion(int *, int *);
nvrtcResult sim_nvrtcGetNumSupportedArchs(int *);
nvrtcResult sim_nvrtcGetSupportedArchs(int *);
nvrtcResult sim_nvrtcCreateProgram(nvrtcProgram *, const char *, const char *, int, const char *const *,
                                   const char *const *);
nvrtcResult sim_nvrtcDestroyProgram(nvrtcProgram *);
nvrtcResult sim_nvrtcCompileProgram(nvrtcProgram, int, const char *const *);
nvrtcResult sim_nvrtcGetPTXSize(nvrtcProgram, size_t *);
nvrtcResult sim_nvrtcGetPTX(nvrtcProgram, char *);
nvrtcResult sim_nvrtcGetCUBINSize(nvrtcProgram, size_t *);
nvrtcResult sim_nvrtcGetCUBIN(nvrtcProgram, char *);
nvrtcResult sim_nvrtcGetNVVMSize(nvrtcProgram, size_t *); /* up to CUDA 12 */
nvrtcResult sim_nvrtcGetNVVM(nvrtcProgram, char *);
nvrtcResult sim_nvrtcGetLTOIRSize(nvrtcProgram, size_t *);
nvrtcResult sim_nvrtcGetLTOIR(nvrtcProgram, char *);
nvrtcResult sim_nvrtcGetOptiXIRSize(nvrtcProgram, size_t *);
nvrtcResult sim_nvrtcGetOptiXIR(nvrtcProgram, char *);
nvrtcResult sim_nvrtcGetProgramLogSize(nvrtcProgram, size_t *);
nvrtcResult sim_nvrtcGetProgramLog(nvrtcProgram, char *);
nvrtcResult sim_nvrtcAddNameExpression(nvrtcProgram, const char *);
nvrtcResult sim_nvrtcGetLoweredName(nvrtcProgram, const char *, const char **);
nvrtcResult sim_nvrtcGetPCHHeapSize(size_t *);
nvrtcResult sim_nvrtcSetPCHHeapSize(size_t);
nvrtcResult sim_nvrtcGetPCHCreateStatus(nvrtcProgram);
nvrtcResult sim_nvrtcGetPCHHeapSizeRequired(nvrtcProgram, size_t *);
nvrtcResult sim_nvrtcSetFlowCallback(nvrtcProgram, int (*)(void *, void *), void *);

#endif
