/* Processes on one machine: what one takes the others do not have, and one that is killed anywhere, in the
 * middle of a change too, leaves accounts that the others make right. */
#include "device/sim/share.h"
#include "faces/simcuda/core/process.h"
#include "os/shared.h"
#include "os/sharedlock.h"
#include "support/random.h"
#include "unit/faces/simcuda/apart.h"
#include <signal.h>
#include <time.h>

#define MIB (UINT64_C(1) << 20)

static vs_shared memory;
static vs_sim_machine *the_machine;
static char variable[96]; /* VRAMSCOPE_SIM_NODE=... */

static int make_machine(void **state) {
  (void)state;
  vs_sim_gpu gpu;
  vs_error error;
  expect_ok(vs_shared_create(&memory, "vramscope", VS_SHARE_SIZE, &error));
  expect_ok(vs_sharedlock_init(memory.memory));
  expect_ok(vs_sim_gpu_parse(VS_STR("H100:16GiB"), &gpu, &error));
  the_machine = (vs_sim_machine *)(void *)((char *)memory.memory + VS_SHARE_MACHINE_OFFSET);
  expect_ok(vs_sim_machine_init(the_machine, &gpu, 1));
  (void)snprintf(variable, sizeof variable, "VRAMSCOPE_SIM_NODE=%s", memory.path);
  return 0;
}

static int drop_machine(void **state) {
  (void)state;
  vs_shared_close(&memory);
  return 0;
}

static uint64_t allocate(uint64_t size) {
  uint64_t address;
  vs_sim *sim = vs_simcuda_lock();
  CHECK(sim != NULL);
  CHECK(vs_sim_alloc(sim, 0, size, &address) == VS_SIM_OK);
  vs_simcuda_unlock();
  return address;
}

/* ---- one after the other, and beside each other */

/* Who only watches needs no lock. */
static uint64_t seen_used(void) {
  return __atomic_load_n(&the_machine->cards[0].used_bytes, __ATOMIC_RELAXED);
}

static int to_child[2], to_parent[2];

static void say(int fd) { CHECK(write(fd, "x", 1) == 1); }
static void wait_for_word(int fd) {
  char word;
  CHECK(read(fd, &word, 1) == 1);
}

static void hold_and_wait(void) {
  (void)allocate(4096 * MIB);
  say(to_parent[1]);
  wait_for_word(to_child[0]);
}

static pid_t start(void (*body)(void)) {
  (void)fflush(NULL);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child != 0) return child;
  clear_environment();
  (void)putenv(variable);
  body();
  exit(0);
}

static void see_what_is_left(void) {
  uint64_t free_bytes, total_bytes;
  CHECK(vs_simcuda_memory_info(0, &free_bytes, &total_bytes) == VS_SIM_OK);
  CHECK(total_bytes == 16384 * MIB);
  const uint64_t context = vs_simcuda_gpu(0)->context_bytes;
  CHECK(free_bytes == total_bytes - 4096 * MIB - 2 * context); /* its own, and the other's */
}

static void memory_is_shared(void **state) {
  (void)state;
  int status;
  assert_int_equal(pipe(to_child) | pipe(to_parent), 0);
  const pid_t other = start(hold_and_wait);
  wait_for_word(to_parent[0]);
  assert_int_equal(seen_used(), 4096 * MIB + the_machine->cards[0].context_bytes);
  expect_apart(see_what_is_left, WITH(variable), "");
  say(to_child[1]);
  assert_int_equal(waitpid(other, &status, 0), other);
  assert_int_equal(status, 0);
  assert_int_equal(seen_used(), 0);
  assert_true(vs_sim_machine_check(the_machine));
  assert_int_equal(the_machine->process_limit, 2);
}

static void take_all_of_it(void) { (void)allocate(12000 * MIB); }

