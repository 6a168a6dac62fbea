/* How much was in use over the trace: three curves, which are never mixed.
 *
 *   requested   bytes asked for, of a block from its alloc to its free_completed (to its free_requested where the trace
 *               has no free_completed at all). Equals PyTorch's requested_bytes
 *   held        the same bytes, from alloc to free_requested: what the program itself holds. (To free_completed where
 *               the trace has no free_requested at all)
 *   reserved    bytes got from the driver: segment_alloc and segment_map add, segment_free and segment_unmap take away
 *
 * Curves are rebuilt backwards from the end state, so they are right also where the trace begins late:
 *   baseline = end - what the trace adds + what it takes away   = the value before the first event
 * A trace that contradicts itself can bring a curve below zero. It is then shown below zero and never clamped. Values
 * saturate at the ends of int64_t. `allocated` (rounded sizes) has no curve: the trace does not know it. */
#ifndef VS_ANALYZE_CURVE_H
#define VS_ANALYZE_CURVE_H

#include "analyze/slice.h"

typedef enum vs_curve_kind { VS_CURVE_REQUESTED, VS_CURVE_HELD, VS_CURVE_RESERVED } vs_curve_kind;
enum { VS_CURVE_KINDS = 3 };
const char *vs_curve_kind_name(vs_curve_kind kind); /* "requested", "held", "reserved" */

typedef struct vs_curve {
  int64_t baseline;  /* before the first event */
  int64_t end;       /* after the last, = the end state */
  int64_t peak;      /* highest of baseline and the value after each event */
  vs_moment peak_at; /* the first moment it is that high */
  int64_t lowest;
  uint64_t below_zero;        /* moments, the start included, with a value below zero */
  vs_moment first_below_zero; /* meaningful where below_zero > 0 */
} vs_curve;

typedef struct vs_curves {
  vs_curve curve[VS_CURVE_KINDS];
  vs_closing closing;
} vs_curves;

/* Needs no memory. */
void vs_curves_measure(const vs_slice *slice, vs_curves *out);

/* The values after each event: column[kind][event]. */
typedef struct vs_curve_columns {
  uint32_t count; /* = slice->event_count */
  int64_t *column[VS_CURVE_KINDS];
} vs_curve_columns;

VS_MUST_CHECK vs_status vs_curve_columns_build(const vs_host *host, const vs_slice *slice,
                                               const vs_curves *curves, vs_curve_columns *out);
void vs_curve_columns_deinit(const vs_host *host, vs_curve_columns *columns);

/* The three values at one moment after another, without columns: moving costs a scan over the events between. */
typedef struct vs_curve_cursor {
  const vs_slice *slice;
  vs_closing closing;
  vs_moment moment;
  int64_t values[VS_CURVE_KINDS];
} vs_curve_cursor;

vs_curve_cursor vs_curve_cursor_at_start(const vs_slice *slice, const vs_curves *curves);
/* Forwards only; a moment before the cursor's, or behind the end, moves it no further than it can. */
void vs_curve_cursor_move(vs_curve_cursor *cursor, vs_moment moment);

/* ---- drawing: a curve in as many pieces as there are pixels -------------------------------------------- */

/* A curve over one piece of an axis: low and high include the value it came in with. */
typedef struct vs_curve_piece {
  int64_t low, high, last;
} vs_curve_piece;

/* Pieces of equal numbers of events of [first, first + count). `column` as above, `before` the value before `first`.
 * `pieces` is the caller's, `piece_count` > 0 of them. */
void vs_curve_by_event(const int64_t *column, uint32_t first, uint32_t count, int64_t before,
                       vs_curve_piece *pieces, uint32_t piece_count);

/* Pieces of equal spans of [from_us, to_us). `baseline` is the value before the first event. An event without a time,
 * or with one before its predecessor's, counts at its predecessor's. */
void vs_curve_by_time(const vs_slice *slice, const int64_t *column, int64_t baseline, int64_t from_us,
                      int64_t to_us, vs_curve_piece *pieces, uint32_t piece_count);

/* First and last time of a slice's events; false if no event has one. */
bool vs_slice_times(const vs_slice *slice, int64_t *first_us, int64_t *last_us);

#endif
