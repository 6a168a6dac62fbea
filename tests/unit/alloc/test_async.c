/* The asynchronous back end on a small pool of the driver: limits, other streams, figures, failures. */
#include "alloc/async.h"
#include "property/alloc/fake_device.h"
#include "support/test.h"

/* The driver's pool: a number of allocated bytes, and chunks of 32 MiB that it keeps. */
static struct {
  fake_device device;
  vs_device_ops ops;
  uint64_t sizes[64], used, used_peak, reserved, reserved_peak;
  size_t count;
  bool fails;
} driver;

static vs_device_result async_alloc(void *ctx, uint64_t size, uint64_t stream, uint64_t *address) {
  (void)ctx;
  (void)stream;
  if (driver.fails) return VS_DEVICE_FAILED;
  const uint64_t rounded = (size + 511) / 512 * 512, chunk = 32 * VS_MIB;
  if (driver.used + rounded > 256 * VS_MIB) return VS_DEVICE_OUT_OF_MEMORY;
  driver.used += rounded;
  driver.used_peak = vs_max_u64(driver.used_peak, driver.used);
  driver.reserved = vs_max_u64(driver.reserved, (driver.used + chunk - 1) / chunk * chunk);
  driver.reserved_peak = vs_max_u64(driver.reserved_peak, driver.reserved);
  driver.sizes[driver.count++] = rounded;
  *address = (UINT64_C(1) << 40) + driver.count;
  return VS_DEVICE_OK;
}
static vs_device_result async_free(void *ctx, uint64_t address, uint64_t stream) {
  (void)ctx;
  (void)stream;
  if (driver.fails) return VS_DEVICE_FAILED;
  driver.used -= driver.sizes[address - (UINT64_C(1) << 40) - 1];
  return VS_DEVICE_OK;
}
static vs_device_result async_trim(void *ctx, uint64_t keep) {
  (void)ctx;
  const uint64_t chunk = 32 * VS_MIB;
  driver.reserved = vs_max_u64(keep, (driver.used + chunk - 1) / chunk * chunk);
  return driver.fails ? VS_DEVICE_FAILED : VS_DEVICE_OK;
}
static vs_device_result async_info(void *ctx, uint64_t *used, uint64_t *used_peak, uint64_t *reserved,
                                   uint64_t *reserved_peak) {
  (void)ctx;
  *used = driver.used;
  *used_peak = driver.used_peak;
  *reserved = driver.reserved;
  *reserved_peak = driver.reserved_peak;
  return VS_DEVICE_OK;
}

static char story[512]; /* what the observer heard */

static void on_event(void *ctx, const vs_event *event) {
  static const char letters[] = {
      [VS_EVENT_ALLOC] = 'a', [VS_EVENT_FREE_REQUESTED] = 'r', [VS_EVENT_FREE_COMPLETED] = 'c'};
  (void)ctx;
  const size_t used = strlen(story);
  vs_format(story + used, sizeof story - used, "%c%U ", letters[event->kind], event->size);
}

static vs_alloc_settings settings;
static vs_async *async;

static vs_status create(const vs_host *host) {
  const vs_observer observer = {.event = on_event};
  driver.ops = fake_ops;
  driver.ops.async_alloc = async_alloc;
  driver.ops.async_free = async_free;
  driver.ops.async_trim = async_trim;
  driver.ops.async_info = async_info;
  driver.used = driver.used_peak = driver.reserved = driver.reserved_peak = 0;
  driver.count = 0;
  driver.fails = false;
  story[0] = 0;
  fake_init(&driver.device, 256 * VS_MIB);
  const vs_device face = {.ops = &driver.ops, .ctx = &driver.device, .index = 2, .total_bytes = 256 * VS_MIB};
  vs_alloc_settings_init(&settings);
  return vs_async_create(host, &face, &settings, &observer, &async);
}

static int begin(void **state) {
  (void)state;
  expect_ok(create(vs_host_default()));
  return 0;
}

