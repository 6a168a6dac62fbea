#include "analyze/lifetimes.h"
#include "base/sort.h"

/* The rows of one address at the current event. */
typedef struct place {
  uint32_t open; /* the row that is allocated and not ended; VS_NO_ROW if there is none */
  /* The last row that was ended by its free_requested (vs_closing.at_request), else VS_NO_ROW. A second free of that
   * row is a double free, not the free of an older block. */
  uint32_t closed;
} place;

typedef struct matcher {
  const vs_host *host;
  vs_lifetimes *out;
  vs_map
      by_address; /* address -> index into places and out->addresses; only grows. Ranks are such indices until the end */
  VS_VEC(place) places;
} matcher;

static inline uint32_t find_place(const matcher *m, uint64_t address) {
  const size_t slot = vs_map_find(&m->by_address, address);
  return slot == VS_MAP_NONE ? VS_NO_ROW : m->by_address.slots[slot].value;
}

static vs_status add_place(matcher *m, uint64_t address, uint32_t *at) {
  VS_TRY(vs_vec_reserve(m->host, &m->places, 1));
  VS_TRY(vs_vec_reserve(m->host, &m->out->addresses, 1));
  VS_TRY(vs_map_reserve(m->host, &m->by_address));
  *at = (uint32_t)m->places.count;
  vs_map_add(&m->by_address, address, *at);
  m->out->addresses.data[m->out->addresses.count++] = address;
  m->places.data[m->places.count++] = (place){.open = VS_NO_ROW, .closed = VS_NO_ROW};
  return VS_OK;
}

/* The place of an address, known or new. */
static inline vs_status need_place(matcher *m, uint64_t address, uint32_t *at) {
  *at = find_place(m, address);
  if (*at == VS_NO_ROW) VS_TRY(add_place(m, address, at));
  VS_ASSERT(m->places.count == m->out->addresses.count && m->out->addresses.data[*at] == address);
  return VS_OK;
}

