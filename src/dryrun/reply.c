#include "dryrun/reply.h"
#include "base/path.h"
#include "codec/json_reply.h"
#include "codec/json_writer.h"
#include "dryrun/need.h"
#include "dryrun/reply_ledger.h"
#include "dryrun/reply_ranks.h"

/* ---- values */

static void put_member(vs_jsonw *w, const char *key, vs_json value) {
  vs_jsonw_key(w, vs_str_from(key));
  vs_reply_put(w, value);
}

static void put_u64_or_null(vs_jsonw *w, const char *key, bool is_known, uint64_t value) {
  if (is_known) vs_jsonw_member_u64(w, key, value);
  else vs_jsonw_member_null(w, key);
}

static void put_str_or_null(vs_jsonw *w, const char *key, vs_str value) {
  if (value.size != 0) vs_jsonw_member_str(w, key, value);
  else vs_jsonw_member_null(w, key);
}

static void put_torch(vs_jsonw *w, const vs_torch_figures *torch) {
  vs_jsonw_key(w, VS_STR("torch"));
  if (!torch->is_known) {
    vs_jsonw_null(w);
    return;
  }
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "peak_reserved_bytes", torch->peak_reserved_bytes);
  vs_jsonw_member_u64(w, "peak_allocated_bytes", torch->peak_allocated_bytes);
  put_u64_or_null(w, "peak_requested_bytes", torch->has_statistics, torch->peak_requested_bytes);
  vs_jsonw_member_u64(w, "ooms", torch->ooms);
  put_u64_or_null(w, "retries", torch->has_statistics, torch->retries);
  vs_jsonw_object_end(w);
}

static void put_pool(vs_jsonw *w, vs_str key, const vs_pool_figures *pool) {
  vs_jsonw_key(w, key);
  if (!pool->is_known) {
    vs_jsonw_null(w);
    return;
  }
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "peak_bytes_in_use", pool->peak_in_use_bytes);
  vs_jsonw_member_u64(w, "peak_pool_bytes", pool->peak_pool_bytes);
  vs_jsonw_member_u64(w, "bytes_limit", pool->limit_bytes);
  vs_jsonw_member_bool(w, "preallocated", vs_pool_is_preallocated(pool));
  vs_jsonw_member_u64(w, "ooms", pool->ooms);
  vs_jsonw_object_end(w);
}

static void put_pools(vs_jsonw *w, const vs_pool_figures pools[VS_POOL_OWNERS]) {
  put_pool(w, VS_STR("jax"), &pools[VS_POOL_JAX]);
  put_pool(w, VS_STR("tensorflow"), &pools[VS_POOL_TENSORFLOW]);
}

/* ---- sections */

static void put_devices(vs_jsonw *w, const vs_outcome *outcome) {
  const vs_result *result = outcome->result;
  VS_ASSERT(result->card_count == outcome->setup->gpu_count);
  vs_jsonw_key(w, VS_STR("devices"));
  vs_jsonw_array_begin(w);
  for (uint32_t c = 0; c < result->card_count; c++) {
    const vs_result_card *card = &result->cards[c];
    vs_jsonw_object_begin(w);
    vs_jsonw_member_u64(w, "device", c);
    vs_jsonw_member_str(w, "name", vs_str_from(card->card->name));
    vs_jsonw_member_str(w, "gpu", vs_str_from(outcome->setup->gpus[c].profile->key));
    vs_jsonw_member_bool(w, "is_only_size", outcome->setup->gpus[c].is_only_size);
    vs_jsonw_member_u64(w, "total_bytes", card->card->figures.total_bytes);
    vs_jsonw_member_u64(w, "nvml_total_bytes", card->card->figures.nvml_total_bytes);
    vs_jsonw_member_u64(w, "taken_bytes", card->card->taken_bytes);
    vs_jsonw_member_bool(w, "used", card->is_used);
    vs_jsonw_member_u64(w, "driver_peak_bytes", card->driver_peak_bytes);
    vs_jsonw_member_u64(w, "context_bytes", card->card->context_bytes);
    vs_jsonw_member_u64(w, "contexts", card->contexts);
    vs_jsonw_member_u64(w, "driver_refusals", card->refused_count);
    put_torch(w, &card->torch);
    put_pools(w, card->pools);
    vs_jsonw_member_u64(w, "needed_bytes", vs_need_with_pools(card));
    vs_dryrun_reply_ledger(w, result, c, VS_LEDGER_OF_ALL);
    vs_jsonw_object_end(w);
  }
  vs_jsonw_array_end(w);
}

