/* A device's report with the times of its trace, and the pieces of sentences about them. */
#ifndef VS_QUERY_TOLD_H
#define VS_QUERY_TOLD_H

#include "analyze/report.h"
#include "base/human.h"
#include "query/reply.h"

typedef struct vs_told {
  const vs_report *report;
  const vs_times *times;
} vs_told;

/* Whether the program was recorded, and not only its end state. */
bool vs_report_has_trace(const vs_report *report);

/* "1.45 s": the time of a moment since the first event; false where the trace has no times. */
bool vs_told_since_put(vs_text *text, const vs_told *told, int64_t time_us);
/* "after 1.45 s" or "at event 421", and "at the start". */
void vs_told_when_put(vs_text *text, const vs_told *told, int64_t event, int64_t time_us);
/* "1,234 events over 1.45 s" */
void vs_told_extent_put(vs_text *text, const vs_told *told);

/* A value of a curve, which is negative only where the file contradicts itself. */
static inline uint64_t vs_told_bytes(int64_t bytes) { return bytes < 0 ? 0 : (uint64_t)bytes; }

#endif
