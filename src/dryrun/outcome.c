#include "dryrun/outcome.h"
#include "codec/json_reply.h"
#include "dryrun/need.h"

static vs_verdict verdict_of(const vs_launch *launch, const vs_result *result, bool was_used) {
  if (!was_used) return VS_VERDICT_NO_CUDA;
  if (vs_launch_exit(launch) == 0) return result->ooms != 0 ? VS_VERDICT_HANDLED : VS_VERDICT_FITS;
  return result->ooms + result->refused != 0 ? VS_VERDICT_DOES_NOT_FIT : VS_VERDICT_STOPPED;
}

const char *vs_verdict_word(vs_verdict verdict) {
  static const char *const words[] = {"fits", "handled", "does_not_fit", "stopped", "no_cuda"};
  VS_ASSERT((size_t)verdict < sizeof words / sizeof *words);
  return words[verdict];
}

bool vs_outcome_was_interrupted(const vs_outcome *outcome) {
  return outcome->launch->was_interrupted || outcome->ranks.was_interrupted ||
         outcome->search.was_interrupted;
}

int vs_outcome_answer(const vs_outcome *outcome) {
  if (vs_outcome_was_interrupted(outcome)) return VS_DRYRUN_EXIT_INTERRUPTED;
  switch (outcome->verdict) {
    case VS_VERDICT_FITS:
    case VS_VERDICT_HANDLED: return VS_DRYRUN_EXIT_FITS;
    case VS_VERDICT_DOES_NOT_FIT: return VS_DRYRUN_EXIT_DOES_NOT_FIT;
    case VS_VERDICT_STOPPED:
    case VS_VERDICT_NO_CUDA: break;
  }
  return VS_DRYRUN_EXIT_FAILED;
}

void vs_outcome_judge(vs_outcome *outcome) {
  const vs_result *result = outcome->result;
  VS_ASSERT(outcome->need_count == 0 && vs_result_check(result));
  for (uint32_t c = 0; c < result->card_count; c++) {
    if (!result->cards[c].is_used) continue;
    VS_ASSERT(outcome->need_count < VS_SIM_MAX_DEVICES);
    outcome->cards[outcome->need_count] = c;
    outcome->needs[outcome->need_count++] = vs_need_of(result, c, outcome->setup->plan->context != NULL);
  }
  outcome->verdict = verdict_of(outcome->launch, result, outcome->need_count != 0);
  outcome->exit_code = vs_launch_exit(outcome->launch);
  outcome->signal = vs_launch_signal(outcome->launch);
}

uint32_t vs_outcome_busiest(const vs_outcome *outcome) {
  const vs_result *result = outcome->result;
  uint32_t busiest = result->card_count;
  for (uint32_t c = 0; c < result->card_count; c++)
    if (result->cards[c].is_used &&
        (busiest == result->card_count ||
         vs_need_with_pools(&result->cards[c]) > vs_need_with_pools(&result->cards[busiest])))
      busiest = c;
  return busiest;
}

vs_json vs_outcome_entry_of(const vs_outcome *outcome, vs_json list, uint32_t card) {
  const vs_result *result = outcome->result;
  for (size_t i = 0; result->main != SIZE_MAX && i < vs_json_count(list); i++) {
    const vs_json one = vs_json_at(list, i);
    const uint64_t number = vs_json_u64(vs_reply_at(one, "device"), UINT64_MAX);
    uint32_t found;
    if (vs_result_card_of_number(result, &result->processes.data[result->main], number, &found) &&
        found == card)
      return one;
  }
  return vs_json_at(list, SIZE_MAX); /* absent */
}

int64_t vs_outcome_headroom(const vs_outcome *outcome) {
  const vs_result *result = outcome->result;
  int64_t least = INT64_MAX;
  for (uint32_t c = 0; c < result->card_count; c++) {
    if (!result->cards[c].is_used) continue;
    const int64_t total = (int64_t)result->cards[c].card->figures.total_bytes; /* at most VS_SIM_MOST_TOTAL */
    const uint64_t needed = vs_need_with_pools(&result->cards[c]);
    const int64_t spare = total - (int64_t)vs_min_u64(needed, INT64_MAX);
    if (spare < least) least = spare;
  }
  return least;
}
