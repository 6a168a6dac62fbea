/* An off-screen screen: a grid of characters with a style each. Everything that `top` shows is put here first,
 * so tests can compare the picture without a terminal.
 *
 * Invariant: cells.count = columns * rows. A character of two columns stands in the left cell; the right
 * cell holds 0. */
#ifndef VS_TUI_CANVAS_H
#define VS_TUI_CANVAS_H

#include "base/text.h"

typedef enum vs_ink {
  VS_INK_PLAIN,
  VS_INK_TITLE, /* bold */
  VS_INK_FAINT,
  VS_INK_LIGHT,    /* green: little is used */
  VS_INK_MODERATE, /* yellow */
  VS_INK_HEAVY,    /* red, bold: nearly full */
  VS_INK_ACCENT,   /* cyan: marks that do not stand for an amount */
  VS_INK_TROUBLE,  /* red, reversed: something is wrong */
  VS_INK_BAR,      /* reversed: the first and the last line, headings */
  VS_INK_CHOSEN,   /* reversed: the row that the arrow keys chose */
  VS_INK_COUNT
} vs_ink;

typedef struct vs_canvas_cell {
  uint32_t glyph;
  uint8_t ink; /* vs_ink */
} vs_canvas_cell;

/* A part of the screen; nothing is shown where rows or columns is 0. */
typedef struct vs_area {
  uint32_t x, y, columns, rows;
} vs_area;

typedef struct vs_canvas {
  uint32_t columns, rows;
  bool has_unicode; /* false: a character that is not ASCII is shown as '?' */
  VS_VEC(vs_canvas_cell) cells;
} vs_canvas;

enum { VS_CANVAS_MOST = 1000 };
/* Makes the canvas blank and of that size. Bounds: at most VS_CANVAS_MOST columns and rows; a larger size is cut. */
VS_MUST_CHECK vs_status vs_canvas_reset(const vs_host *host, vs_canvas *canvas, uint32_t columns,
                                        uint32_t rows);
void vs_canvas_deinit(const vs_host *host, vs_canvas *canvas);

/* NULL if the invariants above hold and each ink is one; else which one does not. For tests and assertions. */
const char *vs_canvas_check(const vs_canvas *canvas);

/* Ignored outside of the canvas, as are the parts of texts below that lie outside. */
void vs_canvas_glyph(vs_canvas *canvas, uint32_t x, uint32_t y, vs_ink ink, uint32_t glyph);

/* Puts untrusted text: it is made safe for terminals, and ends in an ellipsis if it is longer than `columns`. Returns the
 * columns that it takes. */
uint32_t vs_canvas_put(vs_canvas *canvas, uint32_t x, uint32_t y, uint32_t columns, vs_ink ink, vs_str text);
/* The same, aligned to the right. */
void vs_canvas_put_right(vs_canvas *canvas, uint32_t x, uint32_t y, uint32_t columns, vs_ink ink,
                         vs_str text);

/* The columns that the whole text takes. */
uint32_t vs_canvas_width(vs_str text);

/* Puts text over several lines, broken at spaces, within `area`. Returns the rows that the whole text takes at that width,
 * which may be more than `area` has. `canvas` NULL: only counts. */
uint32_t vs_canvas_wrap(vs_canvas *canvas, vs_area area, vs_ink ink, vs_str text);

/* Changes the ink of cells and leaves their characters, such as for a whole row that is chosen. */
void vs_canvas_ink(vs_canvas *canvas, uint32_t x, uint32_t y, uint32_t columns, vs_ink ink);
void vs_canvas_clear(vs_canvas *canvas, vs_area area);

/* Appends the canvas as lines without blanks at their ends; with escape sequences if `has_colour`. */
void vs_canvas_write(const vs_canvas *canvas, vs_text *text, bool has_colour);

#endif
