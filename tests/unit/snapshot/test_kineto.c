/* What a trace of PyTorch's profiler becomes. */
#include "snapshot/kineto.h"
#include "support/snapshots.h"

#include <stdlib.h>

#define MEMORY(ts, tid, addr, bytes, total)                                                        \
  "{\"ph\": \"i\", \"name\": \"[memory]\", \"pid\": 1, \"tid\": " #tid ", \"ts\": " #ts            \
  ", \"args\": {\"Bytes\": " #bytes ", \"Addr\": " #addr ", \"Device Id\": 0, \"Device Type\": 1," \
  " \"Total Allocated\": " #total "}}"
#define SPAN(cat, text, tid, ts, dur)                                                        \
  "{\"ph\": \"X\", \"cat\": \"" cat "\", \"name\": \"" text "\", \"pid\": 1, \"tid\": " #tid \
  ", \"ts\": " #ts ", \"dur\": " #dur "}"
#define TRACE(events) "{\"schemaVersion\": 1, \"traceEvents\": [" events "]}"

static vs_snapshot *file(const char *name) {
  const vs_str bytes = file_bytes(name);
  vs_snapshot *s = account_of(bytes);
  free((void *)(uintptr_t)bytes.data);
  return s;
}

/* The names of the frames of a stack, innermost first, with commas between them. */
static void expect_stack(const vs_snapshot *s, uint32_t stack, const char *names) {
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  const vs_list frames = vs_stacks_at(&s->stacks, stack);
  for (uint32_t i = 0; i < frames.count; i++) {
    if (i > 0) vs_text_cstr(&text, ",");
    vs_text_str(&text, vs_snapshot_string(s, s->stacks.frames.data[frames.items[i]].name));
  }
  expect_str_at(vs_text_view(&text), vs_str_from(names), __FILE__, __LINE__);
  vs_text_deinit(&text);
}

static void expect_event(const vs_snapshot *s, uint32_t row, vs_event_kind kind, uint64_t address,
                         uint64_t size) {
  assert_int_equal(vs_events_kind(&s->events, row), kind);
  assert_true(vs_events_address(&s->events, row) == address);
  assert_int_equal(vs_events_size(&s->events, row), size);
}

static void expect_refused(const char *text, vs_status wanted, const char *part) {
  vs_snapshot *s;
  vs_error error;
  expect_status(account_from(vs_host_default(), vs_str_from(text), &s, &error), wanted);
  assert_null(s);
  if (strstr(error.text, part) == NULL) fail_msg("\"%s\" is not in: %s", part, error.text);
}

static void events_of_two_devices(void **state) {
  (void)state;
  vs_snapshot *s = file(ACCOUNTS "kineto");
  assert_int_equal(s->format, VS_FORMAT_KINETO);
  assert_int_equal(s->lacks, VS_LACKS_SEGMENTS | VS_LACKS_ROUNDING | VS_LACKS_STREAMS);
  assert_int_equal(s->traces.count, 2);
  assert_int_equal(s->traces.data[0].count, 5);
  assert_int_equal(s->traces.data[1].count, 1);
  expect_event(s, 0, VS_EVENT_ALLOC, 4096, 1024);
  expect_event(s, 1, VS_EVENT_ALLOC, 8192, 2048);
  expect_event(s, 2, VS_EVENT_FREE_REQUESTED, 4096, 1024);
  expect_event(s, 3, VS_EVENT_FREE_REQUESTED, 65536, 512);
  expect_event(s, 4, VS_EVENT_OOM, 0, 1048576);
  assert_int_equal(vs_events_missing(&s->events, 4), VS_EVENT_NO_ADDRESS);
  expect_event(s, 5, VS_EVENT_ALLOC, 4096, 1024);
  assert_true(vs_events_time_us(&s->events, 0) == INT64_C(1700000000000012));
  assert_int_equal(s->left_out, 1); /* memory of the CPU */
  vs_snapshot_destroy(s);
}

static void spans_become_stacks(void **state) {
  (void)state;
  vs_snapshot *s = file(ACCOUNTS "kineto");
  expect_stack(s, vs_events_stack(&s->events, 0),
               "aten::empty,aten::addmm,aten::linear,step,ProfilerStep#0,<module>");
  expect_stack(s, vs_events_stack(&s->events, 1), "aten::mm,torch::autograd::AddmmBackward0::apply");
  expect_stack(s, vs_events_stack(&s->events, 2), "step,ProfilerStep#0,<module>");
  const vs_list stack = vs_stacks_at(&s->stacks, vs_events_stack(&s->events, 2));
  const vs_frame *step = &s->stacks.frames.data[stack.items[0]];
  expect_str_at(vs_snapshot_string(s, step->file), VS_STR("train.py"), __FILE__, __LINE__);
  assert_int_equal(step->line, 9);
  assert_int_equal(s->annotations.count, 4); /* one range, of two devices */
  vs_snapshot_destroy(s);
}

/* 4608 bytes were allocated before: 512 of them are freed in the trace, the rest is one block without an address. */
static void memory_from_before(void **state) {
  (void)state;
  vs_snapshot *s = file(ACCOUNTS "kineto");
  uint64_t live = 0, unplaced = 0;
  for (size_t i = 0; i < s->segments.count; i++) {
    const vs_block *block = &s->blocks.data[s->segments.data[i].first_block];
    if (s->segments.data[i].device != 0) continue;
    assert_int_equal(s->segments.data[i].block_count, 1);
    assert_int_equal(s->segments.data[i].total_size, block->size);
    live += block->size;
    if ((block->has & VS_BLOCK_HAS_ADDRESS) == 0) unplaced += block->size;
  }
  assert_int_equal(live, 5632);
  assert_int_equal(unplaced, 3584);
  vs_snapshot_destroy(s);
}

