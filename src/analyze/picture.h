/* A stack of live spans over time, drawn in pixels at any zoom.
 *
 *   sample   a pixel column shows one moment: of its moments (window.h) the first with the highest total. Neighbouring
 *            columns that show the same moment are one sample. A column without moments shows VS_NO_MOMENT
 *   pixel    pixel row p, counted from the bottom, covers the bytes [y0 + p * h, y0 + (p + 1) * h), h = (y1 - y0) /
 *            rows, and shows the span that contains its centre, rounded down to a byte. Above the stack it shows none
 *   run      consecutive pixels of one span; or of spans that are smaller than a pixel and have the same group and the
 *            same mark: then it is SEVERAL, and its row is that of the lowest pixel
 * So the number of filled pixels is the true height, rounded, and a span that is at least a pixel high is always shown.
 *
 * Most of a stack does not change from one sample to the next, so a sample has runs only above the pixels that it
 * shares with the sample before (`sample_kept`); these are a tenth of all runs. */
#ifndef VS_ANALYZE_PICTURE_H
#define VS_ANALYZE_PICTURE_H

#include "analyze/curve_index.h"
#include "analyze/window.h"

#define VS_NO_MOMENT (-2)
#define VS_FIT       UINT64_MAX /* as y1: the highest total in the window */
enum { VS_RUN_SEVERAL = 1, VS_RUN_MARKED = 2, VS_MOST_PIXEL_ROWS = 4096, VS_OWN_GROUPS = 4096 };

typedef struct vs_look {
  vs_window window;
  uint64_t y0, y1;        /* bytes; at least one byte is shown */
  uint32_t rows;          /* pixels, up to VS_MOST_PIXEL_ROWS; 0: no runs */
  const uint16_t *groups; /* by row of the table of the spans; NULL: row % VS_OWN_GROUPS */
  const uint64_t *marked; /* a bit for each row, as in spans.h; NULL: nothing is marked */
} vs_look;

/* Invariant: sample_column has one entry more than there are samples, the last is the number of columns; sample_run
 * likewise, the last is the number of runs. The runs of a sample go from the bottom up: the first begins at its
 * sample_kept, each other one where the one below ends. All columns named run_ are equally long. A run of the sample
 * before ends at sample_kept, which is 0 for the first sample and after VS_NO_MOMENT. */
typedef struct vs_picture {
  uint64_t y0, y1;  /* as used */
  uint64_t highest; /* bytes: the highest total in the window; 0 at VS_NO_MOMENT if it is empty */
  vs_moment highest_at;
  uint32_t count;        /* spans alive at some time in the window */
  uint32_t marked_count; /* of these, the marked ones */
  uint64_t marked_bytes; /* alive at highest_at */
  VS_VEC(uint32_t) sample_column;
  VS_VEC(int32_t) sample_event; /* moments */
  VS_VEC(double) sample_bytes;  /* totals */
  VS_VEC(uint16_t) sample_kept; /* pixel rows at the bottom that are the same as in the sample before */
  VS_VEC(uint32_t) sample_run;
  VS_VEC(uint16_t) run_end; /* pixel row, exclusive */
  VS_VEC(uint32_t) run_row;
  VS_VEC(uint16_t) run_group;
  VS_VEC(uint8_t) run_flags; /* VS_RUN_... */
} vs_picture;

/* `curve` is the index of `spans`. */
VS_MUST_CHECK vs_status vs_picture_build(const vs_host *host, const vs_spans *spans,
                                         const vs_curve_index *curve, const vs_look *look, vs_picture *out);
void vs_picture_deinit(const vs_host *host, vs_picture *picture);

#endif
