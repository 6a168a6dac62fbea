#include "dryrun/trials.h"
#include "codec/json_reply.h"
#include "dryrun/gather.h"
#include "dryrun/history.h"
#include "dryrun/output_tail.h"
#include "dryrun/reply.h"
#include "dryrun/reply_table.h"

/* ---- the card, and one like it with more memory */

enum { MIB = 1 << 20 };

/* Enough for a program that needs far too much, and not so much that it differs in what depends on the size. */
static uint64_t roomy_of(uint64_t bytes) {
  enum { TIMES = 8 };
  const uint64_t least = UINT64_C(256) << 30;
  return vs_min_u64(vs_max_u64(vs_min_u64(bytes, VS_SIM_MOST_TOTAL) * TIMES, least), VS_SIM_MOST_TOTAL) /
         MIB * MIB;
}

static uint64_t context_of(const vs_sim_gpu *gpu) {
  return gpu->has_context_bytes ? gpu->context_bytes : vs_sim_context_bytes(gpu->profile);
}

static bool are_alike(const vs_sim_gpu *a, const vs_sim_gpu *b) {
  return a->profile == b->profile && a->total_bytes == b->total_bytes;
}

/* The context is that of the smaller card, so that both runs need the same. */
static vs_status name_cards(vs_trials *t, vs_error *error) {
  const vs_sim_gpu *first = &t->setup.gpus[0];
  for (uint32_t i = 1; i < t->setup.gpu_count; i++)
    if (!are_alike(first, &t->setup.gpus[i]))
      return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                     "--gpu: name GPUs that are alike, so that there is one size to fit in");
  t->capacity_bytes = first->total_bytes;
  vs_format(t->name, sizeof t->name, "%s", first->profile->name);
  vs_format(t->roomy, sizeof t->roomy, "%ux%s:%UMiB", t->setup.gpu_count, first->profile->key,
            roomy_of(first->total_bytes) / MIB);
  vs_format(t->context, sizeof t->context, "%UB", context_of(first));
  return VS_OK;
}

/* ---- the run of a trial */

static vs_status compose(vs_trials *t, const vs_trial_plan *plan, vs_error *error) {
  t->run = (vs_vary_run){.host = t->host, .plan = *t->plan};
  if (plan->value != NULL) {
    VS_ASSERT(plan->parameter < t->parameter_count);
    vs_vary *vary = &t->parameters[plan->parameter].vary;
    VS_TRY(vs_vary_append(vary, plan->value, error));
    VS_TRY(vs_vary_run_init(&t->run, vary, vary->run_count - 1));
  }
  vs_dryrun_plan *run = &t->run.plan;
  run->finds_changes = run->allows_numerics = false;
  run->parameters = NULL;
  run->plain_snapshot = run->found_snapshot = NULL;
  run->snapshot = plan->snapshot;
  run->replaces_snapshot = true;
  run->with = plan->changes;
  if (plan->is_roomy) run->gpu = t->roomy, run->context = t->context;
  VS_TRY(vs_dryrun_setup_init(&t->setup, t->host, run, t->watch, error));
  t->setup.is_snapshot_optional = true;
  t->setup.asks_settings = plan->asks_settings;
  t->setup.variables = t->run.variables;
  t->setup.variable_count = t->run.variable_count;
  return VS_OK;
}

static void show(const vs_trials *t, const vs_trial_plan *plan) {
  vs_dryrun_show(&t->setup,
                 &(vs_dryrun_progress){.stage = VS_DRYRUN_FITTING,
                                       .run = t->count + 1,
                                       .runs = (uint32_t)t->plan->most_runs,
                                       .values = vs_str_from(plan->title),
                                       .known = vs_str_from(plan->known == NULL ? "" : plan->known)});
}

/* ---- its figures */

static uint64_t kernels_of(const vs_result *result) {
  uint64_t sum = 0;
  for (size_t i = 0; i < result->processes.count; i++) sum += result->processes.data[i].kernels;
  return sum;
}

static void take_needs(const vs_outcome *outcome, vs_trial *trial) {
  for (uint32_t i = 0; i < outcome->need_count; i++) {
    const vs_fit_need *need = &outcome->needs[i];
    trial->needed_bytes = vs_max_u64(trial->needed_bytes, need->bytes);
    trial->least_bytes =
        vs_max_u64(trial->least_bytes, need->bytes - vs_min_u64(need->cached_bytes, need->bytes));
    const vs_torch_figures *torch = &outcome->result->cards[outcome->cards[i]].torch;
    trial->has_torch |= torch->is_known;
    trial->retries += torch->retries;
  }
}

