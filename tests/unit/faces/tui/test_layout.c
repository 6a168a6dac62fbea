/* Where the parts of the screen go: the promises of layout.h, for every size there is, and a few layouts
 * in full. */
#include "faces/tui/layout.h"
#include "support/test.h"

/* ---- promises */

typedef struct board {
  uint8_t taken[80][220];
} board;

static void take(board *b, const vs_layout *layout, vs_area area) {
  assert_true(area.rows == 0 || area.columns == 0 || area.y + area.rows <= layout->rows);
  assert_true(area.rows == 0 || area.columns == 0 || area.x + area.columns <= layout->columns);
  for (uint32_t y = area.y; y < area.y + area.rows; y++)
    for (uint32_t x = area.x; x < area.x + area.columns; x++) {
      assert_int_equal(b->taken[y][x], 0);
      b->taken[y][x] = 1;
    }
}

static void check_promises(const vs_layout_wish *wish) {
  static board b;
  const vs_layout layout = vs_layout_of(wish);
  memset(&b, 0, sizeof b);
  take(&b, &layout, layout.header);
  take(&b, &layout, layout.devices);
  take(&b, &layout, layout.notes);
  take(&b, &layout, layout.sums);
  take(&b, &layout, layout.processes);
  take(&b, &layout, layout.footer);
  assert_true(layout.graph_count <= wish->devices && layout.graph_count <= VS_LAYOUT_GRAPHS);
  for (uint32_t i = 0; i < layout.graph_count; i++) {
    take(&b, &layout, layout.graphs[i]);
    assert_true(layout.graphs[i].rows >= VS_LAYOUT_GRAPH_LEAST);
    assert_true(layout.graphs[i].columns + 2 >= VS_LAYOUT_GRAPH_COLUMNS || layout.graph_count == 1 ||
                layout.graphs[i].columns + 2 >= wish->columns - VS_LAYOUT_PANEL);
  }
  if (wish->devices != 0 && wish->rows != 0) assert_true(layout.devices.rows >= 1);
  if (!wish->has_graph) assert_int_equal(layout.graph_count, 0);
  if (layout.graph_count != 0) assert_true(layout.processes.rows >= 3);
  if (layout.is_panel) assert_true(layout.sums.rows >= 7 && layout.sums.columns == VS_LAYOUT_PANEL);
  if (wish->rows >= 12 && wish->processes > 2) assert_true(layout.processes.rows >= 3);
}

static void test_promises(void **state) {
  (void)state;
  static const uint32_t devices[] = {0, 1, 2, 8, 70}, processes[] = {0, 1, 4, 100};
  const uint32_t more_rows = (uint32_t)test_repetitions(1, 6);
  for (uint32_t columns = 1; columns <= 200; columns += columns < 100 ? 7 : 29)
    for (uint32_t rows = 1; rows <= 70; rows += more_rows)
      for (size_t d = 0; d < sizeof devices / sizeof devices[0]; d++)
        for (size_t p = 0; p < sizeof processes / sizeof processes[0]; p++)
          for (uint32_t choice = 0; choice < 8; choice++)
            check_promises(&(vs_layout_wish){.columns = columns,
                                             .rows = rows,
                                             .devices = devices[d],
                                             .processes = processes[p],
                                             .notes = choice & 1 ? 2 : 0,
                                             .has_graph = (choice & 2) != 0,
                                             .has_footer = (choice & 4) != 0});
}

/* Text is as long as it takes: every device and process has its row. */
static void test_text(void **state) {
  (void)state;
  for (uint32_t devices = 0; devices < 20; devices++)
    for (uint32_t processes = 0; processes < 40; processes += 13) {
      const vs_layout_wish wish = {.columns = 80,
                                   .rows = VS_LAYOUT_UNBOUNDED,
                                   .devices = devices,
                                   .processes = processes,
                                   .notes = devices};
      const vs_layout layout = vs_layout_of(&wish);
      assert_int_equal(layout.devices.rows, devices + 1);
      assert_int_equal(layout.notes.rows, devices);
      assert_int_equal(layout.sums.rows, 2 * devices);
      assert_int_equal(layout.processes.rows, 1 + (processes == 0 ? 1 : processes));
      assert_int_equal(layout.graph_count, 0);
      assert_int_equal(layout.processes.y + layout.processes.rows, layout.rows);
    }
}

