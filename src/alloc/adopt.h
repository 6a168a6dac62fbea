/* An allocator that begins in the middle: segments that are there already, with what is in their blocks.
 *
 * A replay begins where a recording does, which need not be where the program did. What vs_alloc_visit
 * shows of one allocator can be adopted by another one, and both go on alike: the same blocks in the same
 * order of the cache, the same figures. Three things a snapshot does not show: the ages of cached blocks
 * (they begin now), which streams a pending block waits for (adopt it as allocated, record streams on it
 * and free it), peaks and totals (everything adopted counts as if it had been asked for just now: reset
 * them where that matters). */
#ifndef VS_ALLOC_ADOPT_H
#define VS_ALLOC_ADOPT_H

#include "alloc/alloc.h"

/* What the device is told to release when pages go that were adopted. */
#define VS_ALLOC_ADOPTED_HANDLE UINT64_MAX

/* Used of `segment`: address, size, stream, pool, is_small, is_expandable, context. Used of a block:
 * address, size, state, and of an allocated one requested and context.
 *
 * An expandable segment is a mapped run of whole pages in reserved addresses, as long as it can be; runs
 * of one reserve name the same one and are adopted in any order. The others leave it 0. */
typedef struct vs_alloc_adopted {
  vs_alloc_segment_info segment;
  const vs_alloc_block_info *blocks; /* they tile the segment, by rising address */
  uint64_t block_count;
  uint64_t reserve_address, reserve_size; /* whole pages, the run among them */
} vs_alloc_adopted;

/* Takes a segment that the device has given already. All or nothing; the observer hears nothing.
 * Fails: VS_BAD_ARGUMENT (the blocks do not tile it, two free ones meet, one is pending, sizes are no
 *        multiples of 512, an allocation begins at the same address, the run does not fit into its
 *        reserve), VS_NOT_FOUND (its private pool has not been retained), VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_alloc_adopt_segment(vs_alloc *alloc, const vs_alloc_adopted *adopted);

/* Bytes of the block that a request of so many would be cut to; what is too small to be split off comes on
 * top. */
uint64_t vs_alloc_rounded(const vs_alloc *alloc, uint64_t size);

/* Bytes of a page of expandable segments. */
uint64_t vs_alloc_page(const vs_alloc *alloc, bool is_small);

#endif
