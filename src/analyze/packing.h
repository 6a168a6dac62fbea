/* What an allocator could reach that knew the whole trace in advance: the offline bound.
 *
 *   lower   the most bytes of rounded blocks that are alive at one moment: no allocator that rounds to 512 bytes reserves less
 *   plan    an address for each block so that no two that live together overlap: the highest end of these. One such plan is
 *           found, by placing the blocks in falling order of size (or of size times lifetime, whichever ends lower) at the
 *           lowest address that is free for their whole lifetime; a better plan may exist
 *
 * A block counts from its allocation until its free is completed. Blocks from before the trace count from its beginning.
 * The space is one range of addresses without segments, pools or streams. */
#ifndef VS_ANALYZE_PACKING_H
#define VS_ANALYZE_PACKING_H

#include "analyze/lifetimes.h"

/* A block in time and space: alive at the moments [from, to). */
typedef struct vs_buffer_life {
  uint64_t size;
  uint32_t from, to;
} vs_buffer_life;

/* With more blocks no plan is computed, because it would need too much time and memory. */
enum { VS_PACKING_MOST = 400000 };

typedef struct vs_packing {
  uint64_t lower; /* bytes */
  bool has_plan;
  uint64_t plan; /* bytes; >= lower; meaningful where has_plan */
} vs_packing;

/* Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_packing_of(const vs_host *host, const vs_lifetimes *lifetimes, vs_packing *out);

/* The same for any buffers, which may be reordered. `offsets` has room for one address for each, in their new order, or is
 * NULL. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_packing_build(const vs_host *host, vs_buffer_life *buffers, size_t count,
                                         uint64_t *offsets, vs_packing *out);

#endif
