/* Files that keep the newest part: a number of bytes, or a time. */
#include "recording.h"

#include <stdio.h>
#include <sys/stat.h>

/* ---- a ring file keeps the newest */

static void test_a_ring_file_keeps_the_newest(void **state) {
  (void)state;
  enum { COUNT = 300000, BYTES = 1 << 20 };
  vs_recorder *recorder = open_with((vs_record_options){.wait = true, .max_bytes = BYTES});
  for (uint64_t i = 0; i < COUNT; i++) record(recorder, i * 7919 % COUNT, VS_CONTEXT_NONE);
  const vs_record_figures figures = close_it(recorder);
  assert_int_equal(figures.events, COUNT);
  struct stat file;
  assert_int_equal(stat(path, &file), 0);
  assert_int_equal(file.st_size, BYTES);
  back *b = back_read(path);
  assert_true(b->events.count > COUNT / 10 && b->events.count < COUNT);
  for (uint64_t i = 0; i < b->events.count; i++)
    expect_numbered(b, i, (COUNT - b->events.count + i) * 7919 % COUNT);
  back_free(b);
}

/* A frame begins with its header: each of a file that went round is written, and each of one that did not is there. */
static uint64_t count_frames(void) {
  struct stat file;
  assert_int_equal(stat(path, &file), 0);
  assert_int_equal(file.st_size % VS_TRACE_FRAME_SIZE, 0);
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  for (long at = 0; at < file.st_size; at += VS_TRACE_FRAME_SIZE) {
    char head[8] = "";
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    assert_int_equal(fread(head, 1, sizeof head, f), sizeof head);
    if (head[0] == 0) fail_msg("no frame at byte %ld", at);
  }
  (void)fclose(f);
  return (uint64_t)file.st_size / VS_TRACE_FRAME_SIZE;
}

static void test_a_ring_file_uses_all_of_its_frames(void **state) {
  (void)state;
  enum { BYTES = 1 << 20 };
  for (uint64_t count = 10; count <= 150000; count += 149990) {
    vs_recorder *recorder = open_with((vs_record_options){.wait = true, .max_bytes = BYTES});
    for (uint64_t i = 0; i < count; i++) record(recorder, i * 7919 % count, VS_CONTEXT_NONE);
    (void)close_it(recorder);
    const uint64_t frames = count_frames();
    if (count == 10) assert_int_equal(frames, 1);
    else assert_true(frames <= BYTES / VS_TRACE_FRAME_SIZE);
  }
}

/* At each checkpoint, the newest first, with the times at which they began. */
static void test_a_ring_file_has_the_ranges_that_are_open(void **state) {
  (void)state;
  enum { COUNT = 300000 };
  static const char *const names[] = {"outer", "inner", "ended"};
  uint32_t texts[3];
  vs_record_stacks *stacks;
  expect_ok(vs_record_stacks_create(NULL, &stacks));
  for (size_t i = 0; i < 3; i++) expect_ok(vs_record_text_intern(stacks, vs_str_from(names[i]), &texts[i]));
  vs_recorder *recorder =
      open_with((vs_record_options){.wait = true, .max_bytes = 1 << 20, .stacks = stacks});
  vs_record_clock(recorder, 0);
  vs_record_annotation(recorder, texts[0], true, 0, 1000);
  vs_record_annotation(recorder, texts[2], true, 0, 2000);
  vs_record_annotation(recorder, texts[1], true, 1, 3000);
  vs_record_annotation(recorder, texts[1], true, 0, 4000);
  vs_record_annotation(recorder, texts[1], false, 0, 5000); /* of the other device's range of that name */
  vs_record_annotation(recorder, texts[2], false, 0, 6000);
  for (uint64_t i = 0; i < COUNT; i++) record(recorder, i, VS_CONTEXT_NONE); /* as fast as it is written */
  (void)close_it(recorder);
  back *b = back_read(path);
  assert_true(b->annotations.count >= 4 && b->annotations.count % 2 == 0);
  for (size_t i = 0; i < b->annotations.count; i++) {
    const vs_trace_annotation *range = &b->annotations.data[i];
    assert_int_equal(range->stage, VS_TRACE_EMPTY);
    assert_string_equal(b->strings[range->name], names[i % 2 == 0]);
    assert_int_equal(range->time_us, i % 2 == 0 ? 3 : 1);
    assert_int_equal(range->device, i % 2 == 0 ? 1 : 0);
  }
  back_free(b);
  vs_record_stacks_destroy(stacks);
}

