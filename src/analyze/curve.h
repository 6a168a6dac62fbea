/* Memory over the trace, as three curves that are never mixed.
 *
 *   requested   requested bytes of a block from its alloc to its free_completed (to its free_requested where the trace
 *               has no free_completed at all). Equals PyTorch's requested_bytes
 *   held        the same bytes from alloc to free_requested: what the program has not freed. (To free_completed where
 *               the trace has no free_requested at all)
 *   reserved    bytes obtained from the driver: segment_alloc and segment_map add, segment_free and segment_unmap
 *               subtract
 *
 * Curves are rebuilt backwards from the end state, so they are also right where the trace begins late:
 *   baseline = end - what the trace adds + what it subtracts   = the value before the first event
 * A trace that contradicts itself can bring a curve below zero. It is then shown below zero and never clamped. Values
 * saturate at the ends of int64_t. `allocated` (rounded sizes) has no curve, because the trace has no rounded sizes. */
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

/* The effect of each kind of event on a curve: value += signs.of[kind] * size, saturating. */
typedef struct vs_curve_signs {
  int8_t of[VS_EVENT_KIND_COUNT + 1];
} vs_curve_signs;
vs_curve_signs vs_curve_signs_of(vs_curve_kind kind, vs_closing closing);

/* The value of one curve at a moment. Scans the events that may change it: for reserved, the few of segments. */
int64_t vs_curve_at(const vs_slice *slice, const vs_curves *curves, vs_curve_kind kind, vs_moment moment);

/* By kind of event: the change of each curve, as -1, 0 or 1 times the event's size. */
typedef struct vs_curve_effects {
  int64_t sign[VS_EVENT_KIND_COUNT + 1][VS_CURVE_KINDS];
} vs_curve_effects;

/* The three values at successive moments, forwards only: moving scans the events between. curve_index.h answers for any
 * moment. */
typedef struct vs_curve_cursor {
  const vs_slice *slice;
  vs_curve_effects effects;
  vs_moment moment;
  int64_t values[VS_CURVE_KINDS];
} vs_curve_cursor;

vs_curve_cursor vs_curve_cursor_at_start(const vs_slice *slice, const vs_curves *curves);
/* A moment before the cursor's does not move it; one behind the end moves it to the end. */
void vs_curve_cursor_move(vs_curve_cursor *cursor, vs_moment moment);

/* The highest value of each curve at the moments first .. last, and the first of them that has it. */
typedef struct vs_curve_peaks {
  int64_t peak[VS_CURVE_KINDS];
  vs_moment at[VS_CURVE_KINDS];
} vs_curve_peaks;

/* The same from the moment of the cursor on, which is at most `first`; moves it to `last`. */
vs_curve_peaks vs_curve_cursor_peaks(vs_curve_cursor *cursor, vs_moment first, vs_moment last);

/* VS_AT_START <= first <= last <= the end. Scans the trace up to `last`. */
vs_curve_peaks vs_curves_peaks_between(const vs_slice *slice, const vs_curves *curves, vs_moment first,
                                       vs_moment last);

#endif
