#include "analyze/spans.h"
#include "base/sort.h"

/* ---- building ------------------------------------------------------------------------------------------ */

/* A row from before the trace. */
typedef struct older_row {
  uint64_t size;
  uint32_t until, row;
} older_row;

typedef struct maker {
  const vs_host *host;
  const uint64_t *kept;
  vs_spans *out;
  VS_VEC(older_row) older;
  uint64_t sum; /* of sizes */
} maker;

static uint32_t count_kept(const uint64_t *kept, uint32_t rows) {
  uint32_t count = 0;
  if (kept == NULL) return rows;
  for (uint32_t row = 0; row < rows; row += 64) {
    const uint64_t bits =
        rows - row < 64 ? kept[row / 64] & ((UINT64_C(1) << (rows - row)) - 1) : kept[row / 64];
    count += (uint32_t)__builtin_popcountll(bits);
  }
  return count;
}

static vs_status reserve(maker *m, uint32_t rows) {
  vs_spans *out = m->out;
  const uint32_t count = count_kept(m->kept, rows);
  VS_TRY(vs_vec_reserve(m->host, &out->from, count));
  VS_TRY(vs_vec_reserve(m->host, &out->until, count));
  VS_TRY(vs_vec_reserve(m->host, &out->size, count));
  return vs_vec_reserve(m->host, &out->row, count);
}

/* Adds a row that began in the trace; older rows are collected in `older`. */
static inline vs_status add(maker *m, uint32_t row, uint32_t start, uint32_t end, uint64_t size) {
  vs_spans *out = m->out;
  const uint32_t until = end == VS_NO_EVENT ? VS_STILL_ALIVE : end + 1;
  if (m->kept != NULL && !vs_bit(m->kept, row)) return VS_OK;
  m->sum = vs_sat_add_u64(m->sum, size);
  if (start == VS_NO_EVENT) {
    VS_TRY(vs_vec_reserve(m->host, &m->older, 1));
    m->older.data[m->older.count++] = (older_row){size, until, row};
    return VS_OK;
  }
  const uint32_t at = out->count++;
  VS_ASSERT(at < out->from.capacity && start + 1 < until);
  VS_ASSERT(at == 0 || out->from.data[at - 1] <= start + 1);
  out->from.data[at] = start + 1;
  out->until.data[at] = until;
  out->size.data[at] = size;
  out->row.data[at] = row;
  return VS_OK;
}

/* Moves the rows that began in the trace up, to make room for the older ones below. */
static void make_room(vs_spans *out, size_t older) {
  const size_t count = out->count;
  VS_ASSERT(older == 0 || count + older <= out->from.capacity);
  out->count += (uint32_t)older;
  out->from.count = out->until.count = out->size.count = out->row.count = out->count;
  if (older == 0) return;
  memmove(out->from.data + older, out->from.data, count * sizeof *out->from.data);
  memmove(out->until.data + older, out->until.data, count * sizeof *out->until.data);
  memmove(out->size.data + older, out->size.data, count * sizeof *out->size.data);
  memmove(out->row.data + older, out->row.data, count * sizeof *out->row.data);
}

/* Puts the older rows below the others, the longest first. */
static vs_status put_older(maker *m) {
  VS_VEC(vs_sort_pair) order = {0};
  vs_status status = vs_vec_reserve(m->host, &order, m->older.count);
  for (uint32_t i = 0; i < m->older.count && status == VS_OK; i++)
    order.data[order.count++] = (vs_sort_pair){VS_STILL_ALIVE - m->older.data[i].until, i};
  if (status == VS_OK) status = vs_sort_pairs(m->host, order.data, order.count);
  make_room(m->out, order.count);
  for (size_t i = 0; i < order.count && status == VS_OK; i++) {
    const older_row *o = &m->older.data[order.data[i].value];
    m->out->from.data[i] = 0;
    m->out->until.data[i] = o->until;
    m->out->size.data[i] = o->size;
    m->out->row.data[i] = o->row;
  }
  vs_vec_free(m->host, &order);
  return status;
}

static void limit_sizes(const maker *m) {
  vs_spans *out = m->out;
  if (m->sum <= INT64_MAX) return;
  VS_ASSERT(out->count > 0);
  const uint64_t most = (uint64_t)INT64_MAX / out->count;
  for (uint32_t i = 0; i < out->count; i++) out->size.data[i] = vs_min_u64(out->size.data[i], most);
}

static vs_status add_lifetimes(maker *m, const vs_lifetimes *lifetimes) {
  const vs_lifetime *rows = lifetimes->rows.data;
  VS_TRY(reserve(m, (uint32_t)lifetimes->rows.count));
  for (uint32_t row = 0; row < lifetimes->rows.count; row++)
    VS_TRY(add(m, row, rows[row].start, rows[row].end, rows[row].size));
  return put_older(m);
}

