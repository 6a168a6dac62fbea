/* Allocated memory over the trace, as torch.cuda.memory_allocated() counts it: rounded sizes of blocks from their alloc to
 * their free_requested (to free_completed where the trace has no free_requested at all).
 *
 * The trace has no rounded sizes. They follow from the addresses: PyTorch puts a block at the start of a free block and
 * splits off what it does not need, except that in large segments
 *   up to 1 MiB is not split off, nor is anything from requests of max_split_size and more
 * and a free block reaches up to the next live block or the end of its segment. So the bytes between a block and what
 * comes next at its alloc tell its size. In expandable segments everything is split off, in pinned host memory nothing.
 * Accounts without segments (VS_LACKS_SEGMENTS) have the sizes of blocks themselves, to which nothing is added.
 *
 * This checks itself, since a wrong size contradicts what follows. is_exact is false if
 *   - an allocation does not begin where a free block does, or does not fit there, or is in no segment
 *   - a block of the end state has another size than this rule gives it
 *   - the peak would be another one if free bytes behind large blocks that are older than the trace, and freed in it,
 *     were their own
 *   - expandable segments are on, and a block kept bytes in a segment that is none
 *   - a private pool takes a new segment although a block left enough bytes free: it was made with no_split
 *   - the trace was recorded without one of the two events of a free
 * Sums saturate. Invariant: baseline and end <= peak. */
#ifndef VS_ANALYZE_ALLOCATED_H
#define VS_ANALYZE_ALLOCATED_H

#include "analyze/address_check.h"
#include "analyze/mappings.h"

typedef struct vs_allocated {
  int64_t baseline; /* bytes before the first event */
  int64_t end;      /* after the last, = the end state */
  int64_t peak;     /* highest of baseline and the value after each event */
  vs_moment peak_at;
  bool is_exact;
} vs_allocated;

/* A scan, which also checks the addresses, since both need the live blocks next to an allocation; memory for each address of the
 * trace. `mappings` is of the same slice as `lifetimes`. */
VS_MUST_CHECK vs_status vs_allocated_measure(const vs_host *host, const vs_lifetimes *lifetimes,
                                             const vs_mappings *mappings, vs_address_check *check,
                                             vs_allocated *out);

/* The moments first .. last, VS_AT_START <= first <= last. */
typedef struct vs_moment_range {
  vs_moment first, last;
} vs_moment_range;

/* peaks[i]: the highest value in range i of `count`, which rise and do not overlap. As exact as vs_allocated is. The same scan,
 * without the check. */
VS_MUST_CHECK vs_status vs_allocated_peaks_between(const vs_host *host, const vs_lifetimes *lifetimes,
                                                   const vs_mappings *mappings, const vs_moment_range *ranges,
                                                   size_t count, int64_t *peaks);

#endif
