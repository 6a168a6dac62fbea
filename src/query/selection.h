/* The allocations that a request is about: the ones that its filter keeps and that are alive at its moment, or that
 * another measure selects (choices.def) between `since` and `at`. */
#ifndef VS_QUERY_SELECTION_H
#define VS_QUERY_SELECTION_H

#include "query/items.h"

typedef struct vs_selection {
  const vs_lifetimes *lifetimes; /* borrowed from the device's cache, as `items` */
  vs_items items;
  vs_moment at, since;
  vs_liveset set; /* its moment is the one at which its rows are alive; its sums are those after the filter */
  VS_VEC(uint64_t) weights; /* VS_MEASURE_average: mean bytes by row, in 1 / VS_WEIGHT_PARTS; else empty */
} vs_selection;

enum { VS_WEIGHT_PARTS = 65536 };

/* From "at", "since", "measure" and "filter" of call->request. */
VS_MUST_CHECK vs_status vs_selection_build(vs_call *call, vs_device_cache *device, vs_selection *out);
void vs_selection_deinit(const vs_call *call, vs_selection *selection);

/* The selection in groups, whose bytes are those of the measure. */
VS_MUST_CHECK vs_status vs_selection_groups(vs_call *call, const vs_selection *selection, vs_group_by by,
                                            vs_groups *out);
/* Members "at", "since", "measure". */
void vs_reply_selection(const vs_call *call, const vs_device_cache *device, const vs_selection *selection);

/* "active_allocated" or "active_pending_free" at the moment. */
vs_str vs_selection_state(const vs_selection *selection, const vs_lifetime *row);
/* String id; VS_STRING_NONE if there is none. */
uint32_t vs_selection_category(const vs_selection *selection, const vs_lifetime *row);

/* Rows of lifetimes in falling order of size, equal ones by rising address; the caller frees *out with vs_vec_free. */
typedef VS_VEC(uint32_t) vs_rows;
VS_MUST_CHECK vs_status vs_selection_by_size(const vs_call *call, const vs_selection *selection,
                                             vs_rows *out);

#endif
