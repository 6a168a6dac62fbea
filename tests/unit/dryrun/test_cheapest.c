/* The search for the cheapest set of changes, against an exhaustive search of made-up programs whose memory does not add up: a peak is the highest of two
 * phases, and what is cached depends on the whole set. */
#include "dryrun/cheapest.h"
#include "base/check.h"
#include "support/test.h"

enum { CHANGES = 9, SETS = 1 << CHANGES, RUNS = 40 };

/* The sets in which no two exclude each other are 240 of 512. */
static const vs_cheapest_change changes[CHANGES] = {
    {.cost = 1, .is_free = true},                                /* 0: the allocator caches less */
    {.cost = 1, .is_free = true, .is_rare = true},               /* 1: no gradients in the forward pass */
    {.cost = 2, .is_free = true, .excludes = 1u << 3 | 1u << 7}, /* 2: no temporaries of the optimizer */
    {.cost = 6, .excludes = 1u << 2},                            /* 3: fewer */
    {.cost = 8, .excludes = 1u << 5},                            /* 4: half of the blocks checkpointed */
    {.cost = 12, .excludes = 1u << 4},                           /* 5: all */
    {.cost = 20},                                                /* 6: activations on the host */
    {.cost = 30, .excludes = 1u << 2}, /* 7: less optimizer state, and no temporaries */
    {.cost = 40},                      /* 8: smaller parameters */
};

typedef struct program {
  uint64_t needed[SETS], least[SETS];
  bool is_in_step; /* the peak of the program as it is */
} program;

static uint64_t seed;

static double any(double least, double most) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return least + (most - least) * (double)(seed >> 40) / (double)(1 << 24);
}

static bool in(uint32_t set, int change) { return (set >> change & 1) != 0; }

static void fill(program *p, double weights, double activations, double temporary) {
  for (uint32_t set = 0; set < SETS; set++) {
    const double size = in(set, 8) ? 0.5 : 1;
    const double state = weights * 2 * size * (in(set, 7) ? 0.3 : 1);
    const double kept = activations * (in(set, 5) ? 0.2 : in(set, 4) ? 0.6 : 1) * (in(set, 6) ? 0.3 : 1);
    const double forward = weights * size + state + kept + (in(set, 1) ? 0 : weights * size);
    const double step = weights * 2 * size + state +
                        temporary * size *
                            (in(set, 2) || in(set, 7) ? 0
                             : in(set, 3)             ? 0.1
                                                      : 1);
    const double least = forward > step ? forward : step;
    if (set == 0) p->is_in_step = step > forward;
    const double cached =
        in(set, 0) ? any(0, 0.03) : any(0.02, in(set, 4) || in(set, 5) || in(set, 6) ? 0.25 : 0.12);
    p->least[set] = (uint64_t)(least * 1e9);
    p->needed[set] = (uint64_t)(least * (1 + cached) * 1e9);
  }
}

static vs_cheapest_step search(const program *p, vs_cheapest *s, vs_cheapest_run runs[RUNS]) {
  s->runs = runs;
  s->run_count = 0;
  for (;;) {
    const vs_cheapest_step step = vs_cheapest_next(s);
    if (step.kind != VS_CHEAPEST_TRY) return step;
    assert_true(s->run_count < s->most_runs && step.set < SETS && vs_cheapest_is_allowed(s, step.set));
    for (size_t i = 0; i < s->run_count; i++) assert_true(runs[i].set != step.set);
    runs[s->run_count++] = (vs_cheapest_run){
        .set = step.set, .needed_bytes = p->needed[step.set], .least_bytes = p->least[step.set]};
  }
}

/* How many different costs of sets that fit are below that one; UINT32_MAX as `cost`: of all. */
static uint32_t rank_of(const program *p, const vs_cheapest *s, uint64_t cost) {
  bool seen[256] = {false};
  uint32_t rank = 0;
  for (uint32_t set = 0; set < SETS; set++) {
    const uint64_t one = vs_cheapest_cost(s, set);
    if (!vs_cheapest_is_allowed(s, set) || p->needed[set] > s->capacity_bytes || one >= cost || seen[one])
      continue;
    seen[one] = true;
    rank++;
  }
  return rank;
}

