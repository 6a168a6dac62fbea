#include "dryrun/table.h"
#include "dryrun/gather.h"
#include "dryrun/reply_table.h"
#include "os/infile.h"

enum { TAIL = 4096 };

typedef struct table {
  const vs_host *host;
  const vs_dryrun_watch *watch; /* may be NULL */
  vs_dryrun_end *end;
  vs_vary vary;
  vs_vary_run run;
  vs_dryrun_setup setup;
  vs_launch launch;
  vs_text text; /* the reply */
  vs_jsonw w;
  bool was_interrupted;
  vs_error why; /* of a later run that could not be started */
} table;

/* ---- the output of a run that failed */

/* The last bytes that the reader has, at most TAIL; *is_cut: there were more. */
static size_t read_tail(vs_reader reader, char tail[2 * TAIL], bool *is_cut) {
  size_t kept = 0, got = 0;
  *is_cut = false;
  while (reader.read(reader.ctx, tail + kept, TAIL, &got) == VS_OK && got != 0) {
    kept += got;
    if (kept <= TAIL) continue;
    memmove(tail, tail + kept - TAIL, TAIL);
    kept = TAIL;
    *is_cut = true;
  }
  return kept;
}

static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/* Whole lines, without blank ones at the end. */
static vs_str lines_of(const char *tail, size_t size, bool is_cut) {
  size_t begin = 0;
  while (size > 0 && is_blank(tail[size - 1])) size--;
  while (is_cut && begin < size && tail[begin] != '\n') begin++;
  if (begin < size && tail[begin] == '\n') begin++;
  return begin < size ? (vs_str){tail + begin, size - begin} : (vs_str){tail, size};
}

/* The end of what the process printed that decides the exit status; empty if none failed. */
static vs_str output_of(const vs_launch *launch, char tail[2 * TAIL]) {
  char path[VS_FOLDER_PATH + 64];
  vs_infile file;
  vs_error ignored;
  bool is_cut;
  const size_t child = vs_launch_decisive(launch);
  if (child == launch->child_count) return VS_STR("");
  vs_launch_output_path(launch, child, path, sizeof path);
  if (vs_infile_open(&file, path, &ignored) != VS_OK) return VS_STR("");
  const size_t size = read_tail(vs_infile_reader(&file), tail, &is_cut);
  vs_infile_close(&file);
  return lines_of(tail, size, is_cut);
}

/* ---- a run */

/* Composes a run, and checks its plan. */
static vs_status prepare(table *t, uint32_t number, vs_error *error) {
  vs_status status = vs_vary_run_init(&t->run, &t->vary, number);
  if (status == VS_OK) status = vs_dryrun_setup_init(&t->setup, t->host, &t->run.plan, t->watch, error);
  t->setup.variables = t->run.variables;
  t->setup.variable_count = t->run.variable_count;
  return status;
}

static vs_status put_outcome(table *t, uint32_t number, const vs_result *result) {
  char tail[2 * TAIL];
  vs_outcome outcome = {.setup = &t->setup, .launch = &t->launch, .result = result};
  vs_outcome_judge(&outcome);
  VS_TRY(vs_fit_table_init(&outcome.fits, t->host, outcome.needs, outcome.need_count));
  vs_reply_table_run(&t->w, &(vs_table_row){.vary = &t->vary,
                                            .run = &t->run,
                                            .number = number,
                                            .outcome = &outcome,
                                            .output = output_of(&t->launch, tail)});
  vs_fit_table_deinit(&outcome.fits, t->host);
  return t->text.status;
}

static vs_status put_run(table *t, uint32_t number) {
  int64_t pids[VS_SIM_MAX_PROCESSES];
  const vs_launch *launch = &t->launch;
  vs_result result;
  VS_ASSERT(launch->child_count >= 1 && launch->child_count <= VS_SIM_MAX_PROCESSES);
  for (size_t i = 0; i < launch->child_count; i++) pids[i] = launch->children[i].pid;
  VS_TRY(vs_gather(&result, t->host, launch->machine, launch->folder.path, pids, launch->child_count));
  const vs_status status = put_outcome(t, number, &result);
  vs_result_deinit(&result);
  return status;
}

