/* vs_map against a naive list of entries, in the order in which they were added. */
#include "base/map.h"
#include "support/random.h"
#include "support/test.h"

enum { MODEL_MAX = 600, STEPS = 60000 };

typedef struct entry {
  uint64_t key;
  uint32_t value;
} entry;

typedef struct model {
  entry entries[MODEL_MAX];
  size_t count;
} model;

static void model_remove(model *m, size_t index) {
  memmove(m->entries + index, m->entries + index + 1, (--m->count - index) * sizeof *m->entries);
}

/* All values of `key`, in the order of their adding, from both sides. */
static void expect_same_key(const vs_map *map, const model *m, uint64_t key) {
  size_t slot = vs_map_find(map, key);
  for (size_t i = 0; i < m->count; i++) {
    if (m->entries[i].key != key) continue;
    assert_int_not_equal(slot, VS_MAP_NONE);
    assert_int_equal(map->slots[slot].value, m->entries[i].value);
    slot = vs_map_find_next(map, slot);
  }
  assert_int_equal(slot, VS_MAP_NONE);
}

static void expect_invariant(const vs_map *map) {
  size_t used = 0;
  for (size_t i = 0; i < map->capacity; i++) {
    if (!map->slots[i].used) continue;
    used++;
    const size_t mask = map->capacity - 1;
    for (size_t k = (size_t)vs_hash_u64(map->slots[i].key) & mask; k != i; k = (k + 1) & mask)
      assert_true(map->slots[k].used);
  }
  assert_int_equal(used, map->count);
  assert_true(map->count <= map->capacity - map->capacity / 4);
}

/* Removes the first entry of `key`, if there is one. */
static void remove_first(vs_map *map, model *m, uint64_t key) {
  const size_t slot = vs_map_find(map, key);
  if (slot == VS_MAP_NONE) return;
  vs_map_remove(map, slot);
  size_t i = 0;
  while (m->entries[i].key != key) i++;
  model_remove(m, i);
}

static void random_operations(void **state) {
  (void)state;
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  vs_map map = {0};
  static model m;
  m.count = 0;
  test_random random = {1};
  for (uint32_t step = 0; step < STEPS; step++) {
    const uint64_t key = random_below(&random, 200) * UINT64_C(0x200000); /* addresses; many equal ones */
    const bool grows = (step / 1000) % 2 == 0;
    if (m.count < MODEL_MAX && random_below(&random, 100) < (grows ? 65 : 35)) {
      expect_ok(vs_map_reserve(&fault.host, &map));
      vs_map_add(&map, key, step);
      m.entries[m.count++] = (entry){key, step};
    } else {
      remove_first(&map, &m, key);
    }
    assert_int_equal(map.count, m.count);
    expect_same_key(&map, &m, random_below(&random, 200) * UINT64_C(0x200000));
    if (step % 500 == 0) expect_invariant(&map);
  }
  assert_null(vs_map_check(&map));
  vs_map_deinit(&fault.host, &map);
  fault_host_expect_empty(&fault);
}

static void removes_from_the_middle_of_equal_keys(void **state) {
  (void)state;
  vs_map map = {0};
  for (uint32_t value = 0; value < 5; value++) {
    expect_ok(vs_map_reserve(vs_host_default(), &map));
    vs_map_add(&map, 7, value);
  }
  size_t slot = vs_map_find(&map, 7);
  slot = vs_map_find_next(&map, slot);
  vs_map_remove(&map, slot);
  static const uint32_t left[] = {0, 2, 3, 4};
  slot = vs_map_find(&map, 7);
  for (size_t i = 0; i < 4; i++, slot = vs_map_find_next(&map, slot))
    assert_int_equal(map.slots[slot].value, left[i]);
  assert_int_equal(slot, VS_MAP_NONE);
  assert_null(vs_map_check(&map));
  vs_map_deinit(vs_host_default(), &map);
}

