/* What a face library is made of.
 *
 * A face is a shared library that carries the name of one of NVIDIA's (libcudart.so.13, libcublas.so.13,
 * ...) and exports its names. It has a list names.def of every name the real library exports,
 *
 *   VS_FACE(cudaMalloc)                  written by hand in this folder, as sim_cudaMalloc
 *   VS_REFUSED(cudaGraphicsMapResources) not simulated: says so once, returns the not-supported code
 *   VS_REFUSED_TEXT(cusparseGetErrorName) the same for a function that returns a string
 *
 * The computations of the mathematics libraries are rows of abi/<library>_computes.def, which have their
 * arguments, too: names.def includes that list and exports each of them as a VS_FACE.
 *
 * from which core/trampoline.h makes the exported functions. The calls of a face lie in one array, in the
 * order of the list, between the linker's two marks. */
#ifndef VS_SIMCUDA_FACE_H
#define VS_SIMCUDA_FACE_H

#include <stdint.h>

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
