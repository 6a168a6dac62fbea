/* Recordings that lost events, against the history that the same object kept in memory, which lost none: up to the loss and
 * from the state after it on, the file says what happened, and what was allocated after each event. */
#include "live/snapshot.h"
#include "os/clock.h"
#include "record/recorder.h"
#include "support/random.h"
#include "support/snapshots.h"
#include "tracefile/reader.h"
#include "unit/analyze/judged.h"
#include <stdlib.h>
#include <unistd.h>

enum { SLOTS = 60, MOST_CARDS = 2, MOST_THREADS = 3 };

typedef struct program {
  vs_live *live;
  uint32_t cards;
  uint64_t streams[MOST_CARDS];
  char path[64];
} program;

/* One thread's part of a program. */
typedef struct actor {
  program *p;
  test_random random;
  uint64_t addresses[MOST_CARDS][SLOTS];
  unsigned steps, losses; /* one step of so many begins a loss; 0: none does */
} actor;

static void begin(program *p, const char *gpus, uint32_t cards, const char *settings) {
  vs_error error;
  *p = (program){.cards = cards};
  vs_format(p->path, sizeof p->path, "/tmp/vramscope-losses-%U.vram", (uint64_t)getpid());
  expect_ok(vs_live_open(&(vs_live_options){.gpus = gpus, .settings = settings, .done_at_sync = true},
                         &p->live, &error));
  const vs_history_options all = {
      .enabled = VS_HISTORY_EVENTS, .context = VS_HISTORY_CONTEXT_ALLOC, .max_entries = UINT64_MAX};
  expect_ok(vs_live_history(p->live, &all, &error));
  const vs_recording_options options = {.path = p->path, .may_replace = true};
  expect_ok(vs_live_recording_begin(p->live, &options, &error));
  for (uint32_t card = 0; card < cards; card++)
    expect_ok(vs_live_stream_create(p->live, card, &p->streams[card]));
}

static void act(actor *a) {
  const uint32_t card = (uint32_t)random_below(&a->random, a->p->cards);
  uint64_t *slot = &a->addresses[card][random_below(&a->random, SLOTS)];
  vs_live *live = a->p->live;
  if (random_below(&a->random, 150) == 0) expect_ok(vs_live_empty_cache(live));
  if (random_below(&a->random, 40) == 0) expect_ok(vs_live_synchronize(live, card, a->p->streams[card]));
  if (*slot == 0) {
    const uint64_t size = 1 + random_below(&a->random, random_below(&a->random, 2) == 0 ? 9000 : 12 << 20);
    const uint64_t stream = random_below(&a->random, 2) == 0 ? 0 : a->p->streams[card];
    if (vs_live_malloc(live, card, size, stream, slot) != VS_OK) *slot = 0;
    return;
  }
  if (random_below(&a->random, 3) == 0)
    expect_ok(vs_live_record_stream(live, card, *slot, a->p->streams[card]));
  expect_ok(vs_live_free(live, card, *slot));
  *slot = 0;
}

static vs_ring *own_ring(const vs_recorder *recorder) {
  for (uint32_t i = 0; i < recorder->ring_count; i++)
    if (recorder->rings[i]->owner == vs_thread_id() && recorder->rings[i]->state == VS_RING_OWNED)
      return recorder->rings[i];
  return NULL;
}

/* Loses some events as a signal handler does that interrupts the recording of another event. */
static void lose(actor *a) {
  vs_ring *ring = own_ring(a->p->live->recorder);
  if (ring == NULL) return;
  ring->is_busy = true;
  for (uint64_t i = random_below(&a->random, 60); i != 0; i--) act(a);
  ring->is_busy = false;
}

/* The same, with one gap: once the recording is suspended its events are lost until the state is written, and no others. */
static void lose_once(actor *a) {
  const vs_recorder *recorder = a->p->live->recorder;
  vs_ring *ring = own_ring(recorder);
  uint64_t left = random_below(&a->random, 60);
  if (ring == NULL) return;
  ring->is_busy = true;
  for (; left != 0 && vs_recorder_lost(recorder) == 0; left--) act(a);
  ring->is_busy = false;
  for (; left != 0; left--) act(a);
}

static void run(void *ctx) {
  actor *a = ctx;
  for (unsigned i = 0; i < a->steps; i++) {
    act(a);
    if (a->losses != 0 && random_below(&a->random, a->losses) == 0) lose(a);
  }
}

