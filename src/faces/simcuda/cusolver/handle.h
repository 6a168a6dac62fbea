/* Handles of cuSOLVER. */
#ifndef VS_SIMCUDA_CUSOLVER_HANDLE_H
#define VS_SIMCUDA_CUSOLVER_HANDLE_H

#include "faces/simcuda/abi/cusolver.h"
#include "faces/simcuda/core/objects.h"

#define CUSOLVER_TAG_DENSE  VS_TAG('s', 'o', 'd', 'n')
#define CUSOLVER_TAG_SPARSE VS_TAG('s', 'o', 's', 'p')

/* Both kinds of handles. */
typedef struct solver {
  vs_object object;
  uint64_t stream;
  uint32_t device; /* visible numbering; the current one when the handle was made */
  int deterministic;
} solver;

static inline bool vs_is_solver(const void *handle) {
  return vs_object_is(handle, CUSOLVER_TAG_DENSE) || vs_object_is(handle, CUSOLVER_TAG_SPARSE);
}

#endif