/* How many rows a report shows (vs_fit_select), and how many it can choose from. */
enum { FITS_SHOWN = 6, FITS_MOST = 256 };

static void put_fits(vs_jsonw *w, const vs_outcome *outcome) {
  bool shown[FITS_MOST];
  const vs_sim_gpu *own = &outcome->setup->gpus[0];
  const bool has_rows = outcome->need_count != 0, has_choice = outcome->fits.rows.count <= FITS_MOST;
  if (has_rows && has_choice)
    (void)vs_fit_select(&outcome->fits, own->is_only_size ? NULL : own->profile, FITS_SHOWN, shown);
  vs_jsonw_key(w, VS_STR("fit"));
  vs_jsonw_array_begin(w);
  for (size_t i = 0; has_rows && i < outcome->fits.rows.count; i++) {
    const vs_fit_row *row = &outcome->fits.rows.data[i];
    vs_jsonw_object_begin(w);
    vs_jsonw_member_str(w, "gpu", vs_str_from(row->profile->key));
    vs_jsonw_member_str(w, "name", vs_str_from(row->profile->name));
    vs_jsonw_member_u64(w, "total_bytes", row->total_bytes);
    vs_jsonw_member_str(w, "fits", vs_str_from(vs_fit_word(row->fit)));
    if (row->fit == VS_FIT_UNKNOWN) vs_jsonw_member_null(w, "headroom_bytes");
    else vs_jsonw_member_i64(w, "headroom_bytes", row->headroom_bytes);
    vs_jsonw_member_bool(w, "shown", has_choice && shown[i]);
    vs_jsonw_object_end(w);
  }
  vs_jsonw_array_end(w);
}

static void put_needs(vs_jsonw *w, const vs_outcome *outcome) {
  vs_jsonw_key(w, VS_STR("needs"));
  vs_jsonw_array_begin(w);
  for (uint32_t i = 0; i < outcome->need_count; i++) {
    const vs_fit_need *need = &outcome->needs[i];
    vs_jsonw_object_begin(w);
    vs_jsonw_member_u64(w, "device", outcome->cards[i]);
    put_u64_or_null(w, "bytes", !need->is_open_ended, need->bytes);
    vs_jsonw_member_u64(w, "least_bytes",
                        need->is_open_ended ? need->least_bytes
                                            : need->bytes - vs_min_u64(need->cached_bytes, need->bytes));
    vs_jsonw_object_end(w);
  }
  vs_jsonw_array_end(w);
}

static void put_job(vs_jsonw *w, const vs_dryrun_setup *setup) {
  vs_jsonw_key(w, VS_STR("job"));
  if (!setup->has_job) {
    vs_jsonw_null(w);
    return;
  }
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "world_size", setup->job.world_size);
  vs_jsonw_member_u64(w, "rank", setup->job.rank);
  vs_jsonw_member_u64(w, "processes", setup->job.processes);
  vs_jsonw_object_end(w);
}

static void put_search(vs_jsonw *w, const vs_search *search) {
  put_u64_or_null(w, "smallest_bytes", search->is_known, search->smallest_bytes);
  vs_jsonw_key(w, VS_STR("search"));
  if (!search->was_made) {
    vs_jsonw_null(w);
    return;
  }
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "runs", search->runs);
  if (search->is_known) vs_jsonw_member_null(w, "why");
  else vs_jsonw_member_str(w, "why", vs_str_from(search->why));
  if (search->is_known) vs_jsonw_member_str(w, "gpu", vs_str_from(search->gpu));
  else vs_jsonw_member_null(w, "gpu");
  vs_jsonw_object_end(w);
}