static void entries_are_sorted_by_time(void **state) {
  (void)state;
  vs_snapshot *s = account_of(VS_STR(TRACE(MEMORY(3.5, 2, 512, -512, 0) "," MEMORY(1, 1, 512, 512, 512))));
  expect_event(s, 0, VS_EVENT_ALLOC, 512, 512);
  expect_event(s, 1, VS_EVENT_FREE_REQUESTED, 512, 512);
  assert_int_equal(s->blocks.count, 0);
  assert_int_equal(s->lacks & VS_LACKS_STACKS, VS_LACKS_STACKS);
  vs_snapshot_destroy(s);
}

/* A span that ended goes, also below one that goes on; another thread's does not count. */
static void only_open_spans_count(void **state) {
  (void)state;
  vs_snapshot *s =
      account_of(VS_STR(TRACE(SPAN("cpu_op", "a", 1, 0, 10) "," SPAN("cpu_op", "b", 1, 5, 10) "," SPAN(
          "cpu_op", "c", 2, 0,
          100) "," MEMORY(7, 1, 512, 512, 512) "," MEMORY(12, 1, 1024, 512, 1024) "," MEMORY(20, 1, 2048, 512,
                                                                                             1536))));
  expect_stack(s, vs_events_stack(&s->events, 0), "b,a");
  expect_stack(s, vs_events_stack(&s->events, 1), "b");
  assert_int_equal(vs_events_stack(&s->events, 2), VS_LIST_NONE);
  vs_snapshot_destroy(s);
}

static void deep_stacks_are_cut(void **state) {
  (void)state;
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_text_cstr(&text, "{\"traceEvents\": [");
  for (unsigned i = 0; i < VS_KINETO_MOST_FRAMES + 10; i++)
    vs_text_format(
        &text, "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"f%u\", \"ts\": %u, \"dur\": 5000},", i, i);
  vs_text_cstr(&text,
               "{\"ph\": \"i\", \"name\": \"[memory]\", \"ts\": 4000, \"args\": {\"Bytes\": 1, \"Addr\": 1, "
               "\"Device Id\": 0, \"Device Type\": 1}}]}");
  vs_snapshot *s = account_of(vs_text_view(&text));
  assert_int_equal(vs_stacks_at(&s->stacks, vs_events_stack(&s->events, 0)).count, VS_KINETO_MOST_FRAMES);
  vs_snapshot_destroy(s);
  vs_text_deinit(&text);
}

static void a_list_is_a_trace(void **state) {
  (void)state;
  vs_snapshot *s = account_of(VS_STR(" [ " MEMORY(1, 1, 512, 512, 512) "]"));
  assert_int_equal(s->events.count, 1);
  vs_snapshot_destroy(s);
  assert_false(vs_kineto_is(VS_STR("{\"segments\": []}")));
  assert_false(vs_kineto_is(VS_STR("[{\"device\": 0}]")));
  assert_false(vs_kineto_is(VS_STR("[]")));
  assert_false(vs_kineto_is(VS_STR("")));
  assert_true(vs_kineto_is(VS_STR("\xef\xbb\xbf{ \"traceEvents\": []}")));
}

static void mistakes_have_a_sentence(void **state) {
  (void)state;
  expect_refused(TRACE(SPAN("cpu_op", "a", 1, 0, 10)), VS_UNSUPPORTED, "profile_memory=True");
  expect_refused("{\"traceEvents\": [{\"ph\": \"i\", \"name\": \"[memory]\", \"ts\": 1, \"args\": {\"Device "
                 "Type\": 0}}]}",
                 VS_UNSUPPORTED, "not a GPU's");
  expect_refused(TRACE("{\"ph\": \"i\", \"name\": \"[memory]\", \"ts\": 1}"), VS_BAD_FORMAT, "has no");
  expect_refused(TRACE(MEMORY(1, 1, "x", 512, 512)), VS_BAD_FORMAT, "an address");
  expect_refused(TRACE(MEMORY("x", 1, 512, 512, 512)), VS_BAD_FORMAT, "a time");
  expect_refused(TRACE(MEMORY(1, 1, 512, null, 512)), VS_BAD_FORMAT, "a number of bytes");
  expect_refused("{\"traceEvents\": [", VS_TRUNCATED, "ends");
}

/* Without the readers it is what it was: JSON that is no snapshot; and it cannot be written. */
static void accounts_are_read_only(void **state) {
  (void)state;
  if (VS_FREESTANDING) skip(); /* the engine of the page has none */
  vs_snapshot *s;
  vs_error error;
  const vs_str text = VS_STR(TRACE(MEMORY(1, 1, 512, 512, 512)));
  expect_status(snapshot_from(vs_host_default(), text, &s, &error), VS_BAD_FORMAT);
  s = account_of(text);
  const vs_writer nowhere = {.ctx = NULL, .write = NULL};
  expect_status(vs_snapshot_write(s, VS_FORMAT_PICKLE, &nowhere, &error), VS_UNSUPPORTED);
  vs_snapshot_destroy(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(events_of_two_devices),  cmocka_unit_test(spans_become_stacks),
      cmocka_unit_test(memory_from_before),     cmocka_unit_test(entries_are_sorted_by_time),
      cmocka_unit_test(only_open_spans_count),  cmocka_unit_test(deep_stacks_are_cut),
      cmocka_unit_test(a_list_is_a_trace),      cmocka_unit_test(mistakes_have_a_sentence),
      cmocka_unit_test(accounts_are_read_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
