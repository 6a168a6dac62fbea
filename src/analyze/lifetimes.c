#include "analyze/lifetimes.h"

/* The matching in progress. Both maps lead from an address to a row; an address is in one of them at most. */
typedef struct matcher {
  const vs_host *host;
  vs_lifetimes *out;
  vs_map open;   /* allocated, not ended */
  vs_map closed; /* ended by a free_requested, where a free counts at its request: to know a second one */
  /* A free_completed mostly follows its free_requested at once: where that one was found. */
  size_t last_slot; /* VS_MAP_NONE as soon as `open` has changed */
} matcher;

static void doubt(vs_tally *tally, uint32_t event) {
  if (tally->count++ == 0) tally->first_event = event;
}

static vs_status add_row(matcher *m, uint64_t address, uint64_t size, uint32_t start, uint32_t *row) {
  VS_TRY(vs_vec_reserve(m->host, &m->out->rows, 1));
  *row = (uint32_t)m->out->rows.count;
  m->out->rows.data[m->out->rows.count++] = (vs_lifetime){
      .address = address,
      .size = size,
      .start = start,
      .free_requested = VS_NO_EVENT,
      .end = VS_NO_EVENT,
      .block = VS_NO_ROW,
  };
  if (start == VS_NO_EVENT) m->out->older++;
  return VS_OK;
}

static vs_status put(matcher *m, vs_map *map, uint64_t address, uint32_t row) {
  VS_TRY(vs_map_reserve(m->host, map));
  vs_map_add(map, address, row);
  m->last_slot = VS_MAP_NONE;
  return VS_OK;
}

static void take_out(matcher *m, vs_map *map, size_t slot) {
  vs_map_remove(map, slot);
  m->last_slot = VS_MAP_NONE;
}

static vs_status on_alloc(matcher *m, uint32_t event, uint64_t address, uint64_t size) {
  uint32_t row;
  VS_TRY(add_row(m, address, size, event, &row));
  if (m->closed.count > 0) {
    const size_t slot = vs_map_find(&m->closed, address);
    if (slot != VS_MAP_NONE) take_out(m, &m->closed, slot);
  }
  const size_t slot = vs_map_find(&m->open, address);
  if (slot == VS_MAP_NONE) return put(m, &m->open, address, row);
  doubt(&m->out->doubts.double_alloc, event);
  m->out->rows.data[m->open.slots[slot].value].end = event;
  m->open.slots[slot].value = row;
  return VS_OK;
}

/* A free of an address with nothing open: its block is older than the trace. */
static vs_status add_older(matcher *m, uint32_t event, uint64_t address, uint64_t size, uint32_t *row) {
  doubt(&m->out->doubts.free_without_alloc, event);
  return add_row(m, address, size, VS_NO_EVENT, row);
}

static vs_status on_free_requested(matcher *m, uint32_t event, uint64_t address, uint64_t size) {
  const bool at_request = m->out->closing.at_request;
  const size_t slot = vs_map_find(&m->open, address);
  uint32_t row;
  if (slot == VS_MAP_NONE) {
    if (at_request && vs_map_find(&m->closed, address) != VS_MAP_NONE) {
      doubt(&m->out->doubts.double_free, event);
      return VS_OK;
    }
    VS_TRY(add_older(m, event, address, size, &row));
    VS_TRY(put(m, at_request ? &m->closed : &m->open, address, row));
  } else {
    row = m->open.slots[slot].value;
    if (m->out->rows.data[row].free_requested != VS_NO_EVENT) {
      doubt(&m->out->doubts.double_free, event);
      return VS_OK;
    }
    m->last_slot = slot;
    if (at_request) {
      VS_TRY(put(m, &m->closed, address, row));
      take_out(m, &m->open, slot);
    }
  }
  vs_lifetime *life = &m->out->rows.data[row];
  life->free_requested = event;
  if (at_request) life->end = event;
  if (life->size != size) doubt(&m->out->doubts.size_mismatch, event);
  return VS_OK;
}

static vs_status on_free_completed(matcher *m, uint32_t event, uint64_t address, uint64_t size) {
  size_t slot = m->last_slot;
  if (slot == VS_MAP_NONE || m->open.slots[slot].key != address) slot = vs_map_find(&m->open, address);
  if (slot == VS_MAP_NONE) {
    uint32_t row;
    VS_TRY(add_older(m, event, address, size, &row));
    m->out->rows.data[row].end = event;
    return VS_OK;
  }
  vs_lifetime *life = &m->out->rows.data[m->open.slots[slot].value];
  life->end = event;
  if (life->size != size) {
    const vs_slice *slice = m->out->slice;
    const bool counted =
        life->free_requested != VS_NO_EVENT &&
        vs_events_size(&slice->snapshot->events, vs_slice_row(slice, life->free_requested)) != life->size;
    if (!counted) doubt(&m->out->doubts.size_mismatch, event);
  }
  take_out(m, &m->open, slot);
  return VS_OK;
}

