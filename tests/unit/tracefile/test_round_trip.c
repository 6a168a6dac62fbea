/* What is written is read: synthetic recordings of everything that can be said, in frames of any size. */
#include "tracefile/writer_internal.h"
#include "support/recordings.h"

static void expect_same(const reading_back *got, const reading_back *wanted) {
  assert_int_equal(got->events.count, wanted->events.count);
  for (size_t i = 0; i < wanted->events.count; i++)
    if (!same_event(&got->events.data[i], &wanted->events.data[i])) fail_msg("event %zu is another one", i);
  assert_int_equal(got->others.count, wanted->others.count);
  for (size_t i = 0; i < wanted->others.count; i++)
    if (got->others.data[i] != wanted->others.data[i]) fail_msg("record %zu is another one", i);
}

static void round_trip(uint64_t seed, size_t frame_size, int steps, bool keeps_slots) {
  recording r;
  reading_back expected, got;
  vs_error error;
  vs_tracew *w;
  made_up m;
  recording_init(&r, vs_host_default());
  reading_back_init(&expected, vs_host_default());
  reading_back_init(&got, vs_host_default());
  const vs_tracew_sink sink = recording_sink(&r);
  const vs_tracew_options options = {.process = 77, .frame_size = frame_size, .keeps_slots = keeps_slots};
  expect_ok(vs_tracew_create(vs_host_default(), &sink, &options, &w));
  made_up_init(&m, w, &expected, seed);
  for (int i = 0; i < steps; i++) expect_ok(made_up_step(&m));
  expect_ok(vs_tracew_flush(w));
  expect_ok(vs_tracew_flush(w)); /* nothing is left: no frame more */
  assert_int_equal(vs_tracew_bytes(w), r.bytes.bytes.count);
  expect_ok(read_back(&got, vs_text_view(&r.bytes), NULL, &error));
  assert_int_equal(got.report.damages, 0);
  assert_int_equal(got.report.lost_entries, 0);
  assert_int_equal(got.report.frames, r.frames);
  assert_int_equal(got.report.bytes, r.bytes.bytes.count);
  assert_int_equal(got.report.events, vs_tracew_events(w));
  assert_int_equal(got.report.open_frames + got.report.unknown_records + got.report.lost_events, 0);
  expect_same(&got, &expected);
  assert_null(vs_tracew_check(w));
  vs_tracew_destroy(w);
  reading_back_deinit(&got);
  reading_back_deinit(&expected);
  recording_deinit(&r);
}

static void test_everything_comes_back(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    round_trip(seed, VS_TRACE_LEAST_FRAME_SIZE, 2000, seed % 2 == 0);
    round_trip(seed, 5000, 2000, false);
    round_trip(seed, 0, 2000, true);
  }
  round_trip(99, 0, 50000, false);
}

static void test_nothing_at_all(void **state) {
  (void)state;
  recording r;
  vs_tracew *w;
  recording_init(&r, vs_host_default());
  const vs_tracew_sink sink = recording_sink(&r);
  expect_ok(vs_tracew_create(vs_host_default(), &sink, NULL, &w));
  expect_ok(vs_tracew_flush(w));
  assert_int_equal(r.bytes.bytes.count, 0);
  assert_null(vs_tracew_check(w));
  vs_tracew_destroy(w);
  recording_deinit(&r);
}

/* ---- the figures of a steady program: docs/formats/vram.md promises eight bytes ------------------------ */

