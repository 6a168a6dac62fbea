/* vramscope check: a run, from a file or made here on a simulated GPU, judged by the module `check`, and its answer as text and in the forms
 * that CI services read. */
#include "check/check.h"
#include "check/settings.h"
#include "faces/check/formats.h"
#include "faces/check/text.h"
#include "faces/cli/settings_file.h"
#include "faces/cli/dryrun.h"
#include "faces/cli/limited.h"
#include "faces/cli/textfile.h"
#include "os/process.h"

enum { MOST_REPLY = 1 << 30, MOST_BASELINE = 1 << 28, PATH = 4096 };

/* Documents of the run; those that are not in use are empty. */
typedef struct job {
  vs_cli *cli;
  vs_settings_file settings;
  vs_text step_bytes;         /* the steps that budgets name, each with a NUL */
  VS_VEC(const char *) steps; /* in step_bytes, each once; NULL after the last */
  vs_json_doc documents[3];
  size_t document_count;
  vs_text name;
  vs_check_run run;
} job;

static const vs_json absent = {.value.kind = VS_JSON_ABSENT};

static vs_exit refuse(const char *subject, const char *sentence) {
  vs_error error;
  vs_fail(&error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s", sentence);
  return vs_print_error(vs_str_from(subject), &error);
}

/* ---- the settings, before anything runs */

static vs_exit say_wrong_settings(const job *j, const vs_error *error) {
  return vs_print_error(vs_str_from(j->settings.file == NULL ? "" : j->settings.file), error);
}

static bool is_named_before(const vs_check_settings *settings, size_t budget) {
  for (size_t i = 0; i < budget; i++)
    if (vs_str_equal(settings->budgets.data[i].steps, settings->budgets.data[budget].steps)) return true;
  return false;
}

static vs_status list_steps(job *j, const vs_check_settings *settings) {
  size_t count = 0;
  for (size_t i = 0; i < settings->budgets.count; i++) {
    const vs_str steps = settings->budgets.data[i].steps;
    if (steps.size == 0 || is_named_before(settings, i)) continue;
    vs_text_str(&j->step_bytes, steps);
    vs_text_byte(&j->step_bytes, 0);
    count++;
  }
  VS_TRY(j->step_bytes.status);
  VS_TRY(vs_vec_reserve(j->cli->host, &j->steps, count + 1));
  const char *text = j->step_bytes.bytes.data;
  for (; j->steps.count < count; text += strlen(text) + 1) j->steps.data[j->steps.count++] = text;
  j->steps.data[count] = NULL;
  return VS_OK;
}

static vs_exit read_settings(job *j) {
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_check_settings settings;
  vs_status status =
      vs_check_settings_init(&settings, j->cli->host, vs_json_root(&j->settings.document), &error);
  if (status == VS_OK) status = list_steps(j, &settings);
  vs_check_settings_deinit(&settings);
  if (status == VS_OK) return VS_EXIT_OK;
  if (error.status == VS_OK) vs_fail(&error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  return say_wrong_settings(j, &error);
}

/* ---- the run */

/* A text of the settings where the option is not given; `scratch` keeps it. */
static const char *text_of(const job *j, const char *given, const char *key, vs_text *scratch) {
  return given != NULL ? given : vs_settings_file_text(&j->settings, key, scratch);
}

static vs_exit keep(job *j, vs_text *reply, vs_json *root) {
  vs_error error;
  vs_json_doc *document = &j->documents[j->document_count];
  if (vs_json_doc_init(document, j->cli->host, vs_text_view(reply), &error) != VS_OK)
    return vs_print_error(VS_STR(""), &error);
  j->document_count++;
  *root = vs_json_root(document);
  return VS_EXIT_OK;
}

static vs_exit run_program(job *j) {
  enum { TEXTS = 5, ALL = 0 };
  const char *world = j->cli->line->values[VS_OPTION_WORLD];
  if (world != NULL && vs_str_contains(vs_str_from(world), VS_STR(",")))
    return refuse("", "--world takes one number here: a check is about one run");
  vs_text texts[TEXTS], reply;
  for (size_t i = 0; i < TEXTS; i++) vs_text_init(&texts[i], j->cli->host, NULL);
  vs_text_init(&reply, j->cli->host, NULL);
  vs_dryrun_plan plan = vs_cli_plan(j->cli, &texts[0]);
  plan.gpu = text_of(j, plan.gpu, "gpu", &texts[1]);
  plan.conf = text_of(j, plan.conf, "conf", &texts[2]);
  plan.context = text_of(j, plan.context, "context", &texts[3]);
  plan.until = text_of(j, plan.until, "until", &texts[4]);
  if (plan.values == NULL) plan.values = vs_settings_file_text(&j->settings, "values", &texts[0]);
  plan.top = ALL;
  plan.step_ranges = j->steps.count == 0 ? NULL : j->steps.data;
  plan.streams = VS_DRYRUN_STREAMS_TO_STDERR;
  vs_limited_put_command(&j->name, j->cli->line->words);
  vs_exit code = vs_cli_run_plan(j->cli, &plan, &reply);
  if (code == VS_EXIT_OK) code = keep(j, &reply, &j->run.dryrun);
  j->run.ranges = vs_reply_at(j->run.dryrun, "step_ranges");
  for (size_t i = 0; i < TEXTS; i++) vs_text_deinit(&texts[i]);
  vs_text_deinit(&reply);
  return code;
}

static vs_exit read_reply(job *j, const char *path) {
  vs_error error;
  vs_json_doc *document = &j->documents[0];
  if (vs_textfile_json(j->cli->host, path, MOST_REPLY, document, &error) != VS_OK)
    return vs_print_error(vs_str_from(path), &error);
  j->document_count = 1;
  const vs_json root = vs_json_root(document);
  const vs_str method = vs_reply_str(root, "method");
  j->run.ranges = vs_reply_at(root, "step_ranges");
  if (vs_str_equal(method, VS_STR("dryrun"))) j->run.dryrun = root;
  else if (vs_str_equal(method, VS_STR("inventory"))) j->run.inventory = root;
  else return refuse(path, "the file is neither the reply of a dry run nor an inventory");
  return VS_EXIT_OK;
}

static vs_exit ask(job *j, vs_client *client, const char *method, vs_json *root) {
  vs_client_begin(client, method);
  vs_cli_pass_options(j->cli, client, VS_OPTION_BIT(VS_OPTION_DEVICE));
  if (vs_str_equal(vs_str_from(method), VS_STR("report"))) vs_client_param_u64(client, "top", 0);
  const vs_exit code = vs_client_ask(client, &j->documents[j->document_count]);
  if (code == VS_EXIT_OK) *root = vs_json_root(&j->documents[j->document_count++]);
  return code;
}

/* Appends the entry of the steps: the inventory at their peak, or why there is none. */
static vs_status ask_steps(const job *j, vs_client *client, const char *steps, vs_text *entries,
                           vs_error *why) {
  char moment[64];
  vs_text reply;
  vs_text_init(&reply, j->cli->host, NULL);
  vs_format(moment, sizeof moment, "steps %s", steps);
  vs_client_begin(client, "inventory");
  vs_cli_pass_options(j->cli, client, VS_OPTION_BIT(VS_OPTION_DEVICE));
  vs_client_param(client, "at", moment);
  vs_status status = vs_client_try(client, &reply, why);
  if (status == VS_OK) status = reply.status;
  if (status == VS_OK || status == VS_NOT_FOUND)
    vs_reply_put_range(entries, vs_str_from(steps), status == VS_OK ? vs_text_view(&reply) : VS_STR(""), why);
  vs_text_deinit(&reply);
  return status == VS_NOT_FOUND ? VS_OK : status;
}

static vs_exit ask_all_steps(job *j, vs_client *client) {
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_status status = VS_OK;
  vs_exit code = VS_EXIT_OK;
  vs_text entries;
  if (j->steps.count == 0) return VS_EXIT_OK;
  vs_text_init(&entries, j->cli->host, NULL);
  for (size_t i = 0; i < j->steps.count && status == VS_OK; i++) {
    vs_text_byte(&entries, i == 0 ? '[' : ',');
    status = ask_steps(j, client, j->steps.data[i], &entries, &error);
  }
  vs_text_byte(&entries, ']');
  if (status == VS_OK) code = keep(j, &entries, &j->run.ranges);
  else code = vs_print_error(vs_str_from(client->name), &error);
  vs_text_deinit(&entries);
  return code;
}

static vs_exit read_file(job *j) {
  const char *path = j->cli->line->arguments[0];
  vs_client client;
  vs_text_str(&j->name, vs_client_shown_name(vs_str_from(path)));
  if (vs_textfile_is_reply(path)) return read_reply(j, path);
  vs_exit code = vs_client_open(&client, j->cli->host, path, path, !vs_cli_has(j->cli, VS_OPTION_QUIET));
  if (code != VS_EXIT_OK) return code;
  code = ask(j, &client, "inventory", &j->run.inventory);
  if (code == VS_EXIT_OK) code = ask(j, &client, "report", &j->run.report);
  if (code == VS_EXIT_OK) code = ask_all_steps(j, &client);
  vs_client_close(&client);
  return code;
}

/* ---- what is written */

static vs_exit write_file(const job *j, const char *path, const vs_text *text, bool says) {
  static vs_outfile file; /* its buffer is large for a stack */
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_status status = text->status;
  if (status == VS_OK) status = vs_outfile_create(&file, path, true, &error);
  if (status == VS_OK) {
    const vs_writer writer = vs_outfile_writer(&file);
    status = writer.write(writer.ctx, text->bytes.data, text->bytes.count);
    if (status == VS_OK) status = vs_outfile_finish(&file, &error);
    else vs_outfile_abandon(&file);
  }
  if (status == VS_OK) {
    if (says && !vs_cli_has(j->cli, VS_OPTION_QUIET)) {
      char sentence[PATH + 32];
      vs_format(sentence, sizeof sentence, "Wrote the baseline %s\n", path);
      vs_stderr_put(sentence, strlen(sentence));
    }
    return VS_EXIT_OK;
  }
  if (error.status == VS_OK) vs_fail(&error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  return vs_cli_say_output(vs_str_from(path), &error);
}

/* The folder of the repository, with a slash at its end: files of annotations are named below it. */
static void find_folder(char *folder, size_t size) {
  const char *given = vs_process_variable("GITHUB_WORKSPACE");
  if (given == NULL) given = vs_process_variable("CI_PROJECT_DIR");
  if (given != NULL) vs_format(folder, size - 1, "%s", given);
  else vs_process_working_folder(folder, size - 1);
  const size_t length = strlen(folder);
  if (length != 0 && folder[length - 1] != '/') memcpy(folder + length, "/", 2);
}

/* Appends Markdown to the summary of the job, where there is one. */
static vs_exit append_summary(const job *j, vs_json reply) {
  const char *path = vs_process_variable("GITHUB_STEP_SUMMARY");
  vs_error error;
  vs_text text;
  if (path == NULL || *path == 0) return VS_EXIT_OK;
  vs_text_init(&text, j->cli->host, NULL);
  vs_exit code = VS_EXIT_OK;
  if (vs_infile_is_regular(path) && vs_textfile_read(path, MOST_REPLY, &text, &error) != VS_OK)
    code = vs_print_error(vs_str_from(path), &error);
  if (code == VS_EXIT_OK) {
    vs_check_put_markdown(&text, &j->cli->screen, reply);
    code = write_file(j, path, &text, false);
  }
  vs_text_deinit(&text);
  return code;
}

typedef enum form_kind { JUNIT, CODE_QUALITY } form_kind;

static vs_exit write_form(const job *j, vs_option_id option, form_kind form, vs_json reply, vs_str folder) {
  vs_text text;
  if (!vs_cli_has(j->cli, option)) return VS_EXIT_OK;
  vs_text_init(&text, j->cli->host, NULL);
  if (form == JUNIT) vs_check_put_junit(&text, reply);
  else vs_check_put_code_quality(&text, reply, folder);
  const vs_exit code = write_file(j, j->cli->line->values[option], &text, false);
  vs_text_deinit(&text);
  return code;
}

static vs_exit put_forms(job *j, vs_json reply) {
  char folder[PATH];
  find_folder(folder, sizeof folder);
  vs_exit code = write_form(j, VS_OPTION_JUNIT, JUNIT, reply, vs_str_from(folder));
  if (code == VS_EXIT_OK)
    code = write_form(j, VS_OPTION_CODE_QUALITY, CODE_QUALITY, reply, vs_str_from(folder));
  if (code != VS_EXIT_OK || !vs_cli_has(j->cli, VS_OPTION_GITHUB)) return code;
  vs_check_put_annotations(&j->cli->screen.text, reply, vs_str_from(folder));
  return append_summary(j, reply);
}

static vs_exit put_reply(job *j, const vs_text *text, vs_json reply) {
  vs_screen *screen = &j->cli->screen;
  if (vs_cli_has(j->cli, VS_OPTION_JSON)) {
    vs_text_str(&screen->text, vs_text_view(text));
    vs_text_byte(&screen->text, '\n');
  } else if (vs_cli_has(j->cli, VS_OPTION_MARKDOWN)) {
    vs_check_put_markdown(&screen->text, screen, reply);
  } else {
    vs_check_put_text(screen, reply);
  }
  return put_forms(j, reply);
}

static vs_exit answer(job *j, const vs_text *text) {
  vs_error error;
  vs_json_doc reply;
  if (vs_json_doc_init(&reply, j->cli->host, vs_text_view(text), &error) != VS_OK)
    return vs_print_error(VS_STR(""), &error);
  const vs_json root = vs_json_root(&reply);
  vs_exit code = VS_EXIT_OK;
  if (vs_json_count(vs_reply_at(root, "checks")) == 0 && !vs_cli_has(j->cli, VS_OPTION_UPDATE_BASELINE))
    code = refuse(
        j->settings.file == NULL ? "" : j->settings.file,
        "nothing limits this run: give --max-allocated, --no-oom, --baseline or others, or write limits "
        "into vramscope.toml");
  else code = put_reply(j, text, root);
  if (code == VS_EXIT_OK) j->cli->program_exit = (int)vs_limited_exit(root, VS_EXIT_CHECK_FAILED);
  vs_json_doc_deinit(&reply);
  return code;
}

/* ---- the check */

static vs_exit judge(job *j, vs_json old, vs_text *reply, vs_text *baseline) {
  vs_error error;
  const vs_check_options options = {.unit = j->cli->screen.unit};
  const vs_status status = vs_check_put(j->cli->host, &j->run, vs_json_root(&j->settings.document), old,
                                        options, reply, baseline, &error);
  if (status == VS_OK) return VS_EXIT_OK;
  if (status != VS_BAD_FORMAT) return say_wrong_settings(j, &error);
  return vs_print_error(vs_str_from(j->settings.baseline.bytes.data), &error);
}

static bool is_complete(const job *j, const vs_text *baseline) {
  vs_json_doc document;
  vs_error error;
  if (vs_json_doc_init(&document, j->cli->host, vs_text_view(baseline), &error) != VS_OK) return false;
  const bool complete = vs_reply_bool(vs_json_root(&document), "complete");
  vs_json_doc_deinit(&document);
  return complete;
}

/* Judges the run by the limits, with its own baseline as the old one. */
static vs_exit judge_by(job *j, const vs_text *baseline, vs_text *reply) {
  vs_error error;
  vs_json_doc old;
  if (vs_json_doc_init(&old, j->cli->host, vs_text_view(baseline), &error) != VS_OK)
    return vs_print_error(VS_STR(""), &error);
  const vs_exit code = judge(j, vs_json_root(&old), reply, NULL);
  vs_json_doc_deinit(&old);
  return code;
}

static vs_exit update(job *j) {
  const char *path = j->settings.baseline.bytes.data;
  vs_text reply, baseline;
  vs_text_init(&reply, j->cli->host, NULL);
  vs_text_init(&baseline, j->cli->host, NULL);
  vs_exit code = judge(j, absent, &reply, &baseline);
  if (code == VS_EXIT_OK && (baseline.bytes.count == 0 || !is_complete(j, &baseline)))
    code = refuse(path, "not written: the figures of the run are not complete (see: vramscope check without "
                        "--update-baseline)");
  else if (code == VS_EXIT_OK) code = write_file(j, path, &baseline, true);
  reply.bytes.count = 0;
  if (code == VS_EXIT_OK) code = judge_by(j, &baseline, &reply);
  if (code == VS_EXIT_OK) code = answer(j, &reply);
  vs_text_deinit(&reply);
  vs_text_deinit(&baseline);
  return code;
}

static vs_exit judge_and_answer(job *j, vs_json old) {
  vs_text reply;
  vs_text_init(&reply, j->cli->host, NULL);
  vs_exit code = judge(j, old, &reply, NULL);
  if (code == VS_EXIT_OK) code = answer(j, &reply);
  vs_text_deinit(&reply);
  return code;
}

static vs_exit compare(job *j) {
  const char *path = j->settings.baseline.bytes.data;
  vs_json_doc old;
  vs_error error;
  const vs_status status = vs_textfile_json(j->cli->host, path, MOST_BASELINE, &old, &error);
  if (status == VS_NOT_FOUND)
    vs_fail(&error, VS_IO, VS_NO_OFFSET, "there is no such baseline yet: write it with --update-baseline");
  if (status != VS_OK) return vs_print_error(vs_str_from(path), &error);
  const vs_exit code = judge_and_answer(j, vs_json_root(&old));
  vs_json_doc_deinit(&old);
  return code;
}

static vs_exit check(job *j) {
  const bool has_baseline = j->settings.baseline.bytes.count != 0;
  const bool updates = vs_cli_has(j->cli, VS_OPTION_UPDATE_BASELINE);
  if (updates && !has_baseline) return refuse("", "--update-baseline needs the file: --baseline FILE");
  vs_exit code = read_settings(j);
  if (code == VS_EXIT_OK) code = j->cli->line->words != NULL ? run_program(j) : read_file(j);
  j->cli->program_exit = VS_EXIT_OK;
  if (code != VS_EXIT_OK) return code;
  j->run.name = vs_text_view(&j->name);
  return updates ? update(j) : has_baseline ? compare(j) : judge_and_answer(j, absent);
}

vs_exit vs_cli_check(vs_cli *cli) {
  job j = {.cli = cli, .run = {.dryrun = absent, .inventory = absent, .report = absent, .ranges = absent}};
  vs_exit code = vs_settings_file_init(&j.settings, cli);
  if (code != VS_EXIT_OK) return code;
  vs_text_init(&j.name, cli->host, NULL);
  vs_text_init(&j.step_bytes, cli->host, NULL);
  code = check(&j);
  for (size_t i = 0; i < j.document_count; i++) vs_json_doc_deinit(&j.documents[i]);
  vs_text_deinit(&j.name);
  vs_text_deinit(&j.step_bytes);
  vs_vec_free(cli->host, &j.steps);
  vs_settings_file_deinit(&j.settings);
  return code;
}
