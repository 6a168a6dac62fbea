/* The interface of cuBLAS before it had handles: those of its functions that return a value and not a status.
 * They are not simulated, but the number that says so to others would be taken for a result here. */
#ifndef VS_SIMCUDA_ABI_CUBLAS_OLD_H
#define VS_SIMCUDA_ABI_CUBLAS_OLD_H

#include "faces/simcuda/abi/math_types.h"

#if VS_ABI_TOOLKIT
#include <cublas.h>
#endif

/* VS_OLD(name, result, arguments) */
#define VS_CUBLAS_OLD(VS_OLD)                                                                         \
  VS_OLD(cublasSnrm2, float, (int n, const float *x, int incx))                                       \
  VS_OLD(cublasDnrm2, double, (int n, const double *x, int incx))                                     \
  VS_OLD(cublasScnrm2, float, (int n, const cuComplex *x, int incx))                                  \
  VS_OLD(cublasDznrm2, double, (int n, const cuDoubleComplex *x, int incx))                           \
  VS_OLD(cublasSasum, float, (int n, const float *x, int incx))                                       \
  VS_OLD(cublasDasum, double, (int n, const double *x, int incx))                                     \
  VS_OLD(cublasScasum, float, (int n, const cuComplex *x, int incx))                                  \
  VS_OLD(cublasDzasum, double, (int n, const cuDoubleComplex *x, int incx))                           \
  VS_OLD(cublasSdot, float, (int n, const float *x, int incx, const float *y, int incy))              \
  VS_OLD(cublasDdot, double, (int n, const double *x, int incx, const double *y, int incy))           \
  VS_OLD(cublasCdotu, cuComplex, (int n, const cuComplex *x, int incx, const cuComplex *y, int incy)) \
  VS_OLD(cublasCdotc, cuComplex, (int n, const cuComplex *x, int incx, const cuComplex *y, int incy)) \
  VS_OLD(cublasZdotu, cuDoubleComplex,                                                                \
         (int n, const cuDoubleComplex *x, int incx, const cuDoubleComplex *y, int incy))             \
  VS_OLD(cublasZdotc, cuDoubleComplex,                                                                \
         (int n, const cuDoubleComplex *x, int incx, const cuDoubleComplex *y, int incy))             \
  VS_OLD(cublasIsamax, int, (int n, const float *x, int incx))                                        \
  VS_OLD(cublasIdamax, int, (int n, const double *x, int incx))                                       \
  VS_OLD(cublasIcamax, int, (int n, const cuComplex *x, int incx))                                    \
  VS_OLD(cublasIzamax, int, (int n, const cuDoubleComplex *x, int incx))                              \
  VS_OLD(cublasIsamin, int, (int n, const float *x, int incx))                                        \
  VS_OLD(cublasIdamin, int, (int n, const double *x, int incx))                                       \
  VS_OLD(cublasIcamin, int, (int n, const cuComplex *x, int incx))                                    \
  VS_OLD(cublasIzamin, int, (int n, const cuDoubleComplex *x, int incx))

#define VS_OLD(name, result, arguments) result sim_##name arguments;
VS_CUBLAS_OLD(VS_OLD)
#undef VS_OLD

#endif
