/* What happened to the file on the way: bytes that changed, an end that is missing, a writer that was
 * killed, a disk that was full. Only what was hit is lost, and the reader says how much that was. */
#include <stdlib.h>
#include "support/recordings.h"
#include "tracefile/frame.h"

enum { FRAME = VS_TRACE_LEAST_FRAME_SIZE, STEPS = 400 };

/* A steady recording in many small frames, and what it says unharmed. */
typedef struct original {
  recording r;
  reading_back read;
  vs_str bytes;
} original;

static void make(original *o, uint64_t seed, int steps, bool keeps_slots) {
  vs_tracew *w;
  made_up m;
  vs_error error;
  recording_init(&o->r, vs_host_default());
  reading_back_init(&o->read, vs_host_default());
  const vs_tracew_sink sink = recording_sink(&o->r);
  const vs_tracew_options options = {.frame_size = FRAME, .keeps_slots = keeps_slots};
  expect_ok(vs_tracew_create(vs_host_default(), &sink, &options, &w));
  made_up_init(&m, w, NULL, seed);
  for (int i = 0; i < steps; i++) expect_ok(made_up_step(&m));
  expect_ok(vs_tracew_flush(w));
  assert_null(vs_tracew_check(w));
  vs_tracew_destroy(w);
  o->bytes = vs_text_view(&o->r.bytes);
  expect_ok(read_back(&o->read, o->bytes, NULL, &error));
  assert_int_equal(o->read.report.damages, 0);
}

static void unmake(original *o) {
  reading_back_deinit(&o->read);
  recording_deinit(&o->r);
}

/* Names may be lost with the frame that defined them; what happened, where and when is not. */
static bool same_facts(const plain_event *a, const plain_event *b) {
  return a->event.address == b->event.address && a->event.size == b->event.size &&
         a->event.rounded == b->event.rounded && a->event.time_us == b->event.time_us &&
         a->event.kind == b->event.kind && a->context.stream == b->context.stream &&
         a->context.device == b->context.device && vs_pool_id_equal(a->context.pool, b->context.pool);
}

/* All events but those of the frames that begin in [from, end); counts as people count. */
static void expect_all_but(const reading_back *got, const original *o, uint64_t from, uint64_t end) {
  size_t at = 0;
  uint64_t lost = 0;
  for (size_t i = 0; i < o->read.events.count; i++) {
    const plain_event *wanted = &o->read.events.data[i];
    if (wanted->frame >= from && wanted->frame < end) {
      lost += wanted->event.kind != VS_EVENT_FREE_COMPLETED;
      continue;
    }
    assert_true(at < got->events.count);
    if (!same_facts(&got->events.data[at], wanted)) fail_msg("event %zu is another one", i);
    at++;
  }
  assert_int_equal(at, got->events.count);
  if (end < o->bytes.size) assert_int_equal(got->report.lost_events, lost);
}

static size_t frame_at(const original *o, size_t byte, size_t *end) {
  size_t at = 0;
  vs_frame_header header;
  for (;;) {
    vs_frame_header_get((const uint8_t *)o->bytes.data + at, &header);
    if (byte < at + header.size) break;
    at += header.size;
  }
  *end = at + header.size;
  return at;
}

static void test_a_changed_byte_costs_its_frame(void **state) {
  (void)state;
  original o;
  make(&o, 7, STEPS, false);
  char *bytes = malloc(o.bytes.size);
  assert_non_null(bytes);
  memcpy(bytes, o.bytes.data, o.bytes.size);
  const size_t step =
      (size_t)(VS_HOSTILE ? 3 : test_repetitions(1, 7)); /* each byte, where that takes no minute */
  for (size_t i = 0; i < o.bytes.size; i += step) {
    size_t end;
    const size_t from = frame_at(&o, i, &end);
    reading_back got;
    vs_error error;
    reading_back_init(&got, vs_host_default());
    bytes[i] = (char)(bytes[i] ^ (1 << (i % 8)));
    expect_ok(read_back(&got, (vs_str){bytes, o.bytes.size}, NULL, &error));
    bytes[i] = o.bytes.data[i];
    assert_int_equal(got.report.damages, 1);
    assert_int_equal(got.report.lost_frames, 1);
    assert_int_equal(got.report.damage[0].offset, from);
    assert_int_equal(got.report.lost_bytes, end - from);
    expect_all_but(&got, &o, from, end);
    reading_back_deinit(&got);
  }
  free(bytes);
  unmake(&o);
}

