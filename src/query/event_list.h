/* The events of a device that a request is about: those that its filter keeps, folded or not. */
#ifndef VS_QUERY_EVENT_LIST_H
#define VS_QUERY_EVENT_LIST_H

#include "query/items.h"

/* The events that "filter" and "folded" of call->request keep. *out is borrowed until bitmaps of two other filters
 * are built; NULL: all events. */
VS_MUST_CHECK vs_status vs_event_list_bitmap(vs_call *call, const vs_filter_bitmap **out);

/* Whether an event is a free_completed directly after the free_requested of the same address. PyTorch's page shows
 * the two as one event. */
bool vs_is_folded(const vs_slice *slice, uint32_t event);

bool vs_is_of_segment(vs_event_kind kind);
/* The row of the allocation, or of the segment, that an event is about; VS_NO_ROW if there is none. Requires
 * has_moment_index. */
uint32_t vs_row_of_event_item(const vs_device_cache *device, uint32_t event);

/* The functions of vs_filter_bitmap; with NULL they are about all events. */
uint32_t vs_event_list_count(const vs_slice *slice, const vs_filter_bitmap *bitmap);
uint32_t vs_event_list_before(const vs_slice *slice, const vs_filter_bitmap *bitmap, uint32_t event);
uint32_t vs_event_list_nth(const vs_slice *slice, const vs_filter_bitmap *bitmap, uint32_t n);

#endif
