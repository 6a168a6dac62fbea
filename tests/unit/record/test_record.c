#include "record/record.h"
#include "os/clock.h"
#include "os/modules.h"
#include "os/thread.h"
#include "record/recorder.h"
#include "recording.h"
#include "support/fork_host.h"
#include "support/random.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void put_text_setting(vs_recorder *recorder, vs_str key, vs_str text) {
  vs_record_put_setting(
      recorder, &(vs_record_setting_value){.key = key, .kind = VS_RECORD_SETTING_STRING, .text = text});
}

/* ---- everything that can be recorded comes back */

/* What the messages of that test are about. */
typedef struct given {
  vs_record_stacks *stacks;
  vs_context named, native;
  uint32_t meta, seventh, step; /* texts; the number of the first does not fit into a slot */
} given;

static given make_given(void) {
  given g = {.stacks = NULL};
  uint64_t words[2];
  expect_ok(vs_record_stacks_create(NULL, &g.stacks));
  expect_ok(vs_record_frame_intern(
      g.stacks, &(vs_record_frame){.function = VS_STR("forward"), .file = VS_STR("model.py"), .line = 3},
      &words[0]));
  words[1] = UINT64_C(0x1234); /* in no module */
  for (uint64_t i = 0; i < UINT16_MAX; i++) {
    char text[24];
    vs_format(text, sizeof text, "%U", i);
    expect_ok(vs_record_text_intern(g.stacks, vs_str_from(text), &g.meta));
    if (i == 7) g.seventh = g.meta;
  }
  expect_ok(vs_record_text_intern(g.stacks, VS_STR("layer 1"), &g.meta));
  assert_true(g.meta > UINT16_MAX);
  expect_ok(vs_record_text_intern(g.stacks, VS_STR("step"), &g.step));
  g.named = vs_record_intern(g.stacks, words, 2);
  g.native = vs_record_intern(g.stacks, &words[1], 1);
  return g;
}

static void record_facts(vs_recorder *recorder) {
  vs_record_clock(recorder, INT64_C(1700000000000000000));
  vs_record_device(recorder, 1, VS_STR("Simulated 80GB"), UINT64_C(80) << 30);
  vs_record_put_setting(recorder, &(vs_record_setting_value){.key = VS_STR("expandable_segments"),
                                                             .kind = VS_RECORD_SETTING_BOOL,
                                                             .bits = 1});
  put_text_setting(recorder, VS_STR("rules"), VS_STR("torch-2.15"));
}

/* The last one, which vs_record_free records, has the members of the third but its kind. */
static void record_events(vs_recorder *recorder, const given *g) {
  vs_record_annotation(recorder, g->step, true, 1, 1000);
  vs_event event = {.address = 4096,
                    .size = 1000,
                    .rounded = 1024,
                    .stream = 7,
                    .pool = {0, 3},
                    .context = g->named,
                    .kind = VS_EVENT_ALLOC};
  vs_record_facts facts = {.time_ns = 2000, .device = 1, .metadata = g->meta};
  vs_record_event(recorder, &event, &facts);
  event.kind = VS_EVENT_FREE_REQUESTED;
  event.pool = (vs_pool_id){5, 6}; /* which does not fit into a slot */
  event.context = g->native;
  facts = (vs_record_facts){.time_ns = 3000, .device = 1, .compile_context = g->step};
  vs_record_event(recorder, &event, &facts);
  event.pool = (vs_pool_id){9, 0};
  event.context = VS_CONTEXT_NONE;
  event.kind = VS_EVENT_SEGMENT_FREE;
  facts = (vs_record_facts){.time_ns = 2500, .device = -1, .metadata = g->seventh};
  vs_record_event(recorder, &event, &facts);
  vs_record_annotation(recorder, g->step, false, 1, 4000);
  vs_record_library(recorder, g->meta, 1, UINT64_C(5) << 30, 4000);
  event.kind = VS_EVENT_ALLOC; /* which vs_record_free does not look at */
  vs_record_free(recorder, &event, &facts);
}

