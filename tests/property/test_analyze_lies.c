/* The analysis of lies: events and end states at random. There is no truth then, only the rules of lifetimes.h and
 * trust.h, which are written down here a second time, with lists that are searched from end to end. */
#include "analyze/state.h"
#include "support/random.h"
#include "unit/analyze/judged.h"
#include "unit/analyze/made.h"

/* ---- the rules a second time --------------------------------------------------------------------------- */

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
      if (waits && r->closing.at_request) r->older++; /* freed before the trace: it counts in no curve */
      else (void)add_life(r, block->address, block->requested_size, -1);
    }
  }
  for (int i = 0; i < mentioned; i++) {
    const rule_life *l = &r->lives[i];
    if (l->born >= 0 && l->requested < 0 && l->ended < 0 && !at_end[i])
      note(&r->doubts.alloc_not_at_end, l->born);
  }
}

static void make_lies(made *m, test_random *random) {
  static const vs_event_kind kinds[] = {
      VS_EVENT_ALLOC,          VS_EVENT_ALLOC,          VS_EVENT_ALLOC,         VS_EVENT_FREE_REQUESTED,
      VS_EVENT_FREE_REQUESTED, VS_EVENT_FREE_COMPLETED, VS_EVENT_SEGMENT_ALLOC, VS_EVENT_SEGMENT_FREE,
      VS_EVENT_SEGMENT_MAP,    VS_EVENT_SEGMENT_UNMAP,
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

/* ---- ranges, one bit for each address ------------------------------------------------------------------ */

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

static bool grows(vs_event_kind kind) {
  return kind == VS_EVENT_SEGMENT_ALLOC || kind == VS_EVENT_SEGMENT_MAP;
}
static bool shrinks(vs_event_kind kind) {
  return kind == VS_EVENT_SEGMENT_FREE || kind == VS_EVENT_SEGMENT_UNMAP;
}

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

static void check_addresses_by_rules(const rules *r, vs_address_check *out) {
  const vs_slice *slice = r->slice;
  const vs_events *events = &slice->snapshot->events;
  bool mapped[2 * LIE_SPACE + 32] = {false}, judged = false;
  const vs_segment *segment = &slice->snapshot->segments.data[0];
  set(mapped, segment->address, segment->address + segment->total_size, true);
  for (int i = (int)slice->event_count; i-- > 0;) {
    const vs_event_kind kind = vs_events_kind(events, (uint32_t)i);
    const uint64_t start = vs_events_address(events, (uint32_t)i),
                   end = start + vs_events_size(events, (uint32_t)i);
    if (grows(kind) || shrinks(kind)) set(mapped, start, end, shrinks(kind));
    judged |= grows(kind) || shrinks(kind);
  }
  for (int i = 0; i < (int)slice->event_count; i++) {
    const vs_event_kind kind = vs_events_kind(events, (uint32_t)i);
    const uint64_t start = vs_events_address(events, (uint32_t)i),
                   end = start + vs_events_size(events, (uint32_t)i);
    bool meets = false, lives_in = false;
    for (int k = 0; k < r->count; k++) {
      if (!is_live_before(&r->lives[k], i)) continue;
      meets |=
          r->lives[k].address != start && reaches_into(&r->lives[k], start, end > start ? end : start + 1);
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

static void compare_address_check(made *m, const rules *r, const vs_lifetimes *lifetimes) {
  const vs_tally none = {.first_event = -1};
  const vs_address_check got = judged_addresses(m->host, lifetimes);
  vs_address_check wanted = {none, none, none, none, none};
  check_addresses_by_rules(r, &wanted);
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
      apply_matching(&r, (int)i, vs_events_kind(events, i), vs_events_address(events, i),
                     vs_events_size(events, i));
    apply_end(&r);
    compare_matching(&r, &lifetimes);
    compare_address_check(&m, &r, &lifetimes);
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lies)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
