/* Scopes against a walk over the events, one by one; and that they change nothing else. */
#include "live/state.h"
#include "os/thread.h"
#include "support/random.h"
#include "support/test.h"

enum { SLOTS = 64, SCOPES = 8 };

static vs_live *open_card(const char *settings) {
  vs_live *live;
  vs_error error;
  const vs_live_options options = {.gpus = "512MiB", .settings = settings, .done_at_sync = true};
  expect_ok(vs_live_open(&options, &live, &error));
  return live;
}

static void close_card(vs_live *live) {
  vs_error error;
  assert_null(vs_live_check(live));
  expect_ok(vs_live_close(live, &error));
}

/* ---- the naive model: what every figure was after every event */

typedef struct naive {
  int64_t now[VS_SCOPE_KINDS], start[VS_SCOPE_KINDS], peak[VS_SCOPE_KINDS];
} naive;

static void step(naive *n, const vs_history_entry *e, int64_t rounded) {
  const int64_t size = (int64_t)e->size;
  switch ((vs_event_kind)e->kind) {
    case VS_EVENT_ALLOC:
      n->now[VS_SCOPE_ALLOCATED] += rounded;
      n->now[VS_SCOPE_ACTIVE] += rounded;
      n->now[VS_SCOPE_REQUESTED] += size;
      break;
    case VS_EVENT_FREE_REQUESTED: n->now[VS_SCOPE_ALLOCATED] -= rounded; break;
    case VS_EVENT_FREE_COMPLETED:
      n->now[VS_SCOPE_ACTIVE] -= rounded;
      n->now[VS_SCOPE_REQUESTED] -= size;
      break;
    case VS_EVENT_SEGMENT_ALLOC:
    case VS_EVENT_SEGMENT_MAP: n->now[VS_SCOPE_RESERVED] += size; break;
    case VS_EVENT_SEGMENT_FREE:
    case VS_EVENT_SEGMENT_UNMAP: n->now[VS_SCOPE_RESERVED] -= size; break;
    default: break;
  }
  for (int k = 0; k < VS_SCOPE_KINDS; k++)
    if (n->now[k] > n->peak[k]) n->peak[k] = n->now[k];
}

typedef struct measured {
  vs_scope *scope;
  naive naive;
  uint64_t allocations, frees;
} measured;

typedef struct program {
  vs_live *live, *twin; /* the twin has no scopes */
  uint64_t streams[2];
  uint64_t addresses[SLOTS];
  measured scopes[SCOPES];
  naive now;
  vs_map rounded; /* address -> bytes of the block / 512, from the allocator itself; pending blocks too */
  uint64_t seen;  /* entries of history that were walked */
  test_random random;
} program;

static int64_t rounded_of(program *p, const vs_history_entry *e) {
  const size_t slot = vs_map_find(&p->rounded, e->address);
  if (e->kind != VS_EVENT_ALLOC) return slot == VS_MAP_NONE ? 0 : 512 * (int64_t)p->rounded.slots[slot].value;
  vs_alloc_block_info block;
  assert_true(vs_alloc_find(p->live->devices[0]->alloc, e->address, &block));
  if (slot != VS_MAP_NONE) vs_map_remove(&p->rounded, slot);
  expect_ok(vs_map_reserve(vs_host_default(), &p->rounded));
  vs_map_add(&p->rounded, e->address, (uint32_t)(block.size / 512));
  return (int64_t)block.size;
}

static void walk(program *p) {
  const vs_history *history = &p->live->devices[0]->history;
  for (; p->seen < history->entries.count; p->seen++) {
    const vs_history_entry *e = vs_history_at(history, p->seen);
    const int64_t rounded = rounded_of(p, e);
    step(&p->now, e, rounded);
    for (int s = 0; s < SCOPES; s++) {
      measured *m = &p->scopes[s];
      if (m->scope == NULL) continue;
      step(&m->naive, e, rounded);
      m->allocations += e->kind == VS_EVENT_ALLOC;
      m->frees += e->kind == VS_EVENT_FREE_REQUESTED;
    }
  }
}

/* ---- what a random program does */

static void allocate(program *p, uint64_t size) {
  const uint64_t slot = random_below(&p->random, SLOTS), stream = p->streams[random_below(&p->random, 2)];
  uint64_t other;
  if (p->addresses[slot] != 0) return;
  const vs_status status = vs_live_malloc(p->live, 0, size, stream, &p->addresses[slot]);
  expect_status(vs_live_malloc(p->twin, 0, size, stream, &other), status);
  if (status != VS_OK) p->addresses[slot] = 0;
  else assert_int_equal(other, p->addresses[slot]);
}