static void record_state(vs_recorder *recorder, const given *g) {
  vs_record_state_begin(recorder, VS_RECORD_AT_END, 5000);
  vs_record_state_segment(recorder, &(vs_record_segment){.address = 4096,
                                                         .size = 2 << 20,
                                                         .allocated = 1024,
                                                         .active = 1024,
                                                         .requested = 1000,
                                                         .device = 1,
                                                         .registration = -1,
                                                         .is_small = true,
                                                         .context = g->named});
  vs_record_state_block(recorder, &(vs_record_block){.address = 4096,
                                                     .size = 1024,
                                                     .requested = 1000,
                                                     .context = g->native,
                                                     .state = VS_RECORD_PENDING});
  vs_record_state_end(recorder);
}

static void expect_facts(const back *b) {
  assert_int_equal(b->report.damages, 0);
  assert_int_equal(b->report.open_frames, 0);
  assert_int_equal(b->process.pid, getpid());
  assert_string_equal(b->strings[b->device.name], "Simulated 80GB");
  assert_int_equal(b->settings.count, 2);
  assert_string_equal(b->strings[b->settings.data[0].key], "expandable_segments");
  assert_int_equal(b->settings.data[0].kind, VS_TRACE_SETTING_BOOL);
  assert_string_equal(b->strings[b->settings.data[1].bits], "torch-2.15");
  assert_int_equal(b->annotations.count, 2);
  assert_string_equal(b->strings[b->annotations.data[0].stage], "START");
  assert_string_equal(b->strings[b->annotations.data[1].stage], "END");
  assert_int_equal(b->libraries.count, 1);
  assert_int_equal(b->libraries.data[0].device, 1);
  assert_int_equal(b->libraries.data[0].bytes, UINT64_C(5) << 30);
  assert_int_equal(b->libraries.data[0].time_us, b->annotations.data[1].time_us);
}

static void expect_named_stack(const back *b, const vs_trace_event *event) {
  const back_stack *stack = &b->stacks[event->stack];
  assert_int_equal(stack->count, 2);
  const vs_trace_frame *frame = &b->frames[stack->frames[0]];
  assert_string_equal(b->strings[frame->name], "forward");
  assert_string_equal(b->strings[frame->file], "model.py");
  assert_int_equal(frame->line, 3);
  assert_int_equal(b->natives[stack->frames[1]].offset, 0x1234);
}

static void expect_events(const back *b) {
  assert_int_equal(b->events.count, 5);
  const vs_trace_event *e = b->events.data;
  const vs_trace_context *c = &b->contexts[e[0].context];
  assert_int_equal(e[0].time_us, INT64_C(1700000000000002));
  assert_int_equal(e[0].rounded, 1024);
  assert_true(c->pool.a == 0 && c->pool.b == 3 && c->stream == 7 && c->device == 1 && c->has_pool);
  assert_int_equal(c->thread, vs_thread_id());
  assert_string_equal(b->strings[c->user_metadata], "layer 1");
  expect_named_stack(b, &e[0]);

  c = &b->contexts[e[1].context];
  assert_true(c->pool.a == 5 && c->pool.b == 6);
  assert_string_equal(b->strings[c->compile_context], "step");
  assert_int_equal(c->user_metadata, VS_TRACE_NONE);
  c = &b->contexts[e[2].context];
  assert_true(c->pool.a == 9 && c->pool.b == 0 && c->device == -1);
  assert_string_equal(b->strings[c->user_metadata], "7");
  assert_int_equal(e[2].stack, VS_TRACE_NONE);
  assert_int_equal(e[2].time_us, INT64_C(1700000000000002)); /* time may go back */

  assert_true(e[3].kind == VS_EVENT_FREE_REQUESTED && e[4].kind == VS_EVENT_FREE_COMPLETED);
  assert_true(e[3].address == 4096 && e[4].address == 4096 && e[4].context == e[2].context);
}

/* By module and offset. */
static void expect_native_stack(const back *b, const vs_record_stacks *stacks, vs_context native,
                                const vs_trace_event *event) {
  const uint64_t *addresses;
  const uint32_t count = vs_record_stack_at(stacks, native, &addresses);
  assert_int_equal(b->stacks[event->stack].count, count);
  for (uint32_t i = 0; i < count; i++) {
    const vs_trace_native *n = &b->natives[b->stacks[event->stack].frames[i]];
    const vs_trace_module *module = NULL;
    for (size_t k = 0; k < b->modules.count; k++)
      if (b->modules.data[k].id == n->module) module = &b->modules.data[k];
    assert_non_null(module);
    assert_int_equal(module->base + n->offset, addresses[i]);
    assert_true(n->offset < module->size);
    assert_true(*b->strings[module->path] == '/');
  }
}

