#include "analyze/state.h"
#include "base/ordmap.h"
#include "base/sort.h"

/* Ranges on their way backwards. Values of by_address are indices into `ranges`; other entries of it are leftovers. */
typedef struct replay {
  const vs_host *host;
  const vs_slice *slice;
  vs_ordmap by_address;
  VS_VEC(vs_state_segment) ranges;
} replay;

static uint64_t end_of(const vs_state_segment *segment) {
  return vs_sat_add_u64(segment->address, segment->size);
}

static vs_state_segment *range_at(replay *r, vs_ordmap_pos pos) {
  return &r->ranges.data[vs_ordmap_value(&r->by_address, pos)];
}

static vs_status put(replay *r, const vs_state_segment *range) {
  VS_TRY(vs_vec_reserve(r->host, &r->ranges, 1));
  VS_TRY(vs_ordmap_put(r->host, &r->by_address, range->address, (uint32_t)r->ranges.count));
  r->ranges.data[r->ranges.count++] = *range;
  return VS_OK;
}

/* The first range with an address behind `start`, or that begins before it and reaches over it. */
static bool first_over(replay *r, uint64_t start, vs_ordmap_pos *pos) {
  if (vs_ordmap_floor(&r->by_address, start, pos) && end_of(range_at(r, *pos)) > start) return true;
  *pos = vs_ordmap_lower(&r->by_address, start);
  return !vs_ordmap_at_end(&r->by_address, *pos);
}

/* Takes [start, end) out of whatever lies there. */
static vs_status cut(replay *r, uint64_t start, uint64_t end) {
  vs_ordmap_pos pos;
  while (start < end && first_over(r, start, &pos) && range_at(r, pos)->address < end) {
    vs_state_segment range = *range_at(r, pos), part = range;
    vs_ordmap_remove(r->host, &r->by_address, pos);
    if (range.address < start) {
      part.size = start - range.address;
      VS_TRY(put(r, &part));
    }
    if (end_of(&range) > end) {
      part.address = end;
      part.size = end_of(&range) - end;
      VS_TRY(put(r, &part));
    }
  }
  return VS_OK;
}

/* Whether pages of these two show as one segment. `low` ends where `high` begins. */
static bool belong_together(const vs_state_segment *low, const vs_state_segment *high) {
  if (!low->is_expandable || !high->is_expandable || end_of(low) != high->address) return false;
  return low->stream == high->stream && (low->pool == high->pool || low->pool == 0 || high->pool == 0);
}

/* What is known of a segment that still stands says more than what is guessed of one that is gone. */
static void join(vs_state_segment *low, const vs_state_segment *high) {
  low->size = vs_sat_add_u64(low->size, high->size);
  if (low->pool == 0) low->pool = high->pool;
  if (low->row == VS_NO_ROW && high->row != VS_NO_ROW) {
    low->row = high->row;
    low->kind = high->kind;
  }
}

static vs_status add(replay *r, vs_state_segment range) {
  if (range.size == 0) return VS_OK;
  VS_TRY(cut(r, range.address, end_of(&range)));
  vs_ordmap_pos pos;
  if (vs_ordmap_floor(&r->by_address, range.address, &pos) && belong_together(range_at(r, pos), &range)) {
    vs_state_segment low = *range_at(r, pos);
    vs_ordmap_remove(r->host, &r->by_address, pos);
    join(&low, &range);
    range = low;
  }
  if (vs_ordmap_find(&r->by_address, end_of(&range), &pos) && belong_together(&range, range_at(r, pos))) {
    join(&range, range_at(r, pos));
    vs_ordmap_remove(r->host, &r->by_address, pos);
  }
  return put(r, &range);
}

static vs_state_segment end_segment(const vs_snapshot *s, uint32_t row) {
  const vs_segment *segment = &s->segments.data[row];
  return (vs_state_segment){
      .address = segment->address,
      .size = segment->total_size,
      .stream = segment->stream,
      .pool = segment->pool,
      .row = row,
      .kind = (uint8_t)vs_segment_kind_of(s, segment),
      .is_expandable = segment->is_expandable,
  };
}

/* Pages of large expandable segments come in multiples of 20 MiB, of small ones in single 2 MiB pages. */
static vs_segment_kind kind_of_event(vs_event_kind kind, uint64_t size) {
  if (kind == VS_EVENT_SEGMENT_UNMAP) return size % VS_LARGE_PAGE == 0 ? VS_SEGMENT_LARGE : VS_SEGMENT_SMALL;
  return vs_segment_kind_by_size(size);
}

static vs_status undo(replay *r, uint32_t event) {
  const vs_events *events = &r->slice->snapshot->events;
  const uint32_t row = vs_slice_row(r->slice, event);
  const vs_event_kind kind = vs_events_kind(events, row);
  if (kind < VS_EVENT_SEGMENT_ALLOC || kind > VS_EVENT_SEGMENT_UNMAP) return VS_OK;
  if ((vs_events_missing(events, row) & VS_EVENT_NO_ADDRESS) != 0) return VS_OK;
  const uint64_t address = vs_events_address(events, row), size = vs_events_size(events, row);
  if (kind == VS_EVENT_SEGMENT_ALLOC || kind == VS_EVENT_SEGMENT_MAP)
    return cut(r, address, vs_sat_add_u64(address, size));
  return add(r, (vs_state_segment){
                    .address = address,
                    .size = size,
                    .stream = vs_events_stream(events, row),
                    .pool = vs_events_pool(events, row),
                    .row = VS_NO_ROW,
                    .kind = (uint8_t)kind_of_event(kind, size),
                    .is_expandable = kind == VS_EVENT_SEGMENT_UNMAP,
                });
}

