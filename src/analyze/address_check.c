#include "analyze/address_check.h"
#include "analyze/rankset.h"

static void note(vs_tally *tally, uint32_t event) {
  if (tally->count++ == 0) tally->first_event = event;
}

static bool changes_ranges(vs_event_kind kind) {
  return kind >= VS_EVENT_SEGMENT_ALLOC && kind <= VS_EVENT_SEGMENT_UNMAP;
}

static bool adds_range(vs_event_kind kind) {
  return kind == VS_EVENT_SEGMENT_ALLOC || kind == VS_EVENT_SEGMENT_MAP;
}

static bool has_address(const vs_events *events, uint32_t row) {
  return (vs_events_missing(events, row) & VS_EVENT_NO_ADDRESS) == 0;
}

/* ---- what was mapped ----------------------------------------------------------------------------------- */

static vs_status undo_until(const vs_host *host, const vs_slice *slice, vs_moment moment, vs_ranges *mapped) {
  const vs_events *events = &slice->snapshot->events;
  for (uint32_t i = slice->other_count; i-- > 0 && slice->others[i] > moment;) {
    const uint32_t row = vs_slice_row(slice, slice->others[i]);
    const vs_event_kind kind = vs_events_kind(events, row);
    if (!changes_ranges(kind) || !has_address(events, row)) continue;
    const uint64_t start = vs_events_address(events, row),
                   end = vs_sat_add_u64(start, vs_events_size(events, row));
    VS_TRY(adds_range(kind) ? vs_ranges_cut(host, mapped, start, end)
                            : vs_ranges_add(host, mapped, start, end));
  }
  return VS_OK;
}

vs_status vs_mapped_at(const vs_host *host, const vs_slice *slice, vs_moment moment, vs_ranges *out) {
  *out = (vs_ranges){0};
  vs_status status = VS_OK;
  VS_ASSERT(moment >= VS_AT_START);
  for (uint32_t i = 0; i < slice->segment_count && status == VS_OK; i++) {
    const vs_segment *segment = &slice->snapshot->segments.data[slice->segments[i]];
    status =
        vs_ranges_add(host, out, segment->address, vs_sat_add_u64(segment->address, segment->total_size));
  }
  if (status == VS_OK) status = undo_until(host, slice, moment, out);
  if (status != VS_OK) vs_ranges_deinit(host, out);
  return status;
}

/* ---- checking ------------------------------------------------------------------------------------------- */

/* The live block at an address. Addresses are ranked, so that neighbours in the set of ranks are neighbours in
 * memory. */
typedef struct spot {
  uint64_t address;
  uint64_t end; /* end of that block */
  uint32_t row; /* row of lifetimes: that block */
} spot;

typedef struct checker {
  const vs_host *host;
  const vs_lifetimes *lifetimes;
  const vs_lifetime *rows; /* of lifetimes, as are the ranks */
  const uint32_t *ranks;
  vs_address_check *out;
  VS_VEC(spot) spots; /* by rank */
  vs_rankset live;    /* ranks */
  vs_ranges mapped;
  vs_range last;     /* the mapped range that held the last block; empty after the ranges changed */
  bool knows_ranges; /* the trace has segment events at all */
} checker;

static vs_status make_spots(checker *w) {
  const size_t count = w->lifetimes->addresses.count;
  VS_TRY(vs_vec_reserve(w->host, &w->spots, count));
  for (size_t rank = 0; rank < count; rank++)
    w->spots.data[w->spots.count++] = (spot){.address = w->lifetimes->addresses.data[rank], .row = VS_NO_ROW};
  return vs_rankset_init(w->host, (uint32_t)count, &w->live);
}

/* The end of a block. A block of 0 bytes counts as one of 1 byte, so that it can overlap. */
static uint64_t end_of(const vs_lifetime *life) {
  return vs_sat_add_u64(life->address, life->size == 0 ? 1 : life->size);
}

static inline void put(checker *w, uint32_t rank, uint32_t row) {
  VS_ASSERT(w->spots.data[rank].address == w->rows[row].address);
  w->spots.data[rank].end = end_of(&w->rows[row]);
  w->spots.data[rank].row = row;
  vs_rankset_put(&w->live, rank);
}

/* Whether a live block of another address reaches into the block of this one. */
static inline bool meets_neighbour(const checker *w, uint32_t rank, const vs_lifetime *life) {
  uint32_t other;
  if (vs_rankset_before(&w->live, rank, &other) && w->spots.data[other].end > life->address) return true;
  return vs_rankset_after(&w->live, rank, &other) && w->spots.data[other].address < end_of(life);
}

