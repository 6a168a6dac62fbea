#include "codec/arrow_writer.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "columns are written as they are in memory");

/* Numbers of Arrow's schema (Message.fbs, Schema.fbs). */
enum { VERSION_5 = 4, HEADER_SCHEMA = 1, HEADER_RECORD_BATCH = 3 };
enum { TYPE_INT = 2, TYPE_FLOAT = 3, TYPE_UTF8 = 5, TYPE_BOOL = 6, PRECISION_DOUBLE = 2 };
enum { NODE_SIZE = 16, BUFFER_SIZE = 16, BLOCK_SIZE = 24, PREFIX = 8 };

static void put(vs_arrow *arrow, const void *data, size_t size) {
  vs_text_put(arrow->text, data, size);
  arrow->size += size;
}

static void pad(vs_arrow *arrow) {
  static const char zeros[8];
  put(arrow, zeros, (8 - arrow->size % 8) % 8);
}

static uint64_t padded(uint64_t size) { return (size + 7) / 8 * 8; }

/* ---- the schema */

static void put_type(vs_flat *flat, size_t from, vs_field_type type) {
  static const uint8_t int_sizes[] = {4, 1}, float_sizes[] = {2};
  size_t at[2];
  switch (type) {
    case VS_FIELD_I64:
    case VS_FIELD_U64:
      vs_flat_table(flat, from, int_sizes, 2, at);
      vs_flat_put(flat, at[0], 64, 4);
      vs_flat_put(flat, at[1], type == VS_FIELD_I64, 1);
      break;
    case VS_FIELD_F64:
      vs_flat_table(flat, from, float_sizes, 1, at);
      vs_flat_put(flat, at[0], PRECISION_DOUBLE, 2);
      break;
    case VS_FIELD_BOOL:
    case VS_FIELD_TEXT: vs_flat_table(flat, from, NULL, 0, NULL); break;
  }
}

/* Field: name, nullable, type_type, type, dictionary, children. */
static void put_field(vs_flat *flat, size_t from, const vs_field *field) {
  static const uint8_t sizes[] = {4, 1, 1, 4, 0, 4};
  static const uint8_t types[] = {[VS_FIELD_I64] = TYPE_INT,
                                  [VS_FIELD_U64] = TYPE_INT,
                                  [VS_FIELD_F64] = TYPE_FLOAT,
                                  [VS_FIELD_BOOL] = TYPE_BOOL,
                                  [VS_FIELD_TEXT] = TYPE_UTF8};
  size_t at[6];
  vs_flat_table(flat, from, sizes, 6, at);
  vs_flat_put(flat, at[1], true, 1);
  vs_flat_put(flat, at[2], types[field->type], 1);
  vs_flat_string(flat, at[0], vs_str_from(field->name));
  put_type(flat, at[3], field->type);
  (void)vs_flat_vector(flat, at[5], 0, 4, 4);
}

/* Schema: endianness, fields. */
static void put_schema(vs_arrow *arrow, size_t from) {
  static const uint8_t sizes[] = {2, 4};
  size_t at[2];
  vs_flat_table(&arrow->flat, from, sizes, 2, at);
  const size_t fields = vs_flat_vector(&arrow->flat, at[1], arrow->type->field_count, 4, 4);
  for (size_t i = 0; i < arrow->type->field_count; i++)
    put_field(&arrow->flat, fields + 4 * i, &arrow->type->fields[i]);
}

/* ---- messages */

/* Message: version, header_type, header, bodyLength. Returns the place that refers to the header. */
static size_t begin_message(vs_arrow *arrow, uint8_t header, uint64_t body) {
  static const uint8_t sizes[] = {2, 1, 4, 8};
  size_t at[4];
  vs_flat_clear(&arrow->flat);
  vs_flat_table(&arrow->flat, VS_FLAT_ROOT, sizes, 4, at);
  vs_flat_put(&arrow->flat, at[0], VERSION_5, 2);
  vs_flat_put(&arrow->flat, at[1], header, 1);
  vs_flat_put(&arrow->flat, at[3], body, 8);
  return at[2];
}

static void fail_with(vs_arrow *arrow, vs_status status) {
  if (arrow->text->status == VS_OK) arrow->text->status = status;
}

