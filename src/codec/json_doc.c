#include "codec/json_doc.h"
#include "base/double_text.h"

static bool is_container(uint32_t kind) { return kind == VS_JSON_ARRAY || kind == VS_JSON_OBJECT; }

/* A range of one of the document's arrays, packed as json_doc.h says. */
static vs_value span(uint32_t kind, size_t start, size_t size) {
  VS_ASSERT(start <= UINT32_MAX && size <= UINT32_MAX);
  return (vs_value){.kind = kind, .bits = (uint64_t)start << 32 | size};
}
static size_t span_start(vs_value value) { return (size_t)(value.bits >> 32); }
static size_t span_size(vs_value value) { return (size_t)(value.bits & UINT32_MAX); }

/* ---- the consumer */

static vs_status add_string(void *ctx, vs_str utf8, vs_value *out, vs_error *error) {
  vs_json_doc *doc = ctx;
  (void)error;
  if (doc->bytes.count > UINT32_MAX || utf8.size > UINT32_MAX) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(doc->host, &doc->bytes, utf8.size));
  *out = span(VS_VALUE_STRING, doc->bytes.count, utf8.size);
  if (utf8.size != 0) memcpy(doc->bytes.data + doc->bytes.count, utf8.data, utf8.size);
  doc->bytes.count += utf8.size;
  return VS_OK;
}

static vs_status add_container(vs_json_doc *doc, uint32_t kind, const vs_value *items, size_t item_count,
                               size_t count, vs_value *out) {
  if (doc->values.count > UINT32_MAX || count > UINT32_MAX) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(doc->host, &doc->values, item_count));
  *out = span(kind, doc->values.count, count);
  if (item_count != 0) memcpy(doc->values.data + doc->values.count, items, item_count * sizeof *items);
  doc->values.count += item_count;
  return VS_OK;
}

static vs_status add_array(void *ctx, const vs_value *items, size_t count, bool is_tuple, vs_value *out,
                           vs_error *error) {
  (void)is_tuple;
  (void)error;
  return add_container(ctx, VS_JSON_ARRAY, items, count, count, out);
}

static vs_status add_object(void *ctx, const vs_value *pairs, size_t pair_count, vs_value *out,
                            vs_error *error) {
  (void)error;
  return add_container(ctx, VS_JSON_OBJECT, pairs, 2 * pair_count, pair_count, out);
}

vs_status vs_json_doc_init(vs_json_doc *doc, const vs_host *host, vs_str text, vs_error *error) {
  *doc = (vs_json_doc){.host = host, .root = {.kind = VS_JSON_ABSENT}};
  const vs_fold fold = {.ctx = doc, .string = add_string, .sequence = add_array, .mapping = add_object};
  vs_memory_reader memory;
  vs_input input;
  vs_status status = vs_input_init(&input, host, vs_reader_from_bytes(&memory, text.data, text.size));
  if (status == VS_OK) {
    status = vs_json_fold(&input, &fold, NULL, &doc->root, error);
    vs_input_deinit(&input);
  } else {
    vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  }
  if (status != VS_OK) vs_json_doc_deinit(doc);
  return status;
}

void vs_json_doc_deinit(vs_json_doc *doc) {
  vs_vec_free(doc->host, &doc->values);
  vs_vec_free(doc->host, &doc->bytes);
  doc->root = (vs_value){.kind = VS_JSON_ABSENT};
}

/* ---- reading values */

static vs_json handle(vs_json of, vs_value value) { return (vs_json){.doc = of.doc, .value = value}; }

static const vs_value *items_of(vs_json container) {
  VS_ASSERT(is_container(container.value.kind));
  return container.doc->values.data + span_start(container.value);
}

size_t vs_json_count(vs_json json) { return is_container(json.value.kind) ? span_size(json.value) : 0; }

vs_json vs_json_at(vs_json json, size_t index) {
  if (index >= vs_json_count(json)) return handle(json, (vs_value){.kind = VS_JSON_ABSENT});
  return handle(json, items_of(json)[json.value.kind == VS_JSON_OBJECT ? 2 * index + 1 : index]);
}

vs_str vs_json_name_at(vs_json object, size_t index) {
  if (object.value.kind != VS_JSON_OBJECT || index >= span_size(object.value)) return VS_STR("");
  return vs_json_str(handle(object, items_of(object)[2 * index]), VS_STR(""));
}

vs_json vs_json_member(vs_json object, vs_str name) {
  if (object.value.kind == VS_JSON_OBJECT)
    for (size_t i = span_size(object.value); i-- > 0;)
      if (vs_str_equal(vs_json_name_at(object, i), name)) return vs_json_at(object, i);
  return handle(object, (vs_value){.kind = VS_JSON_ABSENT});
}

uint64_t vs_json_u64(vs_json json, uint64_t fallback) {
  const bool fits =
      json.value.kind == VS_VALUE_UINT || (json.value.kind == VS_VALUE_INT && (int64_t)json.value.bits >= 0);
  return fits ? json.value.bits : fallback;
}

int64_t vs_json_i64(vs_json json, int64_t fallback) {
  return json.value.kind == VS_VALUE_INT ? (int64_t)json.value.bits : fallback;
}

double vs_json_f64(vs_json json, double fallback) {
  switch (json.value.kind) {
    case VS_VALUE_INT: return (double)(int64_t)json.value.bits;
    case VS_VALUE_UINT: return (double)json.value.bits;
    case VS_VALUE_REAL: return vs_f64_from_bits(json.value.bits);
    default: return fallback;
  }
}

bool vs_json_bool(vs_json json, bool fallback) {
  return json.value.kind == VS_VALUE_BOOL ? json.value.bits != 0 : fallback;
}

vs_str vs_json_str(vs_json json, vs_str fallback) {
  if (json.value.kind != VS_VALUE_STRING) return fallback;
  if (span_size(json.value) == 0) return VS_STR(""); /* `bytes` of a document of empty strings is NULL */
  return (vs_str){json.doc->bytes.data + span_start(json.value), span_size(json.value)};
}
