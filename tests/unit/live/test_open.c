/* Opening, settings, statistics: what an object begins with and what it refuses. */
#include "live/state.h"
#include "support/test.h"
#include <stdlib.h>

static vs_status append(void *ctx, const void *data, size_t size) {
  vs_text *text = ctx;
  vs_text_put(text, data, size);
  return text->status;
}

static void expect_refused(const vs_live_options *options, vs_status wanted, uint64_t offset,
                           const char *sentence) {
  vs_live *live;
  vs_error error;
  expect_status(vs_live_open(options, &live, &error), wanted);
  assert_null(live);
  if (strstr(error.text, sentence) == NULL) fail_msg("%s", error.text);
  assert_int_equal(error.offset, offset);
}

static void clear_environment(void) {
  for (size_t i = 0; i < VS_ALLOC_VARIABLES; i++) unsetenv(vs_alloc_variables[i]);
  unsetenv("VRAMSCOPE_GPU");
}

static void refusals(void **state) {
  (void)state;
  clear_environment();
  expect_refused(&(vs_live_options){.gpus = "H10O"}, VS_BAD_ARGUMENT, 0, "did you mean");
  expect_refused(&(vs_live_options){.gpus = ""}, VS_BAD_ARGUMENT, 0, "");
  expect_refused(&(vs_live_options){.settings = "max_split_size:64"}, VS_BAD_FORMAT, 0, "did you mean");
  expect_refused(&(vs_live_options){.settings = "expandable_segments:true"}, VS_BAD_FORMAT, 20, "True");
  expect_refused(&(vs_live_options){.recording = "no/such/folder/a.vram"}, VS_NOT_FOUND, VS_NO_OFFSET,
                 "folder");
  setenv("VRAMSCOPE_GPU", "H10O", 1);
  expect_refused(NULL, VS_BAD_ARGUMENT, 0, "VRAMSCOPE_GPU: ");
  unsetenv("VRAMSCOPE_GPU");
  setenv("PYTORCH_CUDA_ALLOC_CONF", "x:1", 1);
  expect_refused(NULL, VS_BAD_FORMAT, 0, "PYTORCH_CUDA_ALLOC_CONF: ");
  clear_environment();
}

static void environment(void **state) {
  (void)state;
  vs_live *live;
  vs_error error;
  vs_live_device_info info;
  clear_environment();
  expect_ok(vs_live_open(NULL, &live, &error));
  assert_int_equal(vs_live_device_count(live), 1);
  expect_ok(vs_live_device_of(live, 0, &info));
  assert_string_equal(info.name, "NVIDIA H100 80GB HBM3 (simulated)");
  assert_true(info.is_simulated);
  expect_status(vs_live_device_of(live, 1, &info), VS_BAD_ARGUMENT);
  expect_ok(vs_live_close(live, &error));
  setenv("VRAMSCOPE_GPU", "2x24GiB", 1);
  setenv("PYTORCH_ALLOC_CONF", "expandable_segments:True", 1);
  setenv("VRAMSCOPE_ALLOC_CONF", "max_split_size_mb:64", 1);
  expect_ok(vs_live_open(NULL, &live, &error));
  assert_int_equal(vs_live_device_count(live), 2);
  expect_ok(vs_live_device_of(live, 1, &info));
  assert_int_equal(info.total_bytes, UINT64_C(24) << 30);
  const vs_alloc_settings *settings = vs_alloc_settings_of(live->devices[1]->alloc);
  assert_int_equal(settings->max_split_size, 64 << 20); /* the first variable alone */
  assert_false(settings->expandable_segments);
  expect_ok(vs_live_close(live, &error));
  clear_environment();
  expect_ok(vs_live_close(NULL, NULL));
}

static void settings(void **state) {
  (void)state;
  vs_live *live;
  vs_error error;
  vs_text text;
  expect_ok(
      vs_live_open(&(vs_live_options){.gpus = "2x1GiB", .settings = "max_split_size_mb:64"}, &live, &error));
  expect_ok(vs_live_settings_apply(live, "expandable_segments:True", &error));
  for (int i = 0; i < 2; i++) {
    const vs_alloc_settings *now = vs_alloc_settings_of(live->devices[i]->alloc);
    assert_true(now->expandable_segments);
    assert_int_equal(now->max_split_size, UINT64_MAX); /* each call sets it anew */
  }
  expect_status(vs_live_settings_apply(live, "expandable_segments:False,nonsense:1", &error), VS_BAD_FORMAT);
  assert_true(vs_alloc_settings_of(live->devices[0]->alloc)->expandable_segments);
  expect_status(vs_live_settings_apply(live, "backend:cudaMallocAsync", &error), VS_BAD_ARGUMENT);
  assert_string_equal(error.text, "the back end and the version cannot change after the beginning");
  vs_text_init(&text, vs_host_default(), NULL);
  expect_ok(vs_live_settings_write(live, (vs_writer){&text, append}));
  assert_true(vs_str_contains(vs_text_view(&text), VS_STR("expandable_segments")));
  vs_text_deinit(&text);
  expect_ok(vs_live_close(live, &error));
}

