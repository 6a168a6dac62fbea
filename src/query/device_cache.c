#include "query/device_cache.h"

vs_device_cache *vs_find_device(const vs_device_caches *devices, int32_t device) {
  for (size_t i = 0; i < devices->count; i++)
    if (devices->data[i].slice->device == device) return &devices->data[i];
  return NULL;
}

/* ---- the default device ---------------------------------------------------------------------------------------- */

static vs_failures find_failures(const vs_slice *slice) {
  vs_failures found = {.first = VS_NO_EVENT, .time_us = VS_NO_TIME};
  found.count = slice->counts[VS_EVENT_OOM];
  for (uint32_t i = 0; i < slice->other_count && found.count != 0 && found.first == VS_NO_EVENT; i++)
    if (vs_events_kind(&slice->snapshot->events, vs_slice_row(slice, slice->others[i])) == VS_EVENT_OOM)
      found.first = slice->others[i];
  if (found.count != 0) found.time_us = vs_slice_time(slice, found.first);
  return found;
}

const vs_failures *vs_cached_failures(vs_device_cache *device) {
  if (!device->has_failures) device->failures = find_failures(device->slice);
  device->has_failures = true;
  return &device->failures;
}

static bool is_earlier(int64_t time_us, int64_t than) {
  return time_us != VS_NO_TIME && (than == VS_NO_TIME || time_us < than);
}

/* Whether `device` is the default rather than `best`, which has the lower number. */
static bool comes_first(vs_device_cache *device, vs_device_cache *best) {
  const vs_failures *failures = vs_cached_failures(device), *of_best = vs_cached_failures(best);
  if (failures->count != 0 && of_best->count != 0) return is_earlier(failures->time_us, of_best->time_us);
  if (failures->count != 0 || of_best->count != 0) return failures->count != 0;
  return vs_cached_curves(device)->curve[VS_CURVE_RESERVED].peak >
         vs_cached_curves(best)->curve[VS_CURVE_RESERVED].peak;
}

vs_device_cache *vs_default_device(const vs_device_caches *devices) {
  vs_device_cache *best = NULL;
  for (size_t i = 0; i < devices->count; i++) {
    vs_device_cache *device = &devices->data[i];
    VS_ASSERT(best == NULL || best->slice->device < device->slice->device || i + 1 == devices->count);
    if (device->slice->device != VS_DEVICE_HOST && (best == NULL || comes_first(device, best))) best = device;
  }
  return best != NULL ? best : vs_find_device(devices, VS_DEVICE_HOST);
}

/* ---- cached tables --------------------------------------------------------------------------------------------- */

const vs_curves *vs_cached_curves(vs_device_cache *device) {
  if (!device->has_curves) vs_curves_measure(device->slice, &device->curves);
  device->has_curves = true;
  return &device->curves;
}

vs_status vs_cached_times(const vs_host *host, vs_device_cache *device, const vs_times **out) {
  if (!device->has_times) VS_TRY(vs_times_build(host, device->slice, &device->times));
  device->has_times = true;
  *out = &device->times;
  return VS_OK;
}

vs_status vs_cached_lifetimes(const vs_host *host, vs_device_cache *device, const vs_lifetimes **out) {
  if (!device->has_lifetimes) VS_TRY(vs_lifetimes_build(host, device->slice, &device->lifetimes));
  device->has_lifetimes = true;
  *out = &device->lifetimes;
  return VS_OK;
}

vs_status vs_cached_names(const vs_host *host, vs_device_cache *device, const vs_block_names **out) {
  const vs_lifetimes *lifetimes;
  VS_TRY(vs_cached_lifetimes(host, device, &lifetimes));
  if (!device->has_names) VS_TRY(vs_block_names_build(host, lifetimes, &device->names));
  device->has_names = true;
  VS_ASSERT(device->names.versions.count == lifetimes->rows.count);
  *out = &device->names;
  return VS_OK;
}

vs_status vs_cached_segments(const vs_host *host, vs_device_cache *device, const vs_segment_index **out) {
  if (!device->has_segments) VS_TRY(vs_segment_index_build(host, device->slice, &device->segments));
  device->has_segments = true;
  *out = &device->segments;
  return VS_OK;
}

