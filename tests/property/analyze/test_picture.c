/* Pictures against a second account of what picture.h, window.h and spans.h say: every moment of every column, every
 * pixel, the span that holds its centre; each found by looking at all there are. */
#include "analyze/picture.h"
#include "property/analyze/traces.h"
#include <stdlib.h>

/* ---- the second account -------------------------------------------------------------------------------- */

typedef struct item {
  uint32_t row;
  int64_t born, gone; /* lives at the moments born <= m < gone; born = -1: from before the trace */
  uint64_t size;
} item;

typedef struct account {
  const vs_slice *slice;
  const vs_times *times; /* to know where x = 0 is */
  item *items;           /* as they are stacked */
  size_t count;
} account;

static int stacking_order(const void *a, const void *b) {
  const item *x = a, *y = b;
  if (x->born != y->born) return x->born < y->born ? -1 : 1;
  if (x->born == -1 && x->gone != y->gone) return x->gone > y->gone ? -1 : 1;
  return x->row < y->row ? -1 : 1;
}

static void add_item(account *a, const uint64_t *kept, uint32_t row, uint32_t start, uint32_t end,
                     uint64_t size) {
  if (kept != NULL && (kept[row / 64] >> (row % 64) & 1) == 0) return;
  a->items[a->count++] = (item){row, start == VS_NO_EVENT ? -1 : (int64_t)start,
                                end == VS_NO_EVENT ? INT64_MAX : (int64_t)end, size};
}

static bool lives(const item *i, int64_t moment) { return i->born <= moment && moment < i->gone; }

static uint64_t total_at(const account *a, int64_t moment) {
  uint64_t total = 0;
  for (size_t i = 0; i < a->count; i++)
    if (lives(&a->items[i], moment)) total += a->items[i].size;
  return total;
}

static double x_of(const account *a, bool by_time, int64_t moment) {
  if (!by_time) return (double)moment;
  int64_t now = a->times->first_us;
  for (int64_t event = 0; event <= moment; event++) {
    const int64_t time = vs_slice_time(a->slice, event);
    if (time > now) now = time;
  }
  return (double)(now - a->times->first_us);
}

static double whole_end(const account *a, bool by_time) {
  return by_time ? x_of(a, true, vs_slice_end(a->slice)) + 1 : (double)a->slice->event_count;
}

/* The first of the highest moments in [left, right), -2 if there is none; and what spans the moments there are. */
static int64_t moment_in(const account *a, const vs_window *w, double left, double right,
                         const uint64_t *totals, const double *places, int64_t *first, int64_t *last) {
  int64_t best = -2;
  const int64_t end = vs_slice_end(a->slice);
  for (int64_t m = -1; m <= end; m++) {
    const double x = places[m + 1], next = m < end ? places[m + 2] : whole_end(a, w->times != NULL);
    const bool begins = left <= x && x < right, reaches = x < left && left < next;
    if (!begins && !reaches) continue;
    if (best == -2) *first = m;
    *last = m;
    if (best == -2 || totals[m + 1] > totals[best + 1]) best = m;
  }
  return best;
}

/* ---- runs ---------------------------------------------------------------------------------------------- */

typedef struct run {
  uint32_t end, row, group, flags;
} run;

/* The item that holds the centre of pixel row p: offset <= y0 + (p + 1/2) * height / rows < offset + size. */
static const item *item_at(const account *a, int64_t moment, uint64_t y0, uint64_t height, uint64_t rows,
                           uint64_t p) {
  const uint64_t centre = 2 * rows * y0 + (2 * p + 1) * height; /* in parts of a byte */
  uint64_t offset = 0;
  for (size_t i = 0; i < a->count; i++) {
    if (!lives(&a->items[i], moment)) continue;
    if (2 * rows * offset <= centre && centre < 2 * rows * (offset + a->items[i].size)) return &a->items[i];
    offset += a->items[i].size;
  }
  return NULL;
}

static size_t runs_at(const account *a, int64_t moment, const vs_look *look, const vs_picture *p, run *runs) {
  const uint64_t height = p->y1 - p->y0;
  const item *last = NULL;
  size_t count = 0;
  for (uint32_t y = 0; y < look->rows; y++) {
    const item *here = item_at(a, moment, p->y0, height, look->rows, y);
    if (here == NULL) break;
    const bool is_small = here->size * look->rows < height;
    const bool is_marked =
        look->marked != NULL && (look->marked[here->row / 64] >> (here->row % 64) & 1) != 0;
    const run next = {y + 1, here->row, look->groups == NULL ? here->row % 4096 : look->groups[here->row],
                      (is_small ? VS_RUN_SEVERAL : 0u) | (is_marked ? VS_RUN_MARKED : 0u)};
    const bool goes_on = here == last || (count > 0 && is_small && runs[count - 1].flags == next.flags &&
                                          runs[count - 1].group == next.group);
    if (goes_on) runs[count - 1].end = y + 1;
    else runs[count++] = next;
    last = here;
  }
  return count;
}

