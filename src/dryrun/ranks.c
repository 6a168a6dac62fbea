/* --ranks-that-differ: runs other ranks of the same world, silently, one after the other. */
#include "dryrun/ranks.h"
#include "codec/json_reply.h"
#include "dryrun/gather.h"
#include "dryrun/need.h"

enum { MOST = 32, GROUP_MOST = 1 << 20 };

/* ---- process groups of rank 0 */

static vs_status add_group(vs_ranks *ranks, vs_json group) {
  VS_VEC(uint32_t) members = {0};
  const vs_host *host = ranks->sampling.host;
  const vs_json numbers = vs_reply_at(group, "ranks");
  const size_t count = vs_json_count(numbers);
  if (count > GROUP_MOST) return VS_OK;
  VS_TRY(vs_vec_reserve(host, &members, count));
  for (size_t i = 0; i < count; i++) {
    const uint64_t rank = vs_json_u64(vs_json_at(numbers, i), UINT32_MAX);
    members.data[members.count++] = rank < UINT32_MAX ? (uint32_t)rank : UINT32_MAX;
  }
  ranks->irregular +=
      !vs_sampling_add(&ranks->sampling, vs_reply_str(group, "name"), members.data, members.count);
  vs_vec_free(host, &members);
  return VS_OK;
}

static vs_status add_groups(vs_ranks *ranks, const vs_result *result) {
  for (size_t i = 0; i < result->processes.count; i++) {
    const vs_result_process *process = &result->processes.data[i];
    const vs_json groups = vs_reply_at(vs_json_root(&process->stats), "groups");
    if (process->child != 0) continue;
    for (size_t k = 0; k < vs_json_count(groups); k++) VS_TRY(add_group(ranks, vs_json_at(groups, k)));
  }
  return VS_OK;
}

/* ---- the result of a rank */

static uint64_t sum_of(const vs_result_card *card) {
  const vs_torch_figures *torch = &card->torch;
  return vs_need_with_pools(card) + card->driver_peak_bytes + torch->peak_reserved_bytes +
         torch->peak_allocated_bytes;
}

static void take_card(vs_rank_result *result, const vs_result_card *card) {
  const vs_torch_figures *torch = &card->torch;
  result->needed_bytes = vs_need_with_pools(card);
  result->total_bytes = card->card->figures.total_bytes;
  result->driver_peak_bytes = card->driver_peak_bytes;
  result->has_torch = torch->is_known;
  result->peak_allocated_bytes = torch->peak_allocated_bytes;
  result->peak_reserved_bytes = torch->peak_reserved_bytes;
}

static vs_rank_result result_of(const vs_outcome *outcome, uint32_t rank) {
  vs_rank_result result = {.rank = rank,
                           .verdict = outcome->verdict,
                           .exit_code = outcome->exit_code,
                           .steps = outcome->result->steps};
  const vs_result *found = outcome->result;
  const uint32_t busiest = vs_outcome_busiest(outcome);
  for (uint32_t c = 0; c < found->card_count; c++)
    if (found->cards[c].is_used) result.all_cards_bytes += sum_of(&found->cards[c]);
  if (busiest != found->card_count) take_card(&result, &found->cards[busiest]);
  return result;
}

static bool is_alike(const vs_rank_result *a, const vs_rank_result *b) {
  return a->verdict == b->verdict && a->exit_code == b->exit_code && a->has_torch == b->has_torch &&
         a->peak_allocated_bytes == b->peak_allocated_bytes &&
         a->peak_reserved_bytes == b->peak_reserved_bytes && a->driver_peak_bytes == b->driver_peak_bytes &&
         a->needed_bytes == b->needed_bytes && a->all_cards_bytes == b->all_cards_bytes;
}

/* ---- the worst of all */

static uint32_t severity(vs_verdict verdict) {
  static const uint32_t order[] = {[VS_VERDICT_NO_CUDA] = 0,
                                   [VS_VERDICT_FITS] = 1,
                                   [VS_VERDICT_HANDLED] = 2,
                                   [VS_VERDICT_STOPPED] = 3,
                                   [VS_VERDICT_DOES_NOT_FIT] = 4};
  return order[verdict];
}

static uint64_t least_of(const vs_fit_need *need) {
  return need->is_open_ended ? need->least_bytes : need->bytes;
}

static bool is_larger(const vs_fit_need *a, const vs_fit_need *b) {
  if (a->is_open_ended != b->is_open_ended) return a->is_open_ended;
  return least_of(a) > least_of(b);
}

/* The first need becomes the largest one of all ranks. An open-ended one is at least what any rank needs. */
static void take_worst(vs_outcome *outcome, const vs_outcome *other) {
  VS_ASSERT(outcome->need_count != 0); /* rank 0 used the GPU (obstacle) */
  for (uint32_t i = 0; i < other->need_count; i++) {
    const vs_fit_need *need = &other->needs[i];
    const uint64_t least = vs_max_u64(least_of(need), least_of(&outcome->needs[0]));
    if (is_larger(need, &outcome->needs[0])) {
      outcome->cards[0] = other->cards[i];
      outcome->needs[0] = *need;
    }
    if (outcome->needs[0].is_open_ended) outcome->needs[0].least_bytes = least;
  }
  if (outcome->exit_code == 0) {
    outcome->exit_code = other->exit_code;
    outcome->signal = other->signal;
  }
  if (severity(other->verdict) > severity(outcome->verdict)) outcome->verdict = other->verdict;
}

