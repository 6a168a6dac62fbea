/* Text on its way to a terminal: made safe, measured, cut, wrapped.
 *
 * These files belong to the program, not to the library, so they are compiled into this test. */
#include "faces/terminal/screen.c"
#include "faces/terminal/table.c"
#include "support/test.h"

static fault_host fault;

static vs_screen make_screen(uint32_t columns) {
  fault_host_init(&fault, FAULT_NEVER);
  vs_screen screen = {.unit = VS_UNIT_BINARY, .has_unicode = true, .columns = columns};
  vs_text_init(&screen.text, &fault.host, NULL);
  return screen;
}

static void end_screen(vs_screen *screen) {
  vs_text_deinit(&screen->text);
  fault_host_expect_empty(&fault);
}

static void expect_safe(vs_screen *screen, vs_str given, vs_str wanted) {
  vs_screen_safe(&screen->text, given);
  expect_text_at(&screen->text, wanted, __FILE__, __LINE__);
}

static void test_safe(void **state) {
  (void)state;
  vs_screen screen = make_screen(80);
  expect_safe(&screen, VS_STR("plain caf\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x92\xa5"),
              VS_STR("plain caf\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x92\xa5"));
  expect_safe(&screen, VS_STR("\x1b[2J\n\t\x7f"), VS_STR("\\x1b[2J\\x0a\\x09\\x7f"));
  expect_safe(&screen, VS_STR("nul\0here"), VS_STR("nul\\x00here"));
  expect_safe(&screen,
              VS_STR("\x9b"
                     "31m"),
              VS_STR("\\x9b31m")); /* a control character of one byte */
  expect_safe(&screen,
              VS_STR("\xc2\x9b"
                     "31m"),
              VS_STR("\\xc2\\x9b31m"));                                    /* the same in UTF-8 */
  expect_safe(&screen, VS_STR("\xe2\x80\xae"), VS_STR("\\xe2\\x80\\xae")); /* turns the line around */
  expect_safe(&screen, VS_STR("\xed\xb3\xbf"), VS_STR("\\xff"));           /* a byte as Python keeps it */
  expect_safe(&screen, VS_STR("\xed\xa0\x80"), VS_STR("\\xed\\xa0\\x80")); /* half a pair */
  expect_safe(&screen, VS_STR("\xc0\x80\xf5\xe4\xb8"), VS_STR("\\xc0\\x80\\xf5\\xe4\\xb8")); /* no UTF-8 */
  end_screen(&screen);
}

static void test_width(void **state) {
  (void)state;
  assert_int_equal(vs_screen_width(VS_STR("")), 0);
  assert_int_equal(vs_screen_width(VS_STR("abc")), 3);
  assert_int_equal(vs_screen_width(VS_STR("caf\xc3\xa9")), 4);
  assert_int_equal(vs_screen_width(VS_STR("cafe\xcc\x81")), 4); /* an accent of its own takes no room */
  assert_int_equal(vs_screen_width(VS_STR("\xe4\xb8\xad\xe6\x96\x87")), 4); /* two wide ones */
}

static void test_fit(void **state) {
  (void)state;
  vs_screen screen = make_screen(80);
  vs_screen_fit_end(&screen.text, VS_STR("/a/long/path.py"), 20);
  expect_text(&screen.text, "/a/long/path.py");
  vs_screen_fit_end(&screen.text, VS_STR("/a/long/path.py"), 10);
  expect_text(&screen.text, "...path.py");
  vs_screen_fit_start(&screen.text, VS_STR("function_name"), 10);
  expect_text(&screen.text, "functio...");
  vs_screen_fit_start(&screen.text, VS_STR("function_name"), 2);
  expect_text(&screen.text, "fu");
  vs_screen_fit_end(&screen.text, VS_STR("\xe4\xb8\xad\xe6\x96\x87\xe5\xad\x97"),
                    5); /* never half of a wide one */
  expect_text(&screen.text, "...\xe5\xad\x97");
  vs_screen_fit_start(&screen.text, VS_STR("\xe4\xb8\xad\xe6\x96\x87\xe5\xad\x97"), 4);
  expect_text(&screen.text, "...");
  end_screen(&screen);
}