static void release(program *p) {
  const uint64_t slot = random_below(&p->random, SLOTS), address = p->addresses[slot];
  if (address == 0) return;
  if (random_below(&p->random, 4) == 0)
    for (int i = 0; i < 2; i++) {
      expect_ok(vs_live_record_stream(p->live, 0, address, p->streams[i]));
      expect_ok(vs_live_record_stream(p->twin, 0, address, p->streams[i]));
    }
  expect_ok(vs_live_free(p->live, 0, address));
  expect_ok(vs_live_free(p->twin, 0, address));
  p->addresses[slot] = 0;
}

static void tidy_up(program *p) {
  const uint64_t stream = p->streams[random_below(&p->random, 2)];
  expect_ok(vs_live_synchronize(p->live, 0, stream));
  expect_ok(vs_live_synchronize(p->twin, 0, stream));
  if (random_below(&p->random, 4) != 0) return;
  expect_ok(vs_live_empty_cache(p->live));
  expect_ok(vs_live_empty_cache(p->twin));
}

/* The program may reset its own peaks at any moment. */
static void reset(program *p) {
  expect_ok(vs_live_reset_peak(p->live, 0));
  expect_ok(vs_live_reset_peak(p->twin, 0));
  expect_ok(vs_live_reset_totals(p->live, 0));
  expect_ok(vs_live_reset_totals(p->twin, 0));
}

static void expect_bytes(const vs_scope_bytes *got, const naive *n, vs_scope_kind kind) {
  const int64_t start = n->start[kind], end = n->now[kind], peak = n->peak[kind];
  assert_int_equal(got->start, start);
  assert_int_equal(got->end, end);
  assert_int_equal(got->peak, peak);
  assert_int_equal(got->used, end - start);
  assert_int_equal(got->peaked, peak - (start > end ? start : end));
}

static void expect_figures(const measured *m, const vs_scope_figures *figures) {
  expect_bytes(&figures->allocated, &m->naive, VS_SCOPE_ALLOCATED);
  expect_bytes(&figures->requested, &m->naive, VS_SCOPE_REQUESTED);
  expect_bytes(&figures->active, &m->naive, VS_SCOPE_ACTIVE);
  expect_bytes(&figures->reserved, &m->naive, VS_SCOPE_RESERVED);
  assert_int_equal(figures->allocations, m->allocations);
  assert_int_equal(figures->frees, m->frees);
  assert_int_equal(figures->thread_used, figures->allocated.used); /* there is one thread */
  assert_int_equal(figures->thread_peak, figures->allocated.peak - figures->allocated.start);
}

/* Begins, reads or ends one, in any order. */
static void measure(program *p) {
  measured *m = &p->scopes[random_below(&p->random, SCOPES)];
  vs_scope_figures figures;
  if (m->scope == NULL) {
    expect_ok(vs_live_scope_begin(p->live, 0, &m->scope));
    m->naive = p->now;
    memcpy(m->naive.start, p->now.now, sizeof m->naive.start);
    memcpy(m->naive.peak, p->now.now, sizeof m->naive.peak);
    m->allocations = m->frees = 0;
    return;
  }
  if (random_below(&p->random, 2) == 0) {
    vs_live_scope_read(m->scope, &figures);
    expect_figures(m, &figures);
    return;
  }
  vs_live_scope_end(m->scope, &figures);
  m->scope = NULL;
  expect_figures(m, &figures);
}

static void act(program *p) {
  const uint64_t what = random_below(&p->random, 100);
  if (what < 30) allocate(p, 1 + random_below(&p->random, 1 << 20));
  else if (what < 45) allocate(p, 1 + random_below(&p->random, UINT64_C(24) << 20));
  else if (what < 85) release(p);
  else if (what < 95) measure(p);
  else if (what < 99) tidy_up(p);
  else reset(p);
  assert_null(vs_live_check(p->live));
}

typedef struct listed {
  int64_t values[256];
  int count, next;
} listed;

static vs_status list(void *ctx, vs_str key, int64_t value) {
  listed *l = ctx;
  (void)key;
  l->values[l->count++] = value;
  return VS_OK;
}

static vs_status compare(void *ctx, vs_str key, int64_t value) {
  listed *l = ctx;
  if (l->values[l->next] != value) fail_msg("%.*s", (int)key.size, key.data);
  l->next++;
  return VS_OK;
}

/* Every statistic, with its peaks, is the same as without scopes. */
static void expect_twins(program *p) {
  listed l = {.count = 0};
  expect_ok(vs_live_statistics(p->twin, 0, list, &l));
  expect_ok(vs_live_statistics(p->live, 0, compare, &l));
  assert_int_equal(l.next, l.count);
  assert_true(l.count > 100);
}