/* What memory has, and the file; both to be destroyed. `lost` is by the recorder's own count. */
typedef struct outcome {
  vs_snapshot *truth, *recorded;
  uint64_t lost, checkpoints;
} outcome;

static outcome finish(program *p) {
  outcome o;
  vs_error error;
  vs_recording_info info;
  const vs_status status = vs_live_recording_stop(p->live, &error);
  vs_live_recording_info(p->live, &info);
  assert_false(info.is_on);
  assert_int_equal(status, info.lost == 0 ? VS_OK : VS_LIMIT);
  if (info.lost != 0) assert_non_null(strstr(error.text, "could not keep up"));
  expect_ok(vs_live_snapshot(p->live, true, &o.truth));
  const vs_str bytes = file_bytes(p->path);
  o.recorded = snapshot_of(bytes);
  free((void *)(uintptr_t)bytes.data);
  o.lost = info.lost;
  o.checkpoints = info.checkpoints;
  assert_int_equal(o.recorded->recording.unrecorded, info.lost);
  assert_int_equal(info.events + info.lost, o.truth->events.count);
  expect_ok(vs_live_close(p->live, &error));
  unlink(p->path);
  return o;
}

static void drop(outcome *o) {
  vs_snapshot_destroy(o->truth);
  vs_snapshot_destroy(o->recorded);
}

/* ---- the state at the end is that of the program, and nothing contradicts it */

static void expect_trusted(const vs_snapshot *s, const vs_slice *slice, uint64_t lost) {
  vs_lifetimes lifetimes;
  vs_curves curves;
  expect_ok(vs_lifetimes_build(vs_host_default(), slice, &lifetimes));
  vs_curves_measure(slice, &curves);
  const vs_trust trust = judged(vs_host_default(), &lifetimes, &curves);
  for (int kind = 0; kind < VS_FINDING_KINDS; kind++) {
    const uint64_t wanted = kind == VS_FINDING_UNRECORDED_EVENTS ? lost : 0;
    if (vs_finding_severity((vs_finding_kind)kind) == VS_SEVERITY_NOTE) continue;
    if (trust.findings[kind].count != wanted)
      fail_msg("device %d, %s: %llu, first at event %lld", slice->device,
               vs_finding_name((vs_finding_kind)kind), (unsigned long long)trust.findings[kind].count,
               (long long)trust.findings[kind].first_event);
  }
  assert_int_equal(trust.is_complete, lost == 0);
  assert_int_equal(s->recording.gaps.count != 0, lost != 0);
  vs_lifetimes_deinit(vs_host_default(), &lifetimes);
}

static void expect_sound(const outcome *o) {
  vs_slices slices;
  expect_ok(vs_slices_build(vs_host_default(), o->recorded, &slices));
  for (size_t i = 0; i < slices.list.count; i++) expect_trusted(o->recorded, &slices.list.data[i], o->lost);
  vs_slices_deinit(vs_host_default(), &slices);
  assert_int_equal(o->truth->segments.count, o->recorded->segments.count);
  assert_int_equal(o->truth->blocks.count, o->recorded->blocks.count);
  for (size_t i = 0; i < o->truth->blocks.count; i++) {
    const vs_block *truth = &o->truth->blocks.data[i], *recorded = &o->recorded->blocks.data[i];
    assert_int_equal(truth->address, recorded->address);
    assert_int_equal(truth->size, recorded->size);
    assert_int_equal(truth->state, recorded->state);
  }
}

/* ---- one loss of one card: event by event */

static bool is_event(const vs_snapshot *a, uint32_t row, const vs_snapshot *b, uint32_t other) {
  return vs_events_kind(&a->events, row) == vs_events_kind(&b->events, other) &&
         vs_events_address(&a->events, row) == vs_events_address(&b->events, other) &&
         vs_events_size(&a->events, row) == vs_events_size(&b->events, other) &&
         vs_events_time_us(&a->events, row) == vs_events_time_us(&b->events, other);
}

/* Bytes that the program holds and that the driver gave, as the events so far say. */
typedef struct sums {
  int64_t requested, reserved, active;
} sums;

