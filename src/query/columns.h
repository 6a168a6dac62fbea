/* A reply of binary columns, which a typed array can read in place (docs/formats/query.md):
 *
 *   bytes 0..3   "VSC1"
 *   bytes 4..7   u32: the number of bytes of JSON that follow; the JSON ends at a multiple of 8
 *   JSON         the reply's usual members, and "columns": {name: {"type", "count", "at"}}, padded with spaces
 *   columns      little endian, one after another, each at a multiple of 8, zeros between them
 *
 * A method adds each column with the number of its entries, fills it in, and adds members to the JSON as other
 * methods do. A failure is kept in `status`, so that a method can add several columns and then check it once. */
#ifndef VS_QUERY_COLUMNS_H
#define VS_QUERY_COLUMNS_H

#include "codec/json_writer.h"

typedef enum vs_column_type {
  VS_COLUMN_U8,
  VS_COLUMN_U16,
  VS_COLUMN_U32,
  VS_COLUMN_I32,
  VS_COLUMN_U64,
  VS_COLUMN_F64,
} vs_column_type;

typedef struct vs_column {
  const char *name; /* lives longer than the reply */
  vs_column_type type;
  size_t count; /* entries */
  size_t bytes; /* = count * the width of the type */
  void *data;   /* NULL where bytes is 0 */
} vs_column;

typedef struct vs_columns {
  const vs_host *host;
  vs_status status;
  VS_VEC(vs_column) list; /* in the order of the reply */
} vs_columns;

void vs_columns_deinit(vs_columns *columns);

/* The entries of a new column, `count` zeros, valid until vs_columns_deinit; NULL after a failure, or if count is 0. */
void *vs_columns_add(vs_columns *columns, const char *name, vs_column_type type, size_t count);

/* The same with the entries of `data`. */
void vs_columns_copy(vs_columns *columns, const char *name, vs_column_type type, const void *data,
                     size_t count);

/* The whole reply: vs_columns_begin before the JSON begins, vs_columns_end while its outermost object is still open. */
void vs_columns_begin(vs_text *reply);
VS_MUST_CHECK vs_status vs_columns_end(vs_columns *columns, vs_jsonw *json);

#endif
