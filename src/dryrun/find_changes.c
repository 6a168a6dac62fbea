#include "dryrun/find_changes.h"
#include "base/human.h"
#include "dryrun/found.h"
#include "dryrun/largest.h"
#include "dryrun/reply_changes.h"

enum {
  PROOF_RUNS = 1,  /* kept for the run on the card itself */
  BLOCK_SHARE = 8, /* one run in so many is kept for the search of as few checkpointed blocks as needed */
  VALUE_SHARE = 4, /* and for that of the largest value of a parameter */
};

typedef struct search {
  vs_trials *trials;
  vs_found *found;
  size_t most_runs;
  /* For cheapest.h: the runs on the roomy card. */
  vs_cheapest_change changes[VS_ATTEMPTS];
  vs_cheapest_run runs[VS_FOUND_RUNS];
  size_t run_count;
  vs_change_set left_out;
} search;

static vs_change_set checkpoints(void) {
  vs_change_set set = 0;
  for (size_t i = 0; i < VS_ATTEMPTS; i++) set |= vs_found_is_checkpoint(i) ? (vs_change_set)1 << i : 0;
  return set;
}

/* ---- the text of a set */

/* "allocator (expandable_segments:True) + checkpoint". */
static vs_status put_title(vs_text *title, const vs_host *host, vs_str list) {
  vs_changes changes;
  vs_error ignored;
  VS_TRY(vs_changes_read(&changes, host, list, &ignored));
  for (size_t i = 0; i < changes.count; i++) {
    if (i != 0) vs_text_cstr(title, " + ");
    vs_changes_put_title(title, &changes, i);
  }
  vs_changes_deinit(&changes);
  return title->status;
}

/* ---- a run */

static bool may_run(const search *s, size_t reserve) {
  return !vs_trials_are_ended(s->trials) && s->trials->count + reserve < s->most_runs;
}

/* "24.3 GiB needed at least": what is known before a run. */
static void put_known(const search *s, vs_text *text) {
  uint64_t least = UINT64_MAX;
  for (size_t i = 0; i < s->run_count; i++)
    if (!s->runs[i].has_failed) least = vs_min_u64(least, s->runs[i].needed_bytes);
  if (least == UINT64_MAX) return;
  vs_text_bytes(text, least, VS_UNIT_BINARY);
  vs_text_cstr(text, " of ");
  vs_text_bytes(text, s->trials->capacity_bytes, VS_UNIT_BINARY);
}

typedef struct texts {
  vs_text list, title, known, value;
} texts;

static vs_status put_texts(const search *s, const vs_found_run *run, texts *t) {
  vs_found_put_changes(&t->list, s->found, run->set, run->first);
  VS_TRY(t->list.status);
  VS_TRY(put_title(&t->title, s->trials->host, vs_text_view(&t->list)));
  if (run->set == 0) vs_text_cstr(&t->title, "no change");
  if (run->has_value) vs_text_format(&t->value, "%U", run->value);
  put_known(s, &t->known);
  vs_text *const all[] = {&t->list, &t->title, &t->known, &t->value};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    vs_text_byte(all[i], 0);
    VS_TRY(all[i]->status);
  }
  return VS_OK;
}

/* Where the history of a run is to be kept; NULL: it is not. Of the program as it is, and of what is to be a proof of a set. */
static const char *snapshot_of(const search *s, const vs_found_run *run) {
  if (s->found->count == 0) return s->trials->plan->plain_snapshot;
  return run->is_roomy || run->set == 0 ? NULL : s->trials->plan->found_snapshot;
}

static vs_status make_with(search *s, vs_found_run *run, texts *t, vs_error *error) {
  VS_TRY(put_texts(s, run, t));
  const char *snapshot = snapshot_of(s, run);
  const vs_trial_plan plan = {.changes = run->set == 0 ? NULL : t->list.bytes.data,
                              .title = t->title.bytes.data,
                              .known = t->known.bytes.data,
                              .parameter = run->parameter,
                              .value = run->has_value ? t->value.bytes.data : NULL,
                              .is_roomy = run->is_roomy,
                              .has_history = s->found->count == 0 || snapshot != NULL,
                              .asks_settings = s->found->count == 0,
                              .snapshot = snapshot};
  return vs_trial_make(s->trials, &plan, &run->trial, error);
}

