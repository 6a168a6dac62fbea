#include "analyze/churn.h"

static unsigned power_of(uint64_t value) { return 63 - (unsigned)__builtin_clzll(value | 1); }

/* The sums over all sizes. Nothing is lost where they saturate. */
static void add_up(vs_churn *out) {
  for (size_t power = 0; power < sizeof out->by_size / sizeof *out->by_size; power++) {
    out->count += out->by_size[power];
    out->bytes = vs_sat_add_u64(out->bytes, out->bytes_by_size[power]);
  }
  for (size_t power = 0; power < sizeof out->by_events / sizeof *out->by_events; power++)
    out->ended_count += out->by_events[power];
}

void vs_churn_measure(const vs_lifetimes *lifetimes, vs_churn *out) {
  const vs_slice *slice = lifetimes->slice;
  const int64_t *times = vs_slice_times(slice);
  *out = (vs_churn){0};
  for (size_t i = 0; i < lifetimes->rows.count; i++) {
    const vs_lifetime *row = &lifetimes->rows.data[i];
    if (row->start == VS_NO_EVENT) continue;
    const unsigned power = power_of(row->size);
    out->by_size[power]++;
    out->bytes_by_size[power] = vs_sat_add_u64(out->bytes_by_size[power], row->size);
    if (row->end == VS_NO_EVENT) continue;

    const uint32_t events = row->end - row->start;
    VS_ASSERT(row->end > row->start && row->end < slice->event_count);
    out->ended_bytes = vs_sat_add_u64(out->ended_bytes, row->size);
    out->by_events[power_of(events)]++;
    if (events < VS_SHORT_LIFE) {
      out->short_count++;
      out->short_bytes = vs_sat_add_u64(out->short_bytes, row->size);
    }
    if (times == NULL) continue;
    const int64_t from = times[row->start], to = times[row->end];
    if (from != VS_NO_TIME && to >= from) out->by_us[power_of((uint64_t)to - (uint64_t)from)]++;
  }
  add_up(out);
}
