/* Threads, locks, wakeups, exit hooks; and the modules that their code lies in. */
#include "base/check.h"
#include "os/clock.h"
#include "os/loader.h"
#include "os/modules.h"
#include "os/process.h"
#include "os/thread.h"
#include "support/test.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 20000 };

typedef struct counter {
  vs_lock lock;
  uint64_t count;
} counter;

static void count_up(void *ctx) {
  counter *c = ctx;
  for (unsigned i = 0; i < ROUNDS; i++) {
    vs_lock_take(&c->lock);
    c->count++;
    vs_lock_give(&c->lock);
  }
}

static void test_a_lock_has_one_holder(void **state) {
  (void)state;
  counter c = {0};
  vs_thread threads[THREADS];
  for (unsigned i = 0; i < THREADS; i++) expect_ok(vs_thread_start(&threads[i], "counter", count_up, &c));
  for (unsigned i = 0; i < THREADS; i++) vs_thread_join(&threads[i]);
  assert_int_equal(c.count, THREADS * ROUNDS);
  vs_thread_join(&threads[0]); /* fine */
}

/* Held by a thread that a fork leaves behind. */
static vs_lock held;
static vs_wakeup is_held, is_over;
static void hold(void *ctx) {
  (void)ctx;
  vs_lock_take(&held);
  vs_wakeup_send(&is_held);
  vs_wakeup_wait(&is_over, UINT64_C(10000000000));
  vs_lock_give(&held);
}

static void test_a_lock_is_tried(void **state) {
  (void)state;
  vs_lock lock = {0};
  assert_true(vs_lock_try(&lock));
  assert_false(vs_lock_try(&lock));
  vs_lock_give(&lock);
  assert_true(vs_lock_try(&lock));
  vs_lock_give(&lock);
}

