/* Turns at a file's engine. The file belongs to the program, not to the library, so it is compiled into this
 * test. */
#include "faces/server/served.c"
#include "os/clock.h"
#include "os/thread.h"
#include "query/engine.h"
#include "support/test.h"
#include "unit/query/sample.h"

enum { THREADS = 8, TIMES = 50 };

static vs_served file;
static _Atomic size_t inside;  /* how many have the engine */
static _Atomic bool is_broken; /* two processes had it, or one before the file existed */
static size_t order[THREADS], order_count;

static void take_turns(void *ctx) {
  (void)ctx;
  for (size_t i = 0; i < TIMES; i++) {
    vs_served_take(&file);
    if (atomic_fetch_add(&inside, 1) != 0 || file.state == VS_SERVED_READING) atomic_store(&is_broken, true);
    vs_clock_sleep_ns(1);
    (void)atomic_fetch_sub(&inside, 1);
    vs_served_give(&file);
  }
}

/* A file that cannot be read has no engine, but turns all the same. */
static void test_one_at_a_time(void **state) {
  (void)state;
  vs_served_init(&file);
  const vs_error error = {.status = VS_BAD_FORMAT, .offset = 7};
  vs_thread threads[THREADS];
  for (size_t i = 0; i < THREADS; i++)
    assert_int_equal(vs_thread_start(&threads[i], "turn", take_turns, NULL), VS_OK);
  assert_false(vs_served_is_idle(&file));
  vs_served_loaded(&file, NULL, &error);
  for (size_t i = 0; i < THREADS; i++) vs_thread_join(&threads[i]);
  assert_true(vs_served_is_idle(&file));
  assert_false(atomic_load(&is_broken));
  assert_int_equal(file.drawn, 1 + THREADS * TIMES);
  vs_served_view view;
  vs_served_look(&file, &view);
  assert_int_equal(view.state, VS_SERVED_FAILED);
  assert_int_equal(view.error.offset, 7);
  vs_served_deinit(&file);
}

static void note_order(void *ctx) {
  const size_t *number = ctx;
  vs_served_take(&file);
  if (file.state == VS_SERVED_READING) atomic_store(&is_broken, true);
  order[order_count++] = *number;
  vs_served_give(&file);
}

/* Who waits for the file is called in the order of asking. */
static void test_first_come(void **state) {
  (void)state;
  vs_served_init(&file);
  vs_engine *engine;
  assert_int_equal(vs_engine_create(NULL, &engine), VS_OK);
  vs_thread threads[THREADS];
  size_t numbers[THREADS];
  order_count = 0;
  for (size_t i = 0; i < THREADS; i++) {
    numbers[i] = i;
    assert_int_equal(vs_thread_start(&threads[i], "turn", note_order, &numbers[i]), VS_OK);
    for (bool has_drawn = false; !has_drawn; vs_clock_sleep_ns(100000)) {
      (void)pthread_mutex_lock(&file.lock);
      has_drawn = file.drawn == i + 2;
      (void)pthread_mutex_unlock(&file.lock);
    }
  }
  vs_served_loaded(&file, engine, NULL);
  for (size_t i = 0; i < THREADS; i++) vs_thread_join(&threads[i]);
  for (size_t i = 0; i < THREADS; i++) assert_int_equal(order[i], i);
  assert_false(atomic_load(&is_broken));
  vs_served_view view;
  vs_served_look(&file, &view);
  assert_int_equal(view.state, VS_SERVED_READY);
  vs_served_deinit(&file);
}

/* The engine is given back, requests that fail or come too late change nothing, and a file that was not read has no tables. */
static void test_prepared(void **state) {
  (void)state;
  static const char *const requests[] = {
      "{\"method\":\"nothing\"}",
      "{\"method\":\"picture\",\"params\":{\"by\":\"line\",\"columns\":1,\"rows\":1}}"};
  const vs_error error = {.status = VS_BAD_FORMAT, .offset = VS_NO_OFFSET};
  _Atomic bool is_ending = true;
  vs_engine *engine;
  vs_served_init(&file);
  assert_int_equal(vs_engine_create(NULL, &engine), VS_OK);
  assert_int_equal(sample_load(engine, sample_json, NULL), VS_OK);
  const vs_device_cache *device = vs_default_device(&engine->devices);
  vs_served_loaded(&file, engine, NULL);
  vs_served_prepare(&file, requests, 2, &is_ending);
  assert_false(device->has_moment_index);
  atomic_store(&is_ending, false);
  vs_served_prepare(&file, requests, 2, &is_ending);
  assert_true(device->has_moment_index && device->has_curve_indexes);
  assert_true(device->unfiltered[VS_DRAWN_allocations].has_curve_index);
  assert_true(device->colours[VS_DRAWN_allocations].is_built[device->colours[VS_DRAWN_allocations].latest]);
  assert_true(vs_served_is_idle(&file));
  vs_served_deinit(&file);
  vs_served_init(&file);
  vs_served_loaded(&file, NULL, &error);
  vs_served_prepare(&file, requests, 2, &is_ending);
  assert_true(vs_served_is_idle(&file));
  vs_served_deinit(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_at_a_time), cmocka_unit_test(test_first_come),
                                     cmocka_unit_test(test_prepared)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
