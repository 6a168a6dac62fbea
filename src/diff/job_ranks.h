/* The files of one job, one for each rank, with what each had allocated at one moment; the median rank, and in which owners a rank
 * differs from it.
 *
 *   vs_job_ranks ranks;
 *   VS_TRY(vs_job_ranks_init(&ranks, host));
 *   ...                                       vs_job_ranks_add or vs_job_ranks_add_failed for each file, in the order in which they are shown
 *   VS_TRY(vs_job_ranks_median(&ranks, &median));
 *   status = vs_job_ranks_put_difference(json, &ranks, median, rank, top, error);
 *   vs_job_ranks_deinit(&ranks);
 *
 * The median rank is the one whose peak of allocated memory is in the middle. The ranks run one program, so equal lines are the same. An
 * inventory is kept once for all ranks that have the same one, so that thousands of ranks take little memory. */
#ifndef VS_DIFF_JOB_RANKS_H
#define VS_DIFF_JOB_RANKS_H

#include "base/interned_strings.h"
#include "diff/comparison.h"

typedef struct vs_job_rank {
  uint32_t name; /* string id */
  uint32_t
      shape; /* string id of its inventory without its file, device and moment; VS_STRING_NONE: it was not read */
  uint32_t
      same_as; /* the first rank with an equal inventory; itself if there is none before it, or it was not read */
  uint32_t failure;                        /* string id of the reason if it was not read */
  int64_t device;                          /* -1: pinned host memory, or none */
  uint64_t allocated, requested, reserved; /* peaks */
  uint64_t ooms;
  uint64_t differing,
      more; /* the changes of all rows against the median rank, without their signs, and of those of which it has more */
  uint32_t more_rows,
      most; /* how many these are; string id of the owner of the largest. All set by vs_job_ranks_put_difference */
  uint64_t number; /* the number of the rank by its name (rank_names.h) */
  bool has_number;
  bool is_complete;
  bool knows_reserved; /* else `reserved` is 0 */
} vs_job_rank;

typedef struct vs_job_ranks {
  const vs_host *host;
  vs_strings strings;
  VS_VEC(vs_job_rank) list;
  vs_map by_shape; /* shape -> the first rank that has it */
} vs_job_ranks;

VS_MUST_CHECK vs_status vs_job_ranks_init(vs_job_ranks *ranks, const vs_host *host);
void vs_job_ranks_deinit(vs_job_ranks *ranks);

/* `inventory`: the reply of that method about the file. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_job_ranks_add(vs_job_ranks *ranks, vs_str name, vs_json inventory);
/* A file that could not be read. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_job_ranks_add_failed(vs_job_ranks *ranks, vs_str name, vs_str why);

static inline bool vs_job_rank_was_read(const vs_job_rank *rank) { return rank->shape != VS_STRING_NONE; }
static inline bool vs_job_rank_was_not_read(const vs_job_rank *rank) { return !vs_job_rank_was_read(rank); }
static inline bool vs_job_rank_is_incomplete(const vs_job_rank *rank) {
  return vs_job_rank_was_read(rank) && !rank->is_complete;
}

/* How many have a property. */
uint64_t vs_job_ranks_count(const vs_job_ranks *ranks, bool (*has)(const vs_job_rank *rank));

/* Whether each rank has a number, and none has that of another one, so that "rank 3" names it. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_job_ranks_have_numbers(const vs_job_ranks *ranks, bool *have);

#define VS_JOB_NO_RANK UINT32_MAX

/* VS_JOB_NO_RANK if none was read. Of an even number the lower one, of equal ones the first. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_job_ranks_median(const vs_job_ranks *ranks, uint32_t *median);

/* after - before, at most INT64_MAX away from 0. */
int64_t vs_job_change(uint64_t before, uint64_t after);

/* Writes the peaks of a rank that was read, and how much its peak allocated is above that of the median rank ("delta_bytes"). */
void vs_job_ranks_put_figures(vs_jsonw *json, const vs_job_ranks *ranks, uint32_t median, uint32_t rank);

/* Writes "differing_bytes" and "rows", in which owners a rank that was read differs from the median one, at most `most` rows.
 * Fails: VS_BAD_FORMAT, VS_NO_MEMORY, VS_LIMIT */
VS_MUST_CHECK vs_status vs_job_ranks_put_difference(vs_jsonw *json, vs_job_ranks *ranks, uint32_t median,
                                                    uint32_t rank, uint64_t most, vs_error *error);

/* Writes the member "odd": the ranks that differ from the median one, the most first. After the differences of all of them.
 * Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_job_ranks_put_odd(vs_jsonw *json, const vs_job_ranks *ranks);

/* Writes a sentence about the ranks that have a property, "3 of 8 " and `what`, if there are any. `text` is empty before and after it. */
void vs_job_ranks_put_counted(vs_jsonw *json, vs_text *text, const vs_job_ranks *ranks,
                              bool (*has)(const vs_job_rank *rank), const char *what, const char *about,
                              const char *label, const char *tone);

/* Writes the sentences about ranks that are not complete and about those that were not read. */
void vs_job_ranks_put_doubts(vs_jsonw *json, vs_text *text, const vs_job_ranks *ranks);

#endif
