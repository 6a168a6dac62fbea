/* How full each device was: what the graphs show. Kept by UUID, so that it goes on when the driver was
 * lost and found.
 *
 * A graph is asked for by time and not by sample: where nothing was seen for a while there is a gap, and a
 * change of the interval does not bend what was before. */
#ifndef VS_TUI_HISTORY_H
#define VS_TUI_HISTORY_H

#include "faces/tui/sample.h"

enum { VS_TOP_HISTORY = 16384 }; /* points of a device: four hours and a half at one a second */

#define VS_TOP_GAP UINT64_MAX

typedef struct vs_top_point {
  uint64_t at_us;
  uint64_t used; /* bytes */
} vs_top_point;

/* A ring. Invariant: count <= VS_TOP_HISTORY, points[(next - 1) % VS_TOP_HISTORY] is the newest, times do
 * not fall. */
typedef struct vs_top_track {
  char uuid[96];
  vs_top_point *points;
  size_t count, next;
} vs_top_track;

typedef struct vs_top_history {
  VS_VEC(vs_top_track) tracks;
} vs_top_history;

void vs_top_history_deinit(const vs_host *host, vs_top_history *history);

/* Adds what is known in a sample. Without memory for it a device has no graph, which is no failure worth
 * an end. */
void vs_top_history_add(const vs_host *host, vs_top_history *history, const vs_top_sample *sample);

/* Fills `values` (of `count`, the last is the newest) with the most that was in use in each of the spans
 * of `span_us` that end with the one that `now_us` is in; VS_TOP_GAP where nothing is known. Spans begin
 * at multiples of span_us, so that a graph moves as a whole. A point stands for the time behind it, at
 * most three spans and `hold_us`, if nothing else is known of that. */
void vs_top_history_read(const vs_top_history *history, const char *uuid, uint64_t now_us, uint64_t span_us,
                         uint64_t hold_us, uint64_t *values, size_t count);

#endif
