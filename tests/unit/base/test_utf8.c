#include "base/utf8.h"
#include "support/test.h"

static void lengths(void **state) {
  (void)state;
  static const struct {
    vs_str text;
    size_t length;
  } cases[] = {
      {{"", 0}, 0},
      {{"a\xff", 2}, 1},
      {{"\0", 1}, 1},
      {{"\xc3\xa9", 2}, 2},
      {{"\xc3", 1}, 0},             /* cut off */
      {{"\xc3\x29", 2}, 0},         /* no continuation */
      {{"\xc1\xbf", 2}, 0},         /* overlong */
      {{"\x80", 1}, 0},             /* a continuation alone */
      {{"\xe0\xa0\x80", 3}, 3},     /* the first of three bytes */
      {{"\xe0\x9f\xbf", 3}, 0},     /* overlong */
      {{"\xe2\x82", 2}, 0},         /* cut off */
      {{"\xed\x9f\xbf", 3}, 3},     /* the last before the surrogates */
      {{"\xed\xb3\xbf", 3}, 3},     /* a surrogate: Python's way to keep a stray byte */
      {{"\xf0\x90\x80\x80", 4}, 4}, /* U+10000 */
      {{"\xf0\x8f\xbf\xbf", 4}, 0}, /* overlong */
      {{"\xf4\x8f\xbf\xbf", 4}, 4}, /* U+10FFFF */
      {{"\xf4\x90\x80\x80", 4}, 0}, /* beyond */
      {{"\xf0\x9f\x98", 3}, 0},     /* cut off */
      {{"\xf5\x80\x80\x80", 4}, 0},
      {{"\xff", 1}, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(vs_utf8_length(cases[i].text), cases[i].length);
}

static void valid_beginnings(void **state) {
  (void)state;
  assert_int_equal(vs_utf8_valid((vs_str){NULL, 0}), 0);
  assert_int_equal(vs_utf8_valid(VS_STR("caf\xc3\xa9")), 5);
  assert_int_equal(vs_utf8_valid(VS_STR("caf\xc3")), 3);
  assert_int_equal(vs_utf8_valid(VS_STR("\xff")), 0);
}

static void every_code_point_comes_back(void **state) {
  (void)state;
  for (uint32_t code_point = 0; code_point <= 0x10ffff; code_point++) {
    char out[4];
    const size_t size = vs_utf8_encode(out, code_point);
    assert_int_equal(size, code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4);
    assert_int_equal(vs_utf8_length((vs_str){out, size}), size);
    static const uint8_t lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t back = (uint8_t)out[0] & lead_bits[size];
    for (size_t i = 1; i < size; i++) back = back << 6 | ((uint8_t)out[i] & 0x3fu);
    assert_int_equal(back, code_point);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lengths),
      cmocka_unit_test(valid_beginnings),
      cmocka_unit_test(every_code_point_comes_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
