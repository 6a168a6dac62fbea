/* A table on the screen: cells are filled row by row, then the whole table is printed, because a column is as wide as its
 * widest cell.
 *
 *   vs_table table;
 *   vs_table_begin(&table, screen, 2, columns, count);
 *   vs_text_bytes(vs_table_cell(&table), bytes, screen->unit);
 *   vs_screen_safe(vs_table_cell(&table), name);
 *   vs_table_put(&table);                          prints it and frees everything */
#ifndef VS_TERMINAL_TABLE_H
#define VS_TERMINAL_TABLE_H

#include "faces/terminal/screen.h"

typedef enum vs_column_kind {
  VS_COLUMN_LEFT,
  VS_COLUMN_RIGHT,
  VS_COLUMN_BAR,  /* filled by vs_table_bar */
  VS_COLUMN_PATH, /* takes the room that is left; a text that is too long loses its beginning */
  VS_COLUMN_NAME, /* likewise, but loses its end */
  VS_COLUMN_LIST, /* the last one: a text that is too long goes on below, broken behind commas. It loses nothing */
} vs_column_kind;

enum { VS_TABLE_COLUMNS = 18, VS_TABLE_BAR = 10, VS_TABLE_NARROWEST = 20 };

typedef struct vs_column {
  const char *heading; /* may have several lines; NULL in the first column: the table has no headings */
  vs_column_kind kind;
} vs_column;

typedef struct vs_cell {
  size_t start, size; /* in text */
  size_t width;       /* columns */
  double share;       /* of a bar */
  bool has_wide;
  size_t wide_size, wide_width; /* of the wide text, which stands behind the other one */
} vs_cell;

typedef struct vs_table {
  vs_screen *screen;
  size_t indent;
  const vs_column *columns;
  size_t column_count;
  vs_text text;
  VS_VEC(vs_cell) cells;
  vs_status status;
} vs_table;

/* The columns that a heading takes, which may have several lines. */
size_t vs_table_heading_width(const char *heading);

void vs_table_begin(vs_table *table, vs_screen *screen, size_t indent, const vs_column *columns,
                    size_t count);

/* The next cell, for safe text. Valid until the cell after it. */
vs_text *vs_table_cell(vs_table *table);
void vs_table_bar(vs_table *table, double share);
/* A longer text for the same cell, which is in the column that takes the room that is left. The longer texts are shown if
 * all of them fit. */
vs_text *vs_table_wide(vs_table *table);

/* An earlier failure, which can only be a lack of memory, becomes one of the screen's text. */
void vs_table_put(vs_table *table);

#endif