static void expect_state(const back *b) {
  const vs_trace_event *e = b->events.data;
  assert_true(b->states == 1 && b->ended_states == 1 && b->segments.count == 1 && b->blocks.count == 1);
  assert_string_equal(b->strings[b->segments.data[0].type], "small");
  assert_int_equal(b->segments.data[0].stack, e[0].stack);
  assert_int_equal(b->blocks.data[0].state, VS_TRACE_PENDING);
  assert_int_equal(b->blocks.data[0].stack, e[1].stack);
}

static void test_all_kinds_of_messages(void **state) {
  (void)state;
  const given g = make_given();
  vs_recorder *recorder = open_with((vs_record_options){.stacks = g.stacks});
  record_facts(recorder);
  record_events(recorder, &g);
  record_state(recorder, &g);
  const vs_record_figures figures = close_it(recorder);
  assert_int_equal(figures.events, 5);
  assert_int_equal(figures.lost_ring + figures.lost_file + figures.lost_other, 0);
  assert_int_equal(figures.threads, 1);
  back *b = back_read(path);
  expect_facts(b);
  expect_events(b);
  expect_state(b);
  back_free(b);
  vs_record_stacks_destroy(g.stacks);
}

static void test_a_native_stack(void **state) {
  (void)state;
  need_native_stacks(vs_record_native_is_supported());
  vs_record_stacks *stacks;
  expect_ok(vs_record_stacks_create(NULL, &stacks));
  const vs_context native = vs_record_capture(stacks);
  assert_int_not_equal(native, VS_CONTEXT_NONE);
  vs_recorder *recorder = open_with((vs_record_options){.stacks = stacks});
  record(recorder, 0, native);
  (void)close_it(recorder);
  back *b = back_read(path);
  assert_int_not_equal(b->events.data[0].stack, VS_TRACE_NONE);
  expect_native_stack(b, stacks, native, &b->events.data[0]);
  back_free(b);
  vs_record_stacks_destroy(stacks);
}

/* ---- what events do not share */

typedef struct elsewhere {
  vs_recorder *recorder;
  vs_event event;
  vs_record_facts facts;
  uint64_t thread;
} elsewhere;

static void record_unread(void *ctx) {
  elsewhere *e = ctx;
  e->thread = vs_thread_id();
  vs_record_event(e->recorder, &e->event, &e->facts);
}

static void record_elsewhere(void *ctx) {
  record_unread(ctx);
  vs_record_flush(((elsewhere *)ctx)->recorder);
}

/* Events that differ from the one before in one thing only: its metadata, its pool, the thread that records it. */
static void test_an_event_takes_nothing_of_the_one_before(void **state) {
  (void)state;
  static const vs_pool_id pools[] = {{0, 3}, {0, 3}, {5, 6}, {7, 8}, {0, 0}};
  vs_record_stacks *stacks;
  uint32_t texts[2];
  expect_ok(vs_record_stacks_create(NULL, &stacks));
  expect_ok(vs_record_text_intern(stacks, VS_STR("forward"), &texts[0]));
  expect_ok(vs_record_text_intern(stacks, VS_STR("backward"), &texts[1]));
  elsewhere e = {
      .recorder = open_with((vs_record_options){.stacks = stacks}),
      .event = {
          .address = 4096, .size = 512, .rounded = 512, .context = VS_CONTEXT_NONE, .kind = VS_EVENT_ALLOC}};
  for (int i = 0; i < 5; i++) {
    e.event.pool = pools[i];
    e.facts.metadata = texts[i == 0];
    vs_record_event(e.recorder, &e.event, &e.facts);
  }
  vs_record_flush(e.recorder);
  vs_thread thread;
  expect_ok(vs_thread_start(&thread, "other", record_elsewhere, &e));
  vs_thread_join(&thread);
  vs_record_event(e.recorder, &e.event, &e.facts);
  assert_int_equal(close_it(e.recorder).events, 7);

  back *b = back_read(path);
  for (int i = 0; i < 7; i++) {
    const vs_trace_context *c = &b->contexts[b->events.data[i].context];
    const vs_pool_id pool = pools[i < 5 ? i : 4];
    assert_true(c->has_pool && c->pool.a == pool.a && c->pool.b == pool.b);
    assert_string_equal(b->strings[c->user_metadata], i == 0 ? "backward" : "forward");
    assert_int_equal(c->thread, i == 5 ? e.thread : vs_thread_id());
  }
  back_free(b);
  vs_record_stacks_destroy(stacks);
}