/* *made is NULL where there are no further runs. */
static vs_status make(search *s, vs_found_run run, const vs_found_run **made, vs_error *error) {
  texts t;
  vs_text *const all[] = {&t.list, &t.title, &t.known, &t.value};
  VS_ASSERT(s->found->count < VS_FOUND_RUNS);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) vs_text_init(all[i], s->trials->host, NULL);
  const vs_status status = make_with(s, &run, &t, error);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) vs_text_deinit(all[i]);
  *made = NULL;
  if (status != VS_OK || vs_trials_are_ended(s->trials)) return status;
  s->found->runs[s->found->count] = run;
  *made = &s->found->runs[s->found->count++];
  return VS_OK;
}

static bool has_failed(const vs_trial *trial) {
  return trial->verdict == VS_VERDICT_STOPPED || trial->verdict == VS_VERDICT_NO_CUDA;
}

/* Whether its figures are those of a whole run of its set. */
static bool has_figures(const vs_trial *trial) {
  return !has_failed(trial) && !trial->met_errors && trial->changed.is_known;
}

/* Whether all changes of its set were applied, which is unknown where what the processes wrote could not be read. */
static bool has_all(const vs_found_run *run) {
  size_t changes = 0;
  for (vs_change_set set = run->set; set != 0; set &= set - 1) changes++;
  return run->trial.changed.is_known && run->trial.changed.applied == (UINT32_C(1) << changes) - 1;
}

/* Whether it fits, by a run on the card itself. */
static bool is_proof(const vs_found_run *run) {
  return !run->is_roomy && run->trial.verdict == VS_VERDICT_FITS && !run->trial.met_errors && has_all(run);
}

/* ---- what a run on the roomy card says of its set */

/* The changes of the set that were applied. Those that were not are left out from now on. */
static vs_change_set applied_of(search *s, const vs_found_run *run) {
  vs_change_set applied = 0;
  uint32_t number = 0; /* in the list, which has the set's changes in their order */
  for (size_t i = 0; i < VS_ATTEMPTS; i++) {
    if (!vs_found_has(run->set, i)) continue;
    if ((run->trial.changed.applied >> number++ & 1) != 0) applied |= (vs_change_set)1 << i;
    else s->left_out |= (vs_change_set)1 << i;
  }
  return applied;
}

static bool is_known(const search *s, vs_change_set set) {
  for (size_t i = 0; i < s->run_count; i++)
    if (s->runs[i].set == set) return true;
  return false;
}

/* The run counts as one of the changes that were applied; where these are unknown, as one that failed. */
static void take(search *s, const vs_found_run *made) {
  vs_found_run *run = &s->found->runs[made - s->found->runs];
  const bool is_failed = !has_figures(&run->trial);
  if (run->set != 0 && !is_failed && !run->trial.changed.is_loaded)
    s->left_out = ~(vs_change_set)0; /* no change can be applied to this program */
  const vs_change_set set = is_failed ? run->set : applied_of(s, run);
  run->set = set;
  if (is_known(s, set)) return;
  s->runs[s->run_count++] = (vs_cheapest_run){.set = set,
                                              .has_failed = is_failed,
                                              .needed_bytes = run->trial.needed_bytes,
                                              .least_bytes = run->trial.least_bytes};
}

/* ---- the program as it is */

static void init_changes(search *s, const vs_trial *plain) {
  const bool allows_numerics = s->trials->plan->allows_numerics;
  const uint32_t idle = vs_at_peak_idle(&plain->parts);
  for (size_t i = 0; i < VS_ATTEMPTS; i++) {
    const vs_attempt *attempt = vs_attempt_of(i);
    s->changes[i] = (vs_cheapest_change){.cost = attempt->price,
                                         .is_free = attempt->price < VS_PRICE_FREE,
                                         .is_idle = attempt->touches != 0 && (attempt->touches & ~idle) == 0,
                                         .is_rare = attempt->touches == 0,
                                         .within_bytes = attempt->within_bytes};
    if (attempt->change == VS_CHANGE_allocator)
      s->changes[i].is_idle |= vs_replayed_is_idle(&plain->replayed);
    for (size_t k = 0; k < VS_ATTEMPTS; k++)
      if (k != i && vs_changes_exclude(attempt->change, vs_attempt_of(k)->change))
        s->changes[i].excludes |= (vs_change_set)1 << k;
    if (!allows_numerics && vs_change_row_of(attempt->change)->results == VS_RESULTS_OTHER)
      s->left_out |= (vs_change_set)1 << i;
  }
}

/* VS_FOUND_NONE: it ran to its end, so what it needs is known. */
static vs_found_end end_of_plain(const vs_trial *trial) {
  if (trial->met_errors) return VS_FOUND_TOO_LARGE;
  if (trial->verdict == VS_VERDICT_STOPPED || trial->exit_code != 0) return VS_FOUND_FAILED;
  return trial->verdict == VS_VERDICT_NO_CUDA ? VS_FOUND_NO_CUDA : VS_FOUND_NONE;
}

