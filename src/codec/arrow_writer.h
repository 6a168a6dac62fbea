/* Writes a table as an Arrow IPC file ("Feather version 2"), uncompressed: a record batch for each batch of rows, then their places.
 *
 *   vs_arrow arrow;
 *   vs_arrow_begin(&arrow, &text, &type);
 *   ...                                  vs_arrow_records for each batch
 *   vs_arrow_end(&arrow);
 *   vs_arrow_deinit(&arrow);             also without an end
 *
 * A failure is kept in the status of the text. A batch has less than 2 GiB of text (vs_records_is_full). */
#ifndef VS_CODEC_ARROW_WRITER_H
#define VS_CODEC_ARROW_WRITER_H

#include "codec/flatbuffer.h"
#include "codec/records.h"

typedef struct vs_arrow_block {
  uint64_t at, metadata, body; /* the place of a record batch, and the bytes of its parts */
} vs_arrow_block;

typedef struct vs_arrow {
  vs_text *text;
  const vs_record_type *type;
  uint64_t size; /* bytes written */
  vs_flat flat;
  VS_VEC(vs_arrow_block) blocks;
} vs_arrow;

void vs_arrow_begin(vs_arrow *arrow, vs_text *text, const vs_record_type *type);
/* Nothing if there are no rows. */
void vs_arrow_records(vs_arrow *arrow, const vs_records *records);
void vs_arrow_end(vs_arrow *arrow);
void vs_arrow_deinit(vs_arrow *arrow);

#endif
