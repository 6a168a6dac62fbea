/* What a log of RMM becomes. */
#include "snapshot/rmm.h"
#include "support/snapshots.h"

#include <stdlib.h>

#define HEADER "Thread,Time,Action,Pointer,Size,Stream\n"

static void expect_event(const vs_snapshot *s, uint32_t row, vs_event_kind kind, uint64_t address,
                         uint64_t size, uint64_t stream, int64_t time_us) {
  assert_int_equal(vs_events_kind(&s->events, row), kind);
  assert_true(vs_events_address(&s->events, row) == address);
  assert_true(vs_events_size(&s->events, row) == size);
  assert_int_equal(s->streams.data[vs_events_stream(&s->events, row)], stream);
  assert_true(vs_events_time_us(&s->events, row) == time_us);
}

static void expect_refused(const char *text, vs_status wanted, const char *part, uint64_t offset) {
  vs_snapshot *s;
  vs_error error;
  expect_status(account_from(vs_host_default(), vs_str_from(text), &s, &error), wanted);
  assert_null(s);
  if (strstr(error.text, part) == NULL) fail_msg("\"%s\" is not in: %s", part, error.text);
  assert_true(error.offset == offset);
}

/* The day ends in it, and one line is older than the one before. */
static void entries_become_events(void **state) {
  (void)state;
  const int64_t day = INT64_C(86400000000);
  const vs_str bytes = file_bytes(ACCOUNTS "rmm");
  vs_snapshot *s = account_of(bytes);
  free((void *)(uintptr_t)bytes.data);
  assert_int_equal(s->format, VS_FORMAT_RMM);
  assert_int_equal(s->lacks, VS_LACKS_SEGMENTS | VS_LACKS_ROUNDING | VS_LACKS_STACKS);
  assert_int_equal(s->events.count, 6);
  expect_event(s, 0, VS_EVENT_ALLOC, 0x7f0000000000, 1024, 0, day - 10);
  expect_event(s, 1, VS_EVENT_ALLOC, 0x7f0000000400, 3000, 2, day - 5);
  expect_event(s, 2, VS_EVENT_FREE_REQUESTED, 0x7f0000000000, 1024, 0, day - 5);
  expect_event(s, 3, VS_EVENT_OOM, 0, UINT64_C(1) << 40, 2, day + 10);
  expect_event(s, 4, VS_EVENT_FREE_REQUESTED, 0x7f00000ff000, 512, 0, day + 20);
  expect_event(s, 5, VS_EVENT_ALLOC, 0x7f0000001000, 2048, 0, day + 30);
  assert_int_equal(s->blocks.count, 2);
  vs_snapshot_destroy(s);
}

static void a_killed_process_leaves_half_a_line(void **state) {
  (void)state;
  const vs_str bytes = file_bytes(ACCOUNTS "rmm-cut");
  vs_snapshot *s = account_of(bytes);
  free((void *)(uintptr_t)bytes.data);
  assert_int_equal(s->events.count, 1);
  expect_event(s, 0, VS_EVENT_ALLOC, 0x100, 16, 0, INT64_C(3723000004));
  vs_snapshot_destroy(s);
}

static void a_line_may_end_the_file(void **state) {
  (void)state;
  vs_snapshot *s = account_of(VS_STR(HEADER "1,00:00:00.000001,allocate,0x10,5,legacy"));
  assert_int_equal(s->events.count, 1);
  assert_int_equal(s->lacks & VS_LACKS_STREAMS, VS_LACKS_STREAMS);
  vs_snapshot_destroy(s);
  s = account_of(VS_STR(HEADER));
  assert_int_equal(s->events.count, 0);
  vs_snapshot_destroy(s);
}

static void mistakes_have_a_sentence_and_an_offset(void **state) {
  (void)state;
  const uint64_t second = sizeof HEADER - 1;
  expect_refused(HEADER "1,2\n", VS_BAD_FORMAT, "not six fields", second);
  expect_refused(HEADER "1,00:00:00.000001,free,0x10,5,0x0,7\n", VS_BAD_FORMAT, "not six fields", second);
  expect_refused(HEADER "1,24:00:00.000001,free,0x10,5,0x0\n", VS_BAD_FORMAT, "a malformed time", second);
  expect_refused(HEADER "1,00:00:00-000001,free,0x10,5,0x0\n", VS_BAD_FORMAT, "a malformed time", second);
  expect_refused(HEADER "1,00:00:00.000001,take,0x10,5,0x0\n", VS_BAD_FORMAT, "an unknown action", second);
  expect_refused(HEADER "1,00:00:00.000001,free,0xg,5,0x0\n", VS_BAD_FORMAT, "a malformed pointer", second);
  expect_refused(HEADER "1,00:00:00.000001,free,0x10,-5,0x0\n", VS_BAD_FORMAT, "a malformed size", second);
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_text_cstr(&text, HEADER);
  for (int i = 0; i < VS_RMM_MOST_LINE + 2; i++) vs_text_byte(&text, 'a');
  vs_text_byte(&text, 0);
  expect_refused(text.bytes.data, VS_LIMIT, "more than", second);
  vs_text_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(entries_become_events),
      cmocka_unit_test(a_killed_process_leaves_half_a_line),
      cmocka_unit_test(a_line_may_end_the_file),
      cmocka_unit_test(mistakes_have_a_sentence_and_an_offset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
