/* The stacks that own more memory after each step: leaks, and caches without a limit.
 *
 * The bytes of a stack are compared at the boundaries of steps. A block adds bytes at the first boundary at which it is live,
 * and removes them at the first one at which it is not; blocks that live inside one step are never counted. Growth is reported
 * for the longest run of steps, ending with the last step, in which
 *   the blocks become more     at least VS_GROWTH_STEPS steps rise, at most every fifth does not, and at most a quarter of the
 *                              added bytes was removed; or
 *   the blocks become larger   each of at least 2 x VS_GROWTH_STEPS steps rises, with the same number of blocks.
 * So memory that is allocated once and stays, such as gradients and the optimizer's state, is not growth, nor is memory that
 * is freed again.
 *
 * Nothing is reported where the steps were guessed from a pattern and most of what they allocate is still live after them:
 * those are more likely the layers of one forward pass. */
#ifndef VS_ANALYZE_GROWTH_H
#define VS_ANALYZE_GROWTH_H

#include "analyze/lifetimes.h"
#include "analyze/steps.h"

typedef struct vs_growth {
  uint32_t stack;
  uint32_t first_row;      /* of lifetimes: its first block that was seen at a boundary */
  uint32_t first_step;     /* index of the first step of the run, 0 = between the first two boundaries */
  uint32_t steps;          /* steps of the run */
  uint32_t rises;          /* of these, the ones it rises in */
  uint64_t bytes_per_step; /* bytes / steps */
  uint64_t bytes;          /* gained over the run */
  uint64_t blocks;         /* gained over the run; 0 if their number does not rise */
  uint64_t live_bytes;     /* held at the last boundary */
} vs_growth;

enum { VS_GROWTH_STEPS = 3 };

typedef struct vs_growths {
  VS_VEC(vs_growth) list; /* most bytes per step first, then in order of first_row */
} vs_growths;

VS_MUST_CHECK vs_status vs_growths_build(const vs_host *host, const vs_lifetimes *lifetimes,
                                         const vs_steps *steps, vs_growths *out);
void vs_growths_deinit(const vs_host *host, vs_growths *growths);

#endif
