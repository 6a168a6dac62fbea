/* The lines that own more memory after each step: leaks, and caches without a limit.
 *
 * The bytes of a line (VS_BY_LINE of groups.h) are compared at the boundaries of steps. A block adds bytes at the first boundary at which it is live,
 * and removes them at the first one at which it is not; blocks that live inside one step are never counted. Growth is reported
 * for the longest run of steps, ending with the last step, in which
 *   the blocks become more     at least VS_GROWTH_STEPS steps rise, at most every fifth does not, and at most a quarter of the
 *                              added bytes was removed, not counting blocks that are seen at one boundary only,
 *                              and there is a block more for every second rise; or
 *   the blocks become larger   each of at least 2 x VS_GROWTH_STEPS steps rises, with the same number of blocks.
 * So memory that is allocated once and stays, such as gradients and the optimizer's state, is not growth, nor is memory that
 * is freed again.
 *
 * What became of it decides what it is called: it is still allocated at the end; or freed since; or most of it was freed by
 * the program at once, and waited for another stream (record_stream).
 *
 * Nothing is reported where the steps were guessed from a pattern and most of what they allocate is still live after them:
 * those are more likely the layers of one forward pass. Of rounds (steps.h) it is reported, without calling it a leak. */
#ifndef VS_ANALYZE_GROWTH_H
#define VS_ANALYZE_GROWTH_H

#include "analyze/groups.h"
#include "analyze/steps.h"

typedef enum vs_growth_kind { VS_GROWTH_ALLOCATED, VS_GROWTH_FREED, VS_GROWTH_PENDING } vs_growth_kind;
const char *vs_growth_kind_name(vs_growth_kind kind); /* "allocated", "freed", "pending" */

typedef struct vs_growth {
  uint32_t stack;          /* of its first block */
  uint32_t first_row;      /* of lifetimes: its first block that was seen at a boundary */
  uint32_t first_step;     /* index of the first step of the run, 0 = between the first two boundaries */
  uint32_t steps;          /* steps of the run */
  uint32_t rises;          /* of these, the ones it rises in */
  uint64_t bytes_per_step; /* bytes / steps */
  uint64_t bytes;          /* gained over the run */
  uint64_t blocks;         /* gained over the run; 0 if their number does not rise */
  uint64_t live_bytes;     /* live at the last boundary */
  uint64_t pending_bytes;  /* of these, freed by then: another stream may still use them */
  uint64_t end_bytes;      /* of the line, allocated at the end of the trace */
  vs_growth_kind
      kind; /* PENDING: most of the live bytes were pending. FREED: else, and end_bytes is less than half of
                              `bytes` */
} vs_growth;

enum { VS_GROWTH_STEPS = 3 };

typedef struct vs_growths {
  VS_VEC(vs_growth) list; /* by kind, then most bytes per step first, then in order of first_row */
} vs_growths;

VS_MUST_CHECK vs_status vs_growths_build(const vs_host *host, const vs_lifetimes *lifetimes,
                                         const vs_steps *steps, vs_frames *frames, vs_growths *out);
void vs_growths_deinit(const vs_host *host, vs_growths *growths);

#endif
