/* Generated files: which lines of the program a line of them was made from, as PyTorch's PyCodeCache.stack_frames_for_code says. */
#include "faces/preload/generated.h"
#include "os/thread.h"
#include "support/test.h"
#include <stdatomic.h>
#include <stdlib.h>

enum { MOST = 8 };

static uint32_t look(const char *path, int64_t line, vs_record_frame frames[MOST]) {
  const vs_generated_file *file = vs_generated_find(vs_str_from(path));
  return file == NULL ? 0 : vs_generated_frames(file, line, frames, MOST);
}

static void expect_frame(const vs_record_frame *frame, const char *file, int64_t line, const char *function) {
  assert_true(vs_str_equal(frame->file, vs_str_from(file)));
  assert_true(vs_str_equal(frame->function, vs_str_from(function)));
  assert_int_equal(frame->line, line);
}

/* The frame of the one line that the stack has. */
static void expect_one(const char *path, const char *stack, const char *file, int64_t line,
                       const char *function) {
  vs_record_frame frames[MOST];
  const vs_generated_line lines[] = {{1, vs_str_from(stack)}};
  assert_true(vs_generated_add(vs_str_from(path), lines, 1));
  assert_int_equal(look(path, 1, frames), 1);
  expect_frame(frames, file, line, function);
}

static void expect_none(const char *path, const char *stack) {
  vs_record_frame frames[MOST];
  const vs_generated_line lines[] = {{1, vs_str_from(stack)}};
  assert_true(vs_generated_add(vs_str_from(path), lines, 1));
  assert_int_equal(look(path, 1, frames), 0);
}

static void test_lines(void **state) {
  (void)state;
  static const char two[] =
      "  File \"train.py\", line 30, in forward\n    x = block(x)\n"
      "  File \"block.py\", line 8, in <lambda>\n    return gelu(x)\n           ^^^^^^^\n";
  const vs_generated_line lines[] = {
      {10, vs_str_from(two)}, {20, vs_str_from("")}, {30, vs_str_from(two)}, {31, vs_str_from(two)}};
  vs_record_frame frames[MOST];
  assert_null(vs_generated_find(vs_str_from("a.py")));
  assert_true(vs_generated_add(vs_str_from("a.py"), lines, 4));
  assert_false(vs_generated_add(vs_str_from("a.py"), lines, 1)); /* known */
  assert_null(vs_generated_find(vs_str_from("b.py")));
  for (int64_t line = 0; line < 50; line++) {
    const bool has_stack = (line >= 10 && line < 20) || line >= 30;
    assert_int_equal(look("a.py", line, frames), has_stack ? 2 : 0);
    if (!has_stack) continue;
    expect_frame(&frames[0], "block.py", 8, "<lambda>");
    expect_frame(&frames[1], "train.py", 30, "forward");
  }
  assert_int_equal(vs_generated_frames(vs_generated_find(vs_str_from("a.py")), 10, frames, 1), 1);
  expect_frame(&frames[0], "block.py", 8, "<lambda>");
}

/* As the regular expression File "(.+)", line (\d+), in (.+)\n finds them. */
static void test_forms(void **state) {
  (void)state;
  expect_one("1", "File \"a\", line 1, in b\n", "a", 1, "b");
  expect_one("2", "a File \"b\", line 2, in c d\n", "b", 2, "c d");
  expect_one("3", "File \"a\", line 1, in b\", line 2, in c\n", "a\", line 1, in b", 2, "c");
  expect_one("4", "File \"File \"a\", line 3, in b\n", "File \"a", 3, "b");
  expect_one("5", "File \"a\", line x, in b\nFile \"a\", line 4, in b\nFile \"a\", line 5, in b", "a", 4,
             "b");
  expect_none("6", "File \"\", line 1, in b\n");
  expect_none("7", "File \"a\", line 1, in \n");
  expect_none("8", "File \"a\", line , in b\n");
  expect_none("9", "File \"a\", line 99999999999999999999, in b\n");
  expect_none("10", "\n\nFile \"\nFile \"a\n\", line 1, in b\n");
  expect_none("11", "File");
}

/* ---- threads add and look at the same time */

enum { FILES = 2000, THREADS = 4 };

static void make_path(char path[32], uint32_t number) { vs_format(path, 32, "file %D", (int64_t)number); }

static void add_files(void *ctx) {
  _Atomic uint32_t *wrong = ctx;
  for (uint32_t i = 0; i < FILES; i++) {
    char path[32], stack[64];
    vs_record_frame frames[MOST];
    make_path(path, i);
    vs_format(stack, sizeof stack, "File \"a\", line %D, in b\n", (int64_t)i + 1);
    const vs_generated_line lines[] = {{i, vs_str_from(stack)}};
    (void)vs_generated_add(vs_str_from(path), lines, 1); /* by one of the threads */
    *wrong += look(path, i, frames) != 1 || frames[0].line != i + 1;
  }
}

static void test_threads(void **state) {
  (void)state;
  _Atomic uint32_t wrong = 0;
  vs_thread threads[THREADS];
  for (size_t i = 0; i < THREADS; i++)
    expect_ok(vs_thread_start(&threads[i], "adds", add_files, (void *)&wrong));
  for (size_t i = 0; i < THREADS; i++) vs_thread_join(&threads[i]);
  assert_int_equal(wrong, 0);
}

/* The table is bounded. */
static void test_room(void **state) {
  (void)state;
  enum { SIZE = 20 << 20 };
  char *stack = calloc(1, SIZE);
  const vs_generated_line lines[] = {{1, {stack, SIZE}}, {2, {stack, SIZE}}};
  for (uint32_t i = 0; i < 4; i++) {
    char path[32];
    make_path(path, FILES + i);
    assert_int_equal(vs_generated_add(vs_str_from(path), lines, 2),
                     i < 3); /* a stack that is repeated is kept once */
  }
  free(stack);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines), cmocka_unit_test(test_forms),
                                     cmocka_unit_test(test_threads), cmocka_unit_test(test_room)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
