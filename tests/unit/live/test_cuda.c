/* Cards of the CUDA driver: the same requests to simulated cards of our own and to the driver's, which here is our simulated
 * one, get the same addresses, statistics and events. And what only the driver's cards have. */
#include "live/state.h"
#include "support/random.h"
#include "unit/device/cuda/driver.h"

#define CARDS "2x2GiB"
enum { SLOTS = 48, STREAMS = 3 };

static int64_t tick(void *ctx) { return ++*(int64_t *)ctx; }

typedef struct twin {
  vs_live *live;
  int64_t clock;
  uint64_t streams[2][STREAMS];
} twin;

static void open_twin(twin *t, const char *gpus, const char *settings) {
  vs_error error = {.text = ""};
  const vs_live_options options = {
      .gpus = gpus, .settings = settings, .done_at_sync = true, .time = tick, .time_ctx = &t->clock};
  *t = (twin){.clock = 0};
  if (vs_live_open(&options, &t->live, &error) != VS_OK) fprintf(stderr, "%s\n", error.text);
  CHECK(t->live != NULL && vs_live_device_count(t->live) == 2);
  if (settings != NULL && strstr(settings, "cudaMallocAsync") != NULL) return;
  CHECK(vs_live_history(t->live,
                        &(vs_history_options){.enabled = VS_HISTORY_EVENTS, .max_entries = UINT64_MAX},
                        &error) == VS_OK);
}

/* The driver's streams are not ours: the program makes them, in the context that all share. */
static void make_streams(twin *simulated, twin *real) {
  for (uint32_t d = 0; d < 2; d++)
    for (uint32_t s = 1; s < STREAMS; s++) {
      CUcontext context = NULL, popped = NULL;
      CUstream stream = NULL;
      CHECK(vs_live_stream_create(simulated->live, d, &simulated->streams[d][s]) == VS_OK);
      GOOD(cuDevicePrimaryCtxRetain, &context, (CUdevice)d);
      GOOD(cuCtxPushCurrent_v2, context);
      GOOD(cuStreamCreate, &stream, 1);
      GOOD(cuCtxPopCurrent_v2, &popped);
      real->streams[d][s] = (uint64_t)(uintptr_t)stream;
    }
  CHECK(vs_live_stream_create(real->live, 0, &real->streams[0][0]) == VS_UNSUPPORTED);
}

typedef struct step {
  uint64_t what, device, slot, size, stream;
} step;

/* One request to one of them; what it answered. */
static vs_status take_step(twin *t, const step *s, uint64_t *addresses, uint64_t *answer) {
  const uint32_t device = (uint32_t)s->device;
  const uint64_t stream = t->streams[s->device][s->stream];
  uint64_t *slot = &addresses[s->device * SLOTS + s->slot], old = *slot;
  *answer = 0;
  if (s->what >= 97) return vs_live_empty_cache(t->live);
  if (s->what >= 90) return vs_live_synchronize(t->live, device, stream);
  if (old == 0) {
    const vs_status status = vs_live_malloc(t->live, device, s->size, stream, slot);
    *answer = *slot;
    return status;
  }
  if (s->what % 4 == 0) return vs_live_record_stream(t->live, device, old, stream);
  *slot = 0;
  return vs_live_free(t->live, device, old);
}

static vs_status append(void *ctx, const void *data, size_t size) {
  vs_text *to = ctx;
  vs_text_put(to, data, size);
  return to->status;
}

static vs_status append_figure(void *ctx, vs_str key, int64_t value) {
  vs_text_format(ctx, "%S=%D\n", key, value);
  return VS_OK;
}

/* Everything that it says of itself. */
static void describe(twin *t, bool has_history, vs_text *to) {
  vs_error error;
  vs_text_init(to, vs_host_default(), NULL);
  for (uint32_t d = 0; d < 2; d++) {
    uint64_t free_bytes = 0, total = 0;
    CHECK(vs_live_statistics(t->live, d, append_figure, to) == VS_OK);
    CHECK(vs_live_memory_info(t->live, d, &free_bytes, &total) == VS_OK);
    vs_text_format(to, "free %U of %U\n", free_bytes, total);
  }
  if (has_history)
    CHECK(vs_live_snapshot_write(t->live, VS_LIVE_JSON, true, (vs_writer){to, append}, &error) == VS_OK);
  CHECK(to->status == VS_OK);
}