/* All runs of a sample: those of the sample before up to the pixels that were kept, then its own. */
static size_t drawn_runs(const vs_picture *p, size_t sample, run *runs) {
  const uint32_t kept = p->sample_kept.data[sample];
  size_t count = 0;
  if (kept > 0) {
    assert_true(sample > 0);
    const size_t before = drawn_runs(p, sample - 1, runs);
    while (count < before && runs[count].end <= kept) count++;
    assert_true(count > 0 && runs[count - 1].end == kept);
  }
  for (uint32_t i = p->sample_run.data[sample]; i < p->sample_run.data[sample + 1]; i++)
    runs[count++] = (run){p->run_end.data[i], p->run_row.data[i], p->run_group.data[i], p->run_flags.data[i]};
  return count;
}

static void expect_runs(const account *a, const vs_look *look, const vs_picture *p, size_t sample,
                        run *runs) {
  run *drawn = malloc((look->rows + 1) * sizeof *drawn);
  const int64_t moment = p->sample_event.data[sample];
  const size_t count = moment == -2 ? 0 : runs_at(a, moment, look, p, runs);
  assert_int_equal(drawn_runs(p, sample, drawn), count);
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(drawn[i].end, runs[i].end);
    assert_int_equal(drawn[i].row, runs[i].row);
    assert_int_equal(drawn[i].group, runs[i].group);
    assert_int_equal(drawn[i].flags, runs[i].flags);
  }
  free(drawn);
}

/* ---- a picture ----------------------------------------------------------------------------------------- */

typedef struct stage {
  const vs_host *host;
  account account;
  vs_spans spans;
  vs_curve_index curve;
  uint64_t *totals; /* by moment + 1 */
  double *places[2];
  run *runs;
} stage;

static void expect_counts(const stage *s, const vs_look *look, const vs_picture *p, int64_t first,
                          int64_t last) {
  uint32_t count = 0, marked = 0;
  uint64_t bytes = 0;
  for (size_t i = 0; i < s->account.count && p->highest_at != -2; i++) {
    const item *it = &s->account.items[i];
    if (it->born > last || it->gone <= first) continue;
    count++;
    if (look->marked == NULL || (look->marked[it->row / 64] >> (it->row % 64) & 1) == 0) continue;
    marked++;
    if (lives(it, p->highest_at)) bytes += it->size;
  }
  assert_int_equal(p->count, count);
  assert_int_equal(p->marked_count, marked);
  assert_int_equal(p->marked_bytes, bytes);
}

static void expect_picture(stage *s, const vs_look *look) {
  vs_picture p;
  const vs_window *w = &look->window;
  expect_ok(vs_picture_build(s->host, &s->spans, &s->curve, look, &p));
  int64_t highest_at = -2, window_first = 0, window_last = -1, first = 0, last = 0;
  size_t sample = 0;
  for (uint32_t column = 0; column < w->columns; column++) {
    const double left = w->x0 + (w->x1 - w->x0) * (double)column / (double)w->columns;
    const double right = column + 1 == w->columns
                             ? w->x1
                             : w->x0 + (w->x1 - w->x0) * ((double)column + 1) / (double)w->columns;
    const int64_t moment =
        moment_in(&s->account, w, left, right, s->totals, s->places[w->times != NULL], &first, &last);
    if (sample + 1 < p.sample_event.count && p.sample_column.data[sample + 1] == column) sample++;
    assert_int_equal(p.sample_event.data[sample], moment);
    assert_true(p.sample_bytes.data[sample] == (moment == -2 ? 0 : (double)s->totals[moment + 1]));
    if (moment == -2) continue;
    if (highest_at == -2) window_first = first;
    window_last = last;
    if (highest_at == -2 || s->totals[moment + 1] > s->totals[highest_at + 1]) highest_at = moment;
  }
  assert_int_equal(sample + 1, p.sample_event.count);
  assert_int_equal(p.sample_column.count, p.sample_event.count + 1);
  assert_int_equal(p.sample_column.data[0], 0);
  assert_int_equal(p.sample_column.data[sample + 1], w->columns);
  for (size_t i = 0; i < sample; i++) assert_true(p.sample_event.data[i] != p.sample_event.data[i + 1]);
  assert_int_equal(p.highest_at, highest_at);
  assert_int_equal(p.highest, highest_at == -2 ? 0 : s->totals[highest_at + 1]);
  assert_int_equal(p.y0, look->y0);
  if (look->y1 != VS_FIT) assert_int_equal(p.y1, look->y1);
  else assert_int_equal(p.y1, p.highest > p.y0 ? p.highest : p.y0 + 1);
  expect_counts(s, look, &p, window_first, window_last);
  for (size_t i = 0; i <= sample; i++) expect_runs(&s->account, look, &p, i, s->runs);
  vs_picture_deinit(s->host, &p);
}