/* A long name is cut, and no shorter than need be. */
static void test_names_are_as_long_as_they_may_be(void **state) {
  (void)state;
  char name[VS_RECORD_MOST_TEXT + 9];
  memset(name, 'n', sizeof name);
  for (size_t size = VS_RECORD_MOST_TEXT - 1; size <= sizeof name; size++) {
    vs_recorder *recorder = open_with((vs_record_options){0});
    vs_record_device(recorder, 0, (vs_str){name, size}, 1);
    (void)close_it(recorder);
    back *b = back_read(path);
    assert_int_equal(strlen(b->strings[b->device.name]),
                     size < VS_RECORD_MOST_TEXT ? size : VS_RECORD_MOST_TEXT);
    back_free(b);
  }
}

static vs_status first_module(void *ctx, const vs_module *module) {
  vs_module *out = ctx;
  if (module->path[0] != 0 && out->end == 0) *out = *module;
  return VS_OK;
}

/* A call that does not return may be the last instruction of its module: then the return address lies behind it. */
static void test_a_return_address_belongs_to_its_call(void **state) {
  (void)state;
  vs_module module = {0};
  expect_ok(vs_modules_visit(first_module, &module));
  assert_true(module.end > module.start);
  vs_record_stacks *stacks;
  expect_ok(vs_record_stacks_create(NULL, &stacks));
  const vs_context context = vs_record_intern(stacks, &module.end, 1);
  vs_recorder *recorder = open_with((vs_record_options){.stacks = stacks});
  record(recorder, 0, context);
  (void)close_it(recorder);
  back *b = back_read(path);
  const vs_trace_native *native = &b->natives[b->stacks[b->events.data[0].stack].frames[0]];
  const vs_trace_module *found = NULL;
  for (size_t i = 0; i < b->modules.count; i++)
    if (b->modules.data[i].id == native->module) found = &b->modules.data[i];
  assert_non_null(found);
  assert_int_equal(found->base, module.base);
  assert_int_equal(native->offset, module.end - module.base);
  back_free(b);
  vs_record_stacks_destroy(stacks);
}

/* ---- order: threads take turns by a lock, as under a device's, and the file has their order */

enum { THREADS = 8, EACH = 5000 };

typedef struct crowd {
  vs_recorder *recorder;
  vs_record_stacks *stacks;
  vs_lock lock;
  uint64_t next;
} crowd;

static void record_in_turn(void *ctx) {
  crowd *c = ctx;
  for (uint64_t i = 0; i < EACH; i++) {
    const vs_context context = i % 4 == 0 ? vs_record_capture(c->stacks) : VS_CONTEXT_NONE;
    vs_lock_take(&c->lock);
    record(c->recorder, c->next++, context);
    vs_lock_give(&c->lock);
  }
}

static void run_crowd(crowd *c) {
  vs_thread threads[THREADS];
  for (unsigned i = 0; i < THREADS; i++) expect_ok(vs_thread_start(&threads[i], "worker", record_in_turn, c));
  for (unsigned i = 0; i < THREADS; i++) vs_thread_join(&threads[i]);
}

static void test_the_file_has_the_order_of_all_threads(void **state) {
  (void)state;
  crowd c = {0};
  expect_ok(vs_record_stacks_create(NULL, &c.stacks));
  c.recorder =
      open_with((vs_record_options){.stacks = c.stacks, .wait = true, .ring_slots = VS_RECORD_LEAST_RING});
  run_crowd(&c);
  const vs_record_figures figures = close_it(c.recorder);
  assert_int_equal(figures.events, THREADS * EACH);
  assert_int_equal(figures.threads, THREADS);
  back *b = back_read(path);
  assert_int_equal(b->events.count, THREADS * EACH);
  assert_int_equal(b->report.damages, 0);
  assert_int_equal(b->threads.count, THREADS);
  assert_string_equal(b->strings[b->threads.data[0].name], "worker");
  for (uint64_t i = 0; i < THREADS * EACH; i++) expect_numbered(b, i, i);
  back_free(b);
  vs_record_stacks_destroy(c.stacks);
}

