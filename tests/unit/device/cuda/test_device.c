/* A card of the driver as an allocator sees it: the same answers as the simulated card gives itself
 * (tests/unit/device/sim/test_device.c), and threads that find everything as they left it. */
#include "unit/device/cuda/driver.h"
#include <pthread.h>

#define CARDS "VRAMSCOPE_SIM_GPU=2x2GiB"

static vs_cuda *cuda;
static vs_cuda_device card;
static const vs_device_ops *ops;

static void begin(void) {
  vs_error error;
  cuda = open_driver();
  CHECK(vs_cuda_device_init(&card, vs_host_default(), cuda, 1, 0, &error) == VS_OK);
  ops = card.device.ops;
  CHECK(card.device.ctx == &card && card.device.index == 0 && card.device.total_bytes == UINT64_C(2) << 30);
  CHECK(!vs_cuda_context_is_active(cuda, 1)); /* nothing is taken yet */
}

static void end(void) {
  vs_cuda_device_deinit(&card);
  FAILS(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2, 1); /* as often as it was retained */
  vs_cuda_close(cuda);
}

#define DONE(call) CHECK((call) == VS_DEVICE_OK)

static CUcontext current(void) {
  CUcontext context = NULL;
  GOOD(cuCtxGetCurrent, &context);
  return context;
}

static void expect_code(int64_t wanted) {
  const char *text = NULL;
  CHECK(ops->last_code(&card, &text) == wanted && text != NULL && *text != 0);
}

static void have_segments(void) {
  uint64_t a = 0, b = 0, c = 7, free_now = 0, total = 0, after = 0;
  begin();
  DONE(ops->memory_info(&card, &free_now, &total));
  CHECK(total == card.device.total_bytes && current() == NULL);
  DONE(ops->alloc(&card, 2 * MIB, &a));
  DONE(ops->alloc(&card, 20 * MIB, &b));
  CHECK(b == a + 2 * MIB && a > UINT64_C(0x200000000000)); /* the second card's addresses */
  DONE(ops->memory_info(&card, &after, &total));
  CHECK(free_now - after == 22 * MIB);
  CHECK(ops->alloc(&card, UINT64_C(4) << 30, &c) == VS_DEVICE_OUT_OF_MEMORY && c == 0);
  expect_code(CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(ops->free(&card, a + 512) == VS_DEVICE_FAILED);
  expect_code(CUDA_ERROR_INVALID_VALUE);
  DONE(ops->free(&card, a));
  DONE(ops->free(&card, b));
  end();
}

/* Whatever context a thread has, also none, it has afterwards. */
static void keep_contexts(void) {
  uint64_t a = 0;
  begin();
  CUcontext own = NULL;
  GOOD(cuCtxCreate_v2, &own, 0, 0); /* of the other card */
  DONE(ops->alloc(&card, 2 * MIB, &a));
  CHECK(current() == own && a > UINT64_C(0x200000000000));
  CHECK(ops->free(&card, a + 1) == VS_DEVICE_FAILED && current() == own);
  DONE(ops->free(&card, a));
  GOOD(cuCtxDestroy_v2, own);
  CUcontext primary = NULL, popped = NULL;
  GOOD(cuDevicePrimaryCtxRetain, &primary, 1);
  GOOD(cuCtxPushCurrent_v2, primary);
  DONE(ops->alloc(&card, 2 * MIB, &a));
  CHECK(current() == primary);
  GOOD(cuCtxPopCurrent_v2, &popped);
  CHECK(current() == NULL);
  GOOD(cuDevicePrimaryCtxRelease_v2, 1);
  DONE(ops->free(&card, a));
  end();
}

/* Threads meet at the context's making: there is one, and it is let go as often as it was retained. */
enum { THREADS = 4 };
static pthread_barrier_t all_are_here;
static CUresult (*retain_really)(CUcontext *, CUdevice);

static CUresult meet_and_retain(CUcontext *context, CUdevice device) {
  (void)pthread_barrier_wait(&all_are_here);
  return retain_really(context, device);
}

static void *use_it(void *ctx) {
  uint64_t address = 0;
  (void)ctx;
  for (int i = 0; i < 200; i++) {
    DONE(ops->alloc(&card, 2 * MIB, &address));
    DONE(ops->free(&card, address));
  }
  CHECK(current() == NULL);
  return NULL;
}

static void have_threads(void) {
  pthread_t threads[THREADS];
  begin();
  retain_really = cuda->api.primary_retain;
  cuda->api.primary_retain = meet_and_retain;
  CHECK(pthread_barrier_init(&all_are_here, NULL, THREADS) == 0);
  for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, use_it, NULL) == 0);
  for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  end();
}

