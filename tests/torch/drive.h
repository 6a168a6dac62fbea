/* Leads both allocators through a case and compares all that they answer, tell and count. */
#ifndef PARITY_DRIVE_H
#define PARITY_DRIVE_H

#include "case.h"

namespace parity {

/* What a run did; plain, since it comes back from another process. */
struct Tally {
  uint64_t operations, events, allocations, ooms, rejections, refusals, retries, captures, snapshots, maps;
  uint64_t at;       /* the operation that was under way */
  uint64_t broken;   /* 1: PyTorch failed in a way that leaves nothing to compare; the case ended there */
  bool is_different; /* `what` says what */
  char what[16384];
};

/* Runs the case in this process, which must not have met either allocator yet: both keep their state.
 * Returns at the first difference. */
void drive(const Case &which, Tally &tally);

/* Prints what PyTorch tells, with the number of the operation. */
extern bool is_tracing;

} // namespace parity

#endif
