#include "analyze/holes.h"

typedef struct course {
  const vs_host *host;
  const vs_moment_index *moments;
  uint64_t smallest[VS_SEGMENT_KINDS];
  VS_VEC(uint32_t) row;  /* by rank: the live row at that address, where the bit of `used` is set */
  VS_VEC(uint64_t) used; /* a bit for each rank: whether a block lives there */
} course;

static vs_status make_room(course *c) {
  const size_t count = c->moments->lifetimes->addresses.count;
  VS_TRY(vs_vec_reserve(c->host, &c->row, count));
  return vs_vec_reserve(c->host, &c->used, count / 64 + 1);
}

/* If two rows are live at one address (the trace contradicts itself), the later one is taken, because state.h cuts the
 * earlier one to nothing. */
static void mark_used(course *c, uint32_t done) {
  const vs_spans *spans = &c->moments->spans;
  memset(c->used.data, 0, (c->moments->lifetimes->addresses.count / 64 + 1) * sizeof *c->used.data);
  for (uint32_t span = vs_spans_next(spans, done, 0); span < spans->count;
       span = vs_spans_next(spans, done, span + 1)) {
    const uint32_t row = spans->row.data[span], rank = c->moments->lifetimes->ranks.data[row];
    VS_ASSERT(rank < c->moments->lifetimes->addresses.count);
    const uint64_t bit = UINT64_C(1) << rank % 64;
    if ((c->used.data[rank / 64] & bit) == 0 || c->row.data[rank] < row) c->row.data[rank] = row;
    c->used.data[rank / 64] |= bit;
  }
}

/* The first used rank at or above `rank`; the number of ranks if there is none. */
static uint32_t next_used(const course *c, uint32_t rank) {
  const uint32_t count = (uint32_t)c->moments->lifetimes->addresses.count;
  if (rank >= count) return count;
  uint64_t word = c->used.data[rank / 64] & (UINT64_MAX << rank % 64);
  for (uint32_t at = rank / 64;; word = c->used.data[++at]) {
    if (word != 0) return at * 64 + (uint32_t)__builtin_ctzll(word);
    if (at >= count / 64) return count;
  }
}

static uint64_t size_in_use(const course *c, uint32_t rank) {
  const vs_lifetimes *lifetimes = c->moments->lifetimes;
  const vs_lifetime *row = &lifetimes->rows.data[c->row.data[rank]];
  VS_ASSERT(row->address == lifetimes->addresses.data[rank]);
  return row->block != VS_NO_ROW ? lifetimes->slice->snapshot->blocks.data[row->block].size
                                 : vs_round_request(row->size);
}

/* Measures one segment, whose first block has rank `rank` or a later one; returns the rank of the first block behind
 * it. */
static uint32_t measure_segment(const course *c, const vs_state_segment *segment, uint32_t rank,
                                vs_holes_point *point) {
  const uint64_t *addresses = c->moments->lifetimes->addresses.data;
  const uint32_t count = (uint32_t)c->moments->lifetimes->addresses.count;
  const uint64_t end = vs_sat_add_u64(segment->address, segment->size);
  vs_measure m = vs_measure_begin(segment, c->smallest[segment->kind], point->class_bytes);
  while (rank < count && addresses[rank] < segment->address) rank = next_used(c, rank + 1);
  while (rank < count && addresses[rank] < end) {
    const uint64_t address = addresses[rank];
    const uint32_t next = next_used(c, rank + 1);
    VS_ASSERT(vs_bit(c->used.data, rank) && address >= m.cursor && next > rank);
    const uint64_t room = (next < count ? vs_min_u64(end, addresses[next]) : end) - address;
    vs_measure_block(&m, address, vs_min_u64(size_in_use(c, rank), room));
    rank = next;
  }
  const vs_holes holes = vs_measure_end(&m);
  vs_holes_add(&point->holes, &holes);
  return rank;
}

static vs_status fill_in(course *c, vs_holes_point *point) {
  vs_state state;
  if (point->moment >= vs_slice_end(c->moments->lifetimes->slice)) /* exact: from the file's own end state */
    return vs_holes_at(c->host, c->moments, point->moment, &point->holes, point->class_bytes);
  VS_TRY(vs_state_segments_at(c->host, c->moments, point->moment, &state));
  *point = (vs_holes_point){.moment = point->moment, .holes = {.is_unusable_known = true}};
  mark_used(c, vs_done(c->moments->spans.event_count, point->moment));
  uint32_t rank = next_used(c, 0);
  for (size_t i = 0; i < state.segments.count; i++)
    rank = measure_segment(c, &state.segments.data[i], rank, point);
  vs_state_deinit(c->host, &state);
  return VS_OK;
}

vs_status vs_holes_course(const vs_host *host, const vs_moment_index *moments, vs_holes_point *points,
                          size_t count) {
  VS_ASSERT(count == 0 || points != NULL);
  course c = {.host = host, .moments = moments};
  vs_smallest_requests(moments, c.smallest);
  vs_status status = make_room(&c);
  for (size_t i = 0; i < count && status == VS_OK; i++) {
    if (i > 0 && points[i].moment == points[i - 1].moment) points[i] = points[i - 1];
    else status = fill_in(&c, &points[i]);
  }
  vs_vec_free(host, &c.row);
  vs_vec_free(host, &c.used);
  return status;
}