vs_status vs_cached_ranges(const vs_host *host, vs_device_cache *device, const vs_named_ranges **out) {
  if (!device->has_ranges) VS_TRY(vs_named_ranges_build(host, device->slice, &device->ranges));
  device->has_ranges = true;
  *out = &device->ranges;
  return VS_OK;
}

vs_status vs_cached_curve_indexes(const vs_host *host, vs_device_cache *device, const vs_curve_index **out) {
  const vs_curves *curves = vs_cached_curves(device);
  if (!device->has_curve_indexes)
    VS_TRY(vs_curve_index_of_curves(host, device->slice, curves, device->curve_indexes));
  device->has_curve_indexes = true;
  *out = device->curve_indexes;
  return VS_OK;
}

/* The sort is stable, so rows that end with one event stay in their order. */
static vs_status list_mapping_ends(const vs_host *host, vs_device_cache *device) {
  const vs_mappings *mappings = &device->moments.mappings;
  device->mapping_ends.count = 0;
  VS_TRY(vs_vec_reserve(host, &device->mapping_ends, mappings->rows.count));
  for (size_t i = 0; i < mappings->rows.count; i++)
    if (mappings->rows.data[i].end != VS_NO_EVENT)
      device->mapping_ends.data[device->mapping_ends.count++] =
          (vs_sort_pair){.key = mappings->rows.data[i].end, .value = (uint32_t)i};
  return vs_sort_pairs(host, device->mapping_ends.data, device->mapping_ends.count);
}

/* The index without its spans, unless they are already there. */
static vs_status begin_moments(const vs_host *host, vs_device_cache *device) {
  const vs_lifetimes *lifetimes;
  VS_TRY(vs_cached_lifetimes(host, device, &lifetimes));
  if (device->has_moment_index) return VS_OK;
  VS_TRY(vs_moment_index_begin(host, lifetimes, &device->moments));
  const vs_status status = list_mapping_ends(host, device);
  if (status != VS_OK) vs_moment_index_deinit(host, &device->moments);
  device->has_moment_index = status == VS_OK;
  return status;
}

vs_status vs_cached_moments(const vs_host *host, vs_device_cache *device, const vs_moment_index **out) {
  VS_TRY(begin_moments(host, device));
  VS_TRY(vs_moment_index_add_spans(host, &device->moments));
  VS_ASSERT(device->has_lifetimes && device->moments.lifetimes == &device->lifetimes);
  *out = &device->moments;
  return VS_OK;
}

uint32_t vs_mapping_of_event(const vs_device_cache *device, uint32_t event) {
  VS_ASSERT(device->has_moment_index && event < device->slice->event_count);
  const vs_mappings *mappings = &device->moments.mappings;
  size_t low = 0, high = mappings->rows.count;
  while (low < high) { /* rows without a start come first */
    const size_t middle = low + (high - low) / 2;
    const uint32_t start = mappings->rows.data[middle].start;
    if (start == VS_NO_EVENT || start < event) low = middle + 1;
    else high = middle;
  }
  if (low < mappings->rows.count && mappings->rows.data[low].start == event) return (uint32_t)low;
  low = 0;
  high = device->mapping_ends.count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (device->mapping_ends.data[middle].key < event) low = middle + 1;
    else high = middle;
  }
  const bool ends = low < device->mapping_ends.count && device->mapping_ends.data[low].key == event;
  return ends ? device->mapping_ends.data[low].value : VS_NO_ROW;
}

vs_status vs_cached_report(const vs_host *host, vs_device_cache *device, vs_report **out) {
  if (!device->has_report) {
    VS_TRY(begin_moments(host, device));
    VS_TRY(vs_report_build_with(host, &device->moments, vs_cached_curves(device), &device->report));
  }
  device->has_report = true;
  VS_ASSERT(device->report.lifetimes == &device->lifetimes && device->report.slice == device->slice);
  *out = &device->report;
  return VS_OK;
}

void vs_span_cache_deinit(const vs_host *host, vs_span_cache *cached) {
  if (cached->has_curve_index) vs_curve_index_deinit(host, &cached->curve);
  if (cached->has_spans && cached->spans == &cached->own) vs_spans_deinit(host, &cached->own);
  vs_vec_free(host, &cached->filter);
  *cached = (vs_span_cache){0};
}

