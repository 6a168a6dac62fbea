/* Names of allocations as PyTorch's memory_viz page shows them: b<address in hex>_<version>.
 *
 * The version counts the completed frees of the address before the event that first mentions the allocation: its alloc,
 * else its free, else none (then all of them count). Where the trace has no free_completed, free_requested counts. */
#ifndef VS_ANALYZE_BLOCK_NAMES_H
#define VS_ANALYZE_BLOCK_NAMES_H

#include "analyze/lifetimes.h"

typedef struct vs_block_names {
  VS_VEC(uint32_t) versions; /* by row of lifetimes */
} vs_block_names;

VS_MUST_CHECK vs_status vs_block_names_build(const vs_host *host, const vs_lifetimes *lifetimes,
                                             vs_block_names *out);
void vs_block_names_deinit(const vs_host *host, vs_block_names *names);

/* The row of a name; VS_NO_ROW if there is none. A scan over the rows. */
uint32_t vs_block_names_find(const vs_block_names *names, const vs_lifetimes *lifetimes, uint64_t address,
                             uint32_t version);

#endif