static inline vs_status add_row(matcher *m, uint32_t at, uint64_t address, uint64_t size, uint32_t start,
                                uint32_t *row) {
  VS_ASSERT(address == m->out->addresses.data[at] && m->out->ranks.count == m->out->rows.count);
  VS_TRY(vs_vec_reserve(m->host, &m->out->rows, 1));
  VS_TRY(vs_vec_reserve(m->host, &m->out->ranks, 1));
  *row = (uint32_t)m->out->rows.count;
  m->out->ranks.data[m->out->ranks.count++] = at;
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

static inline vs_status on_alloc(matcher *m, uint32_t event, uint32_t at, uint64_t address, uint64_t size,
                                 uint32_t *row) {
  VS_TRY(add_row(m, at, address, size, event, row));
  place *here = &m->places.data[at];
  if (here->open != VS_NO_ROW) {
    vs_tally_note(&m->out->doubts.double_alloc, event);
    VS_ASSERT(m->out->rows.data[here->open].end == VS_NO_EVENT);
    m->out->rows.data[here->open].end = event;
  }
  *here = (place){.open = *row, .closed = VS_NO_ROW};
  return VS_OK;
}

/* Adds the row of a free at an address without an open row: its block is older than the trace. */
static vs_status add_older(matcher *m, uint32_t event, uint32_t at, uint64_t address, uint64_t size,
                           uint32_t *row) {
  vs_tally_note(&m->out->doubts.free_without_alloc, event);
  return add_row(m, at, address, size, VS_NO_EVENT, row);
}

static inline vs_status on_free_requested(matcher *m, uint32_t event, uint32_t at, uint64_t address,
                                          uint64_t size, uint32_t *row) {
  place *here = &m->places.data[at];
  *row = here->open != VS_NO_ROW ? here->open : here->closed;
  if (*row != VS_NO_ROW && m->out->rows.data[*row].free_requested != VS_NO_EVENT) {
    vs_tally_note(&m->out->doubts.double_free, event);
    return VS_OK;
  }
  if (*row == VS_NO_ROW) VS_TRY(add_older(m, event, at, address, size, row));
  vs_lifetime *life = &m->out->rows.data[*row];
  VS_ASSERT(life->free_requested == VS_NO_EVENT && life->end == VS_NO_EVENT);
  life->free_requested = event;
  if (life->size != size) vs_tally_note(&m->out->doubts.size_mismatch, event);
  if (m->out->closing.at_request) {
    life->end = event;
    *here = (place){.open = VS_NO_ROW, .closed = *row};
  } else {
    here->open = *row;
  }
  return VS_OK;
}

/* Whether the free_requested of this row had another size, so that the mismatch is already counted. */
static bool is_mismatch_known(const matcher *m, const vs_lifetime *life) {
  const vs_slice *slice = m->out->slice;
  return life->free_requested != VS_NO_EVENT &&
         vs_events_size(&slice->snapshot->events, vs_slice_row(slice, life->free_requested)) != life->size;
}

static inline vs_status on_free_completed(matcher *m, uint32_t event, uint32_t at, uint64_t address,
                                          uint64_t size, uint32_t *row) {
  place *here = &m->places.data[at];
  *row = here->open;
  if (*row == VS_NO_ROW) VS_TRY(add_older(m, event, at, address, size, row));
  vs_lifetime *life = &m->out->rows.data[*row];
  VS_ASSERT(life->end == VS_NO_EVENT);
  life->end = event;
  if (life->size != size && !is_mismatch_known(m, life)) vs_tally_note(&m->out->doubts.size_mismatch, event);
  here->open = VS_NO_ROW;
  return VS_OK;
}

static inline vs_status match_event(matcher *m, uint32_t event, uint32_t action, uint32_t at,
                                    uint64_t address, uint64_t size, uint32_t *row) {
  if (action == VS_EVENT_ALLOC) return on_alloc(m, event, at, address, size, row);
  if (action == VS_EVENT_FREE_REQUESTED) return on_free_requested(m, event, at, address, size, row);
  return on_free_completed(m, event, at, address, size, row);
}

/* Nearly all rows are those of allocs, so that room for these is all that most traces need. */
static vs_status reserve(matcher *m) {
  const vs_slice *slice = m->out->slice;
  VS_TRY(vs_vec_reserve(m->host, &m->out->rows, slice->counts[VS_EVENT_ALLOC]));
  VS_TRY(vs_vec_reserve(m->host, &m->out->ranks, slice->counts[VS_EVENT_ALLOC]));
  return vs_vec_reserve(m->host, &m->out->row_of_event, slice->event_count);
}

static vs_status match_trace(matcher *m) {
  const vs_slice *slice = m->out->slice;
  const vs_columns_of_slice columns = vs_slice_columns(slice);
  VS_TRY(reserve(m));
  uint32_t *row_of_event = m->out->row_of_event.data;
  m->out->row_of_event.count = slice->event_count;
  /* The address of the event before, and its place: a free_completed mostly follows its free_requested. */
  uint64_t last = 0;
  uint32_t at = VS_NO_ROW;
  const uint32_t count = slice->event_count;
  for (uint32_t event = 0; event < count; event++) {
    const uint32_t action = vs_action_at(columns, event);
    uint32_t row = VS_NO_ROW;
    if (action <= VS_EVENT_FREE_COMPLETED) {
      const uint64_t address = vs_address_at(columns, event), size = vs_size_at(columns, event);
      if (at == VS_NO_ROW || address != last) VS_TRY(need_place(m, address, &at));
      last = address;
      VS_TRY(match_event(m, event, action, at, address, size, &row));
    }
    row_of_event[event] = row;
    VS_ASSERT(row == VS_NO_ROW || row < m->out->rows.count);
  }
  m->out->mentioned = (uint32_t)m->out->rows.count;
  return VS_OK;
}

/* Matches an active block of the end state with its row, or adds a row for it. */
static vs_status match_block(matcher *m, uint32_t block_row) {
  const vs_block *block = &m->out->slice->snapshot->blocks.data[block_row];
  const bool waits = m->out->closing.at_request && block->state == VS_BLOCK_PENDING; /* ended already */
  VS_ASSERT(vs_block_is_active(block));
  uint32_t at = find_place(m, block->address), row = VS_NO_ROW;
  if (at != VS_NO_ROW) {
    row = m->places.data[at].open;
    if (row == VS_NO_ROW && waits) row = m->places.data[at].closed;
  }
  if (row != VS_NO_ROW) {
    vs_lifetime *life = &m->out->rows.data[row];
    if (life->start == VS_NO_EVENT && life->block == VS_NO_ROW) m->out->doubts.live_without_alloc.count++;
    life->block = block_row;
    return VS_OK;
  }
  m->out->doubts.live_without_alloc.count++;
  if (waits) {
    m->out->older++;
    return VS_OK;
  }
  VS_TRY(need_place(m, block->address, &at));
  VS_TRY(add_row(m, at, block->address, block->requested_size, VS_NO_EVENT, &row));
  m->out->rows.data[row].block = block_row;
  m->places.data[at].open = row;
  return VS_OK;
}

static void find_lost(matcher *m) {
  vs_tally *tally = &m->out->doubts.alloc_not_at_end;
  for (size_t at = 0; at < m->places.count; at++) {
    if (m->places.data[at].open == VS_NO_ROW) continue;
    const vs_lifetime *life = &m->out->rows.data[m->places.data[at].open];
    if (life->start == VS_NO_EVENT || life->free_requested != VS_NO_EVENT || life->block != VS_NO_ROW)
      continue;
    if (tally->count++ == 0 || life->start < tally->first_event) tally->first_event = life->start;
  }
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
  find_lost(m);
  return VS_OK;
}

/* The event that freed a row; VS_NO_EVENT if the trace has none, or another alloc ended it. */
static uint32_t freed_by(const vs_lifetimes *lifetimes, const vs_lifetime *row) {
  const vs_slice *slice = lifetimes->slice;
  if (row->end == VS_NO_EVENT) return row->free_requested;
  const bool is_free =
      vs_events_kind(&slice->snapshot->events, vs_slice_row(slice, row->end)) != VS_EVENT_ALLOC;
  return is_free ? row->end : row->free_requested;
}

static bool frees_tell_alloc(const vs_lifetimes *lifetimes) {
  const vs_slice *slice = lifetimes->slice;
  const vs_events *events = &slice->snapshot->events;
  if (vs_format_is_account(slice->snapshot->format)) return false;
  for (size_t i = 0; i < lifetimes->rows.count; i++) {
    const vs_lifetime *row = &lifetimes->rows.data[i];
    const uint32_t freed = freed_by(lifetimes, row);
    if (row->start == VS_NO_EVENT || freed == VS_NO_EVENT) continue;
    if (vs_events_stack(events, vs_slice_row(slice, row->start)) !=
        vs_events_stack(events, vs_slice_row(slice, freed)))
      return false;
  }
  return true;
}

/* Sorts the addresses, which are in order of appearance. */
static vs_status rank_addresses(const vs_host *host, vs_lifetimes *out) {
  const size_t count = out->addresses.count;
  VS_VEC(vs_sort_pair) order = {0};
  VS_VEC(uint32_t) rank_of = {0}; /* by order of appearance */
  vs_status status = vs_vec_reserve(host, &order, count);
  for (size_t i = 0; i < count && status == VS_OK; i++)
    order.data[order.count++] = (vs_sort_pair){out->addresses.data[i], (uint32_t)i};
  if (status == VS_OK) status = vs_sort_pairs(host, order.data, count);
  if (status == VS_OK) status = vs_vec_reserve(host, &rank_of, count);
  for (size_t rank = 0; rank < count && status == VS_OK; rank++) {
    VS_ASSERT(rank == 0 || order.data[rank - 1].key < order.data[rank].key);
    out->addresses.data[rank] = order.data[rank].key;
    rank_of.data[order.data[rank].value] = (uint32_t)rank;
  }
  for (size_t row = 0; row < out->ranks.count && status == VS_OK; row++)
    out->ranks.data[row] = rank_of.data[out->ranks.data[row]];
  vs_vec_free(host, &order);
  vs_vec_free(host, &rank_of);
  return status;
}

vs_status vs_lifetimes_build(const vs_host *host, const vs_slice *slice, vs_lifetimes *out) {
  const vs_tally none = {.first_event = -1};
  *out = (vs_lifetimes){.slice = slice, .closing = vs_slice_closing(slice)};
  out->doubts = (vs_lifetime_doubts){none, none, none, none, none, none};
  matcher m = {.host = host, .out = out};
  vs_status status = match_trace(&m);
  if (status == VS_OK) status = match_end(&m);
  vs_map_deinit(host, &m.by_address);
  vs_vec_free(host, &m.places);
  if (status == VS_OK) status = rank_addresses(host, out);
  if (status != VS_OK) vs_lifetimes_deinit(host, out);
  else out->frees_tell_alloc = frees_tell_alloc(out);
  return status;
}

void vs_lifetimes_deinit(const vs_host *host, vs_lifetimes *lifetimes) {
  vs_vec_free(host, &lifetimes->rows);
  vs_vec_free(host, &lifetimes->ranks);
  vs_vec_free(host, &lifetimes->addresses);
  vs_vec_free(host, &lifetimes->row_of_event);
}

/* ---- what a row knows ---------------------------------------------------------------------------------- */

bool vs_lifetime_is_pending(const vs_lifetimes *lifetimes, const vs_lifetime *row, vs_moment moment) {
  if (row->free_requested != VS_NO_EVENT) return (vs_moment)row->free_requested <= moment;
  /* Freed before the trace, which has the completion. */
  if (row->start == VS_NO_EVENT && row->end != VS_NO_EVENT)
    return !lifetimes->closing.at_request && !lifetimes->closing.only_completion;
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
  if (row->start == VS_NO_EVENT && !lifetimes->frees_tell_alloc) return VS_LIST_NONE;
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
  for (size_t i = 1; i < lifetimes->addresses.count; i++)
    if (lifetimes->addresses.data[i - 1] >= lifetimes->addresses.data[i]) return "addresses do not rise";
  for (size_t i = 0; i < lifetimes->rows.count; i++) {
    const vs_lifetime *row = &lifetimes->rows.data[i];
    if (row->address != lifetimes->addresses.data[lifetimes->ranks.data[i]]) return "a row of another's rank";
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
