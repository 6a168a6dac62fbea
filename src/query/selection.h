/* The allocations that a request is about: those alive at its moment which its filter keeps. */
#ifndef VS_QUERY_SELECTION_H
#define VS_QUERY_SELECTION_H

#include "query/engine.h"

typedef struct vs_selection {
  const vs_lifetimes *lifetimes; /* borrowed from the view */
  vs_segment_index segments;     /* of the view's slice, to find pools */
  vs_liveset set;                /* its bytes are those of the rows that are left */
} vs_selection;

/* Of call->request: "at" and "filter". */
VS_MUST_CHECK vs_status vs_selection_build(vs_call *call, vs_view *view, vs_selection *out);
void vs_selection_deinit(const vs_call *call, vs_selection *selection);

/* "active_allocated" or "active_pending_free" at the moment. */
vs_str vs_selection_state(const vs_selection *selection, const vs_lifetime *row);
/* String id, VS_STRING_NONE where there is none. */
uint32_t vs_selection_category(const vs_selection *selection, const vs_lifetime *row);

/* Rows of lifetimes in falling order of size, of equals by rising address; the caller frees *out with vs_vec_free. */
typedef VS_VEC(uint32_t) vs_rows;
VS_MUST_CHECK vs_status vs_selection_by_size(const vs_call *call, const vs_selection *selection,
                                             vs_rows *out);

#endif
