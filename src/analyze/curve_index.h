/* A running total at any zoom: one of the curves of curve.h, or the bytes of all spans alive.
 *
 * Of each VS_CURVE_BLOCK moments four numbers are kept; what lies inside a block is walked again from the events when
 * somebody asks. So a total costs a quarter of a byte an event, and any range of moments is answered exactly from the blocks
 * inside it and the two at its ends. */
#ifndef VS_ANALYZE_CURVE_INDEX_H
#define VS_ANALYZE_CURVE_INDEX_H

#include "analyze/curve.h"
#include "analyze/spans.h"

typedef struct vs_curve_extent {
  int64_t high, low, last;
  vs_moment high_at; /* the first moment of the highest value */
} vs_curve_extent;

/* Invariant: block b is of the moments with b * VS_CURVE_BLOCK <= done < (b + 1) * VS_CURVE_BLOCK (see spans.h). */
typedef struct vs_curve_index {
  const vs_slice *slice; /* of a curve */
  const vs_spans *spans; /* of spans; exactly one of the two is there */
  vs_curve_signs signs;
  uint32_t event_count;
  int64_t baseline; /* at the start */
  VS_VEC(vs_curve_extent) blocks;
} vs_curve_index;

/* All three curves of a slice in one scan. They refer to the slice, or to the spans. */
VS_MUST_CHECK vs_status vs_curve_index_of_curves(const vs_host *host, const vs_slice *slice,
                                                 const vs_curves *curves, vs_curve_index out[VS_CURVE_KINDS]);
VS_MUST_CHECK vs_status vs_curve_index_of_spans(const vs_host *host, const vs_spans *spans,
                                                vs_curve_index *out);
void vs_curve_index_deinit(const vs_host *host, vs_curve_index *curve);

/* Answers, with one block walked and kept: questions that go from left to right cost least. Needs no memory. */
typedef struct vs_curve_reader {
  const vs_curve_index *curve;
  uint32_t block; /* UINT32_MAX: none yet */
  int64_t values[VS_CURVE_BLOCK];
} vs_curve_reader;

void vs_curve_reader_init(vs_curve_reader *reader, const vs_curve_index *curve);

/* The value at a moment; one before the start or behind the end is taken as that. */
int64_t vs_curve_reader_at(vs_curve_reader *reader, vs_moment moment);

/* Over the moments first .. last, both included and taken likewise; first <= last. */
vs_curve_extent vs_curve_reader_between(vs_curve_reader *reader, vs_moment first, vs_moment last);

/* The largest growth from one moment to a later one; of equals the one that ends first, and of its beginnings the last.
 * bytes = 0 and both at the start where the curve never rises. */
typedef struct vs_rise {
  vs_moment from, to;
  uint64_t bytes;
} vs_rise;
vs_rise vs_curve_index_rise(const vs_curve_index *curve);

#endif