static void add(sums *s, const vs_snapshot *of, uint32_t row) {
  const int64_t size = (int64_t)vs_events_size(&of->events, row);
  switch (vs_events_kind(&of->events, row)) {
    case VS_EVENT_ALLOC:
      s->requested += size;
      s->active += size;
      break;
    case VS_EVENT_FREE_REQUESTED: s->requested -= size; break;
    case VS_EVENT_FREE_COMPLETED: s->active -= size; break;
    case VS_EVENT_SEGMENT_ALLOC:
    case VS_EVENT_SEGMENT_MAP: s->reserved += size; break;
    case VS_EVENT_SEGMENT_FREE:
    case VS_EVENT_SEGMENT_UNMAP: s->reserved -= size; break;
    case VS_EVENT_OOM:
    case VS_EVENT_SNAPSHOT:
    case VS_EVENT_ANNOTATE:
    case VS_EVENT_UNKNOWN: break;
  }
}

static void expect_same_sums(const sums *a, const sums *b) {
  assert_int_equal(a->requested, b->requested);
  assert_int_equal(a->active, b->active);
  assert_int_equal(a->reserved, b->reserved);
}

static void compare_all(const outcome *o) {
  const vs_snapshot *truth = o->truth, *recorded = o->recorded;
  const uint32_t derived = (uint32_t)recorded->recording.derived, lost = (uint32_t)o->lost;
  uint32_t row = 0, at = 0;
  sums told = {0}, really = {0};
  assert_int_equal(recorded->events.count - derived, truth->events.count - lost);
  const uint32_t gap =
      lost == 0 ? truth->events.count : recorded->traces.data[0].missing_from[VS_GAP_UNRECORDED] - 1;
  for (; row < gap; row++, at++) {
    assert_true(is_event(recorded, row, truth, at));
    add(&told, recorded, row);
    add(&really, truth, at);
  }
  for (; row < gap + derived; row++) {
    assert_int_equal(vs_events_time_us(&recorded->events, row), recorded->recording.gaps.data[0].to_us);
    add(&told, recorded, row);
  }
  for (; at < gap + lost; at++) add(&really, truth, at);
  expect_same_sums(&told, &really);
  for (; row < recorded->events.count; row++, at++) {
    assert_true(is_event(recorded, row, truth, at));
    add(&told, recorded, row);
    add(&really, truth, at);
    expect_same_sums(&told, &really);
  }
  assert_int_equal(at, truth->events.count);
}

static void wait_for_the_state(const program *p) {
  while (p->live->recorder->mode == VS_RECORDER_SUSPENDED) vs_clock_sleep_ns(100000);
}

static void one_loss(uint64_t seed, const char *settings) {
  program p;
  begin(&p, "512MiB", 1, settings);
  actor a = {.p = &p, .random = {seed}, .steps = 200 + (unsigned)(seed % 3) * 700};
  if (seed % 5 != 0) run(&a);
  else act(&a); /* a loss at the beginning */
  lose_once(&a);
  if (seed % 4 != 0) wait_for_the_state(&p);
  if (seed % 4 == 1) run(&a); /* else the state is that of the end */
  outcome o = finish(&p);
  expect_sound(&o);
  compare_all(&o);
  drop(&o);
}

static void test_a_recording_goes_on_from_the_state_after_a_loss(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 24; seed++) one_loss(seed, seed % 2 == 0 ? "" : "expandable_segments:True");
}

/* ---- many losses of several threads on two cards */

static void many_losses(uint64_t seed, const char *settings) {
  program p;
  vs_thread threads[MOST_THREADS];
  actor *actors = calloc(MOST_THREADS, sizeof *actors);
  assert_non_null(actors);
  begin(&p, "2x2GiB", 2, settings);
  for (unsigned i = 0; i < MOST_THREADS; i++)
    actors[i] = (actor){.p = &p, .random = {seed * 10 + i}, .steps = 2000, .losses = seed % 3 == 0 ? 0 : 400};
  for (unsigned i = 0; i < MOST_THREADS; i++)
    expect_ok(vs_thread_start(&threads[i], "actor", run, &actors[i]));
  for (unsigned i = 0; i < MOST_THREADS; i++) vs_thread_join(&threads[i]);
  outcome o = finish(&p);
  assert_int_equal(o.lost != 0, seed % 3 != 0);
  expect_sound(&o);
  drop(&o);
  free(actors);
}

static void test_many_losses_leave_no_contradiction(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 6; seed++)
    many_losses(seed, seed % 2 == 0 ? "" : "expandable_segments:True");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_recording_goes_on_from_the_state_after_a_loss),
      cmocka_unit_test(test_many_losses_leave_no_contradiction),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
