/* Writes Thrift's compact protocol into a vs_text, as far as Parquet's metadata needs it.
 *
 *   vs_thrift thrift = {.text = &text};
 *   vs_thrift_i64(&thrift, 1, rows);            field 1
 *   vs_thrift_struct(&thrift, 2);               field 2, with fields of its own from 1 on
 *   vs_thrift_struct_end(&thrift);
 *   vs_thrift_list(&thrift, 3, VS_THRIFT_STRUCT, 2);    then two items, each closed by vs_thrift_item_begin and _end
 *   vs_thrift_end(&thrift);                     the outermost struct */
#ifndef VS_CODEC_THRIFT_WRITER_H
#define VS_CODEC_THRIFT_WRITER_H

#include "base/text.h"

typedef enum vs_thrift_type {
  VS_THRIFT_I32 = 5,
  VS_THRIFT_I64 = 6,
  VS_THRIFT_BINARY = 8,
  VS_THRIFT_LIST = 9,
  VS_THRIFT_STRUCT = 12
} vs_thrift_type;

enum { VS_THRIFT_DEPTH = 8 };

typedef struct vs_thrift {
  vs_text *text;
  size_t depth;
  uint8_t last[VS_THRIFT_DEPTH]; /* of each open struct: the field that was written last */
} vs_thrift;

/* Fields of a struct come in the order of their numbers. */
void vs_thrift_i32(vs_thrift *thrift, uint8_t field, int32_t value);
void vs_thrift_i64(vs_thrift *thrift, uint8_t field, int64_t value);
void vs_thrift_str(vs_thrift *thrift, uint8_t field, vs_str value);
void vs_thrift_struct(vs_thrift *thrift, uint8_t field);
void vs_thrift_struct_end(vs_thrift *thrift);
void vs_thrift_list(vs_thrift *thrift, uint8_t field, vs_thrift_type items, size_t count);

/* Items of a list. */
void vs_thrift_item_i32(vs_thrift *thrift, int32_t value);
void vs_thrift_item_str(vs_thrift *thrift, vs_str value);
void vs_thrift_item_begin(vs_thrift *thrift);
void vs_thrift_item_end(vs_thrift *thrift);

void vs_thrift_end(vs_thrift *thrift);

#endif
