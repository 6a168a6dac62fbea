/* A picture of a few blocks, pixel by pixel. */
#include "analyze/picture.h"
#include "unit/analyze/made.h"

typedef struct scene {
  made m;
  const vs_slice *slice;
  vs_lifetimes lifetimes;
  vs_spans spans;
  vs_curve_index curve;
  vs_times times;
} scene;

static void open_scene(scene *s) {
  s->slice = made_slice(&s->m, 0);
  expect_ok(vs_lifetimes_build(s->m.host, s->slice, &s->lifetimes));
  expect_ok(vs_spans_of_lifetimes(s->m.host, &s->lifetimes, NULL, &s->spans));
  expect_ok(vs_curve_index_of_spans(s->m.host, &s->spans, &s->curve));
  expect_ok(vs_times_build(s->m.host, s->slice, &s->times));
  const char *broken = vs_spans_check(&s->spans);
  if (broken == NULL) broken = vs_curve_index_check(&s->curve);
  if (broken != NULL) fail_msg("%s", broken);
}

static void close_scene(scene *s) {
  vs_times_deinit(s->m.host, &s->times);
  vs_curve_index_deinit(s->m.host, &s->curve);
  vs_spans_deinit(s->m.host, &s->spans);
  vs_lifetimes_deinit(s->m.host, &s->lifetimes);
  made_end(&s->m);
}

/* 0 and 1 are older, 1 stays; 2, 3 and 4 are small.
 *   event   0        1        2        3        4          5 (6)
 *           +2: 10   +3: 1    +4: 1    -0: 30   +5: 28     -2
 *   bytes   100 at the start, 110, 111, 112, 82, 110, 110, 100 */
static void make_scene(scene *s) {
  s->m = made_begin();
  (void)made_event(&s->m, VS_EVENT_ALLOC, 0x3000, 10);
  (void)made_event(&s->m, VS_EVENT_ALLOC, 0x4000, 1);
  (void)made_event(&s->m, VS_EVENT_ALLOC, 0x5000, 1);
  (void)made_event(&s->m, VS_EVENT_FREE_COMPLETED, 0x1000, 30);
  (void)made_event(&s->m, VS_EVENT_ALLOC, 0x6000, 28);
  (void)made_free(&s->m, 0x3000, 10);
  for (uint32_t event = 0; event < 7; event++) made_time(&s->m, event, 1000 + 10 * event);
  made_trace(&s->m, 0);
  (void)made_segment(&s->m, 0, 0x2000, 512, "small");
  (void)made_block(&s->m, 512, 70, VS_BLOCK_ALLOCATED);
  open_scene(s);
}

static void expect_sample(const vs_picture *p, size_t i, uint32_t column, int32_t event, double bytes) {
  assert_int_equal(p->sample_column.data[i], column);
  assert_int_equal(p->sample_event.data[i], event);
  assert_true(p->sample_bytes.data[i] == bytes);
}

static void expect_run(const vs_picture *p, size_t i, uint32_t end, uint32_t row, uint32_t group,
                       uint32_t flags) {
  assert_int_equal(p->run_end.data[i], end);
  assert_int_equal(p->run_row.data[i], row);
  assert_int_equal(p->run_group.data[i], group);
  assert_int_equal(p->run_flags.data[i], flags);
}

/* Rows of lifetimes: 0: 0x3000, 1: 0x4000, 2: 0x5000, 3: 0x1000 (older, 30), 4: 0x6000, 5: 0x2000 (older, 70). The one
 * that lives longest lies lowest. */
