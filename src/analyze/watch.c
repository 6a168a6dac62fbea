#include "analyze/watch.h"

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
  for (vs_moment event = vs_slice_end(slice); event > moment; event--) {
    const uint32_t row = vs_slice_row(slice, (uint32_t)event);
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
  for (uint32_t i = 0; i < slice->segment_count && status == VS_OK; i++) {
    const vs_segment *segment = &slice->snapshot->segments.data[slice->segments[i]];
    status =
        vs_ranges_add(host, out, segment->address, vs_sat_add_u64(segment->address, segment->total_size));
  }
  if (status == VS_OK) status = undo_until(host, slice, moment, out);
  if (status != VS_OK) vs_ranges_deinit(host, out);
  return status;
}

/* ---- watching ------------------------------------------------------------------------------------------ */

typedef struct watcher {
  const vs_host *host;
  const vs_lifetimes *lifetimes;
  vs_watch *out;
  vs_ordmap live; /* address -> row of lifetimes: one for each address, the latest */
  vs_ranges mapped;
  vs_range last;     /* the mapped range that held the last block; empty after the ranges changed */
  bool knows_ranges; /* the trace has segment events at all */
  uint32_t next_row; /* rows before this one began before the current event */
} watcher;

static const vs_lifetime *life_at(const watcher *w, vs_ordmap_pos pos) {
  return &w->lifetimes->rows.data[vs_ordmap_value(&w->live, pos)];
}

/* Where a block ends; one of no bytes still takes its place. */
static uint64_t end_of(uint64_t address, uint64_t size) {
  return vs_sat_add_u64(address, size == 0 ? 1 : size);
}

/* Whether a live block that begins elsewhere reaches into [start, end). `floor` is the last one at or before start. */
static bool meets_neighbour(const watcher *w, uint64_t start, uint64_t end, bool has_floor,
                            vs_ordmap_pos floor) {
  vs_ordmap_pos above = vs_ordmap_begin();
  if (has_floor) {
    above = vs_ordmap_next(&w->live, floor);
    const bool is_same = vs_ordmap_key(&w->live, floor) == start;
    if (!is_same || vs_ordmap_previous(&w->live, &floor)) {
      const vs_lifetime *low = life_at(w, floor);
      if (end_of(low->address, low->size) > start) return true;
    }
  }
  return !vs_ordmap_at_end(&w->live, above) && vs_ordmap_key(&w->live, above) < end;
}

static vs_status on_alloc(watcher *w, uint32_t event, uint32_t event_row) {
  while (w->lifetimes->rows.data[w->next_row].start != event) w->next_row++;
  const uint32_t row = w->next_row++;
  if (!has_address(&w->lifetimes->slice->snapshot->events, event_row)) return VS_OK;
  const vs_lifetime *life = &w->lifetimes->rows.data[row];
  const uint64_t start = life->address, end = vs_sat_add_u64(start, life->size);
  if (w->knows_ranges && !(w->last.start <= start && end <= w->last.end)) {
    if (!vs_ranges_cover(&w->mapped, start, end, &w->last)) note(&w->out->outside_segment, event);
  }
  vs_ordmap_pos floor = {0};
  const bool has_floor = vs_ordmap_floor(&w->live, start, &floor);
  if (meets_neighbour(w, start, end_of(start, life->size), has_floor, floor)) note(&w->out->overlap, event);
  return vs_ordmap_put(w->host, &w->live, start, row);
}

static void on_free(watcher *w, uint32_t event, uint64_t address) {
  vs_ordmap_pos pos;
  if (vs_ordmap_find(&w->live, address, &pos) && life_at(w, pos)->end == event)
    vs_ordmap_remove(w->host, &w->live, pos);
}

static bool is_in_use(const watcher *w, uint64_t start, uint64_t end) {
  vs_ordmap_pos pos;
  if (vs_ordmap_floor(&w->live, start, &pos)) {
    const vs_lifetime *low = life_at(w, pos);
    if (low->address < end && end_of(low->address, low->size) > start) return true;
  }
  pos = vs_ordmap_lower(&w->live, start);
  return !vs_ordmap_at_end(&w->live, pos) && vs_ordmap_key(&w->live, pos) < end;
}

static vs_status on_range(watcher *w, uint32_t event, vs_event_kind kind, uint64_t start, uint64_t end) {
  w->last = (vs_range){0, 0};
  if (adds_range(kind)) {
    if (vs_ranges_meet(&w->mapped, start, end)) note(&w->out->double_map, event);
    return vs_ranges_add(w->host, &w->mapped, start, end);
  }
  if (!vs_ranges_cover(&w->mapped, start, end, NULL)) note(&w->out->unmap_unknown, event);
  else if (is_in_use(w, start, end)) note(&w->out->unmap_live, event);
  return vs_ranges_cut(w->host, &w->mapped, start, end);
}

static vs_status watch(watcher *w) {
  const vs_slice *slice = w->lifetimes->slice;
  const vs_events *events = &slice->snapshot->events;
  const vs_event_kind closing =
      w->lifetimes->closing.at_request ? VS_EVENT_FREE_REQUESTED : VS_EVENT_FREE_COMPLETED;
  for (uint32_t event = 0; event < slice->event_count; event++) {
    const uint32_t row = vs_slice_row(slice, event);
    const vs_event_kind kind = vs_events_kind(events, row);
    if (kind == VS_EVENT_ALLOC) {
      VS_TRY(on_alloc(w, event, row));
    } else if (kind == closing) {
      on_free(w, event, vs_events_address(events, row));
    } else if (changes_ranges(kind) && has_address(events, row)) {
      const uint64_t start = vs_events_address(events, row);
      VS_TRY(on_range(w, event, kind, start, vs_sat_add_u64(start, vs_events_size(events, row))));
    }
  }
  return VS_OK;
}

/* The blocks that were there before the first event. Of several at one address the one that stays longest counts. */
static vs_status put_older(watcher *w) {
  for (size_t i = 0; i < w->lifetimes->rows.count; i++) {
    const vs_lifetime *life = &w->lifetimes->rows.data[i];
    vs_ordmap_pos pos;
    if (life->start != VS_NO_EVENT) continue;
    if (vs_ordmap_find(&w->live, life->address, &pos) && life_at(w, pos)->end >= life->end) continue;
    VS_TRY(vs_ordmap_put(w->host, &w->live, life->address, (uint32_t)i));
  }
  return VS_OK;
}

static bool has_range_events(const vs_slice *slice) {
  for (uint32_t event = 0; event < slice->event_count; event++)
    if (changes_ranges(vs_events_kind(&slice->snapshot->events, vs_slice_row(slice, event)))) return true;
  return false;
}

vs_status vs_watch_run(const vs_host *host, const vs_lifetimes *lifetimes, vs_watch *out) {
  const vs_tally none = {.first_event = -1};
  *out = (vs_watch){none, none, none, none, none};
  watcher w = {
      .host = host, .lifetimes = lifetimes, .out = out, .knows_ranges = has_range_events(lifetimes->slice)};
  vs_status status = vs_mapped_at(host, lifetimes->slice, VS_AT_START, &w.mapped);
  if (status == VS_OK) status = put_older(&w);
  if (status == VS_OK) status = watch(&w);
  vs_ordmap_deinit(host, &w.live);
  vs_ranges_deinit(host, &w.mapped);
  return status;
}
