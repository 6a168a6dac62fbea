/* The engine as a face sees it: loading, failing, and every method. */
#include "query/request.h"
#include "unit/query/questions.h"

/* ---- loading and failing --------------------------------------------------------------------------------------- */

static void without_a_file_only_the_methods_are_told(void **state) {
  (void)state;
  assert_int_not_equal(sample_load(engine, "hello", &error), VS_OK);
  expect_refused("{\"method\":\"report\"}", VS_NOT_FOUND, "no file is loaded");
  const vs_json methods = at(ask("{\"method\":\"methods\"}"), "methods");
  assert_int_equal(vs_json_count(methods), VS_METHOD_COUNT);
  expect_ok(sample_load(engine, empty_json, &error));
  assert_int_equal(vs_json_count(at(ask("{\"method\":\"report\"}"), "devices")), 0);
}

static bool stop(void *ctx, uint64_t bytes_read) {
  *(uint64_t *)ctx = bytes_read;
  return false;
}

static void loading_can_be_cancelled(void **state) {
  (void)state;
  uint64_t seen = 0;
  vs_memory_reader memory;
  const vs_load_options options = {.progress = stop, .progress_ctx = &seen};
  const vs_source source = {.name = VS_STR("x"), .bytes = 1};
  const vs_reader reader = vs_reader_from_bytes(&memory, sample_json, strlen(sample_json));
  expect_status(vs_engine_load(engine, reader, &source, &options, &error), VS_CANCELLED);
  assert_true(seen > 0);
  expect_status(sample_request(engine, "{\"method\":\"info\"}", &reply, NULL), VS_NOT_FOUND);
}

static void the_source_is_told_in_replies(void **state) {
  (void)state;
  vs_json file = at(ask("{\"method\":\"info\"}"), "file");
  expect_word(file, "name", "sample.json");
  expect_word(file, "format", "json");
  expect_number(file, "bytes", (int64_t)strlen(sample_json));
  expect_null(file, "pickle_protocol");
  expect_word(file, "unknown_keys.0.key", "something_new");
  expect_number(file, "unknown_key_count", 1);

  vs_memory_reader memory;
  vs_source source = {.name = VS_STR(""), .bytes = VS_BYTES_UNKNOWN};
  expect_ok(vs_engine_load(engine, vs_reader_from_bytes(&memory, "[]   ", 5), &source, NULL, NULL));
  expect_number(ask("{\"method\":\"info\"}"), "file.bytes", 5); /* counted */
  static const char followed[] = "].\0\0more";
  expect_ok(vs_engine_load(engine, vs_reader_from_bytes(&memory, followed, sizeof followed - 1), &source,
                           NULL, NULL));
  expect_number(ask("{\"method\":\"info\"}"), "trailing_bytes", 4);
  source.is_compressed = true;
  expect_ok(vs_engine_load(engine, vs_reader_from_bytes(&memory, "[]", 2), &source, NULL, NULL));
  expect_null(ask("{\"method\":\"info\"}"), "file.bytes");
}

/* The sample's trace is synthetic: the replay finds that, and says why. */
static void a_replay_is_checked_and_run(void **state) {
  (void)state;
  vs_json root =
      ask("{\"method\":\"replay\",\"params\":{\"settings\":\"expandable_segments:True\",\"card\":1}}");
  const int64_t events = vs_json_i64(at(root, "check.segment_events"), -1);
  const int64_t matched = vs_json_i64(at(root, "check.matched"), -1);
  const int64_t extra = vs_json_i64(at(root, "check.extra"), -1);
  const int64_t misses = vs_json_i64(at(root, "check.miss_count"), -1);
  assert_true(matched >= 0 && matched <= events && misses >= extra && misses <= events - matched + extra);
  expect_word(root, "run.settings", "profile:torch-2.6,expandable_segments:True");
  expect_number(root, "run.card_bytes", 1);
  root = ask("{\"method\":\"replay\"}");
  expect_null(root, "run.card_bytes");
  expect_null(root, "run.ran_out");
  expect_refused("{\"method\":\"replay\",\"params\":{\"settings\":\"max_split_size:3\"}}", VS_BAD_ARGUMENT,
                 "settings: there is no setting 'max_split_size': did you mean 'max_split_size_mb'?");
  expect_refused("{\"method\":\"replay\",\"params\":{\"settings\":3}}", VS_BAD_ARGUMENT,
                 "parameter 'settings' has to be text or null");
}

