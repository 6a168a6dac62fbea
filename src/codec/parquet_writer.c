#include "codec/parquet_writer.h"
#include "base/interned_strings.h"
#include "codec/proto_writer.h"
#include "codec/thrift_writer.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are written as they are in memory");

/* Numbers of parquet.thrift. */
enum { BOOLEAN = 0, INT64 = 2, DOUBLE = 5, BYTE_ARRAY = 6 };
enum { PLAIN = 0, RLE = 3, RLE_DICTIONARY = 8, UNCOMPRESSED = 0 };
enum {
  DATA_PAGE = 0,
  DICTIONARY_PAGE = 2,
  OPTIONAL = 1,
  CONVERTED_UTF8 = 0,
  CONVERTED_UINT_64 = 14,
  LOGICAL_STRING = 1
};
static const char magic[] = "PAR1";

static void put(vs_parquet *parquet, const void *data, size_t size) {
  vs_text_put(parquet->text, data, size);
  parquet->size += size;
}

static void fail_with(vs_parquet *parquet, vs_status status) {
  if (parquet->text->status == VS_OK) parquet->text->status = status;
}

/* Writes what was built, and empties it. */
static void put_built(vs_parquet *parquet, vs_text *built) {
  fail_with(parquet, built->status);
  put(parquet, built->bytes.data, built->bytes.count);
  built->bytes.count = 0;
}

void vs_parquet_begin(vs_parquet *parquet, vs_text *text, const vs_record_type *type) {
  *parquet = (vs_parquet){.text = text, .type = type};
  vs_text_init(&parquet->page, text->host, NULL);
  vs_text_init(&parquet->levels, text->host, NULL);
  vs_text_init(&parquet->header, text->host, NULL);
  put(parquet, magic, 4);
}

/* ---- numbers of a few bits, packed; the lowest bits first */

typedef struct bits {
  vs_text *text;
  uint64_t pending;
  unsigned count; /* bits that are pending, less than 8 between the calls */
} bits;

static void put_bits(bits *b, uint32_t value, unsigned width) {
  b->pending |= (uint64_t)value << b->count;
  for (b->count += width; b->count >= 8; b->count -= 8, b->pending >>= 8)
    vs_text_byte(b->text, (uint8_t)b->pending);
}

/* The header of a run of `count` packed numbers, which is filled up to a multiple of 8 of them by end_run. */
static void begin_run(vs_text *text, size_t count) {
  vs_proto_varint(text, (uint64_t)(count + 7) / 8 << 1 | 1);
}

static void end_run(bits *b, size_t count, unsigned width) {
  for (; count % 8 != 0; count++) put_bits(b, 0, width);
}

static unsigned width_of(uint32_t most) {
  unsigned width = 0;
  for (; most != 0; most >>= 1) width++;
  return width;
}

/* ---- pages */

/* Which rows are known, as definition levels of one bit, behind their size. */
static void build_levels(vs_text *out, const vs_record_column *column, size_t rows) {
  bits b = {.text = out};
  vs_text_put(out, "\0\0\0\0", 4);
  if (column->nulls == 0 || column->nulls == rows) { /* a run of equal numbers */
    vs_proto_varint(out, (uint64_t)rows << 1);
    vs_text_byte(out, column->nulls == 0);
  } else {
    begin_run(out, rows);
    for (size_t i = 0; i < rows; i++) put_bits(&b, column->known.data[i] != 0, 1);
    end_run(&b, rows, 1);
  }
  if (out->status != VS_OK) return;
  const uint32_t size = (uint32_t)(out->bytes.count - 4);
  memcpy(out->bytes.data, &size, sizeof size);
}

/* PageHeader: type, the size before and after compression, the header of the page. */
static void build_header(vs_text *out, int32_t type, size_t size, size_t values, int32_t encoding) {
  vs_thrift thrift = {.text = out};
  vs_thrift_i32(&thrift, 1, type);
  vs_thrift_i32(&thrift, 2, (int32_t)size);
  vs_thrift_i32(&thrift, 3, (int32_t)size);
  vs_thrift_struct(&thrift, type == DATA_PAGE ? 5 : 7);
  vs_thrift_i32(&thrift, 1, (int32_t)values);
  vs_thrift_i32(&thrift, 2, encoding);
  if (type == DATA_PAGE) {
    vs_thrift_i32(&thrift, 3, RLE);
    vs_thrift_i32(&thrift, 4, RLE);
  }
  vs_thrift_struct_end(&thrift);
  vs_thrift_end(&thrift);
}

/* Writes `page`, and empties it. */
static void put_page(vs_parquet *parquet, int32_t type, size_t values, int32_t encoding) {
  const size_t size = parquet->levels.bytes.count + parquet->page.bytes.count;
  if (size > INT32_MAX) fail_with(parquet, VS_LIMIT);
  build_header(&parquet->header, type, size, values, encoding);
  put_built(parquet, &parquet->header);
  put_built(parquet, &parquet->levels);
  put_built(parquet, &parquet->page);
}