/* ---- threads that come and go share rings */

/* The writer waits for a number that does not come; meanwhile the thread behind it ends, and another one begins. */
static void test_a_ring_is_kept_until_it_is_read(void **state) {
  (void)state;
  elsewhere e = {
      .recorder = open_with((vs_record_options){.flush_ms = 1}),
      .event = {
          .address = 4096, .size = 512, .rounded = 512, .context = VS_CONTEXT_NONE, .kind = VS_EVENT_ALLOC}};
  vs_record_event(e.recorder, &e.event, &e.facts);
  vs_record_flush(e.recorder);
  (void)atomic_fetch_add(&e.recorder->sequence, 1);
  uint64_t threads[2];
  for (int i = 0; i < 2; i++) {
    vs_thread thread;
    expect_ok(vs_thread_start(&thread, "short", record_unread, &e));
    vs_thread_join(&thread);
    threads[i] = e.thread;
    vs_clock_sleep_ns(30000000); /* time for the writer to look */
  }
  assert_int_equal(close_it(e.recorder).events, 3);
  back *b = back_read(path);
  assert_int_equal(b->events.count, 3);
  for (int i = 0; i < 2; i++) assert_int_equal(b->contexts[b->events.data[i + 1].context].thread, threads[i]);
  back_free(b);
}

static void record_one(void *ctx) {
  crowd *c = ctx;
  record(c->recorder, c->next++, VS_CONTEXT_NONE);
  vs_record_flush(c->recorder);
}

static void test_rings_are_used_again(void **state) {
  (void)state;
  enum { COUNT = 60 };
  crowd c = {.recorder = open_with((vs_record_options){.flush_ms = 1})};
  for (unsigned i = 0; i < COUNT; i++) {
    vs_thread thread;
    expect_ok(vs_thread_start(&thread, "short", record_one, &c));
    vs_thread_join(&thread);
    vs_clock_sleep_ns(1000000);
  }
  assert_true(c.recorder->ring_count < COUNT / 2);
  const vs_record_figures figures = close_it(c.recorder);
  assert_int_equal(figures.events, COUNT);
  assert_int_equal(figures.threads, COUNT);
  back *b = back_read(path);
  for (uint64_t i = 0; i < COUNT; i++) {
    expect_numbered(b, i, i);
    for (uint64_t k = 0; k < i; k++)
      assert_int_not_equal(b->contexts[b->events.data[i].context].thread,
                           b->contexts[b->events.data[k].context].thread);
  }
  back_free(b);
}

/* Threads that start and end faster than the writer works share a ring: 20,000 of them took 400 MB. */
static void record_and_end(void *ctx) {
  crowd *c = ctx;
  record(c->recorder, c->next++, VS_CONTEXT_NONE);
}

static void test_short_threads_share_a_ring(void **state) {
  (void)state;
  enum { COUNT = 3000 };
  crowd c = {.recorder = open_with((vs_record_options){.flush_ms = 10000})};
  for (unsigned i = 0; i < COUNT; i++) {
    vs_thread thread;
    expect_ok(vs_thread_start(&thread, "short", record_and_end, &c));
    vs_thread_join(&thread);
  }
  assert_int_equal(c.recorder->ring_count, 1);
  const vs_record_figures figures = close_it(c.recorder);
  assert_int_equal(figures.events, COUNT);
  assert_int_equal(figures.threads, COUNT);
  back *b = back_read(path);
  assert_int_equal(b->threads.count, COUNT);
  for (uint64_t i = 0; i < COUNT; i++) {
    expect_numbered(b, i, i);
    assert_int_equal(b->contexts[b->events.data[i].context].thread, b->threads.data[i].thread);
  }
  back_free(b);
}

/* A crowd that is there at once has a ring each; when it is gone, so is the memory of nearly all of them. */
typedef struct meeting {
  crowd crowd;
  pthread_barrier_t all;
} meeting;

