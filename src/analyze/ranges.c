#include "analyze/ranges.h"

void vs_ranges_deinit(const vs_host *host, vs_ranges *ranges) {
  vs_ordmap_deinit(host, &ranges->by_start);
  vs_vec_free(host, &ranges->list);
}

static vs_range at(const vs_ranges *ranges, vs_ordmap_pos pos) {
  VS_ASSERT(vs_ordmap_value(&ranges->by_start, pos) < ranges->list.count);
  return ranges->list.data[vs_ordmap_value(&ranges->by_start, pos)];
}

/* The first range whose end is at or behind `address`. */
static bool first_reaching(const vs_ranges *ranges, uint64_t address, vs_ordmap_pos *pos) {
  if (vs_ordmap_floor(&ranges->by_start, address, pos) && at(ranges, *pos).end >= address) return true;
  *pos = vs_ordmap_lower(&ranges->by_start, address);
  return !vs_ordmap_at_end(&ranges->by_start, *pos);
}

static vs_status put(const vs_host *host, vs_ranges *ranges, vs_range range) {
  VS_ASSERT(range.start < range.end);
  VS_TRY(vs_vec_reserve(host, &ranges->list, 1));
  VS_TRY(vs_ordmap_put(host, &ranges->by_start, range.start, (uint32_t)ranges->list.count));
  ranges->list.data[ranges->list.count++] = range;
  return VS_OK;
}

vs_status vs_ranges_add(const vs_host *host, vs_ranges *ranges, uint64_t start, uint64_t end) {
  if (start >= end) return VS_OK;
  vs_range all = {start, end};
  vs_ordmap_pos pos;
  while (first_reaching(ranges, start, &pos) && at(ranges, pos).start <= end) {
    const vs_range other = at(ranges, pos);
    all.start = vs_min_u64(all.start, other.start);
    all.end = vs_max_u64(all.end, other.end);
    vs_ordmap_remove(host, &ranges->by_start, pos);
  }
  return put(host, ranges, all);
}

vs_status vs_ranges_cut(const vs_host *host, vs_ranges *ranges, uint64_t start, uint64_t end) {
  if (start >= end) return VS_OK;
  vs_ordmap_pos pos;
  while (first_reaching(ranges, start + 1, &pos) && at(ranges, pos).start < end) {
    const vs_range other = at(ranges, pos);
    vs_ordmap_remove(host, &ranges->by_start, pos);
    if (other.start < start) VS_TRY(put(host, ranges, (vs_range){other.start, start}));
    if (other.end > end) VS_TRY(put(host, ranges, (vs_range){end, other.end}));
  }
  return VS_OK;
}

bool vs_ranges_cover(const vs_ranges *ranges, uint64_t start, uint64_t end, vs_range *in) {
  vs_ordmap_pos pos;
  VS_ASSERT(start <= end);
  if (!vs_ordmap_floor(&ranges->by_start, start, &pos)) return false;
  vs_range range = at(ranges, pos);
  if (range.end < end) return false;
  if (in != NULL) *in = range;
  return true;
}

bool vs_ranges_meet(const vs_ranges *ranges, uint64_t start, uint64_t end) {
  vs_ordmap_pos pos;
  if (start == UINT64_MAX || !first_reaching(ranges, start + 1, &pos)) return false;
  return at(ranges, pos).start < end;
}