/* A killed process holds no memory as soon as another process needs it; its parent need not have waited for it. */
static void the_killed_hold_nothing(void **state) {
  (void)state;
  int status;
  assert_int_equal(pipe(to_child) | pipe(to_parent), 0);
  const pid_t other = start(hold_and_wait);
  wait_for_word(to_parent[0]);
  assert_int_equal(kill(other, SIGKILL), 0);
  siginfo_t about; /* it is dead, and still a zombie, because its parent has not waited for it */
  assert_int_equal(waitid(P_PID, (id_t)other, &about, WEXITED | WNOWAIT), 0);
  assert_true(seen_used() >= 4096 * MIB);
  expect_apart(take_all_of_it, WITH(variable), "");
  assert_int_equal(waitpid(other, &status, 0), other);
  assert_int_equal(seen_used(), 0);
}

/* Twice: beside one that lives; the room is found when the allocation needs it. */
static void wait_then_take_all(void) {
  CHECK(vs_simcuda_use(0) == VS_SIM_OK);
  say(to_parent[1]);
  wait_for_word(to_child[0]);
  (void)allocate(12000 * MIB);
}

static void room_is_made_when_it_is_needed(void **state) {
  (void)state;
  int status;
  assert_int_equal(pipe(to_child) | pipe(to_parent), 0);
  const pid_t holder = start(hold_and_wait);
  wait_for_word(to_parent[0]);
  const pid_t taker = start(wait_then_take_all);
  wait_for_word(to_parent[0]);
  assert_int_equal(kill(holder, SIGKILL), 0);
  assert_int_equal(waitpid(holder, &status, 0), holder);
  say(to_child[1]);
  assert_int_equal(waitpid(taker, &status, 0), taker);
  assert_int_equal(status, 0);
  assert_true(the_machine->cards[0].refused_count <= 1); /* what then fits was not refused to the program */
}

/* ---- exec */

static void become_true(void) {
  (void)allocate(1024 * MIB);
  (void)execlp("true", "true", (char *)NULL);
  CHECK(false);
}

static void another_program_holds_nothing(void **state) {
  (void)state;
  expect_apart(become_true, WITH(variable), "");
  assert_true(seen_used() >= 1024 * MIB); /* no process was told */
  expect_apart(take_all_of_it, WITH(variable), "");
  assert_int_equal(seen_used(), 0);
}

/* The same process, pid and start and all, as another program: what it held before is not held twice. */
static void become_itself(void) {
  (void)allocate(12000 * MIB);
  (void)execl("/proc/self/exe", "test", "take all of it", (char *)NULL);
  CHECK(false);
}

static void the_same_process_may_begin_again(void **state) {
  (void)state;
  expect_apart(become_itself, WITH(variable), "");
  assert_int_equal(seen_used(), 0);
  assert_true(vs_sim_machine_check(the_machine));
}

/* ---- killed anywhere */

static uint64_t child_seed;

static void allocate_for_ever(void) {
  test_random random = {child_seed};
  uint64_t held[16] = {0};
  for (;;) {
    uint64_t *place = &held[random_below(&random, 16)];
    vs_sim *sim = vs_simcuda_lock();
    CHECK(sim != NULL);
    vs_sim_error error = VS_SIM_OK;
    if (*place != 0) {
      error = vs_sim_free(sim, *place, NULL);
      *place = 0;
    } else {
      error = vs_sim_alloc(sim, 0, 1 + random_below(&random, 64 * MIB), place);
      if (error == VS_SIM_OUT_OF_MEMORY) error = VS_SIM_OK; /* others may have it */
    }
    CHECK(error == VS_SIM_OK);
    vs_simcuda_unlock();
  }
}

