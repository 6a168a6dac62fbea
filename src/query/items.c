#include "query/items.h"
#include "query/reply.h"
#include "query/rows.h"

const char *vs_items_name(vs_drawn drawn) { return drawn == VS_DRAWN_segments ? "segments" : "allocations"; }

vs_status vs_items_init(const vs_host *host, vs_device_cache *device, vs_drawn drawn, vs_items *out) {
  const vs_moment_index *moments;
  *out = (vs_items){.drawn = drawn, .slice = device->slice};
  VS_TRY(vs_cached_moments(host, device, &moments));
  VS_TRY(vs_cached_segments(host, device, &out->segments));
  out->lifetimes = moments->lifetimes;
  out->mappings = &moments->mappings;
  VS_ASSERT(out->lifetimes->slice == device->slice && out->mappings->slice == device->slice);
  out->count =
      (uint32_t)(drawn == VS_DRAWN_segments ? moments->mappings.rows.count : moments->lifetimes->rows.count);
  return VS_OK;
}

vs_status vs_items_want_names(const vs_host *host, vs_device_cache *device, vs_items *items) {
  return items->drawn == VS_DRAWN_segments ? VS_OK : vs_cached_names(host, device, &items->names);
}

uint32_t vs_items_version(const vs_items *items, uint32_t row) {
  VS_ASSERT(row < items->count);
  VS_ASSERT(items->drawn == VS_DRAWN_segments || items->names != NULL);
  if (items->drawn == VS_DRAWN_segments) return items->mappings->rows.data[row].version;
  return items->names->versions.data[row];
}

static vs_item mapping_at(const vs_items *items, uint32_t row) {
  const vs_mapping *mapping = &items->mappings->rows.data[row];
  VS_ASSERT(row < items->mappings->rows.count);
  return (vs_item){
      .address = mapping->address,
      .size = mapping->size,
      .row = row,
      .start = mapping->start,
      .free_requested = VS_NO_EVENT,
      .end = mapping->end,
      .stack = vs_mapping_stack(items->mappings, mapping),
      .stream = mapping->stream,
      .pool = mapping->pool,
      .category = VS_STRING_NONE,
      .metadata = VS_STRING_NONE,
  };
}

vs_item vs_item_at(const vs_items *items, uint32_t row) {
  if (items->drawn == VS_DRAWN_segments) return mapping_at(items, row);
  const vs_lifetime *life = &items->lifetimes->rows.data[row];
  VS_ASSERT(row < items->lifetimes->rows.count);
  const vs_slice *slice = items->slice;
  const uint32_t event = vs_lifetime_event(life);
  return (vs_item){
      .address = life->address,
      .size = life->size,
      .row = row,
      .start = life->start,
      .free_requested = life->free_requested,
      .end = life->end,
      .stack = vs_lifetime_stack(items->lifetimes, life),
      .stream = vs_lifetime_stream(items->lifetimes, life),
      .pool = items->without_pools ? 0 : vs_lifetime_pool(items->lifetimes, items->segments, life),
      .category = event == VS_NO_EVENT
                      ? VS_STRING_NONE
                      : vs_events_category(&slice->snapshot->events, vs_slice_row(slice, event)),
      .metadata = life->start == VS_NO_EVENT
                      ? VS_STRING_NONE
                      : vs_event_metadata(&slice->snapshot->events, vs_slice_row(slice, life->start)),
  };
}

vs_keyed vs_item_keyed(const vs_item *item) {
  return (vs_keyed){.size = item->size,
                    .start = item->start,
                    .end = item->end,
                    .stack = item->stack,
                    .stream = item->stream,
                    .pool = item->pool};
}

bool vs_item_is_live(const vs_item *item, vs_moment moment) {
  return (item->start == VS_NO_EVENT || (vs_moment)item->start <= moment) &&
         (item->end == VS_NO_EVENT || (vs_moment)item->end > moment);
}

uint64_t vs_item_moments(const vs_slice *slice, const vs_item *item) {
  const uint64_t from = item->start == VS_NO_EVENT ? 0 : (uint64_t)item->start + 1;
  const uint64_t until = (item->end == VS_NO_EVENT ? slice->event_count : (uint64_t)item->end) + 1;
  VS_ASSERT(until > from);
  return until - from;
}

/* ---- filters --------------------------------------------------------------------------------------------------- */

static void describe_time(const vs_items *items, const vs_item *item, const vs_named_ranges *ranges,
                          vs_filter_row *row) {
  const vs_slice *slice = items->slice;
  if (item->start == VS_NO_EVENT) return;
  VS_ASSERT(item->start < slice->event_count);
  row->event = item->start;
  row->has |= 1u << VS_FILTER_event;
  const int64_t from = vs_slice_time(slice, item->start);
  const uint32_t range = ranges == NULL ? VS_STRING_NONE : vs_named_ranges_at(ranges, from);
  if (range != VS_STRING_NONE) {
    row->annotation = vs_snapshot_string(slice->snapshot, range);
    row->has |= 1u << VS_FILTER_annotation;
  }
  const int64_t to = item->end == VS_NO_EVENT ? VS_NO_TIME : vs_slice_time(slice, item->end);
  if (from == VS_NO_TIME || to == VS_NO_TIME) return;
  row->lifetime_us = to > from ? (uint64_t)to - (uint64_t)from : 0;
  row->has |= 1u << VS_FILTER_lifetime;
}