static void test_whole(void **state) {
  (void)state;
  scene s;
  vs_picture p;
  make_scene(&s);
  const vs_look look = {.window = vs_window_whole(s.slice, NULL, 4), .y1 = VS_FIT, .rows = 8};
  assert_true(look.window.x0 == -1 && look.window.x1 == 7);
  expect_ok(vs_picture_build(s.m.host, &s.spans, &s.curve, &look, &p));
  assert_int_equal(p.highest, 112);
  assert_int_equal(p.highest_at, 2);
  assert_int_equal(p.count, 6);
  assert_int_equal(p.y1, 112);
  assert_int_equal(p.sample_event.count, 4);
  expect_sample(&p, 0, 0, 0, 110);
  expect_sample(&p, 1, 1, 2, 112);
  expect_sample(&p, 2, 2, 4, 110);
  expect_sample(&p, 3, 3, 5, 110); /* 5 is as high as 4, but no longer 4 */
  assert_int_equal(p.sample_column.data[4], 4);
  /* A pixel is 14 bytes: centres at 7, 21, 35, 49, 63, 77, 91, 105. */
  assert_int_equal(p.sample_run.data[1], 3);
  expect_run(&p, 0, 5, 5, 5, 0);
  expect_run(&p, 1, 7, 3, 3, 0);
  expect_run(&p, 2, 8, 0, 0, VS_RUN_SEVERAL); /* [100, 110) holds 105 */
  /* Moment 2 puts two small ones on top: all pixels are those of the sample before. */
  assert_int_equal(p.sample_kept.data[0], 0);
  assert_int_equal(p.sample_kept.data[1], 7); /* the uppermost is SEVERAL and could go on */
  assert_int_equal(p.sample_run.data[2], 4);
  expect_run(&p, 3, 8, 0, 0, VS_RUN_SEVERAL);
  /* Moment 4: 70, then 10, 1, 1, 28: 77 is in [70, 80), 91 and 105 in [82, 110). */
  const uint32_t first = p.sample_run.data[2];
  assert_int_equal(p.sample_kept.data[2], 5);
  assert_int_equal(p.sample_run.data[3] - first, 2);
  expect_run(&p, first, 6, 0, 0, VS_RUN_SEVERAL);
  expect_run(&p, first + 1, 8, 4, 4, 0);
  assert_int_equal(p.sample_run.data[4], p.run_end.count);
  vs_picture_deinit(s.m.host, &p);
  close_scene(&s);
}

/* [98, 114) in pixels of one byte and of half a byte, with groups and marks. */
static void test_close(void **state) {
  (void)state;
  scene s;
  vs_picture p;
  make_scene(&s);
  const uint16_t groups[] = {1, 2, 2, 3, 4, 5};
  const uint64_t marked = 1 << 2 | 1 << 3;
  vs_look look = {.window = {.event_count = 7, .x0 = 2.25, .x1 = 2.5, .columns = 100}, .y0 = 98, .y1 = 114};
  look.rows = 16;
  look.groups = groups;
  look.marked = &marked;
  expect_ok(vs_picture_build(s.m.host, &s.spans, &s.curve, &look, &p));
  assert_int_equal(p.sample_event.count, 1);
  expect_sample(&p, 0, 0, 2, 112);
  assert_int_equal(p.count, 5);
  assert_int_equal(p.marked_count, 2);
  assert_int_equal(p.marked_bytes, 31);
  assert_int_equal(p.run_end.count, 4);
  expect_run(&p, 0, 2, 3, 3, VS_RUN_MARKED);
  expect_run(&p, 1, 12, 0, 1, 0);
  expect_run(&p, 2, 13, 1, 2, 0);
  expect_run(&p, 3, 14, 2, 2, VS_RUN_MARKED);
  vs_picture_deinit(s.m.host, &p);

  look.rows = 8; /* 2 bytes: of [110, 112) the byte 111 is shown; row 2 stands for both */
  look.marked = NULL;
  expect_ok(vs_picture_build(s.m.host, &s.spans, &s.curve, &look, &p));
  assert_int_equal(p.run_end.count, 3);
  expect_run(&p, 1, 6, 0, 1, 0);
  expect_run(&p, 2, 7, 2, 2, VS_RUN_SEVERAL);
  vs_picture_deinit(s.m.host, &p);
  close_scene(&s);
}

/* By time, moment -1 and event 0 share the first place; outside the whole there is nothing. */
static void test_by_time_and_outside(void **state) {
  (void)state;
  scene s;
  vs_picture p;
  make_scene(&s);
  vs_look look = {.window = vs_window_whole(s.slice, &s.times, 61), .y1 = VS_FIT};
  assert_true(look.window.x0 == 0 && look.window.x1 == 61);
  look.window.x0 = -30;
  look.window.x1 = 92;
  look.window.columns = 122;
  expect_ok(vs_picture_build(s.m.host, &s.spans, &s.curve, &look, &p));
  assert_int_equal(p.sample_event.count, 9);
  expect_sample(&p, 0, 0, VS_NO_MOMENT, 0);
  expect_sample(&p, 1, 30, 0, 110);
  expect_sample(&p, 2, 40, 1, 111);
  expect_sample(&p, 7, 90, 6, 100);
  expect_sample(&p, 8, 91, VS_NO_MOMENT, 0);
  assert_int_equal(p.run_end.count, 0);
  vs_picture_deinit(s.m.host, &p);

  look.window.x0 = 100;
  look.window.x1 = 101;
  look.rows = 4;
  expect_ok(vs_picture_build(s.m.host, &s.spans, &s.curve, &look, &p));
  assert_int_equal(p.highest_at, VS_NO_MOMENT);
  assert_int_equal(p.highest + p.count + p.run_end.count, 0);
  assert_int_equal(p.y1, 1);
  vs_picture_deinit(s.m.host, &p);
  close_scene(&s);
}