static vs_status write_nothing(void *ctx, const void *data, size_t size) {
  (void)ctx;
  (void)data;
  (void)size;
  return VS_IO;
}

static void a_writer_that_fails_is_heard(void **state) {
  (void)state;
  const vs_writer writer = {.ctx = NULL, .write = write_nothing};
  const char *requests[] = {"{\"method\":\"report\"}", "{\"method\":\"events\"}",
                            "{\"method\":\"export\",\"params\":{\"format\":\"pickle\"}}",
                            "{\"method\":\"export\",\"params\":{\"format\":\"csv\"}}"};
  for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
    expect_status(vs_engine_request(engine, vs_str_from(requests[i]), writer, &error), VS_IO);
}

static void what_is_not_in_the_file_is_not_found(void **state) {
  (void)state;
  expect_refused("{\"method\":\"live\",\"params\":{\"device\":5}}", VS_NOT_FOUND,
                 "the file has no memory of device 5");
  expect_refused("{\"method\":\"live\",\"params\":{\"at\":11}}", VS_NOT_FOUND,
                 "there is no event 11: the trace of this device has 11");
  expect_refused("{\"method\":\"live\",\"params\":{\"device\":1,\"at\":\"oom\"}}", VS_NOT_FOUND,
                 "GPU 1 has no out-of-memory error; GPU 0 has one");
  expect_refused("{\"method\":\"live\",\"params\":{\"device\":\"host\",\"at\":\"oom\"}}", VS_NOT_FOUND,
                 "pinned host memory has no out-of-memory error; GPU 0 has one");
  expect_refused("{\"method\":\"live\",\"params\":{\"device\":1,\"at\":\"1s\"}}", VS_NOT_FOUND,
                 "this trace has no times");
  expect_refused("{\"method\":\"events\",\"params\":{\"filter\":\"state=inactive\"}}", VS_BAD_ARGUMENT,
                 "filter: events have no 'state'");
  expect_refused("{\"method\":\"timeline\",\"params\":{\"from\":5,\"to\":2}}", VS_BAD_ARGUMENT,
                 "'from' lies behind 'to'");
  expect_ok(sample_load(engine, empty_json, &error));
  expect_refused("{\"method\":\"live\",\"params\":{\"device\":\"host\"}}", VS_NOT_FOUND,
                 "the file has no pinned host memory");
}

/* ---- every method ---------------------------------------------------------------------------------------------- */

static void ask_everything(bool has_allocations) {
  for (int i = 0; i < VS_METHOD_COUNT; i++) {
    if (vs_methods[i].reply == VS_REPLY_BYTES) continue;
    if (i == VS_METHOD_allocation && !has_allocations) continue;
    char request[80];
    vs_format(request, sizeof request, "{\"method\":\"%s\",\"indent\":%d}", vs_methods[i].name, i % 3);
    const vs_json root = ask(request);
    expect_number(root, "schema", 1);
    expect_word(root, "method", vs_methods[i].name);
  }
  const char *formats[] = {
#define VS_EXPORT(name, extension, opens_in, sentence) #name,
#include "query/exports.def"
#undef VS_EXPORT
  };
  for (size_t i = 0; i < VS_EXPORT_COUNT; i++) (void)export_as(formats[i], "");
  const char *tables[] = {"events", "blocks", "segments", "live", "owners", "allocations"};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    char what[40];
    vs_format(what, sizeof what, ",\"what\":\"%s\"", tables[i]);
    assert_true(export_as("csv", what).size > 10);
  }
}

