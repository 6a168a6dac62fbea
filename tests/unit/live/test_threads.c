/* Many threads in one object: what they did adds up, and what each measures is its own. */
#include "live/state.h"
#include "os/thread.h"
#include "support/random.h"
#include "support/test.h"
#include <unistd.h>

enum { THREADS = 8, STEPS = 3000, SLOTS = 32 };

typedef struct worker {
  vs_thread thread;
  vs_live *live;
  uint32_t number;
  uint64_t allocations, failures;
  int64_t bytes; /* of its blocks, rounded */
} worker;

/* cmocka's own assertions are for the main thread. */
static void must(bool condition) {
  if (!condition) __builtin_trap();
}

static uint64_t rounded(uint64_t size) { return (size + 511) / 512 * 512; }

/* Below 1 MiB and so never left larger than rounded; each thread has its own stream on one of two cards. */
static void work(void *ctx) {
  worker *w = ctx;
  const uint32_t card = w->number % 2;
  uint64_t addresses[SLOTS] = {0}, sizes[SLOTS] = {0}, stream, other;
  test_random random = {w->number};
  vs_scope *scope;
  vs_scope_figures figures;
  vs_stack stack;
  char name[32];
  vs_format(name, sizeof name, "thread %u", w->number);
  const vs_live_frame frame = {.function = name, .file = "test.c", .line = w->number};
  must(vs_live_stream_create(w->live, card, &stream) == VS_OK);
  must(vs_live_stream_create(w->live, card, &other) == VS_OK);
  must(vs_live_stack(w->live, &frame, 1, &stack) == VS_OK);
  must(vs_live_stack_set(w->live, stack) == VS_STACK_NONE);
  must(vs_live_metadata_set(w->live, name) == VS_OK);
  must(vs_live_scope_begin(w->live, card, &scope) == VS_OK);
  for (int i = 0; i < STEPS; i++) {
    const uint64_t slot = random_below(&random, SLOTS);
    if (addresses[slot] == 0) {
      sizes[slot] = 1 + random_below(&random, 100000);
      must(vs_live_malloc(w->live, card, sizes[slot], stream, &addresses[slot]) == VS_OK);
      w->bytes += (int64_t)rounded(sizes[slot]);
      w->allocations++;
    } else {
      if (i % 5 == 0) must(vs_live_record_stream(w->live, card, addresses[slot], other) == VS_OK);
      must(vs_live_free(w->live, card, addresses[slot]) == VS_OK);
      w->bytes -= (int64_t)rounded(sizes[slot]);
      addresses[slot] = 0;
    }
    if (i % 100 == 0) must(vs_live_annotation_begin(w->live, card, name) == VS_OK);
    if (i % 500 == 0) must(vs_live_empty_cache(w->live) == VS_OK);
    if (i % 700 == 0) {
      uint64_t huge;
      must(vs_live_malloc(w->live, card, UINT64_C(1) << 40, stream, &huge) == VS_DEVICE_MEMORY);
      w->failures++;
    }
    if (i % 50 == 0) {
      vs_live_scope_read(scope, &figures);
      must(figures.thread_used == w->bytes);
    }
  }
  vs_live_scope_end(scope, &figures);
  must(figures.thread_used == w->bytes && figures.thread_peak >= w->bytes);
  must(figures.allocations >= w->allocations);
  for (int i = 0; i < SLOTS; i++) must(vs_live_free(w->live, card, addresses[i]) == VS_OK);
}

static _Atomic uint64_t told;

static void hear(void *ctx, const vs_live_oom *oom) {
  vs_live *live = ctx;
  uint64_t address = 0, free_bytes, total_bytes;
  must(oom->requested == UINT64_C(1) << 40);
  must(vs_live_memory_info(live, oom->device, &free_bytes, &total_bytes) == VS_OK);
  must(vs_live_malloc(live, oom->device, 1 << 20, 0, &address) == VS_OK); /* no lock is held */
  must(vs_live_free(live, oom->device, address) == VS_OK);
  must(vs_live_malloc(live, oom->device, UINT64_C(1) << 40, 0, &address) ==
       VS_DEVICE_MEMORY); /* no observer */
  told++;
}

static vs_status discard(void *ctx, const void *data, size_t size) {
  (void)data;
  *(uint64_t *)ctx += size;
  return VS_OK;
}

static void expect_statistic(vs_live *live, uint32_t card, const char *key, int64_t wanted) {
  int64_t value;
  expect_ok(vs_live_statistic(live, card, key, &value));
  assert_int_equal(value, wanted);
}

/* Recording comes and goes, from the middle of things each time. */
static void switch_recording(vs_live *live, int i, const char *path) {
  vs_error error;
  if (i % 6 == 1) expect_ok(vs_live_recording_start(live, path, true, VS_HISTORY_STACKS_GIVEN, &error));
  if (i % 6 == 4) expect_ok(vs_live_recording_stop(live, &error));
}