static vs_status replay_segments(replay *r, vs_moment moment, const vs_segment_index *index, vs_state *out) {
  for (size_t i = 0; i < index->rows.count; i++) {
    const vs_state_segment segment = end_segment(r->slice->snapshot, index->rows.data[i]);
    if (segment.size == 0) continue;
    VS_TRY(cut(r, segment.address, end_of(&segment))); /* segments of a damaged file may overlap */
    VS_TRY(put(r, &segment));
  }
  for (vs_moment event = vs_slice_end(r->slice); event > moment; event--) VS_TRY(undo(r, (uint32_t)event));
  VS_TRY(vs_vec_reserve(r->host, &out->segments, r->by_address.count));
  for (vs_ordmap_pos pos = vs_ordmap_begin(); !vs_ordmap_at_end(&r->by_address, pos);
       pos = vs_ordmap_next(&r->by_address, pos))
    out->segments.data[out->segments.count++] = *range_at(r, pos);
  return VS_OK;
}

static vs_status build_segments(const vs_host *host, const vs_slice *slice, vs_state *out) {
  vs_segment_index index;
  VS_TRY(vs_segment_index_build(host, slice, &index));
  vs_status status = VS_OK;
  if (out->is_exact) {
    status = vs_vec_reserve(host, &out->segments, index.rows.count);
    for (size_t i = 0; i < index.rows.count && status == VS_OK; i++)
      out->segments.data[out->segments.count++] = end_segment(slice->snapshot, index.rows.data[i]);
  } else {
    replay r = {.host = host, .slice = slice};
    status = replay_segments(&r, out->moment, &index, out);
    vs_ordmap_deinit(host, &r.by_address);
    vs_vec_free(host, &r.ranges);
  }
  vs_segment_index_deinit(host, &index);
  return status;
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

uint64_t vs_round_request(uint64_t size) {
  const uint64_t mask = VS_SMALLEST_BLOCK - 1;
  return size == 0 ? VS_SMALLEST_BLOCK : size > UINT64_MAX - mask ? UINT64_MAX - mask : (size + mask) & ~mask;
}

/* All active blocks of the file, whether the lifetimes know them or not. */
static vs_status end_blocks(const vs_host *host, const vs_lifetimes *lifetimes, vs_state *out) {
  const vs_slice *slice = lifetimes->slice;
  vs_map lifetime_of = {0}; /* row of blocks -> row of lifetimes */
  vs_status status = VS_OK;
  for (size_t i = 0; i < lifetimes->rows.count && status == VS_OK; i++) {
    if (lifetimes->rows.data[i].block == VS_NO_ROW) continue;
    status = vs_map_reserve(host, &lifetime_of);
    if (status == VS_OK) vs_map_add(&lifetime_of, lifetimes->rows.data[i].block, (uint32_t)i);
  }
  for (uint32_t i = 0; i < slice->segment_count && status == VS_OK; i++) {
    const vs_segment *segment = &slice->snapshot->segments.data[slice->segments[i]];
    for (uint32_t b = 0; b < segment->block_count && status == VS_OK; b++) {
      const uint32_t row = segment->first_block + b;
      const vs_block *block = &slice->snapshot->blocks.data[row];
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

static vs_status live_blocks(const vs_host *host, const vs_lifetimes *lifetimes, vs_state *out) {
  vs_liveset live;
  VS_TRY(vs_liveset_build(host, lifetimes, out->moment, &live));
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

/* Gives sorted blocks to sorted segments and cuts them where they reach too far. Those outside go to the end. */
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
    uint64_t room = end_of(&segments[at]) - block.address;
    if (i + 1 < count) room = vs_min_u64(room, out->blocks.data[i + 1].address - block.address);
    block.size = vs_min_u64(block.size, room);
    segments[at].block_count++;
    out->blocks.data[inside++] = block;
  }
  while (at + 1 < segment_count) segments[++at].first_block = (uint32_t)inside;
  out->outside = (uint32_t)inside;
  if (strays.count > 0 && status == VS_OK)
    memcpy(out->blocks.data + inside, strays.data, strays.count * sizeof *strays.data);
  vs_vec_free(host, &strays);
  return status;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static vs_status build(const vs_host *host, const vs_lifetimes *lifetimes, vs_state *out) {
  VS_TRY(build_segments(host, lifetimes->slice, out));
  for (size_t i = 0; i < out->segments.count; i++) {
    out->reserved = vs_sat_add_u64(out->reserved, out->segments.data[i].size);
    out->segments.data[i].first_block = out->segments.data[i].block_count = 0;
  }
  VS_TRY(out->is_exact ? end_blocks(host, lifetimes, out) : live_blocks(host, lifetimes, out));
  VS_TRY(sort_blocks(host, out));
  return place_blocks(host, out);
}

vs_status vs_state_build(const vs_host *host, const vs_lifetimes *lifetimes, vs_moment moment,
                         vs_state *out) {
  const vs_moment end = vs_slice_end(lifetimes->slice);
  *out = (vs_state){.moment = moment < VS_AT_START ? VS_AT_START : moment > end ? end : moment};
  out->is_exact = out->moment == end;
  const vs_status status = build(host, lifetimes, out);
  if (status != VS_OK) vs_state_deinit(host, out);
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