/* At each checkpoint, as they were told last; the cards, too. */
static void test_a_ring_file_has_the_newest_totals(void **state) {
  (void)state;
  enum { COUNT = 300000 };
  static const char *const names[] = {"libnccl.so.2", "", "libgone.so"};
  uint32_t texts[3];
  vs_record_stacks *stacks;
  expect_ok(vs_record_stacks_create(NULL, &stacks));
  for (size_t i = 0; i < 3; i++) expect_ok(vs_record_text_intern(stacks, vs_str_from(names[i]), &texts[i]));
  vs_recorder *recorder =
      open_with((vs_record_options){.wait = true, .max_bytes = 1 << 20, .stacks = stacks});
  vs_record_clock(recorder, 0);
  vs_record_device(recorder, 3, VS_STR("old name"), 1);
  vs_record_device(recorder, 3, VS_STR("H100"), UINT64_C(80) << 30);
  vs_record_library(recorder, texts[0], 3, 100, 1000);
  vs_record_library(recorder, texts[1], 3, 1, 2000);
  vs_record_library(recorder, texts[0], 0, 7, 3000);
  vs_record_library(recorder, texts[0], 3, 200, 4000);
  for (uint64_t i = 0; i < COUNT; i++) record(recorder, i, VS_CONTEXT_NONE);
  (void)close_it(recorder);
  back *b = back_read(path);
  assert_string_equal(b->strings[b->device.name], "H100");
  assert_int_equal(b->device.total_bytes, UINT64_C(80) << 30);
  assert_true(b->libraries.count >= 3 && b->libraries.count % 3 == 0);
  static const vs_trace_library wanted[] = {{.device = 3, .bytes = 200, .time_us = 4},
                                            {.device = 3, .bytes = 1, .time_us = 2},
                                            {.device = 0, .bytes = 7, .time_us = 3}};
  for (size_t i = 0; i < b->libraries.count; i++) {
    const vs_trace_library *got = &b->libraries.data[i], *want = &wanted[i % 3];
    assert_int_equal(got->device, want->device);
    assert_int_equal(got->bytes, want->bytes);
    assert_int_equal(got->time_us, want->time_us);
    if (i % 3 == 1) assert_int_equal(got->name, VS_TRACE_EMPTY);
    else assert_string_equal(b->strings[got->name], names[0]);
  }
  back_free(b);
  vs_record_stacks_destroy(stacks);
}

/* ---- a file that keeps a time: while events come fast it grows, between frames that are older and frames that are newer */

enum { SLOW = 150000, FAST = 200000, SLOW_NS = 1000, FAST_NS = 10, KEPT_NS = 40 * 1000 * 1000 };

static uint64_t time_of(uint64_t i) {
  if (i < SLOW) return i * SLOW_NS;
  if (i < SLOW + FAST) return (uint64_t)SLOW * SLOW_NS + (i - SLOW) * FAST_NS;
  return (uint64_t)SLOW * SLOW_NS + (uint64_t)FAST * FAST_NS + (i - SLOW - FAST) * SLOW_NS;
}

static uint64_t place_of(uint64_t i) { return i * 7919 % (2 * SLOW + FAST); }

static void expect_newest(uint64_t count, bool is_whole) {
  back *b = back_read(path);
  const uint64_t first = count - b->events.count;
  assert_int_equal(b->report.damages, 0);
  for (uint64_t i = 0; i < b->events.count; i++) {
    const vs_trace_event *event = &b->events.data[i];
    assert_int_equal(event->address, UINT64_C(0x7f0000000000) + place_of(first + i) * 512);
    assert_int_equal(event->time_us, time_of(first + i) / 1000);
  }
  assert_true(is_whole == (first == 0));
  if (!is_whole) assert_true(time_of(first) < time_of(count - 1) - KEPT_NS);
  assert_true(b->report.earlier_frames != 0 || is_whole);
  back_free(b);
}

static void test_a_file_keeps_a_time(void **state) {
  (void)state;
  static const uint64_t counts[] = {40000, SLOW, SLOW + FAST, 2 * SLOW + FAST};
  uint64_t bytes[4];
  for (size_t k = 0; k < 4; k++) {
    vs_recorder *recorder = open_with((vs_record_options){.wait = true, .max_ns = KEPT_NS});
    vs_record_clock(recorder, 0);
    for (uint64_t i = 0; i < counts[k]; i++) {
      const vs_event event = {
          .address = UINT64_C(0x7f0000000000) + place_of(i) * 512, .size = i + 1, .kind = VS_EVENT_ALLOC};
      vs_record_event(recorder, &event, &(vs_record_facts){.time_ns = time_of(i)});
    }
    assert_int_equal(close_it(recorder).events, counts[k]);
    bytes[k] = count_frames() * VS_TRACE_FRAME_SIZE;
    expect_newest(counts[k], k == 0);
  }
  assert_int_equal(bytes[1], 16 * VS_TRACE_FRAME_SIZE);
  assert_true(bytes[2] > 2 * bytes[1]);
  /* Places are used again. When the writer thread comes decides how many checkpoints there are. */
  assert_true(bytes[3] < bytes[2] + 4 * VS_TRACE_FRAME_SIZE);
  vs_record_options both = {.path = path, .may_replace = true, .max_ns = 1, .max_bytes = 1};
  vs_recorder *recorder;
  vs_error error;
  assert_int_equal(vs_record_open(vs_host_default(), &both, &recorder, &error), VS_BAD_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_file_keeps_a_time),
      cmocka_unit_test(test_a_ring_file_keeps_the_newest),
      cmocka_unit_test(test_a_ring_file_uses_all_of_its_frames),
      cmocka_unit_test(test_a_ring_file_has_the_ranges_that_are_open),
      cmocka_unit_test(test_a_ring_file_has_the_newest_totals),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
