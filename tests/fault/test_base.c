/* Every operation of base that asks for memory, with each of its requests failing once: the answer is
 * VS_NO_MEMORY, the object is as it was, and nothing is left behind. */
#include "base/human.h"
#include "base/interned_lists.h"
#include "base/ordmap.h"
#include "base/double_text.h"
#include "base/sort.h"
#include "base/interned_strings.h"
#include "support/test.h"

static vs_status use_map(const vs_host *host, void *ctx) {
  (void)ctx;
  vs_map map = {0};
  vs_status status = VS_OK;
  for (uint32_t i = 0; i < 100 && status == VS_OK; i++) {
    status = vs_map_reserve(host, &map);
    if (status == VS_OK) vs_map_add(&map, i, i);
    for (uint32_t k = 0; k < map.count; k++) assert_int_not_equal(vs_map_find(&map, k), VS_MAP_NONE);
  }
  vs_map_deinit(host, &map);
  return status;
}

static vs_status use_ordmap(const vs_host *host, void *ctx) {
  (void)ctx;
  vs_ordmap map = {0};
  vs_status status = VS_OK;
  for (uint32_t i = 0; i < 300 && status == VS_OK; i++) {
    const size_t count = map.count;
    const uint64_t key = i * UINT64_C(7919) % 300;
    status = vs_ordmap_put(host, &map, key, i);
    assert_int_equal(map.count, count + (status == VS_OK));
    vs_ordmap_pos pos;
    assert_int_equal(vs_ordmap_find(&map, key, &pos), status == VS_OK);
    if (map.count > 0) assert_true(vs_ordmap_check(&map));
  }
  vs_ordmap_deinit(host, &map);
  return status;
}

static vs_status use_strings(const vs_host *host, void *ctx) {
  (void)ctx;
  vs_strings strings;
  VS_TRY(vs_strings_init(host, &strings));
  vs_status status = VS_OK;
  char text[24];
  for (uint64_t i = 0; i < 200 && status == VS_OK; i++) {
    uint32_t id;
    vs_format(text, sizeof text, "frame %U", i);
    status = vs_strings_intern(host, &strings, vs_str_from(text), &id);
    assert_int_equal(vs_strings_find(&strings, vs_str_from(text)), status == VS_OK ? id : VS_STRING_NONE);
  }
  vs_strings_deinit(host, &strings);
  return status;
}

static vs_status use_lists(const vs_host *host, void *ctx) {
  (void)ctx;
  vs_lists lists;
  VS_TRY(vs_lists_init(host, &lists));
  vs_status status = VS_OK;
  for (uint32_t i = 0; i < 200 && status == VS_OK; i++) {
    const uint32_t items[] = {i, i, i}, count = vs_lists_count(&lists);
    uint32_t id;
    status = vs_lists_intern(host, &lists, items, 3, &id);
    assert_int_equal(vs_lists_count(&lists), count + (status == VS_OK));
  }
  vs_lists_deinit(host, &lists);
  return status;
}

static vs_status use_text(const vs_host *host, void *ctx) {
  (void)ctx;
  vs_text text;
  vs_text_init(&text, host, NULL);
  for (uint64_t i = 0; i < 40; i++) {
    vs_text_bytes(&text, i << 20, VS_UNIT_BINARY);
    vs_text_duration(&text, i << 20);
    vs_text_percent(&text, i, 40);
    vs_text_f64(&text, 1.0 / (double)(i + 1));
    vs_text_format(&text, "%U %S\n", i, VS_STR("text"));
  }
  const vs_status status = vs_text_finish(&text);
  vs_text_deinit(&text);
  return status;
}

static bool by_number(const void *ctx, uint32_t a, uint32_t b) {
  (void)ctx;
  return a < b;
}

static vs_status use_sort(const vs_host *host, void *ctx) {
  (void)ctx;
  uint32_t rows[] = {3, 1, 2};
  vs_sort_pair pairs[] = {{3, 0}, {1, 1}, {2, 2}};
  VS_TRY(vs_sort_rows(host, rows, 3, by_number, NULL));
  return vs_sort_pairs(host, pairs, 3);
}

static void map(void **state) {
  (void)state;
  assert_int_equal(fault_prove(use_map, NULL), 5); /* 16, 32, 64, 128, 256 slots */
}
static void ordmap(void **state) {
  (void)state;
  assert_true(fault_prove(use_ordmap, NULL) > 6);
}
static void strings(void **state) {
  (void)state;
  assert_true(fault_prove(use_strings, NULL) > 6);
}
static void lists(void **state) {
  (void)state;
  assert_true(fault_prove(use_lists, NULL) > 6);
}
static void text(void **state) {
  (void)state;
  assert_true(fault_prove(use_text, NULL) > 6);
}
static void sort(void **state) {
  (void)state;
  assert_int_equal(fault_prove(use_sort, NULL), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(map),   cmocka_unit_test(ordmap), cmocka_unit_test(strings),
      cmocka_unit_test(lists), cmocka_unit_test(text),   cmocka_unit_test(sort),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