static void test_pick_and_offset(void **state) {
  (void)state;
  scene s;
  vs_pick pick;
  uint64_t offset;
  make_scene(&s);
  expect_ok(vs_pick_build(s.m.host, &s.spans, 2, 105, 111, 2, &pick));
  assert_int_equal(pick.total, 112);
  assert_int_equal(pick.count, 2);
  assert_int_equal(pick.bytes, 11);
  assert_int_equal(pick.rows.data[0].row, 0);
  assert_int_equal(pick.rows.data[0].offset, 100);
  assert_int_equal(pick.rows.data[1].row, 1);
  assert_int_equal(pick.rows.data[1].offset, 110);
  vs_pick_deinit(s.m.host, &pick);
  assert_true(vs_spans_offset(&s.spans, 4, 99, &offset));
  assert_int_equal(offset, 72);
  assert_false(vs_spans_offset(&s.spans, 3, 3, &offset));
  assert_true(vs_spans_offset(&s.spans, 3, 2, &offset));
  assert_int_equal(offset, 70);
  close_scene(&s);
}

/* Nothing at all: one moment, no bytes. */
static void test_nothing(void **state) {
  (void)state;
  scene s = {.m = made_begin()};
  vs_picture p;
  (void)made_segment(&s.m, 0, 0x2000, 512, "small");
  (void)made_block(&s.m, 512, 0, VS_BLOCK_INACTIVE);
  made_trace(&s.m, 0);
  open_scene(&s);
  const vs_look look = {.window = vs_window_whole(s.slice, NULL, 3), .y1 = VS_FIT, .rows = 5};
  expect_ok(vs_picture_build(s.m.host, &s.spans, &s.curve, &look, &p));
  assert_int_equal(p.sample_event.count, 1);
  expect_sample(&p, 0, 0, VS_AT_START, 0);
  assert_int_equal(p.run_end.count, 0);
  vs_picture_deinit(s.m.host, &p);
  close_scene(&s);
}

/* Three blocks that cannot be: each is cut to a third of what fits, and the picture holds. */
static void test_ends_of_the_numbers(void **state) {
  (void)state;
  scene s = {.m = made_begin()};
  vs_picture p;
  for (uint64_t i = 1; i <= 3; i++) (void)made_event(&s.m, VS_EVENT_ALLOC, i, UINT64_MAX - i);
  made_trace(&s.m, 0);
  open_scene(&s);
  vs_look look = {.window = vs_window_whole(s.slice, NULL, 3), .y1 = VS_FIT, .rows = VS_MOST_PIXEL_ROWS};
  expect_ok(vs_picture_build(s.m.host, &s.spans, &s.curve, &look, &p));
  assert_true(p.highest == INT64_MAX / 3 * UINT64_C(3));
  assert_int_equal(p.run_end.data[p.run_end.count - 1], VS_MOST_PIXEL_ROWS);
  vs_picture_deinit(s.m.host, &p);
  look.window.x0 = -1e300;
  look.window.x1 = 1e300;
  look.y0 = UINT64_MAX - 1;
  look.y1 = UINT64_MAX - 2;
  expect_ok(vs_picture_build(s.m.host, &s.spans, &s.curve, &look, &p));
  assert_true(p.y1 == p.y0 + 1);
  vs_picture_deinit(s.m.host, &p);
  close_scene(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_whole),
      cmocka_unit_test(test_close),
      cmocka_unit_test(test_by_time_and_outside),
      cmocka_unit_test(test_pick_and_offset),
      cmocka_unit_test(test_nothing),
      cmocka_unit_test(test_ends_of_the_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