static vs_status take(vs_trials *t, const vs_outcome *outcome, vs_trial *trial) {
  trial->verdict = outcome->verdict;
  trial->exit_code = outcome->exit_code;
  trial->met_errors = outcome->result->ooms + outcome->result->refused != 0;
  take_needs(outcome, trial);
  trial->engine = vs_engine_of(outcome);
  trial->parts = vs_at_peak_of(outcome);
  const uint32_t busiest = vs_outcome_busiest(outcome);
  trial->logits =
      vs_logits_of(vs_outcome_entry_of(outcome, vs_reply_at(outcome->history, "inventories"), busiest));
  trial->replayed =
      vs_replayed_of(vs_outcome_entry_of(outcome, vs_reply_at(outcome->history, "searches"), busiest));
  vs_changed_begin(&t->setup.changed, t->launch.folder.path);
  return vs_changed_add_up(&t->setup.changed, t->host, &trial->changed);
}

/* ---- its object in the reply */

static void put_known(vs_jsonw *w, const char *key, bool is_known, uint64_t value) {
  if (is_known) vs_jsonw_member_u64(w, key, value);
  else vs_jsonw_member_null(w, key);
}

static void put_text(vs_jsonw *w, const char *key, vs_str text) {
  if (text.size == 0) vs_jsonw_member_null(w, key);
  else vs_jsonw_member_str(w, key, text);
}

static void put_figures(vs_trials *t, const vs_outcome *outcome, const vs_trial *trial) {
  vs_jsonw *w = &t->w;
  const bool is_whole = outcome->need_count != 0 && !trial->met_errors && !trial->engine.is_there &&
                        trial->verdict != VS_VERDICT_STOPPED;
  put_known(w, "needed_bytes", is_whole, trial->needed_bytes);
  put_known(w, "least_bytes", is_whole, trial->least_bytes);
  vs_jsonw_member_u64(w, "retries", trial->retries);
  vs_jsonw_member_u64(w, "steps", outcome->result->steps);
  vs_jsonw_member_u64(w, "kernels", kernels_of(outcome->result));
  vs_jsonw_member_u64(w, "copied_bytes", trial->changed.copied_bytes);
  vs_jsonw_member_bool(w, "copied_at_most", trial->changed.is_copied_at_most);
  vs_jsonw_key(w, VS_STR("at_peak"));
  vs_at_peak_put(w, &trial->parts);
  vs_jsonw_key(w, VS_STR("logits"));
  vs_logits_put(w, &trial->logits);
  vs_jsonw_key(w, VS_STR("replay"));
  vs_replayed_put(w, &trial->replayed);
}

static void put_run(vs_trials *t, const vs_trial_plan *plan, const vs_outcome *outcome,
                    const vs_trial *trial) {
  vs_jsonw *w = &t->w;
  char tail[VS_OUTPUT_TAIL];
  vs_jsonw_object_begin(w);
  vs_jsonw_member_str(w, "title", vs_str_from(plan->title));
  put_text(w, "parameter",
           plan->value == NULL ? VS_STR("") : t->parameters[plan->parameter].vary.names[0].text);
  put_text(w, "value", vs_str_from(plan->value == NULL ? "" : plan->value));
  vs_jsonw_member_bool(w, "roomy", plan->is_roomy);
  vs_reply_table_command(w, &t->run);
  vs_jsonw_member_str(w, "verdict", vs_str_from(vs_verdict_word(outcome->verdict)));
  vs_jsonw_member_i64(w, "exit_code", outcome->exit_code);
  vs_jsonw_member_u64(w, "time_us", outcome->launch->took_us);
  put_figures(t, outcome, trial);
  put_text(w, "output", vs_output_tail(&t->launch, tail));
  vs_jsonw_key(w, VS_STR("reply"));
  vs_dryrun_reply_put(w, outcome);
  vs_jsonw_object_end(w);
}

/* ---- what became of it */

static vs_status conclude(vs_trials *t, const vs_trial_plan *plan, const vs_result *result, vs_trial *trial,
                          vs_error *error) {
  vs_json_doc history = {.host = t->host, .root = {.kind = VS_JSON_ABSENT}};
  vs_status status =
      plan->has_history ? vs_history_ask(&t->setup, &t->launch, result, &history, error) : VS_OK;
  vs_outcome outcome = {
      .setup = &t->setup, .launch = &t->launch, .result = result, .history = vs_json_root(&history)};
  if (status == VS_OK) {
    vs_outcome_judge(&outcome);
    status = vs_fit_table_init(&outcome.fits, t->host, outcome.needs, outcome.need_count);
  }
  if (status == VS_OK) {
    status = take(t, &outcome, trial);
    if (status == VS_OK) put_run(t, plan, &outcome, trial);
    vs_fit_table_deinit(&outcome.fits, t->host);
  }
  vs_json_doc_deinit(&history);
  return status == VS_OK ? t->text.status : status;
}

