/* The subject of a request about the picture: items, the ones that its filter keeps, their spans and groups. */
#ifndef VS_QUERY_PICTURE_QUERY_H
#define VS_QUERY_PICTURE_QUERY_H

#include "query/items.h"

/* Borrowed from call->device until bitmaps of two other filters are built. `bitmap` is NULL if the filter is empty. */
typedef struct vs_picture_query {
  vs_items items;
  const vs_filter_bitmap *bitmap;
} vs_picture_query;

/* From "what" and "filter" of call->request. */
VS_MUST_CHECK vs_status vs_picture_query_build(vs_call *call, vs_picture_query *out);
VS_MUST_CHECK vs_status vs_picture_query_spans(vs_call *call, const vs_picture_query *query,
                                               const vs_spans **out);
VS_MUST_CHECK vs_status vs_picture_query_curve(vs_call *call, const vs_picture_query *query,
                                               const vs_curve_index **out);
/* Not for VS_COLOUR_ALLOCATION. */
VS_MUST_CHECK vs_status vs_picture_query_colours(vs_call *call, const vs_picture_query *query, vs_group_by by,
                                                 const vs_colours **out);

#endif