static void map_memory(void) {
  uint64_t at = 0, handle = 0, free_before = 0, free_now = 0, total = 0;
  begin();
  DONE(ops->memory_info(&card, &free_before, &total));
  DONE(ops->reserve(&card, 1024 * MIB, &at));
  DONE(ops->create(&card, 20 * MIB, &handle));
  DONE(ops->map(&card, at, 20 * MIB, handle));
  DONE(ops->access(&card, at, 20 * MIB));
  DONE(ops->memory_info(&card, &free_now, &total));
  CHECK(free_before - free_now == 20 * MIB);
  CHECK(ops->map(&card, at, 20 * MIB, handle) == VS_DEVICE_FAILED); /* something is there */
  DONE(ops->unmap(&card, at, 20 * MIB));
  DONE(ops->release(&card, handle));
  DONE(ops->unreserve(&card, at, 1024 * MIB));
  CHECK(ops->create(&card, UINT64_C(4) << 30, &handle) == VS_DEVICE_OUT_OF_MEMORY && handle == 0);
  DONE(ops->memory_info(&card, &free_now, &total));
  CHECK(free_now == free_before);
  end();
}

static CUstream new_stream(void) {
  CUcontext primary = NULL;
  CUstream stream = NULL;
  GOOD(cuDevicePrimaryCtxRetain, &primary, 1);
  GOOD(cuCtxSetCurrent, primary);
  GOOD(cuStreamCreate, &stream, 1);
  return stream;
}

static void wait_for_events(void) {
  uint64_t event = 0;
  begin();
  const uint64_t stream = (uint64_t)(uintptr_t)new_stream();
  DONE(ops->event_create(&card, &event));
  DONE(ops->event_record(&card, event, stream));
  CHECK(ops->event_query(&card, event) == VS_DEVICE_NOT_READY);
  DONE(ops->stream_synchronize(&card, stream));
  DONE(ops->event_query(&card, event));
  DONE(ops->event_record(&card, event, 0));
  DONE(ops->event_synchronize(&card, event));
  DONE(ops->event_query(&card, event));
  DONE(ops->event_destroy(&card, event));
  CHECK(ops->event_destroy(&card, event) == VS_DEVICE_FAILED);
}

