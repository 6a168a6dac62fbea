/* The values of --find-largest, and the search: for every curve that does not fall the answer is that of a linear scan. */
#include "dryrun/largest.h"
#include "support/test.h"

enum { POINTS = 64 };

/* ---- values */

static void expect_values(const char *text, uint64_t count, uint64_t first, uint64_t last) {
  vs_integers integers;
  vs_error error = {.text = ""};
  if (vs_integers_parse(&integers, vs_str_from(text), &error) != VS_OK) fail_msg("%s: %s", text, error.text);
  assert_int_equal(integers.count, count);
  assert_int_equal(vs_integers_at(&integers, 0), first);
  assert_int_equal(vs_integers_at(&integers, count - 1), last);
  for (uint64_t i = 1; i < count; i++) {
    const uint64_t value = vs_integers_at(&integers, i);
    assert_true(value > vs_integers_at(&integers, i - 1));
    assert_int_equal(vs_integers_below(&integers, (double)value), i);
    assert_int_equal(vs_integers_below(&integers, (double)value - 0.5), i - 1);
  }
  assert_int_equal(vs_integers_below(&integers, (double)last + 1e9), count - 1);
}

static void test_values(void **state) {
  (void)state;
  expect_values("1..256", 256, 1, 256);
  expect_values("0..0", 1, 0, 0);
  expect_values("128..8192:128", 64, 128, 8192);
  expect_values("1..10:4", 3, 1, 9);
  expect_values("1..2:4", 1, 1, 1);
  expect_values("1,2,4,8", 4, 1, 8);
  expect_values("7", 1, 7, 7);
  expect_values("1..131072", 131072, 1, 131072);
  vs_integers large;
  vs_error error;
  expect_ok(vs_integers_parse(&large, VS_STR("9000000000000000000..18000000000000000000:4500000000000000000"),
                              &error));
  assert_int_equal(large.count, 3);
  assert_true(vs_integers_at(&large, 2) == 18000000000000000000u);
}

static void expect_bad(const char *text, const char *says) {
  vs_integers integers;
  vs_error error = {.text = ""};
  expect_status(vs_integers_parse(&integers, vs_str_from(text), &error), VS_BAD_ARGUMENT);
  if (strstr(error.text, says) == NULL) fail_msg("%s: %s", text, error.text);
}

static void test_values_that_are_refused(void **state) {
  (void)state;
  expect_bad("", "takes integers, such as 1..256");
  expect_bad("a", "not \"a\"");
  expect_bad("1..", "not \"\"");
  expect_bad("..4", "not \"\"");
  expect_bad("1..4:", "not \"\"");
  expect_bad("1..4:0", "the step of \"1..4:0\" is 0");
  expect_bad("4..1", "ends below its beginning");
  expect_bad("1...4", "not \".4\"");
  expect_bad("1,2,", "not \"\"");
  expect_bad("1,2,2", "have to ascend, and 2 is behind 2");
  expect_bad("4,2", "have to ascend, and 2 is behind 4");
  expect_bad("-1..4", "not \"-1\"");
  expect_bad("1.5,2", "not \"1.5\"");
  expect_bad("1..131073", "more than 131072 values: give it a step");
  expect_bad("0..18446744073709551615", "more than");
  expect_bad(
      "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,"
      "37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65",
      "at most 64 values");
}

/* ---- the search */

typedef struct found {
  vs_largest_step step;
  size_t runs;
  vs_largest_point points[POINTS];
} found;

/* Searches with the memory that each value needs. */
static found search(const vs_integers *values, int64_t card,
                    int64_t (*need)(const void *ctx, uint64_t number), const void *ctx) {
  found f = {.runs = 0};
  for (;;) {
    f.step = vs_largest_next(&(vs_largest){values, f.points, f.runs});
    if (f.step.kind != VS_LARGEST_TRY) return f;
    assert_true(f.runs < POINTS && f.step.number < values->count);
    for (size_t i = 0; i < f.runs; i++)
      assert_true(f.points[i].number != f.step.number); /* none runs twice */
    const int64_t needed = need(ctx, f.step.number);
    f.points[f.runs++] = (vs_largest_point){
        .number = f.step.number, .fits = needed <= card, .spare_bytes = needed <= card ? card - needed : 0};
  }
}

