/* The analysis against models that are slow and obvious.
 *
 * Honest runs: a toy allocator keeps a book of what really happens while it writes a trace. The analysis sees a window
 * of the trace, perhaps with an action left out, and the end state; at every event it has to say what the book says.
 *
 * Lies: events and end states at random. There is no truth then, only the rules of the headers, written down a second
 * time with lists that are searched from end to end. */
#include "analyze/curve.h"
#include "analyze/state.h"
#include "analyze/trust.h"
#include "analyze/watch.h"
#include "support/random.h"
#include "unit/analyze/made.h"

/* ---- honest runs: the toy allocator ----------------------------------------------------------------------------- */

/* Addresses are cells of 512 bytes. The first half holds segments of 8 cells, each for itself; the second is one
 * expandable segment with pages of 4 cells. */
enum { CELL = 512, CELLS = 64, FIXED = 32, FIXED_CELLS = 8, PAGE_CELLS = 4, RUN_EVENTS = 120 };

typedef struct life {
  uint64_t address, size;
  uint32_t born, requested, completed; /* indices in the full trace; VS_NO_EVENT: not yet */
} life;

typedef struct event {
  vs_event_kind kind;
  uint64_t address, size;
  uint64_t mapped_after; /* one bit for each cell */
} event;

typedef struct book {
  test_random random;
  event events[RUN_EVENTS + 2];
  uint32_t event_count;
  life lives[RUN_EVENTS];
  uint32_t life_count;
  uint64_t mapped, used; /* cells; pending ones are used */
} book;

static uint64_t cells(uint64_t first, uint64_t count) { return ((UINT64_C(1) << count) - 1) << first; }

static uint32_t write_event(book *b, vs_event_kind kind, uint64_t address, uint64_t size) {
  b->events[b->event_count] = (event){kind, address, size, b->mapped};
  return b->event_count++;
}

