/* vramscope fit: the cheapest changes with which a program fits, found by runs on a simulated GPU. */
#include "codec/json_reply.h"
#include "codec/json_writer.h"
#include "faces/cli/dryrun.h"
#include "faces/cli/view.h"
#include "faces/dryrun/fit.h"
#include "os/folder.h"
#include "os/infile.h"

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

/* ---- the page of --html: the answer, and the memory over time of the program as it is and with the changes */

enum { PLAIN, FOUND, SNAPSHOTS };

typedef struct page {
  const char *name; /* NULL: it is not wanted */
  vs_folder folder; /* of the snapshots, until they are in the page */
  char paths[SNAPSHOTS][VS_FOLDER_PATH];
} page;

static vs_exit begin_page(vs_cli *cli, page *p) {
  static const char *const names[SNAPSHOTS] = {"plain", "found"};
  vs_error error;
  if (p->name == NULL) return VS_EXIT_OK;
  if (vs_str_equal(vs_str_from(p->name), VS_STR("-")))
    return vs_view_refuse("--html needs a file here: standard output has the answer");
  vs_exit code = vs_view_check_build(true);
  if (code == VS_EXIT_OK) code = vs_view_begin_page(cli, p->name);
  if (code != VS_EXIT_OK) return code;
  if (vs_folder_create(&p->folder, "vramscope-fit-", &error) != VS_OK) {
    vs_view_abandon_page();
    return vs_print_error(VS_STR(""), &error);
  }
  for (size_t i = 0; i < SNAPSHOTS; i++)
    vs_format(p->paths[i], sizeof p->paths[i], "%s/%s.pickle", p->folder.path, names[i]);
  return VS_EXIT_OK;
}

static void abandon_page(page *p) {
  if (p->name == NULL) return;
  vs_view_abandon_page();
  vs_folder_remove(&p->folder);
}

static void put_escaped(vs_text *text, vs_str plain) {
  for (size_t i = 0; i < plain.size; i++)
    if (plain.data[i] == '<') vs_text_cstr(text, "&lt;");
    else if (plain.data[i] == '&') vs_text_cstr(text, "&amp;");
    else vs_text_byte(text, (uint8_t)plain.data[i]);
}

/* The answer as the terminal shows it, without colours. */
static void put_answer(const vs_cli *cli, vs_text *html, vs_json root, const char *file) {
  vs_screen screen = cli->screen;
  vs_scratch_init(&screen.text, &cli->screen);
  screen.has_colour = false;
  screen.has_unicode = true;
  screen.columns = VS_SCREEN_USUAL;
  vs_fit_put(&screen, root, file);
  vs_text_cstr(html, "\n<pre>");
  put_escaped(html, vs_text_view(&screen.text));
  vs_text_cstr(html, "</pre>");
  if (html->status == VS_OK) html->status = screen.text.status;
  vs_text_deinit(&screen.text);
}

static vs_exit end_page(const vs_cli *cli, page *p, vs_json root, const char *file) {
  static const char *const shown[SNAPSHOTS] = {"as it is", "with the changes"};
  const char *paths[SNAPSHOTS];
  vs_page_file files[SNAPSHOTS];
  size_t count = 0;
  if (p->name == NULL) return VS_EXIT_OK;
  for (size_t i = 0; i < SNAPSHOTS; i++) {
    if (!vs_infile_is_regular(p->paths[i])) continue;
    files[count] = (vs_page_file){.name = shown[i], .bytes = VS_NO_SIZE};
    paths[count++] = p->paths[i];
  }
  if (count == 0) {
    abandon_page(p);
    vs_error error;
    (void)vs_fail(&error, VS_NOT_FOUND, VS_NO_OFFSET,
                  "no page written: the program has no history of PyTorch's allocator");
    (void)vs_print_error(vs_str_from(p->name), &error); /* the answer is still worth it */
    return VS_EXIT_OK;
  }
  vs_text above;
  vs_text_init(&above, cli->host, NULL);
  put_answer(cli, &above, root, file);
  vs_exit code = VS_EXIT_NO_MEMORY;
  if (above.status == VS_OK)
    code = vs_view_end_page(
        &(vs_view_page){.paths = paths, .files = files, .count = count, .above = vs_text_view(&above)});
  else vs_view_abandon_page();
  vs_text_deinit(&above);
  vs_folder_remove(&p->folder);
  return code;
}

