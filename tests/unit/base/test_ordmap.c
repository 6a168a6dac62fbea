/* vs_ordmap against a sorted array, with its invariant executed after every step. */
#include "base/ordmap.h"
#include "support/random.h"
#include "support/test.h"

enum { MODEL_MAX = 700, STEPS = 20000, KEYS = 900 };

typedef struct model {
  uint64_t keys[MODEL_MAX];
  uint32_t values[MODEL_MAX];
  size_t count;
} model;

/* The place of the first key >= key. */
static size_t model_lower(const model *m, uint64_t key) {
  size_t i = 0;
  while (i < m->count && m->keys[i] < key) i++;
  return i;
}

static void model_put(model *m, uint64_t key, uint32_t value) {
  const size_t at = model_lower(m, key);
  if (at == m->count || m->keys[at] != key) {
    memmove(m->keys + at + 1, m->keys + at, (m->count - at) * sizeof *m->keys);
    memmove(m->values + at + 1, m->values + at, (m->count - at) * sizeof *m->values);
    m->keys[at] = key;
    m->count++;
  }
  m->values[at] = value;
}

static void model_remove(model *m, size_t at) {
  m->count--;
  memmove(m->keys + at, m->keys + at + 1, (m->count - at) * sizeof *m->keys);
  memmove(m->values + at, m->values + at + 1, (m->count - at) * sizeof *m->values);
}

static void expect_entry(const vs_ordmap *map, vs_ordmap_pos pos, const model *m, size_t at) {
  if (at == m->count) {
    assert_true(vs_ordmap_at_end(map, pos));
    return;
  }
  assert_false(vs_ordmap_at_end(map, pos));
  assert_int_equal(vs_ordmap_key(map, pos), m->keys[at]);
  assert_int_equal(vs_ordmap_value(map, pos), m->values[at]);
}

static void expect_questions(const vs_ordmap *map, const model *m, uint64_t key) {
  const size_t at = model_lower(m, key);
  const bool is_there = at < m->count && m->keys[at] == key;
  vs_ordmap_pos pos;
  expect_entry(map, vs_ordmap_lower(map, key), m, at);
  assert_int_equal(vs_ordmap_find(map, key, &pos), is_there);
  if (is_there) expect_entry(map, pos, m, at);
  const size_t upper = at + is_there;
  assert_int_equal(vs_ordmap_floor(map, key, &pos), upper > 0);
  if (upper > 0) expect_entry(map, pos, m, upper - 1);
}

/* Forwards to the end and backwards to the first. */
static void expect_walk(const vs_ordmap *map, const model *m) {
  vs_ordmap_pos pos = vs_ordmap_begin(), last = pos;
  size_t at = 0;
  for (; !vs_ordmap_at_end(map, pos); last = pos, pos = vs_ordmap_next(map, pos))
    expect_entry(map, pos, m, at++);
  assert_int_equal(at, m->count);
  if (m->count == 0) return;
  do expect_entry(map, last, m, --at);
  while (vs_ordmap_previous(map, &last));
  assert_int_equal(at, 0);
}

static void random_operations(void **state) {
  (void)state;
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  vs_ordmap map = {0};
  static model m;
  m.count = 0;
  test_random random = {2};
  for (uint32_t step = 0; step < STEPS; step++) {
    const uint64_t key = random_below(&random, KEYS) * 512;
    const bool grows = (step / 2000) % 2 == 0;
    vs_ordmap_pos pos;
    if (m.count < MODEL_MAX && random_below(&random, 100) < (grows ? 70 : 25)) {
      expect_ok(vs_ordmap_put(&fault.host, &map, key, step));
      model_put(&m, key, step);
    } else if (vs_ordmap_floor(&map, key, &pos)) {
      model_remove(&m, model_lower(&m, vs_ordmap_key(&map, pos)));
      vs_ordmap_remove(&fault.host, &map, pos);
    }
    assert_true(vs_ordmap_check(&map));
    assert_int_equal(map.count, m.count);
    expect_questions(&map, &m, random_below(&random, KEYS * 512));
    expect_questions(&map, &m, random_below(&random, KEYS) * 512);
    if (step % 250 == 0) expect_walk(&map, &m);
  }
  vs_ordmap_deinit(&fault.host, &map);
  fault_host_expect_empty(&fault);
}

static void ends_of_the_number_range(void **state) {
  (void)state;
  vs_ordmap map = {0};
  vs_ordmap_pos pos;
  assert_false(vs_ordmap_floor(&map, UINT64_MAX, &pos));
  assert_true(vs_ordmap_at_end(&map, vs_ordmap_lower(&map, 0)));
  expect_ok(vs_ordmap_put(vs_host_default(), &map, UINT64_MAX, 1));
  expect_ok(vs_ordmap_put(vs_host_default(), &map, 0, 2));
  assert_true(vs_ordmap_find(&map, 0, &pos) && vs_ordmap_value(&map, pos) == 2);
  assert_false(vs_ordmap_previous(&map, &pos));
  assert_true(vs_ordmap_find(&map, UINT64_MAX, &pos) && vs_ordmap_value(&map, pos) == 1);
  assert_true(vs_ordmap_check(&map));
  vs_ordmap_deinit(vs_host_default(), &map);
}

/* A set that breathes around a chunk's edge takes its chunk from the spare and asks the host for nothing. */
static void breathing_does_not_allocate(void **state) {
  (void)state;
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  vs_ordmap map = {0};
  vs_ordmap_pos pos;
  for (uint64_t key = 0; key <= VS_ORDMAP_CHUNK; key++) expect_ok(vs_ordmap_put(&fault.host, &map, key, 0));
  uint64_t requests = 0;
  for (int round = 0; round < 3; round++) {
    while (map.chunks.count == 2) {
      assert_true(vs_ordmap_floor(&map, UINT64_MAX, &pos));
      vs_ordmap_remove(&fault.host, &map, pos);
    }
    for (uint64_t key = 0; key <= VS_ORDMAP_CHUNK; key++) expect_ok(vs_ordmap_put(&fault.host, &map, key, 0));
    if (round == 0) requests = fault.requests;
  }
  assert_int_equal(fault.requests, requests);
  vs_ordmap_deinit(&fault.host, &map);
  fault_host_expect_empty(&fault);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_operations),
      cmocka_unit_test(ends_of_the_number_range),
      cmocka_unit_test(breathing_does_not_allocate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
