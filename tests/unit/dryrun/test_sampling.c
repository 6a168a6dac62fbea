/* Which ranks run: worlds as programs make them. */
#include "dryrun/sampling.h"
#include "support/test.h"

enum { WORLD_MOST = 1024 };

/* A world whose memory is known; `ran` is in the order of the runs. */
typedef struct world {
  uint32_t (*memory)(uint32_t rank);
  uint32_t ran[WORLD_MOST], count;
  uint32_t fails_after; /* 0: never */
} world;

static bool run(void *ctx, uint32_t rank, uint32_t *outcome) {
  world *w = ctx;
  if (w->fails_after != 0 && w->count == w->fails_after) return false;
  assert_true(w->count < WORLD_MOST);
  w->ran[w->count++] = rank;
  *outcome = w->memory(rank);
  return true;
}

/* A group of rank 0: `count` ranks, `stride` apart. */
static void add(vs_sampling *sampling, const char *name, uint32_t stride, uint32_t count) {
  uint32_t ranks[WORLD_MOST];
  for (uint32_t i = 0; i < count; i++) ranks[i] = i * stride;
  assert_true(vs_sampling_add(sampling, vs_str_from(name), ranks, count));
}

static void find(vs_sampling *sampling, world *w) {
  expect_ok(vs_sampling_find(sampling, (vs_sampling_try){w, run}));
  assert_true(vs_sampling_check(sampling));
  assert_int_equal(sampling->runs.count, w->count);
}

static void expect_ran(const world *w, const uint32_t *ranks, uint32_t count) {
  assert_int_equal(w->count, count);
  for (uint32_t i = 0; i < count; i++) assert_int_equal(w->ran[i], ranks[i]);
}

