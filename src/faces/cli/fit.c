/* vramscope fit: the cheapest changes with which a program fits, found by runs on a simulated GPU. */
#include "codec/json_reply.h"
#include "codec/json_writer.h"
#include "faces/cli/dryrun.h"
#include "faces/dryrun/fit.h"

/* The file of -o, which is made before the runs, so that they are not made in vain. */
typedef struct changes_file {
  const char *name; /* NULL: it is not wanted */
  vs_outfile out;
} changes_file;

static vs_exit create(const vs_cli *cli, changes_file *file) {
  vs_error error;
  if (file->name == NULL) return VS_EXIT_OK;
  if (vs_outfile_create(&file->out, file->name, vs_cli_has(cli, VS_OPTION_FORCE), &error) == VS_OK)
    return VS_EXIT_OK;
  return vs_cli_say_output(vs_str_from(file->name), &error);
}

static vs_status put_changes(const vs_cli *cli, changes_file *file, vs_json changes) {
  enum { INDENT = 2 };
  const vs_writer to = vs_outfile_writer(&file->out);
  vs_text text;
  vs_jsonw w;
  vs_text_init(&text, cli->host, &to);
  vs_jsonw_begin(&w, &text, INDENT);
  vs_reply_put(&w, changes);
  vs_jsonw_end(&w);
  vs_text_byte(&text, '\n');
  const vs_status status = vs_text_finish(&text);
  vs_text_deinit(&text);
  return status;
}

/* Without an answer there is no file. */
static vs_exit finish(vs_cli *cli, changes_file *file, vs_json changes) {
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  if (file->name == NULL) return VS_EXIT_OK;
  if (vs_reply_is_unknown(changes)) {
    vs_outfile_abandon(&file->out);
    return VS_EXIT_OK;
  }
  const vs_status status = put_changes(cli, file, changes);
  if (status == VS_NO_MEMORY) vs_outfile_abandon(&file->out);
  error.status = status == VS_NO_MEMORY ? status : vs_outfile_finish(&file->out, &error);
  if (error.status != VS_OK) return vs_cli_say_output(vs_str_from(file->name), &error);
  return VS_EXIT_OK;
}

static vs_exit put_reply(vs_cli *cli, vs_str reply, changes_file *file) {
  vs_json_doc document;
  vs_error error;
  if (vs_json_doc_init(&document, cli->host, reply, &error) != VS_OK) {
    if (file->name != NULL) vs_outfile_abandon(&file->out);
    return vs_print_error(VS_STR(""), &error);
  }
  const vs_json root = vs_json_root(&document);
  if (vs_cli_has(cli, VS_OPTION_JSON)) {
    vs_text_str(&cli->screen.text, reply);
    vs_text_byte(&cli->screen.text, '\n');
  } else {
    vs_fit_put(&cli->screen, root, file->name);
  }
  const vs_exit code = finish(cli, file, vs_reply_at(vs_reply_at(root, "answer"), "changes"));
  vs_json_doc_deinit(&document);
  return code;
}

static vs_exit run(vs_cli *cli, const vs_dryrun_plan *plan, changes_file *file) {
  enum { CANNOT_BE_STARTED = 126, NOT_FOUND = 127 }; /* what a shell returns for it */
  vs_text reply;
  vs_text_init(&reply, cli->host, NULL);
  vs_exit code = vs_cli_run_plan(cli, plan, &reply);
  if (code == VS_EXIT_OK) {
    code = put_reply(cli, vs_text_view(&reply), file);
  } else {
    if (file->name != NULL) vs_outfile_abandon(&file->out);
    if (cli->program_exit == CANNOT_BE_STARTED || cli->program_exit == NOT_FOUND) code = VS_EXIT_OK;
  }
  vs_text_deinit(&reply);
  return code;
}

vs_exit vs_cli_fit(vs_cli *cli) {
  static changes_file file; /* its buffer is large for a stack */
  vs_text list;
  file.name = cli->line->values[VS_OPTION_CHANGES];
  vs_exit code = create(cli, &file);
  if (code != VS_EXIT_OK) return code;
  vs_text_init(&list, cli->host, NULL);
  vs_dryrun_plan plan = vs_cli_plan(cli, &list);
  plan.finds_changes = true;
  plan.allows_numerics = vs_cli_has(cli, VS_OPTION_ALLOW_NUMERICS);
  plan.parameter = cli->line->values[VS_OPTION_BATCH];
  if (vs_cli_has(cli, VS_OPTION_RUNS)) /* the command line has checked that it is a number */
    (void)vs_parse_u64(vs_str_from(cli->line->values[VS_OPTION_RUNS]), &plan.most_runs);
  code = run(cli, &plan, &file);
  vs_text_deinit(&list);
  return code;
}
