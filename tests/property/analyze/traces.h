/* Traces at random, from honest to contradictory: blocks and ranges over a small address space, times that stand still,
 * go back or are missing. */
#ifndef VS_TESTS_TRACES_H
#define VS_TESTS_TRACES_H

#include "support/random.h"
#include "unit/analyze/made.h"

enum { TRACE_CELLS = 48, TRACE_CELL = 1024, TRACE_SLOTS = 300 };

typedef struct trace_plan {
  uint64_t events;
  uint64_t slots; /* for blocks, up to TRACE_SLOTS */
  bool is_honest; /* blocks are freed once, after their alloc */
  bool has_times;
  bool is_at_request; /* no free_completed */
} trace_plan;

static inline trace_plan plan_at_random(test_random *random) {
  const bool is_long = random_below(random, 12) == 0;
  return (trace_plan){
      .events = is_long ? 300 + random_below(random, 700) : random_below(random, 90),
      .slots = is_long ? TRACE_SLOTS : 1 + random_below(random, 40),
      .is_honest = random_below(random, 2) == 0,
      .has_times = random_below(random, 4) != 0,
      .is_at_request = random_below(random, 6) == 0,
  };
}

typedef struct trace_book {
  uint64_t size[TRACE_SLOTS]; /* 0: nothing is there, as far as the book knows */
  bool is_requested[TRACE_SLOTS];
  int64_t now;
} trace_book;

static inline uint64_t size_at_random(test_random *random) {
  const uint64_t dice = random_below(random, 20);
  return dice == 0 ? 0 : dice < 14 ? 1 + random_below(random, 60) : 1 + random_below(random, 3000);
}

static inline void play_honest_block(made *m, test_random *random, const trace_plan *plan, trace_book *book) {
  const uint64_t slot = random_below(random, plan->slots), address = 1 + slot * 2;
  if (book->size[slot] == 0) {
    book->size[slot] = 1 + size_at_random(random);
    (void)made_event(m, VS_EVENT_ALLOC, address, book->size[slot]);
    return;
  }
  if (!book->is_requested[slot]) (void)made_event(m, VS_EVENT_FREE_REQUESTED, address, book->size[slot]);
  book->is_requested[slot] = !plan->is_at_request;
  if (!plan->is_at_request && random_below(random, 3) == 0) return;
  if (!plan->is_at_request) (void)made_event(m, VS_EVENT_FREE_COMPLETED, address, book->size[slot]);
  book->size[slot] = 0;
  book->is_requested[slot] = false;
}

static inline void play_any_block(made *m, test_random *random, const trace_plan *plan) {
  static const vs_event_kind kinds[] = {VS_EVENT_ALLOC, VS_EVENT_ALLOC, VS_EVENT_FREE_REQUESTED,
                                        VS_EVENT_FREE_COMPLETED};
  const vs_event_kind kind = kinds[random_below(random, 4)];
  if (plan->is_at_request && kind == VS_EVENT_FREE_COMPLETED) return;
  (void)made_event(m, kind, 1 + random_below(random, 10) * 2, size_at_random(random));
}

static inline void play_any_range(made *m, test_random *random) {
  const uint64_t first = random_below(random, TRACE_CELLS), count = random_below(random, TRACE_CELLS - first);
  const vs_event_kind kind = (vs_event_kind)(VS_EVENT_SEGMENT_ALLOC + random_below(random, 4));
  const uint32_t event = made_event(m, kind, first * TRACE_CELL, count * TRACE_CELL);
  vs_events *events = &m->snapshot->events;
  if (random_below(random, 30) == 0)
    expect_ok(vs_events_set_missing(m->host, events, m->first_event + event, VS_EVENT_NO_ADDRESS));
  if (random_below(random, 3) == 0)
    expect_ok(vs_events_set_stream(m->host, events, m->first_event + event, 1));
}

static inline void put_times(made *m, test_random *random, uint32_t from, trace_book *book) {
  for (uint32_t event = from; event < m->snapshot->events.count; event++) {
    const uint64_t dice = random_below(random, 10);
    if (dice < 6) book->now += (int64_t)random_below(random, 5);
    if (dice < 8) made_time(m, event, book->now);
    else if (dice == 8) made_time(m, event, book->now - (int64_t)random_below(random, 9));
  }
}

/* An end state that may have nothing to do with the trace: segments that tile some of the cells, two of which may touch,
 * and blocks in them. */
static inline void make_end_state(made *m, test_random *random) {
  for (uint64_t cell = random_below(random, 8); cell < TRACE_CELLS;) {
    const uint64_t count = 1 + random_below(random, 6);
    vs_segment *segment =
        made_segment(m, 0, cell * TRACE_CELL, 0, random_below(random, 2) == 0 ? "small" : "");
    segment->is_expandable = random_below(random, 2) == 0;
    segment->has = VS_SEGMENT_HAS_EXPANDABLE;
    for (uint64_t i = 0; i < count; i++) {
      segment->total_size += TRACE_CELL;
      (void)made_block(m, TRACE_CELL, random_below(random, TRACE_CELL),
                       (vs_block_state)random_below(random, 4));
    }
    cell += count + (random_below(random, 2) == 0 ? 0 : random_below(random, 12));
  }
}

/* A block of the end state for what the honest book still holds. */
static inline void keep_in_end_state(made *m, test_random *random, const trace_book *book) {
  (void)made_segment(m, 0, (uint64_t)1 << 40, 0, "large");
  for (uint64_t slot = 0; slot < TRACE_SLOTS; slot++) {
    if (book->size[slot] == 0 || random_below(random, 8) == 0) continue;
    made_block(m, TRACE_CELL, book->size[slot],
               book->is_requested[slot] ? VS_BLOCK_PENDING : VS_BLOCK_ALLOCATED)
        ->address = 1 + slot * 2;
  }
}

static inline made trace_at_random(test_random *random, const trace_plan *plan) {
  made m = made_begin();
  trace_book book = {.now = 1000};
  (void)made_stream(&m, 7);
  while (m.snapshot->events.count < plan->events) {
    const uint32_t from = m.snapshot->events.count;
    const uint64_t dice = random_below(random, 10);
    if (dice == 0) (void)made_event(&m, VS_EVENT_SNAPSHOT, 0, 0);
    else if (dice < 3) play_any_range(&m, random);
    else if (plan->is_honest) play_honest_block(&m, random, plan, &book);
    else play_any_block(&m, random, plan);
    if (plan->has_times) put_times(&m, random, from, &book);
  }
  made_trace(&m, 0);
  if (random_below(random, 8) != 0) make_end_state(&m, random);
  if (plan->is_honest) keep_in_end_state(&m, random, &book);
  return m;
}

#endif
