#include "analyze/slice.h"
#include "base/sort.h"

/* The order of slices: devices as unsigned numbers, so that VS_DEVICE_HOST comes last. */
static uint32_t device_order(int32_t device) { return (uint32_t)device; }

static vs_status sort_segments(const vs_host *host, const vs_snapshot *s, vs_slices *out) {
  VS_VEC(vs_sort_pair) pairs = {0};
  VS_TRY(vs_vec_reserve(host, &pairs, s->segments.count));
  for (size_t i = 0; i < s->segments.count; i++)
    pairs.data[pairs.count++] = (vs_sort_pair){device_order(s->segments.data[i].device), (uint32_t)i};
  vs_status status = vs_sort_pairs(host, pairs.data, pairs.count);
  if (status == VS_OK) status = vs_vec_reserve(host, &out->segment_rows, pairs.count);
  if (status == VS_OK)
    for (size_t i = 0; i < pairs.count; i++)
      out->segment_rows.data[out->segment_rows.count++] = pairs.data[i].value;
  vs_vec_free(host, &pairs);
  return status;
}

static int32_t segment_device(const vs_snapshot *s, const vs_slices *out, size_t at) {
  return s->segments.data[out->segment_rows.data[at]].device;
}

/* Merges the traces and the sorted segments, which are both in the order of devices. */
static vs_status list_slices(const vs_host *host, const vs_snapshot *s, vs_slices *out) {
  size_t segment = 0, trace = 0;
  while (true) {
    while (trace < s->traces.count && s->traces.data[trace].count == 0) trace++;
    const bool has_trace = trace < s->traces.count, has_segment = segment < out->segment_rows.count;
    if (!has_trace && !has_segment) return VS_OK;
    int32_t device = has_trace ? s->traces.data[trace].device : segment_device(s, out, segment);
    if (has_segment && device_order(segment_device(s, out, segment)) < device_order(device))
      device = segment_device(s, out, segment);

    VS_TRY(vs_vec_reserve(host, &out->list, 1));
    vs_slice *slice = &out->list.data[out->list.count++];
    *slice = (vs_slice){.snapshot = s, .device = device};
    VS_ASSERT(out->list.count == 1 || device_order(slice[-1].device) < device_order(device));
    if (has_trace && s->traces.data[trace].device == device) {
      slice->first_event = s->traces.data[trace].first;
      slice->event_count = s->traces.data[trace].count;
      trace++;
    }
    const size_t first = segment;
    while (segment < out->segment_rows.count && segment_device(s, out, segment) == device) segment++;
    slice->segments = out->segment_rows.data == NULL ? NULL : out->segment_rows.data + first;
    slice->segment_count = (uint32_t)(segment - first);
    VS_ASSERT(slice->event_count > 0 || slice->segment_count > 0);
  }
}

/* Counts the kinds of events, and appends the others. */
static vs_status look_through(const vs_host *host, vs_slice *slice, vs_slices *out) {
  const vs_columns_of_slice columns = vs_slice_columns(slice);
  for (uint32_t event = 0; event < slice->event_count; event++) {
    const uint32_t action = vs_action_at(columns, event);
    if (action <= VS_EVENT_FREE_COMPLETED) {
      slice->counts[action]++;
      continue;
    }
    slice->counts[action < VS_EVENT_UNKNOWN ? action : VS_EVENT_UNKNOWN]++;
    VS_TRY(vs_vec_reserve(host, &out->others, 1));
    out->others.data[out->others.count++] = event;
    slice->other_count++;
  }
  return VS_OK;
}

static vs_status list_others(const vs_host *host, vs_slices *out) {
  size_t first = 0;
  for (size_t i = 0; i < out->list.count; i++) VS_TRY(look_through(host, &out->list.data[i], out));
  for (size_t i = 0; i < out->list.count; i++) {
    vs_slice *slice = &out->list.data[i];
    slice->others = out->others.data == NULL ? NULL : out->others.data + first;
    first += slice->other_count;
  }
  VS_ASSERT(first == out->others.count);
  return VS_OK;
}

vs_status vs_slices_build(const vs_host *host, const vs_snapshot *snapshot, vs_slices *out) {
  *out = (vs_slices){0};
  vs_status status = sort_segments(host, snapshot, out);
  if (status == VS_OK) status = list_slices(host, snapshot, out);
  if (status == VS_OK) status = list_others(host, out);
  if (status != VS_OK) vs_slices_deinit(host, out);
  return status;
}

