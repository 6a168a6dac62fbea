/* What the method "report" says in sentences (lines.h). The figures beside them are method_report.c's. */
#ifndef VS_QUERY_REPORT_LINES_H
#define VS_QUERY_REPORT_LINES_H

#include "query/told.h"

/* "lines", "summary" (all of it in one line) and "next" (the question to ask next) of a device. */
void vs_report_lines(vs_call *call, const vs_told *told);
/* "lines" of one request that failed. */
void vs_report_oom_lines(vs_call *call, const vs_told *told, const vs_oom *oom);
/* "lines": what there is to say of a file that holds no device. */
void vs_report_file_lines(vs_call *call);

#endif