/* Streams have other handles: their numbers are made the same. */
static void same_streams(vs_text *of, const twin *t) {
  static const char digits[] = "0123456789";
  for (uint32_t d = 0; d < 2; d++)
    for (uint32_t s = 1; s < STREAMS; s++) {
      char number[32], name[32];
      vs_format(number, sizeof number, "\"stream\":%U", t->streams[d][s]);
      vs_format(name, sizeof name, "\"stream\":@%u.%u", d, s);
      vs_text next;
      vs_text_init(&next, vs_host_default(), NULL);
      const size_t size = strlen(number);
      for (size_t i = 0; i < of->bytes.count;) {
        const bool is_it = of->bytes.count - i > size && memcmp(of->bytes.data + i, number, size) == 0 &&
                           strchr(digits, of->bytes.data[i + size]) == NULL;
        if (is_it) vs_text_cstr(&next, name);
        else vs_text_put(&next, of->bytes.data + i, 1);
        i += is_it ? size : 1;
      }
      vs_text_deinit(of);
      *of = next;
    }
}

static void compare(twin *a, twin *b, bool has_history) {
  vs_text of_a, of_b;
  describe(a, has_history, &of_a);
  describe(b, has_history, &of_b);
  same_streams(&of_a, a);
  same_streams(&of_b, b);
  const size_t least = of_a.bytes.count < of_b.bytes.count ? of_a.bytes.count : of_b.bytes.count;
  for (size_t i = 0; i < least; i++)
    if (of_a.bytes.data[i] != of_b.bytes.data[i]) {
      const size_t from = i < 100 ? 0 : i - 100, size = least - from < 160 ? least - from : 160;
      fprintf(stderr, "%.*s\n-----\n%.*s\n", (int)size, of_a.bytes.data + from, (int)size,
              of_b.bytes.data + from);
      CHECK(false);
    }
  CHECK(of_a.bytes.count == of_b.bytes.count && least > 1000);
  vs_text_deinit(&of_a);
  vs_text_deinit(&of_b);
}

static const char *settings_now;

static void do_the_same(void) {
  static const uint64_t most[] = {4096, 1 << 20, 16 << 20, 300 << 20};
  uint64_t a[2 * SLOTS] = {0}, b[2 * SLOTS] = {0}, failures = 0;
  test_random random = {11};
  twin simulated, real;
  vs_error error;
  const bool has_history = strstr(settings_now, "cudaMallocAsync") == NULL;
  simulated_driver();
  open_twin(&simulated, CARDS, settings_now);
  open_twin(&real, "cuda", settings_now);
  make_streams(&simulated, &real);
  const uint64_t steps = test_repetitions(4000, 2000);
  for (uint64_t i = 0; i < steps; i++) {
    const step s = {.what = random_below(&random, 100),
                    .device = random_below(&random, 2),
                    .slot = random_below(&random, SLOTS),
                    .size = random_below(&random, most[random_below(&random, 4)]),
                    .stream = random_below(&random, STREAMS)};
    uint64_t got_a, got_b;
    const vs_status status_a = take_step(&simulated, &s, a, &got_a);
    const vs_status status_b = take_step(&real, &s, b, &got_b);
    if (status_a != status_b || got_a != got_b)
      fprintf(stderr, "step %d: %s %llx, %s %llx\n", (int)i, vs_status_name(status_a),
              (unsigned long long)got_a, vs_status_name(status_b), (unsigned long long)got_b);
    CHECK(status_a == status_b && got_a == got_b);
    failures += status_a == VS_DEVICE_MEMORY;
  }
  CHECK(failures > steps / 200);
  compare(&simulated, &real, has_history);
  CHECK(vs_live_close(simulated.live, &error) == VS_OK && vs_live_close(real.live, &error) == VS_OK);
}

static void test_twins(void **state) {
  static const char *const settings[] = {
      "expandable_segments:False", "expandable_segments:True",
      "garbage_collection_threshold:0.6,max_split_size_mb:40,per_process_memory_fraction:0.9",
      "backend:cudaMallocAsync"};
  (void)state;
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    settings_now = settings[i];
    expect_apart(do_the_same, WITH("VRAMSCOPE_SIM_GPU=" CARDS, "VRAMSCOPE_SIM_EVENTS=at-sync"), "");
  }
}

/* ---- which cards */

