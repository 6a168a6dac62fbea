#include "analyze/growth.h"
#include "analyze/arrange.h"

const char *vs_growth_kind_name(vs_growth_kind kind) {
  static const char *const names[] = {
      [VS_GROWTH_ALLOCATED] = "allocated", [VS_GROWTH_FREED] = "freed", [VS_GROWTH_PENDING] = "pending"};
  return names[kind];
}

/* The change of a line in one step: blocks that are live at its end only, and blocks that are live at its start only. */
typedef struct change {
  int64_t came, went; /* bytes */
  int64_t passed;     /* of the removed ones: blocks that were seen at one boundary only */
  int64_t blocks;     /* came - went */
} change;

typedef struct builder {
  const vs_host *host;
  const vs_lifetimes *lifetimes;
  const vs_steps *steps;
  vs_growths *out;
  vs_keys lines;
  VS_VEC(vs_sort_pair) changes; /* key: line and boundary, value: 2 * row, + 1 where it is seen no more */
  VS_VEC(change) by_step;       /* of one line, the last steps, latest first */
  vs_map growth_of_line;        /* key of lines -> index in the list */
} builder;

/* How many boundaries are at or before an event: an allocation made there is first seen at the next one. */
static uint32_t boundaries_until(const vs_steps *steps, uint32_t event) {
  size_t low = 0, high = steps->boundaries.count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (steps->boundaries.data[middle] <= event) low = middle + 1;
    else high = middle;
  }
  return (uint32_t)low;
}

static vs_status add_change(builder *b, uint32_t line, uint32_t boundary, uint32_t value) {
  VS_TRY(vs_vec_reserve(b->host, &b->changes, 1));
  b->changes.data[b->changes.count++] = (vs_sort_pair){(uint64_t)line << 32 | boundary, value};
  return VS_OK;
}

static vs_status line_of(builder *b, const vs_lifetime *row, uint32_t *line) {
  const vs_keyed keyed = {.start = row->start, .stack = vs_lifetime_stack(b->lifetimes, row)};
  return vs_key_of(&b->lines, &keyed, line);
}

/* Most allocations live and die inside one step and are seen at no boundary. */
static vs_status collect(builder *b) {
  const uint32_t boundaries = (uint32_t)b->steps->boundaries.count;
  const uint32_t *at = b->steps->boundaries.data;
  uint32_t first = 0, next = at[0]; /* at[first], behind the last one VS_NO_EVENT: starts rise */
  const vs_lifetime *rows = b->lifetimes->rows.data;
  const size_t count = b->lifetimes->rows.count;
  for (size_t i = 0; i < count; i++) {
    const vs_lifetime *row = &rows[i];
    uint32_t seen = 0, gone = boundaries;
    if (row->start != VS_NO_EVENT) {
      for (; next <= row->start; next = first < boundaries ? at[first] : VS_NO_EVENT) first++;
      if (row->end < next || next == VS_NO_EVENT) continue;
      seen = first;
    } else if (row->end < at[0]) {
      continue;
    }
    if (row->end != VS_NO_EVENT) gone = boundaries_until(b->steps, row->end);
    uint32_t line;
    VS_TRY(line_of(b, row, &line));
    VS_TRY(add_change(b, line, seen, 2 * (uint32_t)i));
    if (gone < boundaries) VS_TRY(add_change(b, line, gone, 2 * (uint32_t)i + 1));
  }
  return vs_sort_pairs(b->host, b->changes.data, b->changes.count);
}

/* Whether a block that is seen no more at a boundary came after the one before the last: it was seen once. */
static bool passes(const builder *b, const vs_lifetime *row, uint32_t gone) {
  VS_ASSERT(gone < b->steps->boundaries.count);
  return gone >= 2 && row->start != VS_NO_EVENT && row->start >= b->steps->boundaries.data[gone - 2];
}

static void add_to_change(const builder *b, const vs_sort_pair *pair, change *to) {
  const vs_lifetime *row = &b->lifetimes->rows.data[pair->value / 2];
  const int64_t bytes = row->size > INT64_MAX ? INT64_MAX : (int64_t)row->size;
  const bool goes = pair->value % 2 != 0;
  if (goes && passes(b, row, (uint32_t)pair->key)) to->passed = vs_sat_add_i64(to->passed, bytes);
  int64_t *sum = goes ? &to->went : &to->came;
  *sum = vs_sat_add_i64(*sum, bytes);
  to->blocks += goes ? -1 : 1;
}

