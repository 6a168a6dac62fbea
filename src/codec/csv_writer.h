/* Writes comma-separated values (RFC 4180) into a vs_text: rows end in CR LF, a field is quoted if necessary.
 *
 * An empty string is written as "" and an unknown value as nothing, so that databases can distinguish them. Data is
 * written unchanged: a name that begins with = is not escaped for spreadsheets. */
#ifndef VS_CODEC_CSV_WRITER_H
#define VS_CODEC_CSV_WRITER_H

#include "codec/records.h"

typedef struct vs_csv {
  vs_text *text;
  bool in_row; /* the current row has a field */
} vs_csv;

void vs_csv_begin(vs_csv *csv, vs_text *text);

void vs_csv_str(vs_csv *csv, vs_str value);
void vs_csv_u64(vs_csv *csv, uint64_t value);
void vs_csv_i64(vs_csv *csv, int64_t value);
void vs_csv_f64(vs_csv *csv, double value); /* unknown if it is not finite */
void vs_csv_unknown(vs_csv *csv);

/* The row has at least one field. */
void vs_csv_row_end(vs_csv *csv);

/* ---- typed rows */

/* A row with the names of the fields. */
void vs_csv_names(vs_csv *csv, const vs_record_type *type);
/* The rows of a batch; a truth is 1 or 0. A failure of theirs is one of the text. */
void vs_csv_records(vs_csv *csv, const vs_records *records);

#endif
