/* Where each part of the screen goes. Pure arithmetic: tests hold it against its promises for every size
 * there is.
 *
 * Promises: areas lie inside the screen and do not overlap; the devices' first row is the last thing that
 * goes when room gets short, after footer, graph, sums, processes; a part that is there has room for what
 * makes it useful. */
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
  uint32_t columns,
      rows; /* rows: VS_LAYOUT_UNBOUNDED for text that may be as long as it likes, then without graph */
  uint32_t devices, processes, notes;
  bool has_graph, has_footer;
} vs_layout_wish;

typedef struct vs_layout {
  uint32_t columns, rows;
  vs_area header, devices, notes, sums, processes, footer; /* devices and processes with a row of headings */
  bool is_panel; /* sums stand beside the graph, one to a row; else in one or two lines */
  uint32_t graph_count;
  vs_area graphs[VS_LAYOUT_GRAPHS];
} vs_layout;

vs_layout vs_layout_of(const vs_layout_wish *wish);

/* ---- the columns of a table */

typedef struct vs_layout_column {
  const char *heading;  /* NULL: this table does not have it now */
  uint32_t least, most; /* width; more than `least` only where there is room */
  uint32_t rank;        /* the highest goes first when room gets short; 0 never goes */
  bool is_right;
} vs_layout_column;

typedef struct vs_layout_slot {
  uint32_t x, columns; /* columns 0: not shown */
} vs_layout_slot;

enum { VS_LAYOUT_COLUMNS = 12 };

/* Which of them are shown in `room` columns and where. Widths grow from left to right, each as far as it
 * may. */
void vs_layout_fit(const vs_layout_column *columns, size_t count, uint32_t room,
                   vs_layout_slot slots[static VS_LAYOUT_COLUMNS]);

#endif
