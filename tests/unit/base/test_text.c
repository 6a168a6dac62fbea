#include "support/random.h"
#include "support/test.h"

#include <limits.h>
#include <string.h>

/* A writer into a fixed array, which fails once it has taken `room` bytes. */
typedef struct collector {
  char bytes[300000];
  size_t size, room;
  unsigned calls;
} collector;

static vs_status collect(void *ctx, const void *data, size_t size) {
  collector *c = ctx;
  c->calls++;
  if (size > c->room - c->size) return VS_IO;
  memcpy(c->bytes + c->size, data, size);
  c->size += size;
  return VS_OK;
}

static void comparing(void **state) {
  (void)state;
  assert_true(vs_str_equal((vs_str){NULL, 0}, VS_STR("")));
  assert_false(vs_str_equal(VS_STR("ab"), VS_STR("abc")));
  assert_true(vs_str_starts(VS_STR("abc"), VS_STR("")));
  assert_true(vs_str_starts(VS_STR("abc"), VS_STR("abc")));
  assert_false(vs_str_starts(VS_STR("ab"), VS_STR("abc")));
  assert_true(vs_str_contains(VS_STR("abcd"), VS_STR("cd")));
  assert_true(vs_str_contains(VS_STR(""), VS_STR("")));
  assert_false(vs_str_contains(VS_STR("abcd"), VS_STR("ce")));
  assert_false(vs_str_contains(VS_STR("c"), VS_STR("cd")));
  assert_int_equal(vs_str_compare(VS_STR("a"), VS_STR("a")), 0);
  assert_true(vs_str_compare(VS_STR("a"), VS_STR("ab")) < 0);
  assert_true(vs_str_compare(VS_STR("b"), VS_STR("ab")) > 0);
  assert_true(vs_str_compare(VS_STR(""), VS_STR("\xff")) < 0);
  assert_true(vs_str_compare(VS_STR("\x7f"), VS_STR("\x80")) < 0); /* bytes have no sign */
}

static void numbers(void **state) {
  (void)state;
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_text_u64(&text, 0);
  expect_text(&text, "0");
  vs_text_u64(&text, UINT64_MAX);
  expect_text(&text, "18446744073709551615");
  vs_text_i64(&text, INT64_MIN);
  expect_text(&text, "-9223372036854775808");
  vs_text_i64(&text, 42);
  expect_text(&text, "42");
  vs_text_hex(&text, UINT64_C(0x7f00a0));
  expect_text(&text, "7f00a0");
  vs_text_hex(&text, UINT64_MAX);
  expect_text(&text, "ffffffffffffffff");
  vs_text_deinit(&text);
}

