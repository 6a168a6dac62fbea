#include "analyze/ooms.h"
#include "analyze/fragmentation.h"

static const char *const VERDICTS[VS_OOM_VERDICTS] = {
    [VS_OOM_UNKNOWN] = "unknown",     [VS_OOM_FULL] = "full",       [VS_OOM_FRAGMENTED] = "fragmented",
    [VS_OOM_ELSEWHERE] = "elsewhere", [VS_OOM_REFUSED] = "refused",
};

const char *vs_oom_verdict_name(vs_oom_verdict verdict) { return VERDICTS[verdict]; }

/* The driver's bytes for a request that no cached block could serve. */
static uint64_t driver_size(uint64_t rounded) {
  const uint64_t mask = VS_SMALL_PAGE - 1;
  if (rounded <= VS_LARGEST_SMALL_REQUEST) return VS_SMALL_PAGE;
  if (rounded < VS_LARGE_PAGE / 2) return VS_LARGE_PAGE;
  return rounded > UINT64_MAX - mask ? rounded : (rounded + mask) & ~mask;
}

static vs_oom_verdict judge(const vs_oom *oom) {
  /* The device's free bytes are those after PyTorch gave back what it could. */
  if (oom->is_free_known && oom->device_free >= driver_size(oom->size)) return VS_OOM_REFUSED;
  if (oom->largest_hole_area < oom->size && oom->largest_hole >= oom->size) return VS_OOM_ELSEWHERE;
  if (vs_sat_add_u64(oom->cached, oom->is_free_known ? oom->device_free : 0) >= oom->size)
    return VS_OOM_FRAGMENTED;
  return oom->is_free_known ? VS_OOM_FULL : VS_OOM_UNKNOWN;
}

static void look_at_holes(const vs_slice *slice, const vs_fragmentation *f, vs_oom *oom) {
  const vs_segment_kind kind = oom->size <= VS_LARGEST_SMALL_REQUEST ? VS_SEGMENT_SMALL : VS_SEGMENT_LARGE;
  const uint32_t pool = vs_events_pool(&slice->snapshot->events, vs_slice_row(slice, oom->event));
  oom->active = f->all.active;
  oom->cached = f->all.free;
  oom->largest_hole = f->all.largest_hole;
  oom->largest_hole_kind = oom->largest_hole_area = 0;
  for (size_t i = 0; i < f->areas.count; i++) {
    const vs_area *area = &f->areas.data[i];
    if (area->kind != kind && area->kind != VS_SEGMENT_OTHER) continue;
    oom->largest_hole_kind = vs_max_u64(oom->largest_hole_kind, area->holes.largest_hole);
    if (area->stream != oom->stream || (pool != 0 && area->pool != 0 && area->pool != pool)) continue;
    oom->largest_hole_area = vs_max_u64(oom->largest_hole_area, area->holes.largest_hole);
  }
}

static vs_status find_top(const vs_host *host, const vs_moment_index *moments, vs_frames *frames,
                          vs_oom *oom) {
  vs_liveset live;
  vs_groups groups;
  VS_TRY(vs_liveset_at(host, moments->lifetimes, &moments->spans, oom->event, &live));
  const vs_status status = vs_groups_build(host, moments->lifetimes, live.rows.data, live.rows.count,
                                           VS_BY_STACK, frames, &groups);
  vs_liveset_deinit(host, &live);
  VS_TRY(status);
  oom->top = groups.list.count > 0 ? groups.list.data[0] : (vs_group){0};
  vs_groups_deinit(host, &groups);
  return VS_OK;
}

vs_status vs_oom_look(const vs_host *host, const vs_moment_index *moments, vs_frames *frames, vs_oom *oom) {
  vs_fragmentation fragmentation;
  VS_TRY(find_top(host, moments, frames, oom));
  VS_TRY(vs_fragmentation_at(host, moments, oom->event, 0, &fragmentation));
  look_at_holes(moments->lifetimes->slice, &fragmentation, oom);
  vs_fragmentation_deinit(host, &fragmentation);
  oom->verdict = judge(oom);
  oom->is_looked_at = true;
  return VS_OK;
}

bool vs_oom_device_free(const vs_slice *slice, uint32_t event, uint64_t *bytes) {
  const vs_events *events = &slice->snapshot->events;
  const uint32_t row = vs_slice_row(slice, event);
  if ((vs_events_missing(events, row) & VS_EVENT_NO_ADDRESS) != 0) return false;
  *bytes = vs_events_address(events, row);
  return true;
}

static vs_oom plain_facts(const vs_slice *slice, uint32_t event) {
  const vs_events *events = &slice->snapshot->events;
  const uint32_t row = vs_slice_row(slice, event);
  uint64_t device_free = 0;
  const bool is_free_known = vs_oom_device_free(slice, event, &device_free);
  return (vs_oom){
      .event = event,
      .stream = vs_events_stream(events, row),
      .stack = vs_events_stack(events, row),
      .time_us = vs_events_time_us(events, row),
      .size = vs_events_size(events, row),
      .is_free_known = is_free_known,
      .device_free = device_free,
  };
}

static vs_status list_ooms(const vs_host *host, const vs_slice *slice, const vs_curves *curves,
                           vs_ooms *out) {
  const vs_events *events = &slice->snapshot->events;
  vs_curve_cursor cursor = vs_curve_cursor_at_start(slice, curves);
  for (uint32_t event = 0; event < slice->event_count; event++) {
    if (vs_events_kind(events, vs_slice_row(slice, event)) != VS_EVENT_OOM) continue;
    vs_curve_cursor_move(&cursor, event);
    VS_TRY(vs_vec_reserve(host, &out->list, 1));
    vs_oom *oom = &out->list.data[out->list.count++];
    *oom = plain_facts(slice, event);
    oom->requested = cursor.values[VS_CURVE_REQUESTED];
    oom->held = cursor.values[VS_CURVE_HELD];
    oom->reserved = cursor.values[VS_CURVE_RESERVED];
  }
  return VS_OK;
}

vs_status vs_ooms_build(const vs_host *host, const vs_moment_index *moments, const vs_curves *curves,
                        vs_frames *frames, vs_ooms *out) {
  *out = (vs_ooms){0};
  vs_status status = list_ooms(host, moments->lifetimes->slice, curves, out);
  const size_t count = out->list.count;
  for (size_t i = 0; i < count && status == VS_OK; i++)
    if (i == 0 || i + VS_OOM_LOOKS > count) status = vs_oom_look(host, moments, frames, &out->list.data[i]);
  if (status != VS_OK) vs_ooms_deinit(host, out);
  return status;
}

void vs_ooms_deinit(const vs_host *host, vs_ooms *ooms) { vs_vec_free(host, &ooms->list); }