/* Of the programs that a set fits, at least so many percent have an answer within one rank of the best, and at most so many none. */
static void compare(size_t most_runs, uint64_t least_good, uint64_t most_missed) {
  static program p;
  vs_cheapest_run runs[RUNS];
  const uint64_t programs = test_repetitions(2000, 200);
  uint64_t good = 0, best = 0, solvable = 0, missed = 0, used = 0;
  seed = 1;
  for (uint64_t i = 0; i < programs; i++) {
    fill(&p, any(0.5, 3), any(1, 12), any(0, 4));
    vs_cheapest_change all[CHANGES];
    memcpy(all, changes, sizeof all);
    for (int c = 0; c < CHANGES; c++) all[c].is_idle = p.is_in_step ? c >= 4 && c <= 6 : c == 2 || c == 3;
    vs_cheapest s = {.changes = all, .change_count = CHANGES, .most_runs = most_runs};
    s.capacity_bytes = (uint64_t)((double)p.needed[0] * any(0.3, 1.02));
    const vs_cheapest_step step = search(&p, &s, runs);
    const uint32_t costs = rank_of(&p, &s, UINT32_MAX);
    solvable += costs != 0;
    used += s.run_count;
    if (step.kind == VS_CHEAPEST_NONE) missed += costs != 0;
    if (step.kind == VS_CHEAPEST_NONE) continue;
    assert_true(p.needed[step.set] <= s.capacity_bytes);
    const uint32_t rank = rank_of(&p, &s, vs_cheapest_cost(&s, step.set));
    good += rank <= 1;
    best += rank == 0;
  }
  print_message("%u programs that a set fits: %u the cheapest, %u within one rank, %u missed; %u runs\n",
                (unsigned)solvable, (unsigned)best, (unsigned)good, (unsigned)missed, (unsigned)used);
  assert_true(solvable > programs / 2 && good * 100 >= solvable * least_good &&
              missed * 100 <= solvable * most_missed);
}

static void test_against_all_sets(void **state) {
  (void)state;
  compare(20, 90, 1);
  compare(24, 92, 1);
  compare(40, 94, 1);
}

/* A change that saves little is run where little is missing, and is in no set before that. */
static void test_a_change_that_saves_little(void **state) {
  (void)state;
  static const vs_cheapest_change two[] = {{.cost = 1, .within_bytes = 3}, {.cost = 2}};
  vs_cheapest_run runs[4] = {{.set = 0, .needed_bytes = 14, .least_bytes = 14}};
  vs_cheapest s = {
      .changes = two, .change_count = 2, .capacity_bytes = 10, .runs = runs, .run_count = 1, .most_runs = 4};
  assert_int_equal(vs_cheapest_next(&s).set, 2); /* 4 are missing */
  runs[0].least_bytes = 13;
  assert_int_equal(vs_cheapest_next(&s).set, 1); /* 3, but for what is cached */
  runs[0].least_bytes = 14;
  runs[1] = (vs_cheapest_run){.set = 2, .needed_bytes = 14, .least_bytes = 14};
  s.run_count = 2;
  assert_int_equal(vs_cheapest_next(&s).kind, VS_CHEAPEST_NONE);
  runs[1] = (vs_cheapest_run){.set = 2, .needed_bytes = 12, .least_bytes = 12};
  assert_int_equal(vs_cheapest_next(&s).set, 3);
}

static void test_ends(void **state) {
  (void)state;
  static const vs_cheapest_change two[] = {{.cost = 1}, {.cost = 2}};
  vs_cheapest_run runs[4] = {{.set = 0, .needed_bytes = 10, .least_bytes = 9}};
  vs_cheapest s = {.changes = two, .change_count = 2, .capacity_bytes = 10, .runs = runs, .most_runs = 4};
  assert_int_equal(vs_cheapest_next(&s).kind, VS_CHEAPEST_TRY);
  s.run_count = 1;
  assert_int_equal(vs_cheapest_next(&s).kind, VS_CHEAPEST_FOUND); /* as it is */
  s.capacity_bytes = 5;
  runs[1] = (vs_cheapest_run){.set = 1, .has_failed = true};
  runs[2] = (vs_cheapest_run){.set = 2, .needed_bytes = 6, .least_bytes = 4};
  assert_int_equal(vs_cheapest_next(&s).set, 1);
  s.run_count = 2;
  assert_int_equal(vs_cheapest_next(&s).set, 2);
  s.run_count = 3; /* both together contain one that failed */
  assert_int_equal(vs_cheapest_next(&s).kind, VS_CHEAPEST_NONE);
  assert_false(vs_cheapest_next(&s).is_cut);
  runs[1] = (vs_cheapest_run){.set = 1, .needed_bytes = 11, .least_bytes = 9}; /* it caches more, alone */
  assert_int_equal(vs_cheapest_next(&s).set, 3);
  s.most_runs = 3;
  assert_int_equal(vs_cheapest_next(&s).kind, VS_CHEAPEST_NONE);
  assert_true(vs_cheapest_next(&s).is_cut);
  s.most_runs = 4;
  runs[3] = (vs_cheapest_run){.set = 3, .needed_bytes = 5, .least_bytes = 4};
  s.run_count = 4;
  assert_int_equal(vs_cheapest_next(&s).kind, VS_CHEAPEST_FOUND);
  assert_int_equal(vs_cheapest_next(&s).set, 3);
  runs[0].has_failed = true;
  assert_int_equal(vs_cheapest_next(&s).kind, VS_CHEAPEST_NONE);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_all_sets),
                                     cmocka_unit_test(test_a_change_that_saves_little),
                                     cmocka_unit_test(test_ends)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
