/* The lines of the forward pass behind the stacks of the backward pass. */
#include "support/recordings.h"
#include "support/snapshots.h"

/* ---- lines of a traceback -------------------------------------------------------------------------------------- */

static void expect_line(const char *line, const char *file, int64_t number, const char *function) {
  vs_str found_file, found_function;
  int64_t found;
  if (!vs_traceback_line(vs_str_from(line), &found_file, &found, &found_function)) fail_msg("%s", line);
  expect_str_at(found_file, vs_str_from(file), __FILE__, __LINE__);
  expect_str_at(found_function, vs_str_from(function), __FILE__, __LINE__);
  assert_true(found == number);
}

static void expect_no_line(const char *line) {
  vs_str file, function;
  int64_t number;
  if (vs_traceback_line(vs_str_from(line), &file, &number, &function)) fail_msg("%s", line);
}

static void test_lines(void **state) {
  (void)state;
  expect_line("  File \"/a/model.py\", line 12, in forward", "/a/model.py", 12, "forward");
  expect_line("File \"model.py\", line 7", "model.py", 7, "");
  expect_line("  File \"<string>\", line 1, in <module>", "<string>", 1, "<module>");
  expect_line("  File \"a \"b\", line 3\", line 4, in f, in g", "a \"b\", line 3", 4, "f, in g");
  expect_line("  File \"\", line 1, in ", "", 1, "");
  vs_str file, function;
  int64_t number;
  assert_false(vs_traceback_line((vs_str){NULL, 0}, &file, &number, &function));
  expect_no_line("");
  expect_no_line("    y = self.w @ x");
  expect_no_line("    File \"model.py\", line 12, in forward"); /* a line of source text */
  expect_no_line("    ~~~~^^^");
  expect_no_line("  [Previous line repeated 3 more times]");
  expect_no_line("  File \"model.py\"");
  expect_no_line("  File \"model.py\", line ");
  expect_no_line("  File \"model.py\", line 0, in f");
  expect_no_line("  File \"model.py\", line -1, in f");
  expect_no_line("  File \"model.py\", line 99999999999999999999, in f");
  expect_no_line("  File \"model.py\", line 12 in forward");
  expect_no_line("File");
}

/* ---- joining --------------------------------------------------------------------------------------------------- */

#define EVENT(address, more) \
  "{\"action\": \"alloc\", \"addr\": " #address ", \"size\": 512, \"stream\": 0" more "}"
#define PYTHON ", \"frames\": [{\"name\": \"main\", \"filename\": \"train.py\", \"line\": 3}]"
#define NATIVE ", \"frames\": [{\"name\": \"at::empty\", \"filename\": \"??\", \"line\": 0}]"
#define FORWARD                                                                               \
  ", \"forward_frames\": [\"  File \\\"train.py\\\", line 3, in main\\n    loss = f(x)\\n\"," \
  " \"  File \\\"model.py\\\", line 12, in f\\n\", \"    return x @ w\\n\"]"
#define TRACE(events) "{\"segments\": [], \"device_traces\": [[" events "]]}"

/* "name@file:line" of the frames of a row's stack, in brackets those of the forward pass. */
static void expect_stack(const vs_snapshot *s, uint32_t row, const char *expected) {
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  const vs_list frames = vs_stacks_at(&s->stacks, vs_events_stack(&s->events, row));
  for (uint32_t i = 0; i < frames.count; i++) {
    const vs_frame *f = &s->stacks.frames.data[frames.items[i]];
    vs_text_format(&text, f->is_forward != 0 ? "[%S@%S:%D] " : "%S@%S:%D ", vs_snapshot_string(s, f->name),
                   vs_snapshot_string(s, f->file), f->line);
  }
  expect_str_at(vs_text_view(&text), vs_str_from(expected), __FILE__, __LINE__);
  vs_text_deinit(&text);
}

static vs_snapshot *joined_snapshot(void) {
  return snapshot_of_json(TRACE(EVENT(4096, PYTHON) "," EVENT(8192, ", \"frames\": []" FORWARD) "," EVENT(
      12288, NATIVE FORWARD) "," EVENT(16384, FORWARD) "," EVENT(20480, NATIVE FORWARD) "," EVENT(24576,
                                                                                                  NATIVE)));
}

