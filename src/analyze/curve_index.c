#include "analyze/curve_index.h"

static int64_t as_step(uint64_t size) { return size > INT64_MAX ? INT64_MAX : (int64_t)size; }

static uint32_t block_of(uint32_t done) { return done / VS_CURVE_BLOCK; }

/* The moments of a block. */
static uint32_t length_of(const vs_curve_index *curve, uint32_t block) {
  VS_ASSERT(block <= block_of(curve->event_count));
  const uint32_t rest = curve->event_count - block * VS_CURVE_BLOCK;
  return rest < VS_CURVE_BLOCK ? rest + 1 : VS_CURVE_BLOCK;
}

/* ---- walking one block: values[i] is the total when block * VS_CURVE_BLOCK + i events have happened ------- */

static void walk_curve(const vs_curve_index *curve, uint32_t block, int64_t before, int64_t *values) {
  const vs_slice *slice = curve->slice;
  const vs_events *events = &slice->snapshot->events;
  const uint32_t first = block * VS_CURVE_BLOCK, length = length_of(curve, block);
  int64_t value = before;
  uint32_t i = 0;
  if (block == 0) values[i++] = value;
  for (; i < length; i++) {
    const uint32_t row = vs_slice_row(slice, first + i - 1);
    const int64_t step = as_step(vs_events_size(events, row));
    value = vs_sat_add_i64(value, curve->signs.of[vs_events_kind(events, row)] * step);
    values[i] = value;
  }
}

/* The sums cannot overflow, because the sizes of all spans together stay below 2^63 (spans.h). */
static void walk_spans(const vs_curve_index *curve, uint32_t block, int64_t before, int64_t *values) {
  const vs_spans *spans = curve->spans;
  const uint32_t first = block * VS_CURVE_BLOCK, length = length_of(curve, block);
  memset(values, 0, VS_CURVE_BLOCK * sizeof *values);
  for (uint32_t i = spans->first_from.data[block]; i < spans->first_from.data[block + 1]; i++) {
    VS_ASSERT(spans->from.data[i] - first < length);
    values[spans->from.data[i] - first] += (int64_t)spans->size.data[i];
  }
  for (uint32_t i = spans->first_until.data[block]; i < spans->first_until.data[block + 1]; i++) {
    const uint32_t span = spans->by_until.data[i];
    VS_ASSERT(spans->until.data[span] - first < length);
    values[spans->until.data[span] - first] -= (int64_t)spans->size.data[span];
  }
  for (uint32_t i = 0; i < length; i++) values[i] = before += values[i];
}

static void walk(const vs_curve_index *curve, uint32_t block, int64_t *values) {
  VS_ASSERT(block <= curve->blocks.count && (curve->slice == NULL) != (curve->spans == NULL));
  const int64_t before = block == 0 ? curve->baseline : curve->blocks.data[block - 1].last;
  if (curve->spans != NULL) walk_spans(curve, block, before, values);
  else walk_curve(curve, block, before, values);
}

/* ---- building ------------------------------------------------------------------------------------------ */

/* The extent of values[first .. last]; values[first] is that of `moment`. */
static vs_curve_extent measure(const int64_t *values, uint32_t first, uint32_t last, vs_moment moment) {
  uint32_t high_at = first;
  int64_t high = values[first], low = high;
  VS_ASSERT(first <= last && last < VS_CURVE_BLOCK);
  for (uint32_t i = first + 1; i <= last; i++) {
    if (values[i] > high) {
      high = values[i];
      high_at = i;
    }
    if (values[i] < low) low = values[i];
  }
  return (vs_curve_extent){high, low, values[last], moment + (high_at - first)};
}

static vs_moment moment_of(uint32_t block) { return (vs_moment)block * VS_CURVE_BLOCK - 1; }

static void add_block(vs_curve_index *curve, uint32_t block) {
  int64_t values[VS_CURVE_BLOCK];
  walk(curve, block, values);
  curve->blocks.data[curve->blocks.count++] =
      measure(values, 0, length_of(curve, block) - 1, moment_of(block));
}

