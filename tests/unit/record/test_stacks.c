#include "record/intern.h"
#include "record/stacks.h"
#include "os/thread.h"
#include "support/random.h"
#include "support/test.h"

#include <stdlib.h>

static vs_record_stacks *make(const vs_record_stacks_options *options) {
  vs_record_stacks *stacks;
  expect_ok(vs_record_stacks_create(options, &stacks));
  return stacks;
}

static void expect_frames(const vs_record_stacks *stacks, vs_context id, const uint64_t *wanted,
                          uint32_t count) {
  const uint64_t *frames;
  assert_int_equal(vs_record_stack_at(stacks, id, &frames), count);
  assert_memory_equal(frames, wanted, count * sizeof *wanted);
}

static void test_equal_frames_have_equal_numbers(void **state) {
  (void)state;
  vs_record_stacks *stacks = make(NULL);
  const uint64_t a[] = {1, 2, 3}, b[] = {3, 2, 1}, c[] = {1, 2}, d[] = {0, 0};
  const vs_context id = vs_record_intern(stacks, a, 3);
  assert_int_equal(vs_record_intern(stacks, a, 3), id);
  assert_int_not_equal(vs_record_intern(stacks, b, 3), id);
  assert_int_not_equal(vs_record_intern(stacks, c, 2), id);
  assert_int_not_equal(vs_record_intern(stacks, d, 1), vs_record_intern(stacks, d, 2));
  const vs_context empty = vs_record_intern(stacks, NULL, 0);
  assert_int_equal(vs_record_intern(stacks, a, 0), empty);
  assert_int_not_equal(empty, VS_CONTEXT_NONE);
  expect_frames(stacks, id, a, 3);
  expect_frames(stacks, empty, a, 0);
  expect_frames(stacks, VS_CONTEXT_NONE, a, 0);
  assert_int_equal(vs_record_stacks_figures_of(stacks).stacks, 6);
  assert_null(vs_record_stacks_check(stacks));
  vs_record_stacks_destroy(stacks);
}

static void test_named_frames_and_texts(void **state) {
  (void)state;
  vs_record_stacks *stacks = make(NULL);
  const vs_record_frame forward = {.function = VS_STR("forward"), .file = VS_STR("model.py"), .line = 17};
  vs_record_frame other = forward;
  uint64_t words[2], again;
  other.line = 18;
  expect_ok(vs_record_frame_intern(stacks, &forward, &words[0]));
  expect_ok(vs_record_frame_intern(stacks, &other, &words[1]));
  expect_ok(vs_record_frame_intern(stacks, &forward, &again));
  assert_int_equal(again, words[0]);
  assert_int_not_equal(words[1], words[0]);
  assert_true((words[0] & VS_RECORD_NAMED_FRAME) != 0);
  const vs_record_frame back = vs_record_frame_at(stacks, words[1]);
  expect_str(back.function, "forward");
  expect_str(back.file, "model.py");
  assert_int_equal(back.line, 18);
  expect_frames(stacks, vs_record_intern(stacks, words, 2), words, 2);

  uint32_t id, same;
  expect_ok(vs_record_text_intern(stacks, VS_STR(""), &id));
  assert_int_equal(id, 1);
  expect_str(vs_record_text_at(stacks, 1), "");
  expect_ok(vs_record_text_intern(stacks, VS_STR("a\0b"), &id));
  expect_ok(vs_record_text_intern(stacks, VS_STR("a\0b"), &same));
  assert_int_equal(id, same);
  expect_ok(vs_record_text_intern(stacks, VS_STR("a\0c"), &same));
  assert_int_not_equal(id, same);
  expect_str(vs_record_text_at(stacks, id), "a\0b");
  assert_null(vs_record_stacks_check(stacks));
  vs_record_stacks_destroy(stacks);
}

