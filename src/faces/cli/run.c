/* vramscope run: runs a program with the recorder loaded, and shows what it recorded: the report, or the post-mortem if the program
 * failed for lack of memory, or was recorded for that alone; of several processes a row for each. */
#include "base/check.h"
#include "dryrun/recorded.h"
#include "faces/cli/words.h"

typedef struct outcome {
  vs_cli *cli;
  vs_recorded recorded;
  vs_text json,
      libraries; /* with --json: the engine's report of the first recording, and what libraries took */
  bool ran_out;  /* a request of the first recording failed */
  size_t shown[VS_MAX_ARGUMENTS],
      shown_count;    /* the recordings that the screen is about; the JSON is about the first of them */
  const char *method; /* of the screen: "report", "oom" */
} outcome;

/* ---- the first recording */

/* Those with memory of PyTorch's; where none has, the first. */
static void choose(outcome *o) {
  o->shown[0] = 0;
  for (size_t i = 0; i < o->recorded.files.count && o->shown_count < VS_MAX_ARGUMENTS; i++)
    if (o->recorded.files.data[i].has_pytorch) o->shown[o->shown_count++] = i;
  if (o->shown_count == 0 && o->recorded.files.count != 0) o->shown_count = 1;
}

static bool has_failed_request(vs_json report) {
  const vs_json devices = vs_reply_at(report, "devices");
  for (size_t i = 0; i < vs_json_count(devices); i++)
    if (vs_json_count(vs_reply_at(vs_json_at(devices, i), "ooms")) != 0) return true;
  return false;
}

static vs_exit ask(outcome *o) {
  vs_client client;
  vs_json_doc report;
  vs_error error;
  const char *path = o->recorded.files.data[o->shown[0]].path;
  vs_exit code = vs_client_open(&client, o->cli->host, path, path, !vs_cli_has(o->cli, VS_OPTION_QUIET));
  if (code != VS_EXIT_OK) return code;
  vs_client_begin(&client, "report");
  vs_cli_pass_options(o->cli, &client, VS_OPTION_BIT(VS_OPTION_TOP));
  vs_cli_pass_unit(o->cli, &client);
  vs_status status = vs_client_try(&client, &o->json, &error);
  if (status == VS_OK) status = vs_json_doc_init(&report, o->cli->host, vs_text_view(&o->json), &error);
  if (status == VS_OK) {
    o->ran_out = has_failed_request(vs_json_root(&report));
    vs_json_doc_deinit(&report);
    vs_client_begin(&client, "libraries");
    status = vs_client_try(&client, &o->libraries, &error);
  }
  if (status != VS_OK) code = vs_print_error(vs_str_from(path), &error);
  vs_client_close(&client);
  return code;
}

/* ---- the screen, which is that of another command on the recordings */

/* What became of the changes, above the screen. */
static void put_changes(vs_screen *screen, vs_json changes) {
  if (vs_json_count(changes) == 0) return;
  vs_words_changes(screen, changes);
  vs_text_byte(&screen->text, '\n');
}

static vs_exit put_screen(const outcome *o) {
  vs_cli *cli = o->cli;
  const vs_line *whole = cli->line;
  vs_line line = *whole;
  const size_t count = o->shown_count;
  const bool is_about_oom = o->ran_out && (o->recorded.exit_code != 0 || vs_cli_has(cli, VS_OPTION_ON_OOM));
  const bool is_oom = is_about_oom && count == 1;
  line.command = is_oom ? VS_COMMAND_oom : VS_COMMAND_report;
  for (size_t i = 0; i < count; i++) line.arguments[i] = o->recorded.files.data[o->shown[i]].path;
  line.argument_count = count;
  cli->line = &line;
  const vs_exit code = is_oom ? vs_cli_oom(cli) : vs_cli_report(cli);
  cli->line = whole;
  return code;
}

static void put_names(const outcome *o) {
  vs_text *text = &o->cli->screen.text;
  if (o->recorded.files.count == 1) return; /* the report names it */
  vs_text_format(text, "\n%U recordings:\n", (uint64_t)o->recorded.files.count);
  for (size_t i = 0; i < o->recorded.files.count; i++) {
    vs_text_cstr(text, "  ");
    vs_screen_safe(text, vs_str_from(o->recorded.files.data[i].path));
    vs_text_format(text, "  (process %D%s)\n", o->recorded.files.data[i].pid,
                   o->recorded.files.data[i].has_pytorch ? "" : ", without PyTorch");
  }
}

/* ---- the same as JSON */

static void put_json(const outcome *o, vs_json report, vs_json libraries, vs_json changes) {
  vs_jsonw writer, *w = &writer;
  vs_jsonw_begin(w, &o->cli->screen.text, 0);
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "schema", 1);
  vs_jsonw_member_str(w, "method", VS_STR("run"));
  vs_jsonw_member_i64(w, "exit_code", o->recorded.exit_code);
  vs_jsonw_key(w, VS_STR("recordings"));
  vs_jsonw_array_begin(w);
  for (size_t i = 0; i < o->recorded.files.count; i++) {
    vs_jsonw_object_begin(w);
    vs_jsonw_member_str(w, "file", vs_str_from(o->recorded.files.data[i].path));
    vs_jsonw_member_i64(w, "pid", o->recorded.files.data[i].pid);
    vs_jsonw_member_bool(w, "has_pytorch", o->recorded.files.data[i].has_pytorch);
    vs_jsonw_object_end(w);
  }
  vs_jsonw_array_end(w);
  vs_jsonw_key(w, VS_STR("changes"));
  vs_reply_put(w, changes);
  vs_jsonw_key(w, VS_STR("report"));
  vs_reply_put(w, report);
  vs_jsonw_key(w, VS_STR("libraries"));
  vs_reply_put(w, libraries);
  vs_jsonw_object_end(w);
  vs_jsonw_end(w);
  vs_text_byte(&o->cli->screen.text, '\n');
}

