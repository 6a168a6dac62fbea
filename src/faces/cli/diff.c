/* vramscope diff: two inventories, compared by the module `diff`, and its reply as text, Markdown or JSON, or both files on a page. */
#include "diff/diff.h"
#include "base/check.h"
#include "faces/cli/inventory.h"
#include "faces/cli/view.h"
#include "faces/cli/words.h"

enum { ROWS = 20 };

/* ---- pieces of a row, for both forms of text */

static void put_change(vs_text *text, const vs_screen *screen, int64_t bytes) {
  if (bytes == 0) vs_text_byte(text, '=');
  else vs_text_bytes_change(text, bytes, screen->unit);
}

/* "train.py:33 forward", and the name that its function had before: " (was run)". */
static void put_owner(vs_text *text, vs_json row) {
  const vs_str name = vs_reply_str(row, "function"),
               before = vs_reply_str(vs_reply_at(row, "before"), "function");
  vs_screen_safe(text, vs_reply_str(row, "owner"));
  if (before.size == 0 || vs_str_equal(before, name)) return;
  vs_text_cstr(text, " (was ");
  vs_screen_safe(text, before);
  vs_text_byte(text, ')');
}

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
  else if (is_known) put_change(cell, screen, vs_json_i64(after, 0) - vs_json_i64(before, 0));
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

static void put_row(vs_table *table, vs_json row) {
  const vs_screen *screen = table->screen;
  put_change(vs_table_cell(table), screen, vs_reply_i64(row, "delta_bytes"));
  vs_words_part(screen, vs_table_cell(table), vs_reply_at(row, "before"));
  vs_words_part(screen, vs_table_cell(table), vs_reply_at(row, "after"));
  put_owner(vs_table_cell(table), row);
}

/* The rows that changed, at most --top. */
static void put_rows(vs_cli *cli, vs_json rows) {
  static const vs_column columns[] = {{"change", VS_COLUMN_RIGHT},
                                      {"before", VS_COLUMN_RIGHT},
                                      {"after", VS_COLUMN_RIGHT},
                                      {"", VS_COLUMN_NAME}};
  const size_t changed = changed_count(rows), shown = (size_t)vs_min_u64(changed, vs_words_top(cli, ROWS));
  vs_table table;
  if (changed == 0) return;
  vs_text_byte(&cli->screen.text, '\n');
  vs_table_begin(&table, &cli->screen, 2, columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < shown; i++) put_row(&table, vs_json_at(rows, i));
  vs_table_put(&table);
  if (changed > shown)
    vs_text_format(&cli->screen.text, "  and %U more: see them with --top 0\n", (uint64_t)(changed - shown));
}

static void put_text(vs_cli *cli, vs_json reply) {
  put_title(cli, reply);
  vs_words_lines(&cli->screen, vs_reply_at(reply, "lines"));
  put_figures(cli, reply);
  put_rows(cli, vs_reply_at(reply, "rows"));
}

/* ---- Markdown, for a pull request */

/* Code, in which a bar would end the cell of a table. */
static void put_code(vs_text *text, const vs_text *safe) {
  vs_text_byte(text, '`');
  for (size_t i = 0; i < safe->bytes.count; i++) {
    const char c = safe->bytes.data[i];
    if (c == '|') vs_text_byte(text, '\\');
    vs_text_byte(text, c == '`' ? '\'' : (uint8_t)c);
  }
  vs_text_byte(text, '`');
}

static void put_markdown_line(vs_text *text, vs_json line) {
  vs_text_format(text, "- **%S:** ", vs_reply_str(line, "label"));
  vs_screen_safe(text, vs_reply_str(line, "text"));
  vs_text_byte(text, '\n');
}

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

static void put_markdown_row(vs_cli *cli, vs_json row) {
  vs_text *text = &cli->screen.text;
  vs_text owner;
  vs_scratch_init(&owner, &cli->screen);
  put_owner(&owner, row);
  vs_text_cstr(text, "| ");
  put_change(text, &cli->screen, vs_reply_i64(row, "delta_bytes"));
  vs_text_cstr(text, " | ");
  vs_words_part(&cli->screen, text, vs_reply_at(row, "before"));
  vs_text_cstr(text, " | ");
  vs_words_part(&cli->screen, text, vs_reply_at(row, "after"));
  vs_text_cstr(text, " | ");
  put_code(text, &owner);
  vs_text_cstr(text, " |\n");
  if (text->status == VS_OK) text->status = owner.status;
  vs_text_deinit(&owner);
}

static void put_markdown(vs_cli *cli, vs_json reply) {
  vs_text *text = &cli->screen.text;
  const vs_json lines = vs_reply_at(reply, "lines"), rows = vs_reply_at(reply, "rows");
  const size_t changed = changed_count(rows), shown = (size_t)vs_min_u64(changed, vs_words_top(cli, ROWS));
  vs_text_cstr(text, "### GPU memory\n\n");
  for (size_t i = 0; i < vs_json_count(lines); i++) put_markdown_line(text, vs_json_at(lines, i));
  put_markdown_figures(cli, reply);
  if (changed != 0)
    vs_text_format(text, "\n| change | before | after | %S |\n| ---: | ---: | ---: | --- |\n",
                   vs_reply_str(reply, "by"));
  for (size_t i = 0; i < shown; i++) put_markdown_row(cli, vs_json_at(rows, i));
  if (changed > shown) vs_text_format(text, "\nand %U more\n", (uint64_t)(changed - shown));
}

/* ---- the command */

/* The moment of one side: of "peak,end" the first or the second part, else all of it. NULL: not given. */
static const char *moment_of(const vs_cli *cli, vs_text *scratch, unsigned side) {
  const char *at = cli->line->values[VS_OPTION_AT_EACH];
  if (at == NULL) return NULL;
  const vs_str whole = vs_str_from(at);
  size_t comma = 0;
  while (comma < whole.size && whole.data[comma] != ',') comma++;
  if (comma == whole.size) return at;
  if (side == 1) return at + comma + 1;
  vs_text_put(scratch, at, comma);
  vs_text_byte(scratch, 0);
  return scratch->status == VS_OK ? scratch->bytes.data : "";
}

static vs_diff_by by_of(const vs_cli *cli) {
  const char *by = cli->line->values[VS_OPTION_BY_OWNER];
  for (unsigned i = 0; i < VS_DIFF_BY_COUNT && by != NULL; i++)
    if (vs_str_equal(vs_str_from(by), vs_str_from(vs_diff_by_names[i]))) return (vs_diff_by)i;
  return VS_DIFF_BY_line;
}

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
  else put_text(cli, vs_json_root(&document));
  vs_json_doc_deinit(&document);
  return VS_EXIT_OK;
}

static vs_exit compare(vs_cli *cli, vs_json before, vs_json after) {
  const char *const *paths = cli->line->arguments;
  const vs_diff_options options = {.by = by_of(cli),
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

vs_exit vs_cli_diff(vs_cli *cli) {
  VS_ASSERT(cli->line->argument_count == 2);
  if (vs_cli_has(cli, VS_OPTION_HTML)) return vs_view_write_page(cli);
  vs_text scratch;
  vs_text_init(&scratch, cli->host, NULL);
  const char *const at[2] = {moment_of(cli, &scratch, 0), moment_of(cli, &scratch, 1)};
  const vs_exit code = compare_files(cli, at);
  vs_text_deinit(&scratch);
  return code;
}