vs_filter_row vs_row_of_item(const vs_items *items, const vs_item *item, const vs_named_ranges *ranges) {
  const vs_snapshot *s = items->slice->snapshot;
  vs_filter_row row = {
      .size = item->size,
      .address = item->address,
      .stream = item->stream,
      .pool = item->pool,
      .stack = item->stack,
      .number = item->row,
      .is_segment = items->drawn == VS_DRAWN_segments,
      .item_address = item->address,
      .has = 1u << VS_FILTER_size | 1u << VS_FILTER_address | 1u << VS_FILTER_pool | 1u << VS_FILTER_row,
  };
  if (row.is_segment || items->names != NULL) {
    row.version = vs_items_version(items, item->row);
    row.has |= 1u << VS_FILTER_name;
  }
  if (item->stream < s->streams.count) row.has |= 1u << VS_FILTER_stream;
  if (item->category != VS_STRING_NONE) {
    row.category = vs_snapshot_string(s, item->category);
    row.has |= 1u << VS_FILTER_category;
  }
  if (item->metadata != VS_STRING_NONE) {
    row.metadata = vs_snapshot_string(s, item->metadata);
    row.has |= 1u << VS_FILTER_metadata;
  }
  describe_time(items, item, ranges, &row);
  return row;
}

vs_status vs_ranges_for(vs_call *call, const vs_filter *filter, const vs_named_ranges **out) {
  *out = NULL;
  return vs_filter_asks(filter, VS_FILTER_annotation)
             ? vs_cached_ranges(call->engine->host, call->device, out)
             : VS_OK;
}

typedef struct matching {
  const vs_items *items;
  const vs_filter *filter;
  const vs_named_ranges *ranges;
} matching;

static bool keeps(void *ctx, uint32_t row) {
  const matching *m = ctx;
  const vs_item item = vs_item_at(m->items, row);
  const vs_filter_row described = vs_row_of_item(m->items, &item, m->ranges);
  return vs_filter_keeps(m->filter, m->items->slice->snapshot, &described);
}

vs_status vs_items_bitmap(vs_call *call, const vs_items *items, vs_filter *filter,
                          const vs_filter_bitmap **out) {
  vs_engine *engine = call->engine;
  vs_bitmap_cache *cache = &call->device->item_bitmaps[items->drawn];
  const bool is_segments = items->drawn == VS_DRAWN_segments;
  vs_items asked = *items;
  matching m = {.items = &asked, .filter = filter};
  vs_filter_bitmap built;
  *out = NULL;
  VS_TRY(vs_filter_allow(filter, engine->snapshot, is_segments ? VS_SEGMENT_ITEM_KEYS : VS_ALLOCATION_KEYS,
                         vs_items_name(items->drawn), call->error));
  if (vs_filter_is_empty(filter)) return VS_OK;
  *out = vs_bitmap_cache_find(cache, filter, false);
  VS_ASSERT(*out == NULL || (*out)->size == items->count);
  if (*out != NULL) return VS_OK;
  asked.without_pools = !vs_filter_asks(filter, VS_FILTER_pool);
  if (vs_filter_asks(filter, VS_FILTER_name)) VS_TRY(vs_items_want_names(engine->host, call->device, &asked));
  VS_TRY(vs_ranges_for(call, filter, &m.ranges));
  VS_TRY(vs_filter_prepare(filter, engine->snapshot, &engine->frames));
  VS_TRY(vs_filter_bitmap_build(engine->host, filter, false, items->count, keeps, &m, &built));
  *out = vs_bitmap_cache_put(engine->host, cache, &built);
  return VS_OK;
}

/* ---- replies --------------------------------------------------------------------------------------------------- */

void vs_reply_drawn(const vs_call *call, vs_drawn drawn) {
  vs_jsonw_member_str(call->json, "what", vs_str_from(vs_items_name(drawn)));
}

vs_status vs_reply_item_name(vs_call *call, const vs_items *items, const vs_item *item) {
  vs_items named = *items;
  VS_TRY(vs_items_want_names(call->engine->host, call->device, &named));
  vs_text_format(&call->scratch, "%c%x_%u", items->drawn == VS_DRAWN_segments ? 's' : 'b', item->address,
                 vs_items_version(&named, item->row));
  vs_reply_scratch(call, "name");
  return VS_OK;
}

static int64_t time_of(const vs_items *items, uint32_t event) {
  return event == VS_NO_EVENT ? VS_NO_TIME : vs_slice_time(items->slice, event);
}

vs_status vs_reply_item(vs_call *call, const vs_items *items, const vs_item *item) {
  vs_jsonw_member_u64(call->json, "row", item->row);
  VS_TRY(vs_reply_item_name(call, items, item));
  vs_jsonw_member_u64(call->json, "size_bytes", item->size);
  vs_reply_owner(call, item->stack, item->start == VS_NO_EVENT);
  vs_reply_event(call->json, "start_event", item->start);
  vs_reply_time(call->json, "start_us", time_of(items, item->start));
  vs_reply_event(call->json, "end_event", item->end);
  vs_reply_time(call->json, "end_us", time_of(items, item->end));
  return VS_OK;
}
