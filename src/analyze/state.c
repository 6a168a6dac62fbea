#include "analyze/state.h"
#include "base/map.h"
#include "base/sort.h"

/* ---- segments ------------------------------------------------------------------------------------------ */

static uint64_t end_of(const vs_state_segment *segment) {
  return vs_sat_add_u64(segment->address, segment->size);
}

/* The segments of the file, also where they overlap. */
static vs_status end_segments(const vs_host *host, const vs_slice *slice, vs_state *out) {
  const vs_snapshot *s = slice->snapshot;
  vs_segment_index index;
  VS_TRY(vs_segment_index_build(host, slice, &index));
  const vs_status status = vs_vec_reserve(host, &out->segments, index.rows.count);
  for (size_t i = 0; i < index.rows.count && status == VS_OK; i++) {
    const uint32_t row = index.rows.data[i];
    const vs_segment *segment = &s->segments.data[row];
    out->segments.data[out->segments.count++] = (vs_state_segment){
        .address = segment->address,
        .size = segment->total_size,
        .stream = segment->stream,
        .pool = segment->pool,
        .row = row,
        .kind = (uint8_t)vs_segment_kind_of(s, segment),
        .is_expandable = segment->is_expandable,
    };
  }
  vs_segment_index_deinit(host, &index);
  return status;
}

/* Whether the mapping `high` belongs to `segment`, whose last mapping is `low`: both are parts of one segment that
 * was cut, or pages of an expandable segment. Two different segments of the end state never belong together. */
static bool belong_together(const vs_state_segment *segment, const vs_mapping *low, const vs_mapping *high) {
  if (end_of(segment) != high->address) return false;
  if (low->segment != VS_NO_ROW && high->segment != VS_NO_ROW) return low->segment == high->segment;
  if (low->end == high->end) return true;
  if (!low->is_expandable || !high->is_expandable || low->stream != high->stream) return false;
  return segment->pool == high->pool || segment->pool == 0 || high->pool == 0;
}

/* The row, kind and pool of a segment of the end state are exact; those of one that was freed are estimated, so the
 * exact ones win. */
static void join(vs_state_segment *low, const vs_mapping *high) {
  VS_ASSERT(end_of(low) == high->address);
  low->size = vs_sat_add_u64(low->size, high->size);
  if (low->pool == 0) low->pool = high->pool;
  if (low->row != VS_NO_ROW || high->segment == VS_NO_ROW) return;
  low->row = high->segment;
  low->kind = high->kind;
}

typedef VS_VEC(vs_sort_pair) pairs;

static vs_status join_mappings(const vs_host *host, const vs_mappings *mappings, const pairs *rows,
                               vs_state *out) {
  VS_TRY(vs_vec_reserve(host, &out->segments, rows->count));
  for (size_t i = 0; i < rows->count; i++) {
    const vs_mapping *row = &mappings->rows.data[rows->data[i].value];
    vs_state_segment *last = i == 0 ? NULL : &out->segments.data[out->segments.count - 1];
    if (last != NULL && belong_together(last, &mappings->rows.data[rows->data[i - 1].value], row)) {
      join(last, row);
      continue;
    }
    out->segments.data[out->segments.count++] = (vs_state_segment){
        .address = row->address,
        .size = row->size,
        .stream = row->stream,
        .pool = row->pool,
        .row = row->segment,
        .kind = row->kind,
        .is_expandable = row->is_expandable,
    };
  }
  return VS_OK;
}

