#include "analyze/annotations.h"
#include "base/sort.h"

/* An open range and the one of the same name below it. */
typedef struct open_range {
  uint32_t range;
  uint32_t below; /* index into `pile` of the next open one of that name, VS_NO_ROW if none */
  bool is_closed; /* by an END while ranges that began later are still open */
} open_range;

typedef struct pile {
  const vs_host *host;
  vs_named_ranges *out;
  VS_VEC(open_range) open; /* in the order in which they began */
  vs_map latest;           /* name -> index into open of its latest open range */
  uint32_t depth;          /* open ranges that are not closed */
} pile;

/* Maps a signed time to an unsigned number of the same order. VS_NO_TIME is left out before. */
static uint64_t time_key(int64_t time_us) { return (uint64_t)time_us ^ (UINT64_C(1) << 63); }

static vs_status note_innermost(pile *p, int64_t time_us) {
  const uint32_t name =
      p->open.count == 0 ? VS_STRING_NONE : p->out->ranges.data[p->open.data[p->open.count - 1].range].name;
  VS_ASSERT(p->open.count == 0 || !p->open.data[p->open.count - 1].is_closed);
  VS_ASSERT(p->out->changes.count == 0 || p->out->changes.data[p->out->changes.count - 1].from_us <= time_us);
  VS_TRY(vs_vec_reserve(p->host, &p->out->changes, 1));
  p->out->changes.data[p->out->changes.count++] = (vs_range_change){.from_us = time_us, .name = name};
  return VS_OK;
}

static vs_status begin(pile *p, const vs_annotation *at) {
  VS_TRY(vs_vec_reserve(p->host, &p->out->ranges, 1));
  VS_TRY(vs_vec_reserve(p->host, &p->open, 1));
  VS_TRY(vs_map_reserve(p->host, &p->latest));
  open_range *open = &p->open.data[p->open.count];
  *open = (open_range){.range = (uint32_t)p->out->ranges.count, .below = VS_NO_ROW};
  const size_t slot = vs_map_find(&p->latest, at->name);
  if (slot == VS_MAP_NONE) {
    vs_map_add(&p->latest, at->name, (uint32_t)p->open.count);
  } else {
    open->below = p->latest.slots[slot].value;
    p->latest.slots[slot].value = (uint32_t)p->open.count;
  }
  p->open.count++;
  p->out->ranges.data[p->out->ranges.count++] =
      (vs_named_range){.from_us = at->time_us, .to_us = INT64_MAX, .name = at->name, .depth = p->depth++};
  return note_innermost(p, at->time_us);
}

static vs_status end(pile *p, const vs_annotation *at) {
  const size_t slot = vs_map_find(&p->latest, at->name);
  if (slot == VS_MAP_NONE) return VS_OK;
  open_range *open = &p->open.data[p->latest.slots[slot].value];
  VS_ASSERT(p->latest.slots[slot].value < p->open.count && !open->is_closed && p->depth > 0);
  p->out->ranges.data[open->range].to_us = at->time_us;
  open->is_closed = true;
  p->depth--;
  if (open->below == VS_NO_ROW) vs_map_remove(&p->latest, slot);
  else p->latest.slots[slot].value = open->below;
  while (p->open.count > 0 && p->open.data[p->open.count - 1].is_closed) p->open.count--;
  return note_innermost(p, at->time_us);
}

static vs_status walk(pile *p, const vs_slice *slice) {
  const vs_snapshot *s = slice->snapshot;
  const uint32_t start = vs_strings_find(&s->strings, (vs_str){"START", 5});
  const uint32_t stop = vs_strings_find(&s->strings, (vs_str){"END", 3});
  VS_VEC(vs_sort_pair) order = {0};
  VS_TRY(vs_vec_reserve(p->host, &order, s->annotations.count));
  for (size_t i = 0; i < s->annotations.count; i++) {
    const vs_annotation *at = &s->annotations.data[i];
    if (at->time_us == VS_NO_TIME) continue;
    if (slice->device != VS_DEVICE_HOST && at->device != slice->device) continue;
    order.data[order.count++] = (vs_sort_pair){time_key(at->time_us), (uint32_t)i};
  }
  vs_status status = vs_sort_pairs(p->host, order.data, order.count);
  for (size_t i = 0; i < order.count && status == VS_OK; i++) {
    const vs_annotation *at = &s->annotations.data[order.data[i].value];
    if (at->stage == VS_STRING_NONE) continue;
    if (at->stage == start) status = begin(p, at);
    else if (at->stage == stop) status = end(p, at);
  }
  vs_vec_free(p->host, &order);
  return status;
}

vs_status vs_named_ranges_build(const vs_host *host, const vs_slice *slice, vs_named_ranges *out) {
  *out = (vs_named_ranges){0};
  pile p = {.host = host, .out = out};
  const vs_status status = walk(&p, slice);
  vs_vec_free(host, &p.open);
  vs_map_deinit(host, &p.latest);
  if (status != VS_OK) vs_named_ranges_deinit(host, out);
  return status;
}

void vs_named_ranges_deinit(const vs_host *host, vs_named_ranges *ranges) {
  vs_vec_free(host, &ranges->ranges);
  vs_vec_free(host, &ranges->changes);
}

uint32_t vs_named_ranges_at(const vs_named_ranges *ranges, int64_t time_us) {
  if (time_us == VS_NO_TIME) return VS_STRING_NONE;
  size_t low = 0, high = ranges->changes.count; /* changes before low are at or before time_us */
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (ranges->changes.data[middle].from_us <= time_us) low = middle + 1;
    else high = middle;
  }
  return low == 0 ? VS_STRING_NONE : ranges->changes.data[low - 1].name;
}
