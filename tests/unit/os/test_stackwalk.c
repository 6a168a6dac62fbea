/* Walks against the C library's backtrace() on the same stack: every address, for functions that leave
 * their frames in all the ways that compilers have. */
#include "base/check.h"
#include "base/hash.h"
#include "os/stackwalk.h"
#include "os/thread.h"
#include "support/test.h"

#include <alloca.h>
#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NOINLINE __attribute__((noinline))

enum { MOST = 512 };

static _Thread_local volatile unsigned sink;
static _Atomic uint32_t walks, longest, recalled;

/* ---- the two, side by side */

static void expect_equal(const vs_stackwalk_frame *frames, uint32_t got, bool is_cut, void *const *wanted,
                         uint32_t wanted_count) {
  const uint32_t count = is_cut ? VS_STACKWALK_MOST : wanted_count;
  assert_int_equal(got, count);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < count; i++) {
    assert_int_equal(frames[i].address, (uint64_t)(uintptr_t)wanted[count - 1 - i]);
    sum = sum * VS_STACKWALK_BASE + vs_hash_u64(frames[i].address);
    assert_int_equal(frames[i].sum, sum);
    if (i != 0) assert_true(frames[i].sp < frames[i - 1].sp);
  }
  walks++;
  if (count > longest) longest = count;
}

/* backtrace() begins with itself, if a sanitizer stands before it, and with this function; a walk leaves
 * both out. */
static uint32_t own_addresses(void *const *addresses, uint64_t caller) {
  uint32_t own = 0;
  while (own < 2 && (uint64_t)(uintptr_t)addresses[own] != caller) own++;
  return own;
}

static NOINLINE void compare(void) {
  static _Thread_local vs_stackwalk_frame frames[VS_STACKWALK_MOST];
  void *addresses[MOST];
  const int count = backtrace(addresses, MOST);
  vs_stackwalk_result result;
  const uint64_t known = vs_stackwalk_recall(vs_stackwalk_here());
  assert_true(vs_stackwalk_begin(vs_stackwalk_here(), &result));
  const uint32_t got = result.count;
  const bool is_cut = result.is_cut;
  const uint64_t note = result.frames[got - 1].sum ^ got; /* the walk in one number */
  assert_true(known == 0 || known == note);
  recalled += known != 0;
  assert_true(*result.note == 0 || *result.note == note);
  *result.note = note;
  memcpy(frames, result.frames, got * sizeof *frames);
  vs_stackwalk_end(); /* an assertion that fails comes back no more */
  assert_true(got > 0 && count > 2);
  const uint32_t own = own_addresses(addresses, frames[got - 1].address);
  expect_equal(frames, got, is_cut, addresses + own, (uint32_t)count - own);
}

/* ---- functions of all kinds, which call each other by a script: one letter a call */

static NOINLINE void run(const char *script);

static NOINLINE void plain(const char *script) {
  run(script);
  sink++;
}

/* Registers saved, and the frame pointer among them where it is an ordinary one. */
static NOINLINE void busy(const char *script) {
  unsigned a = sink, b = sink + 1, c = sink + 2, d = sink + 3, e = sink + 4, f = sink + 5;
  run(script);
  sink += a * b + c * d + e * f;
}

/* A frame of no fixed size: only the frame pointer knows the way out. */
static NOINLINE void variable(const char *script) {
  const size_t size = 16 + (sink & 255);
  char *memory = alloca(size);
  memset(memory, 1, size);
  run(script);
  sink += (unsigned)memory[size / 2];
}

/* A frame on a rounder address than the stack has, and of no fixed size on top of it. */
static NOINLINE void aligned(const char *script) {
  _Alignas(64) char memory[256];
  char *more = alloca(16 + (sink & 63));
  memset(memory, 2, sizeof memory);
  *more = 3;
  run(script);
  sink += (unsigned)memory[sink & 255] + (unsigned)*more;
}

static NOINLINE void wide(const char *script) {
  char memory[40000];
  memset(memory, 4, sizeof memory);
  run(script);
  sink += (unsigned)memory[sink & 255];
}

static int order(const void *a, const void *b) {
  const char *left = *(const char *const *)a, *right = *(const char *const *)b;
  run(left == NULL ? right : left);
  return 0;
}

/* Through code of the C library. */
static NOINLINE void foreign(const char *script) {
  const char *items[2] = {script, NULL};
  qsort(items, 2, sizeof *items, order);
  sink++;
}

static NOINLINE void run(const char *script) {
  switch (*script) {
    case 'p': plain(script + 1); break;
    case 'b': busy(script + 1); break;
    case 'v': variable(script + 1); break;
    case 'a': aligned(script + 1); break;
    case 'w': wide(script + 1); break;
    case 'f': foreign(script + 1); break;
    case 'x': /* look, and go on */
      compare();
      run(script + 1);
      break;
    case 0: compare(); break;
    default: fail();
  }
  sink++;
}

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* Neighbours share most of their outer frames, as in a program: each script changes the one before from
 * some place on. */
