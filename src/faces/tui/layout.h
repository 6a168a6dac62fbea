/* Where each part of the screen goes. Pure arithmetic; a test checks every size for the guarantees below.
 *
 * Guarantees: areas lie inside the screen and do not overlap; when room gets short, footer, graph, sums and processes are
 * left out before the first row of the devices is; a part that is shown has the room that it needs to be useful. */
#ifndef VS_TUI_LAYOUT_H
#define VS_TUI_LAYOUT_H

#include "faces/tui/canvas.h"

enum {
  VS_LAYOUT_GRAPHS = 32,        /* at most */
  VS_LAYOUT_GRAPH_LEAST = 6,    /* rows of a graph: title, four of dots, time */
  VS_LAYOUT_GRAPH_COLUMNS = 40, /* from here on graphs stand side by side */
  VS_LAYOUT_PANEL = 30,         /* columns of the sums, where they stand beside a graph */
  VS_LAYOUT_UNBOUNDED = 0,
  VS_LAYOUT_ONE_LINE = 112, /* columns in which the sums of a device fit into one line */
};

/* What there is to show. */
typedef struct vs_layout_wish {
  uint32_t columns, rows; /* rows: VS_LAYOUT_UNBOUNDED for text of any length, which has no graph */
  uint32_t devices, processes, notes;
  bool has_graph, has_footer;
} vs_layout_wish;

typedef struct vs_layout {
  uint32_t columns, rows;
  vs_area header, devices, notes, sums, processes, footer; /* devices and processes with a row of headings */
  bool is_panel; /* sums stand beside the graph, one in each row; else in one or two lines */
  uint32_t graph_count;
  vs_area graphs[VS_LAYOUT_GRAPHS];
} vs_layout;

vs_layout vs_layout_of(const vs_layout_wish *wish);

/* ---- the columns of a table */

typedef struct vs_layout_column {
  const char *heading;  /* NULL: the column is left out */
  uint32_t least, most; /* width; more than `least` only where there is room */
  uint32_t rank;        /* the highest rank is left out first when room gets short; 0: never */
  bool is_right;
} vs_layout_column;

typedef struct vs_layout_slot {
  uint32_t x, columns; /* columns 0: not shown */
} vs_layout_slot;

enum { VS_LAYOUT_COLUMNS = 12 };

/* Which columns are shown in `room`, and where. Spare room goes to the columns from left to right, up to their `most`.
 * count <= VS_LAYOUT_COLUMNS. */
void vs_layout_fit(const vs_layout_column *columns, size_t count, uint32_t room,
                   vs_layout_slot slots[static VS_LAYOUT_COLUMNS]);

#endif