static inline void on_alloc(checker *w, uint32_t event, bool is_placed) {
  const uint32_t row = w->lifetimes->row_of_event.data[event], rank = w->ranks[row];
  const vs_lifetime *life = &w->rows[row];
  VS_ASSERT(life->start == event);
  if (w->knows_ranges && is_placed) {
    const uint64_t end = vs_sat_add_u64(life->address, life->size);
    const bool is_known = w->last.start <= life->address && end <= w->last.end;
    if (!is_known && !vs_ranges_cover(&w->mapped, life->address, end, &w->last))
      note(&w->out->outside_segment, event);
  }
  if (is_placed && meets_neighbour(w, rank, life)) note(&w->out->overlap, event);
  put(w, rank, row);
}

static inline void on_free(checker *w, uint32_t event) {
  const uint32_t row = w->lifetimes->row_of_event.data[event];
  if (w->rows[row].end != event) return; /* a second free of it */
  const uint32_t rank = w->ranks[row];
  if (w->spots.data[rank].row == row && vs_rankset_has(&w->live, rank)) vs_rankset_remove(&w->live, rank);
}

static bool is_in_use(const checker *w, uint64_t start, uint64_t end) {
  size_t low = 0, high = w->spots.count; /* the addresses of spots before low are below start */
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (w->spots.data[middle].address < start) low = middle + 1;
    else high = middle;
  }
  uint32_t other;
  if (vs_rankset_before(&w->live, (uint32_t)low, &other) && w->spots.data[other].end > start &&
      w->spots.data[other].address < end)
    return true;
  if (low == w->spots.count) return false;
  if (!vs_rankset_has(&w->live, (uint32_t)low)) {
    if (!vs_rankset_after(&w->live, (uint32_t)low, &other)) return false;
    low = other;
  }
  return w->spots.data[low].address < end;
}

static vs_status on_range(checker *w, uint32_t event, vs_event_kind kind, uint64_t start, uint64_t end) {
  VS_ASSERT(start <= end);
  w->last = (vs_range){0, 0};
  if (adds_range(kind)) {
    if (vs_ranges_meet(&w->mapped, start, end)) note(&w->out->double_map, event);
    return vs_ranges_add(w->host, &w->mapped, start, end);
  }
  if (!vs_ranges_cover(&w->mapped, start, end, NULL)) note(&w->out->unmap_unknown, event);
  else if (is_in_use(w, start, end)) note(&w->out->unmap_live, event);
  return vs_ranges_cut(w->host, &w->mapped, start, end);
}

static vs_status check(checker *w) {
  const vs_slice *slice = w->lifetimes->slice;
  const vs_events columns = slice->snapshot->events,
                  *events = &columns; /* a copy, which stores do not change */
  const vs_event_kind closing =
      w->lifetimes->closing.at_request ? VS_EVENT_FREE_REQUESTED : VS_EVENT_FREE_COMPLETED;
  VS_ASSERT(w->lifetimes->row_of_event.count == slice->event_count);
  for (uint32_t event = 0; event < slice->event_count; event++) {
    const uint32_t row = vs_slice_row(slice, event);
    const vs_event_kind kind = vs_events_kind(events, row);
    if (kind == VS_EVENT_ALLOC) {
      on_alloc(w, event, has_address(events, row));
    } else if (kind == closing) {
      on_free(w, event);
    } else if (changes_ranges(kind) && has_address(events, row)) {
      const uint64_t start = vs_events_address(events, row);
      VS_TRY(on_range(w, event, kind, start, vs_sat_add_u64(start, vs_events_size(events, row))));
    }
  }
  return VS_OK;
}

/* Adds the blocks that are older than the trace. Of several at one address it takes the one with the latest end. */
static void put_older(checker *w) {
  const vs_lifetime *rows = w->rows;
  for (size_t i = 0; i < w->lifetimes->rows.count && w->lifetimes->older != 0; i++) {
    if (rows[i].start != VS_NO_EVENT) continue;
    const uint32_t rank = w->ranks[i];
    if (!vs_rankset_has(&w->live, rank) || rows[w->spots.data[rank].row].end < rows[i].end)
      put(w, rank, (uint32_t)i);
  }
}

static bool has_range_events(const vs_slice *slice) {
  for (int kind = 0; kind < VS_EVENT_KIND_COUNT; kind++)
    if (changes_ranges((vs_event_kind)kind) && slice->counts[kind] != 0) return true;
  return false;
}

vs_status vs_address_check_run(const vs_host *host, const vs_lifetimes *lifetimes, vs_address_check *out) {
  const vs_tally none = {.first_event = -1};
  *out = (vs_address_check){none, none, none, none, none};
  checker w = {.host = host,
               .lifetimes = lifetimes,
               .rows = lifetimes->rows.data,
               .ranks = lifetimes->ranks.data,
               .out = out,
               .knows_ranges = has_range_events(lifetimes->slice)};
  vs_status status = make_spots(&w);
  if (status == VS_OK) status = vs_mapped_at(host, lifetimes->slice, VS_AT_START, &w.mapped);
  if (status == VS_OK) {
    put_older(&w);
    status = check(&w);
  }
  vs_vec_free(host, &w.spots);
  vs_rankset_deinit(host, &w.live);
  vs_ranges_deinit(host, &w.mapped);
  return status;
}
