#include "dryrun/sums.h"

/* ---- cards */

/* It is unknown when a killed process ended: it counts at its own beginning. */
static bool lives_at(const vs_result_process *process, uint64_t time) {
  if (process->end == VS_PROCESS_KILLED && process->ended_us == UINT64_MAX) return process->began_us == time;
  return process->began_us <= time && time <= process->ended_us;
}

static void add_figures(vs_torch_figures *sum, const vs_torch_figures *more) {
  if (!more->is_known) return;
  sum->is_known = true;
  sum->peak_allocated_bytes += more->peak_allocated_bytes;
  sum->peak_requested_bytes += more->peak_requested_bytes;
  sum->peak_reserved_bytes += more->peak_reserved_bytes;
}

/* The most of any value: processes that use one card with such a pool one after the other, each with the limit of all of it. */
static void add_pool(vs_pool_figures *card, const vs_pool_figures *more) {
  card->is_known |= more->is_known;
  card->peak_in_use_bytes = vs_max_u64(card->peak_in_use_bytes, more->peak_in_use_bytes);
  card->peak_pool_bytes = vs_max_u64(card->peak_pool_bytes, more->peak_pool_bytes);
  card->limit_bytes = vs_max_u64(card->limit_bytes, more->limit_bytes);
  card->ooms += more->ooms;
}

/* The sum over the processes that ran when process `i` began. The sum can only grow when a process begins, so the maximum
 * over all `i` is the maximum over time. */
static void sum_together(const vs_result *result, vs_result_card *card, uint32_t c, size_t i) {
  const uint64_t time = result->processes.data[i].began_us;
  vs_torch_figures together = {.is_known = false};
  uint32_t contexts = 0;
  for (size_t k = 0; k < result->processes.count; k++) {
    const vs_result_process *process = &result->processes.data[k];
    if (!process->use[c].is_used || !lives_at(process, time)) continue;
    contexts++;
    add_figures(&together, &process->use[c].torch);
  }
  if (contexts > card->contexts) card->contexts = contexts;
  vs_torch_figures *most = &card->torch;
  most->is_known = most->is_known || together.is_known;
  most->peak_allocated_bytes = vs_max_u64(most->peak_allocated_bytes, together.peak_allocated_bytes);
  most->peak_requested_bytes = vs_max_u64(most->peak_requested_bytes, together.peak_requested_bytes);
  most->peak_reserved_bytes = vs_max_u64(most->peak_reserved_bytes, together.peak_reserved_bytes);
}

/* A process holds its memory a little longer than its recorded end. If the driver's peak is as high as the sum over all
 * processes, they held their memory at the same time. */
static void sum_all(const vs_result *result, vs_result_card *card, uint32_t c) {
  vs_torch_figures all = {
      .has_statistics = card->torch.has_statistics, .ooms = card->torch.ooms, .retries = card->torch.retries};
  uint32_t contexts = 0;
  for (size_t i = 0; i < result->processes.count; i++) {
    const vs_result_use *use = &result->processes.data[i].use[c];
    contexts += use->is_used;
    add_figures(&all, &use->torch);
  }
  const uint64_t needed = vs_sat_add_u64(all.peak_reserved_bytes, contexts * card->card->context_bytes);
  if (!all.is_known || needed > card->driver_peak_bytes) return;
  card->torch = all;
  card->contexts = contexts;
}

static uint64_t ooms_of(const vs_torch_figures *torch, const vs_pool_figures pools[VS_POOL_OWNERS]) {
  uint64_t ooms = torch->ooms;
  for (vs_pool_owner owner = 0; owner < VS_POOL_OWNERS; owner++) ooms += pools[owner].ooms;
  return ooms;
}

static void sum_card(vs_result *result, uint32_t c) {
  VS_ASSERT(c < result->card_count);
  vs_result_card *card = &result->cards[c];
  *card = (vs_result_card){.card = &result->machine->cards[c],
                           .driver_peak_bytes = result->machine->cards[c].peak_bytes,
                           .refused_count = result->machine->cards[c].refused_count,
                           .torch = {.has_statistics = true}};
  for (size_t i = 0; i < result->processes.count; i++) {
    const vs_result_use *use = &result->processes.data[i].use[c];
    if (!use->is_used) continue;
    card->is_used = true;
    card->torch.ooms += use->torch.ooms;
    card->torch.retries += use->torch.retries;
    bool has_pool = false;
    for (vs_pool_owner owner = 0; owner < VS_POOL_OWNERS; owner++) {
      add_pool(&card->pools[owner], &use->pools[owner]);
      has_pool |= use->pools[owner].is_known;
    }
    const bool tries_again = use->torch.is_known || has_pool; /* with less in its cache */
    result->refused += tries_again ? use->context_refused_count : use->refused_count;
    card->torch.has_statistics &= use->torch.has_statistics || !use->torch.is_known;
    sum_together(result, card, c, i);
  }
  sum_all(result, card, c);
  result->ooms += ooms_of(&card->torch, card->pools);
}

/* ---- the main process, which the report is about */