static void put_oom(vs_jsonw *w, const vs_result *result) {
  const vs_result_oom *oom = &result->oom;
  vs_jsonw_key(w, VS_STR("oom"));
  if (!oom->is_there || result->ooms + result->refused == 0) {
    vs_jsonw_null(w);
    return;
  }
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "device", oom->card);
  vs_jsonw_member_u64(w, "asked_bytes", oom->asked_bytes);
  vs_jsonw_member_u64(w, "free_bytes", oom->free_bytes);
  vs_jsonw_member_bool(w, "in_jax_limit", oom->is_pool && oom->pool == VS_POOL_JAX);
  vs_jsonw_member_bool(w, "in_tensorflow_limit", oom->is_pool && oom->pool == VS_POOL_TENSORFLOW);
  put_u64_or_null(w, "allocated_bytes", oom->has_torch, oom->allocated_bytes);
  put_u64_or_null(w, "reserved_bytes", oom->has_torch, oom->reserved_bytes);
  vs_jsonw_object_end(w);
}

/* The answers about a process' history: those of the main one are in the root; absent: it is unknown. */
static vs_json answers_of(const vs_outcome *outcome, size_t number) {
  const vs_json others = vs_reply_at(outcome->history, "others");
  const uint64_t pid = outcome->result->processes.data[number].pid;
  if (number == outcome->result->main) return outcome->history;
  for (size_t i = 0; i < vs_json_count(others); i++)
    if (vs_reply_u64(vs_json_at(others, i), "pid") == pid) return vs_json_at(others, i);
  return (vs_json){.value.kind = VS_JSON_ABSENT};
}

/* "devices" of its report. */
static vs_json report_of(const vs_outcome *outcome, size_t number) {
  return vs_reply_at(vs_reply_at(answers_of(outcome, number), "report"), "devices");
}

/* The peak of the process on that card, as its history has it; absent: it is unknown. */
static vs_json peak_of(const vs_outcome *outcome, size_t number, uint32_t card) {
  const vs_result *result = outcome->result;
  const vs_json devices = report_of(outcome, number);
  vs_json peak = {.value.kind = VS_JSON_ABSENT};
  for (size_t i = 0; i < vs_json_count(devices); i++) {
    const vs_json device = vs_json_at(devices, i);
    const uint64_t of_torch = vs_json_u64(vs_reply_at(device, "device"), UINT64_MAX);
    uint32_t of;
    if (vs_result_card_of_number(result, &result->processes.data[number], of_torch, &of) && of == card)
      peak = vs_reply_at(device, "peak");
  }
  return peak;
}

/* What owned the memory of the process on that card at its peak; null: it is unknown. */
static void put_owners(vs_jsonw *w, const vs_outcome *outcome, size_t number, uint32_t card) {
  const vs_json peak = peak_of(outcome, number, card);
  put_u64_or_null(w, "owner_count", !vs_json_is_absent(peak), vs_reply_u64(peak, "owner_count"));
  put_member(w, "owners", vs_reply_at(peak, "owners"));
}

/* What the memory of PyTorch's allocator on that card consisted of at the card's peak, or why that is unknown. */
static void put_reserved(vs_jsonw *w, const vs_outcome *outcome, size_t number, uint32_t card) {
  const vs_json answers = answers_of(outcome, number), all = vs_reply_at(answers, "reserved");
  vs_json found = {.value.kind = VS_JSON_ABSENT};
  for (size_t i = 0; i < vs_json_count(all); i++)
    if (vs_reply_u64(vs_json_at(all, i), "card") == card) found = vs_json_at(all, i);
  put_member(w, "reserved", vs_reply_at(found, "reply"));
  vs_str why = vs_reply_str(found, "why");
  if (vs_dryrun_ledger_pytorch(outcome->result, card, outcome->result->processes.data[number].pid) == 0)
    why = VS_STR("PyTorch's allocator had nothing of this GPU at its peak");
  else if (vs_json_is_absent(answers))
    why = VS_STR("no history of PyTorch's allocator was read of the process");
  else if (vs_json_is_absent(found))
    why = VS_STR("the history of the process has no device that is known to be this GPU");
  put_str_or_null(w, "reserved_why", why);
}

