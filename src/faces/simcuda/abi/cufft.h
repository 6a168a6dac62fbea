/* cuFFT: the types and the functions written by hand. */
#ifndef VS_SIMCUDA_ABI_CUFFT_H
#define VS_SIMCUDA_ABI_CUFFT_H

#include "faces/simcuda/abi/math_types.h"

#if VS_ABI_TOOLKIT
#include <cufft.h>
#include <cufftXt.h>
#else
typedef int cufftHandle;

typedef enum cufftResult_t {
  CUFFT_SUCCESS = 0,
  CUFFT_INVALID_PLAN = 1,
  CUFFT_ALLOC_FAILED = 2,
  CUFFT_INVALID_TYPE = 3,
  CUFFT_INVALID_VALUE = 4,
  CUFFT_INTERNAL_ERROR = 5,
  CUFFT_EXEC_FAILED = 6,
  CUFFT_SETUP_FAILED = 7,
  CUFFT_INVALID_SIZE = 8,
  CUFFT_NO_WORKSPACE = 13,
  CUFFT_NOT_SUPPORTED = 16
} cufftResult;

typedef enum cufftType_t {
  CUFFT_R2C = 0x2a,
  CUFFT_C2R = 0x2c,
  CUFFT_C2C = 0x29,
  CUFFT_D2Z = 0x6a,
  CUFFT_Z2D = 0x6c,
  CUFFT_Z2Z = 0x69
} cufftType;

typedef float cufftReal;
typedef double cufftDoubleReal;
typedef cuComplex cufftComplex;
typedef cuDoubleComplex cufftDoubleComplex;

typedef enum cufftProperty_t {
  NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT = 1,
  NVFFT_PLAN_PROPERTY_MOST = 0xff
} cufftProperty;
typedef enum cufftXtWorkAreaPolicy_t {
  CUFFT_WORKAREA_MINIMAL,
  CUFFT_WORKAREA_USER,
  CUFFT_WORKAREA_PERFORMANCE
} cufftXtWorkAreaPolicy;
#endif

cufftResult sim_cufftCreate(cufftHandle *handle);
cufftResult sim_cufftDestroy(cufftHandle handle);
cufftResult sim_cufftSetStream(cufftHandle handle, cudaStream_t stream);
cufftResult sim_cufftSetAutoAllocation(cufftHandle handle, int is_automatic);
cufftResult sim_cufftSetWorkArea(cufftHandle handle, void *area);
cufftResult sim_cufftXtSetWorkArea(cufftHandle handle, void **areas);
cufftResult sim_cufftXtSetWorkAreaPolicy(cufftHandle handle, cufftXtWorkAreaPolicy policy, size_t *size);
cufftResult sim_cufftGetSize(cufftHandle handle, size_t *size);
cufftResult sim_cufftGetVersion(int *to);
cufftResult sim_cufftGetProperty(libraryPropertyType type, int *value);
cufftResult sim_cufftSetPlanPropertyInt64(cufftHandle handle, cufftProperty property,
                                          const long long int value);
cufftResult sim_cufftGetPlanPropertyInt64(cufftHandle handle, cufftProperty property, long long int *value);
cufftResult sim_cufftResetPlanProperty(cufftHandle handle, cufftProperty property);

cufftResult sim_cufftPlan1d(cufftHandle *handle, int nx, cufftType type, int batch);
cufftResult sim_cufftPlan2d(cufftHandle *handle, int nx, int ny, cufftType type);
cufftResult sim_cufftPlan3d(cufftHandle *handle, int nx, int ny, int nz, cufftType type);
cufftResult sim_cufftPlanMany(cufftHandle *handle, int rank, int *n, int *inembed, int istride, int idist,
                              int *onembed, int ostride, int odist, cufftType type, int batch);

/* The same sizes are asked for in three ways: when a plan is made (MakePlan), of a plan that is not made
 * (GetSize), and without a plan (Estimate). */
#define VS_CUFFT_SIZED(Verb)                                                                                \
  cufftResult sim_cufft##Verb##1d(cufftHandle plan, int nx, cufftType type, int batch, size_t *size);       \
  cufftResult sim_cufft##Verb##2d(cufftHandle plan, int nx, int ny, cufftType type, size_t *size);          \
  cufftResult sim_cufft##Verb##3d(cufftHandle plan, int nx, int ny, int nz, cufftType type, size_t *size);  \
  cufftResult sim_cufft##Verb##Many(cufftHandle plan, int rank, int *n, int *inembed, int istride,          \
                                    int idist, int *onembed, int ostride, int odist, cufftType type,        \
                                    int batch, size_t *size);                                               \
  cufftResult sim_cufft##Verb##Many64(cufftHandle plan, int rank, long long int *n, long long int *inembed, \
                                      long long int istride, long long int idist, long long int *onembed,   \
                                      long long int ostride, long long int odist, cufftType type,           \
                                      long long int batch, size_t *size);                                   \
  cufftResult sim_cufftXt##Verb##Many(cufftHandle plan, int rank, long long int *n, long long int *inembed, \
                                      long long int istride, long long int idist, cudaDataType input_type,  \
                                      long long int *onembed, long long int ostride, long long int odist,   \
                                      cudaDataType output_type, long long int batch, size_t *size,          \
                                      cudaDataType execution_type);
VS_CUFFT_SIZED(MakePlan)
VS_CUFFT_SIZED(GetSize)
#undef VS_CUFFT_SIZED
cufftResult sim_cufftEstimate1d(int nx, cufftType type, int batch, size_t *size);
cufftResult sim_cufftEstimate2d(int nx, int ny, cufftType type, size_t *size);
cufftResult sim_cufftEstimate3d(int nx, int ny, int nz, cufftType type, size_t *size);
cufftResult sim_cufftEstimateMany(int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                                  int ostride, int odist, cufftType type, int batch, size_t *size);

cufftResult sim_cufftExecC2C(cufftHandle handle, cufftComplex *in, cufftComplex *out, int direction);
cufftResult sim_cufftExecR2C(cufftHandle handle, cufftReal *in, cufftComplex *out);
cufftResult sim_cufftExecC2R(cufftHandle handle, cufftComplex *in, cufftReal *out);
cufftResult sim_cufftExecZ2Z(cufftHandle handle, cufftDoubleComplex *in, cufftDoubleComplex *out,
                             int direction);
cufftResult sim_cufftExecD2Z(cufftHandle handle, cufftDoubleReal *in, cufftDoubleComplex *out);
cufftResult sim_cufftExecZ2D(cufftHandle handle, cufftDoubleComplex *in, cufftDoubleReal *out);
cufftResult sim_cufftXtExec(cufftHandle handle, void *in, void *out, int direction);

#endif
