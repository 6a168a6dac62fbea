/* What would have let a failed request pass, of small traces; and what that stands on: memory that is set back, and a replay that
 * is continued in several ways. */
#include "analyze/moment_index.h"
#include "analyze/remedies.h"
#include "analyze/replay_fork.h"
#include "analyze/rewind.h"
#include "unit/analyze/made.h"

#define MIB  UINT64_C(1048576)
#define BASE UINT64_C(0x700000000000)

/* ---- memory that is set back --------------------------------------------------------------------------- */

static void *resize(vs_rewind *r, void *old, size_t old_size, size_t new_size) {
  return r->host.resize(r->host.ctx, old, old_size, new_size);
}

static void test_memory_is_set_back(void **state) {
  (void)state;
  vs_rewind r;
  vs_rewind_init(&r, vs_host_default());
  char *kept = resize(&r, NULL, 0, 4), *freed = resize(&r, NULL, 0, 4), *grown = resize(&r, NULL, 0, 4);
  char *before = resize(&r, NULL, 0, 4);
  memcpy(kept, "abc", 4);
  memcpy(freed, "def", 4);
  memcpy(grown, "ghi", 4);
  (void)resize(&r, before, 4, 0); /* not there at the mark */
  expect_ok(vs_rewind_mark(&r));
  assert_int_equal(r.kept_bytes, 12);
  for (int round = 0; round < 3; round++) {
    memcpy(kept, "xyz", 4);
    (void)resize(&r, freed, 4, 0);
    char *other = resize(&r, grown, 4, 400);
    assert_string_equal(other, "ghi");
    memset(other, 'x', 400);
    other = resize(&r, other, 400, 800);
    assert_int_equal(other[399], 'x');
    vs_rewind_back(&r);
    assert_string_equal(kept, "abc");
    assert_string_equal(freed, "def");
    assert_string_equal(grown, "ghi");
  }
  vs_rewind_deinit(&r);
}

/* ---- traces -------------------------------------------------------------------------------------------- */

/* Four blocks of 30 MiB by one line, two of 20 and 40 MiB by another or, in a training, by the backward pass, and a request of 50 MiB that fails when 4 MiB are free. */
typedef struct failed {
  made m;
  vs_lifetimes lifetimes;
  vs_moment_index moments;
  vs_frames frames;
  vs_replay_plan plan;
  vs_replay_options options;
  vs_steps steps;
  vs_growths growths;
  uint32_t event;
  uint32_t most_tries;
} failed;

static uint64_t put(made *m, uint64_t address, uint64_t size, uint32_t stack) {
  (void)made_event(m, VS_EVENT_SEGMENT_ALLOC, address, size);
  (void)made_alloc(m, address, size, stack);
  return address + size;
}

static uint32_t stack_of_backward(made *m) {
  const char *apply = "torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)";
  const uint32_t frame = made_frame(m, apply, "??", 0);
  return made_stack_of(m, &frame, 1);
}

static failed fail_begin_with(uint64_t device_free, bool is_training) {
  failed f = {.m = made_begin()};
  const uint32_t four = made_stack(&f.m, "four", 4);
  const uint32_t two = is_training ? stack_of_backward(&f.m) : made_stack(&f.m, "two", 2);
  uint64_t next = BASE;
  for (int i = 0; i < 4; i++) next = put(&f.m, next, 30 * MIB, four);
  next = put(&f.m, next, 20 * MIB, two);
  (void)put(&f.m, next, 40 * MIB, two);
  f.event = made_event(&f.m, VS_EVENT_OOM, device_free, 50 * MIB);
  made_trace(&f.m, 0);
  next = BASE;
  for (int i = 0; i < 6; i++) {
    const uint64_t size = (i < 4 ? 30 : i == 4 ? 20 : 40) * MIB;
    (void)made_segment(&f.m, 0, next, size, "large");
    (void)made_block(&f.m, size, size, VS_BLOCK_ALLOCATED);
    next += size;
  }
  return f;
}

static failed fail_begin(uint64_t device_free) { return fail_begin_with(device_free, false); }

static void fail_look(failed *f) {
  expect_ok(vs_frames_init(f->m.host, f->m.snapshot, &f->frames));
  expect_ok(vs_lifetimes_build(f->m.host, made_slice(&f->m, 0), &f->lifetimes));
  expect_ok(vs_moment_index_build(f->m.host, &f->lifetimes, &f->moments));
  expect_ok(vs_replay_plan_build(f->m.host, &f->lifetimes, &f->plan));
  vs_replay_options_init(&f->options, f->m.snapshot);
}

