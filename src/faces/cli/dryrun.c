/* vramscope dryrun: runs a CUDA program on a simulated GPU, and says whether it fits. The options become a plan, the room
 * `dryrun` runs it, and its reply is shown. */
#include "faces/cli/dryrun.h"
#include "faces/check/text.h"
#include "faces/cli/limited.h"
#include "faces/cli/settings_file.h"
#include "faces/cli/words.h"
#include "faces/dryrun/report.h"
#include "faces/dryrun/table.h"
#include "faces/terminal/statusline.h"
#include <string.h>

static bool take_number(const vs_cli *cli, vs_option_id id, uint64_t *number) {
  const char *value = cli->line->values[id];
  return value != NULL && vs_parse_u64(vs_str_from(value), number);
}

/* All --values as one list, or NULL. */
static const char *list_values(const vs_cli *cli, vs_text *list) {
  if (!vs_cli_has(cli, VS_OPTION_VALUES)) return NULL;
  for (size_t i = 0; i < cli->line->repeated_count; i++) {
    if (cli->line->repeated[i].option != VS_OPTION_VALUES) continue;
    vs_text_cstr(list, list->bytes.count == 0 ? "" : ",");
    vs_text_cstr(list, cli->line->repeated[i].value);
  }
  vs_text_byte(list, 0);
  return list->status == VS_OK ? list->bytes.data : "";
}

/* ---- the axes of a table */

enum { AXES_OF_OPTIONS = 2 };

/* The options as axes of --vary: --compare H100,L4 is gpu=H100,L4, and --world 8,64 is world=8,64; all --vary follow them.
 * `texts` has what is made of options, so both live as long as the plan. */
typedef struct axis_list {
  vs_text texts[AXES_OF_OPTIONS];
  const char *axes[AXES_OF_OPTIONS + VS_MAX_ARGUMENTS + 1]; /* NULL behind the last */
  size_t count;
} axis_list;

static bool is_list(const char *value) {
  return value != NULL && vs_str_contains(vs_str_from(value), VS_STR(","));
}

static void add_option(axis_list *list, vs_text *text, const char *name, const char *value) {
  vs_text_format(text, "dryrun:%s=%s", name, value);
  vs_text_byte(text, 0);
  list->axes[list->count++] = text->status == VS_OK ? text->bytes.data : "";
}

/* The plan's `vary`; NULL: there is one run. */
static const char *const *list_axes(const vs_cli *cli, axis_list *list) {
  const char *cards = cli->line->values[VS_OPTION_COMPARE], *worlds = cli->line->values[VS_OPTION_WORLD];
  for (size_t i = 0; i < AXES_OF_OPTIONS; i++) vs_text_init(&list->texts[i], cli->host, NULL);
  if (cards != NULL) add_option(list, &list->texts[0], "gpu", cards);
  if (is_list(worlds)) add_option(list, &list->texts[1], "world", worlds);
  for (size_t i = 0; i < cli->line->repeated_count; i++)
    if (cli->line->repeated[i].option == VS_OPTION_VARY)
      list->axes[list->count++] = cli->line->repeated[i].value;
  list->axes[list->count] = NULL;
  return list->count == 0 ? NULL : list->axes;
}

static void deinit_axes(axis_list *list) {
  for (size_t i = 0; i < AXES_OF_OPTIONS; i++) vs_text_deinit(&list->texts[i]);
}

/* ---- the plan of one run */

