/* A running total at any zoom: one of the curves of curve.h, or the bytes of all spans alive.
 *
 * Four numbers are kept for each VS_CURVE_BLOCK moments; the values inside a block are computed again from the
 * events when they are needed. So a total costs a byte an event, and any range of moments is answered
 * exactly from the blocks inside it and the two at its ends. */
#ifndef VS_ANALYZE_CURVE_INDEX_H
#define VS_ANALYZE_CURVE_INDEX_H

#include "analyze/curve.h"
#include "analyze/spans.h"

typedef struct vs_curve_extent {
  int64_t high, low, last;
  vs_moment high_at; /* the first moment with the highest value */
} vs_curve_extent;

/* Invariant: blocks[b] is the extent of the moments with b * VS_CURVE_BLOCK <= done < (b + 1) * VS_CURVE_BLOCK (see
 * spans.h); exactly one of `slice` and `spans` is set. */
typedef struct vs_curve_index {
  const vs_slice *slice; /* where it is a curve; borrowed */
  const vs_spans *spans; /* where it is the bytes of spans; borrowed */
  vs_curve_signs signs;
  uint32_t event_count;
  int64_t baseline; /* at the start */
  VS_VEC(vs_curve_extent) blocks;
} vs_curve_index;

/* All three curves of a slice in one scan. */
VS_MUST_CHECK vs_status vs_curve_index_of_curves(const vs_host *host, const vs_slice *slice,
                                                 const vs_curves *curves, vs_curve_index out[VS_CURVE_KINDS]);
VS_MUST_CHECK vs_status vs_curve_index_of_spans(const vs_host *host, const vs_spans *spans,
                                                vs_curve_index *out);
void vs_curve_index_deinit(const vs_host *host, vs_curve_index *curve);

/* Answers questions, and keeps the values of one block: questions in rising order of moments cost least. Needs no
 * memory. */
typedef struct vs_curve_reader {
  const vs_curve_index *curve;
  uint32_t block; /* UINT32_MAX: none yet */
  int64_t values[VS_CURVE_BLOCK];
} vs_curve_reader;

void vs_curve_reader_init(vs_curve_reader *reader, const vs_curve_index *curve);

/* The value at a moment; a moment before the start or behind the end counts as the start or the end. */
int64_t vs_curve_reader_at(vs_curve_reader *reader, vs_moment moment);

/* The extent of the moments first .. last, both included, with the same rule; first <= last. */
vs_curve_extent vs_curve_reader_between(vs_curve_reader *reader, vs_moment first, vs_moment last);

/* The largest growth from one moment to a later one. Among equal ones it is the one that ends first, and among its
 * beginnings the last. Where the curve never rises, bytes is 0 and both moments are the start. */
typedef struct vs_rise {
  vs_moment from, to;
  uint64_t bytes;
} vs_rise;
vs_rise vs_curve_index_rise(const vs_curve_index *curve);

/* Executes the invariant, by computing every block again; NULL if it holds, else the sentence that does not. */
const char *vs_curve_index_check(const vs_curve_index *curve);

#endif
