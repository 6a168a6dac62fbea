#include "dryrun/reply_ranks.h"

/* ---- which ranks have the memory of which run */

enum { UNKNOWN = UINT32_MAX };

/* The outcome of each rank, UNKNOWN where it is. Owner: the caller. NULL: no memory. */
static uint32_t *spread(const vs_sampling *sampling) {
  uint32_t *outcomes = vs_host_alloc(sampling->host, sampling->world * sizeof *outcomes);
  for (uint32_t rank = 0; outcomes != NULL && rank < sampling->world; rank++) {
    const size_t run = vs_sampling_run_of(sampling, rank);
    outcomes[rank] = run == SIZE_MAX ? UNKNOWN : sampling->runs.data[run].outcome;
  }
  return outcomes;
}

static uint32_t count_of(const uint32_t *outcomes, uint32_t world, uint32_t outcome) {
  uint32_t count = 0;
  for (uint32_t rank = 0; rank < world; rank++) count += outcomes[rank] == outcome;
  return count;
}

/* "[[0, 3], [8, 11]]": the ranks with an outcome. */
static void put_ranges(vs_jsonw *w, const char *key, const uint32_t *outcomes, uint32_t world,
                       uint32_t outcome) {
  vs_jsonw_key(w, vs_str_from(key));
  vs_jsonw_array_begin(w);
  for (uint32_t rank = 0; rank < world; rank++) {
    if (outcomes[rank] != outcome) continue;
    vs_jsonw_array_begin(w);
    vs_jsonw_u64(w, rank);
    while (rank + 1 < world && outcomes[rank + 1] == outcome) rank++;
    vs_jsonw_u64(w, rank);
    vs_jsonw_array_end(w);
  }
  vs_jsonw_array_end(w);
}

/* ---- rows */

static void put_run(vs_jsonw *w, const vs_ranks *ranks, uint32_t outcome) {
  vs_jsonw_key(w, VS_STR("ran"));
  vs_jsonw_array_begin(w);
  for (size_t i = 0; i < ranks->sampling.runs.count; i++)
    if (ranks->sampling.runs.data[i].outcome == outcome) vs_jsonw_u64(w, ranks->sampling.runs.data[i].rank);
  vs_jsonw_array_end(w);
}

static void put_row(vs_jsonw *w, const vs_ranks *ranks, const uint32_t *outcomes, uint32_t outcome) {
  const vs_rank_result *result = &ranks->results.data[outcome];
  const uint32_t world = ranks->sampling.world;
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "rank", result->rank);
  vs_jsonw_member_u64(w, "count", count_of(outcomes, world, outcome));
  put_ranges(w, "ranks", outcomes, world, outcome);
  put_run(w, ranks, outcome);
  vs_jsonw_member_str(w, "verdict", vs_str_from(vs_verdict_word(result->verdict)));
  vs_jsonw_member_i64(w, "exit_code", result->exit_code);
  if (result->has_torch) {
    vs_jsonw_member_u64(w, "peak_allocated_bytes", result->peak_allocated_bytes);
    vs_jsonw_member_u64(w, "peak_reserved_bytes", result->peak_reserved_bytes);
  } else {
    vs_jsonw_member_null(w, "peak_allocated_bytes");
    vs_jsonw_member_null(w, "peak_reserved_bytes");
  }
  vs_jsonw_member_u64(w, "driver_peak_bytes", result->driver_peak_bytes);
  vs_jsonw_member_u64(w, "needed_bytes", result->needed_bytes);
  vs_jsonw_member_u64(w, "total_bytes", result->total_bytes);
  vs_jsonw_member_u64(w, "steps", result->steps);
  vs_jsonw_object_end(w);
}

/* The odd ones first: those that stand for the fewest ranks; of these the one that needs most. */
static bool is_before(const vs_ranks *ranks, const uint32_t *counts, size_t a, size_t b) {
  if (counts[a] != counts[b]) return counts[a] < counts[b];
  const uint64_t needs_a = ranks->results.data[a].needed_bytes, needs_b = ranks->results.data[b].needed_bytes;
  return needs_a != needs_b ? needs_a > needs_b : a < b;
}

