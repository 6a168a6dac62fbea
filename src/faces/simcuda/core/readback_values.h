/* The bytes of device memory that are known: a map from addresses to what copies and memsets wrote.
 *
 *   fresh  (VS_VALUES_ZEROS, VS_VALUES_TRUE)  bytes written since the last kernel, until a budget of 1 MiB is used up.
 *          Each write, and each extent that a copy within the device moves, costs VS_READBACK_PIECE; a write also costs
 *          its bytes. Bytes beyond the budget are unknown. A kernel makes all bytes unknown in O(1): it only increments a
 *          counter, and the next write or read drops the extents if the counter differs from theirs.
 *   kept   (VS_VALUES_KEEP)  all bytes written, in pages allocated on demand, up to a bound. Writes beyond it are lost,
 *          which vs_readback_lost reports.
 *
 * Unknown bytes read as zeros, except that a read of a single byte under VS_VALUES_TRUE gives 1. Addresses are
 * not checked against allocations. Not thread-safe. */
#ifndef VS_SIMCUDA_READBACK_VALUES_H
#define VS_SIMCUDA_READBACK_VALUES_H

#include "base/map.h"
#include "base/ordmap.h"
#include "faces/simcuda/core/configuration.h"

enum {
  VS_READBACK_BUDGET = 1 << 20,
  VS_READBACK_PIECE = 64,
  VS_READBACK_MOST_EXTENTS = 1 << 16, /* further bytes are unknown */
  VS_READBACK_PAGE = 64 << 10
};

/* A run of known bytes: a fill, which repeats `pattern`, or bytes of the store. */
typedef struct vs_extent {
  uint64_t size;
  uint32_t is_fill;
  uint32_t at; /* bytes: offset in the store; fill: index into the pattern of the first byte */
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
  uint64_t kernels; /* kernels counted so far */

  /* fresh: no two extents overlap; `extents` are by start address, their bytes in `store` never change */
  uint64_t kernels_then; /* the value of `kernels` when the extents were written */
  uint32_t used;         /* bytes used of the budget */
  vs_ordmap by_start;    /* from an extent's start to its index */
  VS_VEC(vs_extent) extents;
  VS_VEC(uint8_t) store;
  VS_VEC(vs_extent_at) moving; /* scratch of fresh_move: the extents found at the source */

  /* kept: from the page's number to its index */
  vs_map page_of;
  VS_VEC(vs_readback_page) pages;
  VS_VEC(uint32_t)
  spare_pages; /* unused entries of `pages`; reserved for all of them, so that freeing cannot fail */
  uint64_t most_pages;
  bool has_lost;
} vs_readback;

/* `most_bytes`: the bound on kept bytes. */
void vs_readback_init(vs_readback *readback, const vs_host *host, vs_values values, uint64_t most_bytes);
void vs_readback_deinit(vs_readback *readback);

/* Kernels ran: fresh bytes become unknown. */
static inline void vs_readback_kernel(vs_readback *readback) { readback->kernels++; }

void vs_readback_write(vs_readback *readback, uint64_t to, const void *bytes, uint64_t size);
/* Repeats the low element_size (1, 2, 4) bytes of `value` over `size` bytes. */
void vs_readback_fill(vs_readback *readback, uint64_t to, uint32_t value, uint32_t element_size,
                      uint64_t size);
/* Ranges may overlap, as with memmove. */
void vs_readback_move(vs_readback *readback, uint64_t to, uint64_t from, uint64_t size);
/* The memory was freed, or its bytes became unknown. */
void vs_readback_forget(vs_readback *readback, uint64_t address, uint64_t size);

void vs_readback_read(vs_readback *readback, uint64_t from, void *bytes, uint64_t size);
/* false: no byte of the range is known, so vs_readback_read_unknown gives the same bytes without the lock. */
bool vs_readback_is_known(vs_readback *readback, uint64_t address, uint64_t size);
void vs_readback_read_unknown(vs_values values, void *bytes, uint64_t size);

/* Whether a write was lost since the last call. */
static inline bool vs_readback_lost(vs_readback *readback) {
  const bool lost = readback->has_lost;
  readback->has_lost = false;
  return lost;
}

/* Checks the invariants of both stores. For tests. */
bool vs_readback_check(const vs_readback *readback);

#endif
