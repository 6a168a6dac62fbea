/* A window of the trace, cut into pixel columns, and the moments that each column shows.
 *
 *   by events   x is in events; moment m covers [m, m + 1). The whole trace is [-1, event_count)
 *   by time     x is in microseconds since the trace's first time; a moment covers [its time, the next one's), by the
 *               clock of times.h. The whole trace is [0, last - first + 1)
 *   column c    covers [x0 + c * w, x0 + (c + 1) * w), w = (x1 - x0) / columns
 * A column shows the moments that begin in it, also those that cover nothing because the next one has the same time,
 * and the one that covers its left edge. Outside of the whole trace there are no moments. */
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

/* The whole of a trace; by events if `times` is NULL. A trace without any times cannot be shown by time. */
vs_window vs_window_whole(const vs_slice *slice, const vs_times *times, uint32_t columns);

/* The left edge of a column; of column `columns`: x1. */
double vs_window_edge(const vs_window *window, uint32_t column);

/* The x at which a moment begins. */
double vs_window_place(const vs_window *window, vs_moment moment);

/* The moments that a column shows, first .. last; false: none. Columns further right never show earlier ones. */
bool vs_window_column(const vs_window *window, uint32_t column, vs_moment *first, vs_moment *last);

/* The events that happen in a column: [first, end). */
void vs_window_events(const vs_window *window, uint32_t column, uint32_t *first, uint32_t *end);

#endif
