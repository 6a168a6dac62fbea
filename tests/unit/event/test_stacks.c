/* Interned frames and stacks: equal ones have equal ids, and the check finds what is broken. */
#include "event/stacks.h"
#include "support/test.h"

static void equal_frames_have_equal_ids(void **state) {
  (void)state;
  const vs_host *host = vs_host_default();
  vs_stacks stacks;
  const vs_frame_detail detail = {.fx_node_op = 3};
  uint32_t ids[4], again;
  expect_ok(vs_stacks_init(host, &stacks));
  expect_ok(vs_stacks_frame(host, &stacks, 1, 2, 10, NULL, &ids[0]));
  expect_ok(vs_stacks_frame(host, &stacks, 1, 2, 11, NULL, &ids[1]));
  expect_ok(vs_stacks_frame(host, &stacks, 1, 2, 10, &detail, &ids[2]));
  expect_ok(vs_stacks_forward_frame(host, &stacks, 1, 2, 10, &ids[3]));
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < i; j++) assert_int_not_equal(ids[i], ids[j]);
  expect_ok(vs_stacks_frame(host, &stacks, 1, 2, 10, &detail, &again));
  assert_int_equal(again, ids[2]);
  uint32_t stack;
  expect_ok(vs_lists_intern(host, &stacks.lists, ids, 4, &stack));
  assert_int_equal(vs_stacks_at(&stacks, stack).count, 4);
  assert_null(vs_stacks_check(&stacks));
  stacks.frames.data[ids[0]].detail = 7;
  assert_non_null(vs_stacks_check(&stacks));
  stacks.frames.data[ids[0]].detail = 0;
  stacks.lists.items.data[0] = 99;
  assert_non_null(vs_stacks_check(&stacks));
  stacks.lists.items.data[0] = ids[0];
  assert_null(vs_stacks_check(&stacks));
  vs_stacks_deinit(host, &stacks);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(equal_frames_have_equal_ids)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
