#include "analyze/mappings.h"
#include "analyze/arrange.h"
#include "base/map.h"
#include "base/ordmap.h"

/* The backward scan: `open` has the mappings whose first event is not found yet. Values of by_address are indices into
 * `open`; entries of `open` that no value names are no longer used. */
typedef struct replay {
  const vs_host *host;
  const vs_slice *slice;
  vs_mappings *out;
  vs_ordmap by_address;
  VS_VEC(vs_mapping) open;
} replay;

static uint64_t end_of(const vs_mapping *mapping) { return vs_sat_add_u64(mapping->address, mapping->size); }

static const vs_mapping *open_at(const replay *r, vs_ordmap_pos pos) {
  VS_ASSERT(vs_ordmap_value(&r->by_address, pos) < r->open.count);
  return &r->open.data[vs_ordmap_value(&r->by_address, pos)];
}

static vs_status put(replay *r, const vs_mapping *mapping, uint64_t start, uint64_t end) {
  if (start >= end) return VS_OK;
  VS_TRY(vs_vec_reserve(r->host, &r->open, 1));
  VS_TRY(vs_ordmap_put(r->host, &r->by_address, start, (uint32_t)r->open.count));
  vs_mapping *part = &r->open.data[r->open.count++];
  *part = *mapping;
  part->address = start;
  part->size = end - start;
  return VS_OK;
}

/* The first open mapping that contains `start` or begins behind it. */
static bool first_over(const replay *r, uint64_t start, vs_ordmap_pos *pos) {
  if (vs_ordmap_floor(&r->by_address, start, pos) && end_of(open_at(r, *pos)) > start) return true;
  *pos = vs_ordmap_lower(&r->by_address, start);
  return !vs_ordmap_at_end(&r->by_address, *pos);
}

static vs_status add_row(replay *r, const vs_mapping *mapping, uint64_t start, uint64_t end, uint32_t event) {
  VS_ASSERT(start < end && (event == VS_NO_EVENT || event < mapping->end));
  VS_TRY(vs_vec_reserve(r->host, &r->out->rows, 1));
  vs_mapping *row = &r->out->rows.data[r->out->rows.count++];
  *row = *mapping;
  row->address = start;
  row->size = end - start;
  row->start = event;
  return VS_OK;
}

/* Closes all that is open in [start, end): it began with `event`. With VS_NO_EVENT it is dropped without a row. */
static vs_status begin(replay *r, uint64_t start, uint64_t end, uint32_t event) {
  vs_ordmap_pos pos;
  while (start < end && first_over(r, start, &pos) && open_at(r, pos)->address < end) {
    const vs_mapping mapping = *open_at(r, pos);
    const uint64_t from = vs_max_u64(start, mapping.address), to = vs_min_u64(end, end_of(&mapping));
    VS_ASSERT(from < to);
    vs_ordmap_remove(r->host, &r->by_address, pos);
    VS_TRY(put(r, &mapping, mapping.address, from));
    VS_TRY(put(r, &mapping, to, end_of(&mapping)));
    if (event != VS_NO_EVENT) VS_TRY(add_row(r, &mapping, from, to, event));
  }
  return VS_OK;
}

/* ---- the end state and the trace ----------------------------------------------------------------------- */

static vs_status open_segment(replay *r, uint32_t row) {
  const vs_snapshot *s = r->slice->snapshot;
  const vs_segment *segment = &s->segments.data[row];
  const vs_mapping mapping = {
      .end = VS_NO_EVENT,
      .segment = row,
      .stream = segment->stream,
      .pool = segment->pool,
      .kind = (uint8_t)vs_segment_kind_of(s, segment),
      .is_expandable = segment->is_expandable,
  };
  const uint64_t start = segment->address, end = vs_sat_add_u64(start, segment->total_size);
  VS_TRY(begin(r, start, end, VS_NO_EVENT)); /* because segments of a damaged file may overlap */
  return put(r, &mapping, start, end);
}

static vs_status open_segments(replay *r) {
  vs_segment_index index;
  VS_TRY(vs_segment_index_build(r->host, r->slice, &index));
  vs_status status = VS_OK;
  for (size_t i = 0; i < index.rows.count && status == VS_OK; i++)
    status = open_segment(r, index.rows.data[i]);
  vs_segment_index_deinit(r->host, &index);
  return status;
}

