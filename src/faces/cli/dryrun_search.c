/* --find-smallest: the same program again, silently, on cards with less and less memory. */
#include "faces/cli/dryrun.h"
#include "faces/cli/statusline.h"
#include "os/process.h"

enum {
  GRAIN = 1 << 16, /* totals are multiples of this */
  PRECISION = 100, /* known to one part in so many */
  RUNS_MOST = 40,
};

typedef struct trial {
  vs_dryrun *plan;
  const vs_outcome *first;
  vs_statusline line;
  uint32_t runs;
  uint64_t low, high; /* does not do; does */
  bool is_stopped;    /* by the user, or because it could not be run */
} trial;

static uint64_t round_up(uint64_t bytes) { return (bytes + GRAIN - 1) / GRAIN * GRAIN; }

static void show(trial *t, uint64_t bytes) {
  vs_text text;
  vs_text_init(&text, t->plan->cli->host, NULL);
  vs_text_format(&text, "looking for the smallest size, run %u: ", t->runs + 1);
  vs_text_bytes(&text, bytes, t->plan->cli->screen.unit);
  vs_text_cstr(&text, " (more than ");
  vs_text_bytes(&text, t->low, t->plan->cli->screen.unit);
  vs_text_cstr(&text, ", at most ");
  vs_text_bytes(&text, t->high, t->plan->cli->screen.unit);
  vs_text_byte(&text, ')');
  if (text.status == VS_OK) vs_statusline_draw(&t->line, vs_text_view(&text));
  vs_text_deinit(&text);
}

/* Whether it ends as the first run did, and met no out-of-memory error. What the allocator got after giving
 * back cached memory is fine. */
static bool does(trial *t, uint64_t bytes) {
  static vs_launch launch; /* large for a stack */
  show(t, bytes);
  for (uint32_t i = 0; i < t->plan->gpu_count; i++) t->plan->gpus[i].total_bytes = bytes;
  bool is_good = false;
  vs_result result;
  t->runs++;
  if (vs_dryrun_launch(t->plan, VS_LAUNCH_SILENT, &launch) != VS_EXIT_OK) {
    t->is_stopped = true;
  } else if (launch.was_interrupted) {
    t->is_stopped = true;
  } else if (vs_launch_result(t->plan, &launch, &result) == VS_EXIT_OK) {
    is_good =
        result.ooms + result.refused == 0 && vs_launch_exit(&launch) == vs_launch_exit(t->first->launch);
    vs_result_deinit(&result);
  }
  vs_launch_close(&launch);
  return is_good;
}

/* From what was allocated, which nothing can go below, to what was used at the peak, which does by itself. */
static bool find_bounds(trial *t, uint64_t most) {
  const vs_outcome *first = t->first;
  for (uint32_t i = 0; i < first->need_count; i++) {
    const vs_fit_need *need = &first->needs[i];
    t->high = vs_max_u64(t->high, round_up(need->bytes));
    t->low = vs_max_u64(t->low, need->bytes - vs_min_u64(need->cached_bytes, need->bytes));
  }
  t->low = t->low / GRAIN * GRAIN;
  while (!t->is_stopped && !does(t, t->high)) {
    if (t->is_stopped || t->high >= most) return false;
    t->low = t->high;
    t->high = round_up(vs_min_u64(t->high + t->high / 8, most)); /* it takes more where it sees less */
    if (t->high >= most) return true; /* that is the first run's size, which does */
  }
  return !t->is_stopped;
}

static void bisect(trial *t) {
  while (!t->is_stopped && t->runs < RUNS_MOST && t->high - t->low > t->high / PRECISION) {
    const uint64_t middle = round_up(t->low + (t->high - t->low) / 2);
    if (middle >= t->high) break;
    if (does(t, middle)) t->high = middle;
    else if (!t->is_stopped) t->low = middle;
  }
}

static const char *obstacle(const vs_outcome *first) {
  switch (first->verdict) {
    case VS_VERDICT_FITS: break;
    case VS_VERDICT_NO_CUDA: return "the program did not use the GPU";
    case VS_VERDICT_STOPPED: break; /* it may always do that */
    case VS_VERDICT_HANDLED:
    case VS_VERDICT_DOES_NOT_FIT: return "it met out-of-memory errors: begin with a larger --gpu";
  }
  return vs_launch_signal(first->launch) != 0 ? "a signal ended the program" : NULL;
}

vs_search vs_dryrun_search(vs_dryrun *plan, const vs_outcome *first) {
  vs_search search = {.was_made = true, .why = obstacle(first)};
  if (search.why != NULL) return search;
  vs_sim_gpu gpus[VS_SIM_MAX_DEVICES];
  memcpy(gpus, plan->gpus, sizeof gpus);
  trial t = {.plan = plan, .first = first};
  vs_statusline_begin(&t.line, !vs_cli_has(plan->cli, VS_OPTION_QUIET));
  uint64_t most = UINT64_MAX;
  for (uint32_t c = 0; c < first->result->card_count; c++)
    most = vs_min_u64(most, first->result->cards[c].card->figures.total_bytes);
  search.is_known = find_bounds(&t, most);
  if (search.is_known) bisect(&t);
  vs_statusline_end(&t.line);
  memcpy(plan->gpus, gpus, sizeof gpus);
  search.runs = t.runs;
  search.is_known = search.is_known && !t.is_stopped;
  search.smallest_bytes = search.is_known ? t.high : 0;
  if (!search.is_known) search.why = t.is_stopped ? "it was interrupted" : "the runs contradict each other";
  return search;
}
