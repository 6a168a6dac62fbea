/* Every allocation of the trace and of the end state as one row: when it began, when it ended, how large it is.
 *
 * Rows are in the order in which the trace first mentions them; blocks that are only in the end state come last. An
 * allocation is IMPLIED if its alloc is not in the trace (start = VS_NO_EVENT): the trace frees it, or it is alive at
 * the end. It then counts as alive since before the first event.
 *
 * Matching is by address: a free ends the allocation that is open at its address. Where the trace contradicts itself:
 *   alloc at an address with an open allocation     ends that one (`end` is then the second alloc)
 *   second free_requested                           is ignored
 *   free of an address without an open allocation   adds an implied row
 * `doubts` counts these. */
#ifndef VS_ANALYZE_LIFETIMES_H
#define VS_ANALYZE_LIFETIMES_H

#include "analyze/slice.h"

typedef struct vs_lifetime {
  uint64_t address;
  uint64_t size;           /* bytes requested: of its alloc, else its first free, else the end block */
  uint32_t start;          /* event of its alloc; VS_NO_EVENT: before the trace */
  uint32_t free_requested; /* event; VS_NO_EVENT if not in the trace */
  uint32_t end;            /* event that ends it (free_completed, see vs_closing); VS_NO_EVENT: none does */
  uint32_t block;          /* row of snapshot->blocks if it is active in the end state, else VS_NO_ROW */
} vs_lifetime;

/* How often something occurs, and the first event at which it does. */
typedef struct vs_tally {
  uint64_t count;
  int64_t first_event; /* -1 where count is 0 or no event shows it */
} vs_tally;

static inline void vs_tally_note(vs_tally *tally, uint32_t event) {
  if (tally->count++ == 0) tally->first_event = event;
}

typedef struct vs_lifetime_doubts {
  vs_tally free_without_alloc; /* blocks */
  vs_tally live_without_alloc; /* active end blocks */
  vs_tally alloc_not_at_end;   /* blocks allocated, not freed, not in the end state */
  vs_tally double_free, double_alloc;
  vs_tally size_mismatch; /* blocks freed with another size than they were allocated with */
} vs_lifetime_doubts;

/* Invariant: of the rows with a start, starts rise; start < free_requested <= end where they are events;
 * size and address never change after an alloc; rows[i].address = addresses[ranks[i]]; addresses rise. */
typedef struct vs_lifetimes {
  const vs_slice *slice;
  vs_closing closing;
  /* Whether a free has the stack of its allocation, as PyTorch records it unless context="all". It is false as soon
   * as one allocation has different stacks at its alloc and its free, or in the account of another program: then stacks
   * of frees are those of the freeing code. */
  bool frees_tell_alloc;
  VS_VEC(vs_lifetime) rows;
  /* The rank of each row's address: an index of `addresses`. Neighbours by rank are neighbours in memory (rankset.h). */
  VS_VEC(uint32_t) ranks;        /* by row */
  VS_VEC(uint64_t) addresses;    /* each once, rising */
  VS_VEC(uint32_t) row_of_event; /* the row that an alloc begins or a free is of; else VS_NO_ROW */
  uint32_t mentioned;            /* rows that the trace mentions; later ones are only in the end state */
  /* Blocks that are older than the trace: rows without a start, and pending end blocks without a row (where a free
   * counts at its request, theirs was before the trace). */
  uint32_t older;
  vs_lifetime_doubts doubts;
} vs_lifetimes;

VS_MUST_CHECK vs_status vs_lifetimes_build(const vs_host *host, const vs_slice *slice, vs_lifetimes *out);
void vs_lifetimes_deinit(const vs_host *host, vs_lifetimes *lifetimes);

/* Whether the row is alive at a moment. A row that is neither freed nor in the end state is alive until the end. */
static inline bool vs_lifetime_is_live(const vs_lifetime *row, vs_moment moment) {
  return (row->start == VS_NO_EVENT || (vs_moment)row->start <= moment) &&
         (row->end == VS_NO_EVENT || (vs_moment)row->end > moment);
}

/* Whether a row that is alive at that moment is a pending free: freed by the program, but not reusable yet. */
bool vs_lifetime_is_pending(const vs_lifetimes *lifetimes, const vs_lifetime *row, vs_moment moment);

/* The stack of its alloc, else of its end block, else, where frees_tell_alloc, of the event that ended it.
 * VS_LIST_NONE if none was recorded. */
uint32_t vs_lifetime_stack(const vs_lifetimes *lifetimes, const vs_lifetime *row);
bool vs_lifetime_knows_alloc(const vs_lifetime *row);

/* Its alloc, else its free; VS_NO_EVENT if the trace does not mention it. */
uint32_t vs_lifetime_event(const vs_lifetime *row);

/* Index into snapshot->streams. */
uint32_t vs_lifetime_stream(const vs_lifetimes *lifetimes, const vs_lifetime *row);

/* 0 (unknown), or 1 + index into snapshot->pools: as recorded, else that of the end segment at its address. */
uint32_t vs_lifetime_pool(const vs_lifetimes *lifetimes, const vs_segment_index *segments,
                          const vs_lifetime *row);

/* Executes the invariant; NULL if it holds, else the sentence that does not. */
const char *vs_lifetimes_check(const vs_lifetimes *lifetimes);

#endif
