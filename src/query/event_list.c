#include "query/event_list.h"
#include "query/rows.h"

bool vs_is_folded(const vs_slice *slice, uint32_t event) {
  const vs_events *events = &slice->snapshot->events;
  if (event == 0) return false;
  const uint32_t row = vs_slice_row(slice, event);
  return vs_events_kind(events, row) == VS_EVENT_FREE_COMPLETED &&
         vs_events_kind(events, row - 1) == VS_EVENT_FREE_REQUESTED &&
         vs_events_address(events, row) == vs_events_address(events, row - 1);
}

typedef struct matching {
  const vs_slice *slice;
  const vs_device_cache *device;
  const vs_filter *filter;
  bool is_folded, has_names;
  vs_items allocations, segments; /* set if has_names */
} matching;

bool vs_is_of_segment(vs_event_kind kind) {
  return kind >= VS_EVENT_SEGMENT_ALLOC && kind <= VS_EVENT_SEGMENT_UNMAP;
}

uint32_t vs_row_of_event_item(const vs_device_cache *device, uint32_t event) {
  VS_ASSERT(device->has_moment_index);
  const vs_slice *slice = device->slice;
  return vs_is_of_segment(vs_events_kind(&slice->snapshot->events, vs_slice_row(slice, event)))
             ? vs_mapping_of_event(device, event)
             : device->lifetimes.row_of_event.data[event];
}

/* Adds the name of the allocation or the segment that an event is about, for the filter. */
static void add_name(const matching *m, uint32_t event, vs_filter_row *row) {
  const vs_slice *slice = m->slice;
  const uint32_t item = vs_row_of_event_item(m->device, event);
  if (item == VS_NO_ROW) return;
  row->is_segment = vs_is_of_segment(vs_events_kind(&slice->snapshot->events, vs_slice_row(slice, event)));
  const vs_items *items = row->is_segment ? &m->segments : &m->allocations;
  row->item_address = vs_item_at(items, item).address;
  row->version = vs_items_version(items, item);
  row->has |= 1u << VS_FILTER_name;
}

static bool keeps(void *ctx, uint32_t event) {
  const matching *m = ctx;
  if (m->is_folded && vs_is_folded(m->slice, event)) return false;
  if (vs_filter_is_empty(m->filter)) return true;
  vs_filter_row row = vs_row_of_event(m->slice, event);
  if (m->has_names) add_name(m, event, &row);
  return vs_filter_keeps(m->filter, m->slice->snapshot, &row);
}

static vs_status want_names(vs_call *call, matching *m) {
  if (!vs_filter_asks(m->filter, VS_FILTER_name)) return VS_OK;
  VS_TRY(vs_items_init(call->engine->host, call->device, VS_DRAWN_allocations, &m->allocations));
  VS_TRY(vs_items_init(call->engine->host, call->device, VS_DRAWN_segments, &m->segments));
  VS_TRY(vs_items_want_names(call->engine->host, call->device, &m->allocations));
  m->has_names = true;
  return VS_OK;
}

vs_status vs_event_list_bitmap(vs_call *call, const vs_filter_bitmap **out) {
  const vs_slice *slice = call->device->slice;
  vs_engine *engine = call->engine;
  vs_filter *filter = &call->request->filter;
  const bool is_folded = call->request->folded;
  matching m = {.slice = slice, .device = call->device, .filter = filter, .is_folded = is_folded};
  vs_filter_bitmap built;
  *out = NULL;
  VS_TRY(
      vs_filter_allow(filter, engine->snapshot, VS_EVENT_KEYS | 1u << VS_FILTER_name, "events", call->error));
  if (vs_filter_is_empty(filter) && !is_folded) return VS_OK;
  *out = vs_bitmap_cache_find(&call->device->event_bitmaps, filter, is_folded);
  if (*out != NULL) return VS_OK;
  VS_TRY(want_names(call, &m));
  VS_TRY(vs_filter_prepare(filter, engine->snapshot, &engine->frames));
  VS_TRY(vs_filter_bitmap_build(engine->host, filter, is_folded, slice->event_count, keeps, &m, &built));
  *out = vs_bitmap_cache_put(engine->host, &call->device->event_bitmaps, &built);
  return VS_OK;
}

uint32_t vs_event_list_count(const vs_slice *slice, const vs_filter_bitmap *bitmap) {
  VS_ASSERT(bitmap == NULL || bitmap->size == slice->event_count);
  return bitmap == NULL ? slice->event_count : bitmap->kept;
}

uint32_t vs_event_list_before(const vs_slice *slice, const vs_filter_bitmap *bitmap, uint32_t event) {
  if (event > slice->event_count) event = slice->event_count;
  VS_ASSERT(bitmap == NULL || bitmap->size == slice->event_count);
  return bitmap == NULL ? event : vs_filter_bitmap_before(bitmap, event);
}

uint32_t vs_event_list_nth(const vs_slice *slice, const vs_filter_bitmap *bitmap, uint32_t n) {
  if (n >= vs_event_list_count(slice, bitmap)) return VS_NO_MATCH;
  return bitmap == NULL ? n : vs_filter_bitmap_nth(bitmap, n);
}