/* An engine for inference starts on a larger card, so only the run on the card itself says whether it does there: it is made whatever
 * the plan's `most_runs` is. The changes are those of training programs. */
static vs_status run_engine(search *s, vs_error *error) {
  const vs_found_run *on_card;
  s->found->is_engine = true;
  VS_TRY(make(s, (vs_found_run){.is_roomy = false}, &on_card, error));
  if (on_card == NULL || !is_proof(on_card)) return VS_OK;
  s->found->end = VS_FOUND_FITS;
  s->found->proof = on_card;
  return VS_OK;
}

/* *is_over: no change is to be searched. */
static vs_status run_plain(search *s, bool *is_over, vs_error *error) {
  const vs_found_run *run;
  *is_over = true;
  VS_TRY(make(s, (vs_found_run){.is_roomy = true}, &run, error));
  if (run == NULL) return VS_OK;
  vs_found *found = s->found;
  found->end = end_of_plain(&run->trial);
  if (found->end != VS_FOUND_NONE) return VS_OK;
  if (run->trial.engine.is_there) return run_engine(s, error);
  init_changes(s, &run->trial);
  vs_format(found->settings, sizeof found->settings, "%s", run->trial.replayed.settings);
  if (!run->trial.has_torch)
    s->left_out = ~(vs_change_set)0; /* the changes are those of PyTorch's programs */
  take(s, run);
  /* It may also fit because PyTorch releases what it cached. */
  if (run->trial.least_bytes <= s->trials->capacity_bytes && may_run(s, 0)) {
    const vs_found_run *on_card;
    VS_TRY(make(s, (vs_found_run){.is_roomy = false}, &on_card, error));
    if (on_card == NULL) return VS_OK;
    if (is_proof(on_card)) {
      found->end = VS_FOUND_FITS;
      found->proof = on_card;
      return VS_OK;
    }
    s->runs[0].needed_bytes = vs_max_u64(s->runs[0].needed_bytes, s->trials->capacity_bytes + 1);
  }
  *is_over = false;
  return VS_OK;
}

/* ---- as few checkpointed blocks as needed */

/* Value `number` of the search for the largest: so many blocks fewer than all. */
static uint64_t first_of(const vs_found *found, uint64_t number) {
  return number == 0 ? 0 : found->blocks - number;
}

/* An engine has the tokens to spare that its cache holds beside one request. */
static vs_largest_point point_of_engine(const vs_found_run *run, uint64_t number) {
  const vs_engine_figures *engine = &run->trial.engine;
  const bool fits = is_proof(run);
  const uint64_t spare = engine->tokens - vs_min_u64(engine->max_tokens, engine->tokens);
  return (vs_largest_point){
      .number = number, .fits = fits, .spare_bytes = fits ? (int64_t)vs_min_u64(spare, INT64_MAX) : 0};
}

static vs_largest_point point_of(const search *s, const vs_found_run *run, uint64_t number) {
  const uint64_t capacity = s->trials->capacity_bytes, needed = run->trial.needed_bytes;
  if (s->found->is_engine) return point_of_engine(run, number);
  const bool fits = has_figures(&run->trial) && needed <= capacity;
  return (vs_largest_point){
      .number = number, .fits = fits, .spare_bytes = fits ? (int64_t)(capacity - needed) : 0};
}

static vs_status find_blocks(search *s, vs_error *error) {
  vs_found *found = s->found;
  const vs_found_run *all = vs_found_run_of(found, found->set, 0);
  found->blocks = (found->set & checkpoints()) == 0 || all == NULL ? 0 : all->trial.changed.blocks;
  if (found->blocks < 2) return VS_OK;
  const vs_integers fewer = {.first = 0, .step = 1, .count = found->blocks};
  vs_largest_point points[VS_FOUND_RUNS] = {point_of(s, all, 0)};
  vs_largest runs = {.values = &fewer, .points = points, .count = 1};
  for (vs_largest_step step = vs_largest_next(&runs); step.kind == VS_LARGEST_TRY && may_run(s, PROOF_RUNS);
       step = vs_largest_next(&runs)) {
    const vs_found_run *run = vs_found_run_of(found, found->set, first_of(found, step.number));
    if (run == NULL)
      VS_TRY(make(s,
                  (vs_found_run){.set = found->set, .first = first_of(found, step.number), .is_roomy = true},
                  &run, error));
    if (run == NULL) return VS_OK;
    points[runs.count++] = point_of(s, run, step.number);
  }
  const vs_largest_bounds bounds = vs_largest_bounds_of(&runs);
  found->first = bounds.fitting == 0 ? 0 : first_of(found, bounds.fitting - 1);
  return VS_OK;
}

