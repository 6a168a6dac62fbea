/* A block: a part of a segment, and what the allocator knows of it.
 *
 * The blocks of a segment tile it: for every block b with a successor, b.address + b.size = b.next->address and
 * b.next->prev = b. A block is in exactly one of these places, by its state:
 *
 *   state       place                                   reason
 *   ALLOCATED   the table of addresses                  the program holds it
 *   PENDING     the queues of streams, or deferred      freed by the program, used by other streams
 *   FREE        the bins of its lane                    cached
 *   UNMAPPED    the unmapped list of its lane           addresses without memory (only in expandable segments)
 *
 * Two FREE neighbours are merged at once, and so are two UNMAPPED ones. A block *is split* when it has a neighbour. The
 * members that an ordinary allocation and free touch are in the first 64 bytes. */
#ifndef VS_ALLOC_BLOCK_H
#define VS_ALLOC_BLOCK_H

#include "base/vec.h"
#include "event/event.h"

typedef enum vs_alloc_place {
  VS_PLACE_ALLOCATED,
  VS_PLACE_PENDING,
  VS_PLACE_FREE,
  VS_PLACE_UNMAPPED
} vs_alloc_place;

typedef struct vs_alloc_block vs_alloc_block;
typedef struct vs_alloc_lane vs_alloc_lane;
typedef struct vs_alloc_extent vs_alloc_extent;
typedef struct vs_alloc_use vs_alloc_use;

struct vs_alloc_block {
  uint64_t address, size;      /* multiples of 512 */
  vs_alloc_block *prev, *next; /* neighbours in the segment */
  vs_alloc_block *left,
      *right; /* FREE, UNMAPPED: see bins.h. ALLOCATED, spare: `right` is the next of its chain, list */
  vs_alloc_lane *lane; /* its pool and stream; constant */
  vs_context context;  /* of the allocation; none while cached */
  uint8_t place;       /* vs_alloc_place */
  bool is_in_tree;     /* FREE: its bin is a treap */
  uint16_t bin;        /* FREE: the index of its bin, see bins.h */
  /* the second 64 bytes */
  uint64_t requested; /* by the last allocation, before rounding */
  uint64_t born;      /* number of that allocation */
  uint64_t looked_up; /* FREE: the pool's `lookups` when it was freed; gives its age for garbage collection */
  vs_alloc_use *uses; /* streams that were recorded on it */
  vs_alloc_extent *extent;    /* the expandable segment it lies in, NULL for none */
  uint32_t registration;      /* number of its segment, or extent, in the order in which they were made */
  uint32_t event_count;       /* PENDING: events it waits for */
  vs_context segment_context; /* of the driver's allocation; only in the first block of a segment */
};

static inline bool vs_alloc_is_split(const vs_alloc_block *block) {
  return block->prev != NULL || block->next != NULL;
}

/* ---- the table of addresses: allocated blocks ------------------------------------------------------------ */

/* Chains by a hash of the address; a block's chain goes on through its `right`. Invariant: capacity is 0 or a power of two from 2 on; a
 * block is in the chain of its address. */
typedef struct vs_alloc_table {
  vs_alloc_block **chains;
  uint64_t capacity;
  uint32_t shift; /* 64 - log2(capacity) */
} vs_alloc_table;

/* Makes at least `count` chains, 2 or more. Before the first reserve only vs_alloc_table_next can be called. */
VS_MUST_CHECK vs_status vs_alloc_table_reserve(const vs_host *host, vs_alloc_table *table, uint64_t count);
void vs_alloc_table_deinit(const vs_host *host, vs_alloc_table *table);

/* The chain of an address. Neighbouring addresses differ by 512 bytes at least: the golden ratio spreads them. */
static inline vs_alloc_block **vs_alloc_table_chain(const vs_alloc_table *table, uint64_t address) {
  VS_ASSERT(table->capacity >= 2);
  return &table->chains[((address >> 9) * UINT64_C(0x9e3779b97f4a7c15)) >> table->shift];
}

static inline void vs_alloc_table_add(vs_alloc_table *table, vs_alloc_block *block) {
  vs_alloc_block **chain = vs_alloc_table_chain(table, block->address);
  block->right = *chain;
  *chain = block;
}

/* Where the block of an address is linked; NULL there if there is none. */
static inline vs_alloc_block **vs_alloc_table_link(const vs_alloc_table *table, uint64_t address) {
  vs_alloc_block **link = vs_alloc_table_chain(table, address);
  while (*link != NULL && (*link)->address != address) link = &(*link)->right;
  return link;
}

/* NULL if there is none. */
static inline vs_alloc_block *vs_alloc_table_find(const vs_alloc_table *table, uint64_t address) {
  return *vs_alloc_table_link(table, address);
}

/* Removes the block of an address from the table and returns it; NULL if there is none. */
static inline vs_alloc_block *vs_alloc_table_take(vs_alloc_table *table, uint64_t address) {
  vs_alloc_block **link = vs_alloc_table_link(table, address), *block = *link;
  if (block != NULL) *link = block->right;
  return block;
}

/* The blocks of the table one after the other: first after NULL, and NULL after the last. */
vs_alloc_block *vs_alloc_table_next(const vs_alloc_table *table, const vs_alloc_block *last);

/* Executes the invariant; NULL if it holds, else what does not, in words. */
const char *vs_alloc_table_check(const vs_alloc_table *table);

/* ---- all blocks -------------------------------------------------------------------------------------------- */

/* Blocks are parts of slabs. Unused ones are in a list, so that taking one cannot fail after a reserve. The table has a chain for
 * each block that exists, so adding one to it cannot fail either. */
enum { VS_ALLOC_SLAB = VS_HOSTILE ? 4 : 256 };

typedef struct vs_alloc_blocks {
  vs_alloc_block *spare; /* list through `right` */
  uint64_t spare_count;
  vs_alloc_table allocated;
  VS_VEC(vs_alloc_block *) slabs;
} vs_alloc_blocks;

/* Makes at least `count` spare blocks available. */
VS_MUST_CHECK vs_status vs_alloc_blocks_reserve_slow(const vs_host *host, vs_alloc_blocks *blocks,
                                                     uint64_t count);
void vs_alloc_blocks_deinit(const vs_host *host, vs_alloc_blocks *blocks);

VS_MUST_CHECK static inline vs_status vs_alloc_blocks_reserve(const vs_host *host, vs_alloc_blocks *blocks,
                                                              uint64_t count) {
  return blocks->spare_count >= count ? VS_OK : vs_alloc_blocks_reserve_slow(host, blocks, count);
}

static inline vs_alloc_block *vs_alloc_blocks_take(vs_alloc_blocks *blocks) {
  VS_ASSERT(blocks->spare_count > 0 && blocks->spare != NULL);
  vs_alloc_block *block = blocks->spare;
  blocks->spare = block->right;
  blocks->spare_count--;
  return block;
}

static inline void vs_alloc_blocks_give(vs_alloc_blocks *blocks, vs_alloc_block *block) {
  block->right = blocks->spare;
  blocks->spare = block;
  blocks->spare_count++;
}

#endif
