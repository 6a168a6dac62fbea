/* What is lost is counted, and the file says so: full rings, waits with a bound, a state after a loss, a full disk. */
#include "os/clock.h"
#include "os/thread.h"
#include "record/recorder.h"
#include "recording.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- losses */

static void test_a_full_ring_loses_and_counts(void **state) {
  (void)state;
  enum { COUNT = 60000 };
  vs_recorder *recorder =
      open_with((vs_record_options){.ring_slots = VS_RECORD_LEAST_RING, .flush_ms = 1000});
  for (uint64_t i = 0; i < COUNT; i++) record(recorder, i, VS_CONTEXT_NONE);
  const vs_record_figures figures = close_it(recorder);
  assert_int_equal(figures.events + figures.lost_ring, COUNT);
  assert_int_equal(figures.lost_file + figures.lost_other, 0);
  back *b = back_read(path);
  assert_int_equal(b->events.count, figures.events);
  assert_int_equal(b->lost, figures.lost_ring);
  assert_int_equal(b->report.unrecorded, figures.lost_ring);
  uint64_t last = 0;
  for (size_t i = 0; i < b->events.count; i++) { /* what is there is right, and in order */
    const uint64_t number = b->events.data[i].size - 1;
    assert_true(i == 0 || number > last);
    expect_numbered(b, i, number);
    last = number;
  }
  back_free(b);
}

static void test_the_ring_takes_what_it_has_room_for(void **state) {
  (void)state;
  vs_recorder *recorder = open_with((vs_record_options){.ring_slots = VS_RECORD_LEAST_RING});
  vs_record_flush(recorder); /* no ring yet: returns */
  record(recorder, 0, VS_CONTEXT_NONE);
  vs_record_flush(recorder);
  /* A number that a thread took but has not published: the writer waits for it. */
  const uint64_t taken = atomic_fetch_add(&recorder->sequence, 1);
  for (uint64_t i = 1; i <= VS_RECORD_LEAST_RING + 5; i++) record(recorder, i, VS_CONTEXT_NONE);
  assert_int_equal(vs_record_figures_of(recorder).lost_ring, 5);
  const vs_record_figures figures = close_it(recorder); /* now it does not come any more */
  assert_int_equal(taken, 2);                           /* after the thread's introduction and one event */
  assert_int_equal(figures.events, 1 + VS_RECORD_LEAST_RING);
  assert_int_equal(figures.lost_other, 1);
  back *b = back_read(path);
  assert_int_equal(b->lost, 6);
  for (uint64_t i = 0; i < figures.events; i++) expect_numbered(b, i, i);
  back_free(b);
}

static vs_recorder *interrupted;

static void record_in_handler(int number) {
  (void)number;
  record(interrupted, 1, VS_CONTEXT_NONE);
}

static void test_a_signal_within_an_event_is_lost_and_counted(void **state) {
  (void)state;
  interrupted = open_with((vs_record_options){0});
  record(interrupted, 0, VS_CONTEXT_NONE);
  (void)signal(SIGUSR1, record_in_handler);
  (void)raise(SIGUSR1); /* between events it is one */
  interrupted->rings[0]->is_busy = true;
  (void)raise(SIGUSR1);
  interrupted->rings[0]->is_busy = false;
  (void)signal(SIGUSR1, SIG_DFL);
  const vs_record_figures figures = close_it(interrupted);
  assert_int_equal(figures.events, 2);
  assert_int_equal(figures.lost_other, 1);
}

/* ---- waiting, and the state after a loss */

static void test_a_wait_has_a_bound_and_is_counted(void **state) {
  (void)state;
  vs_recorder *recorder =
      open_with((vs_record_options){.ring_slots = VS_RECORD_LEAST_RING, .wait = true, .wait_ms = 20});
  record(recorder, 0, VS_CONTEXT_NONE);
  vs_record_flush(recorder);
  atomic_fetch_add(&recorder->sequence, 1); /* for which the writer waits two seconds */
  for (uint64_t i = 1; i <= VS_RECORD_LEAST_RING; i++) record(recorder, i, VS_CONTEXT_NONE);
  assert_int_equal(vs_record_figures_of(recorder).waits, 0);
  const uint64_t began = vs_clock_ns();
  for (uint64_t i = 1; i <= 2; i++) record(recorder, 100000 + i, VS_CONTEXT_NONE);
  assert_false(vs_record_annotation(recorder, 0, true, 0, 1));
  const uint64_t took = vs_clock_ns() - began;
  assert_in_range(took, 60000000, 1500000000);
  const vs_record_figures figures = close_it(recorder);
  assert_int_equal(figures.lost_ring, 2);
  assert_int_equal(figures.waits, 3);
  assert_in_range(figures.waited_ns, 60000000, took);
  assert_int_equal(figures.lost_since_ns, 100001 * 1000);
  assert_int_equal(figures.events, 1 + VS_RECORD_LEAST_RING);
}