/* Large expandable segments are mapped in multiples of 20 MiB, small ones in single pages of 2 MiB. */
static vs_segment_kind kind_of_event(vs_event_kind kind, uint64_t size) {
  if (kind == VS_EVENT_SEGMENT_UNMAP) return size % VS_LARGE_PAGE == 0 ? VS_SEGMENT_LARGE : VS_SEGMENT_SMALL;
  return vs_segment_kind_by_size(size);
}

/* What an event means for ranges. Where the file has no segments (VS_LACKS_SEGMENTS), each block counts as a range of its own. */
static vs_event_kind range_kind(const vs_slice *slice, uint32_t event) {
  const vs_event_kind kind = vs_events_kind(&slice->snapshot->events, vs_slice_row(slice, event));
  if ((vs_snapshot_lacks(slice->snapshot) & VS_LACKS_SEGMENTS) == 0) return kind;
  return kind == VS_EVENT_ALLOC            ? VS_EVENT_SEGMENT_ALLOC
         : kind == VS_EVENT_FREE_REQUESTED ? VS_EVENT_SEGMENT_FREE
                                           : kind;
}

static bool is_get(vs_event_kind kind) {
  return kind == VS_EVENT_SEGMENT_ALLOC || kind == VS_EVENT_SEGMENT_MAP;
}
static bool is_give(vs_event_kind kind) {
  return kind == VS_EVENT_SEGMENT_FREE || kind == VS_EVENT_SEGMENT_UNMAP;
}

static vs_status undo(replay *r, uint32_t event, vs_event_kind kind) {
  const vs_events *events = &r->slice->snapshot->events;
  const uint32_t row = vs_slice_row(r->slice, event);
  VS_ASSERT(is_get(kind) != is_give(kind));
  if ((vs_events_missing(events, row) & VS_EVENT_NO_ADDRESS) != 0) return VS_OK;
  const uint64_t start = vs_events_address(events, row), size = vs_events_size(events, row),
                 end = vs_sat_add_u64(start, size);
  VS_TRY(begin(r, start, end, event));
  if (is_get(kind)) return VS_OK;
  const vs_mapping mapping = {
      .end = event,
      .segment = VS_NO_ROW,
      .stream = vs_events_stream(events, row),
      .pool = vs_events_pool(events, row),
      .kind = (uint8_t)kind_of_event(kind, size),
      .is_expandable = kind == VS_EVENT_SEGMENT_UNMAP,
  };
  return put(r, &mapping, start, end);
}

static vs_status replay_trace(replay *r) {
  const vs_slice *slice = r->slice;
  const bool by_block = (vs_snapshot_lacks(slice->snapshot) & VS_LACKS_SEGMENTS) != 0;
  for (uint32_t i = by_block ? slice->event_count : slice->other_count; i-- > 0;) {
    const uint32_t event = by_block ? i : slice->others[i];
    const vs_event_kind kind = range_kind(slice, event);
    if (is_get(kind) || is_give(kind)) VS_TRY(undo(r, event, kind));
  }
  for (vs_ordmap_pos pos = vs_ordmap_begin(); !vs_ordmap_at_end(&r->by_address, pos);
       pos = vs_ordmap_next(&r->by_address, pos)) {
    const vs_mapping *mapping = open_at(r, pos);
    VS_TRY(add_row(r, mapping, mapping->address, end_of(mapping), VS_NO_EVENT));
  }
  return VS_OK;
}

/* ---- the rows in order --------------------------------------------------------------------------------- */

static bool row_before(const void *ctx, uint32_t a, uint32_t b) {
  const vs_mapping *rows = ctx;
  if (rows[a].start == rows[b].start) return rows[a].address < rows[b].address;
  if (rows[a].start == VS_NO_EVENT || rows[b].start == VS_NO_EVENT) return rows[a].start == VS_NO_EVENT;
  return rows[a].start < rows[b].start;
}