/* The reply is a file of its own, which says what it is. */
static void a_whatif_is_a_snapshot(void **state) {
  (void)state;
  static const char *const formats[] = {"pickle", "json", "vram"};
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    char request[120];
    vs_text file;
    vs_memory_reader bytes;
    vs_text_init(&file, vs_host_default(), NULL);
    expect_ok(sample_load(engine, sample_json, &error));
    vs_format(request, sizeof request,
              "{\"method\":\"whatif_snapshot\",\"params\":{\"set\":\"\",\"format\":\"%s\"}}", formats[i]);
    expect_ok(sample_request(engine, request, &file, &error));
    const vs_source source = {.name = VS_STR("whatif"), .bytes = VS_BYTES_UNKNOWN};
    const vs_str view = vs_text_view(&file);
    expect_ok(
        vs_engine_load(engine, vs_reader_from_bytes(&bytes, view.data, view.size), &source, NULL, &error));
    const vs_json root = ask("{\"method\":\"report\"}");
    expect_word(root, "file.format", formats[i]);
    assert_true(
        vs_str_contains(vs_json_str(at(root, "file.title"), VS_STR("")), VS_STR(", simulated by whatif, ")));
    expect_number(root, "devices.0.device", 0);
    expect_number(root, "devices.0.trace.ooms", 1);
    vs_text_deinit(&file);
  }
}

static void a_whatif_that_says_nothing_is_refused(void **state) {
  (void)state;
  expect_refused("{\"method\":\"whatif_snapshot\"}", VS_NOT_FOUND,
                 "no setting of the search is better than the recorded ones: name the settings");
  expect_refused(
      "{\"method\":\"whatif_snapshot\",\"params\":{\"set\":[\"\",\"expandable_segments:True\"],\"cards\":"
      "[\"24GiB\",\"40GiB\"]}}",
      VS_BAD_ARGUMENT,
      "a snapshot is of one run, and these are 4: choose one of the settings and one of the GPUs");
  expect_refused("{\"method\":\"whatif_snapshot\",\"params\":{\"format\":\"csv\"}}", VS_BAD_ARGUMENT,
                 "unknown format 'csv': there is pickle, json, vram");
  expect_refused("{\"method\":\"whatif_snapshot\",\"params\":{\"device\":1}}", VS_NOT_FOUND,
                 "no history was recorded: there is nothing to replay");
  expect_refused("{\"method\":\"whatif_snapshot\",\"params\":{\"device\":\"host\"}}", VS_NOT_FOUND,
                 "pinned host memory has an allocator of its own: it is not replayed");
}

static void every_method_answers(void **state) {
  (void)state;
  ask_everything(true);
}

static void every_method_answers_about_nothing(void **state) {
  (void)state;
  const char *nothing[] = {
      empty_json,
      "[]",
      "{\"segments\":[]}",
      "{\"device_traces\":[[],[],[]]}",
      "{\"segments\":[{\"device\":3,\"address\":0,\"total_size\":0,\"blocks\":[]}]}",
      "{\"device_traces\":[[{\"action\":\"alloc\",\"addr\":0,\"size\":0,\"stream\":0}]]}"};
  for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
    expect_ok(sample_load(engine, nothing[i], &error));
    ask_everything(i + 1 == sizeof nothing / sizeof *nothing);
  }
  expect_ok(sample_load(engine, empty_json, &error));
  expect_null(ask("{\"method\":\"live\"}"), "device");
  expect_null(ask("{\"method\":\"info\"}"), "default_device");
}

/* A segment of so many bytes that comes and goes, and a request that fails. */
#define USED(bytes)                                                                              \
  "{\"action\":\"segment_alloc\",\"addr\":4096,\"size\":" #bytes ",\"stream\":0,\"time_us\":1}," \
  "{\"action\":\"segment_free\",\"addr\":4096,\"size\":" #bytes ",\"stream\":0,\"time_us\":2}"
#define FAILED(more) "{\"action\":\"oom\",\"device_free\":0,\"size\":512,\"stream\":0" more "}"

