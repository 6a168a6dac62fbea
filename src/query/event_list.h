/* The events of a device that a request is about: those that its filter keeps, folded or not. */
#ifndef VS_QUERY_EVENT_LIST_H
#define VS_QUERY_EVENT_LIST_H

#include "query/items.h"

/* Of call->request: "filter" and "folded". *out is borrowed until other ones are asked for; NULL: all events. */
VS_MUST_CHECK vs_status vs_event_list_bitmap(vs_call *call, const vs_filter_bitmap **out);

/* Whether an event is a free_completed right behind the free_requested of the same address: what PyTorch's page shows as
 * one. */
bool vs_is_folded(const vs_slice *slice, uint32_t event);

bool vs_is_of_segment(vs_event_kind kind);
/* The row of the allocation, or of the segment, that an event is about; VS_NO_ROW. There has to be a past. */
uint32_t vs_row_of_event_item(const vs_device_cache *device, uint32_t event);

/* The same questions as of vs_filter_bitmap, of all events where that is NULL. */
uint32_t vs_event_list_count(const vs_slice *slice, const vs_filter_bitmap *bitmap);
uint32_t vs_event_list_before(const vs_slice *slice, const vs_filter_bitmap *bitmap, uint32_t event);
uint32_t vs_event_list_nth(const vs_slice *slice, const vs_filter_bitmap *bitmap, uint32_t n);

#endif
