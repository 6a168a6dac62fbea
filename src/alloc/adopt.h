/* Segments of another allocator, adopted with the contents of their blocks.
 *
 * A replay begins where its recording does, which may be in the middle of the program. A new allocator adopts the
 * segments that vs_alloc_visit showed of the recorded one, and then behaves like it: the same blocks in the same
 * order of the cache, the same figures. A snapshot lacks three things: the ages of cached blocks (they start at 0),
 * the streams that a pending block waits for (adopt it as allocated, record streams on it, and free it), peaks and
 * totals (adopted blocks count as allocated just now; reset the statistics where that matters). */
#ifndef VS_ALLOC_ADOPT_H
#define VS_ALLOC_ADOPT_H

#include "alloc/alloc.h"

/* The handle that the device is asked to release for an adopted page. */
#define VS_ALLOC_ADOPTED_HANDLE UINT64_MAX

/* Members that are read: of `segment` address, size, stream, pool, is_small, is_expandable and context; of a block
 * address, size and state, and if it is allocated requested and context.
 *
 * An expandable segment is a mapped run of whole pages in reserved addresses, with no mapped page next to it. Runs of one
 * reserve have the same reserve_address and reserve_size, and are adopted in any order. Other segments leave both 0. */
typedef struct vs_alloc_adopted {
  vs_alloc_segment_info segment;
  const vs_alloc_block_info *blocks; /* they tile the segment, by rising address */
  uint64_t block_count;
  uint64_t reserve_address, reserve_size; /* whole pages, the run among them */
} vs_alloc_adopted;

/* Adopts a segment that the device gave before. A failure changes nothing. Makes no events.
 * Fails: VS_BAD_ARGUMENT (the blocks do not tile it, two free ones meet, one is pending, sizes are no
 *        multiples of 512, an allocation begins at the same address, the run does not fit into its
 *        reserve), VS_NOT_FOUND (its private pool has not been retained), VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_alloc_adopt_segment(vs_alloc *alloc, const vs_alloc_adopted *adopted);

/* Bytes that a request of `size` is rounded to. Its block can be larger, by a rest that is too small to be split off. */
uint64_t vs_alloc_rounded(const vs_alloc *alloc, uint64_t size);

/* Bytes of a page of an expandable segment. */
uint64_t vs_alloc_page(const vs_alloc *alloc, bool is_small);

#endif