static const vs_largest_point *run_of(const found *f, uint64_t number) {
  for (size_t i = 0; i < f->runs; i++)
    if (f->points[i].number == number) return &f->points[i];
  return NULL;
}

static size_t most_runs(uint64_t count) {
  size_t halves = 0;
  while (count >> halves != 0) halves++;
  return 2 * halves + 8;
}

/* The answer is that of a linear scan, and its two runs were made. */
static void expect_scan(const found *f, const vs_integers *values, int64_t card,
                        int64_t (*need)(const void *ctx, uint64_t number), const void *ctx) {
  uint64_t fitting = 0;
  while (fitting < values->count && need(ctx, fitting) <= card) fitting++;
  assert_int_equal(f->step.kind, fitting == 0               ? VS_LARGEST_NONE_FITS
                                 : fitting == values->count ? VS_LARGEST_ALL_FIT
                                                            : VS_LARGEST_FOUND);
  assert_int_equal(f->step.number, fitting == 0 ? 0 : fitting - 1);
  if (fitting != 0) assert_true(run_of(f, fitting - 1) != NULL && run_of(f, fitting - 1)->fits);
  if (fitting != values->count) assert_true(run_of(f, fitting) != NULL && !run_of(f, fitting)->fits);
  assert_true(f->runs <= most_runs(values->count));
}

static int64_t of_list(const void *ctx, uint64_t number) { return ((const int64_t *)ctx)[number]; }

/* Every curve of up to 7 values that does not fall, with steps of 0 to 3, on every card. */
static void test_every_curve(void **state) {
  (void)state;
  enum { MOST = 7, STEPS = 4 };
  for (uint64_t count = 1; count <= MOST; count++) {
    const vs_integers values = {.first = 1, .step = 1, .count = count};
    uint64_t curves = 1;
    for (uint64_t i = 0; i < count; i++) curves *= STEPS;
    for (uint64_t curve = 0; curve < curves; curve++) {
      int64_t needs[MOST], sum = 0;
      uint64_t rest = curve;
      for (uint64_t i = 0; i < count; i++, rest /= STEPS) needs[i] = sum += (int64_t)(rest % STEPS);
      for (int64_t card = 0; card <= sum; card++) {
        const found f = search(&values, card, of_list, needs);
        expect_scan(&f, &values, card, of_list, needs);
      }
    }
  }
}

/* One step anywhere tells nothing in between: the bound of the runs holds. */
typedef struct step {
  uint64_t at;
  int64_t low, high;
} step;
static int64_t of_step(const void *ctx, uint64_t number) {
  const step *s = ctx;
  return number < s->at ? s->low : s->high;
}

static void test_steps(void **state) {
  (void)state;
  for (uint64_t count = 1; count <= 300; count += 13)
    for (uint64_t at = 0; at <= count; at++) {
      const vs_integers values = {.first = 5, .step = 3, .count = count};
      const step s = {at, 10, 30};
      const found f = search(&values, 20, of_step, &s);
      expect_scan(&f, &values, 20, of_step, &s);
    }
}

typedef struct curve {
  const vs_integers *values;
  double fixed, each, square;
  int64_t rounded;
} curve;
static int64_t of_curve(const void *ctx, uint64_t number) {
  const curve *c = ctx;
  const double value = (double)vs_integers_at(c->values, number);
  const int64_t bytes = (int64_t)(c->fixed + c->each * value + c->square * value * value);
  return (bytes + c->rounded - 1) / c->rounded * c->rounded;
}

