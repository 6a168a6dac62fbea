/* What one line of the program allocates, over the whole trace: for an edit of that line (edits.h). */
#ifndef VS_ANALYZE_LINE_ROWS_H
#define VS_ANALYZE_LINE_ROWS_H

#include "analyze/groups.h"

typedef struct vs_line_rows {
  VS_VEC(uint64_t) rows;   /* one bit for each row of lifetimes */
  VS_VEC(uint64_t) events; /* one bit for each event: failed requests */
} vs_line_rows;

/* `key` is one that `keys`, by VS_BY_LINE, gave. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_line_rows_build(const vs_host *host, const vs_lifetimes *lifetimes, vs_keys *keys,
                                           uint32_t key, vs_line_rows *out);
void vs_line_rows_deinit(const vs_host *host, vs_line_rows *rows);

#endif
