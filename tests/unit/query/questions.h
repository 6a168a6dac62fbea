/* An engine with a file, and the reply to the last question about it: for one test program. */
#ifndef VS_TESTS_QUERY_QUESTIONS_H
#define VS_TESTS_QUERY_QUESTIONS_H

#include "unit/query/sample.h"

static vs_engine *engine;
static vs_text reply;
static vs_json_doc doc; /* the JSON of the reply, until the next question */
static vs_error error;

static inline int questions_begin(const char *json) {
  vs_text_init(&reply, vs_host_default(), NULL);
  doc = (vs_json_doc){.host = vs_host_default(), .root = {.kind = VS_JSON_ABSENT}};
  if (vs_engine_create(NULL, &engine) != VS_OK) return 1;
  return sample_load(engine, json, &error) == VS_OK ? 0 : 1;
}

/* The set-up and the tear-down of a test about the sample. */
static inline int setup(void **state) {
  (void)state;
  return questions_begin(sample_json);
}

static inline int teardown(void **state) {
  (void)state;
  vs_json_doc_deinit(&doc);
  vs_text_deinit(&reply);
  vs_engine_destroy(engine);
  return 0;
}

#define ENGINE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

static inline vs_json root(void) { return vs_json_root(&doc); }

/* The JSON of a reply, of either kind. */
static inline vs_json ask(const char *request) {
  reply.bytes.count = 0;
  vs_json_doc_deinit(&doc);
  if (sample_request(engine, request, &reply, &error) != VS_OK) fail_msg("%s: %s", request, error.text);
  vs_str json = vs_text_view(&reply);
  if (vs_str_starts(json, VS_STR("VSC1"))) {
    uint32_t size;
    memcpy(&size, json.data + 4, sizeof size);
    json = (vs_str){json.data + 8, size};
  }
  expect_ok(vs_json_doc_init(&doc, vs_host_default(), json, &error));
  return root();
}

static inline vs_json ask_method(const char *method, const char *params) {
  char request[400];
  vs_format(request, sizeof request, "{\"method\":\"%s\",\"params\":{%s}}", method, params);
  return ask(request);
}

static inline void expect_refused(const char *request, vs_status status, const char *why) {
  reply.bytes.count = 0;
  expect_status(sample_request(engine, request, &reply, &error), status);
  assert_string_equal(error.text, why);
  assert_int_equal(reply.bytes.count, 0);
}

static inline void expect_method_refused(const char *method, const char *params, vs_status status,
                                         const char *why) {
  char request[400];
  vs_format(request, sizeof request, "{\"method\":\"%s\",\"params\":{%s}}", method, params);
  expect_refused(request, status, why);
}

/* The file that "export" writes, until the next question. */
static inline vs_str export_as(const char *format, const char *more) {
  char request[200];
  vs_format(request, sizeof request, "{\"method\":\"export\",\"params\":{\"format\":\"%s\"%s}}", format,
            more);
  reply.bytes.count = 0;
  if (sample_request(engine, request, &reply, &error) != VS_OK) fail_msg("%s: %s", request, error.text);
  return vs_text_view(&reply);
}

/* "a.b.2.c" from `json` on. */
static inline vs_json at(vs_json json, const char *path) {
  while (*path != 0) {
    const char *end = path;
    while (*end != 0 && *end != '.') end++;
    const vs_str name = {path, (size_t)(end - path)};
    uint64_t index;
    const bool is_index = vs_parse_u64(name, &index) && vs_json_kind(json) == VS_JSON_ARRAY;
    json = is_index ? vs_json_at(json, (size_t)index) : vs_json_member(json, name);
    path = *end == 0 ? end : end + 1;
  }
  return json;
}

static inline void expect_number(vs_json json, const char *path, int64_t wanted) {
  const vs_json value = at(json, path);
  if (vs_json_kind(value) != VS_VALUE_INT || vs_json_i64(value, 0) != wanted)
    fail_msg("%s: wanted %lld, got kind %u, %lld", path, (long long)wanted, vs_json_kind(value),
             (long long)vs_json_i64(value, 0));
}

static inline void expect_null(vs_json json, const char *path) {
  if (vs_json_kind(at(json, path)) != VS_VALUE_NONE) fail_msg("%s: wanted null", path);
}

static inline void expect_word(vs_json json, const char *path, const char *wanted) {
  const vs_str got = vs_json_str(at(json, path), VS_STR("(none)"));
  if (!vs_str_equal(got, vs_str_from(wanted)))
    fail_msg("%s: wanted %s, got %.*s", path, wanted, (int)got.size, got.data);
}

static inline void expect_count(vs_json json, const char *path, size_t wanted) {
  assert_int_equal(vs_json_count(at(json, path)), wanted);
}

#endif
