#include "analyze/growth.h"
#include "analyze/arrange.h"

/* What happened to a stack in one step, as its boundaries show it: blocks that came, and blocks that went. */
typedef struct change {
  int64_t came, went; /* bytes */
  int64_t blocks;     /* came - went */
} change;

typedef struct builder {
  const vs_host *host;
  const vs_lifetimes *lifetimes;
  const vs_steps *steps;
  vs_growths *out;
  VS_VEC(vs_sort_pair) changes; /* key: stack and boundary, value: 2 * row, + 1 where it is seen no more */
  VS_VEC(change) by_step;       /* of one stack, the last steps, latest first */
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

static vs_status add_change(builder *b, uint32_t stack, uint32_t boundary, uint32_t value) {
  VS_TRY(vs_vec_reserve(b->host, &b->changes, 1));
  b->changes.data[b->changes.count++] = (vs_sort_pair){(uint64_t)stack << 32 | boundary, value};
  return VS_OK;
}

/* Most allocations live and die inside one step and are seen at no boundary. */
static vs_status collect(builder *b) {
  const uint32_t boundaries = (uint32_t)b->steps->boundaries.count;
  const uint32_t *at = b->steps->boundaries.data;
  uint32_t first = 0; /* starts rise, so this one only moves on */
  for (size_t i = 0; i < b->lifetimes->rows.count; i++) {
    const vs_lifetime *row = &b->lifetimes->rows.data[i];
    uint32_t seen = 0, gone = boundaries;
    if (row->start != VS_NO_EVENT) {
      while (first < boundaries && at[first] <= row->start) first++;
      seen = first;
    }
    if (seen == boundaries || (row->end != VS_NO_EVENT && row->end < at[seen])) continue;
    if (row->end != VS_NO_EVENT) gone = boundaries_until(b->steps, row->end);
    uint32_t stack = vs_lifetime_stack(b->lifetimes, row);
    if (stack == VS_LIST_EMPTY) stack = VS_LIST_NONE;
    VS_TRY(add_change(b, stack, seen, 2 * (uint32_t)i));
    if (gone < boundaries) VS_TRY(add_change(b, stack, gone, 2 * (uint32_t)i + 1));
  }
  return vs_sort_pairs(b->host, b->changes.data, b->changes.count);
}

static void add_to_change(const builder *b, const vs_sort_pair *pair, change *to) {
  const uint64_t size = b->lifetimes->rows.data[pair->value / 2].size;
  const int64_t bytes = size > INT64_MAX ? INT64_MAX : (int64_t)size;
  const bool goes = pair->value % 2 != 0;
  int64_t *sum = goes ? &to->went : &to->came;
  *sum = vs_sat_add_i64(*sum, bytes);
  to->blocks += goes ? -1 : 1;
}

/* ---- one stack ----------------------------------------------------------------------------------------- */

/* Spreads the changes [from, to) of one stack over its last steps. A run of L steps has at least 4/5 L rises, each of
 * them a change, so steps further back than 5/4 of the changes cannot belong to it. */
static vs_status spread(builder *b, size_t from, size_t to, change *all) {
  const size_t steps = b->steps->boundaries.count - 1, changes = to - from;
  const size_t wanted = changes + changes / 4 + 1, count = wanted < steps ? wanted : steps;
  b->by_step.count = 0;
  VS_TRY(vs_vec_reserve(b->host, &b->by_step, count));
  for (size_t i = 0; i < count; i++) b->by_step.data[b->by_step.count++] = (change){0, 0, 0};
  *all = (change){0, 0, 0};
  for (size_t i = from; i < to; i++) {
    const vs_sort_pair *pair = &b->changes.data[i];
    const size_t back = steps - (uint32_t)pair->key; /* step s ends at boundary s + 1; boundary 0 ends none */
    add_to_change(b, pair, all);
    if (back < count) add_to_change(b, pair, &b->by_step.data[back]);
  }
  return VS_OK;
}

/* The two ways to grow, see growth.h. `sum` is that of the run, of `length` steps. */
static bool piles_up(const change *sum, uint32_t rises, uint32_t length) {
  return rises >= VS_GROWTH_STEPS && length - rises <= length / 5 && sum->went <= sum->came / 4;
}

static bool swells(uint32_t rises, uint32_t length, bool same_blocks) {
  return same_blocks && rises == length && rises >= 2 * VS_GROWTH_STEPS;
}

/* The longest run that counts; false if there is none. */
static bool longest_run(const builder *b, vs_growth *run) {
  change sum = {0, 0, 0};
  uint32_t rises = 0;
  bool same_blocks = true, found = false;
  for (uint32_t i = 0; i < b->by_step.count; i++) {
    const change *step = &b->by_step.data[i];
    const uint32_t length = i + 1;
    sum.came = vs_sat_add_i64(sum.came, step->came);
    sum.went = vs_sat_add_i64(sum.went, step->went);
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

static vs_status judge_stacks(builder *b) {
  const size_t count = b->changes.count;
  for (size_t from = 0, to; from < count; from = to) {
    const uint64_t stack = b->changes.data[from].key >> 32;
    for (to = from; to < count && b->changes.data[to].key >> 32 == stack;) to++;
    if (to - from < VS_GROWTH_STEPS) continue;
    vs_growth growth = {.stack = (uint32_t)stack, .first_row = b->changes.data[from].value / 2};
    change all;
    VS_TRY(spread(b, from, to, &all));
    if (!longest_run(b, &growth)) continue;
    growth.live_bytes = (uint64_t)(all.came - all.went);
    VS_TRY(vs_vec_reserve(b->host, &b->out->list, 1));
    b->out->list.data[b->out->list.count++] = growth;
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
  return x->bytes_per_step != y->bytes_per_step ? x->bytes_per_step > y->bytes_per_step
                                                : x->first_row < y->first_row;
}

static vs_status build(builder *b) {
  if (b->steps->boundaries.count < VS_GROWTH_STEPS + 1 || !is_plausible(b)) return VS_OK;
  VS_TRY(collect(b));
  VS_TRY(judge_stacks(b));
  vs_growth *growths = b->out->list.data;
  return vs_arrange(b->host, growths, b->out->list.count, sizeof *growths, before, growths);
}

vs_status vs_growths_build(const vs_host *host, const vs_lifetimes *lifetimes, const vs_steps *steps,
                           vs_growths *out) {
  *out = (vs_growths){0};
  if (lifetimes->rows.count > UINT32_MAX / 2) return VS_LIMIT;
  builder b = {.host = host, .lifetimes = lifetimes, .steps = steps, .out = out};
  const vs_status status = build(&b);
  vs_vec_free(host, &b.changes);
  vs_vec_free(host, &b.by_step);
  if (status != VS_OK) vs_growths_deinit(host, out);
  return status;
}

void vs_growths_deinit(const vs_host *host, vs_growths *growths) { vs_vec_free(host, &growths->list); }
