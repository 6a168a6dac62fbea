/* What a face library is made of.
 *
 * A face is a shared library that carries the name of one of NVIDIA's (libcudart.so.13, libcublas.so.13,
 * ...) and exports its names. One list, abi/<library>_names.def, has a row for each:
 *
 *   VS_FACE(cudaError_t, cudaMalloc, (void **memory, size_t size))
 *                                        written by hand in the face's folder, as sim_cudaMalloc
 *   VS_LIKE(cudaMemcpy_ptds, cudaMemcpy) the same, with the result and the arguments of the second
 *   VS_SAME(cuCtxCreate, cuCtxCreate_v2) another name of the second: what it does is written there
 *   VS_ALSO(pncclAllGather, ncclAllGather) a second name of the same entry: its calls count as the first's
 *   VS_PER_THREAD(cudaEventRecord_ptsz, cudaEventRecord, %rsi)
 *                                        the same for programs compiled for per-thread default streams
 *   VS_REFUSED(cudaGraphicsMapResources) not simulated: reported once, returns the not-supported code
 *   VS_REFUSED_TEXT(cusparseGetErrorName) the same for a function that returns a string
 *
 * The computations of the mathematics libraries are rows of abi/<library>_computes.def, which the list includes:
 * a row also says which arguments are valid, and the function is generated from it.
 *
 * abi/<library>.h generates declarations from the list (abi/declare.h), and core/trampoline.h the exported functions.
 * The calls of a face are one array, in the order of the list, between two symbols that the linker defines. */
#ifndef VS_SIMCUDA_FACE_H
#define VS_SIMCUDA_FACE_H

#include <stdint.h>

/* VS_PER_THREAD. Programs compiled for per-thread default streams call other names (..._ptsz), in which stream 0
 * is the calling thread's own default stream (the handle 2) and not the legacy one that all threads share. The
 * trampoline replaces a 0 in the stream argument by 2 and jumps to the function, so no state is kept during the
 * call, and nothing is restored when it returns. The third column is the place of the stream argument, as the
 * assembler writes it. The System V ABI passes the first arguments in %rdi, %rsi, %rdx, %rcx, %r8, %r9 and the
 * others at 8(%rsp), 16(%rsp) ..., which belong to the called function. A struct of up to 16 bytes takes two
 * registers (dim3), a larger one is passed on the stack. tests/abi asks the compiler for the place in each row,
 * and fails with the right one if a row is wrong. */

/* One exported name. The assembler code of trampoline.h writes and reads this layout. */
typedef struct vs_face_call {
  uint64_t count; /* calls so far; those of threads at the same instant may be counted once */
  const char *name;
  /* What a refused call returns: a number, or the address of a string. 0 for a simulated function. */
  uint64_t refusal;
  uint64_t was_said; /* 1: the refusal was reported */
} vs_face_call;

/* A loaded library. It adds itself to the list of faces when it is loaded and does nothing else then, so that a
 * program without CUDA behaves as if it were not preloaded. */
typedef struct vs_face {
  const char *library; /* its usual name: "cuBLAS" */
  vs_face_call *begin, *end;
  struct vs_face *next;
} vs_face;

#endif
