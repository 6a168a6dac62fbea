/* What the driver gave, stretch by stretch. */
#include "analyze/mappings.h"
#include "unit/analyze/made.h"

#define MiB UINT64_C(0x100000)

typedef struct wanted {
  uint64_t address, size; /* MiB */
  uint32_t start, end, segment, version;
} wanted;

static vs_mappings build(made *m) {
  vs_mappings mappings;
  expect_ok(vs_mappings_build(m->host, made_slice(m, 0), &mappings));
  const char *broken = vs_mappings_check(&mappings);
  if (broken != NULL) fail_msg("%s", broken);
  return mappings;
}

static void expect_rows(const vs_mappings *mappings, const wanted *rows, size_t count) {
  assert_int_equal(mappings->rows.count, count);
  for (size_t i = 0; i < count; i++) {
    const vs_mapping *row = &mappings->rows.data[i];
    assert_int_equal(row->address, rows[i].address * MiB);
    assert_int_equal(row->size, rows[i].size * MiB);
    assert_int_equal(row->start, rows[i].start);
    assert_int_equal(row->end, rows[i].end);
    assert_int_equal(row->segment, rows[i].segment);
    assert_int_equal(row->version, rows[i].version);
  }
}

static void test_segments_come_and_go(void **state) {
  (void)state;
  made m = made_begin();
  const uint32_t stack = made_stack(&m, "f", 1), other = made_stack(&m, "g", 2);
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, 2 * MiB, 2 * MiB); /* 0 */
  (void)made_event(&m, VS_EVENT_ALLOC, 2 * MiB, 9);
  (void)made_event(&m, VS_EVENT_SEGMENT_FREE, 2 * MiB, 2 * MiB);   /* 2 */
  (void)made_event(&m, VS_EVENT_SEGMENT_FREE, 40 * MiB, 20 * MiB); /* 3: older */
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, 2 * MiB, 2 * MiB);  /* 4 */
  expect_ok(vs_events_set_stack(m.host, &m.snapshot->events, 0, stack));
  expect_ok(vs_events_set_stack(m.host, &m.snapshot->events, 3, other));
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 2 * MiB, 2 * MiB, "small");
  (void)made_block(&m, 2 * MiB, 0, VS_BLOCK_INACTIVE);
  made_segment(&m, 0, 80 * MiB, 4 * MiB, "large")->stack = other; /* never mentioned */
  (void)made_block(&m, 4 * MiB, 0, VS_BLOCK_INACTIVE);

  vs_mappings mappings = build(&m);
  const wanted rows[] = {
      {40, 20, VS_NO_EVENT, 3, VS_NO_ROW, 0},
      {80, 4, VS_NO_EVENT, VS_NO_EVENT, 1, 0},
      {2, 2, 0, 2, VS_NO_ROW, 0},
      {2, 2, 4, VS_NO_EVENT, 0, 1},
  };
  expect_rows(&mappings, rows, 4);
  assert_int_equal(mappings.rows.data[0].kind, VS_SEGMENT_LARGE);
  assert_int_equal(mappings.rows.data[2].kind, VS_SEGMENT_SMALL);
  assert_int_equal(vs_mapping_stack(&mappings, &mappings.rows.data[0]), other);
  assert_int_equal(vs_mapping_stack(&mappings, &mappings.rows.data[1]), other);
  assert_int_equal(vs_mapping_stack(&mappings, &mappings.rows.data[2]), stack);
  assert_int_equal(vs_mapping_stack(&mappings, &mappings.rows.data[3]), VS_LIST_NONE);
  assert_true(vs_mapping_is_live(&mappings.rows.data[2], 1) &&
              !vs_mapping_is_live(&mappings.rows.data[2], 2));
  assert_false(vs_mapping_is_live(&mappings.rows.data[2], VS_AT_START));
  assert_true(vs_mapping_is_live(&mappings.rows.data[0], VS_AT_START));
  assert_int_equal(mappings.gets.count, 2);
  assert_int_equal(mappings.gives.count, 2);
  assert_int_equal(vs_count_events(mappings.gets.data, 2, 0, 4), 1);
  assert_int_equal(vs_count_events(mappings.gets.data, 2, 0, 5), 2);
  assert_int_equal(vs_count_events(mappings.gets.data, 2, 1, 4), 0);
  vs_mappings_deinit(m.host, &mappings);
  made_end(&m);
}

