/* The ledger against a naive sum: random trees, unknown rows, overflow, contradictions, and every failed allocation. */
#include "ledger/ledger.h"
#include "support/random.h"
#include "support/test.h"

enum { ROWS = 40 };

/* ---- trees ------------------------------------------------------------------------------------------------ */

typedef struct made {
  uint32_t parent;
  bool is_known;
  uint64_t bytes;
} made;

static void add(vs_ledger *ledger, const made *row) {
  const vs_ledger_entry entry = {.kind = row->parent == VS_LEDGER_NONE ? VS_LEDGER_CARD : VS_LEDGER_LIBRARY,
                                 .name = VS_STR("row"),
                                 .figure = row->is_known ? vs_ledger_known(row->bytes, "test")
                                                         : vs_ledger_unknown(VS_STR("no source"))};
  (void)vs_ledger_add(ledger, row->parent, &entry);
}

/* A tree whose known rows are at least as large as what is known below them, so that it has no contradiction. */
static void make_tree(test_random *random, made rows[ROWS]) {
  uint64_t least[ROWS] = {0};
  for (uint32_t i = 0; i < ROWS; i++) {
    rows[i].parent = i == 0 ? VS_LEDGER_NONE : (uint32_t)random_below(random, i);
    rows[i].is_known = random_below(random, 4) != 0;
  }
  for (uint32_t i = ROWS; i-- > 0;) {
    rows[i].bytes = rows[i].is_known ? least[i] + random_below(random, 3) * random_below(random, 1000) : 0;
    if (i != 0 && rows[i].is_known) least[rows[i].parent] += rows[i].bytes;
  }
}

/* What is left of a row, added up in the simplest way. */
static void check_rest(const vs_ledger *ledger, const made rows[ROWS], uint32_t number) {
  uint64_t sum = 0;
  size_t children = 0, unknown = 0;
  for (uint32_t i = 0; i < ROWS; i++) {
    if (rows[i].parent != number) continue;
    children++;
    unknown += !rows[i].is_known;
    sum += rows[i].bytes;
  }
  const vs_ledger_row *row = &ledger->rows.data[number];
  if (children == 0 || !rows[number].is_known) {
    assert_true(row->last == VS_LEDGER_NONE || row->last < ROWS); /* nothing is added */
    return;
  }
  const vs_ledger_row *rest = &ledger->rows.data[row->last];
  assert_true(row->last >= ROWS && rest->is_known);
  assert_int_equal(rest->bytes, rows[number].bytes - sum);
  assert_int_equal(rest->kind, unknown == 0 ? VS_LEDGER_UNEXPLAINED : VS_LEDGER_UNKNOWN_TOGETHER);
}

static void random_trees_sum_up(void **state) {
  (void)state;
  test_random random = {.state = 7};
  for (uint32_t n = 0; n < test_repetitions(2000, 50); n++) {
    made rows[ROWS];
    vs_ledger ledger;
    vs_error error;
    make_tree(&random, rows);
    vs_ledger_init(&ledger, vs_host_default());
    for (size_t i = 0; i < ROWS; i++) add(&ledger, &rows[i]);
    assert_int_equal(vs_ledger_complete(&ledger, true, &error), VS_OK);
    assert_null(vs_ledger_check(&ledger));
    for (uint32_t i = 0; i < ROWS; i++) check_rest(&ledger, rows, i);
    vs_ledger_deinit(&ledger);
  }
}

/* ---- contradictions ------------------------------------------------------------------------------------------ */

static vs_status complete(vs_ledger *ledger, const made *rows, size_t count, bool is_one_moment,
                          vs_error *error) {
  vs_ledger_init(ledger, vs_host_default());
  for (size_t i = 0; i < count; i++) add(ledger, &rows[i]);
  return vs_ledger_complete(ledger, is_one_moment, error);
}

static void more_than_the_sum_is_an_error_or_unknown(void **state) {
  (void)state;
  static const made cases[][3] = {
      {{VS_LEDGER_NONE, true, 100}, {0, true, 60}, {0, true, 41}},
      {{VS_LEDGER_NONE, true, UINT64_MAX}, {0, true, UINT64_MAX}, {0, true, 1}},
      {{VS_LEDGER_NONE, true, 5}, {0, true, UINT64_MAX}, {0, true, 6}}, /* which would wrap to 5 */
      {{VS_LEDGER_NONE, true, 5}, {0, true, 6}, {0, false, 0}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    vs_ledger ledger;
    vs_error error;
    assert_int_equal(complete(&ledger, cases[i], 3, true, &error), VS_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "sum up to more than its"));
    vs_ledger_deinit(&ledger);
    assert_int_equal(complete(&ledger, cases[i], 3, false, &error), VS_OK);
    assert_int_equal(ledger.rows.count, 4);
    assert_false(ledger.rows.data[3].is_known);
    assert_true(ledger.rows.data[3].why != VS_STRING_NONE);
    assert_null(vs_ledger_check(&ledger));
    vs_ledger_deinit(&ledger);
  }
}