/* ---- the command */

/* What a search writes beside its answer. */
typedef struct results {
  changes_file file;
  page page;
  const char *parameters[VS_MAX_ARGUMENTS + 1]; /* NULL behind the last */
} results;

static void abandon(results *r) {
  if (r->file.name != NULL) vs_outfile_abandon(&r->file.out);
  abandon_page(&r->page);
}

static vs_exit put_reply(vs_cli *cli, vs_str reply, results *r) {
  vs_json_doc document;
  vs_error error;
  if (vs_json_doc_init(&document, cli->host, reply, &error) != VS_OK) {
    abandon(r);
    return vs_print_error(VS_STR(""), &error);
  }
  const vs_json root = vs_json_root(&document);
  if (vs_cli_has(cli, VS_OPTION_JSON)) {
    vs_text_str(&cli->screen.text, reply);
    vs_text_byte(&cli->screen.text, '\n');
  } else {
    vs_fit_put(&cli->screen, root, r->file.name);
  }
  const vs_exit of_page = end_page(cli, &r->page, root, r->file.name);
  const vs_exit code = finish(cli, &r->file, vs_reply_at(vs_reply_at(root, "answer"), "changes"));
  vs_json_doc_deinit(&document);
  return code != VS_EXIT_OK ? code : of_page;
}

static vs_exit run(vs_cli *cli, const vs_dryrun_plan *plan, results *r) {
  enum { CANNOT_BE_STARTED = 126, NOT_FOUND = 127 }; /* what a shell returns for it */
  vs_text reply;
  vs_text_init(&reply, cli->host, NULL);
  vs_exit code = vs_cli_run_plan(cli, plan, &reply);
  if (code == VS_EXIT_OK) {
    code = put_reply(cli, vs_text_view(&reply), r);
  } else {
    abandon(r);
    if (cli->program_exit == CANNOT_BE_STARTED || cli->program_exit == NOT_FOUND) code = VS_EXIT_OK;
  }
  vs_text_deinit(&reply);
  return code;
}

/* Both files are made before the runs. */
static vs_exit begin(vs_cli *cli, results *r) {
  r->file.name = cli->line->values[VS_OPTION_CHANGES];
  r->page.name = cli->line->values[VS_OPTION_FIT_HTML];
  const vs_exit code = create(cli, &r->file);
  if (code != VS_EXIT_OK) return code;
  const vs_exit of_page = begin_page(cli, &r->page);
  if (of_page != VS_EXIT_OK && r->file.name != NULL) vs_outfile_abandon(&r->file.out);
  return of_page;
}

/* All --batch, NULL behind the last. */
static void list_parameters(const vs_cli *cli, const char *parameters[static VS_MAX_ARGUMENTS + 1]) {
  size_t count = 0;
  for (size_t i = 0; i < cli->line->repeated_count; i++)
    if (cli->line->repeated[i].option == VS_OPTION_BATCH) parameters[count++] = cli->line->repeated[i].value;
  parameters[count] = NULL;
}

vs_exit vs_cli_fit(vs_cli *cli) {
  static results r; /* its buffer is large for a stack */
  vs_text list;
  vs_exit code = begin(cli, &r);
  if (code != VS_EXIT_OK) return code;
  vs_text_init(&list, cli->host, NULL);
  vs_dryrun_plan plan = vs_cli_plan(cli, &list);
  plan.finds_changes = true;
  plan.allows_numerics = vs_cli_has(cli, VS_OPTION_ALLOW_NUMERICS);
  list_parameters(cli, r.parameters);
  plan.parameters = r.parameters;
  if (vs_cli_has(cli, VS_OPTION_RUNS)) /* the command line has checked that it is a number */
    (void)vs_parse_u64(vs_str_from(cli->line->values[VS_OPTION_RUNS]), &plan.most_runs);
  if (r.page.name != NULL) {
    plan.plain_snapshot = r.page.paths[PLAIN];
    plan.found_snapshot = r.page.paths[FOUND];
  }
  code = run(cli, &plan, &r);
  vs_text_deinit(&list);
  return code;
}