static void run_random(uint64_t seed, unsigned count) {
  char script[64] = "";
  uint64_t state = seed;
  for (unsigned i = 0; i < count; i++) {
    const size_t from = next_random(&state) % (strlen(script) + 1);
    const size_t length = from + next_random(&state) % (40 - vs_min_u64(from, 39));
    for (size_t k = from; k < length; k++) script[k] = "ppbbvaxwf"[next_random(&state) % 9];
    script[length] = 0;
    run(script);
  }
}

/* ---- tests */

static void test_every_kind_of_function(void **state) {
  (void)state;
  need_native_stacks(vs_stackwalk_is_supported());
  const char *scripts[] = {"",  "p",   "b",   "v",   "a",       "w",
                           "f", "pvp", "vav", "aba", "favbpwx", "bbbbbbbbbbbbbbbb"};
  for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
    run(scripts[i]);
    run(scripts[i]); /* the second time along the first */
  }
}

static void test_random_neighbours(void **state) {
  (void)state;
  need_native_stacks(vs_stackwalk_is_supported());
  run_random(1, 2000);
  assert_true(walks > 2000 && longest > 40);
}

/* A loop that comes to the same functions in another order each time: stacks of one depth, which differ in the middle. */
static void test_walks_are_recalled(void **state) {
  (void)state;
  need_native_stacks(vs_stackwalk_is_supported());
  enum { ROUNDS = 3000 };
  static const char *const scripts[] = {"pbwfb", "bpwfb", "wpbfb", "pbwbf", "bbwff",
                                        "wfpbb", "ffpbw", "pbwb",  "pbw",   "pvab"};
  uint64_t random = 5;
  const uint32_t before = recalled, walks_before = walks;
  for (unsigned i = 0; i < ROUNDS; i++)
    run(scripts[next_random(&random) % (sizeof scripts / sizeof *scripts)]);
  assert_in_range(recalled - before, (walks - walks_before) / 2, walks - walks_before);
  vs_stackwalk_forget(); /* other rules may give other walks */
  const uint32_t forgotten = recalled;
  for (unsigned i = 0; i < sizeof scripts / sizeof *scripts; i++) run(scripts[i]);
  assert_int_equal(recalled, forgotten);
}

static NOINLINE unsigned recurse(unsigned depth) {
  if (depth == 0) compare();
  else sink += recurse(depth - 1);
  return sink;
}

static void test_deep_recursion(void **state) {
  (void)state;
  need_native_stacks(vs_stackwalk_is_supported());
  for (unsigned depth = 200; depth < 300; depth += 7) (void)recurse(depth);
  for (unsigned depth = 300; depth > 100; depth -= 9) (void)recurse(depth);
}

static void run_thread(void *ctx) { run_random(*(uint64_t *)ctx, 500); }

static void test_threads(void **state) {
  (void)state;
  need_native_stacks(vs_stackwalk_is_supported());
  enum { THREADS = 6 };
  vs_thread threads[THREADS];
  uint64_t seeds[THREADS];
  for (unsigned i = 0; i < THREADS; i++) {
    seeds[i] = 77 + i;
    expect_ok(vs_thread_start(&threads[i], "walker", run_thread, &seeds[i]));
  }
  for (unsigned i = 0; i < THREADS; i++) vs_thread_join(&threads[i]);
}

/* The first thing that a thread does. */
static void look_once(void *ctx) {
  (void)ctx;
  compare();
}

static void test_top_of_a_thread(void **state) {
  (void)state;
  need_native_stacks(vs_stackwalk_is_supported());
  vs_thread thread;
  expect_ok(vs_thread_start(&thread, "walker", look_once, NULL));
  vs_thread_join(&thread);
}

/* ---- code that was made at run time: no table knows it */

#if defined(__x86_64__)
static const uint8_t with_frame_pointer[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
static const uint8_t without[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x08, 0xc3};

static uint64_t seen[VS_STACKWALK_MOST];
static uint32_t seen_count;

static NOINLINE void look_through(void) {
  vs_stackwalk_result result;
  assert_true(vs_stackwalk_begin(vs_stackwalk_here(), &result));
  seen_count = result.count;
  for (uint32_t i = 0; i < result.count; i++) seen[i] = result.frames[result.count - 1 - i].address;
  vs_stackwalk_end();
}

/* How many addresses outside of the made code a walk finds that begins below it. */
static NOINLINE uint32_t frames_outside(const uint8_t *code, size_t size) {
  uint8_t *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) skip();
  memcpy(made, code, size);
  void (*call)(void (*function)(void));
  memcpy(&call, &made, sizeof call);
  vs_stackwalk_forget();
  call(look_through);
  const uint64_t address = (uint64_t)(uintptr_t)made;
  assert_true(seen[0] > address && seen[0] < address + size);
  assert_int_equal(munmap(made, 4096), 0);
  return seen_count - 1;
}