vs_status vs_curve_index_of_curves(const vs_host *host, const vs_slice *slice, const vs_curves *curves,
                                   vs_curve_index out[VS_CURVE_KINDS]) {
  const uint32_t blocks = block_of(slice->event_count) + 1;
  vs_status status = VS_OK;
  for (int kind = 0; kind < VS_CURVE_KINDS; kind++) {
    out[kind] = (vs_curve_index){.slice = slice,
                                 .signs = vs_curve_signs_of((vs_curve_kind)kind, curves->closing),
                                 .event_count = slice->event_count,
                                 .baseline = curves->curve[kind].baseline};
    if (status == VS_OK) status = vs_vec_reserve(host, &out[kind].blocks, blocks);
  }
  for (uint32_t block = 0; block < blocks && status == VS_OK; block++)
    for (int kind = 0; kind < VS_CURVE_KINDS; kind++) add_block(&out[kind], block);
  for (int kind = 0; kind < VS_CURVE_KINDS && status != VS_OK; kind++)
    vs_curve_index_deinit(host, &out[kind]);
  return status;
}

vs_status vs_curve_index_of_spans(const vs_host *host, const vs_spans *spans, vs_curve_index *out) {
  const uint32_t blocks = block_of(spans->event_count) + 1;
  *out = (vs_curve_index){.spans = spans, .event_count = spans->event_count};
  VS_TRY(vs_vec_reserve(host, &out->blocks, blocks));
  for (uint32_t block = 0; block < blocks; block++) add_block(out, block);
  return VS_OK;
}

void vs_curve_index_deinit(const vs_host *host, vs_curve_index *curve) { vs_vec_free(host, &curve->blocks); }

/* ---- reading ------------------------------------------------------------------------------------------- */

void vs_curve_reader_init(vs_curve_reader *reader, const vs_curve_index *curve) {
  reader->curve = curve;
  reader->block = UINT32_MAX;
}

static const int64_t *values_of(vs_curve_reader *reader, uint32_t block) {
  if (reader->block != block) walk(reader->curve, block, reader->values);
  reader->block = block;
  return reader->values;
}

int64_t vs_curve_reader_at(vs_curve_reader *reader, vs_moment moment) {
  const uint32_t done = vs_done(reader->curve->event_count, moment);
  if (done % VS_CURVE_BLOCK == VS_CURVE_BLOCK - 1) return reader->curve->blocks.data[block_of(done)].last;
  return values_of(reader, block_of(done))[done % VS_CURVE_BLOCK];
}

/* The extent of done = first .. last, both in one block. */
static vs_curve_extent inside(vs_curve_reader *reader, uint32_t first, uint32_t last) {
  const uint32_t block = block_of(first), length = length_of(reader->curve, block);
  const uint32_t from = first % VS_CURVE_BLOCK, to = last % VS_CURVE_BLOCK;
  VS_ASSERT(block == block_of(last) && from <= to && to < length);
  if (from == 0 && to == length - 1) return reader->curve->blocks.data[block];
  return measure(values_of(reader, block), from, to, (vs_moment)first - 1);
}

static void append(vs_curve_extent *extent, const vs_curve_extent *next) {
  if (next->high > extent->high) {
    extent->high = next->high;
    extent->high_at = next->high_at;
  }
  if (next->low < extent->low) extent->low = next->low;
  extent->last = next->last;
}

vs_curve_extent vs_curve_reader_between(vs_curve_reader *reader, vs_moment first, vs_moment last) {
  const vs_curve_index *curve = reader->curve;
  const uint32_t from = vs_done(curve->event_count, first), to = vs_done(curve->event_count, last);
  VS_ASSERT(from <= to);
  const uint32_t block = block_of(from), end = block_of(to);
  if (block == end) return inside(reader, from, to);
  vs_curve_extent extent = inside(reader, from, block * VS_CURVE_BLOCK + VS_CURVE_BLOCK - 1);
  for (uint32_t b = block + 1; b < end; b++) append(&extent, &curve->blocks.data[b]);
  const vs_curve_extent rest = inside(reader, end * VS_CURVE_BLOCK, to);
  append(&extent, &rest);
  return extent;
}