/* Bytes that a killed process had at its peaks and that its recording does not have, because it had not been written. */
static uint64_t unrecorded_bytes(const vs_outcome *outcome, size_t number) {
  const vs_result_process *process = &outcome->result->processes.data[number];
  uint64_t bytes = 0;
  if (!vs_result_has_history(process) || process->has_snapshot) return 0;
  for (uint32_t c = 0; c < outcome->result->card_count; c++) {
    const uint64_t recorded = vs_reply_u64(peak_of(outcome, number, c), "allocated_bytes"),
                   allocated =
                       process->use[c].torch.is_known ? process->use[c].torch.peak_allocated_bytes : 0;
    if (allocated > recorded) bytes += allocated - recorded;
  }
  return bytes;
}

static void put_history_source(vs_jsonw *w, const vs_result_process *process) {
  vs_jsonw_key(w, VS_STR("history_source"));
  if (!vs_result_has_history(process)) vs_jsonw_null(w);
  else vs_jsonw_str(w, process->has_snapshot ? VS_STR("snapshot") : VS_STR("recording"));
}

static void put_processes(vs_jsonw *w, const vs_outcome *outcome) {
  static const char *const ends[] = {"ended", "killed", "running"};
  const vs_result *result = outcome->result;
  vs_jsonw_key(w, VS_STR("processes"));
  vs_jsonw_array_begin(w);
  for (size_t i = 0; i < result->processes.count; i++) {
    const vs_result_process *process = &result->processes.data[i];
    const vs_json stats = vs_json_root(&process->stats);
    VS_ASSERT((size_t)process->end < sizeof ends / sizeof *ends);
    const bool is_child = process->child != VS_NO_CHILD && process->child < outcome->launch->child_count;
    const vs_child *child = is_child ? &outcome->launch->children[process->child] : NULL;
    vs_jsonw_object_begin(w);
    vs_jsonw_member_u64(w, "pid", process->pid);
    vs_jsonw_member_str(w, "program", vs_result_string(result, process->program));
    put_u64_or_null(w, "rank", outcome->setup->has_job && is_child,
                    outcome->setup->job.rank + process->child);
    vs_jsonw_member_str(w, "end", vs_str_from(ends[process->end]));
    put_u64_or_null(w, "exit_code", is_child && child->signal == 0,
                    is_child ? (uint64_t)child->exit_code : 0);
    put_u64_or_null(w, "signal", is_child && child->signal != 0, is_child ? (uint64_t)child->signal : 0);
    vs_jsonw_member_u64(w, "steps", process->steps);
    vs_jsonw_member_u64(w, "kernels", process->kernels);
    vs_jsonw_member_u64(w, "value_reads", process->reads);
    put_member(w, "torch_version", vs_reply_at(stats, "torch"));
    put_member(w, "allocator", vs_reply_at(stats, "allocator"));
    put_member(w, "history", vs_reply_at(stats, "history"));
    put_history_source(w, process);
    put_member(w, "model", vs_reply_at(stats, "model"));
    vs_jsonw_member_bool(w, "complete", process->is_complete);
    vs_jsonw_key(w, VS_STR("devices"));
    vs_jsonw_array_begin(w);
    for (uint32_t c = 0; c < result->card_count; c++) {
      if (!process->use[c].is_used) continue;
      vs_jsonw_object_begin(w);
      vs_jsonw_member_u64(w, "device", c);
      vs_jsonw_member_u64(w, "driver_peak_bytes", process->use[c].driver_peak_bytes);
      put_torch(w, &process->use[c].torch);
      put_pools(w, process->use[c].pools);
      put_owners(w, outcome, i, c);
      vs_dryrun_reply_ledger(w, result, c, process->pid);
      put_reserved(w, outcome, i, c);
      vs_jsonw_object_end(w);
    }
    vs_jsonw_array_end(w);
    vs_jsonw_object_end(w);
  }
  vs_jsonw_array_end(w);
}