static int64_t statistic(vs_live *live, const char *key) {
  int64_t value = -1;
  expect_ok(vs_live_statistic(live, 0, key, &value));
  return value;
}

static void statistics(void **state) {
  (void)state;
  vs_live *live;
  vs_error error;
  vs_live_memory memory;
  uint64_t a, b, free_bytes, total_bytes;
  double fraction;
  expect_ok(vs_live_open(&(vs_live_options){.gpus = "1GiB", .settings = ""}, &live, &error));
  expect_ok(vs_live_malloc(live, 0, 1000, 0, &a));
  expect_ok(vs_live_malloc(live, 0, 600000, 0, &b));
  expect_ok(vs_live_free(live, 0, b));
  expect_ok(vs_live_memory_of(live, 0, &memory));
  assert_int_equal(memory.allocated, 1024);
  assert_int_equal(memory.allocated_peak, 601088);
  assert_int_equal(memory.requested, 1000);
  assert_int_equal(memory.requested_peak, 601000);
  assert_int_equal(memory.reserved, 2097152);
  assert_int_equal(statistic(live, "allocated_bytes.all.peak"), 601088);
  assert_int_equal(statistic(live, "num_device_alloc"), 1);
  expect_status(vs_live_statistic(live, 0, "allocated_bytes", &(int64_t){0}), VS_NOT_FOUND);
  expect_ok(vs_live_reset_peak(live, 0));
  assert_int_equal(statistic(live, "allocated_bytes.all.peak"), 1024);
  assert_int_equal(statistic(live, "allocated_bytes.all.allocated"), 601088);
  expect_ok(vs_live_reset_totals(live, 0));
  assert_int_equal(statistic(live, "allocated_bytes.all.allocated"), 0);
  expect_ok(vs_live_memory_info(live, 0, &free_bytes, &total_bytes));
  assert_int_equal(total_bytes, UINT64_C(1) << 30);
  assert_true(free_bytes < total_bytes - 2097152); /* the context costs something, too */
  expect_ok(vs_live_fraction_set(live, 0, 0.25));
  expect_ok(vs_live_fraction(live, 0, &fraction));
  assert_true(fraction == 0.25);
  expect_status(vs_live_malloc(live, 0, UINT64_C(300) << 20, 0, &b), VS_DEVICE_MEMORY);
  expect_status(vs_live_fraction_set(live, 0, 1.5), VS_BAD_ARGUMENT);
  expect_ok(vs_live_malloc(live, 0, 0, 0, &b));
  assert_int_equal(b, 0);
  expect_ok(vs_live_free(live, 0, 0));
  expect_status(vs_live_free(live, 0, a + 512), VS_NOT_FOUND);
  expect_status(vs_live_free(live, 1, a), VS_BAD_ARGUMENT);
  expect_status(vs_live_malloc(live, 7, 1, 0, &b), VS_BAD_ARGUMENT);
  expect_ok(vs_live_close(live, &error));
}

/* ---- the other back end */