static void fail_end(failed *f) {
  vs_replay_plan_deinit(f->m.host, &f->plan);
  vs_moment_index_deinit(f->m.host, &f->moments);
  vs_lifetimes_deinit(f->m.host, &f->lifetimes);
  vs_frames_deinit(f->m.host, &f->frames);
  made_end(&f->m);
}

static vs_remedies find(failed *f) {
  vs_remedies remedies;
  const vs_remedy_case of = {.plan = &f->plan,
                             .recorded = &f->options,
                             .rules_of_age = f->options.settings.rules,
                             .spans = &f->moments.spans,
                             .growths = &f->growths,
                             .steps = &f->steps,
                             .frames = &f->frames,
                             .event = f->event,
                             .most_tries = f->most_tries};
  expect_ok(vs_remedies_find(f->m.host, &of, &remedies));
  return remedies;
}

/* ---- a replay continued in several ways ---------------------------------------------------------------- */

static bool serves(failed *f, vs_replay_fork *fork, const uint32_t *rows, size_t count) {
  vs_replay replay;
  expect_ok(vs_replay_fork_try(
      fork, &(vs_replay_try){.rows = rows, .count = count, .empties_cache = count % 2}, &replay));
  assert_int_equal(replay.last_event, f->event);
  return vs_replay_serves(&replay, f->event);
}

/* Equal tries have equal results, whatever was tried between them. */
static void test_tries_do_not_know_of_each_other(void **state) {
  (void)state;
  failed f = fail_begin(4 * MIB);
  vs_replay_fork *fork;
  fail_look(&f);
  f.options.follows = false;
  f.options.card = 184 * MIB;
  f.options.until = f.event;
  expect_ok(vs_replay_fork_create(f.m.host, &f.plan, &f.options, f.event, &fork));
  assert_non_null(fork);
  assert_true(vs_replay_fork_bytes(fork) > 0);
  for (int round = 0; round < 3; round++) {
    assert_false(serves(&f, fork, NULL, 0));
    assert_false(serves(&f, fork, (const uint32_t[]){0}, 1));
    assert_true(serves(&f, fork, (const uint32_t[]){0, 3}, 2)); /* 60 MiB go back, 64 MiB are free */
    assert_false(serves(&f, fork, (const uint32_t[]){4}, 1));
    assert_true(serves(&f, fork, (const uint32_t[]){5, 4}, 2));
    assert_true(serves(&f, fork, (const uint32_t[]){0, 1, 2, 3, 4, 5}, 6));
    assert_false(serves(&f, fork, (const uint32_t[]){2, 2}, 2)); /* a block is freed once */
  }
  vs_replay_fork_destroy(fork);
  f.options.card = 90 * MIB; /* it runs out before */
  expect_ok(vs_replay_fork_create(f.m.host, &f.plan, &f.options, f.event, &fork));
  assert_null(fork);
  vs_replay_fork_destroy(fork);
  fail_end(&f);
}

/* ---- remedies ------------------------------------------------------------------------------------------ */

static void test_fewest_blocks(void **state) {
  (void)state;
  failed f = fail_begin(4 * MIB);
  fail_look(&f);
  vs_remedies r = find(&f);
  assert_int_equal(r.basis, VS_BASIS_RECORDED);
  assert_int_equal(r.capacity, 184 * MIB);
  assert_true(r.is_full);
  assert_int_equal(r.settings_tried, 0);
  assert_int_equal(r.held, 180 * MIB);
  assert_int_equal(r.list.count, 4);
  const vs_remedy *owner = &r.list.data[0]; /* two of four, or all of two: fewer bytes first */
  const vs_remedy_part *part = &r.parts.data[owner->first_part];
  assert_int_equal(owner->kind, VS_REMEDY_OWNER);
  assert_int_equal(part->count, 2);
  assert_int_equal(owner->bytes, 60 * MIB);
  assert_false(owner->is_any);
  assert_int_equal(r.list.data[1].kind, VS_REMEDY_OWNER);
  const vs_remedy *shrink = &r.list.data[2]; /* segments of 18 MiB; the other line is too small */
  assert_int_equal(shrink->kind, VS_REMEDY_SHRINK);
  assert_int_equal(shrink->percent, 40);
  const vs_remedy *card = &r.list.data[3];
  assert_int_equal(card->kind, VS_REMEDY_CARD);
  assert_int_equal(card->capacity, 230 * MIB);
  assert_non_null(card->card);
  vs_remedies_deinit(f.m.host, &r);
  fail_end(&f);
}

