/* The rows that filters and tables see. */
#include "query/rows.h"
#include "unit/analyze/made.h"

/* Files of other tools can have free blocks side by side: together they are one. */
static void test_largest_free_block(void **state) {
  (void)state;
  made m = made_begin();
  made_trace(&m, 0);
  const vs_segment *segment = made_segment(&m, 0, 1 << 20, 16384, "small");
  (void)made_block(&m, 2048, 0, VS_BLOCK_INACTIVE);
  (void)made_block(&m, 512, 512, VS_BLOCK_ALLOCATED);
  (void)made_block(&m, 1024, 0, VS_BLOCK_INACTIVE);
  (void)made_block(&m, 1536, 0, VS_BLOCK_INACTIVE);
  (void)made_block(&m, 512, 512, VS_BLOCK_PENDING);
  (void)made_block(&m, 10752, 512, VS_BLOCK_ALLOCATED);
  assert_int_equal(vs_largest_hole_of(m.snapshot, segment), 2560);
  made_end(&m);
}

/* What an out-of-memory event has in place of an address are the GPU's free bytes. */
static void test_only_addresses_are_addresses(void **state) {
  (void)state;
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_ALLOC, 4096, 512);
  (void)made_event(&m, VS_EVENT_OOM, 4096, 1 << 30);
  made_trace(&m, 0);
  const vs_slice *slice = made_slice(&m, 0);
  const vs_filter_row alloc = vs_row_of_event(slice, 0), oom = vs_row_of_event(slice, 1);
  assert_true((alloc.has & 1u << VS_FILTER_address) != 0);
  assert_false((oom.has & 1u << VS_FILTER_address) != 0);
  made_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_largest_free_block),
      cmocka_unit_test(test_only_addresses_are_addresses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
