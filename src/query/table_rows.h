/* The tables of a snapshot as typed rows: what `export` writes as CSV, Arrow and Parquet. Their columns are listed in table_rows.c only, and described in
 * docs/formats/query.md. */
#ifndef VS_QUERY_TABLE_ROWS_H
#define VS_QUERY_TABLE_ROWS_H

#include "codec/records.h"
#include "query/reply.h"

/* Takes batches of rows, in their order. The batch is the caller's, who clears it. */
typedef struct vs_table_rows_sink {
  void *ctx;
  vs_status (*take)(void *ctx, const vs_records *batch);
} vs_table_rows_sink;

const vs_record_type *vs_table_rows_type(vs_what what);

/* Puts the rows of the request's table (`what`): those of its device, or of all, that its filter keeps. Fails: VS_BAD_ARGUMENT  the filter has a key that the
 * table has not; VS_NOT_FOUND; VS_NO_MEMORY; what the sink returns */
VS_MUST_CHECK vs_status vs_table_rows_put(vs_call *call, const vs_table_rows_sink *sink);

#endif