/* A capture in the strictest mode: the allocator's calls are none of its business, and the thread's own still are. */
static void stay_out_of_captures(void) {
  vs_device_capture capture = {0};
  uint64_t a = 0;
  const uint64_t *needed = NULL;
  uint64_t count = 9;
  CUgraph graph = NULL;
  CUdeviceptr own = 0;
  begin();
  const CUstream stream = new_stream();
  const uint64_t number = (uint64_t)(uintptr_t)stream;
  DONE(ops->alloc(&card, 2 * MIB, &a));
  DONE(ops->capture_info(&card, number, &capture));
  CHECK(!capture.is_active);
  GOOD(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  GOOD(cuMemsetD8Async, a, 0, 512, stream);
  GOOD(cuMemsetD8Async, a, 0, 512, stream);
  DONE(ops->capture_info(&card, number, &capture));
  CHECK(capture.is_active && capture.graph != 0 && capture.node_count == 1);
  const uint64_t last = capture.nodes[0];
  DONE(ops->needs(&card, capture.graph, last, &needed, &count));
  CHECK(count == 1 && needed[0] != 0 && needed[0] != last);
  const uint64_t first = needed[0];
  DONE(ops->needs(&card, capture.graph, first, &needed, &count));
  CHECK(count == 0);
  uint64_t b = 0;
  DONE(ops->alloc(&card, 2 * MIB, &b));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc_v2, &own, 2 * MIB);
  CHECK(ops->capture_info(&card, number, &capture) == VS_DEVICE_FAILED); /* that broke the capture */
  expect_code(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture, stream, &graph);
  DONE(ops->capture_info(&card, number, &capture));
  CHECK(!capture.is_active);
  CHECK(ops->needs(&card, 0, UINT64_C(0x4711), &needed, &count) == VS_DEVICE_FAILED && count == 0);
}