/* Writes the message that was built; returns the size of its metadata. */
static uint64_t put_message(vs_arrow *arrow) {
  vs_flat_end(&arrow->flat);
  fail_with(arrow, arrow->flat.bytes.status);
  const vs_str bytes = vs_text_view(&arrow->flat.bytes);
  const uint32_t prefix[2] = {UINT32_MAX, (uint32_t)bytes.size};
  put(arrow, prefix, sizeof prefix);
  put(arrow, bytes.data, bytes.size);
  return bytes.size + PREFIX;
}

void vs_arrow_begin(vs_arrow *arrow, vs_text *text, const vs_record_type *type) {
  *arrow = (vs_arrow){.text = text, .type = type};
  vs_flat_init(&arrow->flat, text->host);
  put(arrow, "ARROW1\0\0", 8);
  put_schema(arrow, begin_message(arrow, HEADER_SCHEMA, 0));
  (void)put_message(arrow);
}

/* ---- record batches */

/* The buffers of a column in Arrow's order, before they are padded: which rows are known, the values or the ends of texts, the texts. */
typedef struct buffer_sizes {
  uint64_t of[3];
  size_t count;
} buffer_sizes;

static buffer_sizes sizes_of(vs_field_type type, const vs_record_column *column, size_t rows) {
  buffer_sizes sizes = {.of = {column->nulls == 0 ? 0 : (rows + 7) / 8}, .count = 2};
  switch (type) {
    case VS_FIELD_I64:
    case VS_FIELD_U64:
    case VS_FIELD_F64: sizes.of[1] = 8 * (uint64_t)rows; break;
    case VS_FIELD_BOOL: sizes.of[1] = (rows + 7) / 8; break;
    case VS_FIELD_TEXT:
      sizes.of[1] = 4 * ((uint64_t)rows + 1);
      sizes.of[2] = column->text.bytes.count;
      sizes.count = 3;
      break;
  }
  return sizes;
}

/* RecordBatch: length, nodes, buffers. */
static void describe(vs_arrow *arrow, const vs_records *records, size_t from) {
  static const uint8_t sizes[] = {8, 4, 4};
  const size_t count = arrow->type->field_count;
  vs_flat *flat = &arrow->flat;
  size_t at[3], buffers = 0;
  uint64_t place = 0;
  for (size_t i = 0; i < count; i++)
    buffers += sizes_of(arrow->type->fields[i].type, &records->columns[i], 0).count;
  vs_flat_table(flat, from, sizes, 3, at);
  vs_flat_put(flat, at[0], records->count, 8);
  size_t node = vs_flat_vector(flat, at[1], count, NODE_SIZE, 8);
  size_t buffer = vs_flat_vector(flat, at[2], buffers, BUFFER_SIZE, 8);
  for (size_t i = 0; i < count; i++, node += NODE_SIZE) {
    const vs_record_column *column = &records->columns[i];
    const buffer_sizes of = sizes_of(arrow->type->fields[i].type, column, records->count);
    vs_flat_put(flat, node, records->count, 8);
    vs_flat_put(flat, node + 8, column->nulls, 8);
    for (size_t k = 0; k < of.count; k++, buffer += BUFFER_SIZE) {
      vs_flat_put(flat, buffer, place, 8);
      vs_flat_put(flat, buffer + 8, of.of[k], 8);
      place += padded(of.of[k]);
    }
  }
}

/* A bit for each row, the lowest one first. */
static void put_known(vs_arrow *arrow, const vs_record_column *column, size_t rows) {
  for (size_t i = 0; i < rows; i += 8) {
    uint8_t bits = 0;
    for (size_t k = 0; k < 8 && i + k < rows; k++) bits |= (uint8_t)((column->known.data[i + k] != 0) << k);
    put(arrow, &bits, 1);
  }
  pad(arrow);
}

static void put_truths(vs_arrow *arrow, const vs_record_column *column, size_t rows) {
  for (size_t i = 0; i < rows; i += 8) {
    uint8_t bits = 0;
    for (size_t k = 0; k < 8 && i + k < rows; k++) bits |= (uint8_t)((column->values.data[i + k] != 0) << k);
    put(arrow, &bits, 1);
  }
}