static void test_a_steady_program_takes_few_bytes(void **state) {
  (void)state;
  recording r;
  vs_tracew *w;
  uint32_t name, frame, stacks[40], context;
  recording_init(&r, vs_host_default());
  const vs_tracew_sink sink = recording_sink(&r);
  expect_ok(vs_tracew_create(vs_host_default(), &sink, NULL, &w));
  expect_ok(vs_tracew_string(w, VS_STR("layer"), &name));
  for (int i = 0; i < 40; i++) {
    expect_ok(vs_tracew_frame(w, &(vs_trace_frame){.name = name, .file = name, .line = i}, &frame));
    expect_ok(vs_tracew_stack(w, &frame, 1, &stacks[i]));
  }
  expect_ok(vs_tracew_context(w, &(vs_trace_context){.has_pool = true}, &context));
  vs_trace_event event = {.context = context, .time_us = INT64_C(1700000000000000)};
  for (int step = 0; step < 100; step++)
    for (int i = 0; i < 80; i++) {
      const int layer = i < 40 ? i : 79 - i; /* allocated forward, freed backward */
      event.kind = i < 40 ? VS_EVENT_ALLOC : VS_EVENT_FREE_REQUESTED;
      event.size = (uint64_t)(layer % 7 + 1) * 1000;
      event.rounded = (event.size + 511) / 512 * 512;
      event.address = UINT64_C(0x7f0000000000) + (uint64_t)layer * 65536;
      event.stack = stacks[layer];
      event.time_us += (step * 80 + i) % 23;
      expect_ok(vs_tracew_event(w, &event));
      event.kind = VS_EVENT_FREE_COMPLETED;
      if (i >= 40) expect_ok(vs_tracew_event(w, &event));
    }
  assert_int_equal(vs_tracew_events(w), 8000);
  assert_true(vs_tracew_bytes(w) < 8000 * 4);
  assert_null(vs_tracew_check(w));
  vs_tracew_destroy(w);
  recording_deinit(&r);
}

/* ---- misuse -------------------------------------------------------------------------------------------- */

static void test_what_was_never_defined_is_refused(void **state) {
  (void)state;
  recording r;
  vs_tracew *w;
  uint32_t id;
  recording_init(&r, vs_host_default());
  const vs_tracew_sink sink = recording_sink(&r);
  expect_ok(vs_tracew_create(vs_host_default(), &sink, NULL, &w));
  expect_status(vs_tracew_frame(w, &(vs_trace_frame){.name = 2}, &id), VS_BAD_ARGUMENT);
  expect_status(vs_tracew_native(w, 0, 1, &id), VS_BAD_ARGUMENT);
  expect_status(vs_tracew_module(w, &(vs_trace_module){.path = 9}, &id), VS_BAD_ARGUMENT);
  expect_status(vs_tracew_stack(w, (const uint32_t[]){0}, 1, &id), VS_BAD_ARGUMENT);
  expect_status(vs_tracew_texts(w, (const uint32_t[]){2}, 1, &id), VS_BAD_ARGUMENT);
  expect_status(vs_tracew_context(w, &(vs_trace_context){.device = 1024}, &id), VS_BAD_ARGUMENT);
  expect_status(vs_tracew_event(w, &(vs_trace_event){.kind = VS_EVENT_ALLOC}), VS_BAD_ARGUMENT);
  expect_ok(vs_tracew_context(w, &(vs_trace_context){0}, &id));
  expect_ok(vs_tracew_event(w, &(vs_trace_event){.kind = VS_EVENT_ALLOC}));
  expect_status(vs_tracew_event(w, &(vs_trace_event){.kind = VS_EVENT_UNKNOWN}), VS_BAD_ARGUMENT);
  expect_status(vs_tracew_event(w, &(vs_trace_event){.kind = VS_EVENT_ALLOC, .stack = 5}), VS_BAD_ARGUMENT);
  expect_status(vs_tracew_setting(w, &(vs_trace_setting){.kind = 6}), VS_BAD_ARGUMENT);
  expect_status(vs_tracew_block(w, &(vs_trace_block){.state = 4}), VS_BAD_ARGUMENT);
  assert_null(vs_tracew_check(w));
  vs_tracew_destroy(w);
  recording_deinit(&r);
}

/* ---- rings --------------------------------------------------------------------------------------------- */

enum { SLOT = 2048, SLOTS = 8 };

typedef struct ring {
  uint8_t bytes[SLOT * SLOTS];
  uint64_t frames;
} ring;

static vs_status begin_slot(void *ctx, size_t at_least, void **memory, size_t *size) {
  ring *r = ctx;
  if (at_least > SLOT) return VS_LIMIT;
  *memory = r->bytes + r->frames++ % SLOTS * SLOT;
  *size = SLOT;
  return VS_OK;
}

static vs_status sealed_slot(void *ctx, void *memory, size_t size) {
  (void)ctx;
  (void)memory;
  assert_int_equal(size, SLOT);
  return VS_OK;
}

