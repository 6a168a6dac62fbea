/* The bins and the table of addresses against a plain array. */
#include "alloc/bins.h"
#include "support/random.h"
#include "support/test.h"

enum { BLOCKS = 600, ROUNDS = 20000 };

typedef struct world {
  fault_host host;
  vs_alloc_lane lane;
  vs_alloc_block blocks[BLOCKS];
  bool is_free[BLOCKS];
} world;

static world w;

static void begin(void) {
  memset(&w, 0, sizeof w);
  fault_host_init(&w.host, FAULT_NEVER);
  expect_ok(vs_alloc_lane_reserve(&w.host.host, &w.lane, UINT64_C(1) << 36));
}

static void end(void) {
  vs_alloc_lane_deinit(&w.host.host, &w.lane);
  fault_host_expect_empty(&w.host);
}

static bool is_before(const vs_alloc_block *a, const vs_alloc_block *b) {
  if (a->size != b->size) return a->size < b->size;
  if (a->registration != b->registration) return a->registration < b->registration;
  return a->address < b->address;
}

/* The first free block that is not before `key`, the last that is; the naive way. */
static vs_alloc_block *naive_from(const vs_alloc_block *key) {
  vs_alloc_block *best = NULL;
  for (int i = 0; i < BLOCKS; i++)
    if (w.is_free[i] && !is_before(&w.blocks[i], key) && (best == NULL || is_before(&w.blocks[i], best)))
      best = &w.blocks[i];
  return best;
}

static vs_alloc_block *naive_until(const vs_alloc_block *key) {
  vs_alloc_block *best = NULL;
  for (int i = 0; i < BLOCKS; i++)
    if (w.is_free[i] && is_before(&w.blocks[i], key) && (best == NULL || is_before(best, &w.blocks[i])))
      best = &w.blocks[i];
  return best;
}

/* Few sizes, so that bins become long; some over the whole range. */
static uint64_t draw_size(test_random *random) {
  const uint64_t units = random_below(random, 4) != 0
                             ? 1 + random_below(random, 3)
                             : 1 + random_below(random, UINT64_C(1) << random_below(random, 27));
  return units * 512;
}

static void expect_neighbours(const vs_alloc_block *block) {
  vs_alloc_block behind = *block;
  behind.address++;
  assert_ptr_equal(vs_alloc_lane_after(&w.lane, block), naive_from(&behind));
  assert_ptr_equal(vs_alloc_lane_before(&w.lane, block), naive_until(block));
}

static void bins_are_a_sorted_array(void **state) {
  (void)state;
  begin();
  test_random random = {1};
  for (int round = 0; round < ROUNDS; round++) {
    const uint64_t i = random_below(&random, BLOCKS);
    vs_alloc_block *block = &w.blocks[i];
    if (w.is_free[i]) {
      expect_neighbours(block);
      vs_alloc_lane_remove(&w.lane, block);
    } else {
      *block = (vs_alloc_block){.address = (1 + i) * 512 + (random_below(&random, 1000) << 30),
                                .size = draw_size(&random),
                                .registration = (uint32_t)random_below(&random, 3),
                                .lane = &w.lane,
                                .place = VS_PLACE_FREE,
                                .is_in_tree = block->is_in_tree}; /* as its last bin left it */
      vs_alloc_lane_add(&w.lane, block);
    }
    w.is_free[i] = !w.is_free[i];
    const vs_alloc_block wanted = {.size = draw_size(&random)};
    assert_ptr_equal(vs_alloc_lane_fit(&w.lane, wanted.size), naive_from(&wanted));
    if (round % 64 != 0) continue;
    assert_null(vs_alloc_lane_check(&w.lane));
    assert_ptr_equal(vs_alloc_lane_first(&w.lane), naive_from(&(vs_alloc_block){.size = 0}));
    assert_ptr_equal(vs_alloc_lane_last(&w.lane), naive_until(&(vs_alloc_block){.size = UINT64_MAX}));
  }
  end();
}