/* The device that requests without one are about, wherever it is said. */
static void expect_default(const char *traces, int64_t device) {
  char json[1500];
  vs_format(json, sizeof json, "{\"segments\":[],\"device_traces\":[%s]}", traces);
  expect_ok(sample_load(engine, json, &error));
  expect_number(ask("{\"method\":\"info\"}"), "default_device", device);
  expect_number(ask("{\"method\":\"live\"}"), "device", device);
  expect_number(ask("{\"method\":\"report\"}"), "busiest", device);
  const bool has_failed = strstr(traces, "\"oom\"") != NULL;
  if (has_failed) expect_number(ask("{\"method\":\"live\",\"params\":{\"at\":\"oom\"}}"), "device", device);
  else
    expect_refused("{\"method\":\"live\",\"params\":{\"at\":\"oom\"}}", VS_NOT_FOUND,
                   "this trace has no out-of-memory error");
}

static void one_rule_for_the_default_device(void **state) {
  (void)state;
  const char *many = USED(4096) "," USED(4096);
  char traces[1000];
  vs_format(traces, sizeof traces, "[%s],[%s]", many, USED(8192)); /* the higher peak, not the most events */
  expect_default(traces, 1);
  vs_format(traces, sizeof traces, "[%s],[%s],[%s]", USED(4096), many, USED(4095)); /* of equals the first */
  expect_default(traces, 0);
  vs_format(traces, sizeof traces, "[%s],[%s],[%s]", many, USED(8192),
            FAILED(",\"time_us\":9")); /* a failure first */
  expect_default(traces, 2);
  vs_format(traces, sizeof traces, "[%s,%s],[%s,%s]", FAILED(",\"time_us\":9"), USED(8192),
            FAILED(",\"time_us\":8"), FAILED(",\"time_us\":10")); /* of several the earliest */
  expect_default(traces, 1);
  vs_format(traces, sizeof traces, "[%s],[%s,%s],[%s]", FAILED(""), many, FAILED(",\"time_us\":9"),
            FAILED(",\"time_us\":9")); /* without a time last */
  expect_default(traces, 1);
  vs_format(traces, sizeof traces, "[%s],[%s,%s]", FAILED(""), many, FAILED(""));
  expect_default(traces, 0);
}

static void the_host_is_the_default_only_alone(void **state) {
  (void)state;
  const char *json =
      "{\"segments\":[],\"device_traces\":[[],[" USED(64) "]],\"host_traces\":[" USED(4096) "]}";
  expect_ok(sample_load(engine, json, &error));
  expect_number(ask("{\"method\":\"info\"}"), "default_device", 1);
  json = "{\"segments\":[],\"device_traces\":[],\"host_traces\":[" USED(4096) "]}";
  expect_ok(sample_load(engine, json, &error));
  expect_number(ask("{\"method\":\"info\"}"), "default_device", -1);
  expect_null(ask("{\"method\":\"report\"}"), "busiest");
}

static void equal_requests_get_equal_bytes(void **state) {
  (void)state;
  vs_text first;
  vs_text_init(&first, vs_host_default(), NULL);
  expect_ok(sample_request(engine, "{\"method\":\"live\"}", &first, &error)); /* before there is a report */
  (void)ask("{\"method\":\"report\"}");
  (void)ask("{\"method\":\"live\"}"); /* out of what the report kept */
  assert_true(vs_str_equal(vs_text_view(&first), vs_text_view(&reply)));
  vs_text_deinit(&first);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      ENGINE_TEST(without_a_file_only_the_methods_are_told),
      ENGINE_TEST(loading_can_be_cancelled),
      ENGINE_TEST(the_source_is_told_in_replies),
      ENGINE_TEST(a_replay_is_checked_and_run),
      ENGINE_TEST(a_writer_that_fails_is_heard),
      ENGINE_TEST(what_is_not_in_the_file_is_not_found),
      ENGINE_TEST(a_whatif_is_a_snapshot),
      ENGINE_TEST(a_whatif_that_says_nothing_is_refused),
      ENGINE_TEST(every_method_answers),
      ENGINE_TEST(every_method_answers_about_nothing),
      ENGINE_TEST(one_rule_for_the_default_device),
      ENGINE_TEST(the_host_is_the_default_only_alone),
      ENGINE_TEST(equal_requests_get_equal_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