static void build_numbers(vs_text *out, vs_field_type type, const vs_record_column *column, size_t rows) {
  bits b = {.text = out};
  for (size_t i = 0; i < rows; i++) {
    if (!column->known.data[i]) continue;
    if (type == VS_FIELD_BOOL) put_bits(&b, column->values.data[i] != 0, 1);
    else vs_text_put(out, &column->values.data[i], 8);
  }
  if (b.count != 0) put_bits(&b, 0, 8 - b.count);
}

static void build_text(vs_text *out, vs_str value) {
  const uint32_t size = (uint32_t)value.size;
  vs_text_put(out, &size, sizeof size);
  vs_text_str(out, value);
}

/* ---- texts: a dictionary, and a number in it for each row */

/* The number of a text, from 0 on; it must be there. */
static uint32_t number_of(const vs_strings *strings, vs_str value) {
  return vs_strings_find(strings, value) - VS_STRING_EMPTY;
}

/* The empty text is always the first one. */
static void put_dictionary(vs_parquet *parquet, const vs_strings *strings) {
  const uint32_t count = vs_strings_count(strings);
  for (uint32_t id = VS_STRING_EMPTY; id < count; id++)
    build_text(&parquet->page, vs_strings_at(strings, id));
  put_page(parquet, DICTIONARY_PAGE, count - VS_STRING_EMPTY, PLAIN);
}

static void build_references(vs_text *out, const vs_strings *strings, const vs_record_column *column,
                             size_t rows) {
  const unsigned width = width_of(vs_strings_count(strings) - VS_STRING_EMPTY - 1);
  const size_t known = rows - column->nulls;
  bits b = {.text = out};
  vs_text_byte(out, (uint8_t)width);
  if (known == 0) return;
  begin_run(out, known);
  for (size_t i = 0; i < rows; i++)
    if (column->known.data[i]) put_bits(&b, number_of(strings, vs_record_str(column, i)), width);
  end_run(&b, known, width);
}

static vs_status put_texts(vs_parquet *parquet, const vs_record_column *column, size_t rows,
                           vs_parquet_chunk *chunk) {
  const vs_host *host = parquet->text->host;
  vs_strings strings;
  VS_TRY(vs_strings_init(host, &strings));
  vs_status status = VS_OK;
  uint32_t id;
  for (size_t i = 0; i < rows && status == VS_OK; i++)
    if (column->known.data[i]) status = vs_strings_intern(host, &strings, vs_record_str(column, i), &id);
  if (status == VS_OK) {
    chunk->dictionary_at = parquet->size;
    put_dictionary(parquet, &strings);
    chunk->data_at = parquet->size;
    build_levels(&parquet->levels, column, rows);
    build_references(&parquet->page, &strings, column, rows);
    put_page(parquet, DATA_PAGE, rows, RLE_DICTIONARY);
  }
  vs_strings_deinit(host, &strings);
  return status;
}

/* ---- row groups */

static vs_parquet_chunk put_column(vs_parquet *parquet, vs_field_type type, const vs_record_column *column,
                                   size_t rows) {
  vs_parquet_chunk chunk = {.dictionary_at = 0, .data_at = parquet->size};
  if (type == VS_FIELD_TEXT) {
    fail_with(parquet, put_texts(parquet, column, rows, &chunk));
  } else {
    build_levels(&parquet->levels, column, rows);
    build_numbers(&parquet->page, type, column, rows);
    put_page(parquet, DATA_PAGE, rows, PLAIN);
  }
  chunk.end = parquet->size;
  return chunk;
}

void vs_parquet_records(vs_parquet *parquet, const vs_records *records) {
  const size_t count = parquet->type->field_count;
  const vs_host *host = parquet->text->host;
  fail_with(parquet, records->status);
  if (records->count == 0 || parquet->text->status != VS_OK) return;
  fail_with(parquet, vs_vec_reserve(host, &parquet->rows, 1));
  fail_with(parquet, vs_vec_reserve(host, &parquet->chunks, count));
  if (parquet->text->status != VS_OK) return;
  parquet->rows.data[parquet->rows.count++] = records->count;
  for (size_t i = 0; i < count; i++)
    parquet->chunks.data[parquet->chunks.count++] =
        put_column(parquet, parquet->type->fields[i].type, &records->columns[i], records->count);
}

/* ---- the end */

static const int32_t physical[] = {[VS_FIELD_I64] = INT64,
                                   [VS_FIELD_U64] = INT64,
                                   [VS_FIELD_F64] = DOUBLE,
                                   [VS_FIELD_BOOL] = BOOLEAN,
                                   [VS_FIELD_TEXT] = BYTE_ARRAY};