static void test_what_finds_no_room_is_counted(void **state) {
  (void)state;
  vs_record_stacks *stacks =
      make(&(vs_record_stacks_options){.stacks = 4, .frame_bytes = 4096, .text_bytes = 4096});
  uint64_t frames[2] = {1, 0};
  for (uint64_t i = 0; i < 4; i++) {
    frames[1] = i;
    assert_int_equal(vs_record_intern(stacks, frames, 2), i);
  }
  frames[1] = 4;
  assert_int_equal(vs_record_intern(stacks, frames, 2), VS_CONTEXT_NONE);
  frames[1] = 2;
  assert_int_equal(vs_record_intern(stacks, frames, 2), 2); /* those that are there are found */
  assert_int_equal(vs_record_stacks_figures_of(stacks).lost, 1);
  char long_text[4000];
  memset(long_text, 'x', sizeof long_text);
  uint32_t id;
  expect_ok(vs_record_text_intern(stacks, (vs_str){long_text, sizeof long_text}, &id));
  expect_status(vs_record_text_intern(stacks, (vs_str){long_text, sizeof long_text - 1}, &id), VS_LIMIT);
  assert_null(vs_record_stacks_check(stacks));
  vs_record_stacks_destroy(stacks);

  stacks = make(&(vs_record_stacks_options){.stacks = 100, .frame_bytes = 8 * sizeof *frames});
  for (uint64_t i = 0; i < 5; i++) {
    frames[1] = i;
    assert_int_equal(vs_record_intern(stacks, frames, 2), i < 4 ? i : VS_CONTEXT_NONE);
  }
  assert_null(vs_record_stacks_check(stacks));
  vs_record_stacks_destroy(stacks);
  vs_record_stacks *none;
  expect_status(
      vs_record_stacks_create(&(vs_record_stacks_options){.depth = VS_RECORD_DEPTH_MOST + 1}, &none),
      VS_BAD_ARGUMENT);
  vs_record_stacks_destroy(NULL);
}

/* ---- native stacks */

static _Thread_local volatile unsigned sink;

static __attribute__((noinline)) vs_context capture_below(vs_record_stacks *stacks, unsigned depth) {
  const vs_context id = depth == 0 ? vs_record_capture(stacks) : capture_below(stacks, depth - 1);
  sink++;
  return id;
}

/* Two tables in turn, from one place: each keeps its own numbers. */
static void expect_same_from_one_place(vs_record_stacks *stacks) {
  vs_record_stacks *tables[2] = {stacks, make(NULL)};
  vs_context first[2] = {VS_CONTEXT_NONE, VS_CONTEXT_NONE};
  for (volatile unsigned i = 0; i < 8; i++) {
    const vs_context id = vs_record_capture(tables[i % 2]);
    if (i < 2) first[i] = id;
    assert_int_equal(id, first[i % 2]);
  }
  assert_int_equal(first[1], 0);
  assert_int_not_equal(first[0], 0);
  vs_record_stacks_destroy(tables[1]);
}

static void test_native_stacks(void **state) {
  (void)state;
  need_native_stacks(vs_record_native_is_supported());
  vs_record_stacks *stacks = make(&(vs_record_stacks_options){.depth = 10});
  vs_record_stacks *others = make(NULL);
  vs_context seen[40], first_of_others = vs_record_capture(others);
  for (volatile unsigned round = 0; round < 3; round++) /* volatile: one place of the code */
    for (volatile unsigned depth = 0; depth < 40; depth++) {
      const vs_context id = capture_below(stacks, depth);
      if (round == 0) seen[depth] = id;
      assert_int_equal(id, seen[depth]);
    }
  /* Ten frames of the recursion are ten frames, from wherever it came. */
  assert_int_equal(seen[20], seen[39]);
  assert_int_not_equal(seen[3], seen[4]);
  const uint64_t *frames;
  assert_int_equal(vs_record_stack_at(stacks, seen[39], &frames), 10);
  for (uint32_t i = 2; i < 10; i++) assert_int_equal(frames[i], frames[1]);
  /* A stack that a caller passes is the same one that was found. */
  for (unsigned depth = 0; depth < 40; depth++) {
    const uint32_t count = vs_record_stack_at(stacks, seen[depth], &frames);
    uint64_t copy[10];
    memcpy(copy, frames, count * sizeof *frames);
    assert_int_equal(vs_record_intern(stacks, copy, count), seen[depth]);
  }
  assert_int_not_equal(capture_below(others, 3), first_of_others);
  expect_same_from_one_place(others);
  assert_null(vs_record_stacks_check(stacks));
  vs_record_stacks_destroy(stacks);
  vs_record_stacks_destroy(others);
}

