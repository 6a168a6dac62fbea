/* Reading the files of ranks: the order of the calls, their threads, how many files are open at once, and what a failure ends. */
#include "os/thread.h"
#include "unit/ranks/job.h"

#include <pthread.h>
#include <sched.h>

enum { FILES = 24, MOST_OPEN = 8, NONE = -1 };

/* What a test wants to happen, and what happened. Openers count with atomics; the other members are the taking thread's. */
typedef struct reading {
  vs_folder folder;
  vs_rank_files files;
  pthread_t taker;
  int open_fails, ask_fails, take_fails, wait_fails, keeps; /* the number of a file */
  vs_status status;                                         /* of the failure */
  _Atomic size_t opened, opened_elsewhere;
  size_t waited, taken, failed, most_ahead;
  bool was_asked;
  char why[128];
  vs_engine *kept;
} reading;

/* ---- the face and the reader of the tests */

static bool is_number(const reading *r, const char *path, int number) {
  return number != NONE && strcmp(path, vs_rank_files_at(&r->files, (size_t)number)) == 0;
}

static vs_status open(void *ctx, const char *path, vs_engine **engine, vs_error *error) {
  reading *r = ctx;
  atomic_fetch_add(&r->opened, 1);
  if (!pthread_equal(pthread_self(), r->taker)) atomic_fetch_add(&r->opened_elsewhere, 1);
  if (is_number(r, path, r->open_fails)) return vs_fail(error, r->status, VS_NO_OFFSET, "cannot be opened");
  return job_open((void *)(uintptr_t)vs_host_default(), path, engine, error);
}

static vs_status wait(void *ctx, size_t number, size_t count, const char *path) {
  reading *r = ctx;
  assert_true(pthread_equal(pthread_self(), r->taker));
  assert_int_equal(count, vs_rank_files_count(&r->files));
  assert_string_equal(path, vs_rank_files_at(&r->files, number));
  assert_int_equal(number, r->taken + r->failed);
  r->waited++;
  return (int)number == r->wait_fails ? VS_CANCELLED : VS_OK;
}

static vs_status ask(const void *ctx, size_t number, const char *name, vs_engine *engine,
                     vs_rank_replies *replies, vs_error *error) {
  const reading *r = ctx;
  if (is_number(r, name, r->ask_fails)) return vs_fail(error, r->status, VS_NO_OFFSET, "cannot be asked");
  (void)number;
  return vs_rank_ask(vs_host_default(), NULL, engine, "inventory", "", replies, error);
}

static void count_turn(reading *r, size_t number, const char *name) {
  assert_true(pthread_equal(pthread_self(), r->taker));
  assert_int_equal(number, r->taken + r->failed);
  assert_string_equal(name, vs_rank_files_at(&r->files, number));
  const size_t ahead = atomic_load(&r->opened) - number;
  if (ahead > r->most_ahead) r->most_ahead = ahead;
}

static vs_status take(void *ctx, size_t number, const char *name, const vs_rank_replies *replies,
                      vs_engine **engine, vs_error *error) {
  reading *r = ctx;
  count_turn(r, number, name);
  if ((int)number == r->take_fails) return vs_fail(error, r->status, VS_NO_OFFSET, "cannot be taken");
  const vs_json bytes = vs_json_member(vs_rank_reply(replies, 0), VS_STR("peak_allocated_bytes"));
  assert_int_equal(vs_json_u64(bytes, 0), (number + 1) * 512);
  assert_non_null(*engine);
  if ((int)number == r->keeps) {
    r->kept = *engine;
    *engine = NULL;
  }
  r->taken++;
  return VS_OK;
}

static vs_status take_failure(void *ctx, size_t number, const char *name, bool was_asked, const char *why) {
  reading *r = ctx;
  count_turn(r, number, name);
  r->failed++;
  r->was_asked = was_asked;
  vs_format(r->why, sizeof r->why, "%s", why);
  return VS_OK;
}

/* ---- a job of `count` ranks, of which rank n has n + 1 times 512 bytes */

static void begin(reading *r, size_t count) {
  char name[32];
  vs_error error;
  *r = (reading){.taker = pthread_self(),
                 .open_fails = NONE,
                 .ask_fails = NONE,
                 .take_fails = NONE,
                 .wait_fails = NONE,
                 .keeps = NONE,
                 .status = VS_BAD_FORMAT};
  job_begin(&r->folder);
  for (uint64_t i = 0; i < count; i++) {
    vs_format(name, sizeof name, "rank%U.pickle", i);
    job_write(&r->folder, name, &(job_rank){.weights = (i + 1) * 512});
  }
  const char *const path = r->folder.path;
  expect_ok(vs_rank_files_list(&r->files, vs_host_default(), &path, 1, &error));
}

static vs_status read_all(reading *r) {
  const vs_rank_face face = {.ctx = r, .open = open, .wait = wait};
  const vs_rank_reader reader = {.ctx = r, .ask = ask, .take = take, .fail = take_failure};
  r->waited = r->taken = r->failed = r->most_ahead = 0;
  r->opened = r->opened_elsewhere = 0;
  return vs_rank_files_read(&r->files, &face, &reader);
}

static void end(reading *r) {
  vs_rank_files_deinit(&r->files);
  vs_folder_remove(&r->folder);
}

/* ---- tests */

static void files_are_taken_in_their_order(void **state) {
  reading r;
  (void)state;
  begin(&r, FILES);
  expect_ok(read_all(&r));
  assert_int_equal(r.taken, FILES);
  assert_int_equal(r.failed, 0);
  assert_int_equal(r.opened, FILES);
  assert_int_equal(r.opened_elsewhere, FILES);
  assert_true(r.waited >= FILES);
  end(&r);
}