vs_dryrun_plan vs_cli_plan(const vs_cli *cli, vs_text *list) {
  enum { OWNERS = 5 };
  const char *const *values = cli->line->values;
  const uint64_t top = vs_words_top(cli, OWNERS);
  vs_dryrun_plan plan = {
      .command = cli->line->words,
      .gpu = values[VS_OPTION_GPU],
      .context = values[VS_OPTION_CONTEXT],
      .values = list_values(cli, list),
      .events = values[VS_OPTION_EVENTS],
      .conf = values[VS_OPTION_CONF],
      .with = values[VS_OPTION_WITH],
      .has_no_history = vs_cli_has(cli, VS_OPTION_NO_HISTORY),
      .top = top == UINT64_MAX ? 0 : top,
      .is_random = vs_cli_has(cli, VS_OPTION_RANDOM),
      .until = values[VS_OPTION_UNTIL],
      .finds_smallest = vs_cli_has(cli, VS_OPTION_FIND_SMALLEST),
      .find_largest = values[VS_OPTION_FIND_LARGEST],
      .snapshot = values[VS_OPTION_SNAPSHOT],
      .replaces_snapshot = vs_cli_has(cli, VS_OPTION_FORCE),
      .streams = vs_cli_has(cli, VS_OPTION_JSON) ? VS_DRYRUN_STREAMS_TO_STDERR : VS_DRYRUN_STREAMS_OURS,
  };
  plan.has_ranks = take_number(cli, VS_OPTION_RANKS, &plan.ranks);
  plan.has_world = take_number(cli, VS_OPTION_WORLD, &plan.world);
  plan.has_rank = take_number(cli, VS_OPTION_RANK, &plan.rank);
  plan.finds_ranks = vs_cli_has(cli, VS_OPTION_RANKS_THAT_DIFFER);
  (void)take_number(cli, VS_OPTION_RANKS_THAT_DIFFER, &plan.most_ranks);
  if (take_number(cli, VS_OPTION_HISTORY, &plan.history) && plan.history == 0) plan.has_no_history = true;
  const char *history = values[VS_OPTION_HISTORY];
  plan.is_recorded = history != NULL && strcmp(history, "recorder") == 0;
  return plan;
}

/* ---- progress: a line at the bottom of the terminal; the program's output scrolls above it */

typedef struct view {
  const vs_cli *cli;
  vs_statusline line;
  vs_progress reading;
} view;

static void put_running(const view *v, vs_text *line, const vs_dryrun_progress *progress) {
  const vs_unit unit = v->cli->screen.unit;
  vs_text_format(line, "%s: ", progress->name);
  if (progress->cards_in_use == 0) {
    vs_text_cstr(line, "not used yet");
  } else {
    if (progress->cards_in_use > 1)
      vs_text_format(line, "%u GPUs used, GPU %u: ", progress->cards_in_use, progress->card);
    vs_text_bytes(line, progress->used_bytes, unit);
    vs_text_cstr(line, " now, ");
    vs_text_bytes(line, progress->peak_bytes, unit);
    vs_text_cstr(line, " peak of ");
    vs_text_bytes(line, progress->total_bytes, unit);
  }
  if (progress->steps != 0) vs_text_format(line, ", step %U", progress->steps);
  vs_text_cstr(line, ", ");
  vs_text_duration(line, progress->time_us);
}

static void put_searching(const view *v, vs_text *line, const vs_dryrun_progress *progress) {
  const vs_unit unit = v->cli->screen.unit;
  vs_text_format(line, "searching the smallest size, run %u: ", progress->run);
  vs_text_bytes(line, progress->tried_bytes, unit);
  vs_text_cstr(line, " (more than ");
  vs_text_bytes(line, progress->low_bytes, unit);
  vs_text_cstr(line, ", at most ");
  vs_text_bytes(line, progress->high_bytes, unit);
  vs_text_byte(line, ')');
}

static void put_rank(const view *v, vs_text *line, const vs_dryrun_progress *progress) {
  (void)v;
  vs_text_format(line, "ranks that differ, run %u: rank %U of %U", progress->run, progress->rank,
                 progress->world);
}

static void put_varying(const view *v, vs_text *line, const vs_dryrun_progress *progress) {
  (void)v;
  vs_text_format(line, "run %u of %u: %S", progress->run, progress->runs, progress->values);
}

static void put_finding(const view *v, vs_text *line, const vs_dryrun_progress *progress) {
  (void)v;
  vs_text_format(line, "finding the largest, run %u: %S", progress->run, progress->values);
  if (progress->known.size != 0) vs_text_format(line, " (%S)", progress->known);
}

