/* What is known of the bytes in device memory: a map from addresses to what copies and memsets wrote.
 *
 *   fresh  (VS_VALUES_ZEROS, VS_VALUES_TRUE)  what was written since the last kernel, until a budget of 1 MiB
 *          is used up: each write and each piece that a copy within the device moves costs VS_CONTENTS_PIECE,
 *          a write its bytes too. What does not fit is not known. A kernel makes everything unknown, in O(1):
 *          it only counts, and the next write or read looks whether the count is still that of what is kept.
 *   kept   (VS_VALUES_KEEP)  all that was written, in pages made as needed, until a bound. Beyond it writes
 *          are lost, which vs_contents_lost tells.
 *
 * What is not known reads as zeros, but for a single byte under VS_VALUES_TRUE, which reads as 1.
 * Addresses mean nothing here; nothing is checked. Not safe for threads. */
#ifndef VS_SIMCUDA_CONTENTS_H
#define VS_SIMCUDA_CONTENTS_H

#include "base/map.h"
#include "base/ordmap.h"
#include "faces/simcuda/core/configuration.h"

enum {
  VS_CONTENTS_BUDGET = 1 << 20,
  VS_CONTENTS_PIECE = 64,
  VS_CONTENTS_MOST_EXTENTS = 1 << 16, /* what would need more is not known */
  VS_CONTENTS_PAGE = 64 << 10
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

typedef struct vs_contents_page {
  uint64_t number; /* address / VS_CONTENTS_PAGE */
  uint8_t *bytes;  /* NULL: a spare entry */
} vs_contents_page;

typedef struct vs_contents {
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
  VS_VEC(vs_contents_page) pages;
  VS_VEC(uint32_t) spare_pages; /* room for as many as there are pages */
  uint64_t most_pages;
  bool has_lost;
} vs_contents;

/* `most_bytes`: the bound of what is kept. */
void vs_contents_init(vs_contents *contents, const vs_host *host, vs_values values, uint64_t most_bytes);
void vs_contents_deinit(vs_contents *contents);

/* Kernels ran. */
static inline void vs_contents_kernel(vs_contents *contents) { contents->kernels++; }

void vs_contents_write(vs_contents *contents, uint64_t to, const void *bytes, uint64_t size);
/* Repeats the low element_size (1, 2, 4) bytes of `value`. */
void vs_contents_fill(vs_contents *contents, uint64_t to, uint32_t value, uint32_t element_size,
                      uint64_t size);
/* Ranges that overlap come out as if all had been read first. */
void vs_contents_move(vs_contents *contents, uint64_t to, uint64_t from, uint64_t size);
/* The memory is gone, or nobody knows what is in it. */
void vs_contents_forget(vs_contents *contents, uint64_t address, uint64_t size);

void vs_contents_read(vs_contents *contents, uint64_t from, void *bytes, uint64_t size);
/* false: nothing at all is known of the range, so that vs_contents_read_unknown is enough, which needs no
 * lock. */
bool vs_contents_is_known(vs_contents *contents, uint64_t address, uint64_t size);
void vs_contents_read_unknown(vs_values values, void *bytes, uint64_t size);

/* Whether a write was lost since this was asked last. */
static inline bool vs_contents_lost(vs_contents *contents) {
  const bool lost = contents->has_lost;
  contents->has_lost = false;
  return lost;
}

/* Executes the invariant. For tests. */
bool vs_contents_check(const vs_contents *contents);

#endif