static void play_alloc(book *b) {
  const uint64_t count = 1 + random_below(&b->random, 4), first = random_below(&b->random, CELLS - count + 1);
  const uint64_t taken = cells(first, count);
  if ((b->mapped & taken) != taken || (b->used & taken) != 0) return;
  if (first < FIXED && first / FIXED_CELLS != (first + count - 1) / FIXED_CELLS) return; /* not across segments */
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

/* ---- honest runs: what the analysis sees -------------------------------------------------------------------------- */

typedef struct window {
  uint32_t first;
  vs_event_kind skipped; /* VS_EVENT_UNKNOWN: none */
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
    if (l->completed == VS_NO_EVENT && l->address <= cell * CELL && cell * CELL < l->address + l->size) return l;
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
        (void)made_block(m, size * CELL, l->size, l->requested == VS_NO_EVENT ? VS_BLOCK_ALLOCATED : VS_BLOCK_PENDING);
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

/* ---- honest runs: comparing --------------------------------------------------------------------------------------- */

/* The moment in the full trace that a moment of the window is: just before the next event that is seen. */
static int64_t full_moment(const window *w, const book *b, vs_moment moment) {
  if (moment + 1 < w->count) return (int64_t)w->full[moment + 1] - 1;
  return (int64_t)b->event_count - 1;
}

static bool happened(uint32_t at, int64_t now) { return at != VS_NO_EVENT && (int64_t)at <= now; }

/* When a life ends as this window counts; a moment later nothing is left of it. */
static uint32_t end_of_life(const life *l, vs_closing closing) { return closing.at_request ? l->requested : l->completed; }

static void compare_curves(made *m, const book *b, const window *w, const vs_slice *slice) {
  vs_curves curves;
  vs_curve_columns columns;
  vs_curves_measure(slice, &curves);
  expect_ok(vs_curve_columns_build(m->host, slice, &curves, &columns));
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
    wanted[VS_CURVE_RESERVED] = now < 0 ? 0 : __builtin_popcountll(b->events[now].mapped_after) * (int64_t)CELL;
    for (int kind = 0; kind < VS_CURVE_KINDS; kind++) {
      const int64_t got = moment < 0 ? curves.curve[kind].baseline : columns.column[kind][moment];
      assert_int_equal(got, wanted[kind]);
    }
    if (wanted[VS_CURVE_REQUESTED] > peak) {
      peak = wanted[VS_CURVE_REQUESTED];
      peak_at = moment;
    }
  }
  assert_int_equal(curves.curve[VS_CURVE_REQUESTED].peak, peak);
  assert_int_equal(curves.curve[VS_CURVE_REQUESTED].peak_at, peak_at);
  vs_curve_columns_deinit(m->host, &columns);
}

static void compare_live_set(made *m, const book *b, const vs_lifetimes *lifetimes, vs_moment moment, int64_t now) {
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

/* Whether the window can know that a block waits: it saw the request, or the end state says so. */
static bool is_seen_pending(const life *l, const window *w, int64_t now, vs_closing closing) {
  if (l->requested == VS_NO_EVENT) return false;
  const bool waits_at_end = l->completed == VS_NO_EVENT;
  if (closing.only_completion) return waits_at_end && (l->born < w->first || now >= w->full[w->count - 1]);
  if (l->requested < w->first) return waits_at_end && l->born < w->first;
  return happened(l->requested, now);
}

static void compare_state(made *m, const book *b, const window *w, const vs_lifetimes *lifetimes, vs_moment moment,
                          int64_t now) {
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
  vs_trust trust;
  vs_curves_measure(lifetimes->slice, &curves);
  expect_ok(vs_trust_build(m->host, lifetimes, &curves, &trust));
  for (int kind = 0; kind < VS_FINDING_KINDS; kind++)
    if (vs_finding_severity((vs_finding_kind)kind) == VS_SEVERITY_CONTRADICTION && trust.findings[kind].count > 0)
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
    compare_curves(&m, &b, &w, slice);
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

/* ---- lies: the rules a second time -------------------------------------------------------------------------------- */

enum { LIE_EVENTS = 40, LIE_ADDRESSES = 24, LIE_SPACE = 64 };

typedef struct rule_life {
  uint64_t address, size;
  int born, requested, ended; /* -1: before the trace, or not */
  bool is_older;
} rule_life;

typedef struct rules {
  const vs_slice *slice;
  vs_closing closing;
  rule_life lives[2 * LIE_EVENTS + LIE_SPACE];
  int count;
  int older; /* lives and waiting end blocks that are older than the trace */
  vs_lifetime_doubts doubts;
} rules;

static void note(vs_tally *tally, int event) {
  if (tally->count++ == 0) tally->first_event = event;
}

/* The life now or last at an address, NULL if the trace never mentioned it. */
static rule_life *current(rules *r, uint64_t address) {
  for (int i = r->count; i-- > 0;)
    if (r->lives[i].address == address) return &r->lives[i];
  return NULL;
}

static rule_life *add_life(rules *r, uint64_t address, uint64_t size, int born) {
  r->lives[r->count] = (rule_life){address, size, born, -1, -1, born < 0};
  r->older += born < 0;
  return &r->lives[r->count++];
}

static void apply_matching(rules *r, int event, vs_event_kind kind, uint64_t address, uint64_t size) {
  rule_life *l = current(r, address);
  const bool is_open = l != NULL && l->ended < 0;
  if (kind == VS_EVENT_ALLOC) {
    if (is_open) {
      note(&r->doubts.double_alloc, event);
      l->ended = event;
    }
    (void)add_life(r, address, size, event);
  } else if (kind == VS_EVENT_FREE_REQUESTED) {
    if (l != NULL && l->requested >= 0 && (r->closing.at_request || is_open)) {
      note(&r->doubts.double_free, event);
      return;
    }
    if (!is_open) {
      note(&r->doubts.free_without_alloc, event);
      l = add_life(r, address, size, -1);
    }
    if (l->size != size) note(&r->doubts.size_mismatch, event);
    l->requested = event;
    if (r->closing.at_request) l->ended = event;
  } else if (kind == VS_EVENT_FREE_COMPLETED) {
    if (!is_open) {
      note(&r->doubts.free_without_alloc, event);
      l = add_life(r, address, size, -1);
    }
    const vs_events *events = &r->slice->snapshot->events;
    if (l->size != size && (l->requested < 0 || vs_events_size(events, (uint32_t)l->requested) == l->size))
      note(&r->doubts.size_mismatch, event);
    l->ended = event;
  }
}

/* End blocks have addresses of their own, see make_lies. */
static void apply_end(rules *r) {
  const int mentioned = r->count;
  bool at_end[2 * LIE_EVENTS + LIE_SPACE] = {false};
  for (size_t i = 0; i < r->slice->snapshot->blocks.count; i++) {
    const vs_block *block = &r->slice->snapshot->blocks.data[i];
    if (!vs_block_is_active(block)) continue;
    rule_life *l = current(r, block->address);
    const bool waits = block->state == VS_BLOCK_PENDING;
    if (l != NULL && (l->ended < 0 || (waits && r->closing.at_request && l->ended == l->requested))) {
      if (l->born < 0) r->doubts.live_without_alloc.count++;
      at_end[l - r->lives] = true;
    } else {
      r->doubts.live_without_alloc.count++;
      (void)add_life(r, block->address, block->requested_size, -1);
    }
  }
  for (int i = 0; i < mentioned; i++) {
    const rule_life *l = &r->lives[i];
    if (l->born >= 0 && l->requested < 0 && l->ended < 0 && !at_end[i]) note(&r->doubts.alloc_not_at_end, l->born);
  }
}

static void make_lies(made *m, test_random *random) {
  static const vs_event_kind kinds[] = {
      VS_EVENT_ALLOC,         VS_EVENT_ALLOC,          VS_EVENT_ALLOC,        VS_EVENT_FREE_REQUESTED,
      VS_EVENT_FREE_REQUESTED, VS_EVENT_FREE_COMPLETED, VS_EVENT_SEGMENT_ALLOC, VS_EVENT_SEGMENT_FREE,
      VS_EVENT_SEGMENT_MAP,   VS_EVENT_SEGMENT_UNMAP,
  };
  const bool at_request = random_below(random, 4) == 0;
  const uint64_t count = random_below(random, LIE_EVENTS);
  for (uint64_t i = 0; i < count; i++) {
    const vs_event_kind kind = kinds[random_below(random, 10)];
    if (kind == VS_EVENT_FREE_COMPLETED && at_request) continue;
    const bool is_range = kind >= VS_EVENT_SEGMENT_ALLOC;
    const uint64_t size = is_range ? random_below(random, 16) : random_below(random, 3);
    (void)made_event(m, kind, 1 + random_below(random, LIE_ADDRESSES) * (is_range ? 1 : 2), size);
  }
  made_trace(m, 0);
  const uint64_t start = 1 + random_below(random, 8);
  vs_segment *segment = made_segment(m, 0, start, 0, "small");
  while (m->next_address < LIE_ADDRESSES && random_below(random, 8) != 0) {
    const uint64_t size = 1 + random_below(random, 3);
    (void)made_block(m, size, random_below(random, size + 1), (vs_block_state)random_below(random, 3));
    segment->total_size += size;
  }
}

static void expect_tally(const char *name, vs_tally got, vs_tally wanted) {
  if (got.count != wanted.count || got.first_event != wanted.first_event)
    fail_msg("%s: %d at %d, not %d at %d", name, (int)got.count, (int)got.first_event, (int)wanted.count,
             (int)wanted.first_event);
}

static void compare_matching(const rules *r, const vs_lifetimes *lifetimes) {
  assert_null(vs_lifetimes_check(lifetimes));
  const vs_lifetime_doubts *got = &lifetimes->doubts, *wanted = &r->doubts;
  expect_tally("free_without_alloc", got->free_without_alloc, wanted->free_without_alloc);
  expect_tally("live_without_alloc", got->live_without_alloc, wanted->live_without_alloc);
  expect_tally("alloc_not_at_end", got->alloc_not_at_end, wanted->alloc_not_at_end);
  expect_tally("double_free", got->double_free, wanted->double_free);
  expect_tally("double_alloc", got->double_alloc, wanted->double_alloc);
  expect_tally("size_mismatch", got->size_mismatch, wanted->size_mismatch);
  assert_int_equal(lifetimes->older, r->older);
  for (int i = 0; i < (int)lifetimes->mentioned; i++) {
    const vs_lifetime *row = &lifetimes->rows.data[i];
    const rule_life *l = &r->lives[i];
    assert_int_equal(row->address, l->address);
    assert_int_equal(row->size, l->size);
    assert_int_equal(row->start, l->born < 0 ? VS_NO_EVENT : (uint32_t)l->born);
    assert_int_equal(row->free_requested, l->requested < 0 ? VS_NO_EVENT : (uint32_t)l->requested);
    assert_int_equal(row->end, l->ended < 0 ? VS_NO_EVENT : (uint32_t)l->ended);
  }
}

/* ---- lies: ranges, one bit for each address ------------------------------------------------------------------------ */

static bool all_set(const bool *bits, uint64_t start, uint64_t end) {
  if (start == end) return bits[start] || (start > 0 && bits[start - 1]);
  for (uint64_t i = start; i < end; i++)
    if (!bits[i]) return false;
  return true;
}

static bool any_set(const bool *bits, uint64_t start, uint64_t end) {
  if (start == end) return start > 0 && bits[start] && bits[start - 1];
  for (uint64_t i = start; i < end; i++)
    if (bits[i]) return true;
  return false;
}

static void set(bool *bits, uint64_t start, uint64_t end, bool value) {
  for (uint64_t i = start; i < end; i++) bits[i] = value;
}

static bool grows(vs_event_kind kind) { return kind == VS_EVENT_SEGMENT_ALLOC || kind == VS_EVENT_SEGMENT_MAP; }
static bool shrinks(vs_event_kind kind) { return kind == VS_EVENT_SEGMENT_FREE || kind == VS_EVENT_SEGMENT_UNMAP; }

static bool reaches_into(const rule_life *l, uint64_t start, uint64_t end) {
  return l->address < end && start < l->address + (l->size > 0 ? l->size : 1);
}

static bool is_live_before(const rule_life *l, int event) {
  return l->born < event && (l->ended < 0 || l->ended >= event);
}

/* Whether blocks lie on top of one another without an allocation to blame: then only some overlaps are noticed. */
static bool is_murky(const rules *r) {
  for (int i = 0; i < r->count; i++)
    for (int k = 0; k < r->count; k++) {
      const rule_life *a = &r->lives[i], *b = &r->lives[k];
      if (i == k || !a->is_older) continue;
      if (b->is_older && reaches_into(a, b->address, b->address + (b->size > 0 ? b->size : 1))) return true;
      if (a->address == b->address && is_live_before(a, b->born)) return true;
    }
  return false;
}

static void watch_by_rules(const rules *r, vs_watch *out) {
  const vs_slice *slice = r->slice;
  const vs_events *events = &slice->snapshot->events;
  bool mapped[2 * LIE_SPACE + 32] = {false}, judged = false;
  const vs_segment *segment = &slice->snapshot->segments.data[0];
  set(mapped, segment->address, segment->address + segment->total_size, true);
  for (int i = (int)slice->event_count; i-- > 0;) {
    const vs_event_kind kind = vs_events_kind(events, (uint32_t)i);
    const uint64_t start = vs_events_address(events, (uint32_t)i), end = start + vs_events_size(events, (uint32_t)i);
    if (grows(kind) || shrinks(kind)) set(mapped, start, end, shrinks(kind));
    judged |= grows(kind) || shrinks(kind);
  }
  for (int i = 0; i < (int)slice->event_count; i++) {
    const vs_event_kind kind = vs_events_kind(events, (uint32_t)i);
    const uint64_t start = vs_events_address(events, (uint32_t)i), end = start + vs_events_size(events, (uint32_t)i);
    bool meets = false, lives_in = false;
    for (int k = 0; k < r->count; k++) {
      if (!is_live_before(&r->lives[k], i)) continue;
      meets |= r->lives[k].address != start && reaches_into(&r->lives[k], start, end > start ? end : start + 1);
      lives_in |= reaches_into(&r->lives[k], start, end);
    }
    if (kind == VS_EVENT_ALLOC && judged && !all_set(mapped, start, end)) note(&out->outside_segment, i);
    if (kind == VS_EVENT_ALLOC && meets) note(&out->overlap, i);
    if (grows(kind) && any_set(mapped, start, end)) note(&out->double_map, i);
    if (shrinks(kind) && !all_set(mapped, start, end)) note(&out->unmap_unknown, i);
    else if (shrinks(kind) && lives_in) note(&out->unmap_live, i);
    if (grows(kind) || shrinks(kind)) set(mapped, start, end, grows(kind));
  }
}

static void compare_watch(made *m, const rules *r, const vs_lifetimes *lifetimes) {
  const vs_tally none = {.first_event = -1};
  vs_watch got, wanted = {none, none, none, none, none};
  expect_ok(vs_watch_run(m->host, lifetimes, &got));
  watch_by_rules(r, &wanted);
  expect_tally("outside_segment", got.outside_segment, wanted.outside_segment);
  expect_tally("double_map", got.double_map, wanted.double_map);
  expect_tally("unmap_unknown", got.unmap_unknown, wanted.unmap_unknown);
  assert_true(got.overlap.count <= wanted.overlap.count);
  assert_true(got.unmap_live.count <= wanted.unmap_live.count);
  if (is_murky(r)) return;
  assert_int_equal(got.overlap.first_event, wanted.overlap.first_event);
  if (wanted.overlap.count == 0) expect_tally("unmap_live", got.unmap_live, wanted.unmap_live);
}

static void test_lies(void **state) {
  (void)state;
  test_random random = {99};
  int clear = 0;
  for (int run = 0; run < 4000; run++) {
    made m = made_begin();
    make_lies(&m, &random);
    vs_lifetimes lifetimes;
    rules r = {.slice = made_slice(&m, 0)};
    const vs_tally none = {.first_event = -1};
    r.doubts = (vs_lifetime_doubts){none, none, none, none, none, none};
    r.closing = vs_slice_closing(r.slice);
    expect_ok(vs_lifetimes_build(m.host, r.slice, &lifetimes));
    const vs_events *events = &m.snapshot->events;
    for (uint32_t i = 0; i < r.slice->event_count; i++)
      apply_matching(&r, (int)i, vs_events_kind(events, i), vs_events_address(events, i), vs_events_size(events, i));
    apply_end(&r);
    compare_matching(&r, &lifetimes);
    compare_watch(&m, &r, &lifetimes);
    clear += !is_murky(&r);
    for (vs_moment moment = VS_AT_START; moment < (vs_moment)r.slice->event_count; moment++) {
      vs_state at;
      expect_ok(vs_state_build(m.host, &lifetimes, moment, &at));
      assert_null(vs_state_check(&at));
      vs_state_deinit(m.host, &at);
    }
    vs_lifetimes_deinit(m.host, &lifetimes);
    made_end(&m);
  }
  assert_true(clear > 500);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_honest_runs),
      cmocka_unit_test(test_lies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