/* The newest frames, in order, with their stacks, however often it went round; nothing is damaged. */
static void test_a_ring_is_read_from_its_oldest_frame(void **state) {
  (void)state;
  static ring r;
  vs_tracew *w;
  vs_error error;
  uint32_t frame, stack, context, name;
  const vs_tracew_sink sink = {.ctx = &r, .begin = begin_slot, .sealed = sealed_slot};
  const vs_tracew_options options = {.keeps_slots = true, .frame_size = SLOT};
  expect_ok(vs_tracew_create(vs_host_default(), &sink, &options, &w));
  expect_ok(vs_tracew_string(w, VS_STR("f"), &name));
  expect_ok(vs_tracew_frame(w, &(vs_trace_frame){.name = name, .line = 3}, &frame));
  expect_ok(vs_tracew_stack(w, &frame, 1, &stack));
  expect_ok(vs_tracew_context(w, &(vs_trace_context){0}, &context));
  uint64_t last_checkpoint = 0;
  for (uint64_t i = 0; i < 30000; i++) {
    const vs_trace_event event = {.address = i * 512,
                                  .size = 512,
                                  .time_us = (int64_t)i,
                                  .stack = stack,
                                  .context = context,
                                  .kind = VS_EVENT_ALLOC};
    expect_ok(vs_tracew_event(w, &event));
    if (r.frames >= last_checkpoint + SLOTS / 2) {
      expect_ok(vs_tracew_checkpoint(w));
      last_checkpoint = r.frames;
    }
    if (i % 997 != 0 || r.frames < 2 * SLOTS) continue;
    reading_back got;
    reading_back_init(&got, vs_host_default());
    expect_ok(read_back(&got, (vs_str){(const char *)r.bytes, sizeof r.bytes}, NULL, &error));
    assert_int_equal(got.report.damages, 0);
    assert_int_equal(got.report.open_frames, 1);
    assert_true(got.events.count > 1000);
    const plain_event *last = &got.events.data[got.events.count - 1];
    assert_int_equal(last->event.address, i * 512);
    assert_true(last->stack > 1);
    for (size_t j = 1; j < got.events.count; j++)
      assert_int_equal(got.events.data[j].event.address, got.events.data[j - 1].event.address + 512);
    reading_back_deinit(&got);
  }
  assert_null(vs_tracew_check(w));
  vs_tracew_destroy(w);
}

static void test_the_check_finds_what_is_broken(void **state) {
  (void)state;
  recording r;
  reading_back expected;
  vs_tracew *w;
  made_up m;
  recording_init(&r, vs_host_default());
  reading_back_init(&expected, vs_host_default());
  const vs_tracew_sink sink = recording_sink(&r);
  expect_ok(vs_tracew_create(vs_host_default(), &sink, NULL, &w));
  made_up_init(&m, w, &expected, 5);
  for (int i = 0; i < 300; i++) {
    expect_ok(made_up_step(&m));
    assert_null(vs_tracew_check(w));
  }
  assert_non_null(w->frame);
  *w->at = 1; /* a record that was never finished */
  assert_non_null(vs_tracew_check(w));
  *w->at = 0;
  w->written[VS_DICT_STRINGS]--;
  assert_non_null(vs_tracew_check(w));
  w->written[VS_DICT_STRINGS] += 2;
  assert_non_null(vs_tracew_check(w));
  w->written[VS_DICT_STRINGS]--;
  const uint32_t site = w->model.site;
  w->model.site = (uint32_t)w->model.sites.count;
  assert_non_null(vs_tracew_check(w));
  w->model.site = site;
  assert_null(vs_tracew_check(w));
  vs_tracew_destroy(w);
  reading_back_deinit(&expected);
  recording_deinit(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_check_finds_what_is_broken),
      cmocka_unit_test(test_everything_comes_back),
      cmocka_unit_test(test_nothing_at_all),
      cmocka_unit_test(test_a_steady_program_takes_few_bytes),
      cmocka_unit_test(test_what_was_never_defined_is_refused),
      cmocka_unit_test(test_a_ring_is_read_from_its_oldest_frame),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
