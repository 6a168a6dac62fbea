/* vramscope diff: two inventories, compared by the module `diff`, and its reply as text, Markdown or JSON, or both files on a page; or the
 * ranks of two folders. */
#include "diff/diff.h"
#include "base/check.h"
#include "faces/cli/diff_csv.h"
#include "faces/cli/diff_options.h"
#include "faces/cli/diff_ranks.h"
#include "faces/cli/diff_words.h"
#include "faces/cli/inventory.h"
#include "faces/cli/rank_files.h"
#include "faces/cli/view.h"
#include "faces/cli/words.h"

static bool is_same(vs_json row) { return vs_str_equal(vs_reply_str(row, "status"), VS_STR("same")); }

typedef struct figure {
  const char *name, *key;
} figure;

static const figure figures[] = {{"peak allocated", "peak_allocated_bytes"},
                                 {"peak requested", "peak_requested_bytes"},
                                 {"peak reserved", "peak_reserved_bytes"},
                                 {"peak of the driver", "peak_driver_bytes"},
                                 {"requested when compared", "bytes"}};
enum { FIGURES = sizeof figures / sizeof *figures };

/* Not one that is unknown on both sides (only a dry run knows the driver's), and not the bytes compared where they are the peaks. */
static bool is_worth_a_row(vs_json reply, const char *key) {
  const vs_json a = vs_reply_at(reply, "a"), b = vs_reply_at(reply, "b");
  if (!vs_str_equal(vs_str_from(key), VS_STR("bytes")))
    return vs_reply_knows(a, key) || vs_reply_knows(b, key);
  return vs_reply_u64(a, key) != vs_reply_u64(a, "peak_requested_bytes") ||
         vs_reply_u64(b, key) != vs_reply_u64(b, "peak_requested_bytes");
}

/* The cells of a figure: before, after, change. Unknown ones are "-". */
static void put_figure(const vs_screen *screen, vs_text *cell, vs_json reply, const char *key,
                       size_t column) {
  const vs_json before = vs_reply_at(vs_reply_at(reply, "a"), key),
                after = vs_reply_at(vs_reply_at(reply, "b"), key);
  const bool is_known = !vs_reply_is_unknown(before) && !vs_reply_is_unknown(after);
  if (column == 0) vs_words_bytes(screen, cell, before);
  else if (column == 1) vs_words_bytes(screen, cell, after);
  else if (is_known) vs_diff_words_change(screen, cell, vs_json_i64(after, 0) - vs_json_i64(before, 0));
  else vs_text_byte(cell, '-');
}

/* ---- text for a terminal */

static void put_title(vs_cli *cli, vs_json reply) {
  vs_text title;
  vs_scratch_init(&title, &cli->screen);
  vs_screen_safe(&title, vs_client_shown_name(vs_str_from(cli->line->arguments[0])));
  vs_text_cstr(&title, cli->screen.has_unicode ? " → " : " -> ");
  vs_screen_safe(&title, vs_client_shown_name(vs_str_from(cli->line->arguments[1])));
  vs_text_format(&title, ", at %s, by %S\n\n",
                 vs_cli_has(cli, VS_OPTION_AT_EACH) ? cli->line->values[VS_OPTION_AT_EACH] : "peak",
                 vs_reply_str(reply, "by"));
  vs_screen_styled(&cli->screen, VS_STYLE_TITLE, vs_text_view(&title));
  vs_text_deinit(&title);
}

static void put_figures(vs_cli *cli, vs_json reply) {
  static const vs_column columns[] = {{"", VS_COLUMN_LEFT},
                                      {"before", VS_COLUMN_RIGHT},
                                      {"after", VS_COLUMN_RIGHT},
                                      {"change", VS_COLUMN_RIGHT}};
  vs_table table;
  vs_text_byte(&cli->screen.text, '\n');
  vs_table_begin(&table, &cli->screen, 2, columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < FIGURES; i++) {
    if (!is_worth_a_row(reply, figures[i].key)) continue;
    vs_text_cstr(vs_table_cell(&table), figures[i].name);
    for (size_t k = 0; k < 3; k++) put_figure(&cli->screen, vs_table_cell(&table), reply, figures[i].key, k);
  }
  vs_table_put(&table);
}

/* Rows that are not the same on both sides. They come first. */
static size_t changed_count(vs_json rows) {
  size_t count = 0;
  for (size_t i = 0; i < vs_json_count(rows); i++) count += !is_same(vs_json_at(rows, i));
  return count;
}

static void put_text(vs_cli *cli, vs_json reply) {
  put_title(cli, reply);
  vs_words_lines(&cli->screen, vs_reply_at(reply, "lines"));
  put_figures(cli, reply);
  vs_diff_words_rows(cli, vs_reply_at(reply, "rows"), changed_count(vs_reply_at(reply, "rows")));
}

/* ---- Markdown, for a pull request */

