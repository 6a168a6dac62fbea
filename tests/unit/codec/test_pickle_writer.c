/* Golden bytes; each was loaded with CPython's pickle when it was written down. */
#include "codec/pickle_writer.h"
#include "support/test.h"

static vs_text text;
static vs_picklew w;

static int setup(void **state) {
  (void)state;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_picklew_begin(&w, &text);
  text.bytes.count = 0; /* the PROTO opcode has a test of its own */
  return 0;
}

static int teardown(void **state) {
  (void)state;
  vs_text_deinit(&text);
  return 0;
}

static void whole_pickle(void **state) {
  (void)state;
  vs_picklew_begin(&w, &text);
  vs_picklew_dict_begin(&w);
  vs_picklew_str(&w, VS_STR("pool"));
  vs_picklew_pair(&w, 0, 70000);
  vs_picklew_str(&w, VS_STR("empty"));
  vs_picklew_list_begin(&w);
  vs_picklew_list_end(&w);
  vs_picklew_str(&w, VS_STR("list"));
  vs_picklew_list_begin(&w);
  vs_picklew_none(&w);
  vs_picklew_bool(&w, true);
  vs_picklew_bool(&w, false);
  vs_picklew_f64(&w, 1.5);
  vs_picklew_list_end(&w);
  vs_picklew_dict_end(&w);
  vs_picklew_end(&w);
  expect_text(&text, "\x80\x04}(\x8c\x04poolK\x00J\x70\x11\x01\x00\x86\x8c\x05"
                     "empty]\x8c\x04list](N\x88\x89G\x3f\xf8"
                     "\x00\x00\x00\x00\x00\x00"
                     "eu.");
}

