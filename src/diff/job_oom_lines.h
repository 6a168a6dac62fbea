/* The sentences of the reply about ranks that ran out of memory, and the figures of the others that follow from them. */
#ifndef VS_DIFF_JOB_OOM_LINES_H
#define VS_DIFF_JOB_OOM_LINES_H

#include "diff/job_oom.h"

/* What a process could reserve: the least that a rank that ran out of memory is known to have had. False if it is unknown of all.
 * `rank`: which one that is; may be NULL. */
bool vs_job_oom_capacity(const vs_job_oom *job, uint64_t *capacity, uint32_t *rank);

/* Writes the member "lines", after the differences of all ranks. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_job_oom_put_lines(vs_jsonw *json, const vs_job_oom *job, uint32_t median,
                                             vs_unit unit);

#endif
