/* Writes a table as a Parquet file, uncompressed: a row group for each batch of rows, then their places. Numbers are PLAIN. Texts are a
 * dictionary of the different ones of the batch and their numbers, because names repeat from rank to rank.
 *
 *   vs_parquet parquet;
 *   vs_parquet_begin(&parquet, &text, &type);
 *   ...                                  vs_parquet_records for each batch
 *   vs_parquet_end(&parquet);
 *   vs_parquet_deinit(&parquet);         also without an end
 *
 * A failure is kept in the status of the text. A batch has less than 2 GiB of text (vs_records_is_full). */
#ifndef VS_CODEC_PARQUET_WRITER_H
#define VS_CODEC_PARQUET_WRITER_H

#include "codec/records.h"

/* The pages of a column in a row group. */
typedef struct vs_parquet_chunk {
  uint64_t dictionary_at; /* 0: it has none */
  uint64_t data_at, end;
} vs_parquet_chunk;

typedef struct vs_parquet {
  vs_text *text;
  const vs_record_type *type;
  uint64_t size;                   /* bytes written */
  VS_VEC(uint64_t) rows;           /* of each row group */
  VS_VEC(vs_parquet_chunk) chunks; /* field_count of each row group */
  vs_text page, levels, header;    /* being built */
} vs_parquet;

void vs_parquet_begin(vs_parquet *parquet, vs_text *text, const vs_record_type *type);
/* Nothing if there are no rows. */
void vs_parquet_records(vs_parquet *parquet, const vs_records *records);
void vs_parquet_end(vs_parquet *parquet);
void vs_parquet_deinit(vs_parquet *parquet);

#endif
