/* --find-smallest: runs the same program again, silently, on cards with less memory, and bisects. */
#include "dryrun/search.h"
#include "base/human.h"
#include "dryrun/gather.h"

enum {
  GRAIN = 1 << 16, /* totals are multiples of this */
  PRECISION = 100, /* the answer's error is at most one part in this many */
  RUNS_MOST = 40,
};

typedef struct trial {
  const vs_outcome *first;
  vs_sim_gpu gpus[VS_SIM_MAX_DEVICES]; /* the machine of the next run */
  vs_launch *launch;
  uint32_t runs;
  uint64_t low, high; /* too small; enough */
  bool was_interrupted;
  bool is_stopped; /* interrupted, or a run could not be started */
} trial;

static uint64_t round_up(uint64_t bytes) { return (bytes + GRAIN - 1) / GRAIN * GRAIN; }

/* The size rounded up to the digits that a report shows, in a form that --gpu takes: "6.47GiB". */
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

/* The least size, not below `bytes`, whose shown form names it exactly. */
static uint64_t shown_up(uint64_t bytes) {
  char name[32];
  uint64_t shown;
  name_size(name, sizeof name, bytes);
  return vs_sim_size_parse(vs_str_from(name), &shown) ? vs_max_u64(shown / GRAIN * GRAIN, bytes) : bytes;
}

/* Whether the run that has ended had the exit status of the first one and no out-of-memory error. Requests that succeeded
 * after PyTorch released cached memory do not count as errors. */
static vs_status judge(const trial *t, bool *is_good) {
  const vs_launch *launch = t->launch;
  int64_t pids[VS_SIM_MAX_PROCESSES];
  vs_result result;
  for (size_t i = 0; i < launch->child_count; i++) pids[i] = launch->children[i].pid;
  VS_TRY(vs_gather(&result, t->first->setup->host, launch->machine, launch->folder.path, pids,
                   launch->child_count));
  *is_good = result.ooms + result.refused == 0 && vs_launch_exit(launch) == vs_launch_exit(t->first->launch);
  vs_result_deinit(&result);
  return VS_OK;
}

/* Whether the program runs on cards of that size. */
static bool does(trial *t, uint64_t bytes) {
  const vs_dryrun_setup *setup = t->first->setup;
  bool is_good = false;
  VS_ASSERT(bytes % GRAIN == 0 && t->low <= t->high);
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  t->runs++;
  vs_dryrun_show(setup, &(vs_dryrun_progress){.stage = VS_DRYRUN_SEARCHING,
                                              .run = t->runs,
                                              .tried_bytes = bytes,
                                              .low_bytes = t->low,
                                              .high_bytes = t->high});
  for (uint32_t i = 0; i < setup->gpu_count; i++) t->gpus[i].total_bytes = bytes;
  vs_status status = vs_launch_run(t->launch, setup, t->gpus, VS_LAUNCH_SILENT, &error);
  if (status == VS_OK && !t->launch->was_interrupted) status = judge(t, &is_good);
  error.status = status;
  if (status != VS_OK) vs_dryrun_say(setup, "", &error);
  t->was_interrupted = t->launch->was_interrupted;
  t->is_stopped = status != VS_OK || t->was_interrupted;
  vs_launch_close(t->launch);
  return is_good;
}

/* The lower bound is what was allocated at the peak, which no card can go below; the upper bound is the peak of the used
 * memory, which the first run shows to be enough. */
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
    /* Some programs use more memory when they see a smaller card, so the first run's peak may not be enough. */
    t->high = vs_min_u64(shown_up(round_up(t->high + t->high / 8)), most);
    if (t->high == most) return true; /* the size of the first run, which was enough */
  }
  return !t->is_stopped;
}

/* The next size to try. Sizes that are shown exactly are preferred, so that the answer as it is shown, rounded up, is a size
 * that was tried, or one above the first run's peak, where no request can fail. */
static uint64_t middle_of(const trial *t) {
  const uint64_t middle = round_up(t->low + (t->high - t->low) / 2);
  if (shown_up(middle) < t->high) return shown_up(middle);
  return shown_up(t->low + GRAIN) < t->high ? shown_up(t->low + GRAIN) : middle;
}

static void bisect(trial *t) {
  while (!t->is_stopped && t->runs < RUNS_MOST && t->high - t->low > t->high / PRECISION) {
    const uint64_t middle = middle_of(t);
    VS_ASSERT(middle > t->low);
    if (middle >= t->high) break;
    if (does(t, middle)) t->high = middle;
    else if (!t->is_stopped) t->low = middle;
  }
}

/* The value of --gpu for `bytes` on each card: "2xL4:6.47GiB,T4:6.47GiB". A size without a name selects the kind of card
 * that has such a size, whose context may take more memory than on the card that was tried; then the card is named. */
static void name_gpus(char *name, size_t capacity, const vs_dryrun_setup *setup, uint64_t bytes) {
  char size[32];
  vs_sim_gpu alone = {0};
  vs_error error;
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  name_size(size, sizeof size, bytes);
  if (vs_sim_gpu_parse(vs_str_from(size), &alone, &error) != VS_OK) alone.profile = NULL;
  for (uint32_t i = 0, alike; i < setup->gpu_count; i += alike) {
    const vs_sim_profile *profile = setup->gpus[i].profile;
    for (alike = 1; i + alike < setup->gpu_count && setup->gpus[i + alike].profile == profile;) alike++;
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
    case VS_VERDICT_STOPPED: break; /* each run is compared with this exit status */
    case VS_VERDICT_HANDLED:
    case VS_VERDICT_DOES_NOT_FIT: return "it met out-of-memory errors: begin with a larger --gpu";
  }
  return vs_launch_signal(first->launch) != 0 ? "a signal ended the program" : NULL;
}

vs_search vs_search_run(const vs_outcome *first) {
  vs_search search = {.was_made = true, .why = obstacle(first)};
  if (search.why != NULL) return search;
  const vs_dryrun_setup *setup = first->setup;
  trial t = {.first = first, .launch = vs_host_alloc(setup->host, sizeof *t.launch)}; /* large for a stack */
  search.why = vs_status_text(VS_NO_MEMORY);
  if (t.launch == NULL) return search;
  memcpy(t.gpus, setup->gpus, sizeof t.gpus);
  uint64_t most = UINT64_MAX;
  for (uint32_t c = 0; c < first->result->card_count; c++)
    most = vs_min_u64(most, first->result->cards[c].card->figures.total_bytes);
  const bool is_found = find_bounds(&t, most);
  if (is_found) bisect(&t);
  vs_dryrun_show_end(setup);
  vs_host_free(setup->host, t.launch, sizeof *t.launch);
  search.runs = t.runs;
  search.is_known = is_found && !t.is_stopped;
  search.was_interrupted = t.was_interrupted;
  search.why = t.was_interrupted ? "it was interrupted"
               : t.is_stopped    ? "a run could not be started"
               : search.is_known ? NULL
                                 : "the runs contradict each other";
  search.smallest_bytes = search.is_known ? t.high : 0;
  if (search.is_known) name_gpus(search.gpu, sizeof search.gpu, setup, t.high);
  return search;
}
