/* The analysis of honest runs: a toy allocator keeps a book of what really happens while it writes a trace. The analysis
 * sees a window of the trace, perhaps with an action left out, and the end state; at every event it has to say what the
 * book says: curves, live blocks, address space. */
#include "analyze/curve.h"
#include "analyze/state.h"
#include "support/random.h"
#include "unit/analyze/judged.h"
#include "unit/analyze/made.h"

/* ---- the toy allocator --------------------------------------------------------------------------------- */

/* Addresses are cells of 512 bytes. The first half holds segments of 8 cells, each for itself; the second is one
 * expandable segment with pages of 4 cells. */
enum { CELL = 512, CELLS = 64, FIXED = 32, FIXED_CELLS = 8, PAGE_CELLS = 4, RUN_EVENTS = 120 };

typedef struct life {
  uint64_t address, size;
  uint32_t born, requested, completed; /* indices in the full trace; VS_NO_EVENT: not yet */
} life;

typedef struct written {
  vs_event_kind kind;
  uint64_t address, size;
  uint64_t mapped_after; /* one bit for each cell */
} written;

typedef struct book {
  test_random random;
  written events[RUN_EVENTS + 2];
  uint32_t event_count;
  life lives[RUN_EVENTS];
  uint32_t life_count;
  uint64_t mapped, used; /* cells; pending ones are used */
} book;

static uint64_t cells(uint64_t first, uint64_t count) { return ((UINT64_C(1) << count) - 1) << first; }

static uint32_t write_event(book *b, vs_event_kind kind, uint64_t address, uint64_t size) {
  b->events[b->event_count] = (written){kind, address, size, b->mapped};
  return b->event_count++;
}

static void play_alloc(book *b) {
  const uint64_t count = 1 + random_below(&b->random, 4), first = random_below(&b->random, CELLS - count + 1);
  const uint64_t taken = cells(first, count);
  if ((b->mapped & taken) != taken || (b->used & taken) != 0) return;
  if (first < FIXED && first / FIXED_CELLS != (first + count - 1) / FIXED_CELLS)
    return; /* not across segments */
  if (first < FIXED && first + count > FIXED) return;
  b->used |= taken;
  life *l = &b->lives[b->life_count++];
  *l = (life){.address = first * CELL, .size = (count - 1) * CELL + 1 + random_below(&b->random, CELL)};
  l->requested = l->completed = VS_NO_EVENT;
  l->born = write_event(b, VS_EVENT_ALLOC, l->address, l->size);
}

static void complete(book *b, life *l) {
  b->used &= ~cells(l->address / CELL, (l->size + CELL - 1) / CELL);
  l->completed = write_event(b, VS_EVENT_FREE_COMPLETED, l->address, l->size);
}

static void play_free(book *b) {
  if (b->life_count == 0) return;
  life *l = &b->lives[random_below(&b->random, b->life_count)];
  if (l->completed != VS_NO_EVENT) return;
  if (l->requested != VS_NO_EVENT) {
    complete(b, l);
    return;
  }
  l->requested = write_event(b, VS_EVENT_FREE_REQUESTED, l->address, l->size);
  if (random_below(&b->random, 3) != 0) complete(b, l);
}

static void play_range(book *b) {
  const bool fixed = random_below(&b->random, 2) == 0;
  const uint64_t unit = fixed ? FIXED_CELLS : PAGE_CELLS;
  const uint64_t first = (fixed ? 0 : FIXED) + random_below(&b->random, FIXED / unit) * unit;
  const uint64_t range = cells(first, unit);
  if ((b->mapped & range) == 0) {
    b->mapped |= range;
    (void)write_event(b, fixed ? VS_EVENT_SEGMENT_ALLOC : VS_EVENT_SEGMENT_MAP, first * CELL, unit * CELL);
  } else if ((b->used & range) == 0) {
    b->mapped &= ~range;
    (void)write_event(b, fixed ? VS_EVENT_SEGMENT_FREE : VS_EVENT_SEGMENT_UNMAP, first * CELL, unit * CELL);
  }
}