/* The most runs over curves with ever steeper slopes, each answer compared. */
static size_t most_of(const vs_integers *values, curve c, int64_t card, double factor) {
  size_t most = 0;
  c.values = values;
  for (size_t i = 0; i < 400; i++, c.each *= factor, c.square *= factor) {
    const found f = search(values, card, of_curve, &c);
    expect_scan(&f, values, card, of_curve, &c);
    most = f.runs > most ? f.runs : most;
  }
  return most;
}

static const int64_t MIB = 1 << 20, GIB = 1 << 30;

static void test_runs_of_lines(void **state) {
  (void)state;
  const vs_integers values = {.first = 1, .step = 1, .count = 256};
  assert_int_equal(most_of(&values, (curve){.each = 1e7, .rounded = 1}, 24 * GIB, 1.02), 5);
  assert_int_equal(most_of(&values, (curve){.fixed = 6e9, .each = 1e7, .rounded = 1}, 24 * GIB, 1.02), 5);
  assert_true(most_of(&values, (curve){.fixed = 6e9, .each = 2e7, .rounded = 2 * MIB}, 24 * GIB, 1.02) <= 6);
  assert_true(most_of(&values, (curve){.fixed = 3e9, .each = 1e7, .square = 1e5, .rounded = 2 * MIB},
                      24 * GIB, 1.02) <= 8);
  const vs_integers lengths = {.first = 128, .step = 128, .count = 64};
  assert_true(most_of(&lengths, (curve){.fixed = 3e9, .square = 10, .rounded = 2 * MIB}, 24 * GIB, 1.03) <=
              8);
  const vs_integers powers = {.is_list = true, .count = 9, .list = {1, 2, 4, 8, 16, 32, 64, 128, 256}};
  assert_true(most_of(&powers, (curve){.fixed = 3e9, .each = 1e7, .rounded = 2 * MIB}, 24 * GIB, 1.02) <= 5);
}

/* Which values run: the first, by the growth, by the line, the next one. */
static void test_an_order(void **state) {
  (void)state;
  const vs_integers values = {.first = 1, .step = 1, .count = 256};
  const curve c = {.values = &values, .fixed = 1000, .each = 100, .rounded = 1};
  const found f = search(&values, 11050, of_curve, &c);
  static const uint64_t wanted[] = {1, 16, 100, 101};
  assert_int_equal(f.runs, 4);
  for (size_t i = 0; i < 4; i++) assert_int_equal(vs_integers_at(&values, f.points[i].number), wanted[i]);
}

static void test_contradictions(void **state) {
  (void)state;
  const vs_integers values = {.first = 1, .step = 1, .count = 10};
  vs_largest_point points[] = {{0, 90, true, false},
                               {4, 50, true, false},
                               {5, 57, true, false},
                               {6, 60, true, false},
                               {7, 0, false, false}};
  vs_largest_contradiction c;
  assert_true(vs_largest_fall(&(vs_largest){&values, points, 5}, &c));
  assert_int_equal(c.smaller, 4);
  assert_int_equal(c.larger, 6);
  assert_int_equal(c.bytes, 10);
  assert_false(vs_largest_fall(&(vs_largest){&values, points, 2}, &c));
  points[3].is_squeezed = true; /* so 5 is the largest that says something */
  assert_true(vs_largest_fall(&(vs_largest){&values, points, 5}, &c));
  assert_int_equal(c.larger, 5);
  points[3].is_squeezed = false;
  points[2].spare_bytes = 50;
  points[3].spare_bytes = 50; /* equal is no contradiction */
  assert_false(vs_largest_fall(&(vs_largest){&values, points, 5}, &c));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values),         cmocka_unit_test(test_values_that_are_refused),
      cmocka_unit_test(test_every_curve),    cmocka_unit_test(test_steps),
      cmocka_unit_test(test_runs_of_lines),  cmocka_unit_test(test_an_order),
      cmocka_unit_test(test_contradictions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
