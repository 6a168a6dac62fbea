#include "analyze/reserved.h"
#include "analyze/arrange.h"

/* ---- sums ---------------------------------------------------------------------------------------------- */

static void add(vs_reserved_sums *to, const vs_reserved_sums *more) {
  to->reserved = vs_sat_add_u64(to->reserved, more->reserved);
  to->requested = vs_sat_add_u64(to->requested, more->requested);
  to->rounding = vs_sat_add_u64(to->rounding, more->rounding);
  to->pending = vs_sat_add_u64(to->pending, more->pending);
  to->fragmented = vs_sat_add_u64(to->fragmented, more->fragmented);
  to->releasable = vs_sat_add_u64(to->releasable, more->releasable);
}

static void add_block(vs_reserved_sums *to, const vs_state_block *block) {
  if (block->is_pending) {
    to->pending += block->size;
    return;
  }
  const uint64_t requested =
      vs_min_u64(block->requested, block->size); /* a block of a damaged file may be cut */
  to->requested += requested;
  to->rounding += block->size - requested;
}

static vs_reserved_sums sums_of(const vs_state *state, const vs_state_segment *segment) {
  vs_reserved_sums sums = {.reserved = segment->size};
  vs_measure measure = vs_measure_begin(segment, VS_NO_SIZE, NULL);
  for (uint32_t i = 0; i < segment->block_count; i++) {
    const vs_state_block *block = &state->blocks.data[segment->first_block + i];
    add_block(&sums, block);
    vs_measure_block(&measure, block->address, block->size);
  }
  const vs_holes holes = vs_measure_end(&measure);
  sums.fragmented = holes.pinned;
  sums.releasable = holes.releasable;
  VS_ASSERT(sums.requested + sums.rounding + sums.pending + holes.free == segment->size);
  return sums;
}

/* ---- pools --------------------------------------------------------------------------------------------- */

/* A row for each pool of the snapshot, at its index. */
static vs_status begin_pools(const vs_host *host, const vs_snapshot *snapshot, vs_reserved *out) {
  const size_t count = snapshot->pools.count + 1;
  VS_TRY(vs_vec_reserve(host, &out->pools, count));
  for (uint32_t i = 0; i < count; i++) out->pools.data[i] = (vs_reserved_pool){.pool = i};
  out->pools.count = count;
  return VS_OK;
}

/* Only those that have memory. */
static void end_pools(vs_reserved *out) {
  size_t kept = 0;
  for (size_t i = 0; i < out->pools.count; i++)
    if (out->pools.data[i].sums.reserved != 0) out->pools.data[kept++] = out->pools.data[i];
  out->pools.count = kept;
}

typedef struct order {
  const vs_snapshot *snapshot;
  const vs_reserved *reserved;
} order;

static bool pool_before(const void *ctx, uint32_t a, uint32_t b) {
  const order *o = ctx;
  return vs_pool_before(o->snapshot, o->reserved->pools.data[a].pool, o->reserved->pools.data[b].pool);
}

static vs_status build(const vs_host *host, const vs_snapshot *snapshot, const vs_state *state,
                       vs_reserved *out) {
  const order by_number = {.snapshot = snapshot, .reserved = out};
  VS_TRY(begin_pools(host, snapshot, out));
  for (size_t i = 0; i < state->segments.count; i++) {
    const vs_reserved_sums sums = sums_of(state, &state->segments.data[i]);
    VS_ASSERT(state->segments.data[i].pool < out->pools.count);
    add(&out->pools.data[state->segments.data[i].pool].sums, &sums);
    add(&out->all, &sums);
  }
  end_pools(out);
  for (size_t i = state->outside; i < state->blocks.count; i++)
    out->outside = vs_sat_add_u64(out->outside, state->blocks.data[i].size);
  return vs_arrange(host, out->pools.data, out->pools.count, sizeof *out->pools.data, pool_before,
                    &by_number);
}

vs_status vs_reserved_at(const vs_host *host, const vs_moment_index *moments, vs_moment moment,
                         vs_reserved *out) {
  vs_state state;
  *out = (vs_reserved){.moment = moment};
  VS_TRY(vs_state_at(host, moments, moment, &state));
  out->is_exact = state.is_exact;
  const vs_status status = build(host, moments->lifetimes->slice->snapshot, &state, out);
  vs_state_deinit(host, &state);
  if (status != VS_OK) vs_reserved_deinit(host, out);
  return status;
}

void vs_reserved_deinit(const vs_host *host, vs_reserved *reserved) { vs_vec_free(host, &reserved->pools); }

/* ---- a moment by what was reserved then ------------------------------------------------------------------ */

static vs_event_kind kind_of(const vs_slice *slice, vs_moment moment) {
  return vs_events_kind(&slice->snapshot->events, vs_slice_row(slice, (uint32_t)moment));
}

/* The moment behind the alloc that directly follows a segment_alloc or segment_map. */
static vs_moment behind_its_alloc(const vs_slice *slice, vs_moment moment) {
  if (moment < 0 || moment == vs_slice_end(slice)) return moment;
  const vs_event_kind kind = kind_of(slice, moment);
  const bool obtained = kind == VS_EVENT_SEGMENT_ALLOC || kind == VS_EVENT_SEGMENT_MAP;
  return obtained && kind_of(slice, moment + 1) == VS_EVENT_ALLOC ? moment + 1 : moment;
}

bool vs_reserved_moment(const vs_slice *slice, const vs_curves *curves, uint64_t bytes, vs_moment near,
                        vs_moment *out) {
  vs_curve_cursor cursor = vs_curve_cursor_at_start(slice, curves);
  vs_moment best = VS_AT_START;
  bool is_found = false;
  for (vs_moment moment = VS_AT_START; moment <= vs_slice_end(slice) && (!is_found || best < near);
       moment++) {
    vs_curve_cursor_move(&cursor, moment);
    const int64_t reserved = cursor.values[VS_CURVE_RESERVED];
    if (reserved < 0 || (uint64_t)reserved != bytes) continue;
    is_found = true;
    best = moment;
  }
  if (is_found) *out = behind_its_alloc(slice, best);
  return is_found;
}
