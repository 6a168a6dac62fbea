/* What a communicator is here: one rank of a world whose ranks are all alike. Nobody is at the other end, nothing waits, and
 * every call returns at once.
 *
 * Member i of a communicator is rank `base + i * stride` of the one that all splits began with; so it is known who shares a
 * machine with whom. Invariant: 0 <= rank < count, stride > 0, and base + rank * stride is what this rank is called there. */
#ifndef VS_SIMCUDA_NCCL_COMM_H
#define VS_SIMCUDA_NCCL_COMM_H

#include "faces/simcuda/abi/nccl.h"
#include "faces/simcuda/core/objects.h"
#include "faces/simcuda/nccl/buffers.h"
#include "faces/simcuda/nccl/groups.h"

enum { VS_NCCL_OPERATORS = 1024 }; /* of the program's own, in one communicator */

struct ncclComm {
  vs_object head;
  uint32_t device;
  int rank, count;
  vs_nccl_shape shape; /* its members in the first communicator; `count` is the same */
  vs_nccl_limits limits;
  vs_nccl_buffers buffers;
  uint64_t operators[VS_NCCL_OPERATORS / 64]; /* a bit for each that exists */
  bool is_revoked, is_suspended;
};

#define VS_TAG_NCCL VS_TAG('n', 'c', 'c', 'l')

/* Remembers a sentence for ncclGetLastError and returns `result`. */
ncclResult_t vs_nccl_fail(ncclResult_t result, const char *format, ...);
/* The same for a failure of the simulated machine. */
ncclResult_t vs_nccl_fail_sim(vs_sim_error error, const char *name);

/* ncclInvalidArgument unless it is one. */
ncclResult_t vs_nccl_check(ncclComm_t comm, const char *name);

#define NCCL_TRY(expression)                                    \
  do {                                                          \
    const ncclResult_t nccl_try_result = (expression);          \
    if (nccl_try_result != ncclSuccess) return nccl_try_result; \
  } while (0)

/* NCCL works on the communicator's device, whatever the thread's is: begin returns what end puts back. */
uint32_t vs_nccl_enter(uint32_t device);
void vs_nccl_leave(uint32_t device_before);

#endif
