/* Brings the elements of an array into an order: vs_sort_rows, and then moving them. */
#ifndef VS_ANALYZE_ARRANGE_H
#define VS_ANALYZE_ARRANGE_H

#include "base/sort.h"

/* `before` gets indices into `data` as it was given. Without memory nothing is moved. */
VS_MUST_CHECK vs_status vs_arrange(const vs_host *host, void *data, size_t count, size_t size,
                                   vs_sort_before before, const void *ctx);

#endif
