/* Programs that record at full speed and are killed at any instant: what they had flushed is in the file,
 * in order and without gaps, and every sealed frame can be read. VRAMSCOPE_KILLS says how often; 50 if it
 * does not. */
#include "os/folder.h"
#include "os/shared.h"
#include "os/thread.h"
#include "read_back.h"
#include "record/record.h"
#include "support/random.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 2, FLUSH_EACH = 700 };

static vs_folder folder;
static char path[VS_FOLDER_PATH + 32];

/* What the program tells while it lives. */
typedef struct progress {
  _Atomic uint64_t recorded, flushed;
} progress;

typedef struct program {
  vs_recorder *recorder;
  vs_record_stacks *stacks;
  progress *shared;
  vs_lock lock;
  uint64_t next;
} program;

static _Thread_local volatile unsigned sink;

/* Stacks of many shapes, so that dictionaries are in the way of the kill, too. */
static __attribute__((noinline)) vs_context capture(vs_record_stacks *stacks, uint64_t bits) {
  vs_context context;
  if (bits <= 1) context = vs_record_capture(stacks);
  else if (bits % 2 == 0) context = capture(stacks, bits / 2);
  else context = capture(stacks, bits / 2 - (bits / 2 > 1 ? 1 : 0));
  sink++;
  return context;
}

static void record_next(program *p, vs_context context) {
  vs_lock_take(&p->lock);
  const uint64_t i = p->next++;
  const vs_event event = {.address = UINT64_C(0x7f0000000000) + i % 4096 * 2097152,
                          .size = i + 1,
                          .rounded = (i / 512 + 1) * 512,
                          .stream = i % 3,
                          .context = context,
                          .kind = i % 2 == 0 ? VS_EVENT_ALLOC : VS_EVENT_SEGMENT_ALLOC};
  vs_record_event(p->recorder, &event, &(vs_record_facts){.time_ns = i * 1000});
  vs_lock_give(&p->lock);
}

/* All numbers below its own were taken before: what this thread has flushed, the others have, too. */
static void flush(program *p) {
  vs_lock_take(&p->lock);
  const uint64_t recorded = p->next;
  vs_lock_give(&p->lock);
  record_next(p, VS_CONTEXT_NONE);
  vs_record_flush(p->recorder);
  uint64_t before = p->shared->flushed;
  while (before < recorded && !atomic_compare_exchange_weak(&p->shared->flushed, &before, recorded)) {
  }
}

static void run_thread(void *ctx) {
  program *p = ctx;
  test_random random = {vs_thread_id()};
  for (uint64_t i = 1;; i++) {
    record_next(p, i % 3 == 0 ? capture(p->stacks, random_below(&random, 1 << 10)) : VS_CONTEXT_NONE);
    if (i % FLUSH_EACH == 0) flush(p);
  }
}

static void run_program(progress *shared, uint64_t max_bytes) {
  program p = {.shared = shared};
  if (vs_record_stacks_create(NULL, &p.stacks) != VS_OK) _exit(1);
  const vs_record_options options = {
      .path = path, .may_replace = true, .wait = true, .stacks = p.stacks, .max_bytes = max_bytes};
  if (vs_record_open(vs_host_default(), &options, &p.recorder, NULL) != VS_OK) _exit(1);
  vs_thread thread;
  for (unsigned i = 1; i < THREADS; i++)
    if (vs_thread_start(&thread, "worker", run_thread, &p) != VS_OK) _exit(1);
  run_thread(&p);
}

static void sleep_us(uint64_t us) {
  const struct timespec time = {.tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000};
  (void)nanosleep(&time, NULL);
}

/* What the file has are events `first` up to the last one it got, without a gap. Returns how many there were. */
static uint64_t expect_all_from(const back *b, uint64_t first) {
  assert_true(b->report.open_frames <= 1);
  assert_int_equal(b->lost, 0);
  for (size_t k = 0; k < b->events.count; k++) {
    const vs_trace_event *event = &b->events.data[k];
    const uint64_t i = first + k;
    assert_int_equal(event->size, i + 1);
    assert_int_equal(event->address, UINT64_C(0x7f0000000000) + i % 4096 * 2097152);
    assert_int_equal(event->time_us - b->events.data[0].time_us, k);
    if (event->stack != VS_TRACE_NONE) assert_true(b->stacks[event->stack].count > 0);
  }
  return first + b->events.count;
}

/* A file has the beginning of what was recorded, a ring file its end. */
static uint64_t expect_no_gap(bool is_ring) {
  back *b = back_read(path);
  assert_true(b->events.count != 0);
  const uint64_t count = expect_all_from(b, is_ring ? b->events.data[0].size - 1 : 0);
  assert_true(b->report.damages <= is_ring); /* its oldest frame may be half cleared for the newest one */
  if (!is_ring) assert_int_equal(b->report.lost_entries, 0);
  back_free(b);
  return count;
}

static void kill_often(unsigned kills, uint64_t max_bytes) {
  vs_shared memory;
  vs_error error;
  expect_ok(vs_shared_create(&memory, "vramscope", sizeof(progress), &error));
  progress *shared = memory.memory;
  test_random random = {2026};
  uint64_t events = 0, unflushed = 0;
  for (unsigned i = 0; i < kills; i++) {
    shared->flushed = 0;
    (void)unlink(path);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) run_program(shared, max_bytes);
    while (shared->flushed == 0) sleep_us(200); /* it has begun */
    sleep_us(random_below(&random, max_bytes == 0 ? 40000 : 200000));
    assert_int_equal(kill(child, SIGKILL), 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    const uint64_t flushed = shared->flushed, count = expect_no_gap(max_bytes != 0);
    assert_true(count >= flushed);
    events += count;
    unflushed += count - flushed;
  }
  print_message("%u kills, %llu events recorded, %llu of them after the last flush\n", kills,
                (unsigned long long)events, (unsigned long long)unflushed);
  vs_shared_close(&memory);
}

static unsigned wanted_kills(unsigned usual) {
  const char *wanted = getenv("VRAMSCOPE_KILLS");
  return wanted == NULL ? usual : (unsigned)strtoul(wanted, NULL, 10);
}

static void test_killed_at_any_instant(void **state) {
  (void)state;
  kill_often(wanted_kills(50), 0);
}

static void test_a_ring_file_killed(void **state) {
  (void)state;
  kill_often(wanted_kills(5), 1 << 20);
}

static int make_folder(void **state) {
  (void)state;
  vs_error error;
  if (vs_folder_create(&folder, "vramscope-crash-", &error) != VS_OK) return -1;
  vs_format(path, sizeof path, "%s/test.vram", folder.path);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  vs_folder_remove(&folder);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_killed_at_any_instant),
                                     cmocka_unit_test(test_a_ring_file_killed)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
