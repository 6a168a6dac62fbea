/* Files of other kinds are told by how they begin; ours are left alone. */
#include "codec/foreign.h"
#include "support/test.h"

static const char *sentence_of(vs_str head) { return vs_foreign_sentence(head.data, head.size); }

#define expect_sentence(literal, part)                                 \
  do {                                                                 \
    const char *sentence = sentence_of(VS_STR(literal));               \
    assert_non_null(sentence);                                         \
    assert_true(vs_str_contains(vs_str_from(sentence), VS_STR(part))); \
  } while (0)

static void others_are_told(void **state) {
  (void)state;
  expect_sentence("\x28\xb5\x2f\xfd....", "zstd -d");
  expect_sentence("\xfd"
                  "7zXZ",
                  "xz -d");
  expect_sentence("BZh9", "bzip2");
  expect_sentence("PK\x03\x04", "zip archive");
  expect_sentence("\x7f"
                  "ELF",
                  "a program");
  expect_sentence("\x89PNG", "a picture");
  expect_sentence("SQLite format 3", "SQLite");
  expect_sentence("version https://git-lfs.github.com/spec/v1", "git lfs pull");
  expect_sentence("<!DOCTYPE html>", "web page");
  expect_sentence(" \r\n\t<HTML lang=en>", "web page");
}

static void ours_are_not(void **state) {
  (void)state;
  const vs_str ours[] = {
      VS_STR(""),     VS_STR("\x80\x04}"), VS_STR("(dp0"), VS_STR(" {\"segments\""), VS_STR("["), VS_STR("<"),
      VS_STR("<htm"), VS_STR("PK"),        VS_STR("   "),
  };
  for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) assert_null(sentence_of(ours[i]));
}

static void gzip_has_a_question_of_its_own(void **state) {
  (void)state;
  assert_null(sentence_of(VS_STR("\x1f\x8b\x08")));
  assert_true(vs_begins_as_gzip("\x1f\x8b", 2));
  assert_false(vs_begins_as_gzip("\x1f\x8b", 1));
  assert_false(vs_begins_as_gzip("\x1f\x8c", 2));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(others_are_told),
      cmocka_unit_test(ours_are_not),
      cmocka_unit_test(gzip_has_a_question_of_its_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
