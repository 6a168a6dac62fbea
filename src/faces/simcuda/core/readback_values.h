/* What is known of the bytes in device memory: a map from addresses to what copies and memsets wrote.
 *
 *   fresh  (VS_VALUES_ZEROS, VS_VALUES_TRUE)  what was written since the last kernel, until a budget of 1 MiB
 *          is used up: each write and each piece that a copy within the device moves costs VS_READBACK_PIECE,
 *          a write its bytes too. What does not fit is not known. A kernel makes everything unknown, in O(1):
 *          it only counts, and the next write or read looks whether the count is still that of what is kept.
 *   kept   (VS_VALUES_KEEP)  all that was written, in pages made as needed, until a bound. Beyond it writes
 *          are lost, which vs_readback_lost tells.
 *
 * What is not known reads as zeros, but for a single byte under VS_VALUES_TRUE, which reads as 1.
 * Addresses mean nothing here; nothing is checked. Not safe for threads. */
#ifndef VS_SIMCUDA_READBACK_VALUES_H
#define VS_SIMCUDA_READBACK_VALUES_H

#include "base/map.h"
#include "base/ordmap.h"
#include "faces/simcuda/core/configuration.h"

enum {
  VS_READBACK_BUDGET = 1 << 20,
  VS_READBACK_PIECE = 64,
  VS_READBACK_MOST_EXTENTS = 1 << 16, /* what would need more is not known */
  VS_READBACK_PAGE = 64 << 10
};

/* A run of known bytes. Those of a fill repeat `pattern`, the others lie in the store. */
typedef struct vs_extent {
  uint64_t size;
  uint32_t is_fill;
  uint32_t at; /* bytes: where in the store; fill: which byte of the pattern comes first */
  uint8_t pattern[4];
} vs_extent;

typedef struct vs_extent_at {
  uint64_t start;
  vs_extent extent;
} vs_extent_at;

typedef struct vs_readback_page {
  uint64_t number; /* address / VS_READBACK_PAGE */
  uint8_t *bytes;  /* NULL: a spare entry */
} vs_readback_page;

typedef struct vs_readback {
  const vs_host *host;
  vs_values values;
  uint64_t kernels; /* so far */

  /* fresh: no two extents overlap; `extents` are by start address, their bytes in `store` never change */
  uint64_t kernels_then; /* what is here was written after so many kernels */
  uint32_t used;         /* of the budget */
  vs_ordmap by_start;    /* from start to index */
  VS_VEC(vs_extent) extents;
  VS_VEC(uint8_t) store;
  VS_VEC(vs_extent_at) moving; /* what a move found, while it works */

  /* kept: from the page's number to its index */
  vs_map page_of;
  VS_VEC(vs_readback_page) pages;
  VS_VEC(uint32_t) spare_pages; /* room for as many as there are pages */
  uint64_t most_pages;
  bool has_lost;
} vs_readback;

/* `most_bytes`: the bound of what is kept. */
void vs_readback_init(vs_readback *readback, const vs_host *host, vs_values values, uint64_t most_bytes);
void vs_readback_deinit(vs_readback *readback);

/* Kernels ran. */
static inline void vs_readback_kernel(vs_readback *readback) { readback->kernels++; }

void vs_readback_write(vs_readback *readback, uint64_t to, const void *bytes, uint64_t size);
/* Repeats the low element_size (1, 2, 4) bytes of `value`. */
void vs_readback_fill(vs_readback *readback, uint64_t to, uint32_t value, uint32_t element_size,
                      uint64_t size);
/* Ranges that overlap come out as if all had been read first. */
void vs_readback_move(vs_readback *readback, uint64_t to, uint64_t from, uint64_t size);
/* The memory is gone, or nobody knows what is in it. */
void vs_readback_forget(vs_readback *readback, uint64_t address, uint64_t size);

void vs_readback_read(vs_readback *readback, uint64_t from, void *bytes, uint64_t size);
/* false: nothing at all is known of the range, so that vs_readback_read_unknown is enough, which needs no
 * lock. */
bool vs_readback_is_known(vs_readback *readback, uint64_t address, uint64_t size);
void vs_readback_read_unknown(vs_values values, void *bytes, uint64_t size);

/* Whether a write was lost since this was asked last. */
static inline bool vs_readback_lost(vs_readback *readback) {
  const bool lost = readback->has_lost;
  readback->has_lost = false;
  return lost;
}

/* Executes the invariant. For tests. */
bool vs_readback_check(const vs_readback *readback);

#endif
