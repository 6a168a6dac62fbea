/* The answer to "what changed on which rank?": the ranks of a job before and after, in pairs (rank_names.h), and whether all of them changed
 * alike.
 *
 *   vs_job_diff job;
 *   VS_TRY(vs_job_diff_init(&job, host, options));
 *   ...                                       vs_job_diff_add for each pair, in the order in which they are shown
 *   status = vs_job_diff_put(&job, reply, error);
 *   vs_job_diff_deinit(&job);
 *
 * Two pairs changed alike if the same owners changed by the same bytes; how much they had before may differ. Of a pair that was added only
 * its figures and the rows that changed are kept. */
#ifndef VS_DIFF_JOB_DIFF_H
#define VS_DIFF_JOB_DIFF_H

#include "base/interned_strings.h"
#include "diff/comparison.h"

typedef struct vs_job_diff_options {
  vs_diff_by by;
  vs_unit unit;
  uint64_t most; /* rows of each pair in the reply; UINT64_MAX: all */
} vs_job_diff_options;

/* A side is 0, before, or 1, after. */
typedef struct vs_rank_pair {
  uint32_t name; /* string id: the file before */
  uint64_t number;
  bool has_number;
  bool was_compared; /* otherwise a file could not be read, and the rest has no meaning */
  uint32_t group;    /* in groups: the pairs that changed alike */
  uint64_t allocated[2], reserved[2], ooms[2];
  bool knows_reserved; /* of both sides */
  uint64_t differing;  /* the changes of all rows, without their signs */
  bool is_complete;    /* on both sides */
} vs_rank_pair;

typedef struct vs_rank_group {
  uint32_t changes; /* string id: which owners changed by how much, in an order of its own */
  uint32_t summary; /* string id: the largest changes as words; empty: nothing changed */
  uint32_t first;   /* the first pair */
  uint64_t count;
} vs_rank_group;

/* Invariant: `json` writes the reply to `text`, and is in the array of pairs until it is put. Must not move. */
typedef struct vs_job_diff {
  const vs_host *host;
  vs_job_diff_options options;
  vs_strings strings;
  VS_VEC(vs_rank_pair) list;
  VS_VEC(vs_rank_group) groups;
  VS_VEC(uint32_t) alone[2]; /* string ids: the files of a side without a partner */
  vs_map by_changes;         /* string id -> group */
  vs_text text;
  vs_jsonw json;
} vs_job_diff;

VS_MUST_CHECK vs_status vs_job_diff_init(vs_job_diff *job, const vs_host *host, vs_job_diff_options options);
void vs_job_diff_deinit(vs_job_diff *job);

/* A pair: the names of its files, and their replies of "inventory". Two inventories of one file are of one program. Fails:
 * VS_BAD_FORMAT  one of the two is no inventory, and vs_job_diff_add_failed may follow; VS_NO_MEMORY, VS_LIMIT */
VS_MUST_CHECK vs_status vs_job_diff_add(vs_job_diff *job, vs_str before_name, vs_str after_name,
                                        vs_json before, vs_json after, vs_error *error);
/* A pair of which a file could not be read. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_job_diff_add_failed(vs_job_diff *job, vs_str before_name, vs_str after_name,
                                               vs_str why);
/* A file without a partner. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_job_diff_add_alone(vs_job_diff *job, unsigned side, vs_str name);

/* Appends the reply (docs/formats/ranks.md), once, after the last pair. Fails: VS_NO_MEMORY, VS_LIMIT. Then nothing is appended */
VS_MUST_CHECK vs_status vs_job_diff_put(vs_job_diff *job, vs_text *reply);

#endif
