#include "analyze/levels.h"

static int64_t as_step(uint64_t size) { return size > INT64_MAX ? INT64_MAX : (int64_t)size; }

static uint32_t block_of(uint32_t done) { return done / VS_LEVEL_BLOCK; }

/* The moments of a block. */
static uint32_t length_of(const vs_levels *levels, uint32_t block) {
  const uint32_t rest = levels->event_count - block * VS_LEVEL_BLOCK;
  return rest < VS_LEVEL_BLOCK ? rest + 1 : VS_LEVEL_BLOCK;
}

/* ---- walking one block: values[i] is the total when block * VS_LEVEL_BLOCK + i events have happened ------- */

static void walk_curve(const vs_levels *levels, uint32_t block, int64_t before, int64_t *values) {
  const vs_slice *slice = levels->slice;
  const vs_events *events = &slice->snapshot->events;
  const uint32_t first = block * VS_LEVEL_BLOCK, length = length_of(levels, block);
  int64_t value = before;
  uint32_t i = 0;
  if (block == 0) values[i++] = value;
  for (; i < length; i++) {
    const uint32_t row = vs_slice_row(slice, first + i - 1);
    const int64_t step = as_step(vs_events_size(events, row));
    value = vs_sat_add_i64(value, levels->signs.of[vs_events_kind(events, row)] * step);
    values[i] = value;
  }
}

/* Sizes fit, see spans.h. */
static void walk_spans(const vs_levels *levels, uint32_t block, int64_t before, int64_t *values) {
  const vs_spans *spans = levels->spans;
  const uint32_t first = block * VS_LEVEL_BLOCK, length = length_of(levels, block);
  memset(values, 0, VS_LEVEL_BLOCK * sizeof *values);
  for (uint32_t i = spans->first_from.data[block]; i < spans->first_from.data[block + 1]; i++)
    values[spans->from.data[i] - first] += (int64_t)spans->size.data[i];
  for (uint32_t i = spans->first_until.data[block]; i < spans->first_until.data[block + 1]; i++) {
    const uint32_t span = spans->by_until.data[i];
    values[spans->until.data[span] - first] -= (int64_t)spans->size.data[span];
  }
  for (uint32_t i = 0; i < length; i++) values[i] = before += values[i];
}

static void walk(const vs_levels *levels, uint32_t block, int64_t *values) {
  const int64_t before = block == 0 ? levels->baseline : levels->blocks.data[block - 1].last;
  if (levels->spans != NULL) walk_spans(levels, block, before, values);
  else walk_curve(levels, block, before, values);
}

/* ---- building ------------------------------------------------------------------------------------------ */

/* Of values[first .. last], the first of which is at `moment`. */
static vs_level measure(const int64_t *values, uint32_t first, uint32_t last, vs_moment moment) {
  uint32_t high_at = first;
  int64_t high = values[first], low = high;
  for (uint32_t i = first + 1; i <= last; i++) {
    if (values[i] > high) {
      high = values[i];
      high_at = i;
    }
    if (values[i] < low) low = values[i];
  }
  return (vs_level){high, low, values[last], moment + (high_at - first)};
}

static vs_moment moment_of(uint32_t block) { return (vs_moment)block * VS_LEVEL_BLOCK - 1; }

static void add_block(vs_levels *levels, uint32_t block) {
  int64_t values[VS_LEVEL_BLOCK];
  walk(levels, block, values);
  levels->blocks.data[levels->blocks.count++] =
      measure(values, 0, length_of(levels, block) - 1, moment_of(block));
}

vs_status vs_levels_of_curves(const vs_host *host, const vs_slice *slice, const vs_curves *curves,
                              vs_levels out[VS_CURVE_KINDS]) {
  const uint32_t blocks = block_of(slice->event_count) + 1;
  vs_status status = VS_OK;
  for (int kind = 0; kind < VS_CURVE_KINDS; kind++) {
    out[kind] = (vs_levels){.slice = slice,
                            .signs = vs_curve_signs_of((vs_curve_kind)kind, curves->closing),
                            .event_count = slice->event_count,
                            .baseline = curves->curve[kind].baseline};
    if (status == VS_OK) status = vs_vec_reserve(host, &out[kind].blocks, blocks);
  }
  for (uint32_t block = 0; block < blocks && status == VS_OK; block++)
    for (int kind = 0; kind < VS_CURVE_KINDS; kind++) add_block(&out[kind], block);
  for (int kind = 0; kind < VS_CURVE_KINDS && status != VS_OK; kind++) vs_levels_deinit(host, &out[kind]);
  return status;
}

vs_status vs_levels_of_spans(const vs_host *host, const vs_spans *spans, vs_levels *out) {
  const uint32_t blocks = block_of(spans->event_count) + 1;
  *out = (vs_levels){.spans = spans, .event_count = spans->event_count};
  VS_TRY(vs_vec_reserve(host, &out->blocks, blocks));
  for (uint32_t block = 0; block < blocks; block++) add_block(out, block);
  return VS_OK;
}