static void record_together(void *ctx) {
  meeting *m = ctx;
  pthread_barrier_wait(&m->all);
  vs_lock_take(&m->crowd.lock);
  record(m->crowd.recorder, m->crowd.next++, VS_CONTEXT_NONE);
  vs_lock_give(&m->crowd.lock);
  pthread_barrier_wait(&m->all);
}

static uint32_t count_resident(const vs_recorder *recorder) {
  uint32_t resident = 0;
  for (uint32_t i = 0; i < recorder->ring_count; i++) resident += recorder->rings[i]->is_resident;
  return resident;
}

static void test_the_memory_of_ended_threads_is_released(void **state) {
  (void)state;
  enum { COUNT = 24 };
  meeting m = {.crowd = {.recorder = open_with((vs_record_options){.flush_ms = 1})}};
  vs_thread threads[COUNT];
  assert_int_equal(pthread_barrier_init(&m.all, NULL, COUNT), 0);
  for (int round = 0; round < 3; round++) {
    for (unsigned i = 0; i < COUNT; i++) expect_ok(vs_thread_start(&threads[i], "one", record_together, &m));
    for (unsigned i = 0; i < COUNT; i++) vs_thread_join(&threads[i]);
    for (int tries = 0; tries < 5000 && count_resident(m.crowd.recorder) > VS_RECORDER_SPARE_RINGS; tries++)
      vs_clock_sleep_ns(1000000);
    assert_in_range(count_resident(m.crowd.recorder), 1, VS_RECORDER_SPARE_RINGS);
    assert_in_range(m.crowd.recorder->ring_count, COUNT, 2 * COUNT);
  }
  assert_int_equal(close_it(m.crowd.recorder).events, 3 * COUNT);
  assert_int_equal(pthread_barrier_destroy(&m.all), 0);
  back *b = back_read(path);
  for (uint64_t i = 0; i < 3 * COUNT; i++) expect_numbered(b, i, i);
  back_free(b);
}

/* A thread that still frees memory while it is taken down, after it gave its ring back. */
static pthread_key_t late_key;
static bool had_a_ring;

static void record_late(void *value) {
  crowd *c = value;
  record(c->recorder, c->next++, VS_CONTEXT_NONE);
  const uint32_t count = c->recorder->ring_count;
  for (uint32_t i = 0; i < count; i++)
    had_a_ring = had_a_ring || (c->recorder->rings[i]->owner == vs_thread_id() &&
                                c->recorder->rings[i]->state == VS_RING_OWNED);
}

static void record_and_leave(void *ctx) {
  record_one(ctx);
  (void)pthread_setspecific(late_key, ctx);
}

static void test_a_thread_records_to_its_very_end(void **state) {
  (void)state;
  crowd c = {.recorder = open_with((vs_record_options){0})};
  vs_thread thread;
  assert_int_equal(pthread_key_create(&late_key, record_late),
                   0); /* after the recorder's own key: it comes after it */
  expect_ok(vs_thread_start(&thread, "late", record_and_leave, &c));
  vs_thread_join(&thread);
  assert_int_equal(pthread_key_delete(late_key), 0);
  assert_true(had_a_ring);
  assert_int_equal(close_it(c.recorder).events, 2);
  back *b = back_read(path);
  for (uint64_t i = 0; i < 2; i++) expect_numbered(b, i, i);
  back_free(b);
}

/* ---- fork */

