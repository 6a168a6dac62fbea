/* What a request about the picture is about: things, those that its filter keeps, their spans and groups. */
#ifndef VS_QUERY_PICTURE_QUERY_H
#define VS_QUERY_PICTURE_QUERY_H

#include "query/items.h"

/* Borrowed from call->view until another filter is asked for. `matches` is NULL where the filter keeps all. */
typedef struct vs_picture_query {
  vs_items items;
  const vs_filter_bitmap *bitmap;
} vs_picture_query;

/* Of call->request: "what" and "filter". */
VS_MUST_CHECK vs_status vs_picture_query_build(vs_call *call, vs_picture_query *out);
VS_MUST_CHECK vs_status vs_picture_query_spans(vs_call *call, const vs_picture_query *query,
                                               const vs_spans **out);
VS_MUST_CHECK vs_status vs_picture_query_curve(vs_call *call, const vs_picture_query *query,
                                               const vs_curve_index **out);
/* Not for VS_COLOUR_ALLOCATION. */
VS_MUST_CHECK vs_status vs_picture_query_colours(vs_call *call, const vs_picture_query *query, vs_group_by by,
                                                 const vs_colours **out);

#endif
