/* The ranks that run against a naive model, which knows the memory of every rank: worlds of tensor, data and pipeline parallel ranks in
 * any order, whose layers and shards are uneven. Where the assumption of sampling.h holds, each rank has the memory that is said; where
 * there are too many different ranks, no rank is said to have memory that it does not have. */
#include "dryrun/sampling.h"
#include "support/random.h"
#include "support/test.h"

enum { WORLDS = 400, DIMENSIONS = 3, SIZE_MOST = 9, WORLD_MOST = SIZE_MOST * SIZE_MOST * SIZE_MOST };

/* memory(rank) = the sum over the dimensions of what its position there adds */
typedef struct model {
  uint32_t sizes[DIMENSIONS], strides[DIMENSIONS], adds[DIMENSIONS][SIZE_MOST];
  uint32_t world, runs;
  bool has_run[WORLD_MOST];
} model;

static uint32_t memory_of(const model *m, uint32_t rank) {
  uint32_t sum = 0;
  for (uint32_t d = 0; d < DIMENSIONS; d++) sum += m->adds[d][rank / m->strides[d] % m->sizes[d]];
  return sum;
}

static bool run(void *ctx, uint32_t rank, uint32_t *outcome) {
  model *m = ctx;
  assert_true(rank < m->world && !m->has_run[rank]);
  m->has_run[rank] = true;
  m->runs++;
  *outcome = memory_of(m, rank);
  return true;
}

/* Intervals of rising memory: equal, one odd first or last position, or steps anywhere. */
static void make(model *m, test_random *random) {
  *m = (model){.world = 1};
  for (uint32_t d = 0; d < DIMENSIONS; d++) {
    const uint64_t kind = random_below(random, 4);
    m->sizes[d] = 1 + (uint32_t)random_below(random, SIZE_MOST);
    m->strides[d] = m->world;
    m->world *= m->sizes[d];
    for (uint32_t i = 1; i < m->sizes[d]; i++) {
      const bool is_step = kind == 1   ? i == 1
                           : kind == 2 ? i + 1 == m->sizes[d]
                                       : kind == 3 && random_below(random, 3) == 0;
      m->adds[d][i] = m->adds[d][i - 1] + (is_step ? 1 + (uint32_t)random_below(random, 1000) : 0);
    }
  }
}

/* The group of rank 0 that spans dimensions [first, last). */
static void add_group(vs_sampling *sampling, const model *m, uint32_t first, uint32_t last) {
  uint32_t ranks[WORLD_MOST], count = 0;
  for (uint32_t rank = 0; rank < m->world; rank++) {
    bool is_member = true;
    for (uint32_t d = 0; d < DIMENSIONS; d++)
      is_member &= (d >= first && d < last) || rank / m->strides[d] % m->sizes[d] == 0;
    if (is_member) ranks[count++] = rank;
  }
  assert_true(vs_sampling_add(sampling, VS_STR("group"), ranks, count));
}

static void find(vs_sampling *sampling, model *m, uint32_t most, bool has_groups) {
  vs_sampling_init(sampling, vs_host_default(), m->world, most);
  for (uint32_t d = 0; has_groups && d < DIMENSIONS; d++) add_group(sampling, m, d, d + 1);
  if (has_groups) add_group(sampling, m, 0, 2);
  if (has_groups) add_group(sampling, m, 1, 3);
  expect_ok(vs_sampling_find(sampling, (vs_sampling_try){m, run}));
  assert_true(vs_sampling_check(sampling));
  assert_int_equal(sampling->runs.count, m->runs);
}

/* How many ranks are unknown; all others have the memory that is said. */
static uint32_t compare(const vs_sampling *sampling, const model *m) {
  uint32_t unknown = 0;
  for (uint32_t rank = 0; rank < m->world; rank++) {
    const size_t number = vs_sampling_run_of(sampling, rank);
    unknown += number == SIZE_MAX;
    if (number == SIZE_MAX) continue;
    assert_int_equal(sampling->runs.data[number].outcome, memory_of(m, rank));
    if (m->has_run[rank]) assert_int_equal(sampling->runs.data[number].rank, rank);
  }
  return unknown;
}

static void test_every_rank_has_the_memory_that_is_said(void **state) {
  test_random random = {5};
  model m;
  (void)state;
  for (uint32_t i = 0; i < test_repetitions(WORLDS, 20); i++) {
    vs_sampling sampling;
    make(&m, &random);
    find(&sampling, &m, m.world, true);
    assert_int_equal(compare(&sampling, &m), 0);
    assert_false(sampling.is_limited || sampling.is_stopped);
    assert_int_equal(sampling.failed_count, 0);
    vs_sampling_deinit(&sampling);
  }
}

static void test_a_limit_makes_ranks_unknown(void **state) {
  test_random random = {6};
  model m;
  (void)state;
  for (uint32_t i = 0; i < test_repetitions(WORLDS, 20); i++) {
    vs_sampling sampling;
    make(&m, &random);
    const uint32_t most = 1 + (uint32_t)random_below(&random, 12);
    find(&sampling, &m, most, true);
    assert_true(m.runs <= most);
    const uint32_t unknown = compare(&sampling, &m);
    if (unknown != 0) assert_true(sampling.is_limited);
    vs_sampling_deinit(&sampling);
  }
}

/* Without groups the whole world is one axis. Rising memory is found by halves; all ranks differ only where they do. */
static void test_a_world_without_groups(void **state) {
  test_random random = {7};
  model m;
  (void)state;
  for (uint32_t i = 0; i < test_repetitions(WORLDS, 20); i++) {
    vs_sampling sampling;
    make(&m, &random);
    for (uint32_t d = 0; d + 1 < DIMENSIONS; d++) /* only the slowest dimension: memory rises with the rank */
      for (uint32_t k = 0; k < m.sizes[d]; k++) m.adds[d][k] = 0;
    find(&sampling, &m, m.world, false);
    assert_int_equal(compare(&sampling, &m), 0);
    vs_sampling_deinit(&sampling);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_rank_has_the_memory_that_is_said),
      cmocka_unit_test(test_a_limit_makes_ranks_unknown),
      cmocka_unit_test(test_a_world_without_groups),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