static void put_fitting(const view *v, vs_text *line, const vs_dryrun_progress *progress) {
  (void)v;
  vs_text_format(line, "finding changes, run %u of at most %u: %S", progress->run, progress->runs,
                 progress->values);
  if (progress->known.size != 0) vs_text_format(line, " (least so far: %S)", progress->known);
}

static void draw(view *v, const vs_dryrun_progress *progress,
                 void (*put)(const view *v, vs_text *line, const vs_dryrun_progress *progress)) {
  vs_text line;
  vs_text_init(&line, v->cli->host, NULL);
  put(v, &line, progress);
  if (line.status == VS_OK) vs_statusline_draw(&v->line, vs_text_view(&line));
  vs_text_deinit(&line);
}

static void show(void *ctx, const vs_dryrun_progress *progress) {
  enum { SHORT_US = 1000 * 1000 }; /* a run that is over before that shows no line */
  view *v = ctx;
  switch (progress->stage) {
    case VS_DRYRUN_RUNNING:
      if (progress->time_us >= SHORT_US) draw(v, progress, put_running);
      break;
    case VS_DRYRUN_SEARCHING: draw(v, progress, put_searching); break;
    case VS_DRYRUN_RANKS: draw(v, progress, put_rank); break;
    case VS_DRYRUN_VARYING: draw(v, progress, put_varying); break;
    case VS_DRYRUN_FINDING: draw(v, progress, put_finding); break;
    case VS_DRYRUN_FITTING: draw(v, progress, put_fitting); break;
    case VS_DRYRUN_READING:
      if (progress->read_bytes == 0)
        vs_progress_begin(&v->reading, !vs_cli_has(v->cli, VS_OPTION_QUIET), VS_STR("the history"));
      vs_progress_bytes(&v->reading, progress->read_bytes, progress->file_bytes);
      break;
    case VS_DRYRUN_PAUSED:
      vs_statusline_end(&v->line);
      vs_progress_end(&v->reading);
      break;
  }
}

static void say(void *ctx, vs_str subject, const vs_error *error) {
  (void)ctx;
  (void)vs_print_error(subject, error);
}

/* ---- the command */

static void put_text(vs_cli *cli, vs_json reply) {
  const bool is_quiet = vs_cli_has(cli, VS_OPTION_QUIET);
  if (!vs_str_equal(vs_reply_str(reply, "method"), VS_STR("dryrun"))) {
    vs_dryrun_put_table(&cli->screen, reply, !is_quiet);
    return;
  }
  const vs_dryrun_next next = {.is_shown = !is_quiet, .snapshot = cli->line->values[VS_OPTION_SNAPSHOT]};
  vs_dryrun_put_report(&cli->screen, reply, next);
  if (!vs_reply_knows(reply, "check")) return;
  vs_text_byte(&cli->screen.text, '\n');
  vs_check_put_text(&cli->screen, vs_reply_at(reply, "check"));
}

/* --exit-code child */
static bool reports_child(const vs_cli *cli) {
  const char *value = cli->line->values[VS_OPTION_EXIT_CODE];
  return value != NULL && vs_str_equal(vs_str_from(value), VS_STR("child"));
}

vs_exit vs_cli_run_plan(vs_cli *cli, const vs_dryrun_plan *plan, vs_text *reply) {
  view v = {.cli = cli};
  const vs_dryrun_watch watch = {.ctx = &v, .progress = show, .say = say};
  vs_dryrun_end end;
  vs_error error;
  if (plan->snapshot != NULL && vs_outfile_expect(plan->snapshot, plan->replaces_snapshot, &error) != VS_OK)
    return vs_cli_say_output(vs_str_from(plan->snapshot), &error);
  vs_statusline_begin(&v.line, !vs_cli_has(cli, VS_OPTION_QUIET));
  const vs_status status = vs_dryrun_run(cli->host, plan, &watch, vs_text_writer(reply), &end, &error);
  cli->program_exit = reports_child(cli) ? end.exit_code : end.answer;
  if (status == VS_OK) return VS_EXIT_OK;
  return vs_print_error(vs_str_from(end.subject == NULL ? "" : end.subject), &error);
}

