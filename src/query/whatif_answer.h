/* The answer of "whatif" before it is written. */
#ifndef VS_QUERY_WHATIF_ANSWER_H
#define VS_QUERY_WHATIF_ANSWER_H

#include "analyze/edits.h"
#include "analyze/packing.h"
#include "analyze/whatif.h"
#include "device/sim/profile.h"
#include "query/lines.h"
#include "query/replays.h"

/* What one run may reserve. */
typedef struct vs_whatif_card {
  vs_str asked;            /* empty: what the recorded process could reserve */
  uint64_t total_bytes;    /* as the driver reports it; 0: no card was named */
  uint64_t capacity_bytes; /* what the allocator can reserve; 0: unlimited */
} vs_whatif_card;

typedef struct vs_whatif_run {
  vs_str asked; /* settings; of the recorded ones empty, with is_recorded */
  bool is_recorded;
  vs_alloc_settings settings;
  vs_whatif_card card;
  vs_replay replay;
} vs_whatif_run;

/* Invariant: ranking is a permutation of the runs: first those that pass, then by rising peak reserved, driver calls and
 * order of the request. A search is done in steps: one for each string of search.def, which may make no run, then one for each
 * of the figures; has_smallest and has_bound say whether these are there. */
typedef struct vs_whatif_answer {
  const vs_replay_cache *replays; /* borrowed from the device, with its plan */
  const vs_replay_plan *plan;
  vs_capacity capacity;
  bool is_search, has_edits, has_smallest, has_bound;
  uint32_t steps;                /* done, of a search */
  VS_VEC(uint32_t) runs_of_step; /* of a search: runs after each step */
  vs_checkpoint checkpoint;      /* of the functions of the request; it has none without */
  vs_edited edited;              /* meaningful where has_edits */
  vs_whatif_run baseline;        /* the recorded settings and capacity, without edits */
  VS_VEC(vs_whatif_run) runs;
  VS_VEC(uint32_t) ranking;
  vs_smallest smallest_recorded,
      smallest_best; /* of the recorded settings and of the first of the ranking, with the edits */
  vs_packing packing;
} vs_whatif_answer;

/* How many steps a search has, and of these the first ones, which make its runs. */
uint32_t vs_whatif_steps(void);
/* Whether a request has neither settings nor cards nor edits. */
bool vs_whatif_is_search(const vs_request *request);
/* Does the steps of a search that are missing, and has the runs ranked; what was done before stays where one fails. Borrowed
 * from the device. */
VS_MUST_CHECK vs_status vs_whatif_search(vs_call *call, uint32_t steps, vs_whatif_answer **out);
/* The parts of an answer that is no search: the replays, the plan and the capacity; the edits; the requested runs, which are not
 * made yet. */
VS_MUST_CHECK vs_status vs_whatif_begin(vs_call *call, vs_whatif_answer *answer);
VS_MUST_CHECK vs_status vs_whatif_edits(vs_call *call, vs_whatif_answer *answer);
VS_MUST_CHECK vs_status vs_whatif_rows(vs_call *call, vs_whatif_answer *answer);
/* The replay of a run. */
vs_replay_options vs_whatif_options(const vs_whatif_answer *answer, const vs_whatif_run *run,
                                    bool with_edits);
/* What the answer owns: not the replays. */
void vs_whatif_answer_deinit(const vs_host *host, vs_whatif_answer *answer);

static inline bool vs_whatif_is_equal(const vs_replay *check) {
  return check->miss_count == 0 && check->placed == check->allocs && !check->is_cut;
}

static inline const vs_whatif_run *vs_whatif_best(const vs_whatif_answer *answer) {
  return &answer->runs.data[answer->ranking.data[0]];
}

/* Whether the best run is of other settings than the recorded ones and worth the change: it passes where those fail, or
 * reserves less. */
static inline bool vs_whatif_has_better(const vs_whatif_answer *answer) {
  const vs_replay *before = &answer->baseline.replay, *after = &vs_whatif_best(answer)->replay;
  if (vs_whatif_best(answer)->is_recorded || !vs_replay_passes(after)) return false;
  return !vs_replay_passes(before) || after->reserved_peak < before->reserved_peak;
}

/* The member "lines". */
void vs_whatif_lines(vs_call *call, const vs_whatif_answer *answer);
/* How far a replay that follows the recording equals it: the line "replay". */
void vs_say_check(vs_lines *lines, const vs_replay *check);
/* "check": the same as figures; `recorded` are the settings of the recording. */
void vs_reply_check(vs_call *call, const vs_replay_options *recorded, const vs_replay *check);

#endif
