#include "codec/xml_text.h"
#include "support/test.h"

static void expect_xml(vs_str from, size_t columns, const char *expected) {
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_xml_text(&text, from, columns);
  assert_int_equal(text.status, VS_OK);
  vs_text_byte(&text, 0);
  assert_string_equal(text.bytes.data, expected);
  vs_text_deinit(&text);
}

static void escapes(void **state) {
  (void)state;
  expect_xml(VS_STR("train.py:42 <module>"), 80, "train.py:42 &#60;module&#62;");
  expect_xml(VS_STR("a & \"b\" 'c' ]]>"), 80, "a &#38; &#34;b&#34; &#39;c&#39; ]]&#62;");
  expect_xml(VS_STR("f\xc3\xb6n \xe6\x97\xa5 \xf0\x9f\x98\x80"), 80,
             "f\xc3\xb6n \xe6\x97\xa5 \xf0\x9f\x98\x80");
}

/* Control characters, invalid bytes, U+FFFE and U+FFFF, surrogates, and what turns the direction of text. */
static void replaces(void **state) {
  (void)state;
#define R "\xef\xbf\xbd"
  expect_xml(VS_STR("a\0b\x1b[0m\n\t"), 80, "a" R "b" R "[0m" R R);
  expect_xml(VS_STR("\xff\xc3|\xef\xbf\xbe|\xef\xbf\xbf|\xed\xb2\x80|\xe2\x80\xae"), 80,
             R R "|" R "|" R "|" R "|" R);
}

static void cuts(void **state) {
  (void)state;
  expect_xml(VS_STR("abcd"), 4, "abcd");
  expect_xml(VS_STR("abcde"), 4, "abc\xe2\x80\xa6");
  expect_xml(VS_STR("<<<<<"), 4, "&#60;&#60;&#60;\xe2\x80\xa6");
  expect_xml(VS_STR("\xe6\x97\xa5\xe6\x97\xa5\xe6\x97\xa5"), 4,
             "\xe6\x97\xa5\xe2\x80\xa6"); /* two columns each */
  expect_xml(VS_STR("ab"), 0, "");
  expect_xml(VS_STR(""), 0, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(escapes),
      cmocka_unit_test(replaces),
      cmocka_unit_test(cuts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