/* ---- one line ------------------------------------------------------------------------------------------- */

/* Spreads the changes [from, to) of one line over its last steps. A run of L steps has at least 4/5 L rises, each of
 * them a change, so steps further back than 5/4 of the changes cannot belong to it. */
static vs_status spread(builder *b, size_t from, size_t to) {
  const size_t steps = b->steps->boundaries.count - 1, changes = to - from;
  const size_t wanted = changes + changes / 4 + 1, count = wanted < steps ? wanted : steps;
  b->by_step.count = 0;
  VS_TRY(vs_vec_reserve(b->host, &b->by_step, count));
  for (size_t i = 0; i < count; i++) b->by_step.data[b->by_step.count++] = (change){0};
  for (size_t i = from; i < to; i++) {
    const vs_sort_pair *pair = &b->changes.data[i];
    const size_t back = steps - (uint32_t)pair->key; /* step s ends at boundary s + 1; boundary 0 ends none */
    if (back < count) add_to_change(b, pair, &b->by_step.data[back]);
  }
  return VS_OK;
}

/* The two ways to grow, see growth.h. `sum` is that of the run, of `length` steps. */
static bool piles_up(const change *sum, uint32_t rises, uint32_t length) {
  return rises >= VS_GROWTH_STEPS && length - rises <= length / 5 && sum->blocks >= rises / 2 &&
         sum->went - sum->passed <= (sum->came - sum->passed) / 4;
}

static bool swells(uint32_t rises, uint32_t length, bool same_blocks) {
  return same_blocks && rises == length && rises >= 2 * VS_GROWTH_STEPS;
}

/* The longest run that counts; false if there is none. */
static bool longest_run(const builder *b, vs_growth *run) {
  change sum = {0};
  uint32_t rises = 0;
  bool same_blocks = true, found = false;
  for (uint32_t i = 0; i < b->by_step.count; i++) {
    const change *step = &b->by_step.data[i];
    const uint32_t length = i + 1;
    sum.came = vs_sat_add_i64(sum.came, step->came);
    sum.went = vs_sat_add_i64(sum.went, step->went);
    sum.passed = vs_sat_add_i64(sum.passed, step->passed);
    sum.blocks += step->blocks;
    same_blocks &= step->blocks == 0;
    if (step->came <= step->went) continue;
    rises++;
    if (!piles_up(&sum, rises, length) && !swells(rises, length, same_blocks)) continue;
    found = true;
    run->steps = length;
    run->rises = rises;
    run->bytes = (uint64_t)(sum.came - sum.went);
    run->bytes_per_step = run->bytes / length;
    run->blocks = sum.blocks > 0 ? (uint64_t)sum.blocks : 0;
    run->first_step = (uint32_t)(b->steps->boundaries.count - 1) - length;
  }
  return found;
}

/* The live bytes of the line at the last boundary: those added and not removed. */
static void measure_last(const builder *b, size_t from, size_t to, vs_growth *growth) {
  const uint32_t last = b->steps->boundaries.data[b->steps->boundaries.count - 1];
  for (size_t i = from; i < to; i++) {
    const vs_lifetime *row = &b->lifetimes->rows.data[b->changes.data[i].value / 2];
    if (b->changes.data[i].value % 2 != 0 || (row->end != VS_NO_EVENT && row->end < last)) continue;
    growth->live_bytes = vs_sat_add_u64(growth->live_bytes, row->size);
    if (vs_lifetime_is_pending(b->lifetimes, row, (vs_moment)last - 1))
      growth->pending_bytes = vs_sat_add_u64(growth->pending_bytes, row->size);
  }
}

static vs_status judge_lines(builder *b) {
  const size_t count = b->changes.count;
  for (size_t from = 0, to; from < count; from = to) {
    const uint64_t line = b->changes.data[from].key >> 32;
    for (to = from; to < count && b->changes.data[to].key >> 32 == line;) to++;
    if (to - from < VS_GROWTH_STEPS) continue;
    const uint32_t first = b->changes.data[from].value / 2;
    vs_growth growth = {.first_row = first,
                        .stack = vs_lifetime_stack(b->lifetimes, &b->lifetimes->rows.data[first])};
    VS_TRY(spread(b, from, to));
    if (!longest_run(b, &growth)) continue;
    measure_last(b, from, to, &growth);
    VS_TRY(vs_vec_reserve(b->host, &b->out->list, 1));
    VS_TRY(vs_map_reserve(b->host, &b->growth_of_line));
    vs_map_add(&b->growth_of_line, line, (uint32_t)b->out->list.count);
    b->out->list.data[b->out->list.count++] = growth;
  }
  return VS_OK;
}

