/* Sorts the elements of an array: vs_sort_rows finds the order, then the elements are moved. */
#ifndef VS_ANALYZE_ARRANGE_H
#define VS_ANALYZE_ARRANGE_H

#include "base/sort.h"

/* `before` gets indices into `data` in its original order. On VS_NO_MEMORY nothing is moved. */
VS_MUST_CHECK vs_status vs_arrange(const vs_host *host, void *data, size_t count, size_t size,
                                   vs_sort_before before, const void *ctx);

#endif