static void asynchronous(void **state) {
  (void)state;
  vs_live *live;
  vs_error error;
  vs_live_memory memory;
  vs_text text;
  uint64_t a, b;
  vs_scope *scope;
  vs_scope_figures figures;
  const vs_writer to = {&text, append};
  vs_text_init(&text, vs_host_default(), NULL);
  expect_ok(
      vs_live_open(&(vs_live_options){.gpus = "1GiB", .settings = "backend:cudaMallocAsync"}, &live, &error));
  expect_ok(vs_live_malloc(live, 0, 8 << 20, 0, &a));
  expect_ok(vs_live_scope_begin(live, 0, &scope));
  expect_ok(vs_live_malloc(live, 0, 16 << 20, 0, &b));
  expect_ok(vs_live_free(live, 0, b));
  expect_status(vs_live_free(live, 0, b), VS_NOT_FOUND);
  vs_live_scope_end(scope, &figures);
  assert_int_equal(figures.allocated.start, 8 << 20);
  assert_int_equal(figures.allocated.peaked, 16 << 20);
  expect_ok(vs_live_memory_of(live, 0, &memory));
  assert_int_equal(memory.allocated, 8 << 20);
  assert_int_equal(memory.allocated_peak, 24 << 20);
  assert_int_equal(statistic(live, "allocated_bytes.all.peak"), 24 << 20);
  assert_int_equal(statistic(live, "allocation.all.current"), 0); /* PyTorch does not know, either */
  expect_ok(vs_live_reset_peak(live, 0));
  assert_int_equal(statistic(live, "allocated_bytes.all.peak"), 8 << 20);
  expect_ok(vs_live_summary_write(live, 0, true, to));
  assert_true(vs_str_contains(vs_text_view(&text), VS_STR("| Allocated memory      |   8192 KiB |")));
  text.bytes.count = 0;
  expect_status(vs_live_malloc(live, 0, UINT64_C(3) << 30, 0, &b), VS_DEVICE_MEMORY);
  expect_ok(vs_live_oom_write(live, to));
  assert_true(vs_str_contains(vs_text_view(&text), VS_STR("3.00 GiB")));
  const vs_history_options keep = {.enabled = VS_HISTORY_EVENTS};
  expect_status(vs_live_history(live, &keep, &error), VS_UNSUPPORTED);
  assert_string_equal(error.text, "backend:cudaMallocAsync has no history");
  expect_ok(vs_live_history(live, &(vs_history_options){.enabled = VS_HISTORY_OFF}, &error));
  expect_status(vs_live_snapshot_write(live, VS_LIVE_PICKLE, true, to, &error), VS_UNSUPPORTED);
  expect_status(vs_live_recording_start(live, "never.vram", false, VS_HISTORY_STACKS_GIVEN, &error),
                VS_UNSUPPORTED);
  expect_ok(vs_live_record_stream(live, 0, a, 0));
  expect_ok(vs_live_fraction_set(live, 0, 0.5));
  expect_ok(vs_live_free(live, 0, a));
  expect_ok(vs_live_empty_cache(live));
  expect_ok(vs_live_close(live, &error));
  vs_text_deinit(&text);
}

/* ---- pinned memory */

static vs_status list(void *ctx, vs_str key, int64_t value) {
  vs_text_format(ctx, "%S=%D ", key, value);
  return VS_OK;
}

static void pinned(void **state) {
  (void)state;
  vs_live *live;
  vs_error error;
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  expect_ok(vs_live_open(&(vs_live_options){.gpus = "1GiB"}, &live, &error));
  vs_live_host_note(live, VS_HOST_ALLOCATED, 4096, 30);
  vs_live_host_note(live, VS_HOST_ALLOCATED, 8192, 10);
  vs_live_host_note(live, VS_HOST_TAKEN, 8192, 0);
  vs_live_host_note(live, VS_HOST_RETURNED, 8192, 0);
  vs_live_host_note(live, VS_HOST_FREED, 8192, 5);
  expect_ok(vs_live_host_statistics(live, list, &text));
  expect_text(
      &text,
      "active_bytes.allocated=8192 active_bytes.current=0 active_bytes.freed=8192 active_bytes.peak=8192 "
      "active_requests.allocated=1 active_requests.current=0 active_requests.freed=1 active_requests.peak=1 "
      "allocated_bytes.allocated=12288 allocated_bytes.current=4096 allocated_bytes.freed=8192 "
      "allocated_bytes.peak=12288 allocations.allocated=2 allocations.current=1 allocations.freed=1 "
      "allocations.peak=2 host_alloc_time.avg=20 host_alloc_time.count=2 host_alloc_time.max=30 "
      "host_alloc_time.min=10 host_alloc_time.total=40 host_free_time.avg=5 host_free_time.count=1 "
      "host_free_time.max=5 host_free_time.min=5 host_free_time.total=5 num_host_alloc=2 num_host_free=1 ");
  vs_live_host_reset_peak(live);
  vs_live_host_reset_totals(live);
  expect_ok(vs_live_host_statistics(live, list, &text));
  assert_true(
      vs_str_contains(vs_text_view(&text), VS_STR("allocated_bytes.allocated=0 allocated_bytes.current=4096 "
                                                  "allocated_bytes.freed=0 allocated_bytes.peak=4096 ")));
  assert_true(vs_str_contains(vs_text_view(&text), VS_STR("num_host_alloc=0 ")));
  assert_true(vs_str_contains(vs_text_view(&text),
                              VS_STR("host_alloc_time.total=0 host_free_time.avg=0 host_free_time.count=0 "
                                     "host_free_time.max=0 host_free_time.min=0 host_free_time.total=0 ")));
  vs_text_deinit(&text);
  expect_ok(vs_live_close(live, &error));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refusals),   cmocka_unit_test(environment),  cmocka_unit_test(settings),
      cmocka_unit_test(statistics), cmocka_unit_test(asynchronous), cmocka_unit_test(pinned),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
