/* The sentences about a request that failed (lines.h), which "report" and "oom" share. */
#ifndef VS_QUERY_FAILURE_LINES_H
#define VS_QUERY_FAILURE_LINES_H

#include "query/lines.h"
#include "query/told.h"

/* Whether the owners then are known. */
static inline bool vs_failure_has_owners(const vs_oom *oom) {
  return oom->is_looked_at && oom->owners.lines.bytes != 0;
}

/* What failed, the memory then, why, and the owners. `count` requests failed in the trace; 0: not said. */
void vs_say_failure(vs_lines *lines, const vs_told *told, const vs_oom *oom, size_t count);
/* The same with advice, between the cause and the owners. */
void vs_say_failure_with_advice(vs_lines *lines, const vs_told *told, const vs_oom *oom, size_t count);

#endif
