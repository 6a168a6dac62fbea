#include "faces/tui/layout.h"
#include "base/check.h"

enum {
  PANEL_FROM = 70, /* columns of a screen that has the sums beside the graph */
  GRAPH_MOST = 20, /* rows of a graph */
  HEADING = 1,
  PANEL_ROWS = 7,      /* title and six terms */
  PROCESSES_LEAST = 3, /* heading and two rows */
  PROCESSES_FAIR = 6,  /* rows that processes get before a graph gets any */
};

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t most(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* ---- rows: they are dealt out from top to bottom; `left` are not yet dealt */

typedef struct dealer {
  vs_layout *layout;
  const vs_layout_wish *wish;
  uint32_t y, left;
} dealer;

static vs_area deal(dealer *d, uint32_t rows) {
  rows = least(rows, d->left);
  VS_ASSERT(rows <= d->left);
  const vs_area area = {0, d->y, d->layout->columns, rows};
  d->y += rows;
  d->left -= rows;
  return area;
}

/* An empty line between two parts, only in text of any length. */
static void deal_gap(dealer *d) {
  if (d->wish->rows == VS_LAYOUT_UNBOUNDED) (void)deal(d, 1);
}

static uint32_t device_rows(const dealer *d) {
  if (d->left <= 2) return least(d->left, d->wish->devices); /* too few for headings */
  const uint32_t fair = most(d->left / 2, 2);
  return least(HEADING + d->wish->devices, d->wish->rows == VS_LAYOUT_UNBOUNDED ? d->left : fair);
}

/* ---- the graphs: as many as fit side by side and below one another */

static void place_graphs(vs_layout *layout, const vs_layout_wish *wish, vs_area area) {
  uint32_t across = most(area.columns / VS_LAYOUT_GRAPH_COLUMNS, 1), down = area.rows / VS_LAYOUT_GRAPH_LEAST;
  across = least(across, wish->devices);
  down = least(down, (wish->devices + across - 1) / across);
  VS_ASSERT(across != 0 && down != 0);
  across = least(across, (wish->devices + down - 1) / down); /* so that rows are filled evenly */
  layout->graph_count = least(least(across * down, wish->devices), VS_LAYOUT_GRAPHS);
  for (uint32_t i = 0; i < layout->graph_count; i++) {
    const uint32_t column = i % across, row = i / across;
    const uint32_t x0 = area.columns * column / across, x1 = area.columns * (column + 1) / across;
    const uint32_t y0 = area.rows * row / down, y1 = area.rows * (row + 1) / down;
    const uint32_t gap = column + 1 < across ? 2 : 0;
    VS_ASSERT(row < down && x0 + gap <= x1 && y0 < y1);
    layout->graphs[i] = (vs_area){area.x + x0, area.y + y0, x1 - x0 - gap, y1 - y0};
  }
}

/* The rows of graph and panel: the rows that the processes do not need, within bounds. 0: there is no room. */
static uint32_t middle_rows(const dealer *d) {
  const vs_layout_wish *wish = d->wish;
  if (!wish->has_graph || wish->rows == VS_LAYOUT_UNBOUNDED || wish->devices == 0) return 0;
  const uint32_t needed = least(most(HEADING + wish->processes, PROCESSES_LEAST), PROCESSES_FAIR);
  const uint32_t graph = wish->columns >= PANEL_FROM ? PANEL_ROWS : VS_LAYOUT_GRAPH_LEAST;
  if (d->left < graph + needed || wish->columns < VS_LAYOUT_GRAPH_COLUMNS) return 0;
  const uint32_t others = HEADING + wish->processes + 1;
  const uint32_t unused = d->left > others ? d->left - others : 0;
  const uint32_t fair = d->left * 2 / 5;
  const uint32_t tiles = most((wish->columns - VS_LAYOUT_PANEL) / VS_LAYOUT_GRAPH_COLUMNS, 1);
  const uint32_t most_rows = GRAPH_MOST * ((wish->devices + tiles - 1) / tiles);
  const uint32_t rows = least(most(fair, unused), most_rows);
  return least(most(rows, graph), d->left - needed);
}

static void place_middle(dealer *d) {
  vs_layout *layout = d->layout;
  uint32_t lines = layout->columns >= VS_LAYOUT_ONE_LINE ? 1 : 2;
  if (d->wish->rows == VS_LAYOUT_UNBOUNDED) lines *= d->wish->devices;
  uint32_t rows = middle_rows(d);
  if (rows != 0 && layout->columns >= PANEL_FROM) {
    vs_area area = deal(d, rows);
    layout->is_panel = true;
    layout->sums = (vs_area){area.columns - VS_LAYOUT_PANEL, area.y, VS_LAYOUT_PANEL, area.rows};
    area.columns -= VS_LAYOUT_PANEL + 2;
    place_graphs(layout, d->wish, area);
    return;
  }
  if (d->wish->devices != 0 && d->left >= lines + PROCESSES_LEAST) layout->sums = deal(d, lines);
  rows = middle_rows(d);
  if (rows != 0) place_graphs(layout, d->wish, deal(d, rows));
}

vs_layout vs_layout_of(const vs_layout_wish *wish) {
  const uint32_t endless = wish->devices + wish->processes + wish->notes + 2 * wish->devices + 16;
  vs_layout layout = {.columns = wish->columns, .rows = wish->rows};
  dealer d = {
      .layout = &layout, .wish = wish, .left = wish->rows == VS_LAYOUT_UNBOUNDED ? endless : wish->rows};
  if (wish->has_footer && d.left >= 5) {
    layout.footer = (vs_area){0, d.left - 1, wish->columns, 1};
    d.left--;
  }
  if (d.left >= 3) layout.header = deal(&d, 1);
  deal_gap(&d);
  layout.devices = deal(&d, device_rows(&d));
  if (d.left >= wish->notes + PROCESSES_LEAST) layout.notes = deal(&d, wish->notes);
  deal_gap(&d);
  place_middle(&d);
  deal_gap(&d);
  if (wish->rows == VS_LAYOUT_UNBOUNDED) d.left = HEADING + most(wish->processes, 1);
  if (d.left >= 2) layout.processes = deal(&d, d.left);
  if (wish->rows == VS_LAYOUT_UNBOUNDED) layout.rows = d.y;
  VS_ASSERT(d.y + layout.footer.rows <= layout.rows);
  return layout;
}

/* ---- columns */

enum { GAP = 2 };

static uint32_t width_of(const vs_layout_column *columns, size_t count, const vs_layout_slot *slots) {
  uint32_t width = 0;
  for (size_t i = 0; i < count; i++)
    if (slots[i].columns != 0 && columns[i].heading != NULL)
      width += slots[i].columns + (width == 0 ? 0 : GAP);
  return width;
}

/* The column to leave out next; `count` if all that are left must stay. */
static size_t least_wanted(const vs_layout_column *columns, size_t count, const vs_layout_slot *slots) {
  size_t worst = count;
  for (size_t i = 0; i < count; i++)
    if (slots[i].columns != 0 && columns[i].rank != 0 &&
        (worst == count || columns[i].rank > columns[worst].rank))
      worst = i;
  return worst;
}

void vs_layout_fit(const vs_layout_column *columns, size_t count, uint32_t room,
                   vs_layout_slot slots[static VS_LAYOUT_COLUMNS]) {
  VS_ASSERT(count <= VS_LAYOUT_COLUMNS);
  for (size_t i = 0; i < count; i++)
    slots[i] = (vs_layout_slot){0, columns[i].heading == NULL ? 0 : columns[i].least};
  uint32_t width;
  while ((width = width_of(columns, count, slots)) > room) {
    const size_t worst = least_wanted(columns, count, slots);
    if (worst == count) break;
    VS_ASSERT(slots[worst].columns != 0); /* one less is shown each time, so that this ends */
    slots[worst].columns = 0;
  }
  uint32_t spare = width < room ? room - width : 0, x = 0;
  for (size_t i = 0; i < count; i++) {
    if (slots[i].columns == 0) continue;
    const uint32_t more =
        least(spare, columns[i].most > columns[i].least ? columns[i].most - columns[i].least : 0);
    slots[i] = (vs_layout_slot){x, slots[i].columns + more};
    spare -= more;
    if (x >= room) slots[i].columns = 0; /* a column that must stay and does not fit is cut */
    else if (x + slots[i].columns > room) slots[i].columns = room - x;
    VS_ASSERT(slots[i].columns == 0 || x + slots[i].columns <= room);
    x += slots[i].columns + GAP;
  }
}
