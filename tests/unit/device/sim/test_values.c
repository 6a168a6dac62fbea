/* The text of --values: what is read of it, what a read gets, and what is refused with which sentence. */
#include "device/sim/values.h"
#include "support/test.h"

static vs_given_values given;

static void read_text(const char *text) {
  vs_error error;
  assert_int_equal(vs_given_values_parse(vs_str_from(text), &given, &error), VS_OK);
}

static void words_and_places(void **state) {
  (void)state;
  read_text("");
  assert_true(given.values == VS_VALUES_ZEROS && given.count == 0);
  read_text(" keep ");
  assert_true(given.values == VS_VALUES_KEEP && !vs_given_keeps(&given));
  read_text("keep,true");
  assert_int_equal(given.values, VS_VALUES_TRUE);
  read_text("train.py:88=keep, true ,a=b/c:d.py:7=-3:int16");
  assert_true(given.values == VS_VALUES_TRUE && given.count == 2 && vs_given_keeps(&given));
  expect_str(given.places[0].place, "train.py:88");
  expect_str(given.places[0].file, "train.py");
  expect_str(given.places[0].word, "keep");
  assert_int_equal(given.places[0].line, 88);
  expect_str(given.places[1].text, "a=b/c:d.py:7=-3:int16");
  expect_str(given.places[1].file, "a=b/c:d.py");
  for (int word = VS_VALUES_ZEROS; word <= VS_VALUES_KEEP; word++) {
    read_text(vs_values_word((vs_values)word));
    assert_int_equal(given.values, word);
  }
}

static void files_match_by_their_last_parts(void **state) {
  (void)state;
  read_text("u/train.py:88=1,train.py:9=2,/home/u/train.py:9=3");
  assert_ptr_equal(vs_given_find(&given, VS_STR("/home/u/train.py"), 88), &given.places[0]);
  assert_null(vs_given_find(&given, VS_STR("/home/u/train.py"), 87));
  assert_null(vs_given_find(&given, VS_STR("/home/uu/train.py"), 88 + 1));
  assert_null(vs_given_find(&given, VS_STR("/home/xu/train.py"), 88));
  assert_ptr_equal(vs_given_find(&given, VS_STR("/home/u/train.py"), 9),
                   &given.places[2]); /* the later one */
  assert_ptr_equal(vs_given_find(&given, VS_STR("/home/v/train.py"), 9), &given.places[1]);
  assert_null(vs_given_find(&given, VS_STR("/home/v/xtrain.py"), 9));
}

/* Fills 17 bytes of 0xee with a value; `wanted` are the bytes, as digits. */
static void expect_fill(const char *word, uint64_t size, const char *wanted) {
  char text[64], seen[64] = "";
  uint8_t bytes[17];
  vs_format(text, sizeof text, "a.py:1=%s", word);
  read_text(text);
  memset(bytes, 0xee, sizeof bytes);
  assert_int_equal(vs_given_fill(&given.places[0].value, bytes, size), wanted != NULL);
  for (uint64_t i = 0; wanted != NULL && i < size; i++) {
    seen[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
    seen[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
  }
  if (wanted != NULL) assert_string_equal(seen, wanted);
  for (uint64_t i = wanted == NULL ? 0 : size; i < sizeof bytes; i++) assert_int_equal(bytes[i], 0xee);
}

/* Bytes of floating-point numbers are those of Python's struct, and of torch for bfloat16. */
static void each_value_fills(void **state) {
  (void)state;
  expect_fill("zeros", 3, "000000");
  expect_fill("keep", 4, NULL);
  expect_fill("true", 1, "01");
  expect_fill("true", 8, "0100000000000000");
  expect_fill("true", 3, NULL);
  expect_fill("true", 16, NULL);
  expect_fill("-2", 4, "feffffff");
  expect_fill("255", 1, "ff");
  expect_fill("256", 1, NULL);
  expect_fill("-129", 1, NULL);
  expect_fill("9223372036854775807", 8, "ffffffffffffff7f");
  expect_fill("0.5", 4, "0000003f");
  expect_fill("0.5", 8, "000000000000e03f");
  expect_fill("0.5", 2, NULL);
  expect_fill("1e3", 4, "00007a44");
  expect_fill("1:bool", 3, "010101");
  expect_fill("1:int64", 16, "01000000000000000100000000000000");
  expect_fill("1:int64", 12, NULL);
  expect_fill("-1:int16", 4, "ffffffff");
  expect_fill("1:float32", 8, "0000803f0000803f");
  expect_fill("-0.1:float64", 8, "9a9999999999b9bf");
  expect_fill("0.1:float32", 4, "cdcccc3d");
  expect_fill("0.1:float16", 2, "662e");
  expect_fill("65504:float16", 2, "ff7b");
  expect_fill("6e-8:float16", 2, "0100"); /* subnormal */
  expect_fill("2e-8:float16", 2, "0000");
  expect_fill("6.1e-5:float16", 2, "ff03"); /* the largest subnormal but for its rounding */
  expect_fill("-3:bfloat16", 2, "40c0");
  expect_fill("1.00390625:bfloat16", 2, "803f"); /* a tie: to even */
  expect_fill("1.01171875:bfloat16", 2, "823f");
  expect_fill("0:float16", 2, "0000");
}

static void expect_refused(const char *text, const char *says) {
  vs_error error = {.status = VS_OK};
  assert_int_equal(vs_given_values_parse(vs_str_from(text), &given, &error), VS_BAD_ARGUMENT);
  assert_true(vs_str_contains(vs_str_from(error.text), vs_str_from(says)));
}

static void nonsense_is_named(void **state) {
  (void)state;
  expect_refused("kep", "did you mean \"keep\"?");
  expect_refused("ones", "not one of zeros|true|keep, and not FILE:LINE=VALUE: \"ones\"");
  expect_refused("keep,", "FILE:LINE=VALUE: \"\"");
  expect_refused("train.py:88", "FILE:LINE=VALUE");
  expect_refused("train.py=keep", "\"train.py\" is no place");
  expect_refused("train.py:=keep", "as in train.py:88=keep");
  expect_refused("train.py:0=1", "is no place");
  expect_refused("train.py:99999999999=1", "is no place");
  expect_refused(":3=1", "is no place");
  expect_refused("=", "as in train.py:88=true");
  expect_refused("train.py:88=", "\"\" is no value");
  expect_refused("train.py:88=ture", "did you mean \"true\"?");
  expect_refused("train.py:88=1:imt64", "did you mean \"int64\"?");
  expect_refused("train.py:88=x:int64", "\"x:int64\" is no value");
  expect_refused("train.py:88=300:uint8", "300 does not fit uint8");
  expect_refused("train.py:88=0.5:int64", "0.5 does not fit int64");
  expect_refused("train.py:88=65520:float16", "does not fit float16");
  expect_refused("train.py:88=1e999", "is no value");
  char many[4096] = "";
  for (int i = 0; i <= VS_GIVEN_MOST; i++)
    vs_format(many + strlen(many), 16, "%sa.py:%d=1", i == 0 ? "" : ",", i + 1);
  expect_refused(many, "64 places are the most");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(words_and_places),
                                     cmocka_unit_test(files_match_by_their_last_parts),
                                     cmocka_unit_test(each_value_fills), cmocka_unit_test(nonsense_is_named)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