static void put_doubt(vs_jsonw *w, const vs_result *result, const vs_doubt *doubt) {
  const vs_str what = vs_result_string(result, doubt->what), detail = vs_result_string(result, doubt->detail);
  vs_jsonw_object_begin(w);
  switch (doubt->kind) {
    case VS_DOUBT_READ:
      vs_jsonw_member_str(w, "kind", VS_STR("value_read"));
      vs_jsonw_member_str(w, "place", what);
      vs_jsonw_member_str(w, "file", detail);
      vs_jsonw_key(w, VS_STR("line"));
      if (doubt->line < 0) vs_jsonw_null(w);
      else vs_jsonw_i64(w, doubt->line);
      vs_jsonw_member_u64(w, "count", doubt->count);
      vs_jsonw_member_u64(w, "bytes", doubt->bytes);
      put_str_or_null(w, "give", vs_result_string(result, doubt->give));
      put_u64_or_null(w, "repeats", doubt->repeats != 0, doubt->repeats);
      break;
    case VS_DOUBT_CANNOT_RUN:
      vs_jsonw_member_str(w, "kind", VS_STR("cannot_run"));
      vs_jsonw_member_str(w, "name", what);
      vs_jsonw_member_str(w, "sentence", detail);
      break;
    case VS_DOUBT_GUESS:
      vs_jsonw_member_str(w, "kind", VS_STR("guess"));
      vs_jsonw_member_str(w, "what", what);
      vs_jsonw_member_u64(w, "bytes", doubt->bytes);
      put_u64_or_null(w, "most_bytes", doubt->most != UINT64_MAX, doubt->most);
      vs_jsonw_member_str(w, "sentence", detail);
      break;
    case VS_DOUBT_REFUSED:
      vs_jsonw_member_str(w, "kind", VS_STR("refused"));
      vs_jsonw_member_str(w, "name", what);
      vs_jsonw_member_str(w, "library", detail);
      break;
    case VS_DOUBT_HISTORY:
      vs_jsonw_member_str(w, "kind", VS_STR("history_lost"));
      vs_jsonw_member_u64(w, "processes", doubt->count);
      break;
    case VS_DOUBT_ASSUMED:
      vs_jsonw_member_str(w, "kind", VS_STR("assumed"));
      vs_jsonw_member_str(w, "what", what);
      vs_jsonw_key(w, VS_STR("place"));
      if (detail.size == 0) vs_jsonw_null(w);
      else vs_jsonw_str(w, detail);
      put_u64_or_null(w, "count", doubt->times != 0, doubt->times);
      vs_jsonw_member_u64(w, "processes", doubt->count);
      break;
    case VS_DOUBT_NOT_RECORDED:
      vs_jsonw_member_str(w, "kind", VS_STR("not_recorded"));
      vs_jsonw_member_str(w, "what", what);
      vs_jsonw_member_str(w, "why", detail);
      vs_jsonw_member_u64(w, "processes", doubt->count);
      break;
  }
  vs_jsonw_object_end(w);
}

static void put_command(vs_jsonw *w, char *const *words) {
  vs_jsonw_key(w, VS_STR("command"));
  vs_jsonw_array_begin(w);
  for (size_t i = 0; words[i] != NULL; i++) vs_jsonw_str(w, vs_str_from(words[i]));
  vs_jsonw_array_end(w);
}

static void put_option(vs_jsonw *w, const char *key, const char *value) {
  vs_jsonw_key(w, vs_str_from(key));
  if (value == NULL) vs_jsonw_null(w);
  else vs_jsonw_str(w, vs_str_from(value));
}

/* ---- the reply */

/* Of the reads at the file of a place the one with the nearest line: what may have been meant where the place has none. */
static const vs_doubt *nearest_read(const vs_result *result, const vs_given_place *place) {
  const vs_doubt *nearest = NULL;
  uint64_t least = UINT64_MAX;
  for (size_t i = 0; i < result->doubts.count; i++) {
    const vs_doubt *doubt = &result->doubts.data[i];
    if (doubt->kind != VS_DOUBT_READ || doubt->line < 0) continue;
    if (!vs_path_ends_with(vs_result_string(result, doubt->detail), place->file)) continue;
    const int64_t distance = doubt->line - (int64_t)place->line;
    const uint64_t lines = distance < 0 ? 0 - (uint64_t)distance : (uint64_t)distance;
    if (lines >= least) continue;
    least = lines;
    nearest = doubt;
  }
  return nearest;
}