static void empty_and_cleared(void **state) {
  (void)state;
  vs_map map = {0};
  assert_int_equal(vs_map_find(&map, 0), VS_MAP_NONE);
  vs_map_clear(&map);
  expect_ok(vs_map_reserve(vs_host_default(), &map));
  vs_map_add(&map, 0, 9);
  assert_int_not_equal(vs_map_find(&map, 0), VS_MAP_NONE);
  vs_map_clear(&map);
  assert_int_equal(vs_map_find(&map, 0), VS_MAP_NONE);
  assert_int_equal(map.count, 0);
  assert_null(vs_map_check(&map));
  vs_map_deinit(vs_host_default(), &map);
}

/* Thousands of equal keys, or of keys made to meet, are refused before they take for ever. */
static void a_flood_is_refused(void **state) {
  (void)state;
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  vs_map map = {0};
  vs_status status = VS_OK;
  uint32_t added = 0;
  for (; added < 100000 && (status = vs_map_reserve(&fault.host, &map)) == VS_OK; added++)
    vs_map_add(&map, 42, added);
  expect_status(status, VS_LIMIT);
  assert_true(added > VS_MAP_MOST_PROBES && added < 2 * VS_MAP_MOST_PROBES);
  assert_true(fault.peak_bytes < 1024 * 1024);
  assert_int_equal(map.slots[vs_map_find(&map, 42)].value, 0);
  vs_map_clear(&map);
  expect_ok(vs_map_reserve(&fault.host, &map));
  assert_null(vs_map_check(&map));
  vs_map_deinit(&fault.host, &map);
  fault_host_expect_empty(&fault);
}

/* And chance does nothing of the kind. */
static void a_large_table_is_not_crowded(void **state) {
  (void)state;
  vs_map map = {0};
  for (uint64_t i = 0; i < 1000000; i++) {
    expect_ok(vs_map_reserve(vs_host_default(), &map));
    vs_map_add(&map, i << 9, (uint32_t)i);
    assert_false(map.crowded);
  }
  assert_true(map.capacity <= 2097152);
  assert_null(vs_map_check(&map));
  vs_map_deinit(vs_host_default(), &map);
}

static void the_check_finds_what_is_broken(void **state) {
  (void)state;
  vs_map map = {0};
  for (uint64_t key = 0; key < 40; key++) {
    expect_ok(vs_map_reserve(vs_host_default(), &map));
    vs_map_add(&map, key, 1);
  }
  assert_null(vs_map_check(&map));
  map.count++;
  assert_non_null(vs_map_check(&map));
  map.count--;
  size_t slot = vs_map_find(&map, 7);
  map.slots[slot].key += 1000; /* another home, from which it is not found */
  size_t moved = vs_map_find(&map, 1007);
  if (moved == VS_MAP_NONE) assert_non_null(vs_map_check(&map));
  map.slots[slot].key -= 1000;
  map.slots[slot].used = 0;
  assert_non_null(vs_map_check(&map));
  map.slots[slot].used = 1;
  assert_null(vs_map_check(&map));
  vs_map_deinit(vs_host_default(), &map);
}

static void a_sparse_table_is_half_full_at_most(void **state) {
  (void)state;
  vs_map map = {0};
  for (uint64_t key = 0; key < 5000; key++) {
    expect_ok(vs_map_reserve_sparse(vs_host_default(), &map));
    vs_map_add(&map, key, 1);
    assert_true(map.count <= map.capacity / 2 && map.capacity <= 16 + 4 * map.count);
  }
  assert_null(vs_map_check(&map));
  vs_map_deinit(vs_host_default(), &map);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_check_finds_what_is_broken),
      cmocka_unit_test(random_operations),
      cmocka_unit_test(removes_from_the_middle_of_equal_keys),
      cmocka_unit_test(empty_and_cleared),
      cmocka_unit_test(a_flood_is_refused),
      cmocka_unit_test(a_large_table_is_not_crowded),
      cmocka_unit_test(a_sparse_table_is_half_full_at_most),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