static vs_status match_trace(matcher *m) {
  const vs_slice *slice = m->out->slice;
  const vs_events *events = &slice->snapshot->events;
  for (uint32_t event = 0; event < slice->event_count; event++) {
    const uint32_t row = vs_slice_row(slice, event);
    const vs_event_kind kind = vs_events_kind(events, row);
    if (kind > VS_EVENT_FREE_COMPLETED) continue;
    const uint64_t address = vs_events_address(events, row), size = vs_events_size(events, row);
    if (kind == VS_EVENT_ALLOC) VS_TRY(on_alloc(m, event, address, size));
    else if (kind == VS_EVENT_FREE_REQUESTED) VS_TRY(on_free_requested(m, event, address, size));
    else VS_TRY(on_free_completed(m, event, address, size));
  }
  m->out->mentioned = (uint32_t)m->out->rows.count;
  return VS_OK;
}

/* An active block of the end state: the row that it is, or a new one. */
static vs_status match_block(matcher *m, uint32_t block_row) {
  const vs_block *block = &m->out->slice->snapshot->blocks.data[block_row];
  const bool waits = m->out->closing.at_request && block->state == VS_BLOCK_PENDING; /* ended already */
  size_t slot = vs_map_find(&m->open, block->address);
  vs_map *map = &m->open;
  if (slot == VS_MAP_NONE && waits) {
    map = &m->closed;
    slot = vs_map_find(map, block->address);
  }
  if (slot != VS_MAP_NONE) {
    vs_lifetime *life = &m->out->rows.data[map->slots[slot].value];
    if (life->start == VS_NO_EVENT && life->block == VS_NO_ROW) m->out->doubts.live_without_alloc.count++;
    life->block = block_row;
    return VS_OK;
  }
  m->out->doubts.live_without_alloc.count++;
  if (waits) {
    m->out->older++;
    return VS_OK;
  }
  uint32_t row;
  VS_TRY(add_row(m, block->address, block->requested_size, VS_NO_EVENT, &row));
  m->out->rows.data[row].block = block_row;
  return put(m, &m->open, block->address, row);
}

static vs_status match_end(matcher *m) {
  const vs_slice *slice = m->out->slice;
  for (uint32_t i = 0; i < slice->segment_count; i++) {
    const vs_segment *segment = &slice->snapshot->segments.data[slice->segments[i]];
    for (uint32_t b = 0; b < segment->block_count; b++) {
      const uint32_t row = segment->first_block + b;
      if (vs_block_is_active(&slice->snapshot->blocks.data[row])) VS_TRY(match_block(m, row));
    }
  }
  for (size_t slot = 0; slot < m->open.capacity; slot++) {
    if (!m->open.slots[slot].used) continue;
    const vs_lifetime *life = &m->out->rows.data[m->open.slots[slot].value];
    if (life->start == VS_NO_EVENT || life->free_requested != VS_NO_EVENT || life->block != VS_NO_ROW)
      continue;
    vs_tally *tally = &m->out->doubts.alloc_not_at_end;
    if (tally->count++ == 0 || life->start < tally->first_event) tally->first_event = life->start;
  }
  return VS_OK;
}

vs_status vs_lifetimes_build(const vs_host *host, const vs_slice *slice, vs_lifetimes *out) {
  const vs_tally none = {.first_event = -1};
  *out = (vs_lifetimes){.slice = slice, .closing = vs_slice_closing(slice)};
  out->doubts = (vs_lifetime_doubts){none, none, none, none, none, none};
  matcher m = {.host = host, .out = out, .last_slot = VS_MAP_NONE};
  vs_status status = match_trace(&m);
  if (status == VS_OK) status = match_end(&m);
  vs_map_deinit(host, &m.open);
  vs_map_deinit(host, &m.closed);
  if (status != VS_OK) vs_lifetimes_deinit(host, out);
  return status;
}

void vs_lifetimes_deinit(const vs_host *host, vs_lifetimes *lifetimes) {
  vs_vec_free(host, &lifetimes->rows);
}

