/* The allocations or the segments of a device, whichever a request is about ("what"): pictures, lists and clicks
 * show them in the same way. */
#ifndef VS_QUERY_ITEMS_H
#define VS_QUERY_ITEMS_H

#include "analyze/mappings.h"
#include "query/engine.h"

/* The keys of filters that each kind has: bits 1 << vs_filter_key. An allocation that is alive at a moment also has
 * a state. */
enum {
  VS_SEGMENT_ITEM_KEYS = 1 << VS_FILTER_size | 1 << VS_FILTER_stream | 1 << VS_FILTER_address |
                         1 << VS_FILTER_pool | 1 << VS_FILTER_event | 1 << VS_FILTER_stack |
                         1 << VS_FILTER_line | 1 << VS_FILTER_innermost | 1 << VS_FILTER_annotation |
                         1 << VS_FILTER_lifetime | 1 << VS_FILTER_row | 1 << VS_FILTER_name,
  VS_ALLOCATION_KEYS = VS_SEGMENT_ITEM_KEYS | 1 << VS_FILTER_category | 1 << VS_FILTER_metadata,
  VS_LIVE_KEYS = VS_ALLOCATION_KEYS | 1 << VS_FILTER_state,
};

/* The items of one device. All pointers are borrowed from its cache. */
typedef struct vs_items {
  vs_drawn drawn;
  uint32_t count; /* rows */
  const vs_slice *slice;
  const vs_lifetimes *lifetimes;
  const vs_mappings *mappings;
  const vs_segment_index *segments;
  const vs_block_names *names; /* NULL until vs_items_want_names */
  bool without_pools;          /* pools are not needed, so vs_item_at sets them to 0 */
} vs_items;

VS_MUST_CHECK vs_status vs_items_init(const vs_host *host, vs_device_cache *device, vs_drawn drawn,
                                      vs_items *out);

VS_MUST_CHECK vs_status vs_items_want_names(const vs_host *host, vs_device_cache *device, vs_items *items);
/* The version in the name. For allocations it requires names. */
uint32_t vs_items_version(const vs_items *items, uint32_t row);

/* "allocations", "segments". */
const char *vs_items_name(vs_drawn drawn);

typedef struct vs_item {
  uint64_t address, size;
  uint32_t row;
  uint32_t start, free_requested, end;              /* events, VS_NO_EVENT */
  uint32_t stack, stream, pool, category, metadata; /* the last two: strings, VS_STRING_NONE */
} vs_item;

vs_item vs_item_at(const vs_items *items, uint32_t row);
vs_keyed vs_item_keyed(const vs_item *item);
bool vs_item_is_live(const vs_item *item, vs_moment moment);
/* The number of moments, including the start, at which it is alive; at least 1. */
uint64_t vs_item_moments(const vs_slice *slice, const vs_item *item);

/* The properties that a filter compares; the name only with names. `ranges` is from vs_ranges_for. */
vs_filter_row vs_row_of_item(const vs_items *items, const vs_item *item, const vs_named_ranges *ranges);
/* *out is NULL if the filter has no term about annotations. */
VS_MUST_CHECK vs_status vs_ranges_for(vs_call *call, const vs_filter *filter, const vs_named_ranges **out);

/* The items that a filter keeps; *out is NULL if the filter is empty. */
VS_MUST_CHECK vs_status vs_items_bitmap(vs_call *call, const vs_items *items, vs_filter *filter,
                                        const vs_filter_bitmap **out);

/* ---- replies: members of the open object */

/* "row", "name", "size_bytes", "label", "start_event", "start_us", "end_event", "end_us". */
VS_MUST_CHECK vs_status vs_reply_item(vs_call *call, const vs_items *items, const vs_item *item);
/* "name". */
VS_MUST_CHECK vs_status vs_reply_item_name(vs_call *call, const vs_items *items, const vs_item *item);
/* "what". */
void vs_reply_drawn(const vs_call *call, vs_drawn drawn);

#endif