static vs_status add_mappings(maker *m, const vs_mappings *mappings) {
  const vs_mapping *rows = mappings->rows.data;
  VS_TRY(reserve(m, (uint32_t)mappings->rows.count));
  for (uint32_t row = 0; row < mappings->rows.count; row++)
    VS_TRY(add(m, row, rows[row].start, rows[row].end, rows[row].size));
  return put_older(m);
}

/* ---- indices ------------------------------------------------------------------------------------------- */

static uint32_t block_count(const vs_spans *spans) { return spans->event_count / VS_CURVE_BLOCK + 1; }

static vs_status index_latest(const vs_host *host, vs_spans *out) {
  VS_TRY(vs_vec_reserve(host, &out->latest, out->count / VS_SPAN_GROUP + 1));
  for (uint32_t i = 0; i < out->count; i++) {
    if (i % VS_SPAN_GROUP == 0) out->latest.data[out->latest.count++] = 0;
    uint32_t *latest = &out->latest.data[out->latest.count - 1];
    if (out->until.data[i] > *latest) *latest = out->until.data[i];
  }
  return VS_OK;
}

static vs_status index_from(const vs_host *host, vs_spans *out) {
  const uint32_t blocks = block_count(out);
  VS_TRY(vs_vec_reserve(host, &out->first_from, (size_t)blocks + 1));
  uint32_t span = 0;
  for (uint32_t block = 0; block < blocks; block++) {
    while (span < out->count && out->from.data[span] / VS_CURVE_BLOCK < block) span++;
    out->first_from.data[out->first_from.count++] = span;
  }
  out->first_from.data[out->first_from.count++] = out->count;
  return VS_OK;
}

/* A counting sort: counts the spans of each block, then places each. */
static vs_status index_until(const vs_host *host, vs_spans *out) {
  const uint32_t blocks = block_count(out);
  VS_TRY(vs_vec_reserve(host, &out->first_until, (size_t)blocks + 1));
  uint32_t *first = out->first_until.data, ended = 0;
  memset(first, 0, ((size_t)blocks + 1) * sizeof *first);
  out->first_until.count = (size_t)blocks + 1;
  for (uint32_t i = 0; i < out->count; i++)
    if (out->until.data[i] != VS_STILL_ALIVE) first[out->until.data[i] / VS_CURVE_BLOCK]++;
  for (uint32_t block = 0; block <= blocks; block++) {
    ended += first[block];
    first[block] = ended; /* the end of the block; filling it backwards turns it into its begin */
  }
  VS_TRY(vs_vec_reserve(host, &out->by_until, ended));
  out->by_until.count = ended;
  for (uint32_t i = out->count; i-- > 0;)
    if (out->until.data[i] != VS_STILL_ALIVE)
      out->by_until.data[--first[out->until.data[i] / VS_CURVE_BLOCK]] = i;
  VS_ASSERT(first[0] == 0 && first[blocks] == ended);
  return VS_OK;
}

static vs_status index_all(const vs_host *host, vs_spans *out) {
  VS_TRY(index_latest(host, out));
  VS_TRY(index_from(host, out));
  return index_until(host, out);
}

static vs_status finish(maker *m, vs_status status) {
  if (status == VS_OK) {
    limit_sizes(m);
    status = index_all(m->host, m->out);
  }
  vs_vec_free(m->host, &m->older);
  if (status != VS_OK) vs_spans_deinit(m->host, m->out);
  return status;
}

vs_status vs_spans_of_lifetimes(const vs_host *host, const vs_lifetimes *lifetimes, const uint64_t *kept,
                                vs_spans *out) {
  *out = (vs_spans){.event_count = lifetimes->slice->event_count};
  maker m = {.host = host, .kept = kept, .out = out};
  return finish(&m, add_lifetimes(&m, lifetimes));
}

vs_status vs_spans_of_mappings(const vs_host *host, const vs_mappings *mappings, const uint64_t *kept,
                               vs_spans *out) {
  *out = (vs_spans){.event_count = mappings->slice->event_count};
  maker m = {.host = host, .kept = kept, .out = out};
  return finish(&m, add_mappings(&m, mappings));
}

void vs_spans_deinit(const vs_host *host, vs_spans *spans) {
  vs_vec_free(host, &spans->from);
  vs_vec_free(host, &spans->until);
  vs_vec_free(host, &spans->size);
  vs_vec_free(host, &spans->row);
  vs_vec_free(host, &spans->latest);
  vs_vec_free(host, &spans->by_until);
  vs_vec_free(host, &spans->first_from);
  vs_vec_free(host, &spans->first_until);
  *spans = (vs_spans){0};
}

/* ---- questions ----------------------------------------------------------------------------------------- */

/* Spans with from <= done. */
static uint32_t begun(const vs_spans *spans, uint32_t done) {
  VS_ASSERT(done <= spans->event_count);
  const uint32_t block = done / VS_CURVE_BLOCK;
  uint32_t span = spans->first_from.data[block];
  while (span < spans->first_from.data[block + 1] && spans->from.data[span] <= done) span++;
  return span;
}

