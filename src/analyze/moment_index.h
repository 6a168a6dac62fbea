/* What is kept of a whole trace so that a question about one of its moments need not go through it again. */
#ifndef VS_ANALYZE_MOMENT_INDEX_H
#define VS_ANALYZE_MOMENT_INDEX_H

#include "analyze/spans.h"

enum { VS_LARGEST_SMALL_REQUEST = 1024 * 1024 };
#define VS_NO_SIZE UINT64_MAX

typedef struct vs_moment_index {
  const vs_lifetimes *lifetimes; /* borrowed */
  vs_mappings mappings;
  vs_spans spans;          /* of all lifetimes */
  VS_VEC(uint32_t) at_end; /* rows of lifetimes that have a block in the end state, rising */
  uint64_t smallest,
      smallest_large; /* requests in the trace: of all, of those above VS_LARGEST_SMALL_REQUEST; */
} vs_moment_index;    /* VS_NO_SIZE if there is none */

VS_MUST_CHECK vs_status vs_moment_index_build(const vs_host *host, const vs_lifetimes *lifetimes,
                                              vs_moment_index *out);
void vs_moment_index_deinit(const vs_host *host, vs_moment_index *moments);

#endif