static vs_status read_reply(const outcome *o, const vs_text *bytes, vs_json_doc *reply, vs_error *error) {
  *reply = (vs_json_doc){.host = o->cli->host, .root = {.kind = VS_JSON_ABSENT}};
  if (o->recorded.files.count == 0) return VS_OK;
  return vs_json_doc_init(reply, o->cli->host, vs_text_view(bytes), error);
}

static vs_exit put_reply(const outcome *o, vs_json changes) {
  vs_json_doc report, libraries;
  vs_error error;
  vs_status status = read_reply(o, &o->json, &report, &error);
  if (status != VS_OK) return vs_print_error(VS_STR(""), &error);
  status = read_reply(o, &o->libraries, &libraries, &error);
  if (status == VS_OK) {
    put_json(o, vs_json_root(&report), vs_json_root(&libraries), changes);
    vs_json_doc_deinit(&libraries);
  }
  vs_json_doc_deinit(&report);
  return status == VS_OK ? VS_EXIT_OK : vs_print_error(VS_STR(""), &error);
}

/* ---- the command */

/* On a simulated GPU what libraries take from the driver begins no recording. */
static const char *nothing_recorded(const outcome *o) {
  return vs_cli_has(o->cli, VS_OPTION_GPU_SIMULATED)
             ? "nothing was recorded: the program did not use PyTorch's CUDA allocator"
             : "nothing was recorded: the program did not use PyTorch's CUDA allocator, and no library was "
               "seen to take GPU memory";
}

static vs_exit show(outcome *o, vs_json changes) {
  const bool is_json = vs_cli_has(o->cli, VS_OPTION_JSON);
  choose(o);
  const vs_exit code = o->recorded.files.count == 0 ? VS_EXIT_OK : ask(o);
  if (code != VS_EXIT_OK) return code;
  if (is_json) return put_reply(o, changes);
  put_changes(&o->cli->screen, changes);
  if (o->recorded.files.count == 0) {
    vs_error none;
    (void)vs_fail(&none, VS_NOT_FOUND, VS_NO_OFFSET, "%s",
                  vs_cli_has(o->cli, VS_OPTION_ON_OOM)
                      ? "nothing was kept: no request of PyTorch's CUDA allocator failed"
                      : nothing_recorded(o));
    (void)vs_print_error(VS_STR(""), &none);
    return VS_EXIT_OK;
  }
  const vs_exit shown = put_screen(o);
  if (shown == VS_EXIT_OK) put_names(o);
  return shown;
}

static vs_exit show_all(outcome *o) {
  vs_json_doc changes;
  vs_error error;
  if (vs_json_doc_init(&changes, o->cli->host, vs_text_view(&o->recorded.changes), &error) != VS_OK)
    return vs_print_error(VS_STR(""), &error);
  const vs_exit code = show(o, vs_json_root(&changes));
  vs_json_doc_deinit(&changes);
  return code;
}

static const char *path_of(const vs_cli *cli) {
  const char *on_oom = cli->line->values[VS_OPTION_ON_OOM];
  return on_oom == NULL ? cli->line->values[VS_OPTION_RECORDING] : on_oom;
}

static vs_exit say(const outcome *o, vs_error *error) {
  const bool was_not_started = o->recorded.exit_code == 127 || o->recorded.exit_code == 126;
  const char *subject = o->recorded.subject;
  if (subject != NULL && subject == path_of(o->cli)) return vs_cli_say_output(vs_str_from(subject), error);
  const vs_exit code = vs_print_error(vs_str_from(subject == NULL ? "" : subject), error);
  return was_not_started ? VS_EXIT_OK : code; /* the exit status is what a shell returns for it */
}

vs_exit vs_cli_run(vs_cli *cli) {
  vs_error error;
  if (vs_cli_has(cli, VS_OPTION_ON_OOM) && vs_cli_has(cli, VS_OPTION_RECORDING)) {
    (void)vs_fail(&error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "--on-oom names the file itself: leave out -o");
    return vs_print_error(VS_STR(""), &error);
  }
  const vs_recorded_plan plan = {
      .command = cli->line->words,
      .gpu = cli->line->values[VS_OPTION_GPU_SIMULATED],
      .path = path_of(cli),
      .with = cli->line->values[VS_OPTION_WITH],
      .is_on_oom = vs_cli_has(cli, VS_OPTION_ON_OOM),
      .ring = cli->line->values[VS_OPTION_RING],
      .may_replace = vs_cli_has(cli, VS_OPTION_FORCE),
      .streams = vs_cli_has(cli, VS_OPTION_JSON) ? VS_DRYRUN_STREAMS_TO_STDERR : VS_DRYRUN_STREAMS_OURS,
  };
  outcome o = {.cli = cli};
  vs_text_init(&o.json, cli->host, NULL);
  vs_text_init(&o.libraries, cli->host, NULL);
  const vs_status status = vs_recorded_run(&o.recorded, cli->host, &plan, &error);
  cli->program_exit = o.recorded.exit_code;
  const vs_exit code = status == VS_OK ? show_all(&o) : say(&o, &error);
  vs_text_deinit(&o.json);
  vs_text_deinit(&o.libraries);
  vs_recorded_deinit(&o.recorded);
  return code;
}