static void a_sum_of_all_bits_is_no_overflow(void **state) {
  (void)state;
  static const made rows[] = {{VS_LEDGER_NONE, true, UINT64_MAX}, {0, true, UINT64_MAX - 1}, {0, true, 1}};
  vs_ledger ledger;
  vs_error error;
  assert_int_equal(complete(&ledger, rows, 3, true, &error), VS_OK);
  assert_true(ledger.rows.data[3].is_known && ledger.rows.data[3].bytes == 0);
  vs_ledger_deinit(&ledger);
}

static void the_check_finds_what_does_not_hold(void **state) {
  (void)state;
  static const made rows[] = {{VS_LEDGER_NONE, true, 10}, {0, true, 4}, {0, true, 1}};
  vs_ledger ledger;
  vs_error error;
  assert_int_equal(complete(&ledger, rows, 3, true, &error), VS_OK);
  vs_ledger_row *data = ledger.rows.data;
  data[1].bytes = 5;
  assert_string_equal(vs_ledger_check(&ledger), "rows that do not sum up");
  data[1].bytes = 4;
  data[3].kind = VS_LEDGER_UNKNOWN_TOGETHER;
  assert_string_equal(vs_ledger_check(&ledger), "what is left is not called what it is");
  data[3].kind = VS_LEDGER_LIBRARY;
  assert_string_equal(vs_ledger_check(&ledger), "rows without what is left");
  data[3].kind = VS_LEDGER_UNEXPLAINED;
  data[2].why = data[2].name;
  assert_string_equal(vs_ledger_check(&ledger), "a known row with a reason, or an unknown one without");
  data[2].why = VS_STRING_NONE;
  assert_null(vs_ledger_check(&ledger));
  vs_ledger_deinit(&ledger);
}

/* ---- JSON ----------------------------------------------------------------------------------------------------- */

static void the_tree_as_json(void **state) {
  (void)state;
  static const made rows[] = {
      {VS_LEDGER_NONE, true, 10}, {0, true, 4}, {1, false, 0}, {VS_LEDGER_NONE, false, 0}};
  static const char wanted[] =
      "{\"devices\":["
      "{\"kind\":\"card\",\"name\":\"row\",\"device\":0,\"moment\":null,\"bytes\":10,\"why\":null,\"source\":"
      "\"test\",\"is_shown\":true,\"rows\":["
      "{\"kind\":\"library\",\"name\":\"row\",\"bytes\":4,\"why\":null,\"source\":\"test\",\"is_shown\":true,"
      "\"rows\":["
      "{\"kind\":\"library\",\"name\":\"row\",\"bytes\":null,\"why\":\"no "
      "source\",\"source\":null,\"is_shown\":true,\"rows\":[]},"
      "{\"kind\":\"unknown_together\",\"name\":\"the unknown rows, "
      "together\",\"bytes\":4,\"why\":null,\"source\":\"what is left\",\"is_shown\":false,\"rows\":[]}]},"
      "{\"kind\":\"unexplained\",\"name\":\"unexplained\",\"bytes\":6,\"why\":null,\"source\":\"what is "
      "left\",\"is_shown\":true,\"rows\":[]}]},"
      "{\"kind\":\"card\",\"name\":\"row\",\"device\":0,\"moment\":null,\"bytes\":null,\"why\":\"no "
      "source\",\"source\":null,\"is_shown\":true,\"rows\":[]}]}";
  vs_ledger ledger;
  vs_error error;
  vs_text text;
  vs_jsonw w;
  assert_int_equal(complete(&ledger, rows, 4, true, &error), VS_OK);
  vs_text_init(&text, vs_host_default(), NULL);
  vs_jsonw_begin(&w, &text, 0);
  vs_jsonw_object_begin(&w);
  vs_ledger_put(&w, &ledger);
  vs_jsonw_object_end(&w);
  vs_jsonw_end(&w);
  vs_text_byte(&text, 0);
  assert_string_equal(vs_text_view(&text).data, wanted);
  vs_text_deinit(&text);
  vs_ledger_deinit(&ledger);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_trees_sum_up),
      cmocka_unit_test(more_than_the_sum_is_an_error_or_unknown),
      cmocka_unit_test(a_sum_of_all_bits_is_no_overflow),
      cmocka_unit_test(the_check_finds_what_does_not_hold),
      cmocka_unit_test(the_tree_as_json),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
