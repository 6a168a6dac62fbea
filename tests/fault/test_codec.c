/* The readers and writers of codec, with each of their requests for memory failing once. */
#include "base/interned_strings.h"
#include "codec/arrow_writer.h"
#include "codec/csv_writer.h"
#include "codec/json_doc.h"
#include "codec/json_writer.h"
#include "codec/parquet_writer.h"
#include "codec/pickle_writer.h"
#include "codec/proto_writer.h"
#include "codec/sql_writer.h"
#include "codec/toml.h"
#include "support/test.h"

enum { ROWS = 60 };

/* {"rows":[{"n":0,"name":"row \u0030","part":0.5,"ids":[[[0]]]},...]}, ROWS of them. */
static void put_sample(vs_text *text) {
  vs_text_cstr(text, "{\"rows\":[");
  for (uint64_t i = 0; i < ROWS; i++)
    vs_text_format(text, "%s{\"n\":%U,\"name\":\"row \\u0030\",\"part\":0.5,\"ids\":[[[%U]]]}",
                   i > 0 ? "," : "", i, i);
  vs_text_cstr(text, "]}");
}

static void prove_reader(vs_status (*operation)(const vs_host *host, void *ctx)) {
  vs_text json;
  vs_text_init(&json, vs_host_default(), NULL);
  put_sample(&json);
  assert_true(fault_prove(operation, &json) > 4);
  vs_text_deinit(&json);
}

/* ---- reading */

static vs_status parse_doc(const vs_host *host, void *ctx) {
  const vs_text *json = ctx;
  vs_json_doc doc;
  vs_error error;
  const vs_status status = vs_json_doc_init(&doc, host, vs_text_view(json), &error);
  if (status != VS_OK) {
    expect_status(error.status, status);
    assert_string_equal(error.text, vs_status_text(status));
    return status;
  }
  assert_int_equal(vs_json_count(vs_json_member(vs_json_root(&doc), VS_STR("rows"))), ROWS);
  vs_json_doc_deinit(&doc);
  return VS_OK;
}

/* A consumer with memory of its own, whose failure the reader passes on. */
typedef struct interner {
  const vs_host *host;
  vs_strings strings;
} interner;

static vs_status intern(void *ctx, vs_str utf8, vs_value *out, vs_error *error) {
  interner *in = ctx;
  uint32_t id;
  (void)error;
  VS_TRY(vs_strings_intern(in->host, &in->strings, utf8, &id));
  *out = (vs_value){.kind = VS_VALUE_STRING, .bits = id};
  return VS_OK;
}

static vs_status drop_sequence(void *ctx, const vs_value *items, size_t count, bool is_tuple, vs_value *out,
                               vs_error *error) {
  (void)ctx, (void)items, (void)count, (void)is_tuple, (void)error;
  *out = (vs_value){.kind = VS_VALUE_NONE};
  return VS_OK;
}

static vs_status drop_mapping(void *ctx, const vs_value *pairs, size_t pair_count, vs_value *out,
                              vs_error *error) {
  return drop_sequence(ctx, pairs, pair_count, false, out, error);
}

static vs_status fold(const vs_host *host, void *ctx) {
  const vs_text *json = ctx;
  interner in = {.host = host};
  vs_memory_reader memory;
  vs_input input;
  vs_value root;
  const vs_fold consumer = {.ctx = &in, .string = intern, .sequence = drop_sequence, .mapping = drop_mapping};
  VS_TRY(vs_strings_init(host, &in.strings));
  vs_status status =
      vs_input_init(&input, host, vs_reader_from_bytes(&memory, json->bytes.data, json->bytes.count));
  if (status == VS_OK) {
    status = vs_json_fold(&input, &consumer, NULL, &root, NULL);
    vs_input_deinit(&input);
  }
  vs_strings_deinit(host, &in.strings);
  return status;
}

