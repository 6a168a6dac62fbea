/* What the method "report" says in sentences (lines.h). The figures beside them are method_report.c's. */
#ifndef VS_QUERY_REPORT_LINES_H
#define VS_QUERY_REPORT_LINES_H

#include "query/lines.h"

/* A device's report with the times of its trace. */
typedef struct vs_told {
  const vs_report *report;
  const vs_times *times;
} vs_told;

/* "lines", "summary" (all of it in one line) and "next" (the question to ask next) of a device. */
void vs_report_lines(vs_call *call, const vs_told *told);
/* "lines" of one request that failed. */
void vs_report_oom_lines(vs_call *call, const vs_told *told, const vs_oom *oom);
/* The lines of a failed request without advice: what failed, the memory then, why, and the owners. `count` requests failed in the
 * trace; 0: not said. */
void vs_say_failure(vs_lines *lines, const vs_told *told, const vs_oom *oom, size_t count);
/* "lines": what there is to say of a file that holds no device. */
void vs_report_file_lines(vs_call *call);

/* A finding in one sentence, without a full stop: of a loss how many events are missing, and from when on. */
void vs_report_finding_put(vs_text *text, const vs_told *told, vs_finding_kind kind);

#endif