static vs_status live_segments(const vs_host *host, const vs_mappings *mappings, vs_state *out) {
  pairs rows = {0};
  vs_status status = VS_OK;
  for (size_t i = 0; i < mappings->rows.count && status == VS_OK; i++) {
    const vs_mapping *row = &mappings->rows.data[i];
    if (!vs_mapping_is_live(row, out->moment)) continue;
    status = vs_vec_reserve(host, &rows, 1);
    if (status == VS_OK) rows.data[rows.count++] = (vs_sort_pair){row->address, (uint32_t)i};
  }
  if (status == VS_OK) status = vs_sort_pairs(host, rows.data, rows.count);
  if (status == VS_OK) status = join_mappings(host, mappings, &rows, out);
  vs_vec_free(host, &rows);
  return status;
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

/* All active blocks of the file, also those without a row in the lifetimes. */
static vs_status end_blocks(const vs_host *host, const vs_moment_index *moments, vs_state *out) {
  const vs_slice *slice = moments->lifetimes->slice;
  vs_map lifetime_of = {0}; /* row of blocks -> row of lifetimes */
  vs_status status = VS_OK;
  for (size_t i = 0; i < moments->at_end.count && status == VS_OK; i++) {
    const uint32_t row = moments->at_end.data[i];
    status = vs_map_reserve(host, &lifetime_of);
    if (status == VS_OK) vs_map_add(&lifetime_of, moments->lifetimes->rows.data[row].block, row);
  }
  for (uint32_t i = 0; i < slice->segment_count && status == VS_OK; i++) {
    const vs_segment *segment = &slice->snapshot->segments.data[slice->segments[i]];
    for (uint32_t b = 0; b < segment->block_count && status == VS_OK; b++) {
      const uint32_t row = segment->first_block + b;
      const vs_block *block = &slice->snapshot->blocks.data[row];
      VS_ASSERT(row < slice->snapshot->blocks.count);
      if (!vs_block_is_active(block)) continue;
      status = vs_vec_reserve(host, &out->blocks, 1);
      if (status != VS_OK) break;
      const size_t slot = vs_map_find(&lifetime_of, row);
      out->blocks.data[out->blocks.count++] = (vs_state_block){
          .address = block->address,
          .size = block->size,
          .requested = block->requested_size,
          .lifetime = slot == VS_MAP_NONE ? VS_NO_ROW : lifetime_of.slots[slot].value,
          .row = row,
          .is_pending = block->state == VS_BLOCK_PENDING,
      };
    }
  }
  vs_map_deinit(host, &lifetime_of);
  return status;
}

static vs_status live_blocks(const vs_host *host, const vs_moment_index *moments, vs_state *out) {
  const vs_lifetimes *lifetimes = moments->lifetimes;
  vs_liveset live;
  VS_TRY(vs_liveset_at(host, lifetimes, vs_moment_index_spans(moments), out->moment, &live));
  const vs_status status = vs_vec_reserve(host, &out->blocks, live.rows.count);
  for (size_t i = 0; i < live.rows.count && status == VS_OK; i++) {
    const vs_lifetime *row = &lifetimes->rows.data[live.rows.data[i]];
    const bool is_known = row->block != VS_NO_ROW;
    out->blocks.data[out->blocks.count++] = (vs_state_block){
        .address = row->address,
        .size =
            is_known ? lifetimes->slice->snapshot->blocks.data[row->block].size : vs_round_request(row->size),
        .requested = row->size,
        .lifetime = live.rows.data[i],
        .row = row->block,
        .is_pending = vs_lifetime_is_pending(lifetimes, row, out->moment),
    };
  }
  vs_liveset_deinit(host, &live);
  return status;
}

static vs_status sort_blocks(const vs_host *host, vs_state *out) {
  const size_t count = out->blocks.count;
  size_t in_order = 1;
  while (in_order < count && out->blocks.data[in_order - 1].address <= out->blocks.data[in_order].address)
    in_order++;
  if (in_order >= count) return VS_OK;

  VS_VEC(vs_sort_pair) order = {0};
  vs_state sorted = {0};
  vs_status status = vs_vec_reserve(host, &order, count);
  if (status == VS_OK) status = vs_vec_reserve(host, &sorted.blocks, count);
  if (status == VS_OK) {
    for (size_t i = 0; i < count; i++)
      order.data[order.count++] = (vs_sort_pair){out->blocks.data[i].address, (uint32_t)i};
    status = vs_sort_pairs(host, order.data, count);
  }
  if (status == VS_OK) {
    for (size_t i = 0; i < count; i++) sorted.blocks.data[i] = out->blocks.data[order.data[i].value];
    memcpy(out->blocks.data, sorted.blocks.data, count * sizeof *sorted.blocks.data);
  }
  vs_vec_free(host, &sorted.blocks);
  vs_vec_free(host, &order);
  return status;
}

/* Assigns sorted blocks to sorted segments, and cuts each at the next block and at the end of its segment. Blocks
 * outside of all segments are moved to the end. */
static vs_status place_blocks(const vs_host *host, vs_state *out) {
  VS_VEC(vs_state_block) strays = {0};
  vs_state_segment *segments = out->segments.data;
  const size_t segment_count = out->segments.count, count = out->blocks.count;
  size_t at = 0, inside = 0;
  vs_status status = VS_OK;
  for (size_t i = 0; i < count && status == VS_OK; i++) {
    vs_state_block block = out->blocks.data[i];
    out->requested = vs_sat_add_u64(out->requested, block.requested);
    while (at + 1 < segment_count && segments[at + 1].address <= block.address)
      segments[++at].first_block = (uint32_t)inside;
    const bool is_inside = segment_count > 0 && segments[at].address <= block.address &&
                           block.address - segments[at].address < segments[at].size;
    if (!is_inside) {
      status = vs_vec_reserve(host, &strays, 1);
      if (status == VS_OK) strays.data[strays.count++] = block;
      continue;
    }
    VS_ASSERT(inside <= i && (i + 1 == count || block.address <= out->blocks.data[i + 1].address));
    uint64_t room = end_of(&segments[at]) - block.address;
    if (i + 1 < count) room = vs_min_u64(room, out->blocks.data[i + 1].address - block.address);
    block.size = vs_min_u64(block.size, room);
    segments[at].block_count++;
    out->blocks.data[inside++] = block;
  }
  while (at + 1 < segment_count) segments[++at].first_block = (uint32_t)inside;
  out->outside = (uint32_t)inside;
  VS_ASSERT(status != VS_OK || inside + strays.count == count);
  if (strays.count > 0 && status == VS_OK)
    memcpy(out->blocks.data + inside, strays.data, strays.count * sizeof *strays.data);
  vs_vec_free(host, &strays);
  return status;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

vs_status vs_state_segments_at(const vs_host *host, const vs_moment_index *moments, vs_moment moment,
                               vs_state *out) {
  const vs_moment end = vs_slice_end(moments->lifetimes->slice);
  *out = (vs_state){.moment = moment < VS_AT_START ? VS_AT_START : moment > end ? end : moment};
  out->is_exact = out->moment == end;
  VS_ASSERT(out->moment >= VS_AT_START && out->moment <= end);
  const vs_status status = out->is_exact ? end_segments(host, moments->lifetimes->slice, out)
                                         : live_segments(host, &moments->mappings, out);
  for (size_t i = 0; i < out->segments.count; i++)
    out->reserved = vs_sat_add_u64(out->reserved, out->segments.data[i].size);
  if (status != VS_OK) vs_state_deinit(host, out);
  return status;
}

static vs_status add_blocks(const vs_host *host, const vs_moment_index *moments, vs_state *out) {
  VS_TRY(out->is_exact ? end_blocks(host, moments, out) : live_blocks(host, moments, out));
  VS_TRY(sort_blocks(host, out));
  return place_blocks(host, out);
}

vs_status vs_state_at(const vs_host *host, const vs_moment_index *moments, vs_moment moment, vs_state *out) {
  VS_TRY(vs_state_segments_at(host, moments, moment, out));
  const vs_status status = add_blocks(host, moments, out);
  if (status != VS_OK) vs_state_deinit(host, out);
  return status;
}

vs_status vs_state_build(const vs_host *host, const vs_lifetimes *lifetimes, vs_moment moment,
                         vs_state *out) {
  vs_moment_index moments;
  VS_TRY(vs_moment_index_build(host, lifetimes, &moments));
  const vs_status status = vs_state_at(host, &moments, moment, out);
  vs_moment_index_deinit(host, &moments);
  return status;
}

void vs_state_deinit(const vs_host *host, vs_state *state) {
  vs_vec_free(host, &state->segments);
  vs_vec_free(host, &state->blocks);
}

const char *vs_state_check(const vs_state *state) {
  uint32_t next = 0;
  for (size_t i = 0; i < state->segments.count; i++) {
    const vs_state_segment *segment = &state->segments.data[i];
    if (i > 0 && segment->address < state->segments.data[i - 1].address) return "segments out of order";
    if (segment->first_block != next) return "blocks of segments do not follow one another";
    for (uint32_t b = 0; b < segment->block_count; b++) {
      const vs_state_block *block = &state->blocks.data[next + b];
      if (block->address < segment->address || end_of(segment) - block->address < block->size)
        return "a block sticks out";
      if (b > 0 && block->address - block[-1].address < block[-1].size) return "blocks overlap";
    }
    next += segment->block_count;
  }
  if (next != state->outside || state->outside > state->blocks.count) return "blocks are missing";
  return NULL;
}