/* The bytes of each growing line at the end, which decide the kind of growth. */
static vs_status follow_to_end(builder *b) {
  const vs_lifetimes *lifetimes = b->lifetimes;
  const vs_moment end = vs_slice_end(lifetimes->slice);
  for (size_t i = 0; i < lifetimes->rows.count && b->out->list.count > 0; i++) {
    const vs_lifetime *row = &lifetimes->rows.data[i];
    if (row->end != VS_NO_EVENT || vs_lifetime_is_pending(lifetimes, row, end)) continue;
    uint32_t line;
    VS_TRY(line_of(b, row, &line));
    const size_t slot = vs_map_find(&b->growth_of_line, line);
    if (slot == VS_MAP_NONE) continue;
    vs_growth *growth = &b->out->list.data[b->growth_of_line.slots[slot].value];
    growth->end_bytes = vs_sat_add_u64(growth->end_bytes, row->size);
  }
  for (size_t i = 0; i < b->out->list.count; i++) {
    vs_growth *growth = &b->out->list.data[i];
    if (growth->pending_bytes > growth->live_bytes / 2) growth->kind = VS_GROWTH_PENDING;
    else if (growth->end_bytes < growth->bytes / 2) growth->kind = VS_GROWTH_FREED;
  }
  return VS_OK;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

/* Steps guessed from a pattern may be the layers of one forward pass, which keeps its activations: then most of what is
 * allocated stays. A training loop gives nearly all of it back. */
static bool is_plausible(const builder *b) {
  if (b->steps->source != VS_STEPS_PATTERN) return true;
  const uint32_t from = b->steps->boundaries.data[0];
  const uint32_t to = b->steps->boundaries.data[b->steps->boundaries.count - 1];
  uint64_t allocated = 0, kept = 0;
  for (size_t i = 0; i < b->lifetimes->rows.count; i++) {
    const vs_lifetime *row = &b->lifetimes->rows.data[i];
    if (row->start == VS_NO_EVENT || row->start < from || row->start >= to) continue;
    allocated = vs_sat_add_u64(allocated, row->size);
    if (row->end == VS_NO_EVENT || row->end >= to) kept = vs_sat_add_u64(kept, row->size);
  }
  return kept <= allocated / 2;
}

/* Equal ones in order of their first blocks: ids of stacks differ between files that say the same. */
static bool before(const void *ctx, uint32_t a, uint32_t b) {
  const vs_growth *x = (const vs_growth *)ctx + a, *y = (const vs_growth *)ctx + b;
  if (x->kind != y->kind) return x->kind < y->kind;
  return x->bytes_per_step != y->bytes_per_step ? x->bytes_per_step > y->bytes_per_step
                                                : x->first_row < y->first_row;
}

static vs_status build(builder *b) {
  if (b->steps->boundaries.count < VS_GROWTH_STEPS + 1 || !is_plausible(b)) return VS_OK;
  VS_TRY(collect(b));
  VS_TRY(judge_lines(b));
  VS_TRY(follow_to_end(b));
  vs_growth *growths = b->out->list.data;
  return vs_arrange(b->host, growths, b->out->list.count, sizeof *growths, before, growths);
}

vs_status vs_growths_build(const vs_host *host, const vs_lifetimes *lifetimes, const vs_steps *steps,
                           vs_frames *frames, vs_growths *out) {
  *out = (vs_growths){0};
  if (lifetimes->rows.count > UINT32_MAX / 2) return VS_LIMIT;
  builder b = {.host = host, .lifetimes = lifetimes, .steps = steps, .out = out};
  VS_TRY(vs_keys_init(&b.lines, host, lifetimes->slice, VS_BY_LINE, frames));
  const vs_status status = build(&b);
  vs_keys_deinit(&b.lines);
  vs_vec_free(host, &b.changes);
  vs_vec_free(host, &b.by_step);
  vs_map_deinit(host, &b.growth_of_line);
  if (status != VS_OK) vs_growths_deinit(host, out);
  return status;
}

void vs_growths_deinit(const vs_host *host, vs_growths *growths) { vs_vec_free(host, &growths->list); }
