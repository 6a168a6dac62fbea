/* The answer to "which rank is the odd one?": the files of one job, one for each rank, with their figures, and in which owners each
 * differs from the median rank.
 *
 *   vs_job job;
 *   VS_TRY(vs_job_init(&job, host));
 *   ...                                       vs_job_add for each file, in the order in which they are shown
 *   status = vs_job_put(&job, options, reply, error);
 *   vs_job_deinit(&job);
 *
 * The ranks are compared at their peaks (job_ranks.h). */
#ifndef VS_DIFF_JOB_H
#define VS_DIFF_JOB_H

#include "diff/job_ranks.h"

typedef struct vs_job {
  vs_job_ranks ranks;
  VS_VEC(uint64_t) growth; /* by rank: bytes a step of the line that grows most */
} vs_job;

typedef struct vs_job_options {
  uint64_t top; /* rows of each rank that differs; 0: all */
  vs_unit unit;
  bool is_brief; /* of oom: no rows but those of the rank that is shown */
} vs_job_options;

VS_MUST_CHECK vs_status vs_job_init(vs_job *job, const vs_host *host);
void vs_job_deinit(vs_job *job);

/* `inventory` and `report`: the replies of these methods about the file. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_job_add(vs_job *job, vs_str name, vs_json inventory, vs_json report);
/* A file that could not be read. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_job_add_failed(vs_job *job, vs_str name, vs_str why);

/* Appends the reply (docs/formats/ranks.md). Fails: VS_BAD_FORMAT, VS_NO_MEMORY, VS_LIMIT. Then nothing is appended */
VS_MUST_CHECK vs_status vs_job_put(vs_job *job, vs_job_options options, vs_text *reply, vs_error *error);

#endif
