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
  if (view->has_report) return &view->report.curves;
  if (!view->has_curves) vs_curves_measure(view->slice, &view->curves);
  view->has_curves = true;
  return &view->curves;
}

bool vs_view_times(vs_view *view, int64_t *first_us, int64_t *last_us) {
  if (!view->has_looked_for_times && !vs_slice_times(view->slice, &view->first_us, &view->last_us))
    view->first_us = view->last_us = VS_NO_TIME;
  view->has_looked_for_times = true;
  *first_us = view->first_us;
  *last_us = view->last_us;
  return view->first_us != VS_NO_TIME;
}

vs_status vs_view_lifetimes(vs_engine *engine, vs_view *view, const vs_lifetimes **out) {
  if (!view->has_report && !view->has_lifetimes) {
    VS_TRY(vs_lifetimes_build(engine->host, view->slice, &view->lifetimes));
    view->has_lifetimes = true;
  }
  *out = view->has_report ? &view->report.lifetimes : &view->lifetimes;
  return VS_OK;
}

vs_status vs_view_columns(vs_engine *engine, vs_view *view, const vs_curve_columns **out) {
  if (!view->has_columns) {
    VS_TRY(vs_curve_columns_build(engine->host, view->slice, vs_view_curves(view), &view->columns));
    view->has_columns = true;
  }
  *out = &view->columns;
  return VS_OK;
}

vs_status vs_view_report(vs_engine *engine, vs_view *view, vs_report **out) {
  if (!view->has_report) {
    if (view->has_lifetimes) vs_lifetimes_deinit(engine->host, &view->lifetimes);
    view->has_lifetimes = false;
    VS_TRY(vs_report_build(engine->host, view->slice, &view->report));
    view->has_report = true;
  }
  *out = &view->report;
  return VS_OK;
}

void vs_view_deinit(vs_engine *engine, vs_view *view) {
  if (view->has_lifetimes) vs_lifetimes_deinit(engine->host, &view->lifetimes);
  if (view->has_columns) vs_curve_columns_deinit(engine->host, &view->columns);
  if (view->has_report) vs_report_deinit(engine->host, &view->report);
}

/* ---- moments --------------------------------------------------------------------------------------------------- */

static vs_status not_there(vs_error *error, const char *why) {
  return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET, "there is no such moment: %s", why);
}

static vs_status first_oom(const vs_slice *slice, vs_moment *out, vs_error *error) {
  for (uint32_t event = 0; event < slice->event_count; event++)
    if (vs_events_kind(&slice->snapshot->events, vs_slice_row(slice, event)) == VS_EVENT_OOM) {
      *out = event;
      return VS_OK;
    }
  return not_there(error, "no request failed in this trace");
}

static vs_status at_time(vs_view *view, int64_t time_us, bool is_relative, vs_moment *out, vs_error *error) {
  int64_t first, last;
  if (!vs_view_times(view, &first, &last)) return not_there(error, "this trace has no times");
  *out = vs_slice_moment_at(view->slice, is_relative ? vs_sat_add_i64(first, time_us) : time_us);
  return VS_OK;
}

vs_status vs_view_moment(vs_view *view, vs_when when, vs_moment *out, vs_error *error) {
  const vs_slice *slice = view->slice;
  *out = VS_AT_START;
  switch (when.kind) {
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
    case VS_WHEN_AFTER: return at_time(view, when.value, true, out, error);
    case VS_WHEN_TIME: return at_time(view, when.value, false, out, error);
  }
  return VS_OK;
}
