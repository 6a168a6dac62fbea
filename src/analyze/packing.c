#include "analyze/packing.h"

#include "analyze/state.h"
#include "base/sort.h"

/* ---- ranges of addresses ------------------------------------------------------------------------------- */

typedef struct range {
  uint64_t from, to;
} range;

/* Rising, not empty; neither do two of them overlap nor do they touch. */
typedef struct ranges {
  VS_VEC(range) list;
} ranges;

/* The first range that ends behind `at`. */
static size_t range_behind(const ranges *r, uint64_t at) {
  size_t low = 0, high = r->list.count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (r->list.data[middle].to <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The lowest address at or above `at` where `size` bytes meet no range. */
static uint64_t first_gap(const ranges *r, uint64_t at, uint64_t size) {
  for (size_t i = range_behind(r, at); i < r->list.count; i++) {
    const range *next = &r->list.data[i];
    if (next->from >= at && next->from - at >= size) return at;
    at = next->to;
  }
  return at;
}

static vs_status ranges_add(const vs_host *host, ranges *r, uint64_t from, uint64_t to) {
  const size_t first = from == 0 ? 0 : range_behind(r, from - 1); /* the first that touches or lies behind */
  size_t end = first;
  while (end < r->list.count && r->list.data[end].from <= to) {
    from = vs_min_u64(from, r->list.data[end].from);
    to = vs_max_u64(to, r->list.data[end].to);
    end++;
  }
  if (end == first) VS_TRY(vs_vec_reserve(host, &r->list, 1));
  range *data = r->list.data;
  const size_t kept = r->list.count - end;
  if (kept != 0) memmove(&data[first + 1], &data[end], kept * sizeof *data);
  data[first] = (range){from, to};
  r->list.count = first + 1 + kept;
  return VS_OK;
}

/* ---- the space over time: a tree of spans of moments ---------------------------------------------------- */

/* Node 1 spans all moments, node n those of nodes 2n and 2n+1. A block is noted in `whole` of the largest nodes that lie in
 * its lifetime, and in `any` of those and all nodes above them. So what a node's moments meet is `any` of the node and
 * `whole` of the nodes above it. */
typedef struct node {
  ranges whole, any;
} node;

typedef struct space {
  const vs_host *host;
  node *nodes;
  uint32_t leaves; /* a power of two */
} space;

static vs_status space_init(space *s, const vs_host *host, uint32_t moments) {
  *s = (space){.host = host, .leaves = 1};
  while (s->leaves < moments) s->leaves *= 2;
  s->nodes = vs_host_alloc(host, 2 * (size_t)s->leaves * sizeof *s->nodes);
  if (s->nodes == NULL) return VS_NO_MEMORY;
  memset(s->nodes, 0, 2 * (size_t)s->leaves * sizeof *s->nodes);
  return VS_OK;
}

static void space_deinit(space *s) {
  for (size_t i = 0; s->nodes != NULL && i < 2 * (size_t)s->leaves; i++) {
    vs_vec_free(s->host, &s->nodes[i].whole.list);
    vs_vec_free(s->host, &s->nodes[i].any.list);
  }
  vs_host_free(s->host, s->nodes, 2 * (size_t)s->leaves * sizeof *s->nodes);
}

/* The largest nodes that together span the moments [from, to), and all nodes above one of them. */
typedef struct cover {
  uint32_t inside[64], above[64];
  uint32_t inside_count, above_count;
} cover;

/* Whether all moments of a node lie in [from, to); `shift`: of its height. */
static bool lies_in(const space *s, uint32_t at, uint32_t shift, uint32_t from, uint32_t to) {
  const uint32_t first = (at << shift) - s->leaves;
  return first >= from && first + (1u << shift) <= to;
}

static cover cover_of(const space *s, uint32_t from, uint32_t to) {
  cover c = {.inside_count = 0};
  uint32_t shift = 1;
  /* What holds a part of the lifetime only holds its first or its last moment. */
  for (uint32_t left = (from + s->leaves) / 2, right = (to - 1 + s->leaves) / 2; left > 0;
       left /= 2, right /= 2) {
    if (!lies_in(s, left, shift, from, to)) c.above[c.above_count++] = left;
    if (right != left && !lies_in(s, right, shift, from, to)) c.above[c.above_count++] = right;
    shift++;
  }
  for (uint32_t low = from + s->leaves, high = to + s->leaves; low < high; low /= 2, high /= 2) {
    if (low % 2 != 0) c.inside[c.inside_count++] = low++;
    if (high % 2 != 0) c.inside[c.inside_count++] = --high;
  }
  return c;
}

/* What lies in the moments of a node. A leaf keeps it once. */
static ranges *met_in(const space *s, uint32_t at) {
  return at >= s->leaves ? &s->nodes[at].whole : &s->nodes[at].any;
}

/* The lowest address that is free in all of the cover's moments. */
static uint64_t place(const space *s, const cover *c, uint64_t size) {
  uint64_t at = 0, before;
  do {
    before = at;
    for (uint32_t i = 0; i < c->above_count; i++) at = first_gap(&s->nodes[c->above[i]].whole, at, size);
    for (uint32_t i = 0; i < c->inside_count; i++) at = first_gap(met_in(s, c->inside[i]), at, size);
  } while (at != before);
  return at;
}

static vs_status note(space *s, const cover *c, uint64_t from, uint64_t to) {
  for (uint32_t i = 0; i < c->inside_count; i++) {
    VS_TRY(ranges_add(s->host, &s->nodes[c->inside[i]].whole, from, to));
    if (c->inside[i] < s->leaves) VS_TRY(ranges_add(s->host, &s->nodes[c->inside[i]].any, from, to));
  }
  for (uint32_t i = 0; i < c->above_count; i++)
    VS_TRY(ranges_add(s->host, &s->nodes[c->above[i]].any, from, to));
  return VS_OK;
}

/* ---- moments ------------------------------------------------------------------------------------------- */

/* Numbers the moments so that the tree has no more leaves than it needs, and finds the lower bound on the way. Ends count
 * before beginnings of the same moment. A new moment begins with the first end behind a beginning: buffers that begin without
 * an end between them live together anyway, and so do those that end without a beginning between them. */
static vs_status moments_number(const vs_host *host, vs_buffer_life *buffers, size_t count, uint32_t *moments,
                                uint64_t *lower) {
  VS_VEC(vs_sort_pair) ends = {0};
  vs_status status = vs_vec_reserve(host, &ends, 2 * count);
  for (size_t i = 0; i < count && status == VS_OK; i++) {
    ends.data[ends.count++] = (vs_sort_pair){2 * (uint64_t)buffers[i].to, (uint32_t)i};
    ends.data[ends.count++] = (vs_sort_pair){2 * (uint64_t)buffers[i].from + 1, (uint32_t)i};
  }
  if (status == VS_OK) status = vs_sort_pairs(host, ends.data, ends.count);
  uint64_t live = 0;
  bool has_begun = false; /* in the current moment */
  *lower = 0;
  *moments = 0;
  for (size_t i = 0; i < ends.count && status == VS_OK; i++) {
    vs_buffer_life *buffer = &buffers[ends.data[i].value];
    if (ends.data[i].key % 2 == 0) {
      *moments += has_begun;
      has_begun = false;
      live -= vs_min_u64(buffer->size, live);
      buffer->to = *moments;
    } else {
      live = vs_sat_add_u64(live, buffer->size);
      buffer->from = *moments;
      has_begun = true;
      *lower = vs_max_u64(*lower, live);
    }
  }
  vs_vec_free(host, &ends);
  return status;
}

/* ---- orders -------------------------------------------------------------------------------------------- */

/* A plan within this part of the lower bound is not improved. */
enum { GOOD_ENOUGH = 1000 };

typedef enum order { BY_SIZE, BY_AREA, ORDERS } order;

static vs_status sort(const vs_host *host, vs_buffer_life *buffers, size_t count, order by,
                      vs_sort_pair *pairs) {
  for (size_t i = 0; i < count; i++) {
    const uint64_t length = by == BY_AREA ? buffers[i].to - buffers[i].from : 1;
    uint64_t key;
    if (__builtin_mul_overflow(buffers[i].size, length, &key)) key = UINT64_MAX;
    pairs[i] = (vs_sort_pair){~key, (uint32_t)i};
  }
  return vs_sort_pairs(host, pairs, count);
}

/* Places all in this order; *plan is the highest end. */
static vs_status pack(const vs_host *host, const vs_buffer_life *buffers, const vs_sort_pair *pairs,
                      size_t count, uint32_t moments, uint64_t *offsets, uint64_t *plan) {
  space s;
  vs_status status = space_init(&s, host, moments);
  *plan = 0;
  for (size_t i = 0; i < count && status == VS_OK; i++) {
    const vs_buffer_life *buffer = &buffers[pairs[i].value];
    const cover c = cover_of(&s, buffer->from, buffer->to);
    const uint64_t at = place(&s, &c, buffer->size);
    offsets[pairs[i].value] = at;
    *plan = vs_max_u64(*plan, at + buffer->size);
    status = note(&s, &c, at, at + buffer->size);
  }
  space_deinit(&s);
  return status;
}

static vs_status pack_best(const vs_host *host, vs_buffer_life *buffers, size_t count, uint32_t moments,
                           uint64_t *work, uint64_t *offsets, vs_packing *out) {
  VS_VEC(vs_sort_pair) pairs = {0};
  vs_status status = vs_vec_reserve(host, &pairs, count);
  for (int by = 0; by < ORDERS && status == VS_OK; by++) {
    uint64_t plan;
    if (out->has_plan && out->plan - out->lower <= out->lower / GOOD_ENOUGH) break;
    status = sort(host, buffers, count, (order)by, pairs.data);
    if (status == VS_OK) status = pack(host, buffers, pairs.data, count, moments, work, &plan);
    if (status != VS_OK || (out->has_plan && plan >= out->plan)) continue;
    out->has_plan = true;
    out->plan = plan;
    if (offsets != NULL) memcpy(offsets, work, count * sizeof *work);
  }
  vs_vec_free(host, &pairs);
  return status;
}

vs_status vs_packing_build(const vs_host *host, vs_buffer_life *buffers, size_t count, uint64_t *offsets,
                           vs_packing *out) {
  uint32_t moments;
  *out = (vs_packing){0};
  VS_TRY(moments_number(host, buffers, count, &moments, &out->lower));
  if (count > VS_PACKING_MOST) return VS_OK;
  uint64_t *work = vs_host_alloc(host, (count + 1) * sizeof *work);
  if (work == NULL) return VS_NO_MEMORY;
  const vs_status status = pack_best(host, buffers, count, moments, work, offsets, out);
  vs_host_free(host, work, (count + 1) * sizeof *work);
  return status;
}

/* ---- of a trace ---------------------------------------------------------------------------------------- */

/* What a file claims beyond this is no block of a GPU: it is left out, so that sums do not overflow. */
#define MOST_SIZE (UINT64_C(1) << 40)

vs_status vs_packing_of(const vs_host *host, const vs_lifetimes *lifetimes, vs_packing *out) {
  const uint32_t end = lifetimes->slice->event_count + 1;
  VS_VEC(vs_buffer_life) buffers = {0};
  vs_status status = vs_vec_reserve(host, &buffers, lifetimes->rows.count);
  for (size_t i = 0; i < lifetimes->rows.count && status == VS_OK; i++) {
    const vs_lifetime *life = &lifetimes->rows.data[i];
    const vs_buffer_life buffer = {.size = vs_round_request(vs_min_u64(life->size, MOST_SIZE)),
                                   .from = life->start == VS_NO_EVENT ? 0 : life->start + 1,
                                   .to = life->end == VS_NO_EVENT ? end : life->end + 1};
    if (life->size <= MOST_SIZE && buffer.from < buffer.to) buffers.data[buffers.count++] = buffer;
  }
  if (status == VS_OK) status = vs_packing_build(host, buffers.data, buffers.count, NULL, out);
  vs_vec_free(host, &buffers);
  return status;
}