/* A string of which the window has to grow. */
static vs_status long_string(const vs_host *host, void *ctx) {
  (void)ctx;
  enum { SIZE = 4 * VS_INPUT_WINDOW };
  vs_json_doc doc;
  char *json = vs_host_alloc(vs_host_default(), SIZE);
  memset(json, 'x', SIZE);
  json[0] = json[SIZE - 1] = '"';
  const vs_status status = vs_json_doc_init(&doc, host, (vs_str){json, SIZE}, NULL);
  vs_host_free(vs_host_default(), json, SIZE);
  if (status == VS_OK) vs_json_doc_deinit(&doc);
  return status;
}

/* ---- writing: the writers ask for nothing themselves, so this is about what they do with a text that failed */

static vs_status finish(vs_text *text) {
  const vs_status status = vs_text_finish(text);
  vs_text_deinit(text);
  return status;
}

static vs_status write_json(const vs_host *host, void *ctx) {
  (void)ctx;
  vs_text text;
  vs_jsonw w;
  vs_text_init(&text, host, NULL);
  vs_jsonw_begin(&w, &text, 2);
  vs_jsonw_array_begin(&w);
  for (uint64_t i = 0; i < ROWS; i++) {
    vs_jsonw_object_begin(&w);
    vs_jsonw_member_u64(&w, "n", i);
    vs_jsonw_member_str(&w, "name", VS_STR("\xff\n\""));
    vs_jsonw_member_f64(&w, "part", 1.0 / 3);
    vs_jsonw_object_end(&w);
  }
  vs_jsonw_array_end(&w);
  vs_jsonw_end(&w);
  return finish(&text);
}

static vs_status write_csv(const vs_host *host, void *ctx) {
  (void)ctx;
  vs_text text;
  vs_csv csv;
  vs_text_init(&text, host, NULL);
  vs_csv_begin(&csv, &text);
  for (uint64_t i = 0; i < ROWS; i++) {
    vs_csv_u64(&csv, i);
    vs_csv_str(&csv, VS_STR("a,\"b\""));
    vs_csv_unknown(&csv);
    vs_csv_row_end(&csv);
  }
  return finish(&text);
}

static vs_status write_proto(const vs_host *host, void *ctx) {
  (void)ctx;
  vs_text text, message;
  vs_text_init(&text, host, NULL);
  vs_text_init(&message, host, NULL);
  for (uint64_t i = 0; i < ROWS; i++) {
    vs_proto_u64(&message, 1, i);
    vs_proto_str(&message, 2, VS_STR("name"));
    vs_proto_f64(&message, 3, 0.5);
    vs_proto_message(&text, 1, &message);
  }
  vs_text_deinit(&message);
  return finish(&text);
}

/* ---- tables: rows in batches, and each format */

static void put_records(vs_records *records) {
  for (int64_t i = 0; i < ROWS; i++) {
    vs_records_i64(records, i);
    if (i % 3 == 0) vs_records_null(records);
    else vs_records_str(records, i % 2 == 0 ? VS_STR("even\xff") : VS_STR("odd"));
    vs_records_row_end(records);
  }
}

static const vs_field table_fields[] = {{"n", VS_FIELD_I64}, {"name", VS_FIELD_TEXT}};
static const vs_record_type table_type = {"sample", table_fields, 2};

static vs_status write_arrow(const vs_host *host, void *ctx) {
  (void)ctx;
  vs_text text;
  vs_arrow arrow;
  vs_records records;
  vs_text_init(&text, host, NULL);
  vs_records_init(&records, host, &table_type);
  vs_arrow_begin(&arrow, &text, &table_type);
  for (int batch = 0; batch < 2; batch++) {
    put_records(&records);
    vs_arrow_records(&arrow, &records);
    vs_records_clear(&records);
  }
  vs_arrow_end(&arrow);
  vs_arrow_deinit(&arrow);
  vs_records_deinit(&records);
  return finish(&text);
}