static void expandable_segment(made *m, uint64_t address, uint64_t size) {
  vs_segment *segment = made_segment(m, 0, address, size, "large");
  segment->is_expandable = true;
  segment->has = VS_SEGMENT_HAS_EXPANDABLE;
}

/* Mapped together, unmapped in part: each part is a row, and so is what is mapped there again. */
static void test_pages(void **state) {
  (void)state;
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_SEGMENT_MAP, 0, 60 * MiB);
  (void)made_event(&m, VS_EVENT_SEGMENT_UNMAP, 20 * MiB, 20 * MiB);
  (void)made_event(&m, VS_EVENT_SEGMENT_MAP, 20 * MiB, 10 * MiB);
  made_trace(&m, 0);
  expandable_segment(&m, 0, 30 * MiB);
  (void)made_block(&m, 30 * MiB, 0, VS_BLOCK_INACTIVE);
  expandable_segment(&m, 40 * MiB, 20 * MiB);
  (void)made_block(&m, 20 * MiB, 0, VS_BLOCK_INACTIVE);
  vs_mappings mappings = build(&m);
  const wanted rows[] = {
      {0, 20, 0, VS_NO_EVENT, 0, 0},
      {20, 20, 0, 1, VS_NO_ROW, 0},
      {40, 20, 0, VS_NO_EVENT, 1, 0},
      {20, 10, 2, VS_NO_EVENT, 0, 1},
  };
  expect_rows(&mappings, rows, 4);
  assert_true(mappings.rows.data[1].is_expandable);
  vs_mappings_deinit(m.host, &mappings);
  made_end(&m);
}

static void test_contradictions(void **state) {
  (void)state;
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, 0,
                   8 * MiB); /* mapped at 2 again: ends there, without a free */
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, 16 * MiB, 8 * MiB); /* never freed, not in the end state */
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, 4 * MiB, 8 * MiB);
  (void)made_event(&m, VS_EVENT_SEGMENT_FREE, 0, 4 * MiB); /* and yet in the end state */
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 0, 12 * MiB, "large");
  (void)made_block(&m, 12 * MiB, 0, VS_BLOCK_INACTIVE);
  vs_mappings mappings = build(&m);
  const wanted rows[] = {
      {0, 4, 0, 3, VS_NO_ROW, 0},
      {4, 8, 2, VS_NO_EVENT, 0, 0},
      {0, 4, 3, VS_NO_EVENT, 0, 1},
  };
  expect_rows(&mappings, rows, 3);
  vs_mappings_deinit(m.host, &mappings);
  made_end(&m);
}

static void test_ends_of_the_numbers(void **state) {
  (void)state;
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_SEGMENT_UNMAP, UINT64_MAX, UINT64_MAX);
  (void)made_event(&m, VS_EVENT_SEGMENT_UNMAP, UINT64_MAX - 4, UINT64_MAX);
  (void)made_event(&m, VS_EVENT_SEGMENT_MAP, 0, UINT64_MAX);
  (void)made_event(&m, VS_EVENT_SEGMENT_FREE, 5, 0);
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 16, UINT64_MAX, "small");
  (void)made_block(&m, UINT64_MAX, 0, VS_BLOCK_INACTIVE);
  vs_mappings mappings = build(&m);
  assert_int_equal(mappings.rows.count, 2);
  assert_int_equal(mappings.rows.data[0].size, 4);
  assert_true(mappings.rows.data[1].size == UINT64_MAX - 16);
  vs_mappings_deinit(m.host, &mappings);
  made_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_segments_come_and_go),
      cmocka_unit_test(test_pages),
      cmocka_unit_test(test_contradictions),
      cmocka_unit_test(test_ends_of_the_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