/* A program with one device, whose memory is the number of its last event: that is the only block of the state. */
typedef struct device {
  pthread_mutex_t lock;
  uint64_t next;
  unsigned refusals; /* of the first checkpoints */
} device;

static bool write_state(void *ctx, vs_recorder *recorder) {
  device *d = ctx;
  if (d->refusals != 0) {
    d->refusals--;
    return false;
  }
  if (pthread_mutex_trylock(&d->lock) != 0) return false;
  const vs_record_segment segment = {.address = 1 << 20, .size = 1 << 20};
  const vs_record_block block = {.address = 1 << 20, .size = 1 << 20, .requested = d->next};
  vs_record_state_begin(recorder, VS_RECORD_AT_CHECKPOINT, d->next * 1000);
  vs_record_state_segment(recorder, &segment);
  vs_record_state_block(recorder, &block);
  vs_record_state_end(recorder);
  assert_int_equal(pthread_mutex_unlock(&d->lock), 0);
  return true;
}

/* The file as its reader meets it: events without a gap, a loss, the state, events without a gap ... */
typedef struct walk {
  uint64_t next, lost, states;
  bool is_lost;
} walk;

static vs_status walk_on(void *ctx, const vs_trace_item *item) {
  walk *w = ctx;
  if (item->tag == VS_TRACE_EVENT) {
    assert_false(w->is_lost);
    assert_int_equal(item->is.event.size, ++w->next);
  } else if (item->tag == VS_TRACE_LOST) {
    /* Only the first one of a gap has to be exact: events are lost while the next ones are written. */
    if (!w->is_lost) assert_int_equal(item->is.lost.since_us, w->next);
    else if (item->is.lost.since_us != VS_TRACE_NO_TIME)
      assert_true(item->is.lost.since_us >= (int64_t)w->next);
    w->next += item->is.lost.events - w->lost;
    w->lost = item->is.lost.events;
    w->is_lost = true;
  } else if (item->tag == VS_TRACE_STATE_BEGIN) {
    assert_int_equal(item->is.state.moment, VS_TRACE_AT_CHECKPOINT);
    assert_int_equal(item->is.state.time_us, w->next);
  } else if (item->tag == VS_TRACE_BLOCK) {
    assert_true(w->is_lost);
    assert_int_equal(item->is.block.requested, w->next);
  } else if (item->tag == VS_TRACE_STATE_END) {
    w->is_lost = false;
    w->states++;
  }
  return VS_OK;
}

static walk walk_file(void) {
  vs_infile file;
  vs_input input;
  vs_error error;
  vs_trace_report report;
  walk w = {0};
  expect_ok(vs_infile_open(&file, path, &error));
  expect_ok(vs_input_init(&input, vs_host_default(), vs_infile_reader(&file)));
  expect_ok(
      vs_trace_read(vs_host_default(), &input, NULL, &(vs_trace_visitor){&w, walk_on}, &report, &error));
  assert_int_equal(report.damages, 0);
  vs_input_deinit(&input);
  vs_infile_close(&file);
  return w;
}

static void test_after_a_loss_the_state_is_written(void **state) {
  (void)state;
  enum { COUNT = 400000, PAUSE_EACH = 50000 };
  device d = {.lock = PTHREAD_MUTEX_INITIALIZER, .refusals = 2};
  vs_recorder *recorder = open_with((vs_record_options){
      .ring_slots = VS_RECORD_LEAST_RING, .checkpoint = write_state, .checkpoint_ctx = &d});
  vs_record_clock(recorder, 0);
  for (uint64_t i = 0; i < COUNT; i++) {
    assert_int_equal(pthread_mutex_lock(&d.lock), 0);
    record(recorder, i, VS_CONTEXT_NONE);
    d.next = i + 1;
    assert_int_equal(pthread_mutex_unlock(&d.lock), 0);
    if (i % PAUSE_EACH == 0) vs_clock_sleep_ns(30000000);
  }
  const vs_record_figures figures = close_it(recorder);
  const walk w = walk_file();
  assert_int_equal(w.next, COUNT);
  assert_int_equal(w.lost, figures.lost_ring);
  assert_int_equal(figures.events + figures.lost_ring, COUNT);
  assert_int_equal(w.states, figures.checkpoints);
  assert_true(figures.lost_ring > 0 && figures.checkpoints > 0);
  assert_int_equal(figures.lost_file + figures.lost_other + figures.waits, 0);
}

/* An event of another device may be on its way when the writer thread has emptied the rings and takes the locks: it comes before
 * the state. */
static bool write_late_event(void *ctx, vs_recorder *recorder) {
  device *d = ctx;
  if (d->refusals++ != 0) return false;
  recorder->mode = VS_RECORDER_ON;
  record(recorder, 1, VS_CONTEXT_NONE);
  recorder->mode = VS_RECORDER_SUSPENDED;
  d->next = 3;
  vs_record_state_begin(recorder, VS_RECORD_AT_CHECKPOINT, 3000);
  vs_record_state_end(recorder);
  return true;
}