/* ---- moments --------------------------------------------------------------------------------------------------- */

static vs_status not_there(vs_error *error, const char *why) {
  return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET, "%s", why);
}

static vs_status first_oom(vs_device_cache *device, vs_moment *out, vs_error *error) {
  const vs_failures *failures = vs_cached_failures(device);
  *out = failures->first;
  if (failures->count != 0) return VS_OK;
  *out = VS_AT_START;
  vs_device_cache *other = device->siblings == NULL ? NULL : vs_default_device(device->siblings);
  if (other == NULL || vs_cached_failures(other)->count == 0)
    return not_there(error, "this trace has no out-of-memory error");
  if (device->slice->device == VS_DEVICE_HOST)
    return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET,
                   "pinned host memory has no out-of-memory error; GPU %D has one",
                   (int64_t)other->slice->device);
  return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET, "GPU %D has no out-of-memory error; GPU %D has one",
                 (int64_t)device->slice->device, (int64_t)other->slice->device);
}

static vs_status at_time(const vs_host *host, vs_device_cache *device, int64_t time_us, bool is_relative,
                         vs_moment *out, vs_error *error) {
  const vs_times *times;
  VS_TRY(vs_cached_times(host, device, &times));
  if (times->first_us == VS_NO_TIME) return not_there(error, "this trace has no times");
  *out = vs_slice_moment_at(device->slice, is_relative ? vs_sat_add_i64(times->first_us, time_us) : time_us);
  return VS_OK;
}

/* "there is no step 5: 3 were found in this trace". */
static vs_status no_such_step(vs_error *error, uint64_t step, uint64_t count) {
  return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET, "there is no step %U: %U were found in this trace", step,
                 count);
}

vs_status vs_find_steps(const vs_host *host, vs_device_cache *device, vs_when when, vs_moment *first,
                        vs_moment *last, vs_error *error) {
  vs_report *r;
  VS_ASSERT(when.kind == VS_WHEN_STEPS && when.first <= when.last);
  VS_TRY(vs_cached_report(host, device, &r));
  const uint32_t *boundaries = r->steps.boundaries.data;
  const uint64_t count = r->steps.boundaries.count == 0 ? 0 : r->steps.boundaries.count - 1;
  const bool is_open = when.last == UINT64_MAX; /* then what follows the last step is part of it */
  if (count == 0) return not_there(error, "no steps of a training loop were found in this trace");
  if (!is_open && when.last > count) return no_such_step(error, when.last, count);
  if (when.first > count + is_open) return no_such_step(error, when.first, count);
  *first = when.first == 0 ? VS_AT_START : (vs_moment)boundaries[when.first - 1];
  *last = is_open ? vs_slice_end(device->slice) : (vs_moment)boundaries[when.last] - 1;
  VS_ASSERT(*first <= *last);
  return VS_OK;
}

/* The first moment within the steps with the highest requested bytes. */
static vs_status at_steps(const vs_host *host, vs_device_cache *device, vs_when when, vs_moment *out,
                          vs_error *error) {
  vs_moment first, last;
  VS_TRY(vs_find_steps(host, device, when, &first, &last, error));
  *out = vs_curves_peaks_between(device->slice, vs_cached_curves(device), first, last).at[VS_CURVE_REQUESTED];
  return VS_OK;
}

static vs_status find_moment(const vs_host *host, vs_device_cache *device, vs_when when, vs_moment *out,
                             vs_error *error) {
  const vs_slice *slice = device->slice;
  *out = VS_AT_START;
  switch (when.kind) {
    case VS_WHEN_NONE:
    case VS_WHEN_START: return VS_OK;
    case VS_WHEN_END: *out = vs_slice_end(slice); return VS_OK;
    case VS_WHEN_PEAK: *out = vs_cached_curves(device)->curve[VS_CURVE_REQUESTED].peak_at; return VS_OK;
    case VS_WHEN_PEAK_RESERVED:
      *out = vs_cached_curves(device)->curve[VS_CURVE_RESERVED].peak_at;
      return VS_OK;
    case VS_WHEN_OOM: return first_oom(device, out, error);
    case VS_WHEN_EVENT:
      *out = when.value;
      if (when.value <= vs_slice_end(slice)) return VS_OK;
      return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET,
                     "there is no event %D: the trace of this device has %u", when.value, slice->event_count);
    case VS_WHEN_STEPS: return at_steps(host, device, when, out, error);
    case VS_WHEN_AFTER: return at_time(host, device, when.value, true, out, error);
    case VS_WHEN_TIME: return at_time(host, device, when.value, false, out, error);
  }
  return VS_OK;
}