#define EXPECT_RAN(w, ...) \
  expect_ran(w, (uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void expect_known(const vs_sampling *sampling, const world *w) {
  for (uint32_t rank = 0; rank < sampling->world; rank++) {
    const size_t number = vs_sampling_run_of(sampling, rank);
    assert_true(number != SIZE_MAX);
    assert_int_equal(sampling->runs.data[number].outcome, w->memory(rank));
  }
}

static uint32_t count_unknown(const vs_sampling *sampling) {
  uint32_t unknown = 0;
  for (uint32_t rank = 0; rank < sampling->world; rank++)
    unknown += vs_sampling_run_of(sampling, rank) == SIZE_MAX;
  return unknown;
}

static uint32_t all_equal(uint32_t rank) { return rank * 0; }
static uint32_t all_differ(uint32_t rank) { return rank; }
static uint32_t last_is_less(uint32_t rank) { return rank == 63; }

/* tp 2 (fastest), dp 8, pp 4: the first and the last stage are odd. */
static uint32_t stages(uint32_t rank) {
  const uint32_t stage = rank / 16;
  return stage == 0 ? 7 : stage == 3 ? 9 : 8;
}

/* The same, and the last data parallel rank of the last stage holds less, which no axis through rank 0 shows. */
static uint32_t hidden(uint32_t rank) { return rank == 62 || rank == 63 ? 1 : stages(rank); }

static void test_equal_ranks(void **state) {
  (void)state;
  vs_sampling sampling;
  world w = {.memory = all_equal};
  vs_sampling_init(&sampling, vs_host_default(), 64, 32);
  find(&sampling, &w);
  EXPECT_RAN(&w, 0, 63, 1, 32);
  expect_known(&sampling, &w);
  assert_int_equal(sampling.check_count, 0);
  assert_int_equal(sampling.failed_count, 0);
  vs_sampling_deinit(&sampling);
}

static void test_small_worlds(void **state) {
  (void)state;
  for (uint32_t size = 1; size <= 4; size++) {
    vs_sampling sampling;
    world w = {.memory = all_differ};
    vs_sampling_init(&sampling, vs_host_default(), size, 32);
    find(&sampling, &w);
    assert_int_equal(w.count, size);
    expect_known(&sampling, &w);
    vs_sampling_deinit(&sampling);
  }
}

static void test_an_uneven_shard(void **state) {
  (void)state;
  vs_sampling sampling;
  world w = {.memory = last_is_less};
  vs_sampling_init(&sampling, vs_host_default(), 64, 32);
  find(&sampling, &w);
  EXPECT_RAN(&w, 0, 63, 1, 32, 47, 55, 59, 61, 62);
  expect_known(&sampling, &w);
  assert_false(sampling.is_limited);
  vs_sampling_deinit(&sampling);
}

static void add_grid(vs_sampling *sampling) {
  add(sampling, "pp", 16, 4);
  add(sampling, "tp", 1, 2);
  add(sampling, "dp", 2, 8);
  add(sampling, "model", 1, 16);
  add(sampling, "dp again", 2, 8);
}

static void test_a_grid(void **state) {
  (void)state;
  vs_sampling sampling;
  world w = {.memory = stages};
  vs_sampling_init(&sampling, vs_host_default(), 64, 32);
  add_grid(&sampling);
  assert_int_equal(sampling.axis_count, 5);
  assert_string_equal(sampling.axes[0].name, "tp");
  assert_string_equal(sampling.axes[1].name, "pp");
  assert_string_equal(sampling.axes[2].name, "dp");
  assert_string_equal(sampling.axes[3].name, "model");
  assert_int_equal(sampling.axes[4].size, 64);
  find(&sampling, &w);
  EXPECT_RAN(&w, 0, 1, 48, 16, 32, 14, 2, 8, 15, 63);
  expect_known(&sampling, &w);
  assert_int_equal(sampling.check_count, 1);
  assert_int_equal(sampling.failed_count, 0);
  vs_sampling_deinit(&sampling);
}

/* The last rank shows what the axes through rank 0 do not. */
static void test_a_check_that_fails(void **state) {
  (void)state;
  vs_sampling sampling;
  world w = {.memory = hidden};
  vs_sampling_init(&sampling, vs_host_default(), 64, 32);
  add_grid(&sampling);
  find(&sampling, &w);
  expect_known(&sampling, &w);
  assert_true(sampling.failed_count != 0);
  vs_sampling_deinit(&sampling);
}

static void test_a_limit(void **state) {
  (void)state;
  vs_sampling sampling;
  world w = {.memory = all_differ};
  vs_sampling_init(&sampling, vs_host_default(), 256, 32);
  find(&sampling, &w);
  assert_int_equal(w.count, 32);
  assert_true(sampling.is_limited);
  assert_int_equal(count_unknown(&sampling), 256 - 32);
  vs_sampling_deinit(&sampling);

  w = (world){.memory = all_equal}; /* one run says nothing of others */
  vs_sampling_init(&sampling, vs_host_default(), 64, 1);
  find(&sampling, &w);
  assert_int_equal(count_unknown(&sampling), 64 - 1);
  vs_sampling_deinit(&sampling);

  w = (world){.memory = all_differ}; /* the limit is reached before the second axis is sampled */
  vs_sampling_init(&sampling, vs_host_default(), 64, 3);
  add_grid(&sampling);
  find(&sampling, &w);
  assert_int_equal(w.count, 3);
  assert_int_equal(count_unknown(&sampling), 64 - 3);
  vs_sampling_deinit(&sampling);
}

static void test_a_run_that_cannot_be_made(void **state) {
  (void)state;
  vs_sampling sampling;
  world w = {.memory = all_equal, .fails_after = 2};
  vs_sampling_init(&sampling, vs_host_default(), 64, 32);
  find(&sampling, &w);
  assert_true(sampling.is_stopped && !sampling.is_limited);
  assert_int_equal(w.count, 2);
  vs_sampling_deinit(&sampling);
}

static void test_groups(void **state) {
  (void)state;
  vs_sampling sampling;
  vs_sampling_init(&sampling, vs_host_default(), 64, 32);
  assert_true(vs_sampling_add(&sampling, VS_STR("two digits"), (uint32_t[]){0, 1, 8, 9, 16, 17}, 6));
  assert_int_equal(sampling.axes[0].digit_count, 2);
  assert_int_equal(sampling.axes[0].digits[1].stride, 8);
  assert_int_equal(sampling.axes[0].digits[1].size, 3);
  assert_true(vs_sampling_add(&sampling, VS_STR("alone"), (uint32_t[]){0}, 1)); /* says nothing */
  assert_int_equal(sampling.axis_count, 2);
  assert_false(vs_sampling_add(&sampling, VS_STR("irregular"), (uint32_t[]){0, 2, 3, 5}, 4));
  assert_false(vs_sampling_add(&sampling, VS_STR("irregular"), (uint32_t[]){0, 1, 3}, 3));
  assert_false(vs_sampling_add(&sampling, VS_STR("without rank 0"), (uint32_t[]){1, 2}, 2));
  assert_false(vs_sampling_add(&sampling, VS_STR("of another world"), (uint32_t[]){0, 64}, 2));
  assert_false(vs_sampling_add(&sampling, VS_STR("twice the same"), (uint32_t[]){0, 0}, 2));
  assert_int_equal(sampling.axis_count, 2);
  vs_sampling_deinit(&sampling);
}

static vs_status find_stages(const vs_host *host, void *ctx) {
  vs_sampling sampling;
  world w = {.memory = stages};
  (void)ctx;
  vs_sampling_init(&sampling, host, 64, 32);
  add_grid(&sampling);
  const vs_status status = vs_sampling_find(&sampling, (vs_sampling_try){&w, run});
  vs_sampling_deinit(&sampling);
  return status;
}

static void test_no_memory(void **state) {
  (void)state;
  assert_true(fault_prove(find_stages, NULL) > 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_equal_ranks),
      cmocka_unit_test(test_small_worlds),
      cmocka_unit_test(test_an_uneven_shard),
      cmocka_unit_test(test_a_grid),
      cmocka_unit_test(test_a_check_that_fails),
      cmocka_unit_test(test_a_limit),
      cmocka_unit_test(test_a_run_that_cannot_be_made),
      cmocka_unit_test(test_groups),
      cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