/* A window anywhere, from much wider than the trace to a part of an event. */
static vs_window window_at_random(test_random *random, const vs_slice *slice, const vs_times *times) {
  vs_window w = vs_window_whole(slice, times, 1 + (uint32_t)random_below(random, 40));
  const double whole = w.x1 - w.x0;
  const uint64_t dice = random_below(random, 8);
  if (dice < 2) return w;
  if (dice < 5) { /* edges on whole numbers, where moments begin */
    const int64_t from = (int64_t)random_below(random, (uint64_t)whole + 4) - 3;
    w.x0 = (double)from;
    w.x1 = w.x0 + (double)(1 + random_below(random, (uint64_t)whole + 3));
    return w;
  }
  w.x0 += whole * (double)random_below(random, 1000) / 900 - whole / 18;
  w.x1 = w.x0 + (dice < 7 ? whole * (double)(1 + random_below(random, 1000)) / 900
                          : (double)(1 + random_below(random, 100)) / 64);
  return w;
}

static void expect_pictures(stage *s, test_random *random, const uint64_t *marked, const uint16_t *groups) {
  const vs_slice *slice = s->account.slice;
  const vs_times *times = s->account.times;
  for (int i = 0; i < 6; i++) {
    const bool by_time = times->first_us != VS_NO_TIME && random_below(random, 2) == 0;
    uint64_t highest = 0;
    for (uint32_t m = 0; m <= slice->event_count; m++)
      highest = highest < s->totals[m] ? s->totals[m] : highest;
    vs_look look = {.window = window_at_random(random, slice, by_time ? times : NULL),
                    .y1 = VS_FIT,
                    .rows = (uint32_t)random_below(random, 50),
                    .groups = random_below(random, 4) == 0 ? NULL : groups,
                    .marked = random_below(random, 2) == 0 ? NULL : marked};
    if (random_below(random, 3) == 0) look.y0 = random_below(random, highest + 2);
    if (random_below(random, 3) == 0) look.y1 = look.y0 + 1 + random_below(random, highest + 2);
    expect_picture(s, &look);
  }
}

/* ---- what lies at a place ------------------------------------------------------------------------------ */