static void test_wrap(void **state) {
  (void)state;
  vs_screen screen = make_screen(40);
  vs_screen_labelled(&screen, "Label", 8, VS_STYLE_PLAIN,
                     VS_STR("words that go on and on until the line is full"));
  expect_text(&screen.text, "Label   words that go on and on until\n        the line is full\n");
  vs_screen_labelled(&screen, "Label", 8, VS_STYLE_PLAIN,
                     VS_STR("a number stays with its unit 12.5 MiB, here"));
  expect_text(&screen.text, "Label   a number stays with its unit\n        12.5 MiB, here\n");
  vs_screen_labelled(&screen, "Longer label", 8, VS_STYLE_PLAIN, VS_STR("text"));
  expect_text(&screen.text, "Longer label text\n");
  vs_screen_paragraphs(&screen, 2, VS_STR("one\n\ntwo three"));
  expect_text(&screen.text, "  one\n\n  two three\n");
  end_screen(&screen);
}

static void expect_bar(vs_screen *screen, double share, size_t columns, size_t drawn, const char *bar) {
  assert_int_equal(vs_screen_bar(screen, share, columns), drawn);
  expect_text_at(&screen->text, vs_str_from(bar), __FILE__, __LINE__);
}

static void test_bar(void **state) {
  (void)state;
  vs_screen screen = make_screen(80);
  expect_bar(&screen, 0, 4, 0, "");
  expect_bar(&screen, 0.0001, 4, 1, "\xe2\x96\x8f"); /* something is never nothing */
  expect_bar(&screen, 0.5, 4, 2, "\xe2\x96\x88\xe2\x96\x88");
  expect_bar(&screen, 1.7, 2, 2, "\xe2\x96\x88\xe2\x96\x88");
  expect_bar(&screen, 0.0 / 0.0, 4, 0, "");
  screen.has_unicode = false;
  expect_bar(&screen, 0.5, 4, 2, "##");
  expect_bar(&screen, 0.0001, 4, 1, "#");
  end_screen(&screen);
}

static void test_table(void **state) {
  (void)state;
  static const vs_column columns[] = {{"n", VS_COLUMN_RIGHT}, {"name", VS_COLUMN_NAME}, {"", VS_COLUMN_LEFT}};
  vs_screen screen = make_screen(40);
  vs_table table;
  vs_table_begin(&table, &screen, 1, columns, 3);
  vs_text_cstr(vs_table_cell(&table), "5");
  vs_text_cstr(vs_table_cell(&table), "short");
  (void)vs_table_cell(&table);
  vs_text_cstr(vs_table_cell(&table), "1,000");
  vs_text_cstr(vs_table_cell(&table), "a name that is too long for this table");
  vs_text_cstr(vs_table_cell(&table), "x");
  vs_table_put(&table);
  expect_text(&screen.text, "     n  name\n     5  short\n 1,000  a name that is too long fo...  x\n");
  end_screen(&screen);
}

static void expect_list(const char *list, const char *wanted) {
  static const vs_column columns[] = {{"n", VS_COLUMN_RIGHT}, {"list", VS_COLUMN_LIST}};
  vs_screen screen = make_screen(25);
  vs_table table;
  vs_table_begin(&table, &screen, 1, columns, 2);
  vs_text_cstr(vs_table_cell(&table), "17");
  vs_text_cstr(vs_table_cell(&table), list);
  vs_text_cstr(vs_table_cell(&table), "1");
  (void)vs_table_cell(&table);
  vs_table_put(&table);
  expect_str_at(vs_text_view(&screen.text), vs_str_from(wanted), __FILE__, __LINE__);
  end_screen(&screen);
}

/* 20 columns are left. Each comma stays in front of a break. */
static void test_lists_in_a_table(void **state) {
  (void)state;
  expect_list("one:1,two:2,three:3.", "  n  list\n 17  one:1,two:2,three:3.\n  1\n");
  expect_list("one:1,two:2,three:33.", "  n  list\n 17  one:1,two:2,\n     three:33.\n  1\n");
  expect_list("a:1,an item of twenty-five,b:2,c:3",
              "  n  list\n 17  a:1,\n     an item of twenty-five,\n     b:2,c:3\n  1\n");
  expect_list("an item of twenty-five", "  n  list\n 17  an item of twenty-five\n  1\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_safe),
      cmocka_unit_test(test_width),
      cmocka_unit_test(test_fit),
      cmocka_unit_test(test_wrap),
      cmocka_unit_test(test_bar),
      cmocka_unit_test(test_table),
      cmocka_unit_test(test_lists_in_a_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
