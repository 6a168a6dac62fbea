#include "query/engine.h"

vs_view *vs_engine_view(vs_engine *engine, int32_t device) {
  for (size_t i = 0; i < engine->views.count; i++)
    if (engine->views.data[i].slice->device == device) return &engine->views.data[i];
  return NULL;
}

vs_view *vs_engine_default_view(vs_engine *engine) {
  vs_view *best = NULL;
  for (size_t i = 0; i < engine->views.count; i++) {
    vs_view *view = &engine->views.data[i];
    if (best != NULL && view->slice->device == VS_DEVICE_HOST)
      continue; /* only where there is nothing else */
    const bool is_busier =
        best == NULL || view->slice->event_count > best->slice->event_count ||
        (view->slice->event_count == best->slice->event_count && view->reserved > best->reserved);
    if (is_busier) best = view;
  }
  return best;
}

const vs_curves *vs_view_curves(vs_view *view) {
  if (!view->has_curves) vs_curves_measure(view->slice, &view->curves);
  view->has_curves = true;
  return &view->curves;
}

vs_status vs_view_times(vs_engine *engine, vs_view *view, const vs_times **out) {
  if (!view->has_times) VS_TRY(vs_times_build(engine->host, view->slice, &view->times));
  view->has_times = true;
  *out = &view->times;
  return VS_OK;
}

vs_status vs_view_lifetimes(vs_engine *engine, vs_view *view, const vs_lifetimes **out) {
  if (!view->has_lifetimes) VS_TRY(vs_lifetimes_build(engine->host, view->slice, &view->lifetimes));
  view->has_lifetimes = true;
  *out = &view->lifetimes;
  return VS_OK;
}

vs_status vs_view_names(vs_engine *engine, vs_view *view, const vs_names **out) {
  const vs_lifetimes *lifetimes;
  VS_TRY(vs_view_lifetimes(engine, view, &lifetimes));
  if (!view->has_names) VS_TRY(vs_names_build(engine->host, lifetimes, &view->names));
  view->has_names = true;
  *out = &view->names;
  return VS_OK;
}

vs_status vs_view_segments(vs_engine *engine, vs_view *view, const vs_segment_index **out) {
  if (!view->has_segments) VS_TRY(vs_segment_index_build(engine->host, view->slice, &view->segments));
  view->has_segments = true;
  *out = &view->segments;
  return VS_OK;
}

vs_status vs_view_ranges(vs_engine *engine, vs_view *view, const vs_named_ranges **out) {
  if (!view->has_ranges) VS_TRY(vs_named_ranges_build(engine->host, view->slice, &view->ranges));
  view->has_ranges = true;
  *out = &view->ranges;
  return VS_OK;
}

vs_status vs_view_levels(vs_engine *engine, vs_view *view, const vs_levels **out) {
  const vs_curves *curves = vs_view_curves(view);
  if (!view->has_levels) VS_TRY(vs_levels_of_curves(engine->host, view->slice, curves, view->levels));
  view->has_levels = true;
  *out = view->levels;
  return VS_OK;
}

/* Those of one event stay in the order of their rows: the sort is stable. */
static vs_status list_mapping_ends(vs_engine *engine, vs_view *view) {
  const vs_mappings *mappings = &view->past.mappings;
  view->mapping_ends.count = 0;
  VS_TRY(vs_vec_reserve(engine->host, &view->mapping_ends, mappings->rows.count));
  for (size_t i = 0; i < mappings->rows.count; i++)
    if (mappings->rows.data[i].end != VS_NO_EVENT)
      view->mapping_ends.data[view->mapping_ends.count++] =
          (vs_sort_pair){.key = mappings->rows.data[i].end, .value = (uint32_t)i};
  return vs_sort_pairs(engine->host, view->mapping_ends.data, view->mapping_ends.count);
}

vs_status vs_view_past(vs_engine *engine, vs_view *view, const vs_past **out) {
  const vs_lifetimes *lifetimes;
  VS_TRY(vs_view_lifetimes(engine, view, &lifetimes));
  if (!view->has_past) {
    VS_TRY(vs_past_build(engine->host, lifetimes, &view->past));
    const vs_status status = list_mapping_ends(engine, view);
    if (status != VS_OK) {
      vs_past_deinit(engine->host, &view->past);
      return status;
    }
    view->has_past = true;
  }
  *out = &view->past;
  return VS_OK;
}