static void play(book *b, uint64_t seed) {
  *b = (book){.random = {seed}};
  while (b->event_count < RUN_EVENTS) {
    const uint64_t dice = random_below(&b->random, 10);
    if (dice < 4) play_alloc(b);
    else if (dice < 8) play_free(b);
    else if (dice < 9) play_range(b);
    else if (random_below(&b->random, 8) == 0) (void)write_event(b, VS_EVENT_SNAPSHOT, 0, 0);
  }
}

/* ---- what the analysis sees ---------------------------------------------------------------------------- */

typedef struct window {
  uint32_t first;
  vs_event_kind skipped;         /* VS_EVENT_UNKNOWN: none */
  uint32_t full[RUN_EVENTS + 2]; /* the index in the full trace of each event seen */
  uint32_t count;
} window;

/* Segments as the driver and the mapping made them: [start, end) in cells, in order. */
static uint32_t list_segments(uint64_t mapped, uint64_t starts[CELLS], uint64_t ends[CELLS]) {
  uint32_t count = 0;
  for (uint64_t cell = 0; cell < CELLS;) {
    const uint64_t unit = cell < FIXED ? FIXED_CELLS : PAGE_CELLS;
    if ((mapped >> cell & 1) == 0) {
      cell += unit;
      continue;
    }
    starts[count] = cell;
    do cell += unit;
    while (cell > FIXED && cell < CELLS && (mapped >> cell & 1) != 0);
    ends[count++] = cell;
  }
  return count;
}

static const life *life_in_cell(const book *b, uint64_t cell) {
  for (uint32_t i = 0; i < b->life_count; i++) {
    const life *l = &b->lives[i];
    if (l->completed == VS_NO_EVENT && l->address <= cell * CELL && cell * CELL < l->address + l->size)
      return l;
  }
  return NULL;
}

static void make_end_state(made *m, const book *b) {
  uint64_t starts[CELLS], ends[CELLS];
  const uint32_t count = list_segments(b->mapped, starts, ends);
  for (uint32_t i = 0; i < count; i++) {
    vs_segment *segment = made_segment(m, 0, starts[i] * CELL, (ends[i] - starts[i]) * CELL, "small");
    if (starts[i] >= FIXED) {
      segment->is_expandable = true;
      segment->has = VS_SEGMENT_HAS_EXPANDABLE;
    }
    for (uint64_t cell = starts[i]; cell < ends[i];) {
      const life *l = life_in_cell(b, cell);
      uint64_t size = 1;
      if (l != NULL) {
        size = (l->size + CELL - 1) / CELL;
        (void)made_block(m, size * CELL, l->size,
                         l->requested == VS_NO_EVENT ? VS_BLOCK_ALLOCATED : VS_BLOCK_PENDING);
      } else {
        while (cell + size < ends[i] && life_in_cell(b, cell + size) == NULL) size++;
        (void)made_block(m, size * CELL, 0, VS_BLOCK_INACTIVE);
      }
      cell += size;
    }
  }
}

static void make_window(made *m, const book *b, window *w) {
  for (uint32_t i = w->first; i < b->event_count; i++) {
    if (b->events[i].kind == w->skipped) continue;
    (void)made_event(m, b->events[i].kind, b->events[i].address, b->events[i].size);
    w->full[w->count++] = i;
  }
  made_trace(m, 0);
}

/* ---- comparing ----------------------------------------------------------------------------------------- */

/* The moment in the full trace that a moment of the window is: just before the next event that is seen. */
static int64_t full_moment(const window *w, const book *b, vs_moment moment) {
  if (moment + 1 < w->count) return (int64_t)w->full[moment + 1] - 1;
  return (int64_t)b->event_count - 1;
}

