/* How many blocks at the peak have the size of the logits, from the inventory of a history. */
#include "dryrun/logits.h"
#include "base/check.h"
#include "support/test.h"

static vs_logits logits_of(const char *text) {
  vs_json_doc document;
  vs_error error;
  assert_int_equal(vs_json_doc_init(&document, vs_host_default(), vs_str_from(text), &error), VS_OK);
  const vs_logits logits = vs_logits_of(vs_json_root(&document));
  vs_json_doc_deinit(&document);
  return logits;
}

/* Frame 0 is that of cross_entropy, frame 1 the program's, frame 2 another function of that file, frame 3 the program's own cross_entropy. */
#define FRAMES                                                                                \
  "\"frames\": [{\"function\": \"cross_entropy\", \"file\": \"/x/torch/nn/functional.py\"}, " \
  "{\"function\": \"main\", \"file\": \"/x/train.py\"}, "                                     \
  "{\"function\": \"linear\", \"file\": \"/x/torch/nn/functional.py\"}, "                     \
  "{\"function\": \"cross_entropy\", \"file\": \"/x/train.py\"}]"
#define STACK(label, frames, sizes) \
  "{\"label\": \"" label "\", \"frames\": [" frames "], \"sizes\": [" sizes "]}"
#define INVENTORY(bytes, stacks) "{\"bytes\": " bytes ", " FRAMES ", \"stacks\": [" stacks "]}"

static void test_blocks_of_one_size_are_counted_wherever_they_are_from(void **state) {
  (void)state;
  const vs_logits logits = logits_of(INVENTORY(
      "10000", STACK("train.py:7 main", "2,1", "[900,1],[600,1],[5,9]") "," STACK(
                   "train.py:8 main", "0,1", "[600,1],[8,1]") "," STACK("", "", "[600,2],[300,4]")));
  assert_int_equal(logits.block_bytes, 600);
  assert_int_equal(logits.blocks, 4);
  assert_string_equal(logits.place, "train.py:8 main");
}

static void test_the_largest_loss_is_meant(void **state) {
  (void)state;
  const vs_logits logits = logits_of(INVENTORY(
      "1000", STACK("a", "0,1", "[100,3]") "," STACK("b", "0,1", "[200,2]") "," STACK("c", "0,1", "[50,1]")));
  assert_int_equal(logits.block_bytes, 200);
  assert_int_equal(logits.blocks, 2);
  assert_string_equal(logits.place, "b");
}

static void expect_none(const char *text) {
  const vs_logits logits = logits_of(text);
  assert_true(logits.block_bytes == 0 && logits.blocks == 0 && logits.place[0] == 0);
}

static void test_there_are_none(void **state) {
  (void)state;
  expect_none("{}");
  expect_none(INVENTORY("1000", STACK("a", "1,2", "[900,1]")));
  expect_none(INVENTORY("1000", STACK("a", "3,1", "[900,1]")));
  expect_none(INVENTORY("1000", STACK("a", "0,1", "")));
  expect_none(INVENTORY("1000", STACK("a", "0,9,\"x\",1", "7,[]")));
}

static void test_a_twentieth_matters(void **state) {
  (void)state;
  expect_none(INVENTORY("10020", STACK("a", "0,1", "[100,5]")));
  assert_int_equal(logits_of(INVENTORY("10000", STACK("a", "0,1", "[100,5]"))).blocks, 5);
}

static void test_a_long_place_is_cut(void **state) {
  (void)state;
  static const char digits[] = "0123456789012345678901234567890123456789012345678901234567890123456789";
  char text[1024];
  vs_format(text, sizeof text, INVENTORY("1000", STACK("%s%s", "0,1", "[900,1]")), digits, digits);
  const vs_logits logits = logits_of(text);
  assert_int_equal(strlen(logits.place), VS_LOGITS_PLACE - 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_blocks_of_one_size_are_counted_wherever_they_are_from),
      cmocka_unit_test(test_the_largest_loss_is_meant),
      cmocka_unit_test(test_there_are_none),
      cmocka_unit_test(test_a_twentieth_matters),
      cmocka_unit_test(test_a_long_place_is_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