/* ---- threads: all of them intern the same things in another order, and must agree */

enum { THREADS = 8, THINGS = 3000 };

typedef struct worker {
  vs_record_stacks *stacks;
  uint64_t seed;
  vs_context stack[THINGS];
  uint32_t text[THINGS];
} worker;

static void intern_everything(void *ctx) {
  worker *w = ctx;
  test_random random = {w->seed};
  const uint64_t first = random_below(&random, THINGS);
  for (uint64_t k = 0; k < THINGS; k++) {
    const uint64_t i = (first + k) % THINGS;
    const uint64_t frames[3] = {i, i / 3, 7};
    char text[32];
    vs_format(text, sizeof text, "text %U", i);
    w->stack[i] = vs_record_intern(w->stacks, frames, 3);
    if (vs_record_text_intern(w->stacks, vs_str_from(text), &w->text[i]) != VS_OK) w->text[i] = 0;
    if (i % 16 == 0) (void)capture_below(w->stacks, (unsigned)(i % 50));
  }
}

static void test_threads_agree(void **state) {
  (void)state;
  worker *workers = calloc(THREADS, sizeof *workers);
  assert_non_null(workers);
  vs_record_stacks *stacks = make(NULL);
  vs_thread threads[THREADS];
  for (uint64_t i = 0; i < THREADS; i++) {
    workers[i].stacks = stacks;
    workers[i].seed = i;
    expect_ok(vs_thread_start(&threads[i], "interner", intern_everything, &workers[i]));
  }
  for (uint64_t i = 0; i < THREADS; i++) vs_thread_join(&threads[i]);
  for (uint64_t i = 0; i < THINGS; i++) {
    const uint64_t frames[3] = {i, i / 3, 7};
    char text[32];
    vs_format(text, sizeof text, "text %U", i);
    for (unsigned t = 0; t < THREADS; t++) {
      assert_int_equal(workers[t].stack[i], workers[0].stack[i]);
      assert_int_equal(workers[t].text[i], workers[0].text[i]);
    }
    expect_frames(stacks, workers[0].stack[i], frames, 3);
    assert_true(vs_str_equal(vs_record_text_at(stacks, workers[0].text[i]), vs_str_from(text)));
  }
  assert_int_equal(vs_record_stacks_figures_of(stacks).texts, THINGS + 2);
  assert_null(vs_record_stacks_check(stacks));
  vs_record_stacks_destroy(stacks);
  free(workers);
}

static void test_the_check_finds_what_is_broken(void **state) {
  (void)state;
  vs_intern table;
  expect_ok(vs_intern_init(&table, 8));
  for (uint32_t i = 0; i < 8; i++) vs_intern_add(&table, 3 + (uint64_t)i % 2, i); /* they share two homes */
  assert_null(vs_intern_check(&table, 8));
  assert_non_null(vs_intern_check(&table, 7));
  table.count++;
  assert_non_null(vs_intern_check(&table, 8));
  table.count--;
  table.slots[4].hash = 0; /* those after it cannot be found */
  assert_non_null(vs_intern_check(&table, 8));
  vs_intern_deinit(&table);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_check_finds_what_is_broken),
      cmocka_unit_test(test_equal_frames_have_equal_numbers),
      cmocka_unit_test(test_named_frames_and_texts),
      cmocka_unit_test(test_what_finds_no_room_is_counted),
      cmocka_unit_test(test_native_stacks),
      cmocka_unit_test(test_threads_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
