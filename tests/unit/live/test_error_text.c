/* Each failure of a function without a vs_error has a sentence, for the thread that failed. */
#include "support/test.h"
#include <pthread.h>
#include <string.h>
#include <vramscope/live.h>

static vs_live *live;
static uint64_t address;

static int setup(void **state) {
  vs_error error;
  (void)state;
  if (vs_live_open(&(vs_live_options){.gpus = "1GiB", .settings = ""}, &live, &error) != VS_OK) return -1;
  return vs_live_malloc(live, 0, 1000, 0, &address) == VS_OK ? 0 : -1;
}

static int teardown(void **state) {
  vs_error error;
  (void)state;
  return vs_live_close(live, &error) == VS_OK ? 0 : -1;
}

#define expect_sentence(call, status, wanted)              \
  do {                                                     \
    expect_status(call, status);                           \
    assert_string_equal(vs_live_error_text(live), wanted); \
  } while (0)

static vs_status ignore(void *ctx, const void *data, size_t size) {
  (void)ctx;
  (void)data;
  (void)size;
  return VS_IO;
}

static void each_failure_has_its_sentence(void **state) {
  (void)state;
  const uint64_t mib = 1 << 20;
  uint64_t other, base, size;
  int64_t value;
  char sentence[128];
  assert_string_equal(vs_live_error_text(live), "");
  vs_format(sentence, sizeof sentence,
            "no allocation begins at address 0x%x: it was freed already, or it never came from this device",
            address + 512);
  expect_sentence(vs_live_free(live, 0, address + 512), VS_NOT_FOUND, sentence);
  expect_sentence(vs_live_base(live, 0, address + 512, &base, &size), VS_NOT_FOUND, sentence);
  expect_sentence(vs_live_statistic(live, 0, "allocated_bytes.all.peek", &value), VS_NOT_FOUND,
                  "no statistic \"allocated_bytes.all.peek\": did you mean \"allocated_bytes.all.peak\"?");
  expect_sentence(vs_live_statistic(live, 0, "inactive_split_bytes.large_pool.aloctaed", &value),
                  VS_NOT_FOUND,
                  "no statistic \"inactive_split_bytes.large_pool.aloctaed\": did you mean "
                  "\"inactive_split_bytes.large_pool.allocated\"?");
  expect_sentence(vs_live_statistic(live, 0, "colour", &value), VS_NOT_FOUND,
                  "no statistic \"colour\": vs_live_statistics lists them");
  expect_sentence(vs_live_malloc(live, 3, 1, 0, &other), VS_BAD_ARGUMENT,
                  "there is no device 3: this allocator has 1, numbered from 0");
  expect_sentence(vs_live_malloc(live, 0, 4096 * mib, 0, &other), VS_DEVICE_MEMORY,
                  "device 0 has no memory for 4294967296 bytes (vs_live_oom_write has PyTorch's message)");
  expect_sentence(vs_live_fraction_set(live, 0, 1.5), VS_BAD_ARGUMENT, "the fraction is not from 0 to 1");
  expect_sentence(vs_live_pool_end(live, 0, (vs_live_pool){3, 4}), VS_NOT_FOUND, "pool 3, 4 was not begun");
  expect_sentence(vs_live_pool_begin(live, 0, (vs_live_pool){0, 0}, NULL, NULL), VS_BAD_ARGUMENT,
                  "pool 0, 0 is the default pool, which is always used");
  expect_ok(vs_live_pool_begin(live, 0, (vs_live_pool){3, 4}, NULL, NULL));
  expect_sentence(vs_live_pool_begin(live, 0, (vs_live_pool){3, 4}, NULL, NULL), VS_BAD_ARGUMENT,
                  "pool 3, 4 was begun already, and has not ended");
  expect_ok(vs_live_pool_end(live, 0, (vs_live_pool){3, 4}));
  expect_sentence(vs_live_summary_write(live, 0, true, (vs_writer){NULL, ignore}), VS_IO,
                  "input or output failed");
  expect_sentence(vs_live_annotation_begin(live, 1, "step"), VS_BAD_ARGUMENT,
                  "there is no device 1: this allocator has 1, numbered from 0");
}

static void *fail_elsewhere(void *ctx) {
  (void)ctx;
  assert_string_equal(vs_live_error_text(live), "");
  expect_sentence(vs_live_fraction_set(live, 0, -1), VS_BAD_ARGUMENT, "the fraction is not from 0 to 1");
  return NULL;
}

static void a_sentence_is_its_threads(void **state) {
  (void)state;
  pthread_t thread;
  expect_sentence(vs_live_pool_end(live, 0, (vs_live_pool){3, 4}), VS_NOT_FOUND, "pool 3, 4 was not begun");
  assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_string_equal(vs_live_error_text(live), "pool 3, 4 was not begun");
}

#define LIVE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      LIVE_TEST(each_failure_has_its_sentence),
      LIVE_TEST(a_sentence_is_its_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