/* Numbers the rows of each address. They follow one another in time, so the map counts the rows so far. */
static vs_status count_versions(const vs_host *host, vs_mappings *out) {
  vs_map seen = {0}; /* address -> rows so far */
  vs_status status = VS_OK;
  for (size_t i = 0; i < out->rows.count && status == VS_OK; i++) {
    vs_mapping *row = &out->rows.data[i];
    const size_t slot = vs_map_find(&seen, row->address);
    if (slot != VS_MAP_NONE) {
      row->version = seen.slots[slot].value++;
      continue;
    }
    status = vs_map_reserve(host, &seen);
    if (status == VS_OK) vs_map_add(&seen, row->address, 1);
  }
  vs_map_deinit(host, &seen);
  return status;
}

static vs_status list_events(const vs_host *host, vs_mappings *out) {
  const vs_slice *slice = out->slice;
  for (uint32_t i = 0; i < slice->other_count; i++) {
    const uint32_t event = slice->others[i];
    const vs_event_kind kind = vs_events_kind(&slice->snapshot->events, vs_slice_row(slice, event));
    if (is_get(kind)) {
      VS_TRY(vs_vec_reserve(host, &out->gets, 1));
      out->gets.data[out->gets.count++] = event;
    } else if (is_give(kind)) {
      VS_TRY(vs_vec_reserve(host, &out->gives, 1));
      out->gives.data[out->gives.count++] = event;
    }
  }
  return VS_OK;
}

static vs_status build(replay *r) {
  vs_mappings *out = r->out;
  VS_TRY(open_segments(r));
  VS_TRY(replay_trace(r));
  VS_TRY(vs_arrange(r->host, out->rows.data, out->rows.count, sizeof *out->rows.data, row_before,
                    out->rows.data));
  VS_TRY(count_versions(r->host, out));
  return list_events(r->host, out);
}

vs_status vs_mappings_build(const vs_host *host, const vs_slice *slice, vs_mappings *out) {
  *out = (vs_mappings){.slice = slice};
  replay r = {.host = host, .slice = slice, .out = out};
  const vs_status status = build(&r);
  vs_ordmap_deinit(host, &r.by_address);
  vs_vec_free(host, &r.open);
  VS_ASSERT(status != VS_OK || out->gets.count + out->gives.count <= slice->event_count);
  if (status != VS_OK) vs_mappings_deinit(host, out);
  return status;
}

void vs_mappings_deinit(const vs_host *host, vs_mappings *mappings) {
  vs_vec_free(host, &mappings->rows);
  vs_vec_free(host, &mappings->gets);
  vs_vec_free(host, &mappings->gives);
}

/* ---- what a row knows ---------------------------------------------------------------------------------- */

static uint32_t stack_of_event(const vs_slice *slice, uint32_t event) {
  return event == VS_NO_EVENT ? VS_LIST_NONE
                              : vs_events_stack(&slice->snapshot->events, vs_slice_row(slice, event));
}

uint32_t vs_mapping_stack(const vs_mappings *mappings, const vs_mapping *row) {
  const vs_slice *slice = mappings->slice;
  uint32_t stack = stack_of_event(slice, row->start);
  if (stack == VS_LIST_NONE && row->segment != VS_NO_ROW)
    stack = slice->snapshot->segments.data[row->segment].stack;
  return stack == VS_LIST_NONE ? stack_of_event(slice, row->end) : stack;
}

static size_t below(const uint32_t *events, size_t count, uint32_t event) {
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (events[middle] < event) low = middle + 1;
    else high = middle;
  }
  return low;
}

uint32_t vs_count_events(const uint32_t *events, size_t count, uint32_t first, uint32_t end) {
  VS_ASSERT(count == 0 || events[0] <= events[count - 1]);
  const size_t from = below(events, count, first), to = below(events, count, end);
  return to > from ? (uint32_t)(to - from) : 0;
}

const char *vs_mappings_check(const vs_mappings *mappings) {
  const uint32_t events = mappings->slice->event_count;
  for (size_t i = 0; i < mappings->rows.count; i++) {
    const vs_mapping *row = &mappings->rows.data[i];
    if (row->size == 0) return "an empty stretch";
    if (row->end != VS_NO_EVENT && row->end >= events) return "an end behind the trace";
    if ((row->end == VS_NO_EVENT) != (row->segment != VS_NO_ROW)) return "gone, and yet in the end state";
    if (row->start != VS_NO_EVENT && row->start >= row->end) return "ended before it began";
    if (i > 0 && !row_before(mappings->rows.data, (uint32_t)i - 1, (uint32_t)i)) return "rows out of order";
  }
  return NULL;
}