static void test_the_state_comes_after_all_events_before_it(void **state) {
  (void)state;
  device d = {.lock = PTHREAD_MUTEX_INITIALIZER};
  vs_recorder *recorder =
      open_with((vs_record_options){.checkpoint = write_late_event, .checkpoint_ctx = &d});
  vs_record_clock(recorder, 0);
  record(recorder, 0, VS_CONTEXT_NONE);
  recorder->rings[0]->is_busy = true; /* as in a signal handler: the event is lost */
  record(recorder, 2, VS_CONTEXT_NONE);
  recorder->rings[0]->is_busy = false;
  for (int tries = 0; tries < 5000 && vs_record_figures_of(recorder).checkpoints == 0; tries++)
    vs_clock_sleep_ns(1000000);
  record(recorder, 3, VS_CONTEXT_NONE);
  const vs_record_figures figures = close_it(recorder);
  assert_int_equal(figures.checkpoints, 1);
  assert_int_equal(figures.lost_other, 1);
  assert_int_equal(figures.events, 3);
  back *b = back_read(path);
  assert_int_equal(b->events.count, 3);
  assert_int_equal(b->events_before_state, 2);
  expect_numbered(b, 1, 1);
  expect_numbered(b, 2, 3);
  back_free(b);
}

/* ---- the file fails, the program goes on */

typedef struct told {
  unsigned count;
  char text[512];
} told;

static void remember(void *ctx, const char *sentence) {
  told *t = ctx;
  t->count++;
  vs_format(t->text, sizeof t->text, "%s", sentence);
}

static void test_a_full_disk_ends_the_recording_not_the_program(void **state) {
  (void)state;
  enum { COUNT = 200000, LIMIT = 3 << 19 }; /* a million bytes is mapped at a time */
  struct rlimit before, limit;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  limit = before;
  limit.rlim_cur = LIMIT;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
  told t = {0};
  vs_recorder *recorder = open_with((vs_record_options){.wait = true, .say = remember, .say_ctx = &t});
  for (uint64_t i = 0; i < COUNT; i++) record(recorder, i * 7919 % COUNT, VS_CONTEXT_NONE);
  assert_false(vs_record_is_on(recorder));
  vs_record_flush(recorder);
  vs_record_figures figures;
  vs_error error = {0};
  const vs_status status = vs_record_close(recorder, &figures, &error);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  assert_string_equal(vs_status_name(status), "IO");
  assert_non_null(strstr(error.text, "too large"));
  assert_int_equal(t.count, 1);
  assert_non_null(strstr(t.text, "recording has stopped"));
  assert_int_equal(figures.events + figures.lost_file, COUNT);
  assert_true(figures.events > 10000);
  back *b = back_read(path);
  assert_int_equal(b->events.count, figures.events);
  assert_int_equal(b->lost, figures.lost_file); /* which is told, and why, although the disk is full */
  assert_non_null(strstr(b->stopped, "too large"));
  assert_int_equal(b->report.open_frames, 0);
  for (uint64_t i = 0; i < b->events.count; i++) expect_numbered(b, i, i * 7919 % COUNT);
  back_free(b);
}

static void test_opening_says_why_not(void **state) {
  (void)state;
  vs_recorder *recorder;
  vs_error error = {0};
  vs_record_options options = {.path = "/nowhere/at/all.vram"};
  expect_status(vs_record_open(vs_host_default(), &options, &recorder, &error), VS_NOT_FOUND);
  assert_null(recorder);
  options.path = folder.path;
  options.may_replace = true;
  expect_status(vs_record_open(vs_host_default(), &options, &recorder, &error), VS_IO);
  options.path = path;
  expect_ok(vs_record_open(vs_host_default(), &options, &recorder, &error));
  (void)close_it(recorder);
  options.may_replace = false;
  expect_status(vs_record_open(vs_host_default(), &options, &recorder, &error), VS_IO);
  assert_string_equal(error.text, "file exists");
  options.may_replace = true;
  options.ring_slots = 1000;
  expect_status(vs_record_open(vs_host_default(), &options, &recorder, &error), VS_BAD_ARGUMENT);
  back *b = back_read(path); /* which is untouched */
  assert_int_equal(b->events.count, 0);
  back_free(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_full_ring_loses_and_counts),
      cmocka_unit_test(test_the_ring_takes_what_it_has_room_for),
      cmocka_unit_test(test_a_signal_within_an_event_is_lost_and_counted),
      cmocka_unit_test(test_a_wait_has_a_bound_and_is_counted),
      cmocka_unit_test(test_after_a_loss_the_state_is_written),
      cmocka_unit_test(test_the_state_comes_after_all_events_before_it),
      cmocka_unit_test(test_a_full_disk_ends_the_recording_not_the_program),
      cmocka_unit_test(test_opening_says_why_not),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
