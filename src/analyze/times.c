#include "analyze/times.h"

static int64_t time_of(const vs_slice *slice, uint32_t event) {
  return vs_events_time_us(&slice->snapshot->events, vs_slice_row(slice, event));
}

/* The latest of `now` and the times of the events first .. end - 1; VS_NO_TIME is before every time. */
static inline int64_t latest(const int64_t *times, uint32_t first, uint32_t end, int64_t now) {
  for (uint32_t event = first; event < end; event++) now = times[event] > now ? times[event] : now;
  return now;
}

vs_status vs_times_build(const vs_host *host, const vs_slice *slice, vs_times *out) {
  *out = (vs_times){.slice = slice, .first_us = VS_NO_TIME};
  VS_TRY(vs_vec_reserve(host, &out->block_us, slice->event_count / VS_TIMES_BLOCK + 1));
  for (uint32_t event = 0; event < slice->event_count && out->first_us == VS_NO_TIME; event++)
    out->first_us = time_of(slice, event);
  int64_t now = out->first_us;
  const int64_t *times = vs_slice_times(slice);
  for (uint32_t first = 0, end; first < slice->event_count; first = end) {
    end = slice->event_count - first > VS_TIMES_BLOCK ? first + VS_TIMES_BLOCK : slice->event_count;
    out->block_us.data[out->block_us.count++] = times == NULL ? now : latest(times, first, first + 1, now);
    if (times != NULL) now = latest(times, first, end, now);
  }
  out->last_us = now;
  VS_ASSERT(out->first_us <= out->last_us);
  return VS_OK;
}

void vs_times_deinit(const vs_host *host, vs_times *times) { vs_vec_free(host, &times->block_us); }

int64_t vs_times_at(const vs_times *times, vs_moment moment) {
  if (moment < 0 || times->slice->event_count == 0) return times->first_us;
  const vs_moment end = vs_slice_end(times->slice);
  const uint32_t until = (uint32_t)(moment < end ? moment : end), block = until / VS_TIMES_BLOCK;
  VS_ASSERT(block < times->block_us.count);
  int64_t now = times->block_us.data[block];
  for (uint32_t event = block * VS_TIMES_BLOCK + 1; event <= until; event++) {
    const int64_t time = time_of(times->slice, event);
    if (time > now) now = time;
  }
  return now;
}

vs_moment vs_times_first(const vs_times *times, int64_t time_us) {
  const vs_slice *slice = times->slice;
  if (time_us <= times->first_us) return VS_AT_START;
  if (time_us > times->last_us) return slice->event_count;
  size_t low = 0, high = times->block_us.count; /* blocks before low begin too early */
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (times->block_us.data[middle] < time_us) low = middle + 1;
    else high = middle;
  }
  if (low == 0) return 0;
  uint32_t event = (uint32_t)(low - 1) * VS_TIMES_BLOCK + 1;
  VS_ASSERT(times->block_us.data[low - 1] < time_us);
  while (event < slice->event_count && time_of(slice, event) < time_us) event++;
  return event;
}
