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

/* "6.47GiB": the size as people read it, rounded up, in a form that --gpu takes. */
static void name_size(char *name, size_t capacity, uint64_t bytes) {
  vs_text text;
  size_t count = 0;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_text_bytes_up(&text, bytes, VS_UNIT_BINARY);
  const vs_str view = vs_text_view(&text);
  for (size_t i = 0; i < view.size && count + 1 < capacity; i++)
    if (view.data[i] != ' ' && view.data[i] != ',') name[count++] = (char)view.data[i];
  name[count] = 0;
  vs_text_deinit(&text);
}

/* The least size from `bytes` on that is shown exactly, as --gpu takes it. */
static uint64_t shown_up(uint64_t bytes) {
  char name[32];
  uint64_t shown;
  name_size(name, sizeof name, bytes);
  return vs_sim_size_parse(vs_str_from(name), &shown) ? vs_max_u64(shown / GRAIN * GRAIN, bytes) : bytes;
}

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
    t->high =
        shown_up(round_up(vs_min_u64(t->high + t->high / 8, most))); /* it takes more where it sees less */
    if (t->high >= most) return true; /* that is the first run's size, which does */
  }
  return !t->is_stopped;
}

/* The next size to try. Sizes that are shown exactly come first: so what is shown of the answer, rounded up, is a size
 * that was tried, or one above the first run's peak, where no request can fail. */
static uint64_t middle_of(const trial *t) {
  const uint64_t middle = round_up(t->low + (t->high - t->low) / 2);
  if (shown_up(middle) < t->high) return shown_up(middle);
  return shown_up(t->low + GRAIN) < t->high ? shown_up(t->low + GRAIN) : middle;
}

static void bisect(trial *t) {
  while (!t->is_stopped && t->runs < RUNS_MOST && t->high - t->low > t->high / PRECISION) {
    const uint64_t middle = middle_of(t);
    if (middle >= t->high) break;
    if (does(t, middle)) t->high = middle;
    else if (!t->is_stopped) t->low = middle;
  }
}

/* The machine with `bytes` on each card: "2xL4:6.47GiB,T4:6.47GiB". A size alone means a card of the kind that has such
 * a size, whose context may take more than that of the card which was tried: then the card is named. */
static void name_gpus(char *name, size_t capacity, const vs_dryrun *plan, uint64_t bytes) {
  char size[32];
  vs_sim_gpu alone = {0};
  vs_error error;
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  name_size(size, sizeof size, bytes);
  if (vs_sim_gpu_parse(vs_str_from(size), &alone, &error) != VS_OK) alone.profile = NULL;
  for (uint32_t i = 0, alike; i < plan->gpu_count; i += alike) {
    const vs_sim_profile *profile = plan->gpus[i].profile;
    for (alike = 1; i + alike < plan->gpu_count && plan->gpus[i + alike].profile == profile;) alike++;
    if (i != 0) vs_text_byte(&text, ',');
    if (alike > 1) vs_text_format(&text, "%ux", alike);
    if (profile != alone.profile) vs_text_format(&text, "%s:", profile->key);
    vs_text_cstr(&text, size);
  }
  vs_format(name, capacity, "%S", vs_text_view(&text));
  vs_text_deinit(&text);
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
  if (search.is_known) name_gpus(search.gpu, sizeof search.gpu, plan, t.high);
  if (!search.is_known) search.why = t.is_stopped ? "it was interrupted" : "the runs contradict each other";
  return search;
}