static vs_place_use use_of(const vs_result *result, const vs_given_place *place) {
  for (size_t i = 0; i < result->place_uses.count; i++)
    if (vs_str_equal(vs_result_string(result, result->place_uses.data[i].text), place->text))
      return result->place_uses.data[i];
  return (vs_place_use){.reads = 0};
}

static void put_places(vs_jsonw *w, const vs_outcome *outcome) {
  const vs_given_values *given = &outcome->setup->given;
  vs_jsonw_key(w, VS_STR("value_places"));
  vs_jsonw_array_begin(w);
  for (uint32_t i = 0; i < given->count; i++) {
    const vs_given_place *place = &given->places[i];
    const vs_place_use use = use_of(outcome->result, place);
    const vs_doubt *nearest = use.reads == 0 ? nearest_read(outcome->result, place) : NULL;
    vs_jsonw_object_begin(w);
    vs_jsonw_member_str(w, "place", place->place);
    vs_jsonw_member_str(w, "file", place->file);
    vs_jsonw_member_u64(w, "line", place->line);
    vs_jsonw_member_str(w, "value", place->word);
    vs_jsonw_member_u64(w, "reads", use.reads);
    vs_jsonw_member_u64(w, "misfits", use.misfits);
    put_str_or_null(w, "nearest",
                    nearest == NULL ? VS_STR("") : vs_result_string(outcome->result, nearest->what));
    vs_jsonw_object_end(w);
  }
  vs_jsonw_array_end(w);
}

static void put_run(vs_jsonw *w, const vs_outcome *outcome) {
  put_command(w, outcome->setup->plan->command);
  vs_jsonw_member_str(w, "verdict", vs_str_from(vs_verdict_word(outcome->verdict)));
  vs_jsonw_member_i64(w, "exit_code", outcome->exit_code);
  put_u64_or_null(w, "signal", outcome->signal != 0, (uint64_t)outcome->signal);
  vs_jsonw_member_bool(w, "interrupted", vs_outcome_was_interrupted(outcome));
  put_option(w, "until", outcome->setup->plan->until);
  put_u64_or_null(w, "ended_us", outcome->launch->ended_us != 0, outcome->launch->ended_us);
  vs_jsonw_member_u64(w, "time_us", outcome->launch->took_us);
  vs_jsonw_member_u64(w, "steps", outcome->result->steps);
  put_job(w, outcome->setup);
  vs_jsonw_member_str(w, "values", vs_str_from(vs_values_word(outcome->setup->given.values)));
  put_places(w, outcome);
  vs_jsonw_member_bool(w, "repeatable", outcome->launch->is_repeatable);
}

void vs_dryrun_reply_kv_cache(vs_jsonw *w, const vs_result *result) {
  const vs_kv_cache *cache = &result->kv_cache;
  if (cache->engines == 0) {
    vs_jsonw_null(w);
    return;
  }
  vs_jsonw_object_begin(w);
  vs_jsonw_member_str(w, "engine", vs_result_string(result, cache->engine));
  vs_jsonw_member_u64(w, "engines", cache->engines);
  vs_jsonw_member_u64(w, "blocks", cache->blocks);
  vs_jsonw_member_u64(w, "blocks_per_request", cache->for_one);
  vs_jsonw_member_u64(w, "max_model_len", cache->max_tokens);
  vs_jsonw_member_u64(w, "tokens", vs_need_kv_tokens(cache));
  vs_jsonw_member_f64(w, "requests", vs_need_kv_requests(cache));
  vs_jsonw_object_end(w);
}

/* What the main process used of the card, with its context; null of pinned host memory. */
static void put_driver_peak(vs_jsonw *w, const vs_outcome *outcome, vs_json inventory) {
  const vs_result *result = outcome->result;
  const uint64_t device = vs_json_u64(vs_reply_at(inventory, "device"), UINT64_MAX);
  uint32_t card = 0;
  const bool is_known =
      result->main != SIZE_MAX &&
      vs_result_card_of_number(result, &result->processes.data[result->main], device, &card);
  put_u64_or_null(w, "peak_driver_bytes", is_known,
                  is_known ? result->processes.data[result->main].use[card].driver_peak_bytes : 0);
}

