/* An object's whole life with each request for host memory failing once: an error, nothing lost, and it goes on. */
#include "live/snapshot.h"
#include "support/test.h"

enum { SLOTS = 16 };

static vs_status discard(void *ctx, const void *data, size_t size) {
  (void)ctx;
  (void)data;
  (void)size;
  return VS_OK;
}

/* An allocation that fails for want of host memory has changed nothing; so has everything else. */
static vs_status expect_whole(vs_live *live, vs_status status) {
  assert_null(vs_live_check(live));
  return status;
}

static vs_status keep(vs_live *live, uint64_t entries) {
  const vs_history_options options = {
      .enabled = VS_HISTORY_EVENTS, .context = VS_HISTORY_CONTEXT_ALL, .max_entries = entries};
  vs_error error;
  return vs_live_history(live, &options, &error);
}

static vs_status allocate(vs_live *live, uint64_t *addresses, const uint64_t *streams) {
  for (uint64_t i = 0; i < SLOTS; i++)
    VS_TRY(vs_live_malloc(live, (uint32_t)(i % 2), (i + 1) * 700 * 1024, i % 3 == 0 ? streams[i % 2] : 0,
                          &addresses[i]));
  for (uint64_t i = 0; i < SLOTS; i += 2) {
    VS_TRY(vs_live_record_stream(live, (uint32_t)(i % 2), addresses[i], streams[i % 2]));
    VS_TRY(vs_live_free(live, (uint32_t)(i % 2), addresses[i]));
  }
  return vs_live_empty_cache(live);
}

static vs_status measure(vs_live *live, vs_scope **scope) {
  uint64_t address;
  VS_TRY(vs_live_scope_begin(live, 0, scope));
  VS_TRY(vs_live_malloc(live, 0, 100, 0, &address));
  return vs_live_free(live, 0, address);
}

static vs_status show(vs_live *live) {
  const vs_writer to = {.write = discard};
  vs_error error;
  int64_t value;
  VS_TRY(vs_live_snapshot_write(live, VS_LIVE_PICKLE, true, to, &error));
  VS_TRY(vs_live_snapshot_write(live, VS_LIVE_JSON, false, to, &error));
  VS_TRY(vs_live_summary_write(live, 0, false, to));
  VS_TRY(vs_live_settings_write(live, to));
  VS_TRY(vs_live_statistic(live, 1, "reserved_bytes.all.peak", &value));
  VS_TRY(vs_live_oom_write(live, to));
  return vs_live_settings_apply(live, "expandable_segments:True", &error);
}

static vs_status use(vs_live *live, vs_scope **scope) {
  uint64_t streams[2], addresses[SLOTS] = {0};
  VS_TRY(vs_live_stream_create(live, 0, &streams[0]));
  VS_TRY(vs_live_stream_create(live, 1, &streams[1]));
  VS_TRY(keep(live, 20));
  VS_TRY(vs_live_annotation_begin(live, 0, "part"));
  VS_TRY(allocate(live, addresses, streams));
  VS_TRY(keep(live, 7));
  VS_TRY(measure(live, scope));
  const vs_status full = vs_live_malloc(live, 0, UINT64_C(4) << 30, 0, &addresses[0]);
  if (full != VS_DEVICE_MEMORY) return full;
  return show(live);
}

static vs_status live_and_die(const vs_host *host, void *ctx) {
  vs_live *live = NULL;
  vs_scope *scope = NULL;
  vs_error error = {.status = VS_OK};
  const vs_live_options options = {.host = host, .gpus = "2x1GiB", .settings = ctx};
  const vs_status opened = vs_live_open(&options, &live, &error);
  if (opened != VS_OK) {
    assert_null(live);
    assert_true(error.text[0] != 0);
    return opened;
  }
  const vs_status status = expect_whole(live, use(live, &scope));
  vs_live_scope_end(scope, NULL);
  expect_ok(vs_live_close(live, &error));
  return status;
}

/* The other back end has less. */
static vs_status use_async(vs_live *live) {
  uint64_t stream, address;
  int64_t value;
  VS_TRY(vs_live_stream_create(live, 0, &stream));
  for (int i = 0; i < SLOTS; i++) {
    VS_TRY(vs_live_malloc(live, 0, 3 << 20, 0, &address));
    VS_TRY(vs_live_record_stream(live, 0, address, stream));
    VS_TRY(vs_live_free(live, 0, address));
  }
  VS_TRY(vs_live_empty_cache(live));
  VS_TRY(vs_live_summary_write(live, 0, true, (vs_writer){.write = discard}));
  return vs_live_statistic(live, 0, "reserved_bytes.all.peak", &value);
}

static vs_status live_async(const vs_host *host) {
  vs_live *live = NULL;
  vs_error error = {.status = VS_OK};
  const vs_live_options options = {.host = host, .gpus = "1GiB", .settings = "backend:cudaMallocAsync"};
  VS_TRY(vs_live_open(&options, &live, &error));
  const vs_status status = use_async(live);
  expect_ok(vs_live_close(live, &error));
  return status;
}

/* Not fault_prove: some failures are got over. History counts what it could not keep, a block whose event could not be
 * made stays pending until the next try. And the simulated card has one word for its own memory and the host's. */
static void prove(const char *settings) {
  for (uint64_t fail_at = 0;; fail_at++) {
    fault_host fault;
    fault_host_init(&fault, fail_at);
    const vs_status status =
        settings == NULL ? live_async(&fault.host) : live_and_die(&fault.host, (void *)(uintptr_t)settings);
    fault_host_expect_empty(&fault);
    if (fault.requests <= fail_at) {
      expect_ok(status);
      assert_true(fail_at > 20);
      return;
    }
    if (status != VS_OK && status != VS_DEVICE_MEMORY) expect_status(status, VS_NO_MEMORY);
  }
}

static void a_life(void **state) {
  (void)state;
  prove("");
  prove("expandable_segments:True");
  prove(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_life)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