static void put_markdown_figures(vs_cli *cli, vs_json reply) {
  vs_text *text = &cli->screen.text;
  vs_text_cstr(text, "\n| | before | after | change |\n| --- | ---: | ---: | ---: |\n");
  for (size_t i = 0; i < FIGURES; i++) {
    if (!is_worth_a_row(reply, figures[i].key)) continue;
    vs_text_format(text, "| %s |", figures[i].name);
    for (size_t k = 0; k < 3; k++) {
      vs_text_byte(text, ' ');
      put_figure(&cli->screen, text, reply, figures[i].key, k);
      vs_text_cstr(text, " |");
    }
    vs_text_byte(text, '\n');
  }
}

static void put_markdown(vs_cli *cli, vs_json reply) {
  const vs_json rows = vs_reply_at(reply, "rows");
  vs_text_cstr(&cli->screen.text, "### GPU memory\n\n");
  vs_diff_words_markdown_lines(cli, vs_reply_at(reply, "lines"));
  put_markdown_figures(cli, reply);
  vs_diff_words_markdown_rows(cli, rows, vs_reply_str(reply, "by"), changed_count(rows));
}

/* ---- CSV, for a database */

static void put_csv(vs_cli *cli, vs_json reply) {
  const vs_diff_csv_pair pair = {
      .rank = {.value.kind = VS_JSON_ABSENT},
      .files = {vs_str_from(cli->line->arguments[0]), vs_str_from(cli->line->arguments[1])},
      .rows = vs_reply_at(reply, "rows"),
      .error = {.value.kind = VS_JSON_ABSENT}};
  vs_csv csv;
  vs_diff_csv_begin(&csv, &cli->screen.text);
  vs_diff_csv_put(&csv, &pair);
}

/* ---- the command */

static vs_exit put_reply(vs_cli *cli, const vs_text *reply) {
  vs_json_doc document;
  vs_error error;
  if (vs_cli_has(cli, VS_OPTION_JSON)) {
    vs_text_str(&cli->screen.text, vs_text_view(reply));
    vs_text_byte(&cli->screen.text, '\n');
    return VS_EXIT_OK;
  }
  const vs_status status = vs_json_doc_init(&document, cli->host, vs_text_view(reply), &error);
  if (status != VS_OK) return vs_print_error(VS_STR(""), &error);
  if (vs_cli_has(cli, VS_OPTION_MARKDOWN)) put_markdown(cli, vs_json_root(&document));
  else if (vs_cli_has(cli, VS_OPTION_CSV)) put_csv(cli, vs_json_root(&document));
  else put_text(cli, vs_json_root(&document));
  vs_json_doc_deinit(&document);
  return VS_EXIT_OK;
}

static vs_exit compare(vs_cli *cli, vs_json before, vs_json after) {
  const char *const *paths = cli->line->arguments;
  const vs_diff_options options = {.by = vs_diff_by_of(cli),
                                   .unit = cli->screen.unit,
                                   .is_same_program =
                                       vs_str_equal(vs_str_from(paths[0]), vs_str_from(paths[1]))};
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_text reply;
  vs_text_init(&reply, cli->host, NULL);
  const vs_status status = vs_diff_put(cli->host, before, after, options, &reply, &error);
  const vs_exit code = status == VS_OK ? put_reply(cli, &reply) : vs_print_error(VS_STR(""), &error);
  vs_text_deinit(&reply);
  return code;
}

static vs_exit compare_files(vs_cli *cli, const char *const at[2]) {
  const char *const *paths = cli->line->arguments;
  vs_json_doc first, second;
  vs_json before, after;
  vs_exit code = vs_cli_inventory(cli, paths[0], at[0], &first, &before);
  if (code != VS_EXIT_OK) return code;
  code = vs_cli_inventory(cli, paths[1], at[1], &second, &after);
  if (code == VS_EXIT_OK) {
    code = compare(cli, before, after);
    vs_json_doc_deinit(&second);
  }
  vs_json_doc_deinit(&first);
  return code;
}

static vs_exit refuse(const char *sentence, const char *path) {
  vs_error error;
  vs_fail(&error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s", sentence);
  return vs_print_error(vs_str_from(path), &error);
}

static vs_exit compare_two(vs_cli *cli) {
  vs_text scratch;
  vs_text_init(&scratch, cli->host, NULL);
  const char *const at[2] = {vs_diff_moment_of(cli, &scratch, 0), vs_diff_moment_of(cli, &scratch, 1)};
  const vs_exit code = compare_files(cli, at);
  vs_text_deinit(&scratch);
  return code;
}

vs_exit vs_cli_diff(vs_cli *cli) {
  VS_ASSERT(cli->line->argument_count == 2);
  const char *const *paths = cli->line->arguments;
  const bool is_folder[2] = {vs_rank_files_is_folder(paths[0]), vs_rank_files_is_folder(paths[1])};
  if (is_folder[0] != is_folder[1])
    return refuse("is a folder, and the other argument is a file: compare two files, or two folders with a "
                  "file for each rank",
                  paths[is_folder[0] ? 0 : 1]);
  if (is_folder[0] && vs_cli_has(cli, VS_OPTION_HTML))
    return refuse("is a folder: --html compares two files", paths[0]);
  if (is_folder[0]) return vs_cli_diff_ranks(cli);
  return vs_cli_has(cli, VS_OPTION_HTML) ? vs_view_write_page(cli) : compare_two(cli);
}