static void is_refused(const char *gpus, vs_status wanted, uint64_t offset, const char *words) {
  vs_live *live = NULL;
  vs_error error = {.text = ""};
  const vs_status status = vs_live_open(&(vs_live_options){.gpus = gpus}, &live, &error);
  if (status != wanted || error.offset != offset || strstr(error.text, words) == NULL)
    fprintf(stderr, "%s: %s at %llu: %s\n", gpus, vs_status_name(status), (unsigned long long)error.offset,
            error.text);
  CHECK(status == wanted && live == NULL && error.offset == offset && strstr(error.text, words) != NULL);
}

static void choose_cards(void) {
  vs_live *live = NULL;
  vs_error error;
  vs_live_device_info info;
  uint64_t address = 0, base = 0, size = 0;
  simulated_driver();
  is_refused("cuda:", VS_BAD_ARGUMENT, 5, "not the number");
  is_refused("cuda:0,", VS_BAD_ARGUMENT, 7, "not the number");
  is_refused("cuda:1,0,1", VS_BAD_ARGUMENT, 9, "twice");
  is_refused("cuda:0,3", VS_BAD_ARGUMENT, 7, "has 3");
  is_refused("cuda:x", VS_BAD_ARGUMENT, 5, "\"x\"");
  is_refused("cudaX", VS_BAD_ARGUMENT, 0, "unknown GPU 'cudaX'");
  CHECK(vs_live_open(&(vs_live_options){.gpus = "cuda:2,0"}, &live, &error) == VS_OK);
  CHECK(vs_live_device_count(live) == 2);
  CHECK(vs_live_device_of(live, 0, &info) == VS_OK && !info.is_simulated);
  CHECK(strcmp(info.name, "NVIDIA L4 (simulated)") == 0);
  CHECK(vs_live_device_of(live, 1, &info) == VS_OK && info.total_bytes == UINT64_C(2) << 30);
  CHECK(vs_live_malloc(live, 0, 100, 0, &address) == VS_OK);
  CHECK(vs_live_base(live, 1, address, &base, &size) == VS_NOT_FOUND);
  CHECK(vs_live_base(live, 0, address, &base, &size) == VS_OK && base == address && size == 2 << 20);
  CHECK(vs_live_base(live, 2, address, &base, &size) == VS_BAD_ARGUMENT);
  CHECK(vs_live_close(live, &error) == VS_OK);
}

static void find_no_driver(void) {
  CHECK(setenv("VRAMSCOPE_CUDA", "no/such/driver", 1) == 0);
  is_refused("cuda", VS_NOT_FOUND, VS_NO_OFFSET, "no/such/driver");
  CHECK(setenv("VRAMSCOPE_GPU", "cuda", 1) == 0);
  is_refused(NULL, VS_NOT_FOUND, VS_NO_OFFSET, "VRAMSCOPE_GPU: ");
}

static void find_no_card(void) {
  simulated_driver();
  is_refused("cuda", VS_BAD_ARGUMENT, VS_NO_OFFSET, "no GPU");
  is_refused("cuda:0", VS_BAD_ARGUMENT, 5, "has 0");
}

/* A card stays when the object goes: what it had is given back. */
static void give_all_back(void) {
  vs_live *live = NULL;
  vs_error error;
  uint64_t address, before, after, total, none_before, none_after;
  vs_live_room room;
  simulated_driver();
  CHECK(vs_live_open(&(vs_live_options){.gpus = "cuda"}, &live, &error) == VS_OK);
  CHECK(vs_live_memory_info(live, 0, &before, &total) == VS_OK);
  CHECK(vs_live_malloc(live, 0, 30 << 20, 0, &address) == VS_OK);
  CHECK(vs_live_malloc(live, 0, 1000, 0, &address) == VS_OK);
  CHECK(vs_live_free(live, 0, address) == VS_OK);
  CHECK(vs_live_room_of(live, 0, &room) == VS_OK);
  CHECK(room.total == total && room.free == before - (32 << 20) && room.reserved == 32 << 20);
  CHECK(room.allocated == 30 << 20 && room.cached == 2 << 20 && room.waiting == 0);
  CHECK(vs_live_memory_info_no_cache(live, 0, &none_before, &total) == VS_OK);
  CHECK(none_before == before - (30 << 20));
  CHECK(vs_live_malloc(live, 1, 50 << 20, 0, &address) == VS_OK); /* the other card's cache stays */
  CHECK(vs_live_free(live, 1, address) == VS_OK);
  CHECK(vs_live_memory_info_no_cache(live, 0, &none_after, &total) == VS_OK && none_after == none_before);
  CHECK(vs_live_room_of(live, 1, &room) == VS_OK && room.cached == 50 << 20);
  CHECK(vs_live_memory_info_no_cache(live, 9, &none_after, &total) == VS_BAD_ARGUMENT);
  CHECK(vs_live_room_of(live, 9, &room) == VS_BAD_ARGUMENT);
  CHECK(vs_live_close(live, &error) == VS_OK);
  CHECK(vs_live_open(&(vs_live_options){.gpus = "cuda"}, &live, &error) == VS_OK);
  CHECK(vs_live_memory_info(live, 0, &after, &total) == VS_OK && after == before);
  CHECK(vs_live_close(live, &error) == VS_OK);
}

