#include "analyze/churn.h"

static unsigned power_of(uint64_t value) { return value == 0 ? 0 : 63 - (unsigned)__builtin_clzll(value); }

void vs_churn_measure(const vs_lifetimes *lifetimes, vs_churn *out) {
  const vs_slice *slice = lifetimes->slice;
  const int64_t *times = slice->snapshot->events.time_us;
  *out = (vs_churn){0};
  for (size_t i = 0; i < lifetimes->rows.count; i++) {
    const vs_lifetime *row = &lifetimes->rows.data[i];
    if (row->start == VS_NO_EVENT) continue;
    const unsigned power = power_of(row->size);
    out->count++;
    out->bytes = vs_sat_add_u64(out->bytes, row->size);
    out->by_size[power]++;
    out->bytes_by_size[power] = vs_sat_add_u64(out->bytes_by_size[power], row->size);
    if (row->end == VS_NO_EVENT) continue;

    const uint32_t events = row->end - row->start;
    VS_ASSERT(row->end > row->start && row->end < slice->event_count);
    out->ended_count++;
    out->ended_bytes = vs_sat_add_u64(out->ended_bytes, row->size);
    out->by_events[power_of(events)]++;
    if (events < VS_SHORT_LIFE) {
      out->short_count++;
      out->short_bytes = vs_sat_add_u64(out->short_bytes, row->size);
    }
    if (times == NULL) continue;
    const int64_t from = times[vs_slice_row(slice, row->start)], to = times[vs_slice_row(slice, row->end)];
    if (from != VS_NO_TIME && to >= from) out->by_us[power_of((uint64_t)to - (uint64_t)from)]++;
  }
}