static void test_stacks_go_on_with_the_forward_pass(void **state) {
  (void)state;
#define LINES "[backward pass@:0] [f@model.py:12] [main@train.py:3] "
  vs_snapshot *s = joined_snapshot();
  expect_stack(s, 0, "main@train.py:3 ");
  expect_stack(s, 1, LINES);
  expect_stack(s, 2, "at::empty@??:0 " LINES);
  expect_stack(s, 3, ""); /* no stack was recorded: nothing says that this was the backward pass */
  expect_stack(s, 5, "at::empty@??:0 ");
  assert_int_equal(vs_events_stack(&s->events, 2), vs_events_stack(&s->events, 4));
  assert_int_equal(s->forward.recorded.count, 2);
  assert_int_equal(vs_snapshot_recorded_stack(s, vs_events_stack(&s->events, 1)), VS_LIST_EMPTY);
  assert_int_equal(vs_snapshot_recorded_stack(s, vs_events_stack(&s->events, 2)),
                   vs_events_stack(&s->events, 5));
  assert_int_equal(vs_snapshot_recorded_stack(s, vs_events_stack(&s->events, 0)),
                   vs_events_stack(&s->events, 0));
  assert_null(vs_snapshot_check(s));
  vs_snapshot_destroy(s);
}

static void test_blocks_and_segments(void **state) {
  (void)state;
  vs_snapshot *s = snapshot_of_json(
      "{\"segments\": [{\"device\": 0, \"address\": 4096, \"total_size\": 512, \"stream\": 0" NATIVE FORWARD
      ", \"blocks\": [{\"address\": 4096, \"size\": 512, \"state\": \"active_allocated\", \"frames\": "
      "[]" FORWARD "}, {\"address\": 4608, \"size\": 512, \"state\": \"inactive\"" FORWARD
      "}]}], \"device_traces\": [[]]}");
  assert_int_equal(vs_stacks_at(&s->stacks, s->segments.data[0].stack).count, 4);
  assert_int_equal(vs_stacks_at(&s->stacks, s->blocks.data[0].stack).count, 3);
  /* A block is written with an empty stack if it has none. */
  assert_int_equal(s->blocks.data[1].stack, s->blocks.data[0].stack);
  assert_null(vs_snapshot_check(s));
  vs_snapshot_destroy(s);
}

/* What was read is written, in each format, and read again the same. */
static void test_what_was_recorded_is_written(void **state) {
  (void)state;
  vs_snapshot *s = joined_snapshot();
  for (vs_file_format format = VS_FORMAT_PICKLE; format <= VS_FORMAT_VRAM; format++) {
    vs_text bytes = written(s, format);
    assert_false(format == VS_FORMAT_JSON &&
                 vs_str_contains(vs_text_view(&bytes), VS_STR(VS_FORWARD_BORDER)));
    vs_snapshot *back = snapshot_of(vs_text_view(&bytes));
    expect_equal_snapshots(s, back, "joined");
    for (uint32_t row = 0; row < s->events.count; row++)
      assert_int_equal(vs_stacks_at(&s->stacks, vs_events_stack(&s->events, row)).count,
                       vs_stacks_at(&back->stacks, vs_events_stack(&back->events, row)).count);
    assert_int_equal(back->forward.recorded.count, 2);
    vs_snapshot_destroy(back);
    vs_text_deinit(&bytes);
  }
  vs_snapshot_destroy(s);
}

static void test_invariants(void **state) {
  (void)state;
  vs_snapshot *s = joined_snapshot();
  vs_forward *forward = &s->forward;
  const uint32_t joined = vs_events_stack(&s->events, 2);
  forward->recorded.count--;
  assert_non_null(strstr(vs_snapshot_check(s), "neither recorded nor joined"));
  forward->recorded.count++;
  forward->recorded.data[joined - forward->first_stack] = joined;
  assert_non_null(strstr(vs_snapshot_check(s), "recorded as a joined one"));
  forward->recorded.data[joined - forward->first_stack] = VS_LIST_EMPTY;
  assert_non_null(strstr(vs_snapshot_check(s), "in the wrong place"));
  vs_snapshot_destroy(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lines),
      cmocka_unit_test(test_stacks_go_on_with_the_forward_pass),
      cmocka_unit_test(test_blocks_and_segments),
      cmocka_unit_test(test_what_was_recorded_is_written),
      cmocka_unit_test(test_invariants),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