static void test_cards(void **state) {
  (void)state;
  expect_apart(choose_cards, WITH("VRAMSCOPE_SIM_GPU=2GiB,H100,L4"), "");
  expect_apart(find_no_driver, WITH_NOTHING, "");
  expect_apart(find_no_card, WITH("CUDA_VISIBLE_DEVICES="), "");
  expect_apart(give_all_back, WITH("VRAMSCOPE_SIM_GPU=2x2GiB"), "");
}

/* ---- a captured graph's pool */

static bool is_stream(void *ctx, uint64_t stream) { return stream == *(uint64_t *)ctx; }

static uint32_t times_asked;

static uint64_t current_of(void *ctx, uint32_t device) {
  CHECK(device == 0);
  times_asked++;
  return *(uint64_t *)ctx;
}

/* Memory that a capture's other stream used waits for the capture's end, and only the pool's own captures use its
 * memory. */
static void serve_a_capture(void) {
  vs_live *live = NULL;
  vs_error error;
  CUcontext context = NULL;
  CUstream captured = NULL, other = NULL;
  CUgraph graph = NULL;
  uint64_t in_pool = 0, again = 0, outside = 0, stream = 0, current = 0;
  int64_t value;
  const vs_live_pool pool = {7, 0};
  simulated_driver();
  const vs_live_options options = {
      .gpus = "cuda", .current_stream = current_of, .current_stream_ctx = &current};
  CHECK(vs_live_open(&options, &live, &error) == VS_OK);
  GOOD(cuDevicePrimaryCtxRetain, &context, 0);
  GOOD(cuCtxSetCurrent, context);
  GOOD(cuStreamCreate, &captured, 1);
  GOOD(cuStreamCreate, &other, 1);
  stream = current = (uint64_t)(uintptr_t)captured;
  CHECK(vs_live_pool_begin(live, 0, (vs_live_pool){0, 0}, NULL, NULL) == VS_BAD_ARGUMENT);
  CHECK(vs_live_pool_begin(live, 0, pool, is_stream, &stream) == VS_OK);
  CHECK(vs_live_pool_begin(live, 0, pool, is_stream, &stream) == VS_BAD_ARGUMENT);
  CHECK(vs_live_capture_begin(live, 0) == VS_OK);
  GOOD(cuStreamBeginCapture_v2, captured, CU_STREAM_CAPTURE_MODE_GLOBAL);
  CHECK(vs_live_malloc(live, 0, 3 << 20, stream, &in_pool) ==
        VS_OK); /* takes a segment in the middle of it */
  CHECK(vs_live_malloc(live, 0, 3 << 20, 0, &outside) == VS_OK);
  CHECK(vs_live_statistic(live, 0, "reserved_bytes_by_private_pools.7_0.all.current", &value) == VS_OK);
  CHECK(value == 20 << 20);
  CHECK(vs_live_record_stream(live, 0, in_pool, (uint64_t)(uintptr_t)other) == VS_OK);
  CHECK(vs_live_free(live, 0, in_pool) == VS_OK && times_asked >= 2);
  CHECK(vs_live_malloc(live, 0, 3 << 20, stream, &again) == VS_OK && again != in_pool);
  CHECK(vs_live_free(live, 0, again) == VS_OK);
  GOOD(cuStreamEndCapture, captured, &graph);
  CHECK(vs_live_capture_end(live, 0) == VS_OK);
  CHECK(vs_live_pool_end(live, 0, pool) == VS_OK);
  CHECK(vs_live_pool_end(live, 0, pool) == VS_NOT_FOUND);
  CHECK(vs_live_malloc(live, 0, 3 << 20, stream, &again) == VS_OK); /* the default pool: another segment */
  CHECK(again < in_pool || again >= in_pool + (20 << 20));
  CHECK(vs_live_free(live, 0, again) == VS_OK);
  CHECK(vs_live_empty_cache(live) == VS_OK);
  CHECK(vs_live_statistic(live, 0, "reserved_bytes_by_private_pools.7_0.all.current", &value) == VS_OK);
  CHECK(value == 20 << 20); /* it has a user */
  CHECK(vs_live_pool_release(live, 0, pool) == VS_OK && vs_live_pool_release(live, 0, pool) == VS_NOT_FOUND);
  CHECK(vs_live_empty_cache(live) == VS_OK);
  CHECK(vs_live_statistic(live, 0, "reserved_bytes.all.current", &value) == VS_OK && value == 20 << 20);
  CHECK(vs_live_pool_begin(live, 3, pool, NULL, NULL) == VS_BAD_ARGUMENT);
  CHECK(vs_live_pool_end(live, 3, pool) == VS_BAD_ARGUMENT &&
        vs_live_capture_begin(live, 3) == VS_BAD_ARGUMENT);
  CHECK(vs_live_close(live, &error) == VS_OK);
}