static void code_points(void **state) {
  (void)state;
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_text_code_point(&text, 'A');
  vs_text_code_point(&text, 0xe9);
  vs_text_code_point(&text, 0x20ac);
  vs_text_code_point(&text, 0x1f600);
  expect_text(&text, "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  vs_text_code_point(&text, 0xd800);
  vs_text_code_point(&text, 0x110000);
  expect_text(&text, "\xef\xbf\xbd\xef\xbf\xbd");
  vs_text_deinit(&text);
}

static void every_conversion(void **state) {
  (void)state;
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_text_format(&text, "%s|%S|%c|%%", "text", VS_STR("span"), 'c');
  expect_text(&text, "text|span|c|%");
  vs_text_format(&text, "%d|%d|%u", INT_MIN, 7, UINT_MAX);
  expect_text(&text, "-2147483648|7|4294967295");
  vs_text_format(&text, "%D|%D|%U|%x", INT64_MIN, INT64_C(3), UINT64_MAX, UINT64_C(0xbeef));
  expect_text(&text, "-9223372036854775808|3|18446744073709551615|beef");
  vs_text_format(&text, "%S", VS_STR("a\nb\x1b[0m\x7f\xc3\xa9"));
  expect_text(&text, "a\\x0ab\\x1b[0m\\x7f\xc3\xa9");
  vs_text_deinit(&text);
}

static void fixed_array_is_cut_and_terminated(void **state) {
  (void)state;
  char small[6] = "zzzzz", one[1] = "z";
  vs_format(small, sizeof small, "%U%s", UINT64_C(123), "456789");
  assert_string_equal(small, "12345");
  vs_format(one, sizeof one, "%s", "text");
  assert_string_equal(one, "");
  vs_format(NULL, 0, "%s", "text");
}

static void writer_gets_everything_in_pieces(void **state) {
  (void)state;
  static collector c;
  c = (collector){.room = sizeof c.bytes};
  const vs_writer writer = {.ctx = &c, .write = collect};
  vs_text text;
  vs_text_init(&text, vs_host_default(), &writer);
  for (uint64_t i = 0; i < 50000; i++) vs_text_u64(&text, i % 10);
  vs_text_cstr(&text, "end");
  vs_text_str(&text, (vs_str){NULL, 0});
  assert_int_equal(c.size, 0);
  for (uint64_t i = 0; i < 150000; i++) vs_text_byte(&text, 'x');
  assert_true(c.size >= 128 * 1024);
  expect_ok(vs_text_finish(&text));
  assert_int_equal(c.size, 200003);
  assert_memory_equal(c.bytes + 50000, "endxxx", 6);
  assert_true(c.calls <= 5);
  vs_text_deinit(&text);
}

static void first_failure_sticks(void **state) {
  (void)state;
  static collector c;
  c = (collector){.room = 0};
  const vs_writer writer = {.ctx = &c, .write = collect};
  vs_text text;
  vs_text_init(&text, vs_host_default(), &writer);
  vs_text_cstr(&text, "lost");
  expect_status(vs_text_finish(&text), VS_IO);
  vs_text_cstr(&text, "more");
  expect_status(vs_text_finish(&text), VS_IO);
  assert_int_equal(c.calls, 1);
  vs_text_deinit(&text);
}

static void parsing(void **state) {
  (void)state;
  uint64_t u;
  int64_t i;
  assert_true(vs_parse_u64(VS_STR("0"), &u) && u == 0);
  assert_true(vs_parse_u64(VS_STR("00012"), &u) && u == 12);
  assert_true(vs_parse_u64(VS_STR("18446744073709551615"), &u) && u == UINT64_MAX);
  static const char *const no_u64[] = {
      "", "18446744073709551616", "99999999999999999999", "-1", "+1", "1 ", " 1", "1x"};
  for (size_t n = 0; n < sizeof no_u64 / sizeof *no_u64; n++)
    assert_false(vs_parse_u64(vs_str_from(no_u64[n]), &u));
  assert_true(vs_parse_i64(VS_STR("9223372036854775807"), &i) && i == INT64_MAX);
  assert_true(vs_parse_i64(VS_STR("-9223372036854775808"), &i) && i == INT64_MIN);
  assert_true(vs_parse_i64(VS_STR("-0"), &i) && i == 0);
  static const char *const no_i64[] = {"", "-", "--1", "9223372036854775808", "-9223372036854775809", "1e3"};
  for (size_t n = 0; n < sizeof no_i64 / sizeof *no_i64; n++)
    assert_false(vs_parse_i64(vs_str_from(no_i64[n]), &i));
  assert_false(vs_parse_i64((vs_str){0}, &i));
}

static void ranges(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t first, last;
  } right[] = {{"4", 4, 4},           {"1-2", 1, 2}, {"3-3", 3, 3},
               {"3-", 3, UINT64_MAX}, {"-2", 0, 2},  {"1-18446744073709551615", 1, UINT64_MAX}};
  static const char *const wrong[] = {"",   "-",   "--",    "0",     "0-1", "1-0",
                                      "-0", "2-1", "1-2-3", "1 - 2", "a",   "1-18446744073709551616"};
  uint64_t first, last;
  for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
    assert_true(vs_parse_range(vs_str_from(right[i].text), &first, &last));
    assert_true(first == right[i].first && last == right[i].last);
  }
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_false(vs_parse_range(vs_str_from(wrong[i]), &first, &last));
  assert_false(vs_parse_range((vs_str){0}, &first, &last));
}

/* Texts of two letters, so that parts begin often and are seldom there as a whole. */
static void one_of_several_parts(void **state) {
  (void)state;
  static const char *const parts[] = {"abba", "bbb", "baab", "c"};
  const size_t count = sizeof parts / sizeof *parts;
  test_random random = {3};
  unsigned found = 0;
  for (int round = 0; round < 2000; round++) {
    char letters[12];
    for (size_t i = 0; i < sizeof letters; i++)
      letters[i] = "abc"[random_below(&random, 40) == 0 ? 2 : random_below(&random, 2)];
    const vs_str text = {letters, (size_t)random_below(&random, sizeof letters + 1)};
    const size_t some = (size_t)random_below(&random, count + 1);
    bool contains = false;
    for (size_t i = 0; i < some; i++) contains |= vs_str_contains(text, vs_str_from(parts[i]));
    assert_int_equal(vs_str_contains_any(text, parts, some), contains);
    found += contains;
  }
  assert_in_range(found, 500, 1500);
}

static void failing(void **state) {
  (void)state;
  vs_error error;
  expect_status(vs_fail(&error, VS_BAD_FORMAT, 17, "opcode %x", UINT64_C(0x52)), VS_BAD_FORMAT);
  assert_int_equal(error.status, VS_BAD_FORMAT);
  assert_int_equal(error.offset, 17);
  assert_string_equal(error.text, "opcode 52");
  expect_status(vs_fail(NULL, VS_LIMIT, VS_NO_OFFSET, "nobody listens"), VS_LIMIT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(comparing),
      cmocka_unit_test(numbers),
      cmocka_unit_test(code_points),
      cmocka_unit_test(every_conversion),
      cmocka_unit_test(fixed_array_is_cut_and_terminated),
      cmocka_unit_test(writer_gets_everything_in_pieces),
      cmocka_unit_test(first_failure_sticks),
      cmocka_unit_test(parsing),
      cmocka_unit_test(ranges),
      cmocka_unit_test(one_of_several_parts),
      cmocka_unit_test(failing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