static vs_status show(const table *t, uint32_t number) {
  vs_text values;
  vs_text_init(&values, t->host, NULL);
  vs_reply_table_values(&values, &t->vary, number);
  const vs_status status = values.status;
  if (status == VS_OK)
    vs_dryrun_show(&t->setup, &(vs_dryrun_progress){.stage = VS_DRYRUN_VARYING,
                                                    .run = number + 1,
                                                    .runs = t->vary.run_count,
                                                    .values = vs_text_view(&values)});
  vs_text_deinit(&values);
  return status;
}

/* The first run that cannot be started ends all of it, a later one the table, whose rows are kept. */
static vs_status fail_start(table *t, uint32_t number, vs_status status, vs_error *error) {
  if (status == VS_NO_MEMORY) return status;
  if (number == 0) {
    t->end->exit_code = t->launch.start_exit;
    if (t->launch.start_exit != 0) t->end->subject = t->vary.plan->command[0];
    return status;
  }
  t->why = *error;
  if (t->why.text[0] == 0) vs_fail(&t->why, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  t->end->exit_code = 1;
  return VS_OK;
}

/* Starts the run and waits for its end; its figures are in the reply then, unless it was interrupted. */
static vs_status make_run(table *t, uint32_t number, vs_error *error) {
  VS_TRY(show(t, number));
  vs_status status = vs_launch_run(&t->launch, &t->setup, t->setup.gpus, VS_LAUNCH_KEPT, error);
  t->was_interrupted = t->launch.was_interrupted;
  if (status != VS_OK) status = fail_start(t, number, status, error);
  else if (!t->was_interrupted) status = put_run(t, number);
  vs_launch_close(&t->launch);
  return status;
}

/* ---- all runs */

static void put_values(const table *t, uint32_t number, vs_error *error) {
  const vs_error cause = *error;
  vs_text values;
  vs_text_init(&values, t->host, NULL);
  vs_reply_table_values(&values, &t->vary, number);
  if (values.status == VS_OK)
    vs_fail(error, cause.status, VS_NO_OFFSET, "%S: %s", vs_text_view(&values), cause.text);
  vs_text_deinit(&values);
}

static vs_status check(table *t, uint32_t number, vs_error *error) {
  const vs_status status = prepare(t, number, error);
  vs_vary_run_deinit(&t->run);
  if (status == VS_BAD_ARGUMENT) put_values(t, number, error);
  return status;
}

static vs_status make_all(table *t, vs_error *error) {
  vs_status status = VS_OK;
  for (uint32_t i = 0; status == VS_OK && i < t->vary.run_count; i++) status = check(t, i, error);
  for (uint32_t i = 0; status == VS_OK && i < t->vary.run_count; i++) {
    status = prepare(t, i, error);
    if (status == VS_OK) status = make_run(t, i, error);
    vs_vary_run_deinit(&t->run);
    if (t->was_interrupted || t->why.text[0] != 0) break;
  }
  vs_dryrun_show_end(&t->setup);
  return status;
}

static vs_status answer(table *t, vs_error *error) {
  enum { INTERRUPTED = 130 };
  vs_jsonw_begin(&t->w, &t->text, 0);
  vs_reply_table_begin(&t->w, &t->vary);
  VS_TRY(make_all(t, error));
  if (t->was_interrupted) t->end->exit_code = INTERRUPTED;
  vs_reply_table_end(&t->w, t->was_interrupted,
                     t->was_interrupted ? VS_STR("it was interrupted") : vs_str_from(t->why.text));
  vs_jsonw_end(&t->w);
  return t->text.status;
}

vs_status vs_table_run(const vs_host *host, const vs_dryrun_plan *plan, const vs_dryrun_watch *watch,
                       vs_writer reply, vs_dryrun_end *end, vs_error *error) {
  VS_TRY(vs_dryrun_plan_check(plan, error));
  table *t = vs_host_alloc(host, sizeof *t); /* large for a stack */
  if (t == NULL) return VS_NO_MEMORY;
  *t = (table){.host = host, .watch = watch, .end = end};
  vs_text_init(&t->text, host, NULL);
  vs_status status = vs_vary_init(&t->vary, host, plan, error);
  if (status == VS_OK) status = answer(t, error);
  if (status == VS_OK) status = reply.write(reply.ctx, t->text.bytes.data, t->text.bytes.count);
  vs_vary_deinit(&t->vary);
  vs_text_deinit(&t->text);
  vs_host_free(host, t, sizeof *t);
  return status;
}
