/* The parameters of a window of the trace: axis, x0, x1, y0, y1. */
#ifndef VS_QUERY_WINDOW_H
#define VS_QUERY_WINDOW_H

#include "analyze/window.h"
#include "query/engine.h"

enum { VS_MOST_COLUMNS = 8192 };

/* The requested window, cut into `columns` columns: 1 to VS_MOST_COLUMNS, else the error names the parameter `name`. */
VS_MUST_CHECK vs_status vs_find_window(vs_call *call, uint64_t columns, const char *name, vs_window *out);

/* The moment that stands for a column: its last one; the start for columns in front of the trace, the end for those behind it. */
vs_moment vs_window_moment(const vs_window *window, uint32_t column, vs_moment end);

/* y0 and y1 as bytes; *y1 = `otherwise` if the request has none. */
VS_MUST_CHECK vs_status vs_find_bytes(const vs_call *call, uint64_t otherwise, uint64_t *y0, uint64_t *y1);

/* Members: "axis", "x0", "x1", "whole". */
void vs_reply_window(const vs_call *call, const vs_window *window);

#endif
