#include "faces/cli/rank_words.h"
#include "faces/cli/diff_words.h"

static const vs_column columns[] = {{"change", VS_COLUMN_RIGHT},
                                    {"median rank", VS_COLUMN_RIGHT},
                                    {"this rank", VS_COLUMN_RIGHT},
                                    {"", VS_COLUMN_NAME}};
enum { COLUMNS = sizeof columns / sizeof *columns };

static void put_row(vs_table *table, vs_json row) {
  const vs_screen *screen = table->screen;
  vs_diff_words_change(screen, vs_table_cell(table), vs_reply_i64(row, "delta_bytes"));
  vs_words_part(screen, vs_table_cell(table), vs_reply_at(row, "before"));
  vs_words_part(screen, vs_table_cell(table), vs_reply_at(row, "after"));
  vs_screen_safe(vs_table_cell(table), vs_reply_str(row, "owner"));
}

void vs_rank_words_rows(vs_screen *screen, vs_json rows) {
  vs_table table;
  vs_table_begin(&table, screen, 2, columns, COLUMNS);
  for (size_t i = 0; i < vs_json_count(rows); i++) put_row(&table, vs_json_at(rows, i));
  vs_table_put(&table);
}

void vs_rank_words_more(vs_screen *screen, vs_json rows, uint64_t top) {
  uint64_t count = 0;
  vs_table table;
  vs_table_begin(&table, screen, 2, columns, COLUMNS);
  for (size_t i = 0; i < vs_json_count(rows); i++) {
    const vs_json row = vs_json_at(rows, i);
    if (vs_reply_i64(row, "delta_bytes") > 0 && count++ < top) put_row(&table, row);
  }
  vs_table_put(&table);
  if (count > top) vs_text_format(&screen->text, "  and %U more: see them with --top 0\n", count - top);
}

void vs_rank_words_failures(vs_screen *screen, vs_json files) {
  for (size_t i = 0; i < vs_json_count(files); i++) {
    const vs_json file = vs_json_at(files, i);
    if (!vs_reply_knows(file, "error")) continue;
    vs_text_cstr(&screen->text, "  ");
    vs_screen_safe(&screen->text, vs_reply_str(file, "name"));
    vs_text_cstr(&screen->text, ": ");
    vs_screen_safe(&screen->text, vs_reply_str(file, "error"));
    vs_text_byte(&screen->text, '\n');
  }
}