/* A row without used bits is compared as a whole. */
static void the_check_sees_a_block_without_its_bit(void **state) {
  (void)state;
  begin();
  vs_alloc_block *block = &w.blocks[0];
  *block = (vs_alloc_block){.address = 512, .size = 512, .lane = &w.lane, .place = VS_PLACE_FREE};
  vs_alloc_lane_add(&w.lane, block);
  const uint32_t row = vs_alloc_bin_of(512) / VS_ALLOC_BINS;
  const uint64_t used = w.lane.used[row];
  assert_null(vs_alloc_lane_check(&w.lane));
  w.lane.used[row] = 0;
  w.lane.used_rows &= ~(UINT64_C(1) << row);
  assert_string_equal(vs_alloc_lane_check(&w.lane), "used bits = bins with blocks");
  w.lane.used[row] = used;
  w.lane.used_rows |= UINT64_C(1) << row;
  vs_alloc_lane_remove(&w.lane, block);
  end();
}

static void sizes_have_bins(void **state) {
  (void)state;
  uint32_t last = 0;
  for (uint64_t units = 1; units < 5000; units++) {
    const uint32_t bin = vs_alloc_bin_of(units * 512);
    assert_true(bin == last || bin == last + 1); /* no gap, never back */
    assert_true(units >= 128 || bin == units);   /* exact below 64 KiB */
    last = bin;
  }
  assert_true(vs_alloc_bin_of(UINT64_C(1) << 59) / VS_ALLOC_BINS < VS_ALLOC_MOST_ROWS);
}

static void unmapped_ranges_are_by_address(void **state) {
  (void)state;
  begin();
  static const uint64_t order[] = {5, 1, 9, 3, 7};
  for (size_t i = 0; i < 5; i++) {
    w.blocks[i] =
        (vs_alloc_block){.address = order[i] << 20, .size = 512, .lane = &w.lane, .place = VS_PLACE_UNMAPPED};
    vs_alloc_unmapped_add(&w.lane, &w.blocks[i]);
    assert_null(vs_alloc_lane_check(&w.lane));
  }
  vs_alloc_unmapped_remove(&w.lane, &w.blocks[1]); /* the first */
  vs_alloc_unmapped_remove(&w.lane, &w.blocks[2]); /* the last */
  assert_ptr_equal(w.lane.unmapped, &w.blocks[3]);
  assert_ptr_equal(w.blocks[3].right, &w.blocks[0]);
  assert_ptr_equal(w.blocks[0].right, &w.blocks[4]);
  assert_null(w.blocks[4].right);
  end();
}

static void table_finds_what_it_holds(void **state) {
  (void)state;
  fault_host host;
  fault_host_init(&host, FAULT_NEVER);
  vs_alloc_table table = {0};
  uint64_t count = 0;
  assert_null(vs_alloc_table_next(&table, NULL));
  expect_ok(vs_alloc_table_reserve(&host.host, &table, 1));
  static bool is_in[BLOCKS];
  for (uint64_t i = 0; i < BLOCKS; i++)
    w.blocks[i] = (vs_alloc_block){.address = UINT64_C(0x200000000000) + i * 2097152};
  test_random random = {2};
  for (int round = 0; round < ROUNDS; round++) {
    const uint64_t i = random_below(&random, BLOCKS), address = w.blocks[i].address;
    if (is_in[i]) {
      assert_ptr_equal(vs_alloc_table_take(&table, address), &w.blocks[i]);
      assert_null(vs_alloc_table_take(&table, address));
    } else {
      assert_null(vs_alloc_table_find(&table, address));
      expect_ok(vs_alloc_table_reserve(&host.host, &table, count + 1));
      vs_alloc_table_add(&table, &w.blocks[i]);
    }
    is_in[i] = !is_in[i];
    count += is_in[i] ? UINT64_C(1) : UINT64_MAX;
    const uint64_t other = random_below(&random, BLOCKS);
    assert_ptr_equal(vs_alloc_table_find(&table, w.blocks[other].address),
                     is_in[other] ? &w.blocks[other] : NULL);
  }
  vs_alloc_table_deinit(&host.host, &table);
  fault_host_expect_empty(&host);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bins_are_a_sorted_array),   cmocka_unit_test(the_check_sees_a_block_without_its_bit),
      cmocka_unit_test(sizes_have_bins),           cmocka_unit_test(unmapped_ranges_are_by_address),
      cmocka_unit_test(table_finds_what_it_holds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