static void test_a_child_leaves_the_parents_file_alone(void **state) {
  (void)state;
  crowd c = {0};
  expect_ok(vs_record_stacks_create(NULL, &c.stacks));
  c.recorder = open_on(fork_host(), (vs_record_options){.stacks = c.stacks, .wait = true});
  for (; c.next < 1000; c.next++) record(c.recorder, c.next, vs_record_capture(c.stacks));
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    if (vs_record_is_on(c.recorder)) _exit(1);
    for (uint64_t i = 0; i < 100000; i++) record(c.recorder, 5, vs_record_capture(c.stacks));
    vs_record_flush(c.recorder);
    put_text_setting(c.recorder, VS_STR("key"), VS_STR("value"));
    vs_record_figures figures;
    if (vs_record_close(c.recorder, &figures, NULL) != VS_OK || figures.events != 0) _exit(2);
#if !defined(__SANITIZE_THREAD__) /* which takes no threads in a child of threads */
    char own[sizeof path + 8];
    vs_format(own, sizeof own, "%s.child", path);
    vs_recorder *recorder;
    const vs_record_options options = {.path = own, .stacks = c.stacks, .wait = true};
    if (vs_record_open(fork_host(), &options, &recorder, NULL) != VS_OK) _exit(3);
    for (uint64_t i = 0; i < 500; i++) record(recorder, i, vs_record_capture(c.stacks));
    _exit(vs_record_close(recorder, NULL, NULL) == VS_OK ? 0 : 4);
#else
    _exit(0);
#endif
  }
  for (; c.next < 2000; c.next++) record(c.recorder, c.next, vs_record_capture(c.stacks));
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  for (; c.next < 3000; c.next++) record(c.recorder, c.next, vs_record_capture(c.stacks));
  (void)close_it(c.recorder);
  back *b = back_read(path);
  assert_int_equal(b->events.count, 3000);
  assert_int_equal(b->settings.count, 0);
  for (uint64_t i = 0; i < 3000; i++) expect_numbered(b, i, i);
  back_free(b);
#if !defined(__SANITIZE_THREAD__)
  char own[sizeof path + 8];
  vs_format(own, sizeof own, "%s.child", path);
  b = back_read(own);
  assert_int_equal(b->events.count, 500);
  assert_int_equal(b->process.pid, child);
  assert_int_equal(b->process.parent, getpid());
  back_free(b);
#endif
  vs_record_stacks_destroy(c.stacks);
}

/* ---- equal runs, equal bytes */

static size_t simulate(uint8_t *bytes, size_t capacity) {
  vs_record_stacks *stacks;
  expect_ok(vs_record_stacks_create(NULL, &stacks));
  vs_recorder *recorder =
      open_with((vs_record_options){.stacks = stacks, .wait = true, .is_simulated = true});
  for (uint64_t i = 0; i < 50000; i++) {
    uint64_t word = 0;
    expect_ok(vs_record_frame_intern(
        stacks,
        &(vs_record_frame){.function = VS_STR("f"), .file = VS_STR("x.py"), .line = (int64_t)(i % 100)},
        &word));
    record(recorder, i, vs_record_intern(stacks, &word, 1));
  }
  (void)close_it(recorder);
  vs_record_stacks_destroy(stacks);
  vs_infile file;
  vs_error error;
  size_t size = 0, got = 1;
  expect_ok(vs_infile_open(&file, path, &error));
  const vs_reader reader = vs_infile_reader(&file);
  for (; got != 0 && size < capacity; size += got)
    expect_ok(reader.read(reader.ctx, bytes + size, capacity - size, &got));
  vs_infile_close(&file);
  return size;
}

static void test_simulated_runs_give_equal_bytes(void **state) {
  (void)state;
  enum { CAPACITY = 4 << 20 };
  uint8_t *first = malloc(CAPACITY), *second = malloc(CAPACITY);
  assert_true(first != NULL && second != NULL);
  const size_t size = simulate(first, CAPACITY);
  assert_true(size > 65536 && size < CAPACITY);
  assert_int_equal(simulate(second, CAPACITY), size);
  assert_memory_equal(first, second, size);
  free(first);
  free(second);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_kinds_of_messages),
      cmocka_unit_test(test_a_native_stack),
      cmocka_unit_test(test_an_event_takes_nothing_of_the_one_before),
      cmocka_unit_test(test_names_are_as_long_as_they_may_be),
      cmocka_unit_test(test_a_return_address_belongs_to_its_call),
      cmocka_unit_test(test_the_file_has_the_order_of_all_threads),
      cmocka_unit_test(test_a_ring_is_kept_until_it_is_read),
      cmocka_unit_test(test_rings_are_used_again),
      cmocka_unit_test(test_short_threads_share_a_ring),
      cmocka_unit_test(test_the_memory_of_ended_threads_is_released),
      cmocka_unit_test(test_a_thread_records_to_its_very_end),
      cmocka_unit_test(test_a_child_leaves_the_parents_file_alone),
      cmocka_unit_test(test_simulated_runs_give_equal_bytes),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