/* The older questions of a driver before 12.3 have the same answers. */
static void ask_the_older_driver(void) {
  vs_device_capture capture = {0};
  const uint64_t *needed = NULL;
  uint64_t count = 9, a = 0;
  CUgraph graph = NULL;
  begin();
  cuda->api.capture_info_v3 = NULL;
  cuda->api.node_needs_v2 = NULL;
  const CUstream stream = new_stream();
  DONE(ops->alloc(&card, 2 * MIB, &a));
  GOOD(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  GOOD(cuMemsetD8Async, a, 0, 512, stream);
  GOOD(cuMemsetD8Async, a, 0, 512, stream);
  DONE(ops->capture_info(&card, (uint64_t)(uintptr_t)stream, &capture));
  CHECK(capture.is_active && capture.node_count == 1);
  DONE(ops->needs(&card, capture.graph, capture.nodes[0], &needed, &count));
  CHECK(count == 1);
  GOOD(cuStreamEndCapture, stream, &graph);
}

static void use_the_pool(void) {
  uint64_t a = 0, b = 0, used, used_peak, reserved, reserved_peak;
  begin();
  DONE(ops->async_alloc(&card, 3 * MIB, 0, &a));
  DONE(ops->async_alloc(&card, 5 * MIB, 0, &b));
  DONE(ops->async_free(&card, a, 0));
  DONE(ops->async_info(&card, &used, &used_peak, &reserved, &reserved_peak));
  CHECK(used == 5 * MIB && used_peak == 8 * MIB && reserved >= 8 * MIB && reserved_peak >= reserved);
  DONE(ops->async_free(&card, b, 0));
  DONE(ops->stream_synchronize(&card, 0));
  DONE(ops->async_info(&card, &used, &used_peak, &reserved, &reserved_peak));
  CHECK(used == 0 && reserved >= 8 * MIB); /* it keeps what it has */
  DONE(ops->async_trim(&card, 0));
  DONE(ops->async_info(&card, &used, &used_peak, &reserved, &reserved_peak));
  CHECK(reserved == 0);
  CHECK(ops->async_alloc(&card, UINT64_C(4) << 30, 0, &a) == VS_DEVICE_OUT_OF_MEMORY && a == 0);
  end();
}

/* ---- a driver that has not got everything */

static void lack_functions(void) {
  uint64_t one = 1, two = 2;
  const uint64_t *nodes;
  vs_device_capture capture;
  const char *text = NULL;
  begin();
  vs_cuda_api *api = &cuda->api;
  api->address_reserve = NULL, api->address_free = NULL, api->physical_create = NULL;
  api->physical_release = NULL, api->memory_map = NULL, api->memory_access = NULL, api->memory_unmap = NULL;
  api->capture_info_v2 = NULL, api->capture_info_v3 = NULL, api->node_needs = NULL, api->node_needs_v2 = NULL;
  api->pool_alloc = NULL, api->pool_free = NULL, api->exchange_capture_mode = NULL;
  const vs_device_result results[] = {
      ops->reserve(&card, 2 * MIB, &one),
      ops->unreserve(&card, 1, 2 * MIB),
      ops->create(&card, 2 * MIB, &two),
      ops->release(&card, 1),
      ops->map(&card, 1, 2 * MIB, 1),
      ops->access(&card, 1, 2 * MIB),
      ops->unmap(&card, 1, 2 * MIB),
      ops->capture_info(&card, 0, &capture),
      ops->needs(&card, 0, 1, &nodes, &two),
      ops->async_alloc(&card, 1, 0, &one),
      ops->async_free(&card, 1, 0),
      ops->async_trim(&card, 0),
      ops->async_info(&card, &one, &one, &one, &one),
  };
  for (size_t i = 0; i < sizeof results / sizeof *results; i++) CHECK(results[i] == VS_DEVICE_NOT_SUPPORTED);
  CHECK(ops->last_code(&card, &text) == -1 && strstr(text, "no such function") != NULL);
  DONE(ops->alloc(&card, 2 * MIB, &one)); /* the rest works */
  DONE(ops->free(&card, one));
  end();
}

static void lack_too_much(void) {
  vs_error error;
  cuda = open_driver();
  CHECK(vs_cuda_device_init(&card, vs_host_default(), cuda, 2, 0, &error) == VS_BAD_ARGUMENT);
  cuda->api.event_query = NULL;
  CHECK(vs_cuda_device_init(&card, vs_host_default(), cuda, 0, 0, &error) == VS_UNSUPPORTED);
  CHECK(strstr(error.text, "cuEventQuery") != NULL);
  vs_cuda_close(cuda);
}

static CUresult shutting_down(CUdeviceptr address) {
  (void)address;
  return CUDA_ERROR_DEINITIALIZED;
}

/* When the process ends the driver may be gone first, and all memory with it. */
static void outlive_the_driver(void) {
  uint64_t a = 0;
  begin();
  DONE(ops->alloc(&card, 2 * MIB, &a));
  CUresult (*memory_free)(CUdeviceptr) = cuda->api.memory_free;
  cuda->api.memory_free = shutting_down;
  DONE(ops->free(&card, a));
  cuda->api.memory_free = memory_free;
  DONE(ops->free(&card, a));
  end();
}

static void fail_at_first_use(void) {
  uint64_t a = 7;
  begin();
  CHECK(ops->alloc(&card, 2 * MIB, &a) == VS_DEVICE_OUT_OF_MEMORY && a == 0);
  DONE(ops->alloc(&card, 2 * MIB, &a)); /* the next one makes the context */
  end();
}

/* ---- */

static void test_memory(void **state) {
  (void)state;
  expect_apart(have_segments, WITH(CARDS), "");
  expect_apart(map_memory, WITH(CARDS), "");
  expect_apart(use_the_pool, WITH(CARDS), "");
}

static void test_threads(void **state) {
  (void)state;
  expect_apart(keep_contexts, WITH(CARDS), "");
  expect_apart(have_threads, WITH(CARDS), "");
}

static void test_time(void **state) {
  (void)state;
  expect_apart(wait_for_events, WITH(CARDS, "VRAMSCOPE_SIM_EVENTS=at-sync"), "");
  expect_apart(stay_out_of_captures, WITH(CARDS), "");
  expect_apart(ask_the_older_driver, WITH(CARDS), "");
}

static void test_trouble(void **state) {
  (void)state;
  expect_apart(lack_functions, WITH(CARDS), "");
  expect_apart(lack_too_much, WITH(CARDS), "");
  expect_apart(outlive_the_driver, WITH(CARDS), "");
  expect_apart(fail_at_first_use, WITH(CARDS, "VRAMSCOPE_SIM_FAULT=context:1"), "");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory), cmocka_unit_test(test_threads),
                                     cmocka_unit_test(test_time), cmocka_unit_test(test_trouble)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