static vs_status write_parquet(const vs_host *host, void *ctx) {
  (void)ctx;
  vs_text text;
  vs_parquet parquet;
  vs_records records;
  vs_text_init(&text, host, NULL);
  vs_records_init(&records, host, &table_type);
  vs_parquet_begin(&parquet, &text, &table_type);
  for (int batch = 0; batch < 2; batch++) {
    put_records(&records);
    vs_parquet_records(&parquet, &records);
    vs_records_clear(&records);
  }
  vs_parquet_end(&parquet);
  vs_parquet_deinit(&parquet);
  vs_records_deinit(&records);
  return finish(&text);
}

static vs_status write_sql(const vs_host *host, void *ctx) {
  (void)ctx;
  vs_text text;
  vs_records records;
  vs_text_init(&text, host, NULL);
  vs_records_init(&records, host, &table_type);
  vs_sql_table(&text, &table_type);
  put_records(&records);
  vs_sql_records(&text, &records);
  vs_records_deinit(&records);
  return finish(&text);
}

static vs_status write_pickle(const vs_host *host, void *ctx) {
  (void)ctx;
  vs_text text;
  vs_picklew w;
  uint32_t key = 0;
  vs_text_init(&text, host, NULL);
  vs_picklew_begin(&w, &text);
  vs_picklew_list_begin(&w);
  for (uint64_t i = 0; i < ROWS; i++) {
    vs_picklew_dict_begin(&w);
    vs_picklew_shared_str(&w, VS_STR("address"), true, &key);
    vs_picklew_u64(&w, i << 40);
    vs_picklew_str(&w, VS_STR("\xff"));
    vs_picklew_pair(&w, 0, i);
    vs_picklew_dict_end(&w);
  }
  vs_picklew_list_end(&w);
  vs_picklew_end(&w);
  return finish(&text);
}

static void json_doc(void **state) {
  (void)state;
  prove_reader(parse_doc);
}
static void json_fold(void **state) {
  (void)state;
  prove_reader(fold);
}
static void json_string_beyond_the_window(void **state) {
  (void)state;
  assert_true(fault_prove(long_string, NULL) > 4);
}
static void json_writer(void **state) {
  (void)state;
  assert_true(fault_prove(write_json, NULL) > 4);
}
static void csv_writer(void **state) {
  (void)state;
  assert_true(fault_prove(write_csv, NULL) > 4);
}
static void proto_writer(void **state) {
  (void)state;
  assert_true(fault_prove(write_proto, NULL) > 4);
}
static void table_writers(void **state) {
  (void)state;
  assert_true(fault_prove(write_arrow, NULL) > 20);
  assert_true(fault_prove(write_parquet, NULL) > 20);
  assert_true(fault_prove(write_sql, NULL) > 10);
}
static void pickle_writer(void **state) {
  (void)state;
  assert_true(fault_prove(write_pickle, NULL) > 4);
}

static vs_status read_toml(const vs_host *host, void *ctx) {
  (void)ctx;
  vs_text json;
  vs_error error;
  vs_text_init(&json, vs_host_default(), NULL);
  const vs_status status = vs_toml_to_json(
      host, VS_STR("a.b = 1\n[c.\"d e\"]\nf = [1.5, 'x', {g = true}]\n[[h]]\ni = 1979-05-27\n[[h]]\n"), &json,
      &error);
  if (status != VS_OK) {
    expect_status(error.status, status);
    assert_int_equal(json.bytes.count, 0);
  } else {
    assert_true(vs_str_equal(vs_text_view(&json),
                             VS_STR("{\"a\":{\"b\":1},\"c\":{\"d e\":{\"f\":[1.5,\"x\",{\"g\":true}]}},"
                                    "\"h\":[{\"i\":\"1979-05-27\"},{}]}")));
  }
  vs_text_deinit(&json);
  return status;
}

static void toml(void **state) {
  (void)state;
  assert_true(fault_prove(read_toml, NULL) > 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(json_doc),
      cmocka_unit_test(json_fold),
      cmocka_unit_test(json_string_beyond_the_window),
      cmocka_unit_test(json_writer),
      cmocka_unit_test(csv_writer),
      cmocka_unit_test(proto_writer),
      cmocka_unit_test(pickle_writer),
      cmocka_unit_test(table_writers),
      cmocka_unit_test(toml),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
