/* What PyTorch does not count, counted by hand. */
#include "support/test.h"
#include <vramscope/live.h>

static vs_live *live;

static void begin(const char *settings) {
  vs_error error;
  const vs_live_options options = {.gpus = "1GiB", .settings = settings};
  expect_ok(vs_live_open(&options, &live, &error));
}

static void end(void) {
  vs_error error;
  expect_ok(vs_live_close(live, &error));
}

typedef struct wanted {
  vs_str key;
  int64_t value;
  size_t keys; /* all that were shown */
  bool is_found;
} wanted;

static vs_status look(void *ctx, vs_str key, int64_t value) {
  wanted *w = ctx;
  w->keys++;
  if (!vs_str_equal(key, w->key)) return VS_OK;
  assert_false(w->is_found);
  w->is_found = true;
  w->value = value;
  return VS_OK;
}

/* -1: there is no such key. */
static int64_t extra(const char *key) {
  wanted w = {.key = vs_str_from(key), .value = -1};
  expect_ok(vs_live_extras(live, 0, look, &w));
  return w.value;
}

static uint64_t get(uint64_t size, uint64_t stream) {
  uint64_t address;
  expect_ok(vs_live_malloc(live, 0, size, stream, &address));
  return address;
}

static void steps_and_classes(void **state) {
  (void)state;
  begin("");
  const uint64_t a = get(5000, 0); /* from the driver */
  const uint64_t b = get(6000, 0); /* from the rest of that segment */
  expect_ok(vs_live_free(live, 0, a));
  for (int i = 0; i < 9; i++) expect_ok(vs_live_free(live, 0, get(100, 0)));
  expect_ok(vs_live_free(live, 0, b));
  assert_int_equal(extra("requests.driver"), 1);
  assert_int_equal(extra("requests.cache"), 10);
  assert_int_equal(extra("requests.failed"), 0);
  assert_int_equal(extra("sizes.4096"), 2);
  assert_int_equal(extra("sizes.64"), 9);
  assert_int_equal(extra("sizes.128"), -1);  /* not requested */
  assert_int_equal(extra("lifetimes.1"), 9); /* freed at once */
  assert_int_equal(extra("lifetimes.2"), 1); /* a: b came behind it */
  assert_int_equal(extra("lifetimes.8"), 1); /* b: itself and nine others */
  uint64_t none;
  expect_status(vs_live_malloc(live, 0, UINT64_C(2) << 30, 0, &none), VS_DEVICE_MEMORY);
  assert_int_equal(extra("requests.failed"), 1);
  expect_ok(vs_live_reset_totals(live, 0));
  assert_int_equal(extra("requests.cache"), 0);
  assert_int_equal(extra("sizes.4096"), -1);
  assert_int_equal(extra("lifetimes.1"), -1);
  assert_int_equal(extra("lifetimes.8"), -1);
  end();
}

/* A card that is full of cached memory of another size gives only after all of that went back. */
static void retries(void **state) {
  (void)state;
  begin("");
  uint64_t held[3];
  for (int i = 0; i < 3; i++) held[i] = get(UINT64_C(150) << 20, 0);
  for (int i = 0; i < 3; i++) expect_ok(vs_live_free(live, 0, held[i]));
  (void)get(UINT64_C(300) << 20, 0);
  assert_int_equal(extra("requests.retry") + extra("requests.driver"), 4);
  int64_t counted;
  expect_ok(vs_live_statistic(live, 0, "num_alloc_retries", &counted));
  assert_int_equal(counted, 1);
  assert_int_equal(extra("requests.retry"), counted);
  end();
}

static void streams(void **state) {
  (void)state;
  begin("");
  uint64_t stream;
  expect_ok(vs_live_stream_create(live, 0, &stream));
  const uint64_t address = get(1000, 0);
  (void)get(UINT64_C(3) << 20, stream);
  expect_ok(vs_live_free(live, 0, address));
  assert_int_equal(extra("stream.0.small.allocated_bytes"), 0);
  assert_int_equal(extra("stream.0.small.allocated_peak"), 1024);
  assert_int_equal(extra("stream.0.small.cached_bytes"), 2 << 20);
  assert_int_equal(extra("stream.0.small.cached_blocks"), 1);
  char key[64];
  vs_format(key, sizeof key, "stream.%U.large.allocated_bytes", stream);
  assert_int_equal(extra(key), 3 << 20);
  vs_format(key, sizeof key, "stream.%U.large.cached_bytes", stream);
  assert_int_equal(extra(key), 17 << 20);
  wanted w = {.key = VS_STR("")};
  expect_status(vs_live_extras(live, 1, look, &w), VS_BAD_ARGUMENT);
  end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps_and_classes),
      cmocka_unit_test(retries),
      cmocka_unit_test(streams),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