static void put_texts(vs_arrow *arrow, const vs_record_column *column, size_t rows) {
  uint32_t end = 0;
  put(arrow, &end, sizeof end);
  for (size_t i = 0; i < rows; i++) {
    end = (uint32_t)column->values.data[i];
    put(arrow, &end, sizeof end);
  }
  pad(arrow);
  put(arrow, column->text.bytes.data, column->text.bytes.count);
}

static void put_column(vs_arrow *arrow, vs_field_type type, const vs_record_column *column, size_t rows) {
  if (column->nulls != 0) put_known(arrow, column, rows);
  switch (type) {
    case VS_FIELD_I64:
    case VS_FIELD_U64:
    case VS_FIELD_F64: put(arrow, column->values.data, rows * sizeof *column->values.data); break;
    case VS_FIELD_BOOL: put_truths(arrow, column, rows); break;
    case VS_FIELD_TEXT: put_texts(arrow, column, rows); break;
  }
  pad(arrow);
}

void vs_arrow_records(vs_arrow *arrow, const vs_records *records) {
  const size_t rows = records->count;
  uint64_t body = 0;
  fail_with(arrow, records->status);
  if (rows == 0 || arrow->text->status != VS_OK) return;
  for (size_t i = 0; i < arrow->type->field_count; i++) {
    const buffer_sizes of = sizes_of(arrow->type->fields[i].type, &records->columns[i], rows);
    for (size_t k = 0; k < of.count; k++) body += padded(of.of[k]);
    if (of.count == 3 && of.of[2] > INT32_MAX) fail_with(arrow, VS_LIMIT);
  }
  fail_with(arrow, vs_vec_reserve(arrow->text->host, &arrow->blocks, 1));
  if (arrow->text->status != VS_OK) return;
  const uint64_t at = arrow->size;
  describe(arrow, records, begin_message(arrow, HEADER_RECORD_BATCH, body));
  const uint64_t metadata = put_message(arrow);
  arrow->blocks.data[arrow->blocks.count++] = (vs_arrow_block){.at = at, .metadata = metadata, .body = body};
  for (size_t i = 0; i < arrow->type->field_count; i++)
    put_column(arrow, arrow->type->fields[i].type, &records->columns[i], rows);
  VS_ASSERT(arrow->text->status != VS_OK || arrow->size == at + metadata + body);
}

/* ---- the end */

/* Footer: version, schema, dictionaries, recordBatches. */
static void put_footer(vs_arrow *arrow) {
  static const uint8_t sizes[] = {2, 4, 4, 4};
  vs_flat *flat = &arrow->flat;
  size_t at[4];
  vs_flat_clear(flat);
  vs_flat_table(flat, VS_FLAT_ROOT, sizes, 4, at);
  vs_flat_put(flat, at[0], VERSION_5, 2);
  put_schema(arrow, at[1]);
  (void)vs_flat_vector(flat, at[2], 0, BLOCK_SIZE, 8);
  size_t block = vs_flat_vector(flat, at[3], arrow->blocks.count, BLOCK_SIZE, 8);
  for (size_t i = 0; i < arrow->blocks.count; i++, block += BLOCK_SIZE) {
    vs_flat_put(flat, block, arrow->blocks.data[i].at, 8);
    vs_flat_put(flat, block + 8, arrow->blocks.data[i].metadata, 4);
    vs_flat_put(flat, block + 16, arrow->blocks.data[i].body, 8);
  }
  vs_flat_end(flat);
  fail_with(arrow, flat->bytes.status);
}

void vs_arrow_end(vs_arrow *arrow) {
  static const uint32_t end[2] = {UINT32_MAX, 0};
  put(arrow, end, sizeof end);
  put_footer(arrow);
  const vs_str footer = vs_text_view(&arrow->flat.bytes);
  const uint32_t size = (uint32_t)footer.size;
  put(arrow, footer.data, footer.size);
  put(arrow, &size, sizeof size);
  put(arrow, "ARROW1", 6);
}

void vs_arrow_deinit(vs_arrow *arrow) {
  vs_vec_free(arrow->text->host, &arrow->blocks);
  vs_flat_deinit(&arrow->flat);
}
