#include "faces/cli/diff_csv.h"

static const char *const of_row[] = {"status", "owner", "file", "function", "line", "delta_bytes"};
enum { TEXTS = 4, OF_ROW = sizeof of_row / sizeof *of_row };

static const struct {
  const char *name, *side, *key;
} of_side[] = {{"before_count", "before", "count"},
               {"before_bytes", "before", "bytes"},
               {"after_count", "after", "count"},
               {"after_bytes", "after", "bytes"}};
enum { OF_SIDE = sizeof of_side / sizeof *of_side };

void vs_diff_csv_begin(vs_csv *csv, vs_text *text) {
  static const char *const of_pair[] = {"rank", "a", "b"};
  vs_csv_begin(csv, text);
  for (size_t i = 0; i < sizeof of_pair / sizeof *of_pair; i++) vs_csv_str(csv, vs_str_from(of_pair[i]));
  for (size_t i = 0; i < OF_ROW; i++) vs_csv_str(csv, vs_str_from(of_row[i]));
  for (size_t i = 0; i < OF_SIDE; i++) vs_csv_str(csv, vs_str_from(of_side[i].name));
  vs_csv_str(csv, VS_STR("error"));
  vs_csv_row_end(csv);
}

static void put_number(vs_csv *csv, vs_json value) {
  if (vs_reply_is_unknown(value)) vs_csv_unknown(csv);
  else vs_csv_i64(csv, vs_json_i64(value, 0));
}

static void put_pair(vs_csv *csv, const vs_diff_csv_pair *pair) {
  put_number(csv, pair->rank);
  for (size_t i = 0; i < 2; i++) vs_csv_str(csv, pair->files[i]);
}

static void put_row(vs_csv *csv, const vs_diff_csv_pair *pair, vs_json row) {
  put_pair(csv, pair);
  for (size_t i = 0; i < OF_ROW; i++) {
    if (i >= TEXTS) put_number(csv, vs_reply_at(row, of_row[i]));
    else if (!vs_reply_knows(row, of_row[i])) vs_csv_unknown(csv);
    else vs_csv_str(csv, vs_reply_str(row, of_row[i]));
  }
  for (size_t i = 0; i < OF_SIDE; i++)
    put_number(csv, vs_reply_at(vs_reply_at(row, of_side[i].side), of_side[i].key));
  vs_csv_unknown(csv);
  vs_csv_row_end(csv);
}

static void put_error(vs_csv *csv, const vs_diff_csv_pair *pair) {
  put_pair(csv, pair);
  for (size_t i = 0; i < OF_ROW + OF_SIDE; i++) vs_csv_unknown(csv);
  vs_csv_str(csv, vs_json_str(pair->error, VS_STR("")));
  vs_csv_row_end(csv);
}

void vs_diff_csv_put(vs_csv *csv, const vs_diff_csv_pair *pair) {
  if (!vs_reply_is_unknown(pair->error)) put_error(csv, pair);
  for (size_t i = 0; i < vs_json_count(pair->rows); i++) put_row(csv, pair, vs_json_at(pair->rows, i));
}
