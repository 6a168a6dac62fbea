#include "codec/csv_writer.h"
#include "base/double_text.h"
#include "support/test.h"

static void rows(void **state) {
  (void)state;
  vs_text text;
  vs_csv csv;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_csv_begin(&csv, &text);
  vs_csv_str(&csv, VS_STR("name"));
  vs_csv_str(&csv, VS_STR("bytes"));
  vs_csv_row_end(&csv);
  vs_csv_str(&csv, VS_STR("at::empty(int, float)"));
  vs_csv_u64(&csv, UINT64_MAX);
  vs_csv_i64(&csv, -1);
  vs_csv_f64(&csv, 0.5);
  vs_csv_row_end(&csv);
  expect_text(&text, "name,bytes\r\n\"at::empty(int, float)\",18446744073709551615,-1,0.5\r\n");
  vs_text_deinit(&text);
}

static void quoting(void **state) {
  (void)state;
  vs_text text;
  vs_csv csv;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_csv_begin(&csv, &text);
  vs_csv_str(&csv, VS_STR("say \"hi\""));
  vs_csv_str(&csv, VS_STR("two\nlines"));
  vs_csv_str(&csv, VS_STR("\r"));
  vs_csv_str(&csv, VS_STR("=1+1"));
  vs_csv_str(&csv, VS_STR(" space "));
  vs_csv_row_end(&csv);
  expect_text(&text, "\"say \"\"hi\"\"\",\"two\nlines\",\"\r\",=1+1, space \r\n");
  vs_text_deinit(&text);
}

static void empty_is_not_unknown(void **state) {
  (void)state;
  vs_text text;
  vs_csv csv;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_csv_begin(&csv, &text);
  vs_csv_unknown(&csv);
  vs_csv_str(&csv, VS_STR(""));
  vs_csv_unknown(&csv);
  vs_csv_f64(&csv, vs_f64_from_bits(UINT64_C(0x7ff8000000000000)));
  vs_csv_row_end(&csv);
  expect_text(&text, ",\"\",,\r\n");
  vs_text_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows),
      cmocka_unit_test(quoting),
      cmocka_unit_test(empty_is_not_unknown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