/* Each thread is at most one file ahead of the one that is taken, so a job of any size needs the memory of a few files. */
static void few_files_are_open_at_once(void **state) {
  reading r;
  cpu_set_t all, one;
  (void)state;
  begin(&r, FILES);
  expect_ok(read_all(&r));
  const size_t processors = vs_min_u64(vs_thread_processors(), MOST_OPEN);
  assert_in_range(r.most_ahead, 1, processors);
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  for (size_t i = 0; CPU_COUNT(&one) == 0; i++)
    if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  expect_ok(read_all(&r));
  assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
  assert_int_equal(r.taken, FILES);
  assert_int_equal(r.most_ahead, 1);
  end(&r);
}

static void one_file_needs_no_thread(void **state) {
  reading r;
  (void)state;
  begin(&r, 1);
  expect_ok(read_all(&r));
  assert_int_equal(r.taken, 1);
  assert_int_equal(r.opened_elsewhere, 0);
  end(&r);
}

/* Where the system has no room for the stacks of threads, the files are opened on the caller's. */
static void files_are_read_without_threads(void **state) {
  pthread_attr_t before, huge;
  reading r;
  (void)state;
  begin(&r, FILES);
  assert_int_equal(pthread_getattr_default_np(&before), 0);
  assert_int_equal(pthread_getattr_default_np(&huge), 0);
  assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 50), 0);
  assert_int_equal(pthread_setattr_default_np(&huge), 0);
  const vs_status status = read_all(&r);
  assert_int_equal(pthread_setattr_default_np(&before), 0);
  expect_ok(status);
  assert_int_equal(r.taken, FILES);
  assert_int_equal(r.opened_elsewhere, 0);
  assert_int_equal(r.most_ahead, 1);
  (void)pthread_attr_destroy(&before);
  (void)pthread_attr_destroy(&huge);
  end(&r);
}

/* A file that fails, at whichever place, is told of in its turn with the reason, and the others are taken. */
static void a_file_that_fails_does_not_end_the_reading(void **state) {
  reading r;
  int *const places[] = {&r.open_fails, &r.ask_fails, &r.take_fails};
  static const char *const reasons[] = {"cannot be opened", "cannot be asked", "cannot be taken"};
  (void)state;
  begin(&r, FILES);
  for (size_t i = 0; i < 3; i++) {
    *places[i] = FILES / 2;
    expect_ok(read_all(&r));
    *places[i] = NONE;
    assert_int_equal(r.taken, FILES - 1);
    assert_int_equal(r.failed, 1);
    assert_string_equal(r.why, reasons[i]);
    assert_true(r.was_asked == (i != 0));
  }
  end(&r);
}

static void no_memory_and_a_user_end_it(void **state) {
  reading r;
  (void)state;
  begin(&r, FILES);
  int *const places[] = {&r.open_fails, &r.ask_fails, &r.take_fails};
  r.status = VS_NO_MEMORY;
  for (size_t i = 0; i < 3; i++) {
    *places[i] = FILES / 2;
    expect_status(read_all(&r), VS_NO_MEMORY);
    *places[i] = NONE;
    assert_int_equal(r.taken, FILES / 2);
    assert_int_equal(r.failed, 0);
  }
  r.wait_fails = FILES / 2;
  expect_status(read_all(&r), VS_CANCELLED);
  assert_int_equal(r.taken, FILES / 2);
  end(&r);
}

/* An engine that `take` keeps outlives the reading. */
static void an_engine_can_be_kept(void **state) {
  reading r;
  vs_buffer reply = {0};
  vs_error error;
  (void)state;
  begin(&r, FILES);
  r.keeps = FILES / 3;
  expect_ok(read_all(&r));
  assert_int_equal(r.taken, FILES);
  expect_ok(vs_engine_ask(r.kept, "inventory", NULL, &reply, &error));
  vs_buffer_deinit(&reply);
  vs_engine_destroy(r.kept);
  end(&r);
}

/* Pinned host memory is a device of another kind; a device that a file does not have is a failure of that file. */
static void a_device_is_asked_about(void **state) {
  vs_engine *engine;
  vs_rank_replies replies = {.count = 0};
  vs_error error;
  char path[VS_FOLDER_PATH + 64];
  reading r;
  (void)state;
  begin(&r, 1);
  vs_format(path, sizeof path, "%s/rank0.pickle", r.folder.path);
  const vs_host *const host = vs_host_default();
  expect_ok(job_open((void *)(uintptr_t)host, path, &engine, &error));
  expect_ok(vs_rank_ask(host, "0", engine, "report", "\"top\": 0, ", &replies, &error));
  assert_int_equal(replies.count, 1);
  assert_true(vs_rank_ask(host, "7", engine, "report", "\"top\": 0, ", &replies, &error) != VS_OK);
  assert_true(error.text[0] != 0 && replies.count == 1);
  assert_true(vs_rank_ask(host, "host", engine, "inventory", "", &replies, &error) != VS_OK);
  assert_non_null(strstr(error.text, "host"));
  vs_json_doc_deinit(&replies.of[0]);
  vs_engine_destroy(engine);
  end(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(files_are_taken_in_their_order),
                                     cmocka_unit_test(few_files_are_open_at_once),
                                     cmocka_unit_test(one_file_needs_no_thread),
                                     cmocka_unit_test(files_are_read_without_threads),
                                     cmocka_unit_test(a_file_that_fails_does_not_end_the_reading),
                                     cmocka_unit_test(no_memory_and_a_user_end_it),
                                     cmocka_unit_test(an_engine_can_be_kept),
                                     cmocka_unit_test(a_device_is_asked_about)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