/* 30 MiB free: one of the blocks of 30 MiB is enough, or of the other two; a block of 20 MiB is, exactly. */
static void test_any_one_block(void **state) {
  (void)state;
  failed f = fail_begin(30 * MIB);
  fail_look(&f);
  vs_remedies r = find(&f);
  assert_int_equal(r.list.count, 5);
  assert_true(r.list.data[0].is_any && r.list.data[1].is_any);
  assert_int_equal(r.list.data[0].bytes, 20 * MIB); /* the smallest of its line */
  assert_int_equal(r.list.data[0].alone, 2);
  assert_int_equal(r.list.data[1].bytes, 30 * MIB);
  assert_int_equal(r.list.data[1].alone, 4);
  vs_remedies_deinit(f.m.host, &r);
  fail_end(&f);
}

/* 20 MiB are missing: blocks of 13 and 26 MiB in segments of 14 and 26, or four of 24. What saves fewer bytes comes first. */
static void test_smaller_allocations_of_a_line(void **state) {
  (void)state;
  failed f = fail_begin(30 * MIB);
  fail_look(&f);
  vs_remedies r = find(&f);
  const vs_remedy *two = &r.list.data[2], *four = &r.list.data[3];
  assert_true(two->kind == VS_REMEDY_SHRINK && four->kind == VS_REMEDY_SHRINK);
  assert_int_equal(two->percent, 35);
  assert_int_equal(two->bytes, 21 * MIB);
  assert_int_equal(four->percent, 20);
  assert_int_equal(four->bytes, 24 * MIB);
  assert_int_equal(four->reserved_peak, 206 * MIB);
  assert_int_equal(four->part_count, 1);
  assert_int_equal(r.parts.data[four->first_part].group.count, 4);
  assert_int_equal(r.parts.data[four->first_part].count, 0);
  assert_int_equal(r.list.data[4].kind, VS_REMEDY_CARD);
  vs_remedies_deinit(f.m.host, &r);
  fail_end(&f);
}

/* In a training the sizes of a line follow from those of others: no line alone is made smaller. */
static void test_no_line_of_a_training_is_smaller(void **state) {
  (void)state;
  failed f = fail_begin_with(30 * MIB, true);
  fail_look(&f);
  vs_remedies r = find(&f);
  assert_true(r.has_backward && r.is_full && r.list.count != 0);
  for (size_t i = 0; i < r.list.count; i++) assert_int_not_equal(r.list.data[i].kind, VS_REMEDY_SHRINK);
  vs_remedies_deinit(f.m.host, &r);
  fail_end(&f);
}

/* A search that may not try everything says so. */
static void test_a_search_with_few_tries(void **state) {
  (void)state;
  for (uint32_t tries = 0; tries <= 2; tries++) {
    failed f = fail_begin(30 * MIB);
    fail_look(&f);
    f.most_tries = tries;
    vs_remedies r = find(&f);
    assert_int_equal(r.is_cut, tries != 0);
    vs_remedies_deinit(f.m.host, &r);
    fail_end(&f);
  }
}

/* 28 MiB free: of the line with two blocks only the larger one is enough. */
static void test_one_of_several(void **state) {
  (void)state;
  failed f = fail_begin(28 * MIB);
  fail_look(&f);
  vs_remedies r = find(&f);
  const vs_remedy *some = &r.list.data[1];
  assert_true(r.list.data[0].is_any);
  assert_false(some->is_any);
  assert_int_equal(some->alone, 1);
  assert_int_equal(some->bytes, 40 * MIB);
  vs_remedies_deinit(f.m.host, &r);
  fail_end(&f);
}

/* With that much free it would not have failed: a limit, of which only what was reserved is known. */
static void test_a_limit(void **state) {
  (void)state;
  failed f = fail_begin(900 * MIB);
  fail_look(&f);
  vs_remedies r = find(&f);
  assert_int_equal(r.basis, VS_BASIS_LEAST);
  assert_int_equal(r.capacity, 180 * MIB);
  vs_remedies_deinit(f.m.host, &r);
  fail_end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_memory_is_set_back),
      cmocka_unit_test(test_tries_do_not_know_of_each_other),
      cmocka_unit_test(test_fewest_blocks),
      cmocka_unit_test(test_any_one_block),
      cmocka_unit_test(test_smaller_allocations_of_a_line),
      cmocka_unit_test(test_no_line_of_a_training_is_smaller),
      cmocka_unit_test(test_a_search_with_few_tries),
      cmocka_unit_test(test_one_of_several),
      cmocka_unit_test(test_a_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
