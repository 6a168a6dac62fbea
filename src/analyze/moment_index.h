/* Tables of a whole trace with which a question about one of its moments is answered without a scan of the trace. */
#ifndef VS_ANALYZE_MOMENT_INDEX_H
#define VS_ANALYZE_MOMENT_INDEX_H

#include "analyze/spans.h"

enum { VS_LARGEST_SMALL_REQUEST = 1024 * 1024 };
#define VS_NO_SIZE UINT64_MAX

typedef struct vs_moment_index {
  const vs_lifetimes *lifetimes; /* borrowed */
  vs_mappings mappings;
  bool has_spans;
  vs_spans spans;          /* of all lifetimes, if has_spans */
  VS_VEC(uint32_t) at_end; /* rows of lifetimes that have a block in the end state, rising */
  uint64_t smallest;       /* the smallest request in the trace; VS_NO_SIZE if there is none */
  uint64_t smallest_large; /* the smallest one above VS_LARGEST_SMALL_REQUEST; VS_NO_SIZE if there is none */
} vs_moment_index;

/* Without the spans, which cost most: a question about a moment inside of the trace then scans the lifetimes. */
VS_MUST_CHECK vs_status vs_moment_index_begin(const vs_host *host, const vs_lifetimes *lifetimes,
                                              vs_moment_index *out);
/* Adds the spans, if they are not there. After a failure the index is as before. */
VS_MUST_CHECK vs_status vs_moment_index_add_spans(const vs_host *host, vs_moment_index *moments);
/* Both. */
VS_MUST_CHECK vs_status vs_moment_index_build(const vs_host *host, const vs_lifetimes *lifetimes,
                                              vs_moment_index *out);
/* NULL if they are not there. */
static inline const vs_spans *vs_moment_index_spans(const vs_moment_index *moments) {
  return moments->has_spans ? &moments->spans : NULL;
}
void vs_moment_index_deinit(const vs_host *host, vs_moment_index *moments);

#endif