/* One row for each outcome, whose number is that of the first run with it. `counts`: room for one number a run; a run that is no
 * outcome, or was written, has 0. */
static void put_rows(vs_jsonw *w, const vs_ranks *ranks, const uint32_t *outcomes, uint32_t *counts) {
  const size_t runs = ranks->sampling.runs.count;
  for (size_t i = 0; i < runs; i++) counts[i] = count_of(outcomes, ranks->sampling.world, (uint32_t)i);
  vs_jsonw_key(w, VS_STR("rows"));
  vs_jsonw_array_begin(w);
  for (size_t left = runs; left > 0; left--) {
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < runs; i++)
      if (counts[i] != 0 && (best == SIZE_MAX || is_before(ranks, counts, i, best))) best = i;
    if (best == SIZE_MAX) break;
    put_row(w, ranks, outcomes, (uint32_t)best);
    counts[best] = 0;
  }
  vs_jsonw_array_end(w);
}

static void put_axes(vs_jsonw *w, const vs_sampling *sampling) {
  vs_jsonw_key(w, VS_STR("axes"));
  vs_jsonw_array_begin(w);
  for (size_t i = 0; i + 1 < sampling->axis_count; i++) {
    const vs_sampling_axis *axis = &sampling->axes[i];
    vs_jsonw_object_begin(w);
    if (axis->name[0] == 0) vs_jsonw_member_null(w, "name");
    else vs_jsonw_member_str(w, "name", vs_str_from(axis->name));
    vs_jsonw_member_u64(w, "size", axis->size);
    vs_jsonw_member_bool(w, "sampled", axis->samples.count > 1);
    vs_jsonw_object_end(w);
  }
  vs_jsonw_array_end(w);
}

static void put_table(vs_jsonw *w, const vs_ranks *ranks, const uint32_t *outcomes, uint32_t *counts) {
  const vs_sampling *sampling = &ranks->sampling;
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "world_size", sampling->world);
  vs_jsonw_member_u64(w, "runs", sampling->runs.count);
  vs_jsonw_member_u64(w, "most_runs", sampling->most);
  if (ranks->why == NULL) vs_jsonw_member_null(w, "why");
  else vs_jsonw_member_str(w, "why", vs_str_from(ranks->why));
  put_axes(w, sampling);
  vs_jsonw_member_u64(w, "irregular_groups", ranks->irregular);
  vs_jsonw_member_u64(w, "checks", sampling->check_count);
  vs_jsonw_member_u64(w, "failed_checks", sampling->failed_count);
  put_rows(w, ranks, outcomes, counts);
  vs_jsonw_member_u64(w, "unknown", count_of(outcomes, sampling->world, UNKNOWN));
  put_ranges(w, "unknown_ranks", outcomes, sampling->world, UNKNOWN);
  vs_jsonw_object_end(w);
}

void vs_dryrun_reply_ranks(vs_jsonw *w, const vs_ranks *ranks) {
  const vs_sampling *sampling = &ranks->sampling;
  vs_jsonw_key(w, VS_STR("ranks"));
  if (!ranks->was_made) {
    vs_jsonw_null(w);
    return;
  }
  const size_t runs = sampling->runs.count;
  uint32_t *outcomes = spread(sampling);
  uint32_t *counts = vs_host_alloc(sampling->host, (runs + 1) * sizeof *counts);
  if (outcomes != NULL && counts != NULL) {
    put_table(w, ranks, outcomes, counts);
  } else {
    vs_jsonw_null(w);
    if (w->text->status == VS_OK) w->text->status = VS_NO_MEMORY;
  }
  if (outcomes != NULL) vs_host_free(sampling->host, outcomes, sampling->world * sizeof *outcomes);
  if (counts != NULL) vs_host_free(sampling->host, counts, (runs + 1) * sizeof *counts);
}
