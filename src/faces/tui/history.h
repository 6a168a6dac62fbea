/* How full each device was: what the graphs show. Kept by UUID, so that a device keeps its graph when the driver
 * is reloaded.
 *
 * A graph is read by time and not by sample: a time without samples is a gap, and a change of the interval
 * does not change the shape of what was before. */
#ifndef VS_TUI_HISTORY_H
#define VS_TUI_HISTORY_H

#include "faces/tui/sample.h"

enum { VS_TOP_HISTORY = 16384 }; /* points of a device: four hours and a half at one a second */

#define VS_TOP_GAP UINT64_MAX

typedef struct vs_top_point {
  uint64_t at_us;
  uint64_t used; /* bytes */
} vs_top_point;

/* A ring. Invariants: count <= VS_TOP_HISTORY; next < VS_TOP_HISTORY; points[(next - 1) % VS_TOP_HISTORY] is the newest;
 * times do not decrease. */
typedef struct vs_top_track {
  char uuid[96];
  vs_top_point *points;
  size_t count, next;
} vs_top_track;

typedef struct vs_top_history {
  VS_VEC(vs_top_track) tracks;
} vs_top_history;

void vs_top_history_deinit(const vs_host *host, vs_top_history *history);

/* NULL if the invariants above hold and no two tracks have one UUID; else which one does not hold. For tests and
 * assertions. */
const char *vs_top_history_check(const vs_top_history *history);

/* Adds the known figures of a sample. A device for which there is no memory has no graph; that is not reported, because
 * `top` is of use without it. */
void vs_top_history_add(const vs_host *host, vs_top_history *history, const vs_top_sample *sample);

/* Fills `values` (of `count`, the last is the newest) with the most bytes used in each of the spans of `span_us`, of which
 * the last contains `now_us`; VS_TOP_GAP where nothing is known. Spans begin at multiples of span_us, so that all columns of
 * a graph move together. A span without a point takes the last point before it, if that is at most three spans and
 * `hold_us` older. */
void vs_top_history_read(const vs_top_history *history, const char *uuid, uint64_t now_us, uint64_t span_us,
                         uint64_t hold_us, uint64_t *values, size_t count);

#endif
