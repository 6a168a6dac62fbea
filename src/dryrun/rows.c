#include "dryrun/rows.h"
#include "dryrun/gather.h"
#include "dryrun/output_tail.h"
#include "dryrun/reply_table.h"

/* ---- a run */

/* Composes a run, and checks its plan. */
static vs_status prepare(vs_rows *rows, uint32_t number, vs_error *error) {
  vs_status status = vs_vary_run_init(&rows->run, &rows->vary, number);
  if (status == VS_OK)
    status = vs_dryrun_setup_init(&rows->setup, rows->host, &rows->run.plan, rows->watch, error);
  rows->setup.variables = rows->run.variables;
  rows->setup.variable_count = rows->run.variable_count;
  return status;
}

static bool released_cache(const vs_result *result) {
  uint64_t retries = 0;
  for (uint32_t c = 0; c < result->card_count; c++) retries += result->cards[c].torch.retries;
  return retries != 0;
}

static vs_status put_outcome(vs_rows *rows, uint32_t number, const vs_result *result, vs_row_end *row) {
  char tail[VS_OUTPUT_TAIL];
  vs_outcome outcome = {.setup = &rows->setup, .launch = &rows->launch, .result = result};
  vs_outcome_judge(&outcome);
  VS_TRY(vs_fit_table_init(&outcome.fits, rows->host, outcome.needs, outcome.need_count));
  vs_reply_table_run(&rows->w, &(vs_table_row){.vary = &rows->vary,
                                               .run = &rows->run,
                                               .number = number,
                                               .outcome = &outcome,
                                               .output = vs_output_tail(&rows->launch, tail)});
  *row = (vs_row_end){.verdict = outcome.verdict,
                      .exit_code = outcome.exit_code,
                      .met_errors = result->ooms + result->refused != 0,
                      .was_squeezed = released_cache(result),
                      .headroom_bytes = vs_outcome_headroom(&outcome)};
  vs_fit_table_deinit(&outcome.fits, rows->host);
  return rows->text.status;
}

static vs_status put_run(vs_rows *rows, uint32_t number, vs_row_end *row) {
  int64_t pids[VS_SIM_MAX_PROCESSES];
  const vs_launch *launch = &rows->launch;
  vs_result result;
  VS_ASSERT(launch->child_count >= 1 && launch->child_count <= VS_SIM_MAX_PROCESSES);
  for (size_t i = 0; i < launch->child_count; i++) pids[i] = launch->children[i].pid;
  VS_TRY(vs_gather(&result, rows->host, launch->machine, launch->folder.path, pids, launch->child_count));
  const vs_status status = put_outcome(rows, number, &result, row);
  vs_result_deinit(&result);
  return status;
}

static vs_status show(const vs_rows *rows, uint32_t number, vs_dryrun_progress *progress) {
  vs_text values;
  vs_text_init(&values, rows->host, NULL);
  vs_reply_table_values(&values, &rows->vary, number);
  const vs_status status = values.status;
  progress->run = number + 1;
  progress->values = vs_text_view(&values);
  if (status == VS_OK) vs_dryrun_show(&rows->setup, progress);
  vs_text_deinit(&values);
  return status;
}

/* The first run that cannot be started ends all of it, a later one the table, whose rows are kept. */
static vs_status fail_start(vs_rows *rows, uint32_t number, vs_status status, vs_error *error) {
  if (status == VS_NO_MEMORY) return status;
  if (number == 0) {
    rows->end->exit_code = rows->launch.start_exit;
    if (rows->launch.start_exit != 0) rows->end->subject = rows->vary.plan->command[0];
    return status;
  }
  rows->why = *error;
  if (rows->why.text[0] == 0) vs_fail(&rows->why, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  rows->end->exit_code = 1;
  return VS_OK;
}

/* Starts the run and waits for its end; its figures are in the reply then, unless it was interrupted. */
static vs_status start(vs_rows *rows, uint32_t number, vs_row_end *row, vs_error *error) {
  vs_status status = vs_launch_run(&rows->launch, &rows->setup, rows->setup.gpus, VS_LAUNCH_KEPT, error);
  rows->was_interrupted = rows->launch.was_interrupted;
  if (status != VS_OK) status = fail_start(rows, number, status, error);
  else if (!rows->was_interrupted) status = put_run(rows, number, row);
  vs_launch_close(&rows->launch);
  return status;
}

vs_status vs_rows_make(vs_rows *rows, uint32_t number, vs_dryrun_progress *progress, vs_row_end *row,
                       vs_error *error) {
  vs_status status = prepare(rows, number, error);
  if (status == VS_OK) status = show(rows, number, progress);
  if (status == VS_OK) status = start(rows, number, row, error);
  vs_vary_run_deinit(&rows->run);
  return status;
}

/* ---- the check */

static void put_values(const vs_rows *rows, uint32_t number, vs_error *error) {
  const vs_error cause = *error;
  vs_text values;
  vs_text_init(&values, rows->host, NULL);
  vs_reply_table_values(&values, &rows->vary, number);
  if (values.status == VS_OK)
    vs_fail(error, cause.status, VS_NO_OFFSET, "%S: %s", vs_text_view(&values), cause.text);
  vs_text_deinit(&values);
}

vs_status vs_rows_check(vs_rows *rows, uint32_t number, vs_error *error) {
  const vs_status status = prepare(rows, number, error);
  vs_vary_run_deinit(&rows->run);
  if (status == VS_BAD_ARGUMENT) put_values(rows, number, error);
  return status;
}

/* ---- all of it */

void vs_rows_put_end(vs_rows *rows) {
  vs_reply_table_end(&rows->w, rows->was_interrupted,
                     rows->was_interrupted ? VS_STR("it was interrupted") : vs_str_from(rows->why.text));
}

vs_rows *vs_rows_new(const vs_host *host, const vs_dryrun_watch *watch, vs_dryrun_end *end) {
  vs_rows *rows = vs_host_alloc(host, sizeof *rows);
  if (rows == NULL) return NULL;
  *rows = (vs_rows){.host = host, .watch = watch, .end = end};
  vs_text_init(&rows->text, host, NULL);
  vs_jsonw_begin(&rows->w, &rows->text, 0);
  return rows;
}

void vs_rows_free(vs_rows *rows) {
  const vs_host *host = rows->host;
  vs_vary_deinit(&rows->vary);
  vs_text_deinit(&rows->text);
  vs_host_free(host, rows, sizeof *rows);
}
