/* Typed rows, a batch of them by columns: what the writers of tables take (csv_writer.h, sql_writer.h, arrow_writer.h,
 * parquet_writer.h).
 *
 *   static const vs_field fields[] = {{"rank", VS_FIELD_I64}, {"name", VS_FIELD_TEXT}};
 *   static const vs_record_type type = {"ranks", fields, 2};
 *   vs_records records;
 *   vs_records_init(&records, host, &type);
 *   vs_records_i64(&records, 7);                 the fields of a row, in their order
 *   vs_records_null(&records);                   unknown
 *   vs_records_row_end(&records);
 *   ...                                          when vs_records_is_full: write them, and vs_records_clear
 *   vs_records_deinit(&records);
 *
 * Every field can be unknown. A failure is kept in `status` and makes later puts do nothing.
 * Invariant, while status is VS_OK and no row is begun: each column has `count` values and `count` bytes in `known`, `nulls` of which are 0;
 * the values of VS_FIELD_TEXT are the ends of the texts in `text`, rising; those are valid UTF-8. */
#ifndef VS_CODEC_RECORDS_H
#define VS_CODEC_RECORDS_H

#include "base/text.h"

typedef enum vs_field_type {
  VS_FIELD_I64,
  VS_FIELD_U64, /* addresses, identifiers, and sizes that a damaged file can make as large as it likes */
  VS_FIELD_F64,
  VS_FIELD_BOOL,
  VS_FIELD_TEXT
} vs_field_type;

typedef struct vs_field {
  const char *name;
  vs_field_type type;
} vs_field;

typedef struct vs_record_type {
  const char *name; /* of the table */
  const vs_field *fields;
  size_t field_count;
} vs_record_type;

enum { VS_RECORDS_MOST_FIELDS = 32 };

typedef struct vs_record_column {
  VS_VEC(uint64_t)
  values; /* U64; I64: as two's complement; F64: the bits; BOOL: 0 or 1; TEXT: the end of its bytes */
  VS_VEC(uint8_t) known; /* 0: unknown */
  vs_text text;
  size_t nulls;
} vs_record_column;

typedef struct vs_records {
  const vs_host *host;
  const vs_record_type *type;
  vs_status status;
  size_t count; /* complete rows */
  size_t next;  /* the field that is put next */
  vs_record_column columns[VS_RECORDS_MOST_FIELDS];
} vs_records;

void vs_records_init(vs_records *records, const vs_host *host, const vs_record_type *type);
void vs_records_deinit(vs_records *records);

void vs_records_null(vs_records *records);
void vs_records_i64(vs_records *records, int64_t value);
void vs_records_u64(vs_records *records,
                    uint64_t value); /* in VS_FIELD_I64: unknown if it is more than INT64_MAX */
void vs_records_f64(vs_records *records, double value); /* unknown if it is not finite */
void vs_records_bool(vs_records *records, bool value);
void vs_records_str(vs_records *records, vs_str value); /* U+FFFD for each invalid byte */
void vs_records_row_end(vs_records *records);

/* Whether it is time to write them: a writer keeps only one batch in memory. */
bool vs_records_is_full(const vs_records *records);
void vs_records_clear(vs_records *records);

/* The text of a row, of a column of VS_FIELD_TEXT; empty if it is unknown. */
static inline vs_str vs_record_str(const vs_record_column *column, size_t row) {
  VS_ASSERT(row < column->values.count);
  const size_t from = row == 0 ? 0 : (size_t)column->values.data[row - 1];
  if (column->text.bytes.count == 0) return VS_STR("");
  return (vs_str){column->text.bytes.data + from, (size_t)column->values.data[row] - from};
}

#endif