static void expect_pick(const stage *s, int64_t moment, uint64_t y0, uint64_t y1, uint32_t top) {
  vs_pick pick;
  uint64_t offset = 0, bytes = 0;
  uint32_t count = 0;
  expect_ok(vs_pick_build(s->host, &s->spans, moment, y0, y1, top, &pick));
  for (size_t i = 0; i < s->account.count; i++) {
    const item *it = &s->account.items[i];
    uint64_t below;
    const bool is_alive = lives(it, moment);
    assert_int_equal(vs_spans_offset(&s->spans, it->row, moment, &below), is_alive);
    if (!is_alive) continue;
    assert_int_equal(below, offset);
    if (it->size > 0 && offset < y1 && offset + it->size > y0) {
      if (top == 0 || count < top) {
        assert_int_equal(pick.rows.data[count].row, it->row);
        assert_int_equal(pick.rows.data[count].size, it->size);
        assert_int_equal(pick.rows.data[count].offset, offset);
      }
      count++;
      bytes += it->size;
    }
    offset += it->size;
  }
  assert_int_equal(pick.total, offset);
  assert_int_equal(pick.count, count);
  assert_int_equal(pick.bytes, bytes);
  assert_int_equal(pick.rows.count, top != 0 && top < count ? top : count);
  vs_pick_deinit(s->host, &pick);
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static void begin_stage(stage *s) {
  const uint32_t moments = s->account.slice->event_count + 1;
  assert_null(vs_spans_check(&s->spans));
  assert_int_equal(s->spans.count, s->account.count);
  qsort(s->account.items, s->account.count, sizeof *s->account.items, stacking_order);
  expect_ok(vs_curve_index_of_spans(s->host, &s->spans, &s->curve));
  s->totals = malloc(moments * sizeof *s->totals);
  s->runs = malloc(64 * sizeof *s->runs);
  for (int by_time = 0; by_time < 2; by_time++) s->places[by_time] = malloc(moments * sizeof(double));
  for (uint32_t m = 0; m < moments; m++) {
    s->totals[m] = total_at(&s->account, (int64_t)m - 1);
    for (int by_time = 0; by_time < 2; by_time++)
      s->places[by_time][m] = x_of(&s->account, by_time != 0, (int64_t)m - 1);
  }
}

static void end_stage(stage *s) {
  vs_curve_index_deinit(s->host, &s->curve);
  vs_spans_deinit(s->host, &s->spans);
  free(s->account.items);
  free(s->totals);
  free(s->runs);
  free(s->places[0]);
  free(s->places[1]);
}

static void expect_stage(stage *s, test_random *random, size_t rows) {
  uint64_t *marked = malloc((rows / 64 + 1) * sizeof *marked);
  uint16_t *groups = malloc((rows + 1) * sizeof *groups);
  for (size_t i = 0; i <= rows / 64; i++) marked[i] = random_u64(random) & random_u64(random);
  for (size_t i = 0; i < rows; i++) groups[i] = (uint16_t)random_below(random, 3);
  begin_stage(s);
  expect_pictures(s, random, marked, groups);
  for (int i = 0; i < 5; i++)
    expect_pick(s, (int64_t)random_below(random, s->account.slice->event_count + 1) - 1,
                random_below(random, 5000), random_below(random, 9000), (uint32_t)random_below(random, 6));
  end_stage(s);
  free(marked);
  free(groups);
}

static uint64_t *bits_at_random(test_random *random, size_t rows) {
  if (random_below(random, 2) == 0) return NULL;
  uint64_t *bits = malloc((rows / 64 + 1) * sizeof *bits);
  for (size_t i = 0; i <= rows / 64; i++) bits[i] = random_u64(random) | random_u64(random);
  return bits;
}

static void compare_allocations(const vs_host *host, const vs_slice *slice, const vs_times *times,
                                test_random *random) {
  vs_lifetimes lifetimes;
  expect_ok(vs_lifetimes_build(host, slice, &lifetimes));
  const size_t rows = lifetimes.rows.count;
  uint64_t *kept = bits_at_random(random, rows);
  stage s = {.host = host, .account = {slice, times, malloc((rows + 1) * sizeof(item)), 0}};
  for (uint32_t i = 0; i < rows; i++) {
    const vs_lifetime *l = &lifetimes.rows.data[i];
    add_item(&s.account, kept, i, l->start, l->end, l->size);
  }
  expect_ok(vs_spans_of_lifetimes(host, &lifetimes, kept, &s.spans));
  expect_stage(&s, random, rows);
  free(kept);
  vs_lifetimes_deinit(host, &lifetimes);
}

static void compare_segments(const vs_host *host, const vs_slice *slice, const vs_times *times,
                             test_random *random) {
  vs_mappings mappings;
  expect_ok(vs_mappings_build(host, slice, &mappings));
  const size_t rows = mappings.rows.count;
  uint64_t *kept = bits_at_random(random, rows);
  stage s = {.host = host, .account = {slice, times, malloc((rows + 1) * sizeof(item)), 0}};
  for (uint32_t i = 0; i < rows; i++) {
    const vs_mapping *m = &mappings.rows.data[i];
    add_item(&s.account, kept, i, m->start, m->end, m->size);
  }
  expect_ok(vs_spans_of_mappings(host, &mappings, kept, &s.spans));
  expect_stage(&s, random, rows);
  free(kept);
  vs_mappings_deinit(host, &mappings);
}

static void test_pictures(void **state) {
  (void)state;
  test_random random = {20};
  for (int i = 0; i < 400; i++) {
    const trace_plan plan = plan_at_random(&random);
    made m = trace_at_random(&random, &plan);
    expect_ok(vs_slices_build(m.host, m.snapshot, &m.slices));
    const vs_slice *slice = vs_slices_find(&m.slices, 0);
    if (slice != NULL) {
      vs_times times;
      expect_ok(vs_times_build(m.host, slice, &times));
      compare_allocations(m.host, slice, &times, &random);
      compare_segments(m.host, slice, &times, &random);
      vs_times_deinit(m.host, &times);
    }
    made_end(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_pictures)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