static void run(const char *settings, uint64_t seed, int steps) {
  program p = {.live = open_card(settings), .twin = open_card(settings), .random = {seed}};
  const vs_history_options all = {.enabled = VS_HISTORY_EVENTS, .max_entries = UINT64_MAX};
  vs_error error;
  expect_ok(vs_live_history(p.live, &all, &error));
  expect_ok(vs_live_stream_create(p.live, 0, &p.streams[1]));
  expect_ok(vs_live_stream_create(p.twin, 0, &p.streams[1]));
  for (int i = 0; i < steps; i++) {
    act(&p);
    walk(&p);
    if (i % 64 == 0) expect_twins(&p);
  }
  vs_map_deinit(vs_host_default(), &p.rounded);
  close_card(p.live); /* with scopes open */
  close_card(p.twin);
}

static void figures_are_exact(void **state) {
  (void)state;
  const int steps = (int)test_repetitions(2000, 500);
  for (uint64_t seed = 1; seed <= test_repetitions(4, 1); seed++) {
    run("", seed, 2 * steps);
    run("expandable_segments:True", seed, 2 * steps);
    run("max_split_size_mb:20", seed, steps);
  }
}

static void fastai_words(void **state) {
  (void)state;
  vs_live *live = open_card("");
  vs_scope *outer, *inner;
  vs_scope_figures figures;
  uint64_t a, b;
  expect_ok(vs_live_scope_begin(live, 0, &outer));
  expect_ok(vs_live_malloc(live, 0, 4 << 20, 0, &a));
  expect_ok(vs_live_scope_begin(live, 0, &inner));
  expect_ok(vs_live_malloc(live, 0, 8 << 20, 0, &b));
  expect_ok(vs_live_free(live, 0, b));
  vs_live_scope_end(inner, &figures); /* used nothing for good, 8 MiB for a time */
  assert_int_equal(figures.allocated.used, 0);
  assert_int_equal(figures.allocated.peaked, 8 << 20);
  expect_ok(vs_live_free(live, 0, a));
  vs_live_scope_end(outer, &figures);
  assert_int_equal(figures.allocated.used, 0);
  assert_int_equal(figures.allocated.peaked, 12 << 20);
  vs_live_scope_end(NULL, &figures);
  expect_status(vs_live_scope_begin(live, 1, &outer), VS_BAD_ARGUMENT);
  assert_null(outer);
  close_card(live);
}

typedef struct elsewhere {
  vs_live *live;
  uint64_t address; /* 0: allocates, else frees it */
} elsewhere;

static void act_elsewhere(void *ctx) {
  elsewhere *e = ctx;
  if (e->address == 0) expect_ok(vs_live_malloc(e->live, 0, 1 << 20, 0, &e->address));
  else expect_ok(vs_live_free(e->live, 0, e->address));
}

static void act_on_a_thread(elsewhere *e) {
  vs_thread thread;
  expect_ok(vs_thread_start(&thread, "other", act_elsewhere, e));
  vs_thread_join(&thread);
}

/* All memory counts for a scope, but only what the scope's thread does is its own. */
static void each_thread_is_charged_with_its_own(void **state) {
  (void)state;
  elsewhere e = {.live = open_card("")};
  vs_scope *scope;
  vs_scope_figures figures;
  uint64_t own;
  expect_ok(vs_live_scope_begin(e.live, 0, &scope));
  act_on_a_thread(&e);
  vs_live_scope_read(scope, &figures);
  assert_int_equal(figures.allocated.used, 1 << 20);
  assert_int_equal(figures.thread_used, 0);
  assert_int_equal(figures.thread_peak, 0);
  expect_ok(vs_live_malloc(e.live, 0, 4 << 20, 0, &own));
  act_on_a_thread(&e); /* frees what it allocated */
  vs_live_scope_end(scope, &figures);
  assert_int_equal(figures.allocated.used, 4 << 20);
  assert_int_equal(figures.thread_used, 4 << 20);
  assert_int_equal(figures.thread_peak, 4 << 20);
  close_card(e.live);
}

/* A freed block that another stream may still use is active and not allocated. */
static void active_is_more_than_allocated(void **state) {
  (void)state;
  vs_live *live = open_card("");
  vs_live_memory memory;
  uint64_t stream, address;
  expect_ok(vs_live_stream_create(live, 0, &stream));
  expect_ok(vs_live_malloc(live, 0, 1000, 0, &address));
  expect_ok(vs_live_record_stream(live, 0, address, stream));
  expect_ok(vs_live_free(live, 0, address));
  expect_ok(vs_live_memory_of(live, 0, &memory));
  assert_int_equal(memory.allocated, 0);
  assert_int_equal(memory.active, 1024);
  assert_int_equal(memory.active_peak, 1024);
  close_card(live);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(figures_are_exact),
      cmocka_unit_test(fastai_words),
      cmocka_unit_test(each_thread_is_charged_with_its_own),
      cmocka_unit_test(active_is_more_than_allocated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
