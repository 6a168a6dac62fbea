/* What a device memory profile of JAX becomes. */
#include "snapshot/pprof.h"
#include "support/snapshots.h"

#include <stdlib.h>

static vs_snapshot *file(const char *name) {
  const vs_str bytes = file_bytes(name);
  vs_snapshot *s = account_of(bytes);
  free((void *)(uintptr_t)bytes.data);
  return s;
}

static void expect_refused(vs_str bytes, vs_status wanted, const char *part) {
  vs_snapshot *s;
  vs_error error;
  expect_status(account_from(vs_host_default(), bytes, &s, &error), wanted);
  assert_null(s);
  if (strstr(error.text, part) == NULL) fail_msg("\"%s\" is not in: %s", part, error.text);
}

static void expect_file_refused(const char *name, vs_status wanted, const char *part) {
  const vs_str bytes = file_bytes(name);
  expect_refused(bytes, wanted, part);
  free((void *)(uintptr_t)bytes.data);
}

static void expect_stack(const vs_snapshot *s, uint32_t stack, const char *names) {
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  const vs_list frames = vs_stacks_at(&s->stacks, stack);
  for (uint32_t i = 0; i < frames.count; i++) {
    const vs_frame *frame = &s->stacks.frames.data[frames.items[i]];
    vs_text_format(&text, "%s%S:%D", i == 0 ? "" : ",", vs_snapshot_string(s, frame->name), frame->line);
  }
  expect_str_at(vs_text_view(&text), vs_str_from(names), __FILE__, __LINE__);
  vs_text_deinit(&text);
}

/* Three buffers of one stack, two of which the stack is not there; one of another GPU; one of the CPU and a program are left out. */
static void buffers_become_blocks(void **state) {
  (void)state;
  vs_snapshot *s = file(ACCOUNTS "pprof");
  assert_int_equal(s->format, VS_FORMAT_PPROF);
  assert_int_equal(s->lacks, VS_LACKS_SEGMENTS | VS_LACKS_ROUNDING | VS_LACKS_STREAMS | VS_LACKS_ADDRESSES);
  assert_int_equal(s->blocks.count, 6);
  assert_int_equal(s->traces.count, 2);
  assert_int_equal(s->events.count, 0);
  assert_int_equal(s->left_out, 2);
  for (size_t i = 0; i < s->blocks.count; i++) {
    static const uint64_t sizes[] = {1024, 1024, 1024, 4096, 1000, 1000};
    assert_int_equal(s->blocks.data[i].size, sizes[i]);
    assert_int_equal(s->blocks.data[i].has & VS_BLOCK_HAS_ADDRESS, 0);
    assert_int_equal(s->segments.data[i].device, i == 3);
  }
  expect_stack(s, s->blocks.data[0].stack, "ones:7,step:12,<module>:30");
  expect_stack(s, s->blocks.data[3].stack, "ones:7,<module>:30");
  assert_int_equal(s->blocks.data[4].stack, VS_LIST_NONE);
  vs_snapshot_destroy(s);
}

static void sizes_may_not_divide_evenly(void **state) {
  (void)state;
  vs_snapshot *s = file(ACCOUNTS "pprof-uneven");
  assert_int_equal(s->blocks.count, 3);
  assert_int_equal(s->blocks.data[0].size, 3);
  assert_int_equal(s->blocks.data[2].size, 4);
  vs_snapshot_destroy(s);
}

static void mistakes_have_a_sentence(void **state) {
  (void)state;
  expect_file_refused(ACCOUNTS "pprof-cut", VS_TRUNCATED, "truncated");
  expect_file_refused(ACCOUNTS "pprof-cpu", VS_UNSUPPORTED, "not a GPU's");
  expect_file_refused(ACCOUNTS "pprof-other", VS_UNSUPPORTED, "something else");
  expect_file_refused(ACCOUNTS "pprof-many", VS_LIMIT, "unfolds to more memory");
#define TYPE "\x0a\x04\x08\x01\x10\x02"
  expect_refused(VS_STR(TYPE "\x12\x02\x0a\x05"), VS_BAD_FORMAT, "malformed sample");
  expect_refused(VS_STR(TYPE "\x12\x03\x1a\x01\x08"), VS_BAD_FORMAT, "malformed label");
  expect_refused(VS_STR(TYPE "\x12\x01\x0b"), VS_BAD_FORMAT, "malformed sample");
  expect_refused(VS_STR(TYPE "\x12\xff\xff\xff\xff\x7f"), VS_LIMIT, "a field of");
  expect_refused(VS_STR(TYPE "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), VS_BAD_FORMAT, "64 bits");
}

/* A number in a small file is no reason to fill the memory before it is refused. */
static void too_many_buffers_are_refused_at_once(void **state) {
  (void)state;
  const vs_str bytes = file_bytes(ACCOUNTS "pprof-many");
  vs_budget budget;
  vs_snapshot *s;
  vs_error error;
  vs_budget_init(&budget, vs_host_default(), 1024 * 1024);
  expect_status(account_from(&budget.host, bytes, &s, &error), VS_LIMIT);
  assert_false(budget.refused);
  assert_int_equal(budget.used, 0);
  free((void *)(uintptr_t)bytes.data);
}

/* JSON may begin with an end of line, which is the key of the first field here. */
static void only_profiles_are_profiles(void **state) {
  (void)state;
  assert_true(vs_pprof_is(VS_STR(TYPE TYPE)));
  assert_false(vs_pprof_is(VS_STR("\n{\"segments\": []}")));
  assert_false(vs_pprof_is(VS_STR("\n\n\n\n\n\n\n\n")));
  assert_false(vs_pprof_is(VS_STR("\x0a\x04")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(buffers_become_blocks),      cmocka_unit_test(sizes_may_not_divide_evenly),
      cmocka_unit_test(mistakes_have_a_sentence),   cmocka_unit_test(too_many_buffers_are_refused_at_once),
      cmocka_unit_test(only_profiles_are_profiles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
