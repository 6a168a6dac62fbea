/* What PyTorch calls, called without PyTorch: on our simulated driver, with a C++ function object made by hand, and where no
 * C++ is there to throw. tests/python/test_use_allocator.py has the same with PyTorch. */
#include "unit/device/cuda/driver.h"
#include <signal.h>

/* With their internals: what is compiled here is not taken from the library. */
#include "torch/functions.c"
#include "torch/pools.c"
#include "torch/throw.c"

#define CARDS "VRAMSCOPE_SIM_GPU=2x2GiB"

static void open_with(const char *settings) {
  vs_error error = {.text = ""};
  simulated_driver();
  const vs_status status =
      vs_torch_open(&(vs_live_options){.gpus = "cuda", .settings = settings}, false, &error);
  if (status != VS_OK) fprintf(stderr, "%s\n", error.text);
  CHECK(status == VS_OK && vs_torch_live() != NULL);
}

static void open_here(void) { open_with(""); }

static int64_t statistic(uint32_t device, const char *key) {
  int64_t value = -1;
  CHECK(vs_live_statistic(vs_torch_live(), device, key, &value) == VS_OK);
  return value;
}

/* Nothing is open: everything is nothing, and running out could not be told. */
static void be_closed(void) {
  vs_error error = {.text = ""};
  size_t size = 7;
  void *some = vs_torch__pointer(4096);
  CHECK(vs_torch_live() == NULL && vs_torch_segment_alloc(100, 0, NULL) == NULL);
  vs_torch_free(some, 100, 0, NULL);
  vs_torch_reset();
  vs_torch_init(2);
  vs_torch_record_stream(some, NULL);
  vs_torch_begin_allocate_to_pool(0, (vs_torch_pool){1, 0}, NULL);
  vs_torch_end_allocate_to_pool(0, (vs_torch_pool){1, 0});
  vs_torch_release_pool(0, (vs_torch_pool){1, 0});
  CHECK(vs_torch_base_alloc(some, &size) == some && size == 0);
  simulated_driver();
  CHECK(vs_torch_open(&(vs_live_options){.gpus = "cuda"}, true, &error) == VS_UNSUPPORTED);
  CHECK(strstr(error.text, " has no _") != NULL && strstr(error.text, "is PyTorch imported?") != NULL);
  CHECK(vs_torch_live() == NULL); /* it may be tried again */
  CHECK(vs_torch_open(&(vs_live_options){.gpus = "cuda:9"}, false, &error) == VS_BAD_ARGUMENT);
  open_here();
  CHECK(vs_torch_open(&(vs_live_options){.gpus = "cuda"}, false, &error) == VS_BAD_ARGUMENT);
  CHECK(strstr(error.text, "open already") != NULL);
}

static uint32_t asked;

static vs_stack where(vs_live *live) {
  const vs_live_frame frame = {.function = "here", .file = "test.py", .line = 3};
  vs_stack stack = VS_STACK_NONE;
  asked++;
  CHECK(vs_live_stack(live, &frame, 1, &stack) == VS_OK);
  return stack;
}

static void allocate_and_free(void) {
  size_t size = 0;
  open_here();
  void *first = vs_torch_alloc(1000, 0, NULL), *second = vs_torch_segment_alloc(3 << 20, 1, NULL);
  CHECK(first != NULL && second != NULL && statistic(0, "allocated_bytes.all.current") == 1024);
  CHECK(vs_torch_alloc(0, 0, NULL) == NULL); /* nothing is at no address */
  CHECK(vs_torch_base_alloc(second, &size) == second && size == 20 << 20);
  CHECK(vs_torch_base_alloc(first, NULL) == first);
  vs_torch_record_stream(second, NULL);
  vs_torch_record_stream(vs_torch__pointer(4096), NULL); /* an address of no block is ignored */
  vs_torch_memory_fraction(0.5, 1);
  double fraction = 0;
  CHECK(vs_live_fraction(vs_torch_live(), 1, &fraction) == VS_OK && fraction == 0.5);
  CHECK(vs_torch_segment_alloc(UINT64_C(1) << 40, 1, NULL) == NULL); /* PyTorch's own allocator looks */
  CHECK(vs_torch_segment_alloc(100, 5, NULL) == NULL && vs_torch_segment_alloc(100, -1, NULL) == NULL);
  vs_torch_free(first, 1000, 0, NULL);
  vs_torch_free(NULL, 0, 0, NULL);
  CHECK(vs_torch_strange_frees() == 0);
  vs_torch_free(first, 1000, 0, NULL);
  vs_torch_free(first, 1000, -1, NULL);
  CHECK(vs_torch_strange_frees() == 1);
  vs_torch_free(second, 3 << 20, 1, NULL);
  CHECK(statistic(1, "reserved_bytes.all.current") == 20 << 20);
  vs_torch_reset();
  CHECK(statistic(1, "reserved_bytes.all.current") == 0 && statistic(0, "allocated_bytes.all.current") == 0);
}

