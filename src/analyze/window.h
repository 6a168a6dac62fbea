/* A window of the trace, cut into pixel columns: which moments does each of them show?
 *
 *   by events   x is in events; moment m covers [m, m + 1). The whole is [-1, event_count)
 *   by time     x is microseconds since the trace's first time; a moment covers [its time, the next one's), by the clock
 *               of times.h. The whole is [0, last - first + 1)
 *   column c    covers [x0 + c * w, x0 + (c + 1) * w), w = (x1 - x0) / columns
 * A column shows the moments that begin in it, also those that cover nothing because the next begins at the same time,
 * and the one that reaches into it from the left. Outside the whole there are none. */
#ifndef VS_ANALYZE_WINDOW_H
#define VS_ANALYZE_WINDOW_H

#include "analyze/times.h"

/* x0 < x1, both finite; columns > 0. */
typedef struct vs_window {
  const vs_times *times; /* NULL: by events */
  uint32_t event_count;
  double x0, x1;
  uint32_t columns;
} vs_window;

/* The whole of a trace. `times` has times, or is NULL: by events. */
vs_window vs_window_whole(const vs_slice *slice, const vs_times *times, uint32_t columns);

/* The left edge of a column; of column `columns`: x1. */
double vs_window_edge(const vs_window *window, uint32_t column);

/* Where a moment begins. */
double vs_window_place(const vs_window *window, vs_moment moment);

/* The moments that a column shows, first .. last; false: none. Columns further right never show earlier ones. */
bool vs_window_column(const vs_window *window, uint32_t column, vs_moment *first, vs_moment *last);

/* The events that happen in a column: [first, end). */
void vs_window_events(const vs_window *window, uint32_t column, uint32_t *first, uint32_t *end);

#endif