static void test_a_missing_end_costs_one_frame(void **state) {
  (void)state;
  original o;
  make(&o, 8, 400, false);
  const size_t step = (size_t)test_repetitions(1, 7);
  for (size_t size = 0; size < o.bytes.size; size += step) {
    size_t end;
    const size_t from = frame_at(&o, size, &end);
    reading_back got;
    vs_error error;
    reading_back_init(&got, vs_host_default());
    const vs_status status = read_back(&got, (vs_str){o.bytes.data, size}, NULL, &error);
    if (from == 0) {
      expect_status(status, VS_BAD_FORMAT);
      assert_true(error.text[0] != 0);
    } else {
      expect_ok(status);
      assert_int_equal(got.report.damages, size != from);
      assert_int_equal(got.report.lost_frames, size != from);
      expect_all_but(&got, &o, from, o.bytes.size);
    }
    reading_back_deinit(&got);
  }
  unmake(&o);
}

/* A file that was made longer before it is filled, as a recorder does. */
static void test_zeros_at_the_end_are_no_damage(void **state) {
  (void)state;
  original o;
  make(&o, 9, 400, true);
  char *bytes = calloc(1, o.bytes.size + 10000);
  assert_non_null(bytes);
  memcpy(bytes, o.bytes.data, o.bytes.size);
  for (size_t more = 0; more < 10000; more += 999) {
    reading_back got;
    vs_error error;
    reading_back_init(&got, vs_host_default());
    expect_ok(read_back(&got, (vs_str){bytes, o.bytes.size + more}, NULL, &error));
    assert_int_equal(got.report.damages, 0);
    expect_all_but(&got, &o, 0, 0);
    reading_back_deinit(&got);
  }
  free(bytes);
  unmake(&o);
}

static void test_a_frame_that_is_missing_is_counted(void **state) {
  (void)state;
  original o;
  size_t end, next_end;
  make(&o, 10, STEPS, false);
  const size_t from = frame_at(&o, o.bytes.size / 2, &end);
  (void)frame_at(&o, end, &next_end);
  char *bytes = malloc(o.bytes.size);
  assert_non_null(bytes);
  memcpy(bytes, o.bytes.data, from);
  memcpy(bytes + from, o.bytes.data + next_end, o.bytes.size - next_end);
  reading_back got;
  vs_error error;
  reading_back_init(&got, vs_host_default());
  expect_ok(read_back(&got, (vs_str){bytes, o.bytes.size - (next_end - from)}, NULL, &error));
  assert_int_equal(got.report.damages, 1);
  assert_int_equal(got.report.damage[0].kind, VS_TRACE_GAP);
  assert_int_equal(got.report.lost_frames, 2);
  assert_int_equal(got.report.lost_bytes, 0);
  expect_all_but(&got, &o, from, next_end);
  reading_back_deinit(&got);
  free(bytes);
  unmake(&o);
}

/* ---- a writer that is killed: the sink's memory at any moment ------------------------------------------ */

static void test_an_open_frame_is_read_to_its_last_record(void **state) {
  (void)state;
  recording r;
  vs_tracew *w;
  made_up m;
  reading_back expected;
  recording_init(&r, vs_host_default());
  reading_back_init(&expected, vs_host_default());
  const vs_tracew_sink sink = recording_sink(&r);
  const vs_tracew_options options = {.frame_size = FRAME, .keeps_slots = true};
  expect_ok(vs_tracew_create(vs_host_default(), &sink, &options, &w));
  made_up_init(&m, w, &expected, 11);
  for (int i = 0; i < 600; i++) {
    expect_ok(made_up_step(&m));
    const size_t sealed = r.bytes.bytes.count;
    vs_text_put(&r.bytes, r.memory, r.size); /* the file as it is, with the open frame */
    reading_back got;
    vs_error error;
    reading_back_init(&got, vs_host_default());
    expect_ok(read_back(&got, vs_text_view(&r.bytes), NULL, &error));
    assert_int_equal(got.report.open_frames, 1);
    assert_int_equal(got.report.damages, 0);
    assert_int_equal(got.events.count, expected.events.count);
    for (size_t j = 0; j < got.events.count; j++)
      if (!same_event(&got.events.data[j], &expected.events.data[j])) fail_msg("event %zu is another one", j);
    reading_back_deinit(&got);
    r.bytes.bytes.count = sealed;
  }
  assert_null(vs_tracew_check(w));
  vs_tracew_destroy(w);
  reading_back_deinit(&expected);
  recording_deinit(&r);
}

/* ---- a disk that is full: the frame is lost, what comes later stands for itself ------------------------ */

