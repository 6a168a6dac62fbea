/* The run as a whole: plan, launch, gather, fit, search, reply. */
#include "base/sized.h"
#include "dryrun/find_changes.h"
#include "dryrun/find_largest.h"
#include "dryrun/gather.h"
#include "dryrun/history.h"
#include "dryrun/ranks.h"
#include "dryrun/reply.h"
#include "dryrun/search.h"
#include "dryrun/table.h"

static vs_status answer(vs_outcome *outcome, vs_writer reply) {
  const vs_dryrun_setup *setup = outcome->setup;
  vs_text text;
  vs_outcome_judge(outcome);
  if (setup->plan->finds_ranks) VS_TRY(vs_ranks_run(outcome));
  VS_TRY(vs_fit_table_init(&outcome->fits, setup->host, outcome->needs, outcome->need_count));
  if (setup->plan->finds_smallest) outcome->search = vs_search_run(outcome);
  vs_text_init(&text, setup->host, &reply);
  vs_dryrun_put_reply(&text, outcome);
  const vs_status status = vs_text_finish(&text);
  vs_text_deinit(&text);
  vs_fit_table_deinit(&outcome->fits, setup->host);
  return status;
}

/* ---- the run */

static vs_status conclude(const vs_dryrun_setup *setup, const vs_launch *launch, const vs_result *result,
                          vs_writer reply, vs_dryrun_end *end, vs_error *error) {
  vs_json_doc history;
  vs_status status = vs_history_ask(setup, launch, result, &history, error);
  if (status == VS_OK) {
    vs_outcome outcome = {
        .setup = setup, .launch = launch, .result = result, .history = vs_json_root(&history)};
    status = answer(&outcome, reply);
    end->exit_code = outcome.exit_code;
    end->answer = vs_outcome_answer(&outcome);
    vs_ranks_deinit(&outcome.ranks);
  } else {
    end->subject = setup->plan->snapshot;
  }
  vs_json_doc_deinit(&history);
  return status;
}

static vs_status report(const vs_dryrun_setup *setup, const vs_launch *launch, vs_writer reply,
                        vs_dryrun_end *end, vs_error *error) {
  int64_t pids[VS_SIM_MAX_PROCESSES];
  vs_result result;
  end->exit_code = vs_launch_exit(launch);
  VS_ASSERT(launch->child_count >= 1 && launch->child_count <= VS_SIM_MAX_PROCESSES);
  for (size_t i = 0; i < launch->child_count; i++) pids[i] = launch->children[i].pid;
  VS_TRY(vs_gather(&result, setup->host, launch->machine, launch->folder.path, pids, launch->child_count));
  const vs_status status = conclude(setup, launch, &result, reply, end, error);
  vs_result_deinit(&result);
  return status;
}

static vs_status run(vs_dryrun_setup *setup, vs_launch *launch, vs_writer reply, vs_dryrun_end *end,
                     vs_error *error) {
  vs_status status = vs_launch_run(launch, setup, setup->gpus, VS_LAUNCH_SHOWN, error);
  if (status == VS_OK) {
    status = report(setup, launch, reply, end, error);
  } else if (launch->start_exit != 0) {
    end->exit_code = launch->start_exit;
    end->subject = setup->plan->command[0];
  }
  vs_launch_close(launch);
  return status;
}

static vs_status run_once(const vs_host *host, const vs_dryrun_plan *plan, const vs_dryrun_watch *watch,
                          vs_writer reply, vs_dryrun_end *end, vs_error *error) {
  typedef struct space {
    vs_dryrun_setup setup;
    vs_launch launch;
  } space;
  space *s = vs_host_alloc(host, sizeof *s); /* large for a stack */
  vs_status status = s == NULL ? VS_NO_MEMORY : vs_dryrun_setup_init(&s->setup, host, plan, watch, error);
  if (status == VS_OK) status = run(&s->setup, &s->launch, reply, end, error);
  if (s != NULL) vs_host_free(host, s, sizeof *s);
  return status;
}

static vs_status run_plan(const vs_host *host, const vs_dryrun_plan *plan, const vs_dryrun_watch *watch,
                          vs_writer reply, vs_dryrun_end *end, vs_error *error) {
  if (host == NULL) host = vs_host_default();
  *error = (vs_error){.status = VS_OK, .offset = VS_NO_OFFSET};
  *end = (vs_dryrun_end){.exit_code = 0};
  const vs_status status = plan->finds_changes ? vs_find_changes_run(host, plan, watch, reply, end, error)
                           : plan->find_largest != NULL
                               ? vs_find_largest_run(host, plan, watch, reply, end, error)
                           : plan->vary != NULL ? vs_table_run(host, plan, watch, reply, end, error)
                                                : run_once(host, plan, watch, reply, end, error);
  const bool is_one = !plan->finds_changes && plan->find_largest == NULL && plan->vary == NULL;
  error->status = status;
  if (status != VS_OK || !is_one) end->answer = end->exit_code;
  if (status != VS_OK && error->text[0] == 0)
    return vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  return status;
}

vs_status vs_dryrun_run_sized(const vs_host *host, const vs_dryrun_plan *plan, size_t plan_size,
                              const vs_dryrun_watch *watch, size_t watch_size, vs_writer reply,
                              vs_dryrun_end *end, size_t end_size, vs_error *error) {
  vs_dryrun_plan wanted;
  vs_dryrun_watch watched = {0};
  vs_dryrun_end own = {.exit_code = 0};
  vs_error ignored;
  if (error == NULL) error = &ignored;
  vs_sized_give(end, end_size, &own, sizeof own);
  VS_TRY(vs_sized_take(&wanted, sizeof wanted, plan, plan_size, error));
  if (watch != NULL) VS_TRY(vs_sized_take(&watched, sizeof watched, watch, watch_size, error));
  const vs_status status = run_plan(host, &wanted, watch == NULL ? NULL : &watched, reply, &own, error);
  vs_sized_give(end, end_size, &own, sizeof own);
  return status;
}