/* ---- the search */

static vs_cheapest_step next_step(const search *s) {
  size_t kept = s->trials->count + PROOF_RUNS + s->most_runs / BLOCK_SHARE;
  if (s->trials->parameter_count != 0) kept += s->most_runs / VALUE_SHARE;
  const size_t left = s->most_runs > kept ? s->most_runs - kept : 0;
  const vs_cheapest cheapest = {.changes = s->changes,
                                .change_count = VS_ATTEMPTS,
                                .left_out = s->left_out,
                                .capacity_bytes = s->trials->capacity_bytes,
                                .runs = s->runs,
                                .run_count = s->run_count,
                                .most_runs = s->run_count + left};
  return vs_cheapest_next(&cheapest);
}

/* Proves the set on the card itself. Where that contradicts the roomy card's run, the set does not count as one that fits. */
static vs_status prove(search *s, const vs_cheapest_step *step, bool *is_over, vs_error *error) {
  vs_found *found = s->found;
  found->set = step->set;
  found->first = 0;
  VS_TRY(find_blocks(s, error));
  *is_over = !may_run(s, 0);
  if (*is_over) return VS_OK;
  const vs_found_run *run;
  VS_TRY(make(s, (vs_found_run){.set = found->set, .first = found->first, .is_roomy = false}, &run, error));
  *is_over = run == NULL || is_proof(run);
  if (run == NULL) return VS_OK;
  if (is_proof(run)) {
    found->end = VS_FOUND_SET;
    found->proof = run;
    found->is_cut = step->is_cut;
    return VS_OK;
  }
  for (size_t i = 0; i < s->run_count; i++)
    if (s->runs[i].set == found->set) s->runs[i].needed_bytes = s->trials->capacity_bytes + 1;
  return VS_OK;
}

static vs_status search_set(search *s, vs_error *error) {
  bool is_over = false;
  while (!is_over && !vs_trials_are_ended(s->trials)) {
    const vs_cheapest_step step = next_step(s);
    const vs_found_run *run;
    if (step.kind == VS_CHEAPEST_FOUND) {
      VS_TRY(prove(s, &step, &is_over, error));
      continue;
    }
    if (step.kind == VS_CHEAPEST_NONE) {
      s->found->set = step.set;
      s->found->first = 0;
      s->found->is_cut = step.is_cut;
      return VS_OK;
    }
    VS_TRY(make(s, (vs_found_run){.set = step.set, .is_roomy = true}, &run, error));
    if (run != NULL) take(s, run);
  }
  return VS_OK;
}

/* ---- what the answer says beside the set */

/* The runs of the set's changes, added one after the other, for the table of what each one saves. */
static vs_status run_prefixes(search *s, vs_error *error) {
  vs_change_set set = 0;
  for (size_t i = 0; i < VS_ATTEMPTS; i++) {
    if (!vs_found_has(s->found->set, i)) continue;
    set |= (vs_change_set)1 << i;
    const uint64_t first = (set & checkpoints()) != 0 ? s->found->first : 0;
    const vs_found_run *run = vs_found_run_of(s->found, set, first);
    if (run == NULL && may_run(s, 0))
      VS_TRY(make(s, (vs_found_run){.set = set, .first = first, .is_roomy = true}, &run, error));
  }
  return VS_OK;
}

/* `reserve`: runs that are kept for the parameters behind this one. */
static vs_status find_value(search *s, uint32_t number, vs_change_set set, size_t reserve, vs_error *error) {
  vs_largest_point points[VS_FOUND_RUNS];
  const vs_integers *values = &s->trials->parameters[number].values;
  vs_largest runs = {.values = values, .points = points};
  vs_found_value *answer = &s->found->parameters[number];
  *answer = (vs_found_value){.was_made = answer->was_made, .set = set};
  for (vs_largest_step step = vs_largest_next(&runs); step.kind == VS_LARGEST_TRY && may_run(s, reserve);
       step = vs_largest_next(&runs)) {
    const vs_found_run *run;
    const uint64_t value = vs_integers_at(values, step.number);
    VS_TRY(make(s,
                (vs_found_run){.set = set,
                               .has_value = true,
                               .parameter = number,
                               .value = value,
                               .is_roomy = !s->found->is_engine},
                &run, error));
    if (run == NULL) return VS_OK;
    const vs_largest_point point = point_of(s, run, step.number);
    answer->was_made = true;
    points[runs.count++] = point;
    if (has_failed(&run->trial) && !s->found->is_engine) return VS_OK;
    if (point.fits && (!answer->is_found || value > answer->value)) {
      answer->is_found = true;
      answer->value = value;
      answer->run = run;
    }
  }
  return VS_OK;
}