/* ---- some in full */

static void expect_area(vs_area got, uint32_t x, uint32_t y, uint32_t columns, uint32_t rows) {
  assert_int_equal(got.x, x);
  assert_int_equal(got.y, y);
  assert_int_equal(got.columns, columns);
  assert_int_equal(got.rows, rows);
}

static void test_usual(void **state) {
  (void)state;
  const vs_layout_wish wish = {
      .columns = 80, .rows = 24, .devices = 1, .processes = 30, .has_graph = true, .has_footer = true};
  const vs_layout layout = vs_layout_of(&wish);
  expect_area(layout.header, 0, 0, 80, 1);
  expect_area(layout.devices, 0, 1, 80, 2);
  expect_area(layout.graphs[0], 0, 3, 48, 8);
  expect_area(layout.sums, 50, 3, 30, 8);
  expect_area(layout.processes, 0, 11, 80, 12);
  expect_area(layout.footer, 0, 23, 80, 1);
}

static void test_wide_has_all_graphs(void **state) {
  (void)state;
  vs_layout_wish wish = {
      .columns = 160, .rows = 50, .devices = 8, .processes = 4, .has_graph = true, .has_footer = true};
  const vs_layout layout = vs_layout_of(&wish);
  assert_int_equal(layout.graph_count, 8);
  wish.devices = 2; /* side by side */
  const vs_layout two = vs_layout_of(&wish);
  assert_int_equal(two.graph_count, 2);
  assert_int_equal(two.graphs[0].y, two.graphs[1].y);
}

/* What goes first when rows get fewer: the graph, then the sums, then processes; a device stays. */
static void test_order_of_going(void **state) {
  (void)state;
  uint32_t graph = 0, sums = 0, processes = 0, footer = 0;
  for (uint32_t rows = 1; rows <= 40; rows++) {
    const vs_layout_wish wish = {
        .columns = 60, .rows = rows, .devices = 1, .processes = 3, .has_graph = true, .has_footer = true};
    const vs_layout layout = vs_layout_of(&wish);
    assert_true(layout.devices.rows >= 1);
    if (layout.graph_count == 0) graph = rows;
    if (layout.sums.rows == 0) sums = rows;
    if (layout.processes.rows == 0) processes = rows;
    if (layout.footer.rows == 0) footer = rows;
  }
  assert_true(graph > sums && sums > processes);
  assert_int_equal(graph, 15);
  assert_int_equal(footer, 4);
}

/* ---- columns of a table */

static void test_columns(void **state) {
  (void)state;
  const vs_layout_column columns[] = {{"a", 4, 4, 0, false},
                                      {"b", 8, 20, 2, false},
                                      {NULL, 9, 9, 0, false},
                                      {"c", 6, 6, 1, true},
                                      {"d", 5, 30, 3, false}};
  enum { COUNT = sizeof columns / sizeof columns[0] };
  vs_layout_slot slots[VS_LAYOUT_COLUMNS];
  for (uint32_t room = 0; room < 120; room++) {
    vs_layout_fit(columns, COUNT, room, slots);
    uint32_t end = 0;
    for (size_t i = 0; i < COUNT; i++) {
      if (slots[i].columns == 0) continue;
      assert_true(slots[i].x >= end && slots[i].x + slots[i].columns <= room);
      assert_true(slots[i].columns <= columns[i].most);
      end = slots[i].x + slots[i].columns + 2;
    }
    assert_int_equal(slots[2].columns, 0);
    /* The highest rank goes first. */
    assert_true(slots[4].columns == 0 || slots[1].columns != 0);
    assert_true(slots[1].columns == 0 || slots[3].columns != 0);
    if (room >= 4) assert_int_equal(slots[0].columns, 4);
  }
  vs_layout_fit(columns, COUNT, 29, slots); /* all of them at their least */
  assert_int_equal(slots[4].columns, 5);
  vs_layout_fit(columns, COUNT, 28, slots);
  assert_int_equal(slots[4].columns, 0);
  assert_int_equal(slots[1].columns, 14); /* what was left over goes to who can use it */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_promises),       cmocka_unit_test(test_text),
      cmocka_unit_test(test_usual),          cmocka_unit_test(test_wide_has_all_graphs),
      cmocka_unit_test(test_order_of_going), cmocka_unit_test(test_columns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