/* Spans with until <= done. */
static uint32_t ended(const vs_spans *spans, uint32_t done) {
  const uint32_t block = done / VS_CURVE_BLOCK;
  uint32_t count = spans->first_until.data[block];
  VS_ASSERT(done <= spans->event_count);
  for (uint32_t i = count; i < spans->first_until.data[block + 1]; i++)
    count += spans->until.data[spans->by_until.data[i]] <= done;
  return count;
}

uint32_t vs_spans_between(const vs_spans *spans, uint32_t first, uint32_t last) {
  VS_ASSERT(first <= last && last <= spans->event_count);
  return begun(spans, last) - ended(spans, first);
}

uint32_t vs_spans_next(const vs_spans *spans, uint32_t done, uint32_t span) {
  VS_ASSERT(done <= spans->event_count);
  while (span < spans->count && spans->from.data[span] <= done) {
    if (span % VS_SPAN_GROUP == 0 && spans->latest.data[span / VS_SPAN_GROUP] <= done) {
      span += VS_SPAN_GROUP;
      continue;
    }
    if (spans->until.data[span] > done) return span;
    span++;
  }
  return spans->count;
}

bool vs_spans_offset(const vs_spans *spans, uint32_t row, vs_moment moment, uint64_t *offset) {
  const uint32_t done = vs_done(spans->event_count, moment);
  *offset = 0;
  for (uint32_t span = vs_spans_next(spans, done, 0); span < spans->count;
       span = vs_spans_next(spans, done, span + 1)) {
    if (spans->row.data[span] == row) return true;
    *offset += spans->size.data[span];
  }
  return false;
}

static vs_status pick(const vs_host *host, const vs_spans *spans, uint32_t done, uint64_t y0, uint64_t y1,
                      uint32_t top, vs_pick *out) {
  for (uint32_t span = vs_spans_next(spans, done, 0); span < spans->count;
       span = vs_spans_next(spans, done, span + 1)) {
    const uint64_t size = spans->size.data[span], offset = out->total;
    VS_ASSERT(size <= INT64_MAX - offset);
    out->total += size;
    if (size == 0 || offset >= y1 || out->total <= y0) continue;
    out->count++;
    out->bytes += size;
    if (top != 0 && out->rows.count >= top) continue;
    VS_TRY(vs_vec_reserve(host, &out->rows, 1));
    out->rows.data[out->rows.count++] = (vs_picked){spans->row.data[span], size, offset};
  }
  return VS_OK;
}

vs_status vs_pick_build(const vs_host *host, const vs_spans *spans, vs_moment moment, uint64_t y0,
                        uint64_t y1, uint32_t top, vs_pick *out) {
  *out = (vs_pick){0};
  const vs_status status = pick(host, spans, vs_done(spans->event_count, moment), y0, y1, top, out);
  if (status != VS_OK) vs_pick_deinit(host, out);
  return status;
}

void vs_pick_deinit(const vs_host *host, vs_pick *pick) { vs_vec_free(host, &pick->rows); }

/* ---- the invariant ------------------------------------------------------------------------------------- */

static const char *check_order(const vs_spans *spans) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < spans->count; i++) {
    const uint32_t from = spans->from.data[i], until = spans->until.data[i];
    if (!vs_add_u64(sum, spans->size.data[i], &sum) || sum > INT64_MAX) return "sizes have no sum";
    if (from >= until) return "a span that ends before it begins";
    if (until > spans->latest.data[i / VS_SPAN_GROUP]) return "a group that ends too early";
    if (i == 0) continue;
    const uint32_t before = spans->until.data[i - 1];
    if (spans->from.data[i - 1] > from) return "spans do not rise";
    if (spans->from.data[i - 1] < from) continue;
    if (from == 0 && before < until) return "a span from before the trace upon a shorter one";
    if ((from != 0 || before == until) && spans->row.data[i - 1] >= spans->row.data[i])
      return "rows of equals do not rise";
  }
  return NULL;
}

const char *vs_spans_check(const vs_spans *spans) {
  const uint32_t blocks = block_count(spans);
  const char *broken = check_order(spans);
  if (broken != NULL) return broken;
  if (spans->first_from.count != (size_t)blocks + 1 || spans->first_until.count != (size_t)blocks + 1)
    return "blocks are missing";
  if (spans->first_from.data[0] != 0 || spans->first_until.data[0] != 0) return "blocks begin too late";
  for (uint32_t block = 0; block < blocks; block++) {
    for (uint32_t i = spans->first_from.data[block]; i < spans->first_from.data[block + 1]; i++)
      if (spans->from.data[i] / VS_CURVE_BLOCK != block) return "a span in another's block";
    for (uint32_t i = spans->first_until.data[block]; i < spans->first_until.data[block + 1]; i++)
      if (spans->until.data[spans->by_until.data[i]] / VS_CURVE_BLOCK != block)
        return "an end in another's block";
  }
  return spans->first_from.data[blocks] == spans->count ? NULL : "spans are missing";
}
