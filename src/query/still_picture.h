/* The figures of a still picture of the whole trace: what each line of the program had allocated in each column, with the
 * largest lines apart, and what was reserved.
 *
 *   column   the part of the trace that one column of the picture shows. Of its moments it has the first with the highest total, so
 *            no peak is lost
 *   band     an entry of `groups` (the groups by line of what was live at `moment`, largest first); the last one has all other lines
 *
 * The sums are those of vs_spans, requested bytes: so at `moment` each band has the bytes of its group. */
#ifndef VS_QUERY_STILL_PICTURE_H
#define VS_QUERY_STILL_PICTURE_H

#include "query/picture_query.h"
#include "query/selection.h"

enum { VS_STILL_COLUMNS = 384, VS_STILL_LINES = 8, VS_STILL_BANDS = VS_STILL_LINES + 1 };

/* Invariant: groups has at least `lines` entries; colour[band] is different for each of the first `lines` bands and below VS_LEGEND,
 * and the one that the page has for that line where it has one; highest[band] is the highest of bytes[band]. */
typedef struct vs_still_picture {
  vs_selection selection; /* alive at `moment`, and kept by the filter */
  vs_groups groups;
  vs_moment moment;
  uint32_t column; /* that shows `moment` */
  uint32_t lines;  /* bands with a line of their own, at most VS_STILL_LINES */
  uint32_t colour[VS_STILL_LINES];
  uint32_t stacked
      [VS_STILL_LINES]; /* these bands from the bottom up: what has most bytes for the longest time is lowest, as in the legend of
                                       the page; above them all are the other lines */
  vs_window window;                                     /* of VS_STILL_COLUMNS columns */
  uint64_t bytes[VS_STILL_BANDS][VS_STILL_COLUMNS + 1]; /* by band and column; the last entry is scratch */
  uint64_t highest[VS_STILL_BANDS];
  uint64_t most;                      /* the highest of all columns */
  bool has_reserved;                  /* the file has segments, and there is no filter */
  int64_t reserved[VS_STILL_COLUMNS]; /* the highest in each column; meaningful where has_reserved */
} vs_still_picture;

/* From "axis", "at", "filter" and "device" of call->request. By time only where the trace has times. On failure vs_still_picture_deinit
 * frees what was built. `out` is zero. */
VS_MUST_CHECK vs_status vs_still_picture_build(vs_call *call, vs_still_picture *out);
void vs_still_picture_deinit(const vs_call *call, vs_still_picture *picture);

/* The column that shows a moment. */
uint32_t vs_still_picture_column(const vs_still_picture *picture, vs_moment moment);

#endif