/* ---- what a row knows ---------------------------------------------------------------------------------- */

bool vs_lifetime_is_pending(const vs_lifetimes *lifetimes, const vs_lifetime *row, vs_moment moment) {
  if (row->free_requested != VS_NO_EVENT) return (vs_moment)row->free_requested <= moment;
  if (row->block == VS_NO_ROW) return false;
  /* Given back before the trace, or at a moment that was not recorded. */
  const bool waits = lifetimes->slice->snapshot->blocks.data[row->block].state == VS_BLOCK_PENDING;
  return waits && (row->start == VS_NO_EVENT || moment >= vs_slice_end(lifetimes->slice));
}

bool vs_lifetime_knows_alloc(const vs_lifetime *row) {
  return row->start != VS_NO_EVENT || row->block != VS_NO_ROW;
}

uint32_t vs_lifetime_event(const vs_lifetime *row) {
  return row->start != VS_NO_EVENT            ? row->start
         : row->free_requested != VS_NO_EVENT ? row->free_requested
                                              : row->end;
}

uint32_t vs_lifetime_stack(const vs_lifetimes *lifetimes, const vs_lifetime *row) {
  const vs_slice *slice = lifetimes->slice;
  const vs_snapshot *s = slice->snapshot;
  if (row->start == VS_NO_EVENT && row->block != VS_NO_ROW) return s->blocks.data[row->block].stack;
  const uint32_t event = row->start != VS_NO_EVENT ? row->start
                         : row->end != VS_NO_EVENT ? row->end
                                                   : row->free_requested;
  return event == VS_NO_EVENT ? VS_LIST_NONE : vs_events_stack(&s->events, vs_slice_row(slice, event));
}

uint32_t vs_lifetime_stream(const vs_lifetimes *lifetimes, const vs_lifetime *row) {
  const vs_slice *slice = lifetimes->slice;
  const uint32_t event = vs_lifetime_event(row);
  if (event != VS_NO_EVENT) return vs_events_stream(&slice->snapshot->events, vs_slice_row(slice, event));
  return slice->snapshot->segments.data[vs_segment_of_block(slice->snapshot, row->block)].stream;
}

uint32_t vs_lifetime_pool(const vs_lifetimes *lifetimes, const vs_segment_index *segments,
                          const vs_lifetime *row) {
  const vs_slice *slice = lifetimes->slice;
  const vs_snapshot *s = slice->snapshot;
  const uint32_t event = vs_lifetime_event(row);
  const uint32_t recorded = event == VS_NO_EVENT ? 0 : vs_events_pool(&s->events, vs_slice_row(slice, event));
  if (recorded != 0) return recorded;
  const uint32_t segment = row->block != VS_NO_ROW ? vs_segment_of_block(s, row->block)
                                                   : vs_segment_index_find(segments, s, row->address);
  return segment == VS_NO_ROW ? 0 : s->segments.data[segment].pool;
}

const char *vs_lifetimes_check(const vs_lifetimes *lifetimes) {
  const uint32_t events = lifetimes->slice->event_count;
  uint32_t implied = 0;
  int64_t last_start = -1;
  for (size_t i = 0; i < lifetimes->rows.count; i++) {
    const vs_lifetime *row = &lifetimes->rows.data[i];
    if (row->start == VS_NO_EVENT) {
      implied++;
      if (vs_lifetime_event(row) == VS_NO_EVENT && row->block == VS_NO_ROW)
        return "a row that nothing knows of";
      if ((vs_lifetime_event(row) == VS_NO_EVENT) != (i >= lifetimes->mentioned))
        return "a row on the wrong side";
    } else {
      if ((int64_t)row->start <= last_start) return "starts do not rise";
      last_start = row->start;
      if (row->start >= events) return "a start behind the trace";
      if (row->free_requested != VS_NO_EVENT && row->free_requested <= row->start)
        return "freed before it began";
      if (row->end != VS_NO_EVENT && row->end <= row->start) return "ended before it began";
    }
    if (row->end != VS_NO_EVENT && row->end >= events) return "an end behind the trace";
    if (row->free_requested != VS_NO_EVENT && row->end != VS_NO_EVENT && row->end < row->free_requested)
      return "ended before it was freed";
    if (row->block != VS_NO_ROW && row->end != VS_NO_EVENT && row->end != row->free_requested)
      return "ended, and yet in the end state";
  }
  if (implied > lifetimes->older) return "more implied rows than older blocks";
  return NULL;
}