static int end(void **state) {
  (void)state;
  vs_async_destroy(async);
  assert_int_equal(driver.device.events_alive, 0);
  fake_deinit(&driver.device);
  return 0;
}

static uint64_t allocate(uint64_t size, uint64_t stream) {
  uint64_t address;
  expect_ok(vs_async_malloc(async, size, stream, 1, &address));
  return address;
}

static vs_async_figures measured(void) {
  vs_async_figures f;
  expect_ok(vs_async_measure(async, &f));
  return f;
}

static void test_figures(void **state) {
  (void)state;
  assert_int_equal(allocate(0, 0), 0);
  const uint64_t a = allocate(1000, 0), b = allocate(40 * VS_MIB, 0);
  vs_async_figures f = measured();
  assert_int_equal(f.used, 1024 + 40 * VS_MIB);
  assert_int_equal(f.wanted, 1000 + 40 * VS_MIB);
  assert_int_equal(f.reserved, 64 * VS_MIB);
  expect_ok(vs_async_free(async, b, VS_CONTEXT_NONE));
  expect_ok(vs_async_reset_peak(async));
  f = measured();
  assert_int_equal(f.used_peak, 1024);
  assert_int_equal(f.reserved_peak, 64 * VS_MIB);
  expect_ok(vs_async_free(async, allocate(5 * VS_MIB, 0), VS_CONTEXT_NONE)); /* the peak between two looks */
  assert_int_equal(measured().used_peak, 1024 + 5 * VS_MIB);
  expect_ok(vs_async_free(async, a, 5));
  expect_ok(vs_async_empty_cache(async, 5));
  assert_int_equal(measured().reserved, 0);
  assert_int_equal(measured().wanted, 0);
  assert_string_equal(story, "a1000 a41943040 r41943040 c41943040 a5242880 r5242880 c5242880 r1000 c1000 ");
}

static void test_other_streams(void **state) {
  (void)state;
  const uint64_t a = allocate(512, 0);
  expect_ok(vs_async_record_stream(async, a, 0)); /* its own */
  expect_ok(vs_async_record_stream(async, a, 1));
  expect_ok(vs_async_record_stream(async, a, 1));
  expect_ok(vs_async_record_stream(async, a, 2));
  expect_ok(vs_async_free(async, a, VS_CONTEXT_NONE));
  expect_status(vs_async_free(async, a, VS_CONTEXT_NONE), VS_NOT_FOUND);
  expect_status(vs_async_record_stream(async, a, 1), VS_NOT_FOUND);
  assert_int_equal(measured().waiting, 1);
  assert_int_equal(measured().wanted, 0);
  assert_int_equal(measured().used, 512);
  driver.device.done[1] = 1;
  expect_ok(vs_async_poll(async, VS_CONTEXT_NONE));
  assert_int_equal(measured().waiting, 1);
  driver.device.done[2] = 1;
  expect_ok(vs_async_poll(async, VS_CONTEXT_NONE));
  assert_int_equal(measured().waiting, 0);
  assert_int_equal(measured().used, 0);
  const uint64_t b = allocate(512, 0);
  expect_ok(vs_async_record_stream(async, b, 3));
  expect_ok(vs_async_free(async, b, VS_CONTEXT_NONE));
  expect_ok(vs_async_empty_cache(async, VS_CONTEXT_NONE)); /* waits */
  assert_int_equal(measured().used, 0);
  assert_int_equal(driver.device.events_alive, 2); /* kept for the next time */
}

static void expect_oom(uint64_t size, const char *wanted) {
  uint64_t address;
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  expect_status(vs_async_malloc(async, size, 0, 1, &address), VS_DEVICE_MEMORY);
  assert_int_equal(address, 0);
  expect_ok(vs_async_oom_write(async, &text));
  expect_str_at(vs_text_view(&text), vs_str_from(wanted), __FILE__, __LINE__);
  vs_text_deinit(&text);
}