static void pools_are_not_for_async(void) {
  vs_live *live = NULL;
  vs_error error;
  uint64_t address = 0, base = 0, size = 1;
  vs_live_room room;
  simulated_driver();
  CHECK(vs_live_open(&(vs_live_options){.gpus = "cuda", .settings = "backend:cudaMallocAsync"}, &live,
                     &error) == VS_OK);
  CHECK(vs_live_pool_begin(live, 0, (vs_live_pool){1, 0}, NULL, NULL) == VS_UNSUPPORTED);
  CHECK(vs_live_malloc(live, 0, 3 << 20, 0, &address) == VS_OK);
  CHECK(vs_live_base(live, 0, address, &base, &size) == VS_OK && base == address && size == 0);
  CHECK(vs_live_room_of(live, 0, &room) == VS_OK && room.allocated == 3 << 20 &&
        room.reserved >= room.allocated);
  CHECK(vs_live_free(live, 0, address) == VS_OK);
  CHECK(vs_live_close(live, &error) == VS_OK);
}

static void test_pools(void **state) {
  (void)state;
  expect_apart(serve_a_capture, WITH("VRAMSCOPE_SIM_GPU=2GiB"), "");
  expect_apart(pools_are_not_for_async, WITH("VRAMSCOPE_SIM_GPU=2GiB"), "");
}

/* ---- without the host's memory */

static vs_status open_use_close(const vs_host *host, void *ctx) {
  vs_live *live = NULL;
  vs_error error = {.text = ""};
  (void)ctx;
  const vs_status opened = vs_live_open(&(vs_live_options){.host = host, .gpus = "cuda"}, &live, &error);
  if (opened != VS_OK) {
    CHECK(live == NULL && error.text[0] != 0);
    return opened;
  }
  uint64_t address = 0;
  vs_status status = vs_live_malloc(live, 0, 1 << 20, 0, &address);
  if (status == VS_OK) status = vs_live_pool_begin(live, 0, (vs_live_pool){1, 2}, NULL, NULL);
  if (status == VS_OK) status = vs_live_malloc(live, 0, 1 << 20, 0, &address);
  if (status == VS_OK) status = vs_live_pool_end(live, 0, (vs_live_pool){1, 2});
  if (status == VS_OK) status = vs_live_pool_release(live, 0, (vs_live_pool){1, 2});
  const vs_status closed = vs_live_close(live, &error);
  return status != VS_OK ? status : closed;
}

static void have_no_memory(void) {
  simulated_driver();
  CHECK(fault_prove(open_use_close, NULL) > 10);
}

static void test_memory(void **state) {
  (void)state;
  expect_apart(have_no_memory, WITH("VRAMSCOPE_SIM_GPU=2x2GiB"), "");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_twins), cmocka_unit_test(test_cards),
                                     cmocka_unit_test(test_pools), cmocka_unit_test(test_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