static void test_a_frame_lost_at_the_sink_takes_no_names_along(void **state) {
  (void)state;
  for (uint64_t fail = 0; fail < 12; fail++) {
    recording r;
    vs_tracew *w;
    vs_error error;
    uint32_t name, frame, stack, context;
    int failures = 0;
    recording_init(&r, vs_host_default());
    r.fail_frame = fail;
    const vs_tracew_sink sink = recording_sink(&r);
    const vs_tracew_options options = {.frame_size = FRAME};
    expect_ok(vs_tracew_create(vs_host_default(), &sink, &options, &w));
    expect_ok(vs_tracew_context(w, &(vs_trace_context){0}, &context));
    for (uint32_t i = 0; i < 2000; i++) {
      vs_status status = VS_IO;
      while (status != VS_OK) { /* what failed can be said again */
        status = vs_tracew_string(w, (vs_str){(const char *)&i, sizeof i}, &name);
        if (status == VS_OK) status = vs_tracew_frame(w, &(vs_trace_frame){.name = name, .line = i}, &frame);
        if (status == VS_OK) status = vs_tracew_stack(w, &frame, 1, &stack);
        const vs_trace_event event = {
            .address = i, .time_us = i, .stack = stack, .context = context, .kind = VS_EVENT_ALLOC};
        if (status == VS_OK) status = vs_tracew_event(w, &event);
        failures += status != VS_OK;
      }
    }
    expect_ok(vs_tracew_flush(w));
    assert_int_equal(failures, 1);
    reading_back got;
    reading_back_init(&got, vs_host_default());
    expect_ok(read_back(&got, vs_text_view(&r.bytes), NULL, &error));
    assert_int_equal(got.report.lost_entries, 0);
    assert_int_equal(got.report.lost_frames, fail != 0); /* the very first one is unknown */
    for (size_t i = 0; i < got.events.count; i++) assert_true(got.events.data[i].stack > 1);
    assert_int_equal(got.events.data[got.events.count - 1].event.address, 1999);
    reading_back_deinit(&got);
    assert_null(vs_tracew_check(w));
    vs_tracew_destroy(w);
    recording_deinit(&r);
  }
}

/* ---- what a reader cannot do --------------------------------------------------------------------------- */

static void test_refusals(void **state) {
  (void)state;
  original o;
  make(&o, 12, 200, false);
  char *bytes = malloc(o.bytes.size);
  assert_non_null(bytes);
  reading_back got;
  vs_error error;
  memcpy(bytes, o.bytes.data, o.bytes.size);
  bytes[16] = 2; /* another version, well sealed */
  vs_frame_seal((uint8_t *)bytes, vs_get_u32((const uint8_t *)bytes + 24));
  reading_back_init(&got, vs_host_default());
  expect_status(read_back(&got, (vs_str){bytes, o.bytes.size}, NULL, &error), VS_UNSUPPORTED);
  assert_true(vs_str_contains(vs_str_from(error.text), VS_STR("newer")));
  reading_back_deinit(&got);
  memcpy(bytes, o.bytes.data, o.bytes.size);
  bytes[18] = 1; /* packed, without a decompressor */
  vs_frame_seal((uint8_t *)bytes, vs_get_u32((const uint8_t *)bytes + 24));
  reading_back_init(&got, vs_host_default());
  expect_status(read_back(&got, (vs_str){bytes, o.bytes.size}, NULL, &error), VS_UNSUPPORTED);
  assert_int_equal(error.offset, 0);
  reading_back_deinit(&got);
  memset(bytes, 'x', o.bytes.size);
  reading_back_init(&got, vs_host_default());
  expect_status(read_back(&got, (vs_str){bytes, o.bytes.size}, NULL, &error), VS_BAD_FORMAT);
  reading_back_deinit(&got);
  reading_back_init(&got, vs_host_default());
  got.fail_at = 20; /* the visitor has enough */
  expect_status(read_back(&got, o.bytes, NULL, &error), VS_CANCELLED);
  reading_back_deinit(&got);
  free(bytes);
  unmake(&o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_changed_byte_costs_its_frame),
      cmocka_unit_test(test_a_missing_end_costs_one_frame),
      cmocka_unit_test(test_zeros_at_the_end_are_no_damage),
      cmocka_unit_test(test_a_frame_that_is_missing_is_counted),
      cmocka_unit_test(test_an_open_frame_is_read_to_its_last_record),
      cmocka_unit_test(test_a_frame_lost_at_the_sink_takes_no_names_along),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
