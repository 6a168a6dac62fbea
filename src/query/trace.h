/* The events of a device that a request is about: those that its filter keeps, folded or not. */
#ifndef VS_QUERY_TRACE_H
#define VS_QUERY_TRACE_H

#include "query/things.h"

/* Of call->request: "filter" and "folded". *out is borrowed until other ones are asked for; NULL: all events. */
VS_MUST_CHECK vs_status vs_trace_matches(vs_call *call, const vs_matches **out);

/* Whether an event is a free_completed right behind the free_requested of the same address: what PyTorch's page shows as
 * one. */
bool vs_is_folded(const vs_slice *slice, uint32_t event);

bool vs_is_of_segment(vs_event_kind kind);
/* The row of the allocation, or of the segment, that an event is about; VS_NO_ROW. There has to be a past. */
uint32_t vs_row_of_event_thing(const vs_view *view, uint32_t event);

/* The same questions as of vs_matches, of all events where that is NULL. */
uint32_t vs_trace_count(const vs_slice *slice, const vs_matches *matches);
uint32_t vs_trace_before(const vs_slice *slice, const vs_matches *matches, uint32_t event);
uint32_t vs_trace_nth(const vs_slice *slice, const vs_matches *matches, uint32_t n);

#endif