static void test_limits(void **state) {
  (void)state;
  const uint64_t a = allocate(100 * VS_MIB, 0);
  expect_status(vs_async_fraction_set(async, 1.5), VS_BAD_ARGUMENT);
  expect_ok(vs_async_fraction_set(async, 0.5));
  assert_true(vs_async_fraction(async) == 0.5);
  (void)allocate(28 * VS_MIB, 0); /* all of it */
  expect_oom(1, "Allocation on device 2 would exceed allowed memory. (out of memory)\n"
                "Currently allocated     : 128.00 MiB\n"
                "Requested               : 1 bytes\n"
                "Device limit            : 256.00 MiB\n"
                "Free (according to CUDA): 256.00 MiB\n"
                "PyTorch limit (set by user-supplied memory fraction)\n"
                "                        : 128.00 MiB");
  expect_ok(vs_async_fraction_set(async, 1));
  expect_oom(UINT64_MAX, "Allocation on device 2 would exceed allowed memory. (out of memory)\n"
                         "Currently allocated     : 128.00 MiB\n"
                         "Requested               : 17179869184.00 GiB\n"
                         "Device limit            : 256.00 MiB\n"
                         "Free (according to CUDA): 256.00 MiB\n"
                         "PyTorch limit (set by user-supplied memory fraction)\n"
                         "                        : 256.00 MiB");
  expect_ok(vs_async_free(async, a, VS_CONTEXT_NONE));
  (void)allocate(200 * VS_MIB, 0);
}

static void test_driver_failures(void **state) {
  (void)state;
  uint64_t address;
  const uint64_t a = allocate(100, 0);
  driver.fails = true;
  expect_status(vs_async_malloc(async, 100, 0, 1, &address), VS_DEVICE);
  expect_status(vs_async_free(async, a, VS_CONTEXT_NONE), VS_DEVICE);
  expect_status(vs_async_empty_cache(async, VS_CONTEXT_NONE), VS_DEVICE);
  assert_string_equal(story, "a100 ");
  driver.fails = false;
  expect_ok(vs_async_free(async, a, VS_CONTEXT_NONE)); /* it was still there */
  assert_string_equal(story, "a100 r100 c100 ");
}

static vs_status on_key(void *ctx, vs_str key, int64_t value) {
  uint32_t *count = ctx;
  count[0]++;
  count[1] += value != 0;
  if (vs_str_equal(key, VS_STR("active_bytes.all.peak"))) assert_int_equal(value, 1024);
  return VS_OK;
}

static void test_keys(void **state) {
  (void)state;
  uint32_t counts[2] = {0};
  (void)allocate(1000, 0);
  const vs_async_figures f = measured();
  expect_ok(vs_async_visit(&f, &settings, on_key, counts));
  assert_int_equal(counts[0], 123);
  assert_int_equal(counts[1], 6); /* current and peak of allocated, active and reserved bytes */
}

static vs_status program(const vs_host *host, void *ctx) {
  (void)ctx;
  uint64_t a[20];
  vs_status status = create(host);
  if (status != VS_OK) return status;
  for (int i = 0; i < 20 && status == VS_OK; i++) {
    status = vs_async_malloc(async, 1000, 0, 1, &a[i]);
    if (status == VS_OK && i % 3 == 0) status = vs_async_record_stream(async, a[i], 1 + (uint64_t)i % 2);
    if (status == VS_OK && i % 4 == 3) status = vs_async_free(async, a[i - 3], 1);
  }
  if (status == VS_OK) status = vs_async_empty_cache(async, 1);
  vs_async_destroy(async);
  assert_int_equal(driver.device.events_alive, 0);
  fake_deinit(&driver.device);
  return status;
}

static void test_no_memory(void **state) {
  (void)state;
  assert_true(fault_prove(program, NULL) > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_figures, begin, end),
      cmocka_unit_test_setup_teardown(test_other_streams, begin, end),
      cmocka_unit_test_setup_teardown(test_limits, begin, end),
      cmocka_unit_test_setup_teardown(test_driver_failures, begin, end),
      cmocka_unit_test_setup_teardown(test_keys, begin, end),
      cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
