/* What was alive at a moment: rows of the lifetimes that count then, in their order. A scan over the lifetimes. */
#ifndef VS_ANALYZE_LIVESET_H
#define VS_ANALYZE_LIVESET_H

#include "analyze/spans.h"

typedef struct vs_liveset {
  vs_moment moment;
  VS_VEC(uint32_t) rows; /* of lifetimes->rows, rising */
  uint64_t bytes;        /* requested, pending ones included */
  uint64_t pending_bytes;
  uint64_t pending_count;
} vs_liveset;

/* A moment before the start or behind the end is taken as that. */
VS_MUST_CHECK vs_status vs_liveset_build(const vs_host *host, const vs_lifetimes *lifetimes, vs_moment moment,
                                         vs_liveset *out);
/* The same without a scan: `spans` are those of all lifetimes. */
VS_MUST_CHECK vs_status vs_liveset_at(const vs_host *host, const vs_lifetimes *lifetimes,
                                      const vs_spans *spans, vs_moment moment, vs_liveset *out);
void vs_liveset_deinit(const vs_host *host, vs_liveset *set);

/* The rows alive at `moment` and not at `without`: what appeared since, or, asked the other way round, what went. */
VS_MUST_CHECK vs_status vs_liveset_difference(const vs_host *host, const vs_lifetimes *lifetimes,
                                              vs_moment without, vs_moment moment, vs_liveset *out);

#endif
