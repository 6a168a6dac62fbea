/* The executable check of the engine: it accepts the caches after requests, and finds one that was changed by hand. */
#include "unit/query/sample.h"

static int setup(void **state) {
  vs_engine *engine;
  vs_error error;
  vs_text reply;
  const char *requests[] = {"{\"method\":\"report\"}",
                            "{\"method\":\"pick\",\"params\":{\"at\":3,\"y0\":1}}",
                            "{\"method\":\"allocations\"}",
                            "{\"method\":\"marks\"}",
                            "{\"method\":\"picture\",\"params\":{\"filter\":\"size>1\"}}",
                            "{\"method\":\"picture\"}"};
  expect_ok(vs_engine_create(NULL, &engine));
  assert_null(vs_engine_check(engine));
  expect_ok(sample_load(engine, sample_json, &error));
  assert_null(vs_engine_check(engine));
  vs_text_init(&reply, vs_host_default(), NULL);
  for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
    expect_ok(sample_request(engine, requests[i], &reply, &error));
  vs_text_deinit(&reply);
  *state = engine;
  return 0;
}

static int teardown(void **state) {
  assert_null(vs_engine_check(*state)); /* every change was undone */
  vs_engine_destroy(*state);
  return 0;
}

/* Changes a place, expects that the check says so, and puts the old value back. */
#define EXPECT_FOUND(place, value)                      \
  do {                                                  \
    const __typeof__(place) was = place;                \
    place = value;                                      \
    const char *const broken = vs_engine_check(engine); \
    place = was;                                        \
    assert_non_null(broken);                            \
  } while (0)

static vs_device_cache *cache_of(vs_engine *engine) {
  vs_device_cache *device = vs_find_device(&engine->devices, 0);
  assert_true(device->has_lifetimes && device->has_report && device->has_moment_index && device->has_names);
  return device;
}

static void test_flags(void **state) {
  vs_engine *engine = *state;
  vs_device_cache *device = cache_of(engine);
  const vs_device_cache whole = *device;
  EXPECT_FOUND(device->has_lifetimes, false);
  device->has_report = device->has_names = false; /* each of the three alone needs the lifetimes */
  EXPECT_FOUND(device->has_lifetimes, false);
  device->has_moment_index = false;
  device->has_names = true;
  EXPECT_FOUND(device->has_lifetimes, false);
  device->has_names = false;
  device->has_report = true;
  EXPECT_FOUND(device->has_lifetimes, false);
  *device = whole;
  EXPECT_FOUND(device->report.lifetimes, NULL);
  EXPECT_FOUND(device->moments.lifetimes, NULL);
  EXPECT_FOUND(device->has_curves, false);
}

static void test_spans(void **state) {
  vs_engine *engine = *state;
  vs_device_cache *device = cache_of(engine);
  vs_span_cache *all = &device->unfiltered[VS_DRAWN_allocations],
                *filtered = &device->filtered[VS_DRAWN_allocations];
  assert_true(all->has_curve_index && all->spans == &device->moments.spans);
  assert_true(filtered->has_curve_index && filtered->spans == &filtered->own);
  EXPECT_FOUND(all->has_spans, false);
  EXPECT_FOUND(all->spans, NULL);
  EXPECT_FOUND(filtered->has_spans, false);
  EXPECT_FOUND(filtered->spans, &device->moments.spans); /* the curve index is of other spans */
  EXPECT_FOUND(filtered->own.size.data[0], UINT64_MAX);
  EXPECT_FOUND(filtered->curve.blocks.data[0].high, -1);
  EXPECT_FOUND(device->has_moment_index, false);
}

static void test_tables(void **state) {
  vs_engine *engine = *state;
  vs_device_cache *device = cache_of(engine);
  EXPECT_FOUND(device->lifetimes.rows.data[0].address, 1);
  EXPECT_FOUND(device->moments.mappings.rows.data[0].size, 0);
  EXPECT_FOUND(device->moments.spans.from.data[0], UINT32_MAX);
  EXPECT_FOUND(device->curve_indexes[VS_CURVE_HELD].baseline, 12345);
  EXPECT_FOUND(device->slice, &engine->no_slice);
  EXPECT_FOUND(engine->devices.count, engine->devices.count - 1);
  EXPECT_FOUND(engine->no_slice.event_count, 1);
}

/* The last one: the tests above break flags that a plan would notice, too. */
static void test_replays(void **state) {
  vs_engine *engine = *state;
  vs_device_cache *device = cache_of(engine);
  vs_error error;
  vs_text reply;
  vs_text_init(&reply, vs_host_default(), NULL);
  expect_ok(sample_request(engine, "{\"method\":\"whatif\",\"params\":{\"steps\":2}}", &reply, &error));
  expect_ok(sample_request(engine, "{\"method\":\"course\",\"params\":{\"settings\":\"\"}}", &reply, &error));
  vs_text_deinit(&reply);
  assert_null(vs_engine_check(engine));
  vs_replay_cache *replays = &device->replays;
  assert_true(replays->has_plan && replays->has_check && replays->has_course && replays->search != NULL);
  assert_true(replays->course.levels.count != 0);
  EXPECT_FOUND(replays->plan.lifetimes, NULL);
  EXPECT_FOUND(replays->course.levels.data[0].reserved, replays->course.start);
  EXPECT_FOUND(replays->has_check, false);
  replays->has_course = false;
  EXPECT_FOUND(replays->has_check, false);
  replays->has_course = true;
  replays->has_check = false;
  EXPECT_FOUND(replays->has_plan, false);
  replays->has_check = true;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_flags),
      cmocka_unit_test(test_spans),
      cmocka_unit_test(test_tables),
      cmocka_unit_test(test_replays),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
