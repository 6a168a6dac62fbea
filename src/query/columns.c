#include "query/columns.h"

static const struct {
  const char *name;
  size_t width;
} types[] = {
    [VS_COLUMN_U8] = {"u8", 1},   [VS_COLUMN_U16] = {"u16", 2}, [VS_COLUMN_U32] = {"u32", 4},
    [VS_COLUMN_I32] = {"i32", 4}, [VS_COLUMN_U64] = {"u64", 8}, [VS_COLUMN_F64] = {"f64", 8},
};

enum { ALIGNMENT = 8, PROLOGUE = 8 };
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "columns are written as they are in memory");
_Static_assert(sizeof(double) == 8, "f64");

static size_t aligned(size_t size) { return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

void vs_columns_deinit(vs_columns *columns) {
  for (size_t i = 0; i < columns->list.count; i++)
    vs_host_free(columns->host, columns->list.data[i].data, columns->list.data[i].bytes);
  vs_vec_free(columns->host, &columns->list);
}

static vs_status add(vs_columns *columns, vs_column *column) {
  if (!vs_mul_size(column->count, types[column->type].width, &column->bytes)) return VS_NO_MEMORY;
  VS_TRY(vs_vec_reserve(columns->host, &columns->list, 1));
  if (column->bytes != 0) {
    column->data = vs_host_alloc(columns->host, column->bytes);
    if (column->data == NULL) return VS_NO_MEMORY;
    memset(column->data, 0, column->bytes);
  }
  columns->list.data[columns->list.count++] = *column;
  return VS_OK;
}

void *vs_columns_add(vs_columns *columns, const char *name, vs_column_type type, size_t count) {
  vs_column column = {.name = name, .type = type, .count = count};
  VS_ASSERT(type < sizeof types / sizeof *types);
  if (columns->status == VS_OK) columns->status = add(columns, &column);
  return columns->status == VS_OK ? column.data : NULL;
}

void vs_columns_copy(vs_columns *columns, const char *name, vs_column_type type, const void *data,
                     size_t count) {
  void *to = vs_columns_add(columns, name, type, count);
  VS_ASSERT(to == NULL || data != NULL);
  if (to != NULL) memcpy(to, data, count * types[type].width);
}

/* ---- the container --------------------------------------------------------------------------------------------- */

void vs_columns_begin(vs_text *reply) { vs_text_put(reply, "VSC1\0\0\0\0", PROLOGUE); }

/* Writes the member "columns" for columns from offset `at` on, and the end of the JSON. */
static void describe(const vs_columns *columns, vs_jsonw *json, size_t at) {
  vs_jsonw_key(json, VS_STR("columns"));
  vs_jsonw_object_begin(json);
  for (size_t i = 0; i < columns->list.count; i++) {
    VS_ASSERT(at % ALIGNMENT == 0);
    const vs_column *column = &columns->list.data[i];
    vs_jsonw_key(json, vs_str_from(column->name));
    vs_jsonw_object_begin(json);
    vs_jsonw_member_str(json, "type", vs_str_from(types[column->type].name));
    vs_jsonw_member_u64(json, "count", column->count);
    vs_jsonw_member_u64(json, "at", at);
    vs_jsonw_object_end(json);
    at += aligned(column->bytes);
  }
  vs_jsonw_object_end(json);
  vs_jsonw_object_end(json);
  vs_jsonw_end(json);
}

/* The JSON contains the offset at which it ends and the columns begin. Its length depends on the digits of that
 * number, so it is written again until the number is right, which takes a few rounds at most. Returns the offset. */
static size_t describe_in_place(const vs_columns *columns, vs_jsonw *json) {
  vs_text *reply = json->text;
  const vs_jsonw before = *json;
  const size_t start = reply->bytes.count;
  for (size_t at = 0;;) {
    describe(columns, json, at);
    const size_t end = aligned(reply->bytes.count);
    if (end == at || reply->status != VS_OK) return at;
    at = end;
    reply->bytes.count = start;
    *json = before;
  }
}

static void pad(vs_text *reply, char byte) {
  while (reply->status == VS_OK && reply->bytes.count % ALIGNMENT != 0) vs_text_byte(reply, (uint8_t)byte);
}

vs_status vs_columns_end(vs_columns *columns, vs_jsonw *json) {
  vs_text *reply = json->text;
  if (columns->status != VS_OK) return columns->status;
  const uint32_t size = (uint32_t)(describe_in_place(columns, json) - PROLOGUE);
  pad(reply, ' ');
  VS_ASSERT(reply->status != VS_OK || reply->bytes.count == (size_t)size + PROLOGUE);
  if (reply->status == VS_OK) memcpy(reply->bytes.data + 4, &size, sizeof size);
  for (size_t i = 0; i < columns->list.count; i++) {
    vs_text_put(reply, columns->list.data[i].data, columns->list.data[i].bytes);
    pad(reply, 0);
  }
  return reply->status;
}
