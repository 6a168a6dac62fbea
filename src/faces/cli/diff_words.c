#include "faces/cli/diff_words.h"
#include "faces/cli/words.h"

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

void vs_diff_words_change(const vs_screen *screen, vs_text *text, int64_t bytes) {
  if (bytes == 0) vs_text_byte(text, '=');
  else vs_text_bytes_change(text, bytes, screen->unit);
}

/* ---- text for a terminal */

static void put_row(vs_table *table, vs_json row) {
  const vs_screen *screen = table->screen;
  vs_diff_words_change(screen, vs_table_cell(table), vs_reply_i64(row, "delta_bytes"));
  vs_words_part(screen, vs_table_cell(table), vs_reply_at(row, "before"));
  vs_words_part(screen, vs_table_cell(table), vs_reply_at(row, "after"));
  put_owner(vs_table_cell(table), row);
}

void vs_diff_words_rows(vs_cli *cli, vs_json rows, uint64_t changed) {
  static const vs_column columns[] = {{"change", VS_COLUMN_RIGHT},
                                      {"before", VS_COLUMN_RIGHT},
                                      {"after", VS_COLUMN_RIGHT},
                                      {"", VS_COLUMN_NAME}};
  const uint64_t shown = vs_min_u64(changed, vs_words_top(cli, VS_DIFF_WORDS_ROWS));
  vs_table table;
  if (changed == 0) return;
  vs_text_byte(&cli->screen.text, '\n');
  vs_table_begin(&table, &cli->screen, 2, columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < shown && i < vs_json_count(rows); i++) put_row(&table, vs_json_at(rows, i));
  vs_table_put(&table);
  if (changed > shown)
    vs_text_format(&cli->screen.text, "  and %U more: see them with --top 0\n", changed - shown);
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

void vs_diff_words_markdown_lines(vs_cli *cli, vs_json lines) {
  vs_text *text = &cli->screen.text;
  for (size_t i = 0; i < vs_json_count(lines); i++) {
    const vs_json line = vs_json_at(lines, i);
    const vs_str label = vs_reply_str(line, "label");
    if (label.size == 0) vs_text_cstr(text, "- ");
    else vs_text_format(text, "- **%S:** ", label);
    vs_screen_safe(text, vs_reply_str(line, "text"));
    vs_text_byte(text, '\n');
  }
}

static void put_markdown_row(vs_cli *cli, vs_json row) {
  vs_text *text = &cli->screen.text;
  vs_text owner;
  vs_scratch_init(&owner, &cli->screen);
  put_owner(&owner, row);
  vs_text_cstr(text, "| ");
  vs_diff_words_change(&cli->screen, text, vs_reply_i64(row, "delta_bytes"));
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

void vs_diff_words_markdown_rows(vs_cli *cli, vs_json rows, vs_str by, uint64_t changed) {
  vs_text *text = &cli->screen.text;
  const uint64_t shown = vs_min_u64(changed, vs_words_top(cli, VS_DIFF_WORDS_ROWS));
  if (changed != 0)
    vs_text_format(text, "\n| change | before | after | %S |\n| ---: | ---: | ---: | --- |\n", by);
  for (size_t i = 0; i < shown && i < vs_json_count(rows); i++) put_markdown_row(cli, vs_json_at(rows, i));
  if (changed > shown) vs_text_format(text, "\nand %U more\n", changed - shown);
}
