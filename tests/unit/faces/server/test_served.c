/* Turns at a file's engine. The file belongs to the program, not to the library, so it is compiled into this
 * test. */
#include "faces/server/served.c"
#include "os/clock.h"
#include "os/thread.h"
#include "support/test.h"

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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_at_a_time), cmocka_unit_test(test_first_come)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
