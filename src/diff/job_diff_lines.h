/* The sentences of the reply about ranks before and after. */
#ifndef VS_DIFF_JOB_DIFF_LINES_H
#define VS_DIFF_JOB_DIFF_LINES_H

#include "diff/job_diff.h"

/* The largest changes of a comparison as words: "+64.00 MiB train.py:13 forward, -2.00 MiB data.py:7 load and 3 other lines"; nothing if
 * none changed. */
void vs_job_diff_put_summary(vs_text *text, const vs_comparison *c);

/* Whether each pair has a number of its own, so that "rank 3" names it. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_job_diff_have_numbers(const vs_job_diff *job, bool *have);

/* Writes the member "lines". `order`: the groups, that with most pairs first. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_job_diff_put_lines(vs_jsonw *json, const vs_job_diff *job, const uint32_t *order);

#endif
