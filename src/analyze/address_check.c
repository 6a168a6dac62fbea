#include "analyze/address_check.h"

static bool adds_range(vs_event_kind kind) {
  return kind == VS_EVENT_SEGMENT_ALLOC || kind == VS_EVENT_SEGMENT_MAP;
}

/* ---- what was mapped ----------------------------------------------------------------------------------- */

static vs_status undo_until(const vs_host *host, const vs_slice *slice, vs_moment moment, vs_ranges *mapped) {
  const vs_events *events = &slice->snapshot->events;
  for (uint32_t i = slice->other_count; i-- > 0 && slice->others[i] > moment;) {
    const uint32_t row = vs_slice_row(slice, slice->others[i]);
    const vs_event_kind kind = vs_events_kind(events, row);
    if (!vs_changes_ranges(kind) || !vs_event_has_address(events, row)) continue;
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

static bool has_range_events(const vs_slice *slice) {
  for (int kind = 0; kind < VS_EVENT_KIND_COUNT; kind++)
    if (vs_changes_ranges((vs_event_kind)kind) && slice->counts[kind] != 0) return true;
  return false;
}

vs_status vs_address_check_begin(const vs_host *host, const vs_slice *slice, vs_address_check *out,
                                 vs_address_checker *checker) {
  const vs_tally none = {.first_event = -1};
  *out = (vs_address_check){none, none, none, none, none};
  *checker = (vs_address_checker){.host = host, .out = out, .knows_ranges = has_range_events(slice)};
  return vs_mapped_at(host, slice, VS_AT_START, &checker->mapped);
}

void vs_address_check_end(vs_address_checker *checker) { vs_ranges_deinit(checker->host, &checker->mapped); }

void vs_address_check_outside(vs_address_checker *checker, uint32_t event, uint64_t start, uint64_t end) {
  if (!vs_ranges_cover(&checker->mapped, start, end, &checker->last))
    vs_tally_note(&checker->out->outside_segment, event);
}

vs_status vs_address_check_range(vs_address_checker *checker, uint32_t event, vs_event_kind kind,
                                 vs_range range, bool lives_in) {
  vs_address_check *out = checker->out;
  VS_ASSERT(range.start <= range.end && vs_changes_ranges(kind));
  checker->last = (vs_range){0, 0};
  if (adds_range(kind)) {
    if (vs_ranges_meet(&checker->mapped, range.start, range.end)) vs_tally_note(&out->double_map, event);
    return vs_ranges_add(checker->host, &checker->mapped, range.start, range.end);
  }
  if (!vs_ranges_cover(&checker->mapped, range.start, range.end, NULL))
    vs_tally_note(&out->unmap_unknown, event);
  else if (lives_in) vs_tally_note(&out->unmap_live, event);
  return vs_ranges_cut(checker->host, &checker->mapped, range.start, range.end);
}