/* Ranks processes: those with errors first, then those with a history, then by bytes. */
static uint64_t weight(const vs_result_process *process, uint32_t card_count) {
  uint64_t bytes = 0, ooms = 0;
  for (uint32_t c = 0; c < card_count; c++) {
    bytes = vs_max_u64(bytes, process->use[c].driver_peak_bytes);
    ooms += ooms_of(&process->use[c].torch, process->use[c].pools);
  }
  const uint64_t below = (UINT64_C(1) << 60) - 1;
  return (bytes < below ? bytes : below) | (ooms != 0 ? UINT64_C(1) << 62 : 0) |
         (vs_result_has_history(process) ? UINT64_C(1) << 61 : 0);
}

static void find_main(vs_result *result) {
  result->main = SIZE_MAX;
  for (size_t i = 0; i < result->processes.count; i++) {
    const vs_result_process *process = &result->processes.data[i];
    result->steps = vs_max_u64(result->steps, process->steps);
    if (result->main == SIZE_MAX || weight(process, result->card_count) >
                                        weight(&result->processes.data[result->main], result->card_count))
      result->main = i;
  }
}

/* ---- doubts */

/* The hook's name for the figures that a process writes when it ends. */
static const char figures_name[] = "PyTorch's figures";

static bool is_figures_problem_known(const vs_result *result) {
  for (size_t i = 0; i < result->doubts.count; i++)
    if (result->doubts.data[i].kind == VS_DOUBT_NOT_RECORDED &&
        vs_str_equal(vs_result_string(result, result->doubts.data[i].what), vs_str_from(figures_name)))
      return true;
  return false;
}

/* Adds doubts for figures that end before their process. If the process called exit(), the hook recorded why it did not
 * write them; if there is no such record, the hook was not called. */
static vs_status doubt_histories(vs_result *result) {
  for (size_t i = 0; i < result->processes.count; i++) {
    const vs_result_process *process = &result->processes.data[i];
    if (!process->has_stats || process->is_complete || process->end == VS_PROCESS_RUNS ||
        vs_result_has_history(process))
      continue;
    const bool was_cut = !process->used_cuda || process->end == VS_PROCESS_KILLED;
    if (!was_cut && is_figures_problem_known(result)) continue;
    vs_doubt *doubt =
        was_cut
            ? vs_result_doubt_of(result, VS_DOUBT_HISTORY, VS_STR("lost"), VS_STR(""), -1)
            : vs_result_doubt_of(result, VS_DOUBT_NOT_RECORDED, vs_str_from(figures_name),
                                 VS_STR("Python's exit handlers did not run, or could write nothing"), -1);
    if (doubt == NULL) return VS_NO_MEMORY;
    doubt->count++;
  }
  return VS_OK;
}

static bool uses_pytorch(const vs_result_process *process, uint32_t card_count) {
  for (uint32_t c = 0; c < card_count; c++)
    if (process->use[c].torch.is_known) return true;
  return false;
}

/* Without the figures of its owner a preallocated pool counts as needed. */
static vs_status doubt_pool(vs_result *result, vs_pool_owner owner) {
  const vs_str what = owner == VS_POOL_JAX ? VS_STR("JAX's figures") : VS_STR("TensorFlow's figures");
  for (size_t i = 0; i < result->processes.count; i++) {
    const vs_result_process *process = &result->processes.data[i];
    if (!process->lacks_pool[owner] || process->end == VS_PROCESS_RUNS ||
        uses_pytorch(process, result->card_count))
      continue;
    vs_doubt *doubt = vs_result_doubt_of(
        result, VS_DOUBT_NOT_RECORDED, what,
        VS_STR("the process was killed; what it preallocated counts as needed, which may be far too much"),
        -1);
    if (doubt == NULL) return VS_NO_MEMORY;
    doubt->count++;
  }
  return VS_OK;
}

static bool is_before(const vs_doubt *a, const vs_doubt *b) {
  if (a->kind != b->kind) return a->kind < b->kind;
  return a->kind == VS_DOUBT_GUESS ? a->bytes > b->bytes : a->count > b->count;
}

/* Sorts by kind, the most frequent first; insertion sort, as there are few. */
static void sort_doubts(vs_result *result) {
  for (size_t i = 1; i < result->doubts.count; i++) {
    const vs_doubt moving = result->doubts.data[i];
    size_t k = i;
    for (; k > 0 && is_before(&moving, &result->doubts.data[k - 1]); k--)
      result->doubts.data[k] = result->doubts.data[k - 1];
    result->doubts.data[k] = moving;
  }
}

vs_status vs_sums_make(vs_result *result) {
  for (uint32_t c = 0; c < result->card_count; c++) sum_card(result, c);
  find_main(result);
  VS_ASSERT((result->main == SIZE_MAX) == (result->processes.count == 0));
  VS_TRY(doubt_histories(result));
  for (vs_pool_owner owner = 0; owner < VS_POOL_OWNERS; owner++) VS_TRY(doubt_pool(result, owner));
  sort_doubts(result);
  return VS_OK;
}