static void integers(void **state) {
  (void)state;
  static const struct {
    int64_t value;
    vs_str bytes;
  } cases[] = {
      {0, {"K\x00", 2}},
      {255, {"K\xff", 2}},
      {256, {"M\x00\x01", 3}},
      {65535, {"M\xff\xff", 3}},
      {65536, {"J\x00\x00\x01\x00", 5}},
      {INT32_MAX, {"J\xff\xff\xff\x7f", 5}},
      {-1, {"J\xff\xff\xff\xff", 5}},
      {INT32_MIN, {"J\x00\x00\x00\x80", 5}},
      {INT64_C(0x80000000), {"\x8a\x05\x00\x00\x00\x80\x00", 7}},
      {-INT64_C(0x80000001), {"\x8a\x05\xff\xff\xff\x7f\xff", 7}},
      {INT64_C(0x7fffffffff), {"\x8a\x05\xff\xff\xff\xff\x7f", 7}},
      {INT64_C(0x7f0000000000), {"\x8a\x06\x00\x00\x00\x00\x00\x7f", 8}},
      {-INT64_C(0x8000000000), {"\x8a\x05\x00\x00\x00\x00\x80", 7}},
      {INT64_MAX, {"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", 10}},
      {INT64_MIN, {"\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80", 10}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    vs_picklew_i64(&w, cases[i].value);
    expect_str_at(vs_text_view(&text), cases[i].bytes, __FILE__, __LINE__);
    text.bytes.count = 0;
    if (cases[i].value < 0) continue;
    vs_picklew_u64(&w, (uint64_t)cases[i].value);
    expect_str_at(vs_text_view(&text), cases[i].bytes, __FILE__, __LINE__);
    text.bytes.count = 0;
  }
  vs_picklew_u64(&w, UINT64_C(1) << 63);
  expect_text(&text, "\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00");
  vs_picklew_u64(&w, UINT64_MAX);
  expect_text(&text, "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00");
}

static void strings(void **state) {
  (void)state;
  vs_picklew_str(&w, (vs_str){NULL, 0});
  expect_text(&text, "\x8c\x00");
  vs_picklew_str(&w, VS_STR("caf\xc3\xa9"));
  expect_text(&text, "\x8c\x05"
                     "caf\xc3\xa9");
  vs_picklew_str(&w, VS_STR("a\xff"
                            "b\xc3")); /* stray bytes as Python writes them: '\udcff', '\udcc3' */
  expect_text(&text, "\x8c\x08"
                     "a\xed\xb3\xbf"
                     "b\xed\xb3\x83");
  vs_picklew_str(&w, VS_STR("\xed\xb3\xbf")); /* already so */
  expect_text(&text, "\x8c\x03\xed\xb3\xbf");
  char bytes[256];
  memset(bytes, 'x', sizeof bytes);
  vs_picklew_str(&w, (vs_str){bytes, 255});
  assert_memory_equal(text.bytes.data, "\x8c\xffxx", 4);
  assert_int_equal(text.bytes.count, 2 + 255);
  text.bytes.count = 0;
  vs_picklew_str(&w, (vs_str){bytes, 256});
  assert_memory_equal(text.bytes.data, "X\x00\x01\x00\x00xx", 7);
  assert_int_equal(text.bytes.count, 5 + 256);
}

static size_t count_of(char op) {
  size_t count = 0;
  for (size_t i = 0; i < text.bytes.count; i++) count += text.bytes.data[i] == op;
  return count;
}

/* A list of `items` Nones: one MARK and one APPENDS for each batch. */
static void expect_list_batches(size_t items, size_t batches) {
  text.bytes.count = 0;
  vs_picklew_list_begin(&w);
  for (size_t i = 0; i < items; i++) vs_picklew_none(&w);
  vs_picklew_list_end(&w);
  assert_int_equal(text.bytes.count, 1 + items + 2 * batches);
  assert_int_equal(count_of('('), batches);
  assert_int_equal(count_of('e'), batches);
}

static void expect_dict_batches(size_t pairs, size_t batches) {
  text.bytes.count = 0;
  vs_picklew_dict_begin(&w);
  for (size_t i = 0; i < 2 * pairs; i++) vs_picklew_none(&w);
  vs_picklew_dict_end(&w);
  assert_int_equal(text.bytes.count, 1 + 2 * pairs + 2 * batches);
  assert_int_equal(count_of('u'), batches);
}

static void batches(void **state) {
  (void)state;
  static const struct {
    size_t items, batches;
  } cases[] = {{0, 0}, {1, 1}, {1000, 1}, {1001, 2}, {2000, 2}, {2001, 3}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    expect_list_batches(cases[i].items, cases[i].batches);
    expect_dict_batches(cases[i].items, cases[i].batches);
  }
}

/* What comes often has the first numbers, what comes seldom those from VS_PICKLEW_OFTEN on. */
static void memo(void **state) {
  (void)state;
  uint32_t size = 0, action = 0;
  vs_picklew_list_begin(&w);
  vs_picklew_shared_str(&w, VS_STR("size"), true, &size);
  vs_picklew_shared_str(&w, VS_STR("action"), true, &action);
  vs_picklew_shared_str(&w, VS_STR("size"), true, &size);
  vs_picklew_list_begin(&w);
  vs_picklew_none(&w);
  vs_picklew_list_end(&w);
  const uint32_t list = vs_picklew_memoize(&w, false);
  assert_int_equal(list, VS_PICKLEW_OFTEN);
  vs_picklew_get(&w, list);
  vs_picklew_list_end(&w);
  expect_text(&text, "](\x8c\x04sizeq\x00\x8c\x06"
                     "actionq\x01h\x00](Neq\x40h\x40"
                     "e");
}

/* The thousandth value can still be named: its batch is open until the next value comes. */
static void memo_at_the_end_of_a_batch(void **state) {
  (void)state;
  vs_picklew_list_begin(&w);
  for (size_t i = 0; i < VS_PICKLEW_BATCH; i++) vs_picklew_none(&w);
  (void)vs_picklew_memoize(&w, true);
  text.bytes.count = 0;
  vs_picklew_get(&w, 0);
  vs_picklew_list_end(&w);
  expect_text(&text, "e(h\x00"
                     "e");
}

static void large_memo_indices(void **state) {
  (void)state;
  vs_picklew_list_begin(&w);
  for (uint32_t i = VS_PICKLEW_OFTEN; i < 300; i++) {
    vs_picklew_none(&w);
    assert_int_equal(vs_picklew_memoize(&w, false), i);
  }
  text.bytes.count = 0;
  vs_picklew_get(&w, 255);
  vs_picklew_get(&w, 256);
  vs_picklew_none(&w);
  assert_int_equal(vs_picklew_memoize(&w, false), 300);
  expect_text(&text, "h\xffj\x00\x01\x00\x00Nr\x2c\x01\x00\x00");
}

static void few_numbers_for_what_comes_often(void **state) {
  (void)state;
  vs_picklew_list_begin(&w);
  for (uint32_t i = 0; i <= VS_PICKLEW_OFTEN; i++) {
    vs_picklew_none(&w);
    assert_int_equal(vs_picklew_memoize(&w, true), i);
  }
  vs_picklew_none(&w);
  assert_int_equal(vs_picklew_memoize(&w, false), VS_PICKLEW_OFTEN + 1);
}

static void key_without_value(void) {
  vs_picklew_dict_begin(&w);
  vs_picklew_none(&w);
  vs_picklew_dict_end(&w);
}
static void wrong_end(void) {
  vs_picklew_dict_begin(&w);
  vs_picklew_list_end(&w);
}
static void left_open(void) {
  vs_picklew_dict_begin(&w);
  vs_picklew_end(&w);
}
static void unknown_memo(void) { vs_picklew_get(&w, 0); }
static void too_deep(void) {
  for (int i = 0; i <= VS_PICKLEW_DEPTH; i++) vs_picklew_list_begin(&w);
}

static void misuse_traps(void **state) {
  (void)state;
  expect_trap(key_without_value);
  expect_trap(wrong_end);
  expect_trap(left_open);
  expect_trap(unknown_memo);
  expect_trap(too_deep);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(whole_pickle, setup, teardown),
      cmocka_unit_test_setup_teardown(integers, setup, teardown),
      cmocka_unit_test_setup_teardown(strings, setup, teardown),
      cmocka_unit_test_setup_teardown(batches, setup, teardown),
      cmocka_unit_test_setup_teardown(memo, setup, teardown),
      cmocka_unit_test_setup_teardown(memo_at_the_end_of_a_batch, setup, teardown),
      cmocka_unit_test_setup_teardown(large_memo_indices, setup, teardown),
      cmocka_unit_test_setup_teardown(few_numbers_for_what_comes_often, setup, teardown),
      cmocka_unit_test_setup_teardown(misuse_traps, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