void vs_levels_deinit(const vs_host *host, vs_levels *levels) { vs_vec_free(host, &levels->blocks); }

/* ---- reading ------------------------------------------------------------------------------------------- */

void vs_levels_reader_init(vs_levels_reader *reader, const vs_levels *levels) {
  reader->levels = levels;
  reader->block = UINT32_MAX;
}

static const int64_t *values_of(vs_levels_reader *reader, uint32_t block) {
  if (reader->block != block) walk(reader->levels, block, reader->values);
  reader->block = block;
  return reader->values;
}

int64_t vs_levels_at(vs_levels_reader *reader, vs_moment moment) {
  const uint32_t done = vs_done(reader->levels->event_count, moment);
  if (done % VS_LEVEL_BLOCK == VS_LEVEL_BLOCK - 1) return reader->levels->blocks.data[block_of(done)].last;
  return values_of(reader, block_of(done))[done % VS_LEVEL_BLOCK];
}

/* Of done = first .. last, which lie in one block. */
static vs_level inside(vs_levels_reader *reader, uint32_t first, uint32_t last) {
  const uint32_t block = block_of(first), length = length_of(reader->levels, block);
  const uint32_t from = first % VS_LEVEL_BLOCK, to = last % VS_LEVEL_BLOCK;
  if (from == 0 && to == length - 1) return reader->levels->blocks.data[block];
  return measure(values_of(reader, block), from, to, (vs_moment)first - 1);
}

static void append(vs_level *level, const vs_level *next) {
  if (next->high > level->high) {
    level->high = next->high;
    level->high_at = next->high_at;
  }
  if (next->low < level->low) level->low = next->low;
  level->last = next->last;
}

vs_level vs_levels_between(vs_levels_reader *reader, vs_moment first, vs_moment last) {
  const vs_levels *levels = reader->levels;
  const uint32_t from = vs_done(levels->event_count, first), to = vs_done(levels->event_count, last);
  VS_ASSERT(from <= to);
  const uint32_t block = block_of(from), end = block_of(to);
  if (block == end) return inside(reader, from, to);
  vs_level level = inside(reader, from, block * VS_LEVEL_BLOCK + VS_LEVEL_BLOCK - 1);
  for (uint32_t b = block + 1; b < end; b++) append(&level, &levels->blocks.data[b]);
  const vs_level rest = inside(reader, end * VS_LEVEL_BLOCK, to);
  append(&level, &rest);
  return level;
}

/* ---- the largest growth -------------------------------------------------------------------------------- */

/* Blocks that cannot hold a larger growth than the best so far are not walked, but for the place of their lowest value:
 * it is found when it is needed. */
typedef struct climb {
  const vs_levels *levels;
  int64_t low; /* the lowest value so far, and where it was last */
  vs_moment low_at;
  uint32_t low_block; /* low_at is not known yet: somewhere in this block; UINT32_MAX: it is known */
  vs_rise best;
} climb;

static uint64_t growth(int64_t from, int64_t to) { return to > from ? (uint64_t)to - (uint64_t)from : 0; }

static void find_low(climb *c) {
  if (c->low_block == UINT32_MAX) return;
  int64_t values[VS_LEVEL_BLOCK];
  walk(c->levels, c->low_block, values);
  for (uint32_t i = 0; i < length_of(c->levels, c->low_block); i++)
    if (values[i] == c->low) c->low_at = moment_of(c->low_block) + i;
  c->low_block = UINT32_MAX;
}

static void climb_block(climb *c, uint32_t block) {
  int64_t values[VS_LEVEL_BLOCK];
  find_low(c);
  walk(c->levels, block, values);
  for (uint32_t i = 0; i < length_of(c->levels, block); i++) {
    if (growth(c->low, values[i]) > c->best.bytes)
      c->best = (vs_rise){c->low_at, moment_of(block) + i, growth(c->low, values[i])};
    if (values[i] > c->low) continue;
    c->low = values[i];
    c->low_at = moment_of(block) + i;
  }
}

vs_rise vs_levels_rise(const vs_levels *levels) {
  climb c = {.levels = levels,
             .low = INT64_MAX,
             .low_at = VS_AT_START,
             .low_block = UINT32_MAX,
             .best = {VS_AT_START, VS_AT_START, 0}};
  for (uint32_t block = 0; block < levels->blocks.count; block++) {
    const vs_level *level = &levels->blocks.data[block];
    const int64_t low = level->low < c.low ? level->low : c.low;
    if (growth(low, level->high) > c.best.bytes) {
      climb_block(&c, block);
    } else if (level->low <= c.low) {
      c.low = level->low;
      c.low_block = block;
    }
  }
  return c.best;
}