void vs_slices_deinit(const vs_host *host, vs_slices *slices) {
  vs_vec_free(host, &slices->list);
  vs_vec_free(host, &slices->others);
  vs_vec_free(host, &slices->segment_rows);
}

const vs_slice *vs_slices_find(const vs_slices *slices, int32_t device) {
  for (size_t i = 0; i < slices->list.count; i++)
    if (slices->list.data[i].device == device) return &slices->list.data[i];
  return NULL;
}

/* ---- moments ------------------------------------------------------------------------------------------- */

vs_moment vs_slice_moment_at(const vs_slice *slice, int64_t time_us) {
  const vs_events *events = &slice->snapshot->events;
  if (events->time_us == NULL) return VS_AT_START;
  for (uint32_t event = slice->event_count; event-- > 0;) {
    const int64_t time = events->time_us[vs_slice_row(slice, event)];
    if (time != VS_NO_TIME && time <= time_us) return event;
  }
  return VS_AT_START;
}

int64_t vs_slice_time(const vs_slice *slice, vs_moment moment) {
  if (moment < 0 || moment > vs_slice_end(slice)) return VS_NO_TIME;
  return vs_events_time_us(&slice->snapshot->events, vs_slice_row(slice, (uint32_t)moment));
}

vs_closing vs_slice_closing(const vs_slice *slice) {
  const bool requested = slice->counts[VS_EVENT_FREE_REQUESTED] != 0,
             completed = slice->counts[VS_EVENT_FREE_COMPLETED] != 0;
  return (vs_closing){.at_request = requested && !completed,
                      .only_completion = completed && !requested,
                      .lacks_segments = (vs_snapshot_lacks(slice->snapshot) & VS_LACKS_SEGMENTS) != 0};
}

/* ---- segments ------------------------------------------------------------------------------------------ */

uint32_t vs_segment_of_block(const vs_snapshot *snapshot, uint32_t block) {
  VS_ASSERT(block < snapshot->blocks.count);
  size_t low = 0, high = snapshot->segments.count; /* segments before low begin at or before the block */
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (snapshot->segments.data[middle].first_block <= block) low = middle + 1;
    else high = middle;
  }
  VS_ASSERT(low > 0);
  return (uint32_t)low - 1;
}

bool vs_pool_before(const vs_snapshot *snapshot, uint32_t a, uint32_t b) {
  if (a == 0 || b == 0) return a < b;
  VS_ASSERT(a <= snapshot->pools.count && b <= snapshot->pools.count);
  const vs_pool_id *x = &snapshot->pools.data[a - 1], *y = &snapshot->pools.data[b - 1];
  return x->a != y->a ? x->a < y->a : x->b < y->b;
}

vs_status vs_segment_index_build(const vs_host *host, const vs_slice *slice, vs_segment_index *out) {
  *out = (vs_segment_index){0};
  VS_VEC(vs_sort_pair) pairs = {0};
  VS_TRY(vs_vec_reserve(host, &pairs, slice->segment_count));
  for (uint32_t i = 0; i < slice->segment_count; i++) {
    const uint32_t row = slice->segments[i];
    pairs.data[pairs.count++] = (vs_sort_pair){slice->snapshot->segments.data[row].address, row};
  }
  vs_status status = vs_sort_pairs(host, pairs.data, pairs.count);
  if (status == VS_OK) status = vs_vec_reserve(host, &out->rows, pairs.count);
  if (status == VS_OK)
    for (size_t i = 0; i < pairs.count; i++) out->rows.data[out->rows.count++] = pairs.data[i].value;
  vs_vec_free(host, &pairs);
  return status;
}

void vs_segment_index_deinit(const vs_host *host, vs_segment_index *index) {
  vs_vec_free(host, &index->rows);
}

uint32_t vs_segment_index_find(const vs_segment_index *index, const vs_snapshot *snapshot, uint64_t address) {
  size_t low = 0, high = index->rows.count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (snapshot->segments.data[index->rows.data[middle]].address <= address) low = middle + 1;
    else high = middle;
  }
  VS_ASSERT(low == 0 || index->rows.data[low - 1] < snapshot->segments.count);
  if (low == 0) return VS_NO_ROW;
  const vs_segment *segment = &snapshot->segments.data[index->rows.data[low - 1]];
  return address - segment->address < segment->total_size ? index->rows.data[low - 1] : VS_NO_ROW;
}
