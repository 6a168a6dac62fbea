/* The answer to "which rank of this job ran out of memory, and in what is it unlike the others?": the files of one job, one for each rank,
 * with the request of each that failed last.
 *
 *   vs_job_oom job;
 *   VS_TRY(vs_job_oom_init(&job, host));
 *   ...                                       vs_job_oom_add for each file, in the order in which they are shown
 *   VS_TRY(vs_job_oom_sort(&job));
 *   shown = vs_job_oom_first(&job);           the rank whose post-mortem is to be shown
 *   status = vs_job_oom_put(&job, options, post_mortem, reply, error);
 *   vs_job_oom_deinit(&job);
 *
 * A rank that ran out of memory is compared at that request, any other one at its peak (job_ranks.h). */
#ifndef VS_DIFF_JOB_OOM_H
#define VS_DIFF_JOB_OOM_H

#include "diff/job.h"

/* What the reply of "oom" says of a rank; all 0 for one that was not read. */
typedef struct vs_job_oom_rank {
  uint32_t members; /* string id: the JSON object of what the reply passes on */
  bool has_failed;  /* of the rest only `bytes` and `has_history` have a meaning otherwise */
  bool has_history; /* requests were recorded, so that a rank without a failed one had none */
  bool has_others;  /* another GPU in the file has a failed request */
  bool has_time;    /* time_us can be compared with that of another process */
  bool has_short, has_capacity;
  int64_t time_us;
  uint64_t short_by, capacity;
  uint64_t bytes; /* requested by live blocks at the moment at which the rank is compared */
} vs_job_oom_rank;

/* Invariant: list and ranks.list have the same ranks. */
typedef struct vs_job_oom {
  vs_job_ranks ranks;
  VS_VEC(vs_job_oom_rank) list;
  VS_VEC(uint32_t) failed; /* the ranks that ran out of memory; once sorted: the first one first */
  bool is_ordered;         /* by time; otherwise the largest shortfall is first */
} vs_job_oom;

VS_MUST_CHECK vs_status vs_job_oom_init(vs_job_oom *job, const vs_host *host);
void vs_job_oom_deinit(vs_job_oom *job);

/* The moment at which the rank's "inventory" is to be asked: the event of the failed request in the reply of "oom", -1 for the peak. */
int64_t vs_job_oom_moment(vs_json oom);

/* `oom`: the reply of that method; `inventory`: that of that method at vs_job_oom_moment. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_job_oom_add(vs_job_oom *job, vs_str name, vs_json inventory, vs_json oom);
/* A file that could not be read. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_job_oom_add_failed(vs_job_oom *job, vs_str name, vs_str why);

/* Orders the ranks that ran out of memory: by the time of the request that failed last, if each has one that can be compared (microseconds
 * since 1970), else by how much was missing, the most first; equal ones by their order. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_job_oom_sort(vs_job_oom *job);

/* The rank that is shown in full; VS_JOB_NO_RANK if none ran out of memory. After the last one was added and sorted. */
static inline uint32_t vs_job_oom_first(const vs_job_oom *job) {
  return job->failed.count == 0 ? VS_JOB_NO_RANK : job->failed.data[0];
}

/* Appends the reply (docs/formats/ranks.md). `post_mortem`: the reply of "oom" about the first one, absent if there is none. Fails:
 * VS_BAD_FORMAT, VS_NO_MEMORY, VS_LIMIT. Then nothing is appended */
VS_MUST_CHECK vs_status vs_job_oom_put(vs_job_oom *job, vs_job_options options, vs_json post_mortem,
                                       vs_text *reply, vs_error *error);

#endif
