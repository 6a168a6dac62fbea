/* The allocations that are alive at a moment, as rows of the lifetimes in their order. Costs a scan over the
 * lifetimes. */
#ifndef VS_ANALYZE_LIVESET_H
#define VS_ANALYZE_LIVESET_H

#include "analyze/spans.h"

typedef struct vs_liveset {
  vs_moment moment;
  VS_VEC(uint32_t) rows; /* of lifetimes->rows, rising */
  uint64_t bytes;        /* requested, including pending frees */
  uint64_t pending_bytes;
  uint64_t pending_count;
} vs_liveset;

/* A moment before the start or behind the end counts as the start or the end. */
VS_MUST_CHECK vs_status vs_liveset_build(const vs_host *host, const vs_lifetimes *lifetimes, vs_moment moment,
                                         vs_liveset *out);
/* The same without a scan: `spans` are those of all lifetimes. NULL: they are not there, and it scans. */
VS_MUST_CHECK vs_status vs_liveset_at(const vs_host *host, const vs_lifetimes *lifetimes,
                                      const vs_spans *spans, vs_moment moment, vs_liveset *out);
void vs_liveset_deinit(const vs_host *host, vs_liveset *set);

/* The rows that are alive at `moment` and not at `without`: with the later moment first they are what was freed. */
VS_MUST_CHECK vs_status vs_liveset_difference(const vs_host *host, const vs_lifetimes *lifetimes,
                                              vs_moment without, vs_moment moment, vs_liveset *out);

#endif
