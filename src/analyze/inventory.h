/* What was live at a moment, without addresses and times: how many allocations of each size each stack had. Two runs of a program
 * that makes the same requests have equal inventories. */
#ifndef VS_ANALYZE_INVENTORY_H
#define VS_ANALYZE_INVENTORY_H

#include "analyze/groups.h"

typedef struct vs_inventory_size {
  uint64_t size;  /* requested bytes of each */
  uint64_t count; /* allocations, at least 1 */
} vs_inventory_size;

/* A group by VS_BY_STACK, and its sizes. */
typedef struct vs_inventory_stack {
  vs_group group;
  uint32_t first, count; /* sizes[first, first + count), in falling order, each once */
} vs_inventory_stack;

/* Invariant: the stacks are in the order of groups, and tile `sizes`; the counts of a stack's sizes add up to group.count, and
 * size * count to group.bytes where that did not saturate. */
typedef struct vs_inventory {
  VS_VEC(vs_inventory_stack) stacks;
  VS_VEC(vs_inventory_size) sizes;
  uint64_t bytes, count; /* of all */
} vs_inventory;

/* `rows` are rows of `lifetimes`, each counted once. Fails: VS_NO_MEMORY, VS_LIMIT. On failure there is nothing to deinit. */
VS_MUST_CHECK vs_status vs_inventory_build(const vs_host *host, const vs_lifetimes *lifetimes,
                                           const uint32_t *rows, size_t count, vs_frames *frames,
                                           vs_inventory *out);
void vs_inventory_deinit(const vs_host *host, vs_inventory *inventory);

/* Executes the invariant; NULL if it holds, else the sentence that does not. */
const char *vs_inventory_check(const vs_inventory *inventory);

#endif