uint32_t vs_view_mapping_of(const vs_view *view, uint32_t event) {
  const vs_mappings *mappings = &view->past.mappings;
  size_t low = 0, high = mappings->rows.count;
  while (low < high) { /* those without a start stand first */
    const size_t middle = low + (high - low) / 2;
    const uint32_t start = mappings->rows.data[middle].start;
    if (start == VS_NO_EVENT || start < event) low = middle + 1;
    else high = middle;
  }
  if (low < mappings->rows.count && mappings->rows.data[low].start == event) return (uint32_t)low;
  low = 0;
  high = view->mapping_ends.count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (view->mapping_ends.data[middle].key < event) low = middle + 1;
    else high = middle;
  }
  const bool ends = low < view->mapping_ends.count && view->mapping_ends.data[low].key == event;
  return ends ? view->mapping_ends.data[low].value : VS_NO_ROW;
}

vs_status vs_view_report(vs_engine *engine, vs_view *view, vs_report **out) {
  const vs_past *past;
  VS_TRY(vs_view_past(engine, view, &past));
  if (!view->has_report)
    VS_TRY(vs_report_build_with(engine->host, past, vs_view_curves(view), &view->report));
  view->has_report = true;
  *out = &view->report;
  return VS_OK;
}

void vs_scene_deinit(const vs_host *host, vs_scene *scene) {
  if (scene->has_levels) vs_levels_deinit(host, &scene->levels);
  if (scene->has_spans && scene->spans == &scene->own) vs_spans_deinit(host, &scene->own);
  vs_vec_free(host, &scene->filter);
  *scene = (vs_scene){0};
}

/* ---- moments --------------------------------------------------------------------------------------------------- */

static vs_status not_there(vs_error *error, const char *why) {
  return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET, "%s", why);
}

static vs_status first_oom(const vs_slice *slice, vs_moment *out, vs_error *error) {
  for (uint32_t event = 0; event < slice->event_count; event++)
    if (vs_events_kind(&slice->snapshot->events, vs_slice_row(slice, event)) == VS_EVENT_OOM) {
      *out = event;
      return VS_OK;
    }
  return not_there(error, "this trace has no out-of-memory error");
}

static vs_status at_time(vs_engine *engine, vs_view *view, int64_t time_us, bool is_relative, vs_moment *out,
                         vs_error *error) {
  const vs_times *times;
  VS_TRY(vs_view_times(engine, view, &times));
  if (times->first_us == VS_NO_TIME) return not_there(error, "this trace has no times");
  *out = vs_slice_moment_at(view->slice, is_relative ? vs_sat_add_i64(times->first_us, time_us) : time_us);
  return VS_OK;
}

vs_status vs_view_moment(vs_engine *engine, vs_view *view, vs_when when, vs_moment *out, vs_error *error) {
  const vs_slice *slice = view->slice;
  *out = VS_AT_START;
  switch (when.kind) {
    case VS_WHEN_NONE:
    case VS_WHEN_START: return VS_OK;
    case VS_WHEN_END: *out = vs_slice_end(slice); return VS_OK;
    case VS_WHEN_PEAK: *out = vs_view_curves(view)->curve[VS_CURVE_REQUESTED].peak_at; return VS_OK;
    case VS_WHEN_PEAK_RESERVED: *out = vs_view_curves(view)->curve[VS_CURVE_RESERVED].peak_at; return VS_OK;
    case VS_WHEN_OOM: return first_oom(slice, out, error);
    case VS_WHEN_EVENT:
      *out = when.value;
      if (when.value <= vs_slice_end(slice)) return VS_OK;
      return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET,
                     "there is no event %D: the trace of this device has %u", when.value, slice->event_count);
    case VS_WHEN_AFTER: return at_time(engine, view, when.value, true, out, error);
    case VS_WHEN_TIME: return at_time(engine, view, when.value, false, out, error);
  }
  return VS_OK;
}
