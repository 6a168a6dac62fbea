/* What a face library is made of.
 *
 * A face is a shared library that carries the name of one of NVIDIA's (libcudart.so.13, libcublas.so.13,
 * ...) and exports its names. They stand in one list, abi/<library>_names.def, each with all that is needed of it:
 *
 *   VS_FACE(cudaError_t, cudaMalloc, (void **memory, size_t size))
 *                                        written by hand in the face's folder, as sim_cudaMalloc
 *   VS_LIKE(cudaMemcpy_ptds, cudaMemcpy) the same, with the result and the arguments of the second
 *   VS_SAME(cuCtxCreate, cuCtxCreate_v2) another name of the second: what it does is written there
 *   VS_ALSO(pncclAllGather, ncclAllGather) the same entry under a second name: its calls count as the first's
 *   VS_PER_THREAD(cudaEventRecord_ptsz, cudaEventRecord, %rsi)
 *                                        the same for programs compiled for per-thread default streams
 *   VS_REFUSED(cudaGraphicsMapResources) not simulated: says so once, returns the not-supported code
 *   VS_REFUSED_TEXT(cusparseGetErrorName) the same for a function that returns a string
 *
 * The computations of the mathematics libraries are rows of abi/<library>_computes.def, which the list includes:
 * those say besides which arguments are lawful, and are the functions, too.
 *
 * abi/<library>.h makes declarations of the list (abi/declare.h), and core/trampoline.h the exported functions. The
 * calls of a face lie in one array, in the order of the list, between the linker's two marks. */
#ifndef VS_SIMCUDA_FACE_H
#define VS_SIMCUDA_FACE_H

#include <stdint.h>

/* VS_PER_THREAD. Such programs call other names (..._ptsz), where stream 0 is the calling thread's own
 * default stream (the handle 2) and not the legacy one that all threads share. So the trampoline puts 2 in
 * the place of a 0 among the arguments and jumps on: nothing has to be remembered for the length of the call,
 * or restored when it returns. The third column says where the stream is, as the assembler writes it. The
 * System V ABI puts the arguments, from the first on, into %rdi, %rsi, %rdx, %rcx, %r8, %r9; what does not fit
 * there lies at 8(%rsp), 16(%rsp) ..., and belongs to the function that is called. A struct of up to 16 bytes
 * takes two registers (dim3), a larger one lies on the stack. tests/abi asks the compiler for the place of each
 * row and fails, with the right one, where the row says another. */

/* One exported name. The assembler code of trampoline.h writes and reads this layout. */
typedef struct vs_face_call {
  uint64_t count; /* calls so far; those of threads at the same instant may be counted once */
  const char *name;
  uint64_t
      refusal; /* what a refused call returns, a number or the address of a string; 0 for what is simulated */
  uint64_t was_said; /* a refusal is said once */
} vs_face_call;

/* A library of the world. It links itself into the list of faces when it is loaded, and does nothing else
 * then: a program that uses no GPU does not notice. */
typedef struct vs_face {
  const char *library; /* as people call it: "cuBLAS" */
  vs_face_call *begin, *end;
  struct vs_face *next;
} vs_face;

#endif