static vs_status gather(vs_trials *t, const vs_trial_plan *plan, vs_trial *trial, vs_error *error) {
  const vs_launch *launch = &t->launch;
  int64_t pids[VS_SIM_MAX_PROCESSES];
  vs_result result;
  for (size_t i = 0; i < launch->child_count; i++) pids[i] = launch->children[i].pid;
  VS_TRY(vs_gather(&result, t->host, launch->machine, launch->folder.path, pids, launch->child_count));
  const vs_status status = conclude(t, plan, &result, trial, error);
  vs_result_deinit(&result);
  return status;
}

static vs_status fail_start(vs_trials *t, vs_status status, const vs_error *error) {
  if (status == VS_NO_MEMORY) return status;
  if (t->count == 0) {
    t->start_exit = t->launch.start_exit;
    return status;
  }
  t->why = *error;
  if (t->why.text[0] == 0) vs_fail(&t->why, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  return VS_OK;
}

static vs_status start(vs_trials *t, const vs_trial_plan *plan, vs_trial *trial, vs_error *error) {
  const vs_launch_kind kind = plan->has_history ? VS_LAUNCH_RECORDED : VS_LAUNCH_KEPT;
  vs_status status = vs_launch_run(&t->launch, &t->setup, t->setup.gpus, kind, error);
  t->was_interrupted = t->launch.was_interrupted;
  if (status != VS_OK) status = fail_start(t, status, error);
  else if (!t->was_interrupted) status = gather(t, plan, trial, error);
  vs_launch_close(&t->launch);
  return status;
}

vs_status vs_trial_make(vs_trials *t, const vs_trial_plan *plan, vs_trial *trial, vs_error *error) {
  *trial = (vs_trial){.number = t->count};
  vs_status status = compose(t, plan, error);
  if (status == VS_OK) show(t, plan);
  if (status == VS_OK) status = start(t, plan, trial, error);
  vs_vary_run_deinit(&t->run);
  t->count++;
  return status;
}

/* ---- all of them */

static const char *behind_name(const char *axis) {
  while (*axis != 0 && *axis != '=') axis++;
  return axis + (*axis == '=');
}

static bool is_there(const vs_trials *t, vs_str name) {
  for (uint32_t i = 0; i < t->parameter_count; i++)
    if (vs_str_equal(t->parameters[i].vary.names[0].text, name)) return true;
  return false;
}

static vs_status parse_parameter(vs_trials *t, const char *axis, vs_error *error) {
  static const char option[] = "--batch";
  if (t->parameter_count == VS_DRYRUN_MOST_PARAMETERS)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s %S: there are %d already, which is the most",
                   option, vs_str_from(axis), VS_DRYRUN_MOST_PARAMETERS);
  vs_trial_parameter *parameter = &t->parameters[t->parameter_count];
  const vs_status status = vs_vary_init_open(&parameter->vary, t->host, t->plan, option, axis, error);
  const bool is_twice = status == VS_OK && is_there(t, parameter->vary.names[0].text);
  t->parameter_count++; /* so that it is released after a failure, too */
  VS_TRY(status);
  if (is_twice)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s %S: this parameter is given twice", option,
                   vs_str_from(axis));
  if (vs_integers_parse(&parameter->values, vs_str_from(behind_name(axis)), error) == VS_OK) return VS_OK;
  const vs_error cause = *error;
  return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s %S: %s", option, vs_str_from(axis), cause.text);
}

static vs_status parse_parameters(vs_trials *t, vs_error *error) {
  const char *const *axes = t->plan->parameters;
  for (size_t i = 0; axes != NULL && axes[i] != NULL; i++) VS_TRY(parse_parameter(t, axes[i], error));
  return VS_OK;
}

static vs_status init(vs_trials *t, vs_error *error) {
  VS_TRY(parse_parameters(t, error));
  VS_TRY(vs_dryrun_setup_init(&t->setup, t->host, t->plan, t->watch, error));
  return name_cards(t, error);
}

vs_status vs_trials_new(vs_trials **trials, const vs_host *host, const vs_dryrun_plan *plan,
                        const vs_dryrun_watch *watch, vs_error *error) {
  vs_trials *t = vs_host_alloc(host, sizeof *t);
  *trials = NULL;
  if (t == NULL) return VS_NO_MEMORY;
  *t = (vs_trials){.host = host, .watch = watch, .plan = plan};
  vs_text_init(&t->text, host, NULL);
  vs_jsonw_begin(&t->w, &t->text, 0);
  const vs_status status = init(t, error);
  if (status != VS_OK) vs_trials_free(t);
  else *trials = t;
  return status;
}

void vs_trials_free(vs_trials *trials) {
  const vs_host *host = trials->host;
  for (uint32_t i = 0; i < trials->parameter_count; i++) vs_vary_deinit(&trials->parameters[i].vary);
  vs_text_deinit(&trials->text);
  vs_host_free(host, trials, sizeof *trials);
}
