/* A communicator here is one rank of a world of identical ranks. No other rank exists, so no call waits, and every
 * call returns at once.
 *
 * Member i of a communicator is rank vs_nccl_member(&shape, i) of the first communicator, from which all splits
 * derive; that determines which members share a machine. Invariant: 0 <= rank < count, and vs_nccl_member(&shape,
 * rank) is this rank's number in the first communicator. */
#ifndef VS_SIMCUDA_NCCL_COMM_H
#define VS_SIMCUDA_NCCL_COMM_H

#include "faces/simcuda/abi/nccl.h"
#include "faces/simcuda/core/objects.h"
#include "faces/simcuda/nccl/buffers.h"
#include "faces/simcuda/nccl/groups.h"

enum { VS_NCCL_OPERATORS = 1024 }; /* user-defined operators of one communicator */

struct ncclComm {
  vs_object head;
  uint32_t device;
  int rank, count;
  vs_nccl_shape shape; /* its members in the first communicator; `count` is the same */
  VS_VEC(int) members; /* the list of the shape, if it has one */
  vs_nccl_limits limits;
  vs_nccl_buffers buffers;
  uint64_t operators[VS_NCCL_OPERATORS / 64]; /* one bit for each existing operator */
  bool is_revoked, is_suspended;
};

#define VS_TAG_NCCL VS_TAG('n', 'c', 'c', 'l')

/* Stores a sentence for ncclGetLastError and returns `result`. */
ncclResult_t vs_nccl_fail(ncclResult_t result, const char *format, ...);
/* The same for a failure of the simulation. */
ncclResult_t vs_nccl_fail_sim(vs_sim_error error, const char *name);

/* ncclInvalidArgument unless `comm` is a communicator. */
ncclResult_t vs_nccl_check(ncclComm_t comm, const char *name);

#define NCCL_TRY(expression)                                    \
  do {                                                          \
    const ncclResult_t nccl_try_result = (expression);          \
    if (nccl_try_result != ncclSuccess) return nccl_try_result; \
  } while (0)

/* NCCL uses the communicator's device, whichever is the thread's: begin returns the thread's device, which end
 * restores. */
uint32_t vs_nccl_enter(uint32_t device);
void vs_nccl_leave(uint32_t device_before);

#endif