static vs_status find_here(void *ctx, const void *data, size_t size) {
  const char *at = data;
  for (size_t i = 0; i + 4 <= size; i++) *(uint32_t *)ctx += memcmp(at + i, "here", 4) == 0;
  return VS_OK;
}

/* Who wants stacks is asked on the thread that allocates; afterwards the thread is where it was. */
static void say_where(void) {
  vs_error error;
  uint32_t found = 0;
  open_here();
  CHECK(vs_live_history(vs_torch_live(),
                        &(vs_history_options){.enabled = VS_HISTORY_EVENTS,
                                              .context = VS_HISTORY_CONTEXT_ALL,
                                              .max_entries = UINT64_MAX},
                        &error) == VS_OK);
  vs_torch_where_set(VS_TORCH_RECORDING, where, false);
  void *a = vs_torch_alloc(1000, 0, NULL);
  CHECK(asked == 1);
  vs_torch_free(a, 1000, 0, NULL);
  CHECK(asked == 1); /* not of frees */
  vs_torch_where_set(VS_TORCH_HISTORY, where, true);
  vs_torch_free(vs_torch_alloc(1000, 0, NULL), 1000, 0, NULL);
  vs_torch_reset();
  CHECK(asked == 4);
  vs_torch_where_set(VS_TORCH_HISTORY, NULL, false);
  CHECK(vs_torch_alloc(1000, 0, NULL) != NULL && asked == 5); /* the other one still asks */
  vs_torch_where_set(VS_TORCH_RECORDING, NULL, false);
  CHECK(vs_torch_alloc(1000, 0, NULL) != NULL && asked == 5);
  CHECK(vs_live_stack_set(vs_torch_live(), VS_STACK_NONE) == VS_STACK_NONE);
  CHECK(vs_live_snapshot_write(vs_torch_live(), VS_LIVE_JSON, true, (vs_writer){&found, find_here}, &error) ==
        VS_OK);
  CHECK(found > 0);
}

/* ---- pools: std::function<bool(cudaStream_t)>, by hand */

static int copies, calls;
static void *wanted_stream;

static bool manage(void **to, void *const *from, int operation) {
  CHECK(operation == FUNCTION_CLONE || operation == FUNCTION_DESTROY);
  copies += operation == FUNCTION_CLONE ? 1 : -1;
  if (operation == FUNCTION_CLONE) to[0] = from[0];
  return false;
}

static bool call(void *const *data, void **stream) {
  CHECK(data[0] == &wanted_stream); /* the copy's, which lives on when the caller's is gone */
  calls++;
  return *stream == *(void *const *)data[0];
}