static bool happened(uint32_t at, int64_t now) { return at != VS_NO_EVENT && (int64_t)at <= now; }

/* When a life ends as this window counts; a moment later nothing is left of it. */
static uint32_t end_of_life(const life *l, vs_closing closing) {
  return closing.at_request ? l->requested : l->completed;
}

static void compare_curves(const book *b, const window *w, const vs_slice *slice) {
  vs_curves curves;
  vs_curves_measure(slice, &curves);
  vs_curve_cursor cursor = vs_curve_cursor_at_start(slice, &curves);
  int64_t peak = INT64_MIN;
  vs_moment peak_at = VS_AT_START;
  for (vs_moment moment = VS_AT_START; moment < (vs_moment)w->count; moment++) {
    const int64_t now = full_moment(w, b, moment);
    int64_t wanted[VS_CURVE_KINDS] = {0};
    for (uint32_t i = 0; i < b->life_count; i++) {
      const life *l = &b->lives[i];
      const uint32_t held_until = curves.closing.only_completion ? l->completed : l->requested;
      if (!happened(l->born, now)) continue;
      if (!happened(end_of_life(l, curves.closing), now)) wanted[VS_CURVE_REQUESTED] += (int64_t)l->size;
      if (!happened(held_until, now)) wanted[VS_CURVE_HELD] += (int64_t)l->size;
    }
    wanted[VS_CURVE_RESERVED] =
        now < 0 ? 0 : __builtin_popcountll(b->events[now].mapped_after) * (int64_t)CELL;
    vs_curve_cursor_move(&cursor, moment);
    for (int kind = 0; kind < VS_CURVE_KINDS; kind++) assert_int_equal(cursor.values[kind], wanted[kind]);
    if (wanted[VS_CURVE_REQUESTED] > peak) {
      peak = wanted[VS_CURVE_REQUESTED];
      peak_at = moment;
    }
  }
  assert_int_equal(curves.curve[VS_CURVE_REQUESTED].peak, peak);
  assert_int_equal(curves.curve[VS_CURVE_REQUESTED].peak_at, peak_at);
}

static void compare_live_set(made *m, const book *b, const vs_lifetimes *lifetimes, vs_moment moment,
                             int64_t now) {
  vs_liveset live;
  expect_ok(vs_liveset_build(m->host, lifetimes, moment, &live));
  size_t wanted = 0;
  for (uint32_t i = 0; i < b->life_count; i++) {
    const life *l = &b->lives[i];
    if (!happened(l->born, now) || happened(end_of_life(l, lifetimes->closing), now)) continue;
    bool found = false;
    for (size_t k = 0; k < live.rows.count; k++) {
      const vs_lifetime *row = &lifetimes->rows.data[live.rows.data[k]];
      found |= row->address == l->address && row->size == l->size;
    }
    assert_true(found);
    wanted++;
  }
  assert_int_equal(live.rows.count, wanted);
  vs_liveset_deinit(m->host, &live);
}

/* Whether the window can know that a block waits: it saw the request, or sees the completion alone, or the end state says so. */
static bool is_seen_pending(const life *l, const window *w, int64_t now, vs_closing closing) {
  if (l->requested == VS_NO_EVENT) return false;
  const bool waits_at_end = l->completed == VS_NO_EVENT;
  if (closing.only_completion) return waits_at_end && (l->born < w->first || now >= w->full[w->count - 1]);
  if (l->requested < w->first) return waits_at_end || !closing.at_request;
  return happened(l->requested, now);
}