vs_status vs_find_moment(const vs_host *host, vs_device_cache *device, vs_when when, vs_moment *out,
                         vs_error *error) {
  const vs_status status = find_moment(host, device, when, out, error);
  VS_ASSERT(status != VS_OK || (*out >= VS_AT_START && *out <= vs_slice_end(device->slice)));
  return status;
}

/* ---- the invariant --------------------------------------------------------------------------------------------- */

static const char *check_flags(const vs_device_cache *device) {
  if (device->has_report && !device->has_lifetimes) return "a report without lifetimes";
  if (device->has_names && !device->has_lifetimes) return "names without lifetimes";
  if (device->has_moment_index && !device->has_lifetimes) return "a moment index without lifetimes";
  if (device->has_report && device->report.lifetimes != &device->lifetimes)
    return "a report of other lifetimes";
  if (device->has_moment_index && device->moments.lifetimes != &device->lifetimes)
    return "a moment index of other lifetimes";
  if (device->has_curve_indexes && !device->has_curves) return "curve indexes without curves";
  if (device->replays.has_plan && !device->has_lifetimes) return "a plan without lifetimes";
  if (device->replays.has_plan && device->replays.plan.lifetimes != &device->lifetimes)
    return "a plan of other lifetimes";
  if (device->replays.has_check && !device->replays.has_plan) return "a replay without a plan";
  if (device->replays.has_course && !device->replays.has_check)
    return "a replay under settings whose rules are unknown";
  if (device->replays.search != NULL && !device->replays.has_check) return "a search without a replay";
  if (device->has_failures && (device->failures.count == 0) != (device->failures.first == VS_NO_EVENT))
    return "a first failure without failures, or none with some";
  return NULL;
}

static const char *check_span_cache(const vs_device_cache *device, const vs_span_cache *cached) {
  if (cached->has_curve_index && !cached->has_spans) return "a curve index without spans";
  if (!cached->has_spans) return NULL;
  const bool is_borrowed = cached->spans == &device->moments.spans;
  if (!is_borrowed && cached->spans != &cached->own) return "spans of somewhere else";
  if (is_borrowed && !device->has_moment_index) return "spans without a moment index";
  if (cached->has_curve_index && cached->curve.spans != cached->spans) return "a curve index of other spans";
  const char *broken = is_borrowed ? NULL : vs_spans_check(&cached->own);
  return broken == NULL && cached->has_curve_index ? vs_curve_index_check(&cached->curve) : broken;
}

static const char *check_tables(const vs_device_cache *device) {
  const char *broken = device->has_lifetimes ? vs_lifetimes_check(&device->lifetimes) : NULL;
  if (broken == NULL && device->has_moment_index) broken = vs_mappings_check(&device->moments.mappings);
  if (broken == NULL && device->has_moment_index && device->moments.has_spans)
    broken = vs_spans_check(&device->moments.spans);
  for (size_t i = 0; i < VS_CURVE_KINDS && device->has_curve_indexes && broken == NULL; i++)
    broken = vs_curve_index_check(&device->curve_indexes[i]);
  if (broken == NULL && device->replays.has_plan) broken = vs_replay_plan_check(&device->replays.plan);
  if (broken == NULL && device->replays.has_course) broken = vs_replay_trail_check(&device->replays.course);
  return broken;
}

const char *vs_device_cache_check(const vs_device_cache *device) {
  const char *broken = check_flags(device);
  if (broken == NULL) broken = check_tables(device);
  for (size_t i = 0; i < VS_DRAWN_KINDS && broken == NULL; i++) {
    if (device->unfiltered[i].filter.count != 0) return "all rows under a filter";
    broken = check_span_cache(device, &device->unfiltered[i]);
    if (broken == NULL) broken = check_span_cache(device, &device->filtered[i]);
  }
  return broken;
}
