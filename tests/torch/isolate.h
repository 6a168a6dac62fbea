/* Runs cases in processes of their own, since both allocators and PyTorch's settings last as long as a
 * process; and makes failing cases small. */
#ifndef PARITY_ISOLATE_H
#define PARITY_ISOLATE_H

#include "drive.h"

namespace parity {

/* A process that dies has a difference too: what[] says how. */
Tally run_isolated(const Case &which);

/* The fewest operations found in `seconds` that still differ (delta debugging). `tally` becomes theirs. */
Case shrink(const Case &failing, Tally &tally, unsigned seconds);

} // namespace parity

#endif
