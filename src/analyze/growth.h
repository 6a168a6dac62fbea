/* Who holds more after each step: leaks, and caches that never stop growing.
 *
 * What a stack holds is compared at the boundaries of steps: bytes came where a block is first seen at one, bytes went
 * where it is seen no more. Blocks that live inside one step are never seen. Of the runs of steps that reach up to the
 * last one the longest counts in which
 *   it piles up   at least VS_GROWTH_STEPS steps rise, at most every fifth does not, and what went is at most a quarter of
 *                 what came; or
 *   it swells     every one of at least 2 x VS_GROWTH_STEPS steps rises, with the same number of blocks: larger ones take
 *                 the place of smaller ones.
 * So what appears once and stays, such as gradients and the optimizer's state, is no growth, nor is what comes and goes.
 *
 * Where steps were guessed from a pattern, and most of what they allocate is still there after them, nothing is reported:
 * those are more likely layers of one forward pass. */
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