static void test_a_lock_is_free_in_a_child(void **state) {
  (void)state;
  vs_fork_watch();
  const uint32_t generation = vs_fork_generation();
  vs_thread thread;
  expect_ok(vs_thread_start(&thread, "holder", hold, NULL));
  vs_wakeup_wait(&is_held, UINT64_C(10000000000));
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    (void)alarm(20);
    vs_lock_take(&held);
    vs_lock_give(&held);
    _exit(vs_fork_generation() == generation + 1 ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  vs_wakeup_send(&is_over);
  vs_thread_join(&thread);
  vs_lock_take(&held);
  vs_lock_give(&held);
  assert_int_equal(vs_fork_generation(), generation);
}

/* Two threads hand a number back and forth; neither may sleep for ever, and a sign that was given before is
 * not lost. */
typedef struct game {
  vs_wakeup there, back;
  uint64_t number;
} game;

static void play(void *ctx) {
  game *g = ctx;
  for (unsigned i = 0; i < ROUNDS / 10; i++) {
    vs_wakeup_wait(&g->there, UINT64_C(60000000000));
    g->number++;
    vs_wakeup_send(&g->back);
  }
}

static void test_signs(void **state) {
  (void)state;
  game g = {0};
  vs_thread thread;
  expect_ok(vs_thread_start(&thread, "player", play, &g));
  for (unsigned i = 0; i < ROUNDS / 10; i++) {
    assert_int_equal(g.number, i);
    vs_wakeup_send(&g.there);
    vs_wakeup_wait(&g.back, UINT64_C(60000000000));
  }
  vs_thread_join(&thread);
  assert_int_equal(g.number, ROUNDS / 10);
  const uint64_t before = vs_clock_ns();
  vs_wakeup_wait(&g.back, 2000000); /* no thread sends it: the time-out ends the wait */
  assert_true(vs_clock_ns() - before >= 2000000);
}

/* ---- exit hooks, and names of threads */

static unsigned left;
static void leave(void *value) { left += *(unsigned *)value; }

typedef struct leaver {
  vs_thread_exit_hook hook;
  unsigned value;
  uint64_t id;
  char name[VS_THREAD_NAME];
  bool is_masked;
} leaver;

static void run_leaver(void *ctx) {
  leaver *l = ctx;
  vs_thread_exit_hook_set(&l->hook, &l->value);
  l->id = vs_thread_id();
  vs_thread_name(l->name);
  sigset_t mask;
  l->is_masked = pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0 && sigismember(&mask, SIGTERM) == 1;
}

static void test_exit_hooks_and_names(void **state) {
  (void)state;
  leaver l = {.value = 5};
  vs_thread thread;
  expect_ok(vs_thread_exit_hook_make(&l.hook, leave));
  expect_ok(vs_thread_start(&thread, "a name that is cut somewhere", run_leaver, &l));
  vs_thread_join(&thread);
  assert_int_equal(left, 5);
  assert_int_not_equal(l.id, vs_thread_id());
  assert_string_equal(l.name, "a name that is ");
  assert_true(l.is_masked);
  vs_thread_exit_hook_free(&l.hook);
  expect_ok(vs_thread_start(&thread, "late", run_leaver, &l)); /* the hook was freed */
  vs_thread_join(&thread);
  assert_int_equal(left, 5);
}

/* ---- modules */

typedef struct search {
  uint64_t address;
  unsigned found, with_id;
  char path[256];
} search;

static vs_status look(void *ctx, const vs_module *module) {
  search *s = ctx;
  assert_true(module->start < module->end && module->base <= module->start);
  if (s->address < module->start || s->address >= module->end) return VS_OK;
  s->found++;
  s->with_id += module->build_id_size >= 8;
  vs_format(s->path, sizeof s->path, "%s", module->path);
  return VS_OK;
}

static vs_status refuse(void *ctx, const vs_module *module) {
  (void)module;
  ++*(unsigned *)ctx;
  return VS_CANCELLED;
}

static void test_modules(void **state) {
  (void)state;
  search own = {.address = (uint64_t)(uintptr_t)&test_modules},
         libc = {.address = (uint64_t)(uintptr_t)&getpid};
  expect_ok(vs_modules_visit(look, &own));
  assert_int_equal(own.found, 1);
  char program[sizeof own.path];
  vs_process_program(program, sizeof program);
  assert_string_equal(own.path, program);
  expect_ok(vs_modules_visit(look, &libc));
  assert_true(libc.found == 1 && libc.with_id == 1);
  assert_non_null(strstr(libc.path, "libc"));
  unsigned calls = 0;
  expect_status(vs_modules_visit(refuse, &calls), VS_CANCELLED);
  assert_int_equal(calls, 1);
  assert_int_equal(vs_modules_version(), vs_modules_version());
}

/* A thread that is nearly always within a visit. Children that are made meanwhile visit, too, which takes the loader's lock. */
static _Atomic bool is_enough;

static int look_for_long(struct dl_phdr_info *info, size_t size, void *ctx) {
  (void)info;
  (void)size;
  (void)ctx;
  vs_clock_sleep_ns(2000000);
  return 1;
}

static void visit_again_and_again(void *ctx) {
  while (!is_enough) (void)vs_loader_visit(look_for_long, ctx);
}

static void test_modules_in_a_child(void **state) {
  (void)state;
  vs_thread thread;
  expect_ok(vs_thread_start(&thread, "visitor", visit_again_and_again, NULL));
  vs_clock_sleep_ns(10000000);
  for (int i = 0; i < 20; i++) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      (void)alarm(20);
      unsigned calls = 0;
      _exit(vs_modules_visit(refuse, &calls) == VS_CANCELLED && calls == 1 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  is_enough = true;
  vs_thread_join(&thread);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_lock_has_one_holder),     cmocka_unit_test(test_a_lock_is_tried),
      cmocka_unit_test(test_a_lock_is_free_in_a_child), cmocka_unit_test(test_signs),
      cmocka_unit_test(test_exit_hooks_and_names),      cmocka_unit_test(test_modules),
      cmocka_unit_test(test_modules_in_a_child),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
