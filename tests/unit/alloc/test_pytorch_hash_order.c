/* The table that is walked as PyTorch's hash maps are. The slots in golden_walk were computed by hand from the rules in
 * pytorch_hash_order.h; tests/torch holds whole runs against the real maps. */
#include "alloc/pytorch_hash_order.h"
#include "support/random.h"
#include "support/test.h"

static fault_host host;
static vs_alloc_hash_order order;
static uint64_t values[4096];

static void begin(void) {
  fault_host_init(&host, FAULT_NEVER);
  order = (vs_alloc_hash_order){0};
}

static void end(void) {
  vs_alloc_hash_order_deinit(&host.host, &order);
  fault_host_expect_empty(&host);
}

static uint64_t home(uint64_t key, uint32_t buckets) {
  return (key * UINT64_C(11400714819323198485)) >> (64 - __builtin_ctz(buckets));
}

/* No entry lies before its home, each distance is true, robin hood: distances fall by any amount but rise by one. */
static void expect_sound(void) {
  assert_null(vs_alloc_hash_order_check(&order));
  uint32_t count = 0, last_end = 0;
  for (uint32_t at = vs_alloc_hash_order_next(&order, 0); at != UINT32_MAX;
       at = vs_alloc_hash_order_next(&order, at + 1)) {
    const vs_alloc_hash_slot *slot = &order.slots[at];
    assert_int_equal(at - home(slot->key, order.buckets), slot->distance);
    if (slot->distance > 0) {
      assert_int_equal(last_end, at); /* no free slot between home and entry */
      assert_true(order.slots[at - 1].distance >= slot->distance - 1);
    }
    last_end = at + 1;
    count++;
  }
  assert_int_equal(count, order.count);
  assert_true(2 * count <= order.buckets || order.buckets == 0);
}

static void behaves_like_a_map(void **state) {
  (void)state;
  begin();
  static bool is_in[4096];
  test_random random = {3};
  for (int round = 0; round < 40000; round++) {
    const uint64_t key = random_below(&random, round < 20000 ? 64 : 4096);
    assert_ptr_equal(vs_alloc_hash_order_find(&order, key), is_in[key] ? &values[key] : NULL);
    if (is_in[key]) vs_alloc_hash_order_remove(&order, key);
    else expect_ok(vs_alloc_hash_order_add(&host.host, &order, key, &values[key]));
    is_in[key] = !is_in[key];
    if (round % 32 == 0) expect_sound();
  }
  end();
}

/* Four buckets first; the third entry makes it eight. Homes among eight: 1 -> 4, 2 -> 1, 3 -> 6. */
static void golden_walk(void **state) {
  (void)state;
  begin();
  for (uint64_t key = 1; key <= 3; key++)
    expect_ok(vs_alloc_hash_order_add(&host.host, &order, key, &values[key]));
  assert_int_equal(order.buckets, 8);
  static const uint64_t wanted[] = {2, 1, 3};
  uint32_t at = vs_alloc_hash_order_next(&order, 0);
  for (size_t i = 0; i < 3; i++, at = vs_alloc_hash_order_next(&order, at + 1))
    assert_int_equal(order.slots[at].key, wanted[i]);
  assert_int_equal(at, UINT32_MAX);
  end();
}

/* Keys of one home: the newest stands last; one removed makes the others move up. */
static void equal_homes_stand_in_a_row(void **state) {
  (void)state;
  begin();
  uint64_t keys[4], count = 0;
  for (uint64_t key = 1; count < 4; key++)
    if (home(key, 8) == 5) keys[count++] = key;
  for (int i = 0; i < 4; i++) expect_ok(vs_alloc_hash_order_add(&host.host, &order, keys[i], &values[i]));
  assert_int_equal(order.buckets, 8);
  for (uint32_t i = 0; i < 4; i++) assert_int_equal(order.slots[5 + i].key, keys[i]);
  vs_alloc_hash_order_remove(&order, keys[1]);
  assert_int_equal(order.slots[6].key, keys[2]);
  assert_int_equal(order.slots[7].key, keys[3]);
  assert_int_equal(order.slots[8].distance, -1);
  end();
}

/* A failed insertion leaves every entry to be found. */
static void no_memory_changes_nothing(void **state) {
  (void)state;
  for (uint64_t fail = 0; fail < 40; fail++) {
    begin();
    host.fail_at = fail;
    uint64_t added = 0;
    test_random random = {5};
    static uint64_t keys[64];
    while (added < 64) {
      keys[added] = random_below(&random, 8) << 60 | added; /* crowded homes */
      if (vs_alloc_hash_order_add(&host.host, &order, keys[added], &values[added]) != VS_OK) break;
      added++;
    }
    for (uint64_t i = 0; i < added; i++)
      assert_ptr_equal(vs_alloc_hash_order_find(&order, keys[i]), &values[i]);
    assert_int_equal(order.count, added);
    expect_sound();
    end();
    if (added == 64) return;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(behaves_like_a_map),
      cmocka_unit_test(golden_walk),
      cmocka_unit_test(equal_homes_stand_in_a_row),
      cmocka_unit_test(no_memory_changes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
