/* vramscope dryrun: runs a CUDA program on a simulated GPU, and says whether it fits. The options become a plan, the room
 * `dryrun` runs it, and its reply is shown. */
#include "faces/cli/dryrun.h"
#include "faces/cli/words.h"
#include "faces/dryrun/report.h"
#include "faces/dryrun/table.h"
#include "faces/terminal/statusline.h"

/* ---- the plan */

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

/* All --vary, NULL behind the last; NULL: none. */
static const char *const *list_axes(const vs_cli *cli, const char *axes[VS_MAX_ARGUMENTS + 1]) {
  size_t count = 0;
  for (size_t i = 0; i < cli->line->repeated_count; i++)
    if (cli->line->repeated[i].option == VS_OPTION_VARY) axes[count++] = cli->line->repeated[i].value;
  axes[count] = NULL;
  return count == 0 ? NULL : axes;
}

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

static vs_exit put_text(vs_cli *cli, vs_str reply) {
  vs_json_doc document;
  vs_error error;
  const vs_status status = vs_json_doc_init(&document, cli->host, reply, &error);
  if (status != VS_OK) return vs_print_error(VS_STR(""), &error);
  if (vs_cli_has(cli, VS_OPTION_VARY) || vs_cli_has(cli, VS_OPTION_FIND_LARGEST)) {
    vs_dryrun_put_table(&cli->screen, vs_json_root(&document), !vs_cli_has(cli, VS_OPTION_QUIET));
    vs_json_doc_deinit(&document);
    return VS_EXIT_OK;
  }
  const vs_dryrun_next next = {.is_shown = !vs_cli_has(cli, VS_OPTION_QUIET),
                               .snapshot = cli->line->values[VS_OPTION_SNAPSHOT]};
  vs_dryrun_put_report(&cli->screen, vs_json_root(&document), next);
  vs_json_doc_deinit(&document);
  return VS_EXIT_OK;
}

vs_exit vs_cli_run(vs_cli *cli, const vs_dryrun_plan *plan, vs_text *reply) {
  view v = {.cli = cli};
  const vs_dryrun_watch watch = {.ctx = &v, .progress = show, .say = say};
  vs_dryrun_end end;
  vs_error error;
  vs_statusline_begin(&v.line, !vs_cli_has(cli, VS_OPTION_QUIET));
  const vs_status status = vs_dryrun_run(cli->host, plan, &watch, vs_text_writer(reply), &end, &error);
  cli->program_exit = end.exit_code;
  if (status == VS_OK) return VS_EXIT_OK;
  return vs_print_error(vs_str_from(end.subject == NULL ? "" : end.subject), &error);
}

static vs_exit refuse_top(const vs_dryrun_plan *plan) {
  vs_error error;
  (void)vs_fail(&error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                "--top is about owners, which %s does not show: give one of the two",
                plan->vary != NULL ? "--vary" : "--find-largest");
  return vs_print_error(VS_STR(""), &error);
}

static vs_exit put_reply(vs_cli *cli, vs_str reply) {
  if (!vs_cli_has(cli, VS_OPTION_JSON)) return put_text(cli, reply);
  vs_text_str(&cli->screen.text, reply);
  vs_text_byte(&cli->screen.text, '\n');
  return VS_EXIT_OK;
}

static vs_exit run_and_put(vs_cli *cli, const vs_dryrun_plan *plan) {
  enum { CANNOT_BE_STARTED = 126, NOT_FOUND = 127 }; /* what a shell returns for it */
  vs_text reply;
  vs_text_init(&reply, cli->host, NULL);
  vs_exit code = vs_cli_run(cli, plan, &reply);
  if (code == VS_EXIT_OK) code = put_reply(cli, vs_text_view(&reply));
  else if (cli->program_exit == CANNOT_BE_STARTED || cli->program_exit == NOT_FOUND) code = VS_EXIT_OK;
  vs_text_deinit(&reply);
  return code;
}

vs_exit vs_cli_dryrun(vs_cli *cli) {
  vs_text list;
  const char *axes[VS_MAX_ARGUMENTS + 1];
  vs_text_init(&list, cli->host, NULL);
  vs_dryrun_plan plan = vs_cli_plan(cli, &list);
  plan.vary = list_axes(cli, axes);
  const bool is_table = plan.vary != NULL || plan.find_largest != NULL;
  const vs_exit code =
      is_table && vs_cli_has(cli, VS_OPTION_TOP) ? refuse_top(&plan) : run_and_put(cli, &plan);
  vs_text_deinit(&list);
  return code;
}