/* Options about one run, where several are made. */
static vs_exit refuse_with_table(const vs_cli *cli, const vs_dryrun_plan *plan) {
  const bool compares = vs_cli_has(cli, VS_OPTION_COMPARE);
  const char *option = vs_cli_has(cli, VS_OPTION_TOP)               ? "--top is about owners"
                       : vs_cli_has(cli, VS_OPTION_EXIT_CODE)       ? "--exit-code is about the program"
                       : vs_settings_limits_given(cli)              ? "a limit is about one run"
                       : compares && vs_cli_has(cli, VS_OPTION_GPU) ? "--gpu names the GPU of one run"
                                                                    : NULL;
  vs_error error;
  if (option == NULL) return VS_EXIT_OK;
  (void)vs_fail(&error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s, and %s makes several runs: give one of the two",
                option,
                plan->find_largest != NULL ? "--find-largest"
                : compares                 ? "--compare"
                                           : "a table");
  return vs_print_error(VS_STR(""), &error);
}

static vs_exit put_reply(vs_cli *cli, vs_str reply) {
  vs_json_doc document;
  vs_error error;
  if (vs_cli_has(cli, VS_OPTION_JSON)) {
    vs_text_str(&cli->screen.text, reply);
    vs_text_byte(&cli->screen.text, '\n');
    return VS_EXIT_OK;
  }
  if (vs_json_doc_init(&document, cli->host, reply, &error) != VS_OK)
    return vs_print_error(VS_STR(""), &error);
  put_text(cli, vs_json_root(&document));
  vs_json_doc_deinit(&document);
  return VS_EXIT_OK;
}

/* The limits decide where the program fits: whether it is over one. */
static vs_exit judge_and_put(vs_cli *cli, vs_str reply, vs_json limits) {
  vs_limited limited;
  vs_exit code = vs_limited_init(&limited, cli, reply, limits);
  if (code == VS_EXIT_OK) code = put_reply(cli, vs_text_view(&limited.reply));
  if (cli->program_exit == VS_EXIT_OK && !reports_child(cli)) cli->program_exit = (int)limited.answer;
  vs_limited_deinit(&limited);
  return code;
}

static vs_exit run_and_put(vs_cli *cli, const vs_dryrun_plan *plan, vs_json limits) {
  enum { CANNOT_BE_STARTED = 126, NOT_FOUND = 127 }; /* what a shell returns for it */
  vs_text reply;
  vs_text_init(&reply, cli->host, NULL);
  vs_exit code = vs_cli_run_plan(cli, plan, &reply);
  if (code == VS_EXIT_OK)
    code = vs_settings_limits_given(cli) ? judge_and_put(cli, vs_text_view(&reply), limits)
                                         : put_reply(cli, vs_text_view(&reply));
  else if (cli->program_exit == CANNOT_BE_STARTED || cli->program_exit == NOT_FOUND) code = VS_EXIT_OK;
  vs_text_deinit(&reply);
  return code;
}

static vs_exit run_with_limits(vs_cli *cli, const vs_dryrun_plan *plan) {
  vs_json_doc limits;
  vs_exit code = plan->vary != NULL || plan->find_largest != NULL ? refuse_with_table(cli, plan) : VS_EXIT_OK;
  if (code == VS_EXIT_OK) code = vs_settings_of_options(&limits, cli);
  if (code != VS_EXIT_OK) return code;
  code = run_and_put(cli, plan, vs_json_root(&limits));
  vs_json_doc_deinit(&limits);
  return code;
}

vs_exit vs_cli_dryrun(vs_cli *cli) {
  vs_text list;
  axis_list axes = {.count = 0};
  vs_text_init(&list, cli->host, NULL);
  vs_dryrun_plan plan = vs_cli_plan(cli, &list);
  plan.vary = list_axes(cli, &axes);
  const vs_exit code = run_with_limits(cli, &plan);
  deinit_axes(&axes);
  vs_text_deinit(&list);
  return code;
}