/* Three processes work, one after the other is killed and replaced; between, the accounts are looked at. */
static void kills_leave_true_accounts(void **state) {
  (void)state;
  enum { WORKERS = 3, KILLS = 150 };
  test_random random = {1};
  pid_t workers[WORKERS] = {0};
  int status;
  for (int i = 0; i < KILLS; i++) {
    pid_t *worker = &workers[random_below(&random, WORKERS)];
    if (*worker != 0) {
      assert_int_equal(kill(*worker, SIGKILL), 0);
      assert_int_equal(waitpid(*worker, &status, 0), *worker);
      assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    child_seed = (uint64_t)i + 1;
    *worker = start(allocate_for_ever);
    const struct timespec pause = {0, (long)random_below(&random, 4000000)};
    (void)nanosleep(&pause, NULL);
  }
  for (int i = 0; i < WORKERS; i++) {
    if (workers[i] == 0) continue;
    (void)kill(workers[i], SIGKILL);
    (void)waitpid(workers[i], &status, 0);
  }
  expect_apart(take_all_of_it, WITH(variable), "");
  assert_true(vs_sim_machine_check(the_machine));
  assert_int_equal(seen_used(), 0);
}

/* The same at the worst moment: between the two halves of a change, with the lock held. */
static void die_half_way(void) {
  (void)allocate(100 * MIB);
  vs_sim_machine *mine = vs_simcuda_lock_machine();
  CHECK(mine != NULL);
  mine->processes[0].use[0].used_bytes += 1000 * MIB; /* the process first ... */
  (void)raise(SIGKILL);                               /* ... and the card never */
}

static void see_right_sums(void) {
  const vs_sim_machine *mine = vs_simcuda_lock_machine();
  CHECK(mine != NULL && vs_sim_machine_check(mine));
  vs_simcuda_unlock_machine();
}

static void a_change_half_made_is_mended(void **state) {
  (void)state;
  apart result;
  run_apart(die_half_way, WITH(variable), &result);
  assert_true(WIFSIGNALED(result.status));
  assert_false(vs_sim_machine_check(the_machine));
  expect_apart(see_right_sums, WITH(variable), "");
  assert_true(vs_sim_machine_check(the_machine));
  assert_int_equal(seen_used(), 0);
}

/* ---- the lock alone */

static void the_lock_passes_the_duty_on(void **state) {
  (void)state;
  int status;
  assert_true(vs_sharedlock_is_ours(memory.memory));
  for (int i = 0; i < 2; i++) { /* the second dies before it has mended anything */
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
      if (vs_sharedlock_take(memory.memory) == VS_SHAREDLOCK_BROKEN) _exit(3);
      (void)raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
  }
  assert_int_equal(vs_sharedlock_take(memory.memory), VS_SHAREDLOCK_LEFT);
  vs_sharedlock_mended(memory.memory);
  assert_int_equal(vs_sharedlock_take(memory.memory),
                   VS_SHAREDLOCK_BROKEN); /* not recursive, and no deadlock */
  vs_sharedlock_give(memory.memory);
  assert_int_equal(vs_sharedlock_take(memory.memory), VS_SHAREDLOCK_HELD);
  vs_sharedlock_give(memory.memory);
  static uint64_t zeros[VS_SHAREDLOCK_SIZE / 8];
  assert_false(vs_sharedlock_is_ours(zeros));
}

int main(int count, char **words) {
  if (count == 2 && strcmp(words[1], "take all of it") == 0) {
    take_all_of_it();
    return 0;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(memory_is_shared, make_machine, drop_machine),
      cmocka_unit_test_setup_teardown(the_killed_hold_nothing, make_machine, drop_machine),
      cmocka_unit_test_setup_teardown(room_is_made_when_it_is_needed, make_machine, drop_machine),
      cmocka_unit_test_setup_teardown(another_program_holds_nothing, make_machine, drop_machine),
      cmocka_unit_test_setup_teardown(the_same_process_may_begin_again, make_machine, drop_machine),
      cmocka_unit_test_setup_teardown(kills_leave_true_accounts, make_machine, drop_machine),
      cmocka_unit_test_setup_teardown(a_change_half_made_is_mended, make_machine, drop_machine),
      cmocka_unit_test_setup_teardown(the_lock_passes_the_duty_on, make_machine, drop_machine),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