/* The engine's inventories, and what only the run knows. */
static void put_inventories(vs_jsonw *w, const vs_outcome *outcome) {
  const vs_json inventories = vs_reply_at(outcome->history, "inventories");
  vs_jsonw_key(w, VS_STR("inventories"));
  vs_jsonw_array_begin(w);
  for (size_t i = 0; i < vs_json_count(inventories); i++) {
    const vs_json inventory = vs_json_at(inventories, i);
    vs_jsonw_object_begin(w);
    put_driver_peak(w, outcome, inventory);
    for (size_t k = 0; k < vs_json_count(inventory); k++) {
      vs_jsonw_key(w, vs_json_name_at(inventory, k));
      vs_reply_put(w, vs_json_at(inventory, k));
    }
    vs_jsonw_object_end(w);
  }
  vs_jsonw_array_end(w);
}

/* Only the histories tell whether recordings have all: so this doubt is not one of the result's. */
static void put_cut_histories(vs_jsonw *w, const vs_outcome *outcome) {
  uint64_t processes = 0, bytes = 0;
  for (size_t i = 0; i < outcome->result->processes.count; i++) {
    const uint64_t missing = unrecorded_bytes(outcome, i);
    processes += missing != 0;
    bytes = vs_max_u64(bytes, missing);
  }
  if (processes == 0) return;
  vs_jsonw_object_begin(w);
  vs_jsonw_member_str(w, "kind", VS_STR("history_cut"));
  vs_jsonw_member_u64(w, "processes", processes);
  vs_jsonw_member_u64(w, "bytes", bytes);
  vs_jsonw_object_end(w);
}

static void put_findings(vs_jsonw *w, const vs_outcome *outcome) {
  const vs_result *result = outcome->result;
  const uint64_t training = vs_need_training_bytes(result);
  put_member(w, "model", vs_need_model(result));
  put_u64_or_null(w, "training_bytes", training != 0, training);
  vs_jsonw_key(w, VS_STR("kv_cache"));
  vs_dryrun_reply_kv_cache(w, result);
  vs_jsonw_key(w, VS_STR("doubts"));
  vs_jsonw_array_begin(w);
  for (size_t i = 0; i < result->doubts.count; i++) put_doubt(w, result, &result->doubts.data[i]);
  put_cut_histories(w, outcome);
  vs_jsonw_array_end(w);
  put_processes(w, outcome);
  put_u64_or_null(w, "report_pid", !vs_json_is_absent(outcome->history),
                  result->main == SIZE_MAX ? 0 : result->processes.data[result->main].pid);
  put_member(w, "report", vs_reply_at(vs_reply_at(outcome->history, "report"), "devices"));
  put_inventories(w, outcome);
  if (outcome->setup->plan->step_ranges != NULL)
    put_member(w, "step_ranges", vs_reply_at(outcome->history, "step_ranges"));
}

static void put_changes(vs_jsonw *w, const vs_outcome *outcome) {
  vs_changed changed = outcome->setup->changed;
  vs_changed_begin(&changed, outcome->launch->folder.path);
  vs_jsonw_key(w, VS_STR("changes"));
  const vs_status status = vs_changed_put(w, outcome->setup->host, &changed);
  if (status != VS_OK) w->text->status = status;
}

void vs_dryrun_reply_put(vs_jsonw *w, const vs_outcome *outcome) {
  VS_ASSERT((outcome->need_count == 0) == (outcome->verdict == VS_VERDICT_NO_CUDA));
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "schema", 1);
  vs_jsonw_member_str(w, "method", VS_STR("dryrun"));
  vs_jsonw_member_bool(w, "simulated", true);
  put_run(w, outcome);
  put_devices(w, outcome);
  put_needs(w, outcome);
  put_fits(w, outcome);
  put_search(w, &outcome->search);
  vs_dryrun_reply_ranks(w, &outcome->ranks);
  put_oom(w, outcome->result);
  put_findings(w, outcome);
  put_changes(w, outcome);
  vs_jsonw_object_end(w);
}

void vs_dryrun_put_reply(vs_text *text, const vs_outcome *outcome) {
  vs_jsonw w;
  vs_jsonw_begin(&w, text, 0);
  vs_dryrun_reply_put(&w, outcome);
  vs_jsonw_end(&w);
}
