/* Allocations or mappings, reduced to start, end and size, which is all that a stack of them needs. The functions below
 * do not distinguish between the two.
 *
 *   done     the number of events that have happened, = moment + 1: 0 is the start, event_count the end. So the moments
 *            of a trace are 0 .. event_count, without a sign
 *   span     is alive while from <= done < until
 * Spans are in stacking order, the lowest first: those from before the trace (from = 0), the longest of them first;
 * then by start; equal ones by row.
 *
 * The sizes of all spans together stay below 2^63, so that sums of any of them are exact. In a file whose sizes add
 * up to more (they cannot be true), each size is limited to 2^63 / count. */
#ifndef VS_ANALYZE_SPANS_H
#define VS_ANALYZE_SPANS_H

#include "analyze/lifetimes.h"
#include "analyze/mappings.h"

#define VS_STILL_ALIVE UINT32_MAX /* `until` of a span that is alive at the end */

enum {
  VS_SPAN_GROUP = VS_HOSTILE ? 4 : 64,  /* spans with one `latest` */
  VS_CURVE_BLOCK = VS_HOSTILE ? 8 : 32, /* moments with one summary */
};

/* Invariant: from, until, size and row have `count` entries; from rises (not strictly), from < until;
 * latest[g] = the largest until of spans [g * VS_SPAN_GROUP, ...); with B = VS_CURVE_BLOCK
 *   first_from[b]  = the first span with from >= b * B
 *   by_until       the spans with until <= event_count, in the order of until / B;
 *   first_until[b] = the first entry of by_until with until >= b * B */
typedef struct vs_spans {
  uint32_t event_count;
  uint32_t count;
  VS_VEC(uint32_t) from;
  VS_VEC(uint32_t) until;
  VS_VEC(uint64_t) size;
  VS_VEC(uint32_t) row; /* row of the lifetimes or of the mappings */
  VS_VEC(uint32_t) latest;
  VS_VEC(uint32_t) by_until;
  VS_VEC(uint32_t) first_from;  /* blocks + 1 entries */
  VS_VEC(uint32_t) first_until; /* blocks + 1 entries */
} vs_spans;

/* `kept`: a bit for each row, bit row % 64 of kept[row / 64]; NULL keeps all. It is not used after the call. */
VS_MUST_CHECK vs_status vs_spans_of_lifetimes(const vs_host *host, const vs_lifetimes *lifetimes,
                                              const uint64_t *kept, vs_spans *out);
VS_MUST_CHECK vs_status vs_spans_of_mappings(const vs_host *host, const vs_mappings *mappings,
                                             const uint64_t *kept, vs_spans *out);
void vs_spans_deinit(const vs_host *host, vs_spans *spans);

static inline bool vs_bit(const uint64_t *bits, uint32_t row) {
  return (bits[row / 64] >> row % 64 & 1) != 0;
}

/* The number of events that have happened at a moment; one before the start or behind the end counts as the start or
 * end. */
static inline uint32_t vs_done(uint32_t event_count, vs_moment moment) {
  return moment < 0 ? 0 : moment >= (vs_moment)event_count ? event_count : (uint32_t)(moment + 1);
}

/* The number of spans that are alive at some moment of [first, last], both numbers of events done. */
uint32_t vs_spans_between(const vs_spans *spans, uint32_t first, uint32_t last);

/* The first span at or above `span` that is alive at a moment; spans->count if there is none. So a loop goes up the
 * stack:
 *   uint32_t span = vs_spans_next(spans, done, 0);  while (span < spans->count) ... vs_spans_next(spans, done, span
 *                                                   + 1) */
uint32_t vs_spans_next(const vs_spans *spans, uint32_t done, uint32_t span);

/* The bytes below a row in the stack of a moment; false if it is not alive then, or not kept. Costs a walk over the
 * stack. */
bool vs_spans_offset(const vs_spans *spans, uint32_t row, vs_moment moment, uint64_t *offset);

/* The spans in [y0, y1) of the stack at a moment, bottom up. */
typedef struct vs_picked {
  uint32_t row;
  uint64_t size;
  uint64_t offset; /* bytes below it */
} vs_picked;

typedef struct vs_pick {
  uint64_t total;         /* bytes of the whole stack */
  uint32_t count;         /* spans that overlap [y0, y1) */
  uint64_t bytes;         /* their whole sizes */
  VS_VEC(vs_picked) rows; /* the lowest `top` of them; top = 0: all */
} vs_pick;

VS_MUST_CHECK vs_status vs_pick_build(const vs_host *host, const vs_spans *spans, vs_moment moment,
                                      uint64_t y0, uint64_t y1, uint32_t top, vs_pick *out);
void vs_pick_deinit(const vs_host *host, vs_pick *pick);

/* Executes the invariant; NULL if it holds, else the sentence that does not. */
const char *vs_spans_check(const vs_spans *spans);

#endif