/* The runs that are left are shared out evenly. */
static vs_status find_values(search *s, vs_error *error) {
  const uint32_t count = s->trials->parameter_count;
  for (uint32_t i = 0; i < count; i++) {
    const size_t left = s->most_runs > s->trials->count ? s->most_runs - s->trials->count : 0;
    const size_t reserve = left - left / (count - i);
    VS_TRY(find_value(s, i, 0, reserve, error));
    if (s->found->end == VS_FOUND_NONE && !s->found->parameters[i].is_found && s->found->set != 0 &&
        may_run(s, reserve))
      VS_TRY(find_value(s, i, s->found->set, reserve, error));
  }
  return VS_OK;
}

/* ---- all of it */

/* Whether the program as it is ran to its end on the roomy card. */
static bool has_need(const vs_found *found) {
  return found->end == VS_FOUND_FITS || found->end == VS_FOUND_SET || found->end == VS_FOUND_NONE;
}

static vs_status find(search *s, vs_error *error) {
  bool is_over;
  VS_TRY(run_plain(s, &is_over, error));
  if (!is_over) VS_TRY(search_set(s, error));
  if (s->found->end == VS_FOUND_SET) VS_TRY(run_prefixes(s, error));
  if (has_need(s->found)) VS_TRY(find_values(s, error));
  vs_dryrun_show_end(&s->trials->setup);
  const bool has_answer = s->found->end == VS_FOUND_SET || s->found->end == VS_FOUND_FITS;
  if (!has_answer && vs_trials_are_ended(s->trials))
    s->found->end = s->trials->was_interrupted ? VS_FOUND_INTERRUPTED : VS_FOUND_NOT_STARTED;
  return VS_OK;
}

static int exit_of(vs_found_end how) {
  switch (how) {
    case VS_FOUND_FITS:
    case VS_FOUND_SET: return VS_DRYRUN_EXIT_FITS;
    case VS_FOUND_NONE:
    case VS_FOUND_TOO_LARGE: return VS_DRYRUN_EXIT_DOES_NOT_FIT;
    case VS_FOUND_INTERRUPTED: return VS_DRYRUN_EXIT_INTERRUPTED;
    case VS_FOUND_FAILED:
    case VS_FOUND_NO_CUDA:
    case VS_FOUND_NOT_STARTED: break;
  }
  return VS_DRYRUN_EXIT_FAILED;
}

static vs_status answer(search *s, vs_writer reply, vs_dryrun_end *end, vs_error *error) {
  vs_trials *t = s->trials;
  vs_reply_changes_begin(t);
  const vs_status status = find(s, error);
  if (status != VS_OK) {
    end->exit_code = t->start_exit;
    if (t->start_exit != 0) end->subject = t->plan->command[0];
    return status;
  }
  vs_reply_changes_end(t, s->found);
  VS_TRY(t->text.status);
  end->exit_code = exit_of(s->found->end);
  return reply.write(reply.ctx, t->text.bytes.data, t->text.bytes.count);
}

static vs_status check_runs(const vs_dryrun_plan *plan, vs_error *error) {
  if (plan->most_runs <= VS_FOUND_RUNS) return VS_OK;
  return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "--runs takes 1 to %d, not %U", (int)VS_FOUND_RUNS,
                 plan->most_runs);
}

vs_status vs_find_changes_run(const vs_host *host, const vs_dryrun_plan *plan, const vs_dryrun_watch *watch,
                              vs_writer reply, vs_dryrun_end *end, vs_error *error) {
  vs_dryrun_plan wanted = *plan;
  if (wanted.most_runs == 0) wanted.most_runs = VS_FOUND_RUNS_DEFAULT;
  VS_TRY(vs_dryrun_plan_check(&wanted, error));
  VS_TRY(check_runs(&wanted, error));
  vs_found *found = vs_host_alloc(host, sizeof *found);
  if (found == NULL) return VS_NO_MEMORY;
  *found = (vs_found){.end = VS_FOUND_NONE};
  search s = {.found = found, .most_runs = wanted.most_runs};
  vs_status status = vs_trials_new(&s.trials, host, &wanted, watch, error);
  if (status == VS_OK) {
    status = answer(&s, reply, end, error);
    vs_trials_free(s.trials);
  }
  vs_host_free(host, found, sizeof *found);
  return status;
}
