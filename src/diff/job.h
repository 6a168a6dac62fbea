/* The files of one job, one for each rank: their figures, and in which owners each differs from the median rank.
 *
 *   vs_job job;
 *   VS_TRY(vs_job_init(&job, host));
 *   ...                                       vs_job_add for each file, in the order in which they are shown
 *   status = vs_job_put(&job, options, reply, error);
 *   vs_job_deinit(&job);
 *
 * The median rank is the one whose peak of allocated memory is in the middle. The ranks run one program, so equal lines are the same. An
 * inventory is kept once for all ranks that have the same one, so that thousands of ranks take little memory. */
#ifndef VS_DIFF_JOB_H
#define VS_DIFF_JOB_H

#include "base/human.h"
#include "base/interned_strings.h"
#include "codec/json_reply.h"

typedef struct vs_job_rank {
  uint32_t name; /* string id */
  uint32_t
      shape; /* string id of its inventory without its file, device and moment; VS_STRING_NONE: it was not read */
  uint32_t
      same_as; /* the first rank with an equal inventory; itself if there is none before it, or it was not read */
  uint32_t failure;                        /* string id of the reason if it was not read */
  int64_t device;                          /* -1: pinned host memory, or none */
  uint64_t allocated, requested, reserved; /* peaks */
  uint64_t ooms, growth;                   /* growth: bytes a step of the line that grows most */
  uint64_t
      differing; /* the changes of all rows against the median rank, without their signs; set by vs_job_put */
  bool is_complete;
} vs_job_rank;

typedef struct vs_job {
  const vs_host *host;
  vs_strings strings;
  VS_VEC(vs_job_rank) list;
  vs_map by_shape; /* shape -> the first rank that has it */
} vs_job;

typedef struct vs_job_options {
  uint64_t top; /* rows of each rank that differs; 0: all */
  vs_unit unit;
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
