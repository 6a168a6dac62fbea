/* A screen as data: a grid of characters with a style each. Everything that `top` shows is put here first,
 * so that what it looks like is decided, and tested, without a terminal.
 *
 * Invariant: cells.count = columns * rows. A character of two columns stands in the left one; the right
 * one holds 0. */
#ifndef VS_TUI_CANVAS_H
#define VS_TUI_CANVAS_H

#include "base/text.h"

typedef enum vs_ink {
  VS_INK_PLAIN,
  VS_INK_TITLE, /* bold */
  VS_INK_FAINT,
  VS_INK_LIGHT,    /* green: little in use */
  VS_INK_MODERATE, /* yellow */
  VS_INK_HEAVY,    /* red, bold: nearly full */
  VS_INK_ACCENT,   /* cyan: what is not a matter of much or little */
  VS_INK_TROUBLE,  /* red, reversed: something is wrong */
  VS_INK_BAR,      /* the first and the last line, headings: reversed */
  VS_INK_CHOSEN,   /* reversed: the row that the keys move */
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
  bool has_unicode; /* what is not ASCII may be put; else it is shown as '?' */
  VS_VEC(vs_canvas_cell) cells;
} vs_canvas;

/* Empty, of that size. Bounds: at most VS_CANVAS_MOST columns and rows, more is cut. */
enum { VS_CANVAS_MOST = 1000 };
VS_MUST_CHECK vs_status vs_canvas_reset(const vs_host *host, vs_canvas *canvas, uint32_t columns,
                                        uint32_t rows);
void vs_canvas_deinit(const vs_host *host, vs_canvas *canvas);

/* Outside of the canvas nothing happens. */
void vs_canvas_glyph(vs_canvas *canvas, uint32_t x, uint32_t y, vs_ink ink, uint32_t glyph);

/* `text` from outside, made safe for terminals, in at most `columns`; what is too long ends in an
 * ellipsis. Returns the columns that it takes. */
uint32_t vs_canvas_put(vs_canvas *canvas, uint32_t x, uint32_t y, uint32_t columns, vs_ink ink, vs_str text);
/* The same, ending where the columns end. */
void vs_canvas_put_right(vs_canvas *canvas, uint32_t x, uint32_t y, uint32_t columns, vs_ink ink,
                         vs_str text);

/* The columns that it would take, were there room. */
uint32_t vs_canvas_width(vs_str text);

/* The same over several lines, broken at spaces, within `area`; returns the rows that it takes, or would
 * take in an area of that width. `canvas` may be NULL: only counts. */
uint32_t vs_canvas_wrap(vs_canvas *canvas, vs_area area, vs_ink ink, vs_str text);

/* The ink of what stands there already, and of the blanks between: a whole row that is chosen, say. */
void vs_canvas_ink(vs_canvas *canvas, uint32_t x, uint32_t y, uint32_t columns, vs_ink ink);
void vs_canvas_clear(vs_canvas *canvas, vs_area area);

/* All of it as lines without blanks at their ends; with escapes for colours where `has_colour`. */
void vs_canvas_write(const vs_canvas *canvas, vs_text *text, bool has_colour);

#endif
