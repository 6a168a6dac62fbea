/* The rows of a difference (docs/formats/diff.md) as CSV: one line for each row of each pair of files. */
#ifndef VS_CLI_DIFF_CSV_H
#define VS_CLI_DIFF_CSV_H

#include "codec/csv_writer.h"
#include "codec/json_reply.h"

/* Begins the table with its headings. */
void vs_diff_csv_begin(vs_csv *csv, vs_text *text);

/* The rows of one pair: `rank` (absent: unknown), the two files, and `rows`, all of them. A pair that was not compared has one line, with
 * `error`, which is absent otherwise. */
typedef struct vs_diff_csv_pair {
  vs_json rank;
  vs_str files[2];
  vs_json rows, error;
} vs_diff_csv_pair;
void vs_diff_csv_put(vs_csv *csv, const vs_diff_csv_pair *pair);

#endif