/* ---- the largest growth -------------------------------------------------------------------------------- */

/* A block that cannot contain a larger growth than the best so far is not walked. If it contains the lowest value so
 * far, the moment of that value is looked up when it is needed. */
typedef struct climb {
  const vs_curve_index *curve;
  int64_t low; /* the lowest value so far, and the last moment at which it was reached */
  vs_moment low_at;
  uint32_t low_block; /* low_at is in this block and not looked up yet; UINT32_MAX: low_at is set */
  vs_rise best;
} climb;

static uint64_t growth(int64_t from, int64_t to) { return to > from ? (uint64_t)to - (uint64_t)from : 0; }

static void find_low(climb *c) {
  if (c->low_block == UINT32_MAX) return;
  int64_t values[VS_CURVE_BLOCK];
  walk(c->curve, c->low_block, values);
  for (uint32_t i = 0; i < length_of(c->curve, c->low_block); i++)
    if (values[i] == c->low) c->low_at = moment_of(c->low_block) + i;
  VS_ASSERT(block_of((uint32_t)(c->low_at + 1)) == c->low_block);
  c->low_block = UINT32_MAX;
}

static void climb_block(climb *c, uint32_t block) {
  int64_t values[VS_CURVE_BLOCK];
  find_low(c);
  VS_ASSERT(c->low_block == UINT32_MAX && block < c->curve->blocks.count);
  walk(c->curve, block, values);
  for (uint32_t i = 0; i < length_of(c->curve, block); i++) {
    if (growth(c->low, values[i]) > c->best.bytes)
      c->best = (vs_rise){c->low_at, moment_of(block) + i, growth(c->low, values[i])};
    if (values[i] > c->low) continue;
    c->low = values[i];
    c->low_at = moment_of(block) + i;
  }
}

vs_rise vs_curve_index_rise(const vs_curve_index *curve) {
  climb c = {.curve = curve,
             .low = INT64_MAX,
             .low_at = VS_AT_START,
             .low_block = UINT32_MAX,
             .best = {VS_AT_START, VS_AT_START, 0}};
  for (uint32_t block = 0; block < curve->blocks.count; block++) {
    const vs_curve_extent *extent = &curve->blocks.data[block];
    const int64_t low = extent->low < c.low ? extent->low : c.low;
    if (growth(low, extent->high) > c.best.bytes) {
      climb_block(&c, block);
    } else if (extent->low <= c.low) {
      c.low = extent->low;
      c.low_block = block;
    }
  }
  return c.best;
}

/* ---- the invariant ------------------------------------------------------------------------------------- */

static bool same_extent(const vs_curve_extent *a, const vs_curve_extent *b) {
  return a->high == b->high && a->low == b->low && a->last == b->last && a->high_at == b->high_at;
}

/* The bytes of the spans that are alive after the last event. */
static int64_t total_at_end(const vs_spans *spans) {
  int64_t total = 0;
  for (uint32_t i = 0; i < spans->count; i++)
    if (spans->until.data[i] > spans->event_count) total += (int64_t)spans->size.data[i];
  return total;
}

const char *vs_curve_index_check(const vs_curve_index *curve) {
  const uint32_t blocks = block_of(curve->event_count) + 1;
  if ((curve->slice == NULL) == (curve->spans == NULL)) return "neither a curve nor spans, or both";
  if (curve->event_count != (curve->slice != NULL ? curve->slice->event_count : curve->spans->event_count))
    return "events of another trace";
  if (curve->blocks.count != blocks) return "blocks are missing";
  for (uint32_t block = 0; block < blocks; block++) {
    int64_t values[VS_CURVE_BLOCK];
    walk(curve, block, values);
    const vs_curve_extent extent = measure(values, 0, length_of(curve, block) - 1, moment_of(block));
    if (!same_extent(&extent, &curve->blocks.data[block])) return "a block that differs from its moments";
  }
  if (curve->spans != NULL && curve->blocks.data[blocks - 1].last != total_at_end(curve->spans))
    return "the last total differs from the spans alive";
  return NULL;
}