static void test_made_code_is_left_by_its_frame_pointer(void **state) {
  (void)state;
  look_through();
  const uint32_t here = seen_count; /* frames_outside is one deeper than look_through's caller */
  const uint64_t outermost = seen[here - 1];
  assert_int_equal(frames_outside(with_frame_pointer, sizeof with_frame_pointer), here + 1);
  assert_int_equal(seen[seen_count - 1], outermost);
  (void)frames_outside(without, sizeof without); /* ends somewhere */
  vs_stackwalk_forget();
}
#else
static void test_made_code_is_left_by_its_frame_pointer(void **state) {
  (void)state;
  skip();
}
#endif

/* ---- what a walk may not do */

static bool nested_answer;

static void walk_in_handler(int number) {
  (void)number;
  vs_stackwalk_result result;
  nested_answer = vs_stackwalk_begin(vs_stackwalk_here(), &result);
  if (nested_answer) vs_stackwalk_end();
}

static void test_a_signal_within_a_walk_gets_none(void **state) {
  (void)state;
  need_native_stacks(vs_stackwalk_is_supported());
  (void)signal(SIGUSR1, walk_in_handler);
  vs_stackwalk_result result;
  nested_answer = true;
  assert_true(vs_stackwalk_begin(vs_stackwalk_here(), &result));
  (void)raise(SIGUSR1);
  assert_false(nested_answer);
  vs_stackwalk_end();
  (void)raise(SIGUSR1);
  assert_true(nested_answer);
  (void)signal(SIGUSR1, SIG_DFL);
}

static uint32_t strange_count;

static void walk_elsewhere(int number) {
  (void)number;
  vs_stackwalk_result result;
  if (!vs_stackwalk_begin(vs_stackwalk_here(), &result)) return;
  strange_count = result.count;
  vs_stackwalk_end();
}

static void test_another_stack_is_one_address(void **state) {
  (void)state;
  need_native_stacks(vs_stackwalk_is_supported());
  static _Alignas(16) char memory[65536];
  const stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
  stack_t before;
  assert_int_equal(sigaltstack(&stack, &before), 0);
  struct sigaction action = {.sa_handler = walk_elsewhere, .sa_flags = SA_ONSTACK};
  assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
  (void)raise(SIGUSR1);
  assert_int_equal(strange_count, 1);
  assert_int_equal(sigaltstack(&before, NULL), 0);
  (void)signal(SIGUSR1, SIG_DFL);
  run("pvax"); /* and the next one is right */
}

/* Equal walks keep what their caller noted, others begin with nothing. */
static NOINLINE uint64_t exchange_note(uint64_t value) {
  vs_stackwalk_result result;
  assert_true(vs_stackwalk_begin(vs_stackwalk_here(), &result));
  const uint64_t before = *result.note;
  *result.note = value;
  vs_stackwalk_end();
  return before;
}

static NOINLINE uint64_t exchange_deeper(uint64_t value) {
  const uint64_t got = exchange_note(value);
  sink++;
  return got;
}

/* Calls it again and again from one place; what came back last, and whether it was always what went in
 * before. */
static NOINLINE bool exchange_often(uint64_t (*exchange)(uint64_t value), uint64_t first) {
  bool is_kept = true;
  for (volatile unsigned i = 0; i < 5; i++)
    is_kept = (exchange(first + i) == (i == 0 ? 0 : first + i - 1)) && is_kept;
  return is_kept;
}

static void test_the_note_lives_as_long_as_walks_are_equal(void **state) {
  (void)state;
  need_native_stacks(vs_stackwalk_is_supported());
  assert_true(exchange_often(exchange_note, 1));
  assert_true(exchange_often(exchange_deeper, 10)); /* begins with 0 again */
  assert_true(exchange_often(exchange_note, 20));
  vs_stackwalk_forget();
  run("pvafx");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_kind_of_function),
      cmocka_unit_test(test_random_neighbours),
      cmocka_unit_test(test_walks_are_recalled),
      cmocka_unit_test(test_deep_recursion),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_top_of_a_thread),
      cmocka_unit_test(test_made_code_is_left_by_its_frame_pointer),
      cmocka_unit_test(test_a_signal_within_a_walk_gets_none),
      cmocka_unit_test(test_another_stack_is_one_address),
      cmocka_unit_test(test_the_note_lives_as_long_as_walks_are_equal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