/* Everything at once, while the main thread looks, switches history and recording, and measures. */
static void at_once(void **state) {
  (void)state;
  vs_live *live;
  vs_error error;
  worker workers[THREADS];
  uint32_t id;
  expect_ok(vs_live_open(&(vs_live_options){.gpus = "2x2GiB", .settings = "release_lock_on_cudamalloc:True"},
                         &live, &error));
  expect_ok(vs_live_observe_oom(live, VS_LIVE_ON_OOM, hear, live, &id));
  const vs_history_options keep = {
      .enabled = VS_HISTORY_EVENTS, .context = VS_HISTORY_CONTEXT_ALL, .max_entries = 1000};
  expect_ok(vs_live_history(live, &keep, &error));
  for (uint32_t i = 0; i < THREADS; i++) {
    workers[i] = (worker){.live = live, .number = i};
    expect_ok(vs_thread_start(&workers[i].thread, "worker", work, &workers[i]));
  }
  uint64_t bytes = 0;
  char path[64];
  vs_format(path, sizeof path, "/tmp/vramscope-test-%U-threads.vram", (uint64_t)getpid());
  for (int i = 0; i < 20; i++) {
    vs_history_options options = keep;
    vs_scope *scope;
    vs_live_memory memory;
    options.max_entries = 100 + 50 * (uint64_t)i;
    switch_recording(live, i, path);
    expect_ok(vs_live_history(live, &options, &error));
    expect_ok(vs_live_scope_begin(live, (uint32_t)i % 2, &scope));
    expect_ok(vs_live_snapshot_write(live, VS_LIVE_PICKLE, true, (vs_writer){&bytes, discard}, &error));
    expect_ok(vs_live_memory_of(live, 0, &memory));
    expect_ok(vs_live_summary_write(live, 1, false, (vs_writer){&bytes, discard}));
    vs_live_scope_end(scope, NULL);
  }
  uint64_t allocations[2] = {0}, failures[2] = {0};
  for (uint32_t i = 0; i < THREADS; i++) {
    vs_thread_join(&workers[i].thread);
    allocations[i % 2] += workers[i].allocations;
    failures[i % 2] += workers[i].failures;
  }
  assert_int_equal(told, failures[0] + failures[1]);
  for (uint32_t card = 0; card < 2; card++) {
    expect_statistic(live, card, "allocation.all.allocated", (int64_t)(allocations[card] + failures[card]));
    expect_statistic(live, card, "allocated_bytes.all.current", 0);
    expect_statistic(live, card, "num_ooms", (int64_t)(2 * failures[card]));
  }
  assert_null(vs_live_check(live));
  vs_live_unobserve_oom(live, id);
  expect_ok(vs_live_close(live, &error));
  unlink(path);
}

/* ---- the lock by itself */

typedef struct counted {
  vs_live_lock lock;
  uint64_t count; /* guarded by lock */
  bool is_taken;  /* likewise: a thread is inside */
} counted;

static void count(void *ctx) {
  counted *c = ctx;
  for (int i = 0; i < 20000; i++) {
    vs_live_lock_take(&c->lock);
    must(!c->is_taken);
    c->is_taken = true;
    c->count++;
    if (i % 100 == 0) vs_thread_yield(); /* held for long: the others go to sleep */
    c->is_taken = false;
    vs_live_lock_give(&c->lock);
  }
}

static void one_at_a_time(void **state) {
  (void)state;
  counted c = {.count = 0};
  vs_thread threads[THREADS];
  for (int i = 0; i < THREADS; i++) expect_ok(vs_thread_start(&threads[i], "counter", count, &c));
  for (int i = 0; i < THREADS; i++) vs_thread_join(&threads[i]);
  assert_int_equal(c.count, THREADS * 20000);
  assert_int_equal(c.lock.state, 0);
}

/* ---- what a thread set is gone with the object, not with the slot */

static void slots_are_used_again(void **state) {
  (void)state;
  vs_live *lives[VS_LIVE_MAX_OPEN], *one_more;
  vs_error error;
  vs_stack stack;
  const vs_live_frame frame = {.function = "f", .file = "f.c", .line = 1};
  for (int i = 0; i < VS_LIVE_MAX_OPEN; i++)
    expect_ok(vs_live_open(&(vs_live_options){.gpus = "1GiB"}, &lives[i], &error));
  expect_status(vs_live_open(&(vs_live_options){.gpus = "1GiB"}, &one_more, &error), VS_LIMIT);
  assert_null(one_more);
  expect_ok(vs_live_stack(lives[3], &frame, 1, &stack));
  assert_int_equal(vs_live_stack_set(lives[3], stack), VS_STACK_NONE);
  assert_int_equal(vs_live_stack_set(lives[4], 7), VS_STACK_NONE);
  expect_ok(vs_live_close(lives[3], &error));
  expect_ok(vs_live_open(&(vs_live_options){.gpus = "1GiB"}, &lives[3], &error));
  uint64_t address;
  vs_alloc_block_info block;
  const vs_history_options keep = {.enabled = VS_HISTORY_EVENTS, .context = VS_HISTORY_CONTEXT_ALL};
  expect_ok(vs_live_history(lives[3], &keep, &error));
  expect_ok(vs_live_malloc(lives[3], 0, 1000, 0, &address));
  assert_true(vs_alloc_find(lives[3]->devices[0]->alloc, address, &block));
  assert_int_equal(block.context, VS_STACK_NONE);
  assert_int_equal(vs_live_stack_set(lives[3], VS_STACK_NONE), VS_STACK_NONE);
  assert_int_equal(vs_live_stack_set(lives[4], VS_STACK_NONE), 7);
  for (int i = 0; i < VS_LIVE_MAX_OPEN; i++) expect_ok(vs_live_close(lives[i], &error));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_at_a_time),
      cmocka_unit_test(at_once),
      cmocka_unit_test(slots_are_used_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