static void compare_state(made *m, const book *b, const window *w, const vs_lifetimes *lifetimes,
                          vs_moment moment, int64_t now) {
  vs_state state;
  uint64_t starts[CELLS], ends[CELLS];
  const uint32_t segments = list_segments(now < 0 ? 0 : b->events[now].mapped_after, starts, ends);
  expect_ok(vs_state_build(m->host, lifetimes, moment, &state));
  assert_null(vs_state_check(&state));
  assert_int_equal(state.segments.count, segments);
  for (uint32_t i = 0; i < segments; i++) {
    assert_int_equal(state.segments.data[i].address, starts[i] * CELL);
    assert_int_equal(state.segments.data[i].size, (ends[i] - starts[i]) * CELL);
  }
  size_t wanted = 0;
  for (uint32_t i = 0; i < b->life_count; i++) {
    const life *l = &b->lives[i];
    const uint32_t gone = state.is_exact ? l->completed : end_of_life(l, lifetimes->closing);
    if (!happened(l->born, now) || happened(gone, now)) continue;
    bool found = false;
    for (size_t k = 0; k < state.blocks.count; k++) {
      const vs_state_block *block = &state.blocks.data[k];
      if (block->address != l->address) continue;
      found = true;
      assert_int_equal(block->requested, l->size);
      assert_int_equal(block->size, (l->size + CELL - 1) / CELL * CELL);
      assert_int_equal(block->is_pending, is_seen_pending(l, w, now, lifetimes->closing));
    }
    assert_true(found);
    wanted++;
  }
  assert_int_equal(state.blocks.count, wanted);
  assert_int_equal(state.outside, wanted);
  vs_state_deinit(m->host, &state);
}

static void expect_trusted(made *m, const window *w, const vs_lifetimes *lifetimes) {
  vs_curves curves;
  vs_curves_measure(lifetimes->slice, &curves);
  const vs_trust trust = judged(m->host, lifetimes, &curves);
  for (int kind = 0; kind < VS_FINDING_KINDS; kind++)
    if (vs_finding_severity((vs_finding_kind)kind) == VS_SEVERITY_CONTRADICTION &&
        trust.findings[kind].count > 0)
      fail_msg("an honest trace has %s", vs_finding_name((vs_finding_kind)kind));
  if (w->first == 0) assert_true(trust.is_complete);
}

static void compare_honest(uint64_t seed, uint32_t first, vs_event_kind skipped) {
  book b;
  play(&b, seed);
  made m = made_begin();
  window w = {.first = first, .skipped = skipped};
  make_window(&m, &b, &w);
  make_end_state(&m, &b);
  const vs_slice *slice = made_slice(&m, 0);
  const vs_closing closing = vs_slice_closing(slice);
  const bool is_fair = (skipped != VS_EVENT_FREE_COMPLETED || closing.at_request) &&
                       (skipped != VS_EVENT_FREE_REQUESTED || closing.only_completion) &&
                       (skipped != VS_EVENT_UNKNOWN || (!closing.at_request && !closing.only_completion));
  if (is_fair) { /* else the window is too short to tell what was left out */
    vs_lifetimes lifetimes;
    expect_ok(vs_lifetimes_build(m.host, slice, &lifetimes));
    assert_null(vs_lifetimes_check(&lifetimes));
    compare_curves(&b, &w, slice);
    for (vs_moment moment = VS_AT_START; moment < (vs_moment)w.count; moment++) {
      compare_live_set(&m, &b, &lifetimes, moment, full_moment(&w, &b, moment));
      compare_state(&m, &b, &w, &lifetimes, moment, full_moment(&w, &b, moment));
    }
    expect_trusted(&m, &w, &lifetimes);
    vs_lifetimes_deinit(m.host, &lifetimes);
  }
  made_end(&m);
}

static void test_honest_runs(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    compare_honest(seed, 0, VS_EVENT_UNKNOWN);
    compare_honest(seed, (uint32_t)(seed * 7 % 100), VS_EVENT_UNKNOWN);
    compare_honest(seed, 0, VS_EVENT_FREE_COMPLETED);
    compare_honest(seed, (uint32_t)(seed * 5 % 100), VS_EVENT_FREE_COMPLETED);
    compare_honest(seed, (uint32_t)(seed * 3 % 100), VS_EVENT_FREE_REQUESTED);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_honest_runs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