/* ---- runs */

typedef struct runner {
  vs_outcome *first;
  vs_launch launch;
  vs_dryrun_setup setup; /* with another rank */
  vs_status status;
} runner;

static vs_status keep(vs_ranks *ranks, const vs_rank_result *result, uint32_t *outcome) {
  VS_TRY(vs_vec_reserve(ranks->sampling.host, &ranks->results, 1));
  size_t i = 0;
  while (i < ranks->results.count && !is_alike(&ranks->results.data[i], result)) i++;
  *outcome = (uint32_t)i;
  ranks->results.data[ranks->results.count++] = *result;
  return VS_OK;
}

static vs_status take(runner *r, uint32_t rank, uint32_t *number) {
  vs_outcome *first = r->first;
  vs_result result;
  const int64_t pid = r->launch.children[0].pid;
  VS_TRY(vs_gather(&result, r->setup.host, r->launch.machine, r->launch.folder.path, &pid, 1));
  vs_outcome other = {.setup = &r->setup, .launch = &r->launch, .result = &result};
  vs_outcome_judge(&other);
  const vs_rank_result figures = result_of(&other, rank);
  const vs_status status = keep(&first->ranks, &figures, number);
  if (status == VS_OK) take_worst(first, &other);
  vs_result_deinit(&result);
  return status;
}

/* As vs_sampling_try: false ends the search. */
static bool run(void *ctx, uint32_t rank, uint32_t *number) {
  runner *r = ctx;
  vs_ranks *ranks = &r->first->ranks;
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  if (rank == 0) {
    const vs_rank_result figures = result_of(r->first, 0);
    r->status = keep(ranks, &figures, number);
    return r->status == VS_OK;
  }
  vs_dryrun_show(&r->setup, &(vs_dryrun_progress){.stage = VS_DRYRUN_RANKS,
                                                  .run = (uint32_t)ranks->results.count,
                                                  .rank = rank,
                                                  .world = r->setup.job.world_size});
  r->setup.job.rank = rank;
  vs_status status = vs_launch_run(&r->launch, &r->setup, r->setup.gpus, VS_LAUNCH_SILENT, &error);
  ranks->was_interrupted = r->launch.was_interrupted;
  if (ranks->was_interrupted) ranks->why = "it was interrupted";
  else if (status == VS_OK) r->status = take(r, rank, number);
  error.status = status;
  if (status != VS_OK) {
    vs_dryrun_say(&r->setup, "", &error);
    ranks->why = "a rank could not be started";
  }
  vs_launch_close(&r->launch);
  return status == VS_OK && r->status == VS_OK && ranks->why == NULL;
}

static const char *obstacle(const vs_outcome *first) {
  if (first->launch->was_interrupted) return "it was interrupted";
  switch (first->verdict) {
    case VS_VERDICT_NO_CUDA: return "rank 0 did not use the GPU";
    case VS_VERDICT_STOPPED: return "rank 0 failed, and not because of memory";
    case VS_VERDICT_FITS:
    case VS_VERDICT_HANDLED:
    case VS_VERDICT_DOES_NOT_FIT: break;
  }
  return NULL;
}

static vs_status find(runner *r) {
  vs_ranks *ranks = &r->first->ranks;
  VS_TRY(add_groups(ranks, r->first->result));
  VS_TRY(vs_sampling_find(&ranks->sampling, (vs_sampling_try){.ctx = r, .run = run}));
  vs_dryrun_show_end(&r->setup);
  if (ranks->sampling.is_limited) ranks->why = "too many ranks differ";
  VS_ASSERT(ranks->results.count == ranks->sampling.runs.count || r->status != VS_OK);
  return r->status;
}

vs_status vs_ranks_run(vs_outcome *outcome) {
  const vs_dryrun_setup *setup = outcome->setup;
  vs_ranks *ranks = &outcome->ranks;
  const uint64_t wanted = setup->plan->most_ranks != 0 ? setup->plan->most_ranks : MOST;
  const char *why = obstacle(outcome);
  *ranks = (vs_ranks){.was_made = true, .why = why};
  vs_sampling_init(&ranks->sampling, setup->host, setup->job.world_size,
                   why != NULL ? 1 : (uint32_t)vs_min_u64(wanted, VS_WORLD_MOST));
  runner *r = vs_host_alloc(setup->host, sizeof *r); /* large for a stack */
  if (r == NULL) return VS_NO_MEMORY;
  *r = (runner){.first = outcome, .setup = *setup};
  r->setup.rank_0 = outcome->launch->folder.path;
  const vs_status status = find(r);
  if (why != NULL) ranks->why = why;
  vs_host_free(setup->host, r, sizeof *r);
  return status;
}

void vs_ranks_deinit(vs_ranks *ranks) {
  if (!ranks->was_made) return;
  vs_vec_free(ranks->sampling.host, &ranks->results);
  vs_sampling_deinit(&ranks->sampling);
}