/* SchemaElement: type, repetition_type, name, num_children, converted_type, logicalType. The first one is the table. */
static void build_schema(vs_thrift *thrift, const vs_record_type *type) {
  vs_thrift_list(thrift, 2, VS_THRIFT_STRUCT, type->field_count + 1);
  vs_thrift_item_begin(thrift);
  vs_thrift_str(thrift, 4, vs_str_from(type->name));
  vs_thrift_i32(thrift, 5, (int32_t)type->field_count);
  vs_thrift_item_end(thrift);
  for (size_t i = 0; i < type->field_count; i++) {
    vs_thrift_item_begin(thrift);
    vs_thrift_i32(thrift, 1, physical[type->fields[i].type]);
    vs_thrift_i32(thrift, 3, OPTIONAL);
    vs_thrift_str(thrift, 4, vs_str_from(type->fields[i].name));
    if (type->fields[i].type == VS_FIELD_TEXT) {
      vs_thrift_i32(thrift, 6, CONVERTED_UTF8);
      vs_thrift_struct(thrift, 10);
      vs_thrift_struct(thrift, LOGICAL_STRING);
      vs_thrift_struct_end(thrift);
      vs_thrift_struct_end(thrift);
    }
    if (type->fields[i].type == VS_FIELD_U64) vs_thrift_i32(thrift, 6, CONVERTED_UINT_64);
    vs_thrift_item_end(thrift);
  }
}

/* ColumnChunk: file_offset, and ColumnMetaData: type, encodings, path, codec, values, sizes, places of pages. */
static void build_chunk(vs_thrift *thrift, const vs_field *field, const vs_parquet_chunk *chunk,
                        uint64_t rows) {
  const bool has_dictionary = chunk->dictionary_at != 0;
  const uint64_t begin = has_dictionary ? chunk->dictionary_at : chunk->data_at;
  vs_thrift_item_begin(thrift);
  vs_thrift_i64(thrift, 2, (int64_t)begin);
  vs_thrift_struct(thrift, 3);
  vs_thrift_i32(thrift, 1, physical[field->type]);
  vs_thrift_list(thrift, 2, VS_THRIFT_I32, has_dictionary ? 3 : 2);
  vs_thrift_item_i32(thrift, PLAIN);
  vs_thrift_item_i32(thrift, RLE);
  if (has_dictionary) vs_thrift_item_i32(thrift, RLE_DICTIONARY);
  vs_thrift_list(thrift, 3, VS_THRIFT_BINARY, 1);
  vs_thrift_item_str(thrift, vs_str_from(field->name));
  vs_thrift_i32(thrift, 4, UNCOMPRESSED);
  vs_thrift_i64(thrift, 5, (int64_t)rows);
  vs_thrift_i64(thrift, 6, (int64_t)(chunk->end - begin));
  vs_thrift_i64(thrift, 7, (int64_t)(chunk->end - begin));
  vs_thrift_i64(thrift, 9, (int64_t)chunk->data_at);
  if (has_dictionary) vs_thrift_i64(thrift, 11, (int64_t)chunk->dictionary_at);
  vs_thrift_struct_end(thrift);
  vs_thrift_item_end(thrift);
}

/* RowGroup: columns, total_byte_size, num_rows. */
static void build_group(vs_thrift *thrift, const vs_parquet *parquet, size_t group) {
  const size_t count = parquet->type->field_count;
  const vs_parquet_chunk *chunks = &parquet->chunks.data[group * count];
  const uint64_t begin = chunks->dictionary_at != 0 ? chunks->dictionary_at : chunks->data_at;
  vs_thrift_item_begin(thrift);
  vs_thrift_list(thrift, 1, VS_THRIFT_STRUCT, count);
  for (size_t i = 0; i < count; i++)
    build_chunk(thrift, &parquet->type->fields[i], &chunks[i], parquet->rows.data[group]);
  vs_thrift_i64(thrift, 2, (int64_t)(chunks[count - 1].end - begin));
  vs_thrift_i64(thrift, 3, (int64_t)parquet->rows.data[group]);
  vs_thrift_item_end(thrift);
}

/* FileMetaData: version, schema, num_rows, row_groups, created_by. */
static void build_footer(vs_text *out, const vs_parquet *parquet) {
  vs_thrift thrift = {.text = out};
  uint64_t rows = 0;
  for (size_t i = 0; i < parquet->rows.count; i++) rows += parquet->rows.data[i];
  vs_thrift_i32(&thrift, 1, 1);
  build_schema(&thrift, parquet->type);
  vs_thrift_i64(&thrift, 3, (int64_t)rows);
  vs_thrift_list(&thrift, 4, VS_THRIFT_STRUCT, parquet->rows.count);
  for (size_t i = 0; i < parquet->rows.count; i++) build_group(&thrift, parquet, i);
  vs_thrift_str(&thrift, 6, VS_STR("vramscope"));
  vs_thrift_end(&thrift);
}

void vs_parquet_end(vs_parquet *parquet) {
  build_footer(&parquet->header, parquet);
  const uint32_t size = (uint32_t)parquet->header.bytes.count;
  put_built(parquet, &parquet->header);
  put(parquet, &size, sizeof size);
  put(parquet, magic, 4);
}

void vs_parquet_deinit(vs_parquet *parquet) {
  vs_vec_free(parquet->text->host, &parquet->rows);
  vs_vec_free(parquet->text->host, &parquet->chunks);
  vs_text_deinit(&parquet->page);
  vs_text_deinit(&parquet->levels);
  vs_text_deinit(&parquet->header);
}
