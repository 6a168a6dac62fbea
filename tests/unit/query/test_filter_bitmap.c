/* What a filter keeps, as bits, against a plain list. */
#include "query/filter_bitmap.h"
#include "support/random.h"
#include "support/test.h"

enum { MOST = 3000 };

typedef struct model {
  bool keeps[MOST];
  uint32_t size;
} model;

static bool keeps(void *ctx, uint32_t row) {
  const model *m = ctx;
  assert_true(row < m->size);
  return m->keeps[row];
}

static const vs_filter no_filter;

static void check(model *m) {
  vs_filter_bitmap bitmap;
  expect_ok(vs_filter_bitmap_build(vs_host_default(), &no_filter, false, m->size, keeps, m, &bitmap));
  uint32_t before = 0, last = VS_NO_MATCH;
  for (uint32_t row = 0; row < m->size; row++) {
    assert_int_equal(vs_filter_bitmap_before(&bitmap, row), before);
    assert_int_equal(vs_filter_bitmap_has(&bitmap, row), m->keeps[row]);
    if (m->keeps[row]) {
      assert_int_equal(vs_filter_bitmap_nth(&bitmap, before), row);
      before++;
      last = row;
    }
    assert_int_equal(vs_filter_bitmap_previous(&bitmap, row), last);
  }
  uint32_t next = VS_NO_MATCH;
  for (uint32_t row = m->size; row-- > 0;) {
    if (m->keeps[row]) next = row;
    assert_int_equal(vs_filter_bitmap_next(&bitmap, row), next);
  }
  assert_int_equal(bitmap.kept, before);
  assert_int_equal(vs_filter_bitmap_before(&bitmap, m->size), before);
  assert_int_equal(vs_filter_bitmap_nth(&bitmap, before), VS_NO_MATCH);
  assert_int_equal(vs_filter_bitmap_next(&bitmap, m->size), VS_NO_MATCH);
  assert_int_equal(vs_filter_bitmap_previous(&bitmap, UINT32_MAX), last);
  vs_filter_bitmap_deinit(vs_host_default(), &bitmap);
}

static void every_question_has_the_answer_of_a_list(void **state) {
  (void)state;
  static const uint32_t sizes[] = {0, 1, 63, 64, 65, 511, 512, 513, 1024, 2999};
  static const uint32_t one_in[] = {1, 2, 70, 2000};
  test_random random = {.state = 7};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (size_t j = 0; j < sizeof one_in / sizeof *one_in; j++) {
      static model m;
      m.size = sizes[i];
      for (uint32_t row = 0; row < m.size; row++) m.keeps[row] = random_below(&random, one_in[j]) == 0;
      check(&m);
    }
}

static bool keeps_all(void *ctx, uint32_t row) {
  (void)ctx;
  (void)row;
  return true;
}

static vs_filter_bitmap matches_of(const vs_filter *filter) {
  vs_filter_bitmap bitmap;
  expect_ok(vs_filter_bitmap_build(vs_host_default(), filter, false, 10, keeps_all, NULL, &bitmap));
  return bitmap;
}

/* Two stay; the third replaces the least recently used one. */
static void the_last_two_are_kept(void **state) {
  (void)state;
  const vs_host *host = vs_host_default();
  vs_error error;
  vs_filter filters[3];
  vs_bitmap_cache cache = {0};
  static const char *const texts[] = {"a", "b", "c"};
  for (size_t i = 0; i < 3; i++) expect_ok(vs_filter_init(&filters[i], host, vs_str_from(texts[i]), &error));
  assert_null(vs_bitmap_cache_find(&cache, &filters[0], false));
  for (size_t i = 0; i < 2; i++) {
    const vs_filter_bitmap built = matches_of(&filters[i]);
    (void)vs_bitmap_cache_put(host, &cache, &built);
  }
  assert_non_null(vs_bitmap_cache_find(&cache, &filters[0], false));
  assert_null(vs_bitmap_cache_find(&cache, &filters[0], true));
  const vs_filter_bitmap built = matches_of(&filters[2]);
  const vs_filter_bitmap *kept = vs_bitmap_cache_find(&cache, &filters[0], false);
  assert_ptr_not_equal(vs_bitmap_cache_put(host, &cache, &built), kept);
  assert_ptr_equal(vs_bitmap_cache_find(&cache, &filters[0], false), kept);
  assert_null(vs_bitmap_cache_find(&cache, &filters[1], false));
  vs_bitmap_cache_deinit(host, &cache);
  for (size_t i = 0; i < 3; i++) vs_filter_deinit(&filters[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_question_has_the_answer_of_a_list),
      cmocka_unit_test(the_last_two_are_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