static void serve_pools(void) {
  function filter = {.data = {&wanted_stream}, .manage = manage, .call = call};
  CUcontext context = NULL;
  CUstream stream = NULL;
  const vs_torch_pool pool = {3, 0};
  open_here();
  GOOD(cuDevicePrimaryCtxRetain, &context, 0);
  GOOD(cuCtxSetCurrent, context);
  GOOD(cuStreamCreate, &stream, 1);
  wanted_stream = stream;
  vs_torch_begin_allocate_to_pool(0, pool, &filter);
  CHECK(copies == 1);
  memset(&filter, 0, sizeof filter); /* it was a temporary */
  void *inside = vs_torch_alloc(1000, 0, stream), *outside = vs_torch_alloc(1000, 0, NULL);
  CHECK(calls >= 2 && inside != NULL && outside != NULL);
  CHECK(statistic(0, "reserved_bytes_by_private_pools.3_0.all.current") == 2 << 20);
  CHECK(statistic(0, "reserved_bytes.all.current") == 4 << 20);
  vs_torch_begin_allocate_to_pool(
      1, pool, &(function){.call = call}); /* an empty one, of the other card: accepts all */
  CHECK(vs_torch_alloc(1000, 1, NULL) != NULL);
  CHECK(statistic(1, "reserved_bytes_by_private_pools.3_0.all.current") == 2 << 20);
  vs_torch_end_allocate_to_pool(1, pool);
  vs_torch_end_allocate_to_pool(0, pool);
  CHECK(copies == 0 && routes == NULL);
  vs_torch_free(inside, 1000, 0, stream);
  vs_torch_release_pool(0, pool);
  vs_torch_release_pool(0, pool); /* once too often: where graphs die nothing is thrown */
  vs_torch_reset();
  CHECK(statistic(0, "reserved_bytes.all.current") == 2 << 20);
}

/* The driver's own pool needs no help in a capture. */
static void leave_pools_to_the_driver(void) {
  open_with("backend:cudaMallocAsync");
  vs_torch_begin_allocate_to_pool(0, (vs_torch_pool){3, 0}, &(function){.manage = manage, .call = call});
  void *memory = vs_torch_alloc(1000, 0, NULL);
  CHECK(memory != NULL && copies == 1 && calls == 0);
  vs_torch_free(memory, 1000, 0, NULL);
  vs_torch_end_allocate_to_pool(0, (vs_torch_pool){3, 0});
  CHECK(copies == 0 && routes == NULL);
  vs_torch_release_pool(0, (vs_torch_pool){3, 0});
}

/* ---- no way to throw: the process ends, with the reason */

static void run_out(void) {
  open_here();
  (void)vs_torch_alloc((size_t)1 << 40, 0, NULL);
}

static void end_what_has_not_begun(void) {
  open_here();
  vs_torch_end_allocate_to_pool(0, (vs_torch_pool){1, 1});
}

static void begin_twice(void) {
  open_here();
  vs_torch_begin_allocate_to_pool(0, (vs_torch_pool){1, 1}, &(function){.call = call});
  vs_torch_begin_allocate_to_pool(0, (vs_torch_pool){1, 1}, &(function){.call = call});
}

static void want_too_much(void) {
  open_here();
  vs_torch_memory_fraction(1.5, 0);
}

static void be_on_no_card(void) {
  open_here();
  (void)vs_torch_alloc(100, 7, NULL);
}

/* The first request opens the allocator if the program did not. Without PyTorch there is no exception to throw. */
static void open_by_the_first_request(void) {
  simulated_driver();
  (void)vs_torch_alloc(100, 0, NULL);
}

static void expect_end(void (*body)(void), const char *words) {
  apart result;
  run_apart(body, WITH(CARDS), &result);
  assert_true(WIFSIGNALED(result.status) && WTERMSIG(result.status) == SIGABRT);
  if (strncmp(result.errors, "vramscope: ", 11) != 0 || strstr(result.errors, words) == NULL)
    fail_msg("%s", result.errors);
}

/* ---- */

static void test_functions(void **state) {
  (void)state;
  expect_apart(be_closed, WITH(CARDS), "");
  expect_apart(allocate_and_free, WITH(CARDS), "");
  expect_apart(say_where, WITH(CARDS), "");
}

static void test_pools(void **state) {
  (void)state;
  expect_apart(serve_pools, WITH(CARDS), "");
  expect_apart(leave_pools_to_the_driver, WITH(CARDS), "");
}

static void test_ends(void **state) {
  (void)state;
  expect_end(run_out, "CUDA out of memory. Tried to allocate 1024.00 GiB. GPU 0");
  expect_end(end_what_has_not_begun, "no such pool has begun");
  expect_end(begin_twice, "a pool cannot begin");
  expect_end(want_too_much, "a fraction is a number from 0 to 1");
  expect_end(open_by_the_first_request, "is PyTorch imported?");
  expect_end(be_on_no_card, "100 bytes on device 7");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_functions), cmocka_unit_test(test_pools),
                                     cmocka_unit_test(test_ends)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
