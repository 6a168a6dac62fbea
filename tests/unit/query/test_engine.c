/* The engine as a face sees it: loading, failing, every method, and the figures of the sample. */
#include "query/request.h"
#include "unit/query/sample.h"

static vs_engine *engine;
static vs_text reply;
static vs_json_doc doc;
static vs_error error;

static int setup(void **state) {
  (void)state;
  vs_text_init(&reply, vs_host_default(), NULL);
  doc = (vs_json_doc){.host = vs_host_default(), .root = {.kind = VS_JSON_ABSENT}};
  if (vs_engine_create(NULL, &engine) != VS_OK) return 1;
  return sample_load(engine, sample_json, &error) == VS_OK ? 0 : 1;
}

static int teardown(void **state) {
  (void)state;
  vs_json_doc_deinit(&doc);
  vs_text_deinit(&reply);
  vs_engine_destroy(engine);
  return 0;
}

/* The reply to a request as a document, until the next one. */
static vs_json ask(const char *request) {
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
  return vs_json_root(&doc);
}

static vs_str export_as(const char *format, const char *more) {
  char request[200];
  vs_format(request, sizeof request, "{\"method\":\"export\",\"params\":{\"format\":\"%s\"%s}}", format,
            more);
  reply.bytes.count = 0;
  if (sample_request(engine, request, &reply, &error) != VS_OK) fail_msg("%s: %s", request, error.text);
  return vs_text_view(&reply);
}

static void expect_refused(const char *request, vs_status status, const char *why) {
  reply.bytes.count = 0;
  expect_status(sample_request(engine, request, &reply, &error), status);
  assert_string_equal(error.text, why);
  assert_int_equal(reply.bytes.count, 0);
}

/* "a.b.2.c" from `json` on. */
static vs_json at(vs_json json, const char *path) {
  while (*path != 0) {
    const char *end = path;
    while (*end != 0 && *end != '.') end++;
    const vs_str name = {path, (size_t)(end - path)};
    uint64_t index;
    json = vs_parse_u64(name, &index) && vs_json_kind(json) == VS_JSON_ARRAY ? vs_json_at(json, (size_t)index)
                                                                             : vs_json_member(json, name);
    path = *end == 0 ? end : end + 1;
  }
  return json;
}

static void expect_number(vs_json json, const char *path, int64_t wanted) {
  const vs_json value = at(json, path);
  if (vs_json_kind(value) != VS_VALUE_INT || vs_json_i64(value, 0) != wanted)
    fail_msg("%s: wanted %lld, got kind %u, %lld", path, (long long)wanted, vs_json_kind(value),
             (long long)vs_json_i64(value, 0));
}

static void expect_null(vs_json json, const char *path) {
  if (vs_json_kind(at(json, path)) != VS_VALUE_NONE) fail_msg("%s: wanted null", path);
}

static void expect_word(vs_json json, const char *path, const char *wanted) {
  const vs_str got = vs_json_str(at(json, path), VS_STR("(none)"));
  if (!vs_str_equal(got, vs_str_from(wanted)))
    fail_msg("%s: wanted %s, got %.*s", path, wanted, (int)got.size, got.data);
}

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
    if (i == VS_METHOD_export) continue;
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
  const char *tables[] = {"events", "blocks", "segments", "live"};
  for (size_t i = 0; i < 4; i++) {
    char what[40];
    vs_format(what, sizeof what, ",\"what\":\"%s\"", tables[i]);
    assert_true(export_as("csv", what).size > 10);
  }
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

/* ---- figures of the sample ------------------------------------------------------------------------------------- */

static void the_report_adds_up(void **state) {
  (void)state;
  const vs_json root = ask("{\"method\":\"report\",\"params\":{\"top\":1}}");
  assert_int_equal(vs_json_count(at(root, "devices")), 2);
  const vs_json d = at(root, "devices.0");
  expect_number(d, "end.reserved_bytes", 4096 + 2097152);
  expect_number(d, "end.allocated_bytes", 2048 + 1000448);
  expect_number(d, "end.pending_bytes", 1096704);
  expect_number(d, "end.requested_bytes", 2000 + 1000000 + 500);
  expect_number(d, "end.releasable_bytes", 0);
  expect_number(d, "end.pinned_bytes", 2048);
  expect_number(d, "end.largest_hole_bytes", 1024);
  expect_number(d, "trace.events", 11);
  expect_number(d, "trace.allocs", 4);
  expect_number(d, "trace.frees", 2);
  expect_number(d, "trace.first_time_us", 1000);
  expect_number(d, "peak.requested_bytes", 1003000);
  expect_number(d, "peak.event", 4);
  expect_number(d, "peak.time_us", 3000);
  expect_number(d, "peak.count", 3);
  expect_number(d, "peak.reserved_bytes", 4096 + 2097152);
  assert_int_equal(vs_json_count(at(d, "peak.owners")), 1);
  expect_number(d, "peak.owner_count", 2);
  expect_word(d, "peak.owners.0.label", "model.py:12 forward");
  expect_number(d, "peak.owners.0.bytes", 1001000);
  expect_number(d, "peak.owners.0.count", 2);
  expect_word(d, "peak.owners.0.stack.0.kind", "noise");
  expect_null(d, "peak.owners.0.stack.0.line");
  expect_number(d, "peak_reserved.event", 3);
  expect_number(d, "ooms.0.event", 7);
  expect_number(d, "ooms.0.device_free_bytes", 100);
  expect_word(d, "ooms.0.cause", "full");
  expect_number(root, "devices.1.device", 1);
  expect_null(root, "devices.1.trace.first_time_us");
  expect_number(root, "host.device", -1);
  expect_number(root, "host.end.requested_bytes", 60);
  const vs_json one = ask("{\"method\":\"report\",\"params\":{\"device\":1}}");
  assert_int_equal(vs_json_count(at(one, "devices")), 1);
  expect_null(one, "host");
}

static void live_groups_and_blocks(void **state) {
  (void)state;
  vs_json root = ask("{\"method\":\"live\",\"params\":{\"by\":\"stream\"}}");
  expect_number(root, "bytes", 1003000);
  expect_number(root, "groups.0.key", 7);
  expect_word(root, "groups.0.label", "stream 7");
  expect_number(root, "groups.1.bytes", 3000);
  root = ask("{\"method\":\"live\",\"params\":{\"by\":\"size\",\"at\":2,\"top\":1}}");
  expect_number(root, "groups.0.key.from_bytes", 1024);
  expect_number(root, "groups.0.key.to_bytes", 2047);
  expect_number(root, "rest.bytes", 1000);
  expect_number(root, "rest.groups", 1);
  root = ask("{\"method\":\"live\",\"params\":{\"by\":\"category\",\"filter\":\"data.py\"}}");
  expect_number(root, "bytes", 2000);
  expect_word(root, "groups.0.key", "parameter");
  root = ask("{\"method\":\"live\",\"params\":{\"by\":\"annotation\",\"at\":\"0.5ms\"}}");
  expect_word(root, "groups.0.key", "it's \"quoted\"\n");
  expect_number(root, "at.event", 1);

  root = ask("{\"method\":\"blocks\"}");
  expect_number(root, "count", 3);
  expect_number(root, "blocks.0.size_bytes", 1000448);
  expect_number(root, "blocks.0.alloc_event", 4);
  expect_null(root, "blocks.0.free_event");
  expect_word(root, "blocks.2.state", "active_pending_free");
  expect_number(root, "blocks.2.free_event", 9);
  root = ask("{\"method\":\"blocks\",\"params\":{\"at\":1,\"frames\":1}}");
  expect_number(root, "blocks.0.requested_bytes", 1000);
  expect_null(root, "blocks.0.size_bytes");
  expect_number(root, "blocks.0.free_time_us", 3500);
  assert_int_equal(vs_json_count(at(root, "blocks.0.stack")), 1);
  root = ask("{\"method\":\"blocks\",\"params\":{\"offset\":1,\"top\":1,\"filter\":\"size<1MB\"}}");
  expect_number(root, "count", 2);
  assert_int_equal(vs_json_count(at(root, "blocks")), 1);
  expect_number(root, "blocks.0.requested_bytes", 500);
  root = ask("{\"method\":\"blocks\",\"params\":{\"offset\":99}}");
  assert_int_equal(vs_json_count(at(root, "blocks")), 0);
}

static void the_tree_begins_at_the_programs_entry(void **state) {
  (void)state;
  vs_json root = ask("{\"method\":\"tree\",\"params\":{\"top\":0,\"frames\":\"all\"}}");
  expect_number(root, "bytes", 1003000);
  expect_number(root, "node_count", 6);
  expect_null(root, "nodes.0.parent");
  expect_number(root, "nodes.1.line", 3);
  expect_number(root, "nodes.1.bytes", 1001000);
  expect_number(root, "nodes.3.parent", 2);
  expect_number(root, "nodes.3.self_bytes", 1001000);
  expect_number(root, "nodes.4.parent", 0);
  expect_word(root, "nodes.5.function", "load; all");
  root = ask("{\"method\":\"tree\",\"params\":{\"top\":2,\"inverted\":true,\"frames\":\"all\"}}");
  assert_int_equal(vs_json_count(at(root, "nodes")),
                   4); /* and what is left out: below a node, and below the root */
  expect_word(root, "nodes.1.function", "torch::unwind::unwind()");
  expect_word(root, "nodes.2.kind", "rest");
  expect_number(root, "nodes.2.parent", 1);
  expect_number(root, "nodes.2.bytes", 1001000);
  expect_number(root, "nodes.3.parent", 0);
  expect_number(root, "nodes.3.bytes", 2000);
}

static void the_tree_is_folded(void **state) {
  (void)state;
  vs_json root = ask("{\"method\":\"tree\"}");
  expect_word(root, "frames", "calls");
  expect_number(root, "node_count", 5);
  expect_word(root, "nodes.1.place", "train.py:3");
  expect_word(root, "nodes.1.name", "<module>");
  expect_word(root, "nodes.2.kind", "user");
  expect_word(root, "nodes.2.name", "forward");
  expect_number(root, "nodes.2.self_bytes", 1001000);
  root = ask("{\"method\":\"tree\",\"params\":{\"inverted\":true}}");
  expect_word(root, "nodes.1.name", "forward");
  expect_word(root, "nodes.2.name", "<module>");
  root = ask("{\"method\":\"tree\",\"params\":{\"at\":\"end\",\"filter\":\"size<1000\"}}");
  expect_number(root, "node_count", 2);
  expect_word(root, "nodes.1.kind", "backward");
  expect_word(root, "nodes.1.name", "backward pass (no Python stack)");
  expect_null(root, "nodes.1.function");
}

static const char training_json[] =
    "{\"segments\":[],\"device_traces\":[[{\"action\":\"alloc\",\"addr\":4096,\"size\":7,\"frames\":["
    "{\"name\":\"at::empty(long)\",\"filename\":\"??\",\"line\":0},"
    "{\"name\":\"linear\",\"filename\":\"/x/site-packages/torch/nn/functional.py\",\"line\":9},"
    "{\"name\":\"_call_impl\",\"filename\":\"/x/site-packages/torch/nn/module.py\",\"line\":8},"
    "{\"name\":\"forward\",\"filename\":\"/home/u/model.py\",\"line\":7},"
    "{\"name\":\"_call_impl\",\"filename\":\"/x/site-packages/torch/nn/module.py\",\"line\":8},"
    "{\"name\":\"main\",\"filename\":\"/home/u/train.py\",\"line\":6}]},"
    "{\"action\":\"alloc\",\"addr\":8192,\"size\":5,\"frames\":["
    "{\"name\":\"at::empty(long)\",\"filename\":\"??\",\"line\":0},"
    "{\"name\":\"torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)\","
    "\"filename\":\"Functions.cpp\",\"line\":99},"
    "{\"name\":\"__clone\",\"filename\":\"??\",\"line\":0}]}]]}";

/* The places of a tree, one letter of each name, in the order of the reply. */
static void expect_names(const char *params, const char *wanted) {
  char request[120], got[32] = "";
  vs_format(request, sizeof request, "{\"method\":\"tree\",\"params\":{%s}}", params);
  const vs_json nodes = at(ask(request), "nodes");
  for (size_t i = 1; i < vs_json_count(nodes) && i < sizeof got; i++)
    got[i - 1] = vs_json_str(at(vs_json_at(nodes, i), "name"), VS_STR("-")).data[0];
  assert_string_equal(got, wanted);
}

static void the_tree_of_a_training(void **state) {
  (void)state;
  expect_ok(sample_load(engine, training_json, &error));
  expect_names("\"at\":\"end\"", "mflM");
  expect_names("\"at\":\"end\",\"frames\":\"python\"", "m_f_lM");
  expect_names("\"at\":\"end\",\"frames\":\"all\"", "m_f_la_Ma");
  expect_names("\"at\":\"end\",\"inverted\":true", "lfmM");
}

static void events_in_a_range(void **state) {
  (void)state;
  vs_json root = ask("{\"method\":\"events\",\"params\":{\"from\":2,\"to\":\"3ms\",\"top\":2,\"offset\":1}}");
  expect_number(root, "to.event", 7);
  expect_number(root, "count", 6);
  assert_int_equal(vs_json_count(at(root, "events")), 2);
  expect_number(root, "events.0.event", 3);
  expect_number(root, "events.0.reserved_after_bytes", 4096 + 2097152);
  expect_number(root, "events.1.requested_after_bytes", 1003000);
  root = ask("{\"method\":\"events\",\"params\":{\"filter\":\"action=oom\"}}");
  expect_number(root, "count", 1);
  expect_null(root, "events.0.address");
  expect_number(root, "events.0.device_free_bytes", 100);
  root = ask("{\"method\":\"events\",\"params\":{\"filter\":\"action=alloc train.py\",\"top\":1}}");
  expect_number(root, "count", 3);
}

static void segments_and_the_state(void **state) {
  (void)state;
  vs_json root = ask("{\"method\":\"segments\"}");
  expect_number(root, "count", 2);
  expect_number(root, "segments.0.address", 1048576);
  expect_number(root, "segments.1.inactive_bytes", 2048);
  expect_number(root, "segments.1.active_blocks", 1);
  root = ask("{\"method\":\"segments\",\"params\":{\"filter\":\"pool=0,1\"}}");
  expect_number(root, "count", 1);
  expect_number(root, "segments.0.pool.1", 1);

  root = ask("{\"method\":\"state\"}");
  assert_true(vs_json_bool(at(root, "is_exact"), false));
  expect_number(root, "segments.0.blocks.0.size_bytes", 2048);
  expect_word(root, "segments.1.blocks.1.state", "active_pending_free");
  root = ask("{\"method\":\"state\",\"params\":{\"at\":1}}");
  assert_int_equal(vs_json_count(at(root, "segments")), 1);
  expect_number(root, "requested_bytes", 1000);
  expect_number(root, "segments.0.blocks.0.alloc_event", 1);
  assert_int_equal(vs_json_count(at(root, "stacks")), 1);
}

static void moments_have_names(void **state) {
  (void)state;
  expect_number(ask("{\"method\":\"live\",\"params\":{\"at\":\"peak_reserved\"}}"), "bytes", 3000);
  expect_number(ask("{\"method\":\"live\",\"params\":{\"at\":\"peak\"}}"), "bytes", 1003000);
}

static void stats_split_the_end_state(void **state) {
  (void)state;
  const vs_json root = ask("{\"method\":\"stats\"}");
  expect_number(root, "streams.0.stream", 7);
  expect_number(root, "streams.1.reserved_bytes", 4096);
  expect_number(root, "pools.0.pool.1", 1);
  expect_word(root, "kinds.0.kind", "large");
  expect_number(root, "sizes.0.from_bytes", 256);
  expect_number(root, "sizes.0.live_bytes", 500);
  expect_number(root, "sizes.1.from_bytes", 512);
  expect_number(root, "sizes.1.allocs", 1);
  expect_number(root, "sizes.1.live_count", 0);
  expect_number(root, "lifetimes.count", 4);
}

static void curves_keep_their_peaks(void **state) {
  (void)state;
  vs_json root = ask("{\"method\":\"timeline\",\"params\":{\"points\":2}}");
  expect_number(root, "columns.event.0", 4);
  expect_number(root, "columns.event.1", 10);
  expect_number(root, "columns.requested_high_bytes.0", 1003000);
  expect_number(root, "columns.requested_low_bytes.0", 0);
  expect_number(root, "columns.requested_bytes.1", 1002500);
  root = ask("{\"method\":\"timeline\",\"params\":{\"points\":0}}");
  assert_int_equal(vs_json_count(at(root, "columns.event")), 11);
  root = ask("{\"method\":\"timeline\",\"params\":{\"points\":5,\"axis\":\"time\"}}");
  expect_number(root, "columns.time_us.4", 6000);
  expect_number(root, "columns.time_us.0", 2000);
  expect_number(root, "columns.event.0", 2);
  expect_number(root, "columns.event.4", 10);
  expect_number(root, "columns.reserved_bytes.0", 4096);
  expect_refused("{\"method\":\"timeline\",\"params\":{\"device\":1,\"axis\":\"time\"}}", VS_NOT_FOUND,
                 "this trace has no times");
}

static void what_the_file_holds(void **state) {
  (void)state;
  const vs_json root = ask("{\"method\":\"info\",\"params\":{\"top\":2}}");
  expect_number(root, "default_device", 0);
  expect_number(root, "devices.0.events", 11);
  expect_number(root, "devices.0.peak_reserved_bytes", 4096 + 2097152);
  expect_number(root, "devices.0.ooms", 1);
  expect_number(root, "devices.1.ooms", 0);
  expect_number(root, "devices.0.blocks", 5);
  expect_number(root, "devices.0.annotation_count", 3);
  assert_int_equal(vs_json_count(at(root, "devices.0.annotations")), 2);
  expect_number(root, "devices.0.annotations.1.depth", 1);
  expect_number(root, "host.segments", 1);
  expect_number(root, "trailing_bytes", 0);
  expect_number(root, "settings.max_split_size", -1);
  expect_number(root, "settings.roundup_power2_divisions.2", 0);
  expect_word(root, "settings.PYTORCH_CUDA_ALLOC_CONF", "");
}

/* ---- exports, as far as a few bytes tell; their real readers are in tests/oracle -------------------------------- */

static void folded_stacks(void **state) {
  (void)state;
  expect_str(export_as("collapsed", ""), "train.py:3 <module>;model.py:12 forward 1001000\n"
                                         "train.py:5 <module>;data.py:7 load: all 2000\n");
  expect_str(export_as("collapsed", ",\"at\":\"end\",\"filter\":\"size<1000\""),
             "backward pass (no Python stack) 500\n");
  expect_str(export_as("collapsed", ",\"at\":\"start\""), "");
}

static void sql_is_one_statement_a_line(void **state) {
  (void)state;
  const vs_str sql = export_as("sql", "");
  assert_true(vs_str_starts(sql, VS_STR("BEGIN;\n")));
  assert_true(vs_str_contains(sql, VS_STR("'it''s \"quoted\"'||char(10)||'',1400,3100")));
  assert_true(vs_str_contains(sql, VS_STR("NULL")));
  for (size_t i = 1; i < sql.size; i++)
    if (sql.data[i] == '\n') assert_true(sql.data[i - 1] == ';');
  assert_true(vs_str_starts((vs_str){sql.data + sql.size - 8, 8}, VS_STR("COMMIT;\n")));
}

static void tables_hold_all_devices_or_one(void **state) {
  (void)state;
  assert_true(vs_str_contains(export_as("csv", ",\"what\":\"blocks\""), VS_STR("\r\n-1,16,16,64,60,")));
  const vs_str one = export_as("csv", ",\"what\":\"blocks\",\"device\":1");
  assert_false(vs_str_contains(one, VS_STR("\r\n-1,")));
  assert_false(vs_str_contains(one, VS_STR("\r\n0,")));
  assert_true(vs_str_contains(one, VS_STR("\r\n1,65536,65536,512,512,active_allocated,0,,,,\r\n")));
}

#define ENGINE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

/* ---- lines of a report */

/* Two requests failed. Before the second one, another block was allocated, which now waits for a stream. */
static const char two_failures[] =
    "{\"segments\":[{\"device\":0,\"address\":4096,\"total_size\":2097152,\"stream\":0,\"segment_type\":"
    "\"small\",\"blocks\":["
    "{\"address\":4096,\"size\":1024,\"requested_size\":1000,\"state\":\"active_allocated\","
    "\"frames\":" FRAMES_TRAIN "},"
    "{\"address\":5120,\"size\":512,\"requested_size\":300,\"state\":\"active_pending_free\","
    "\"frames\":" FRAMES_LOAD "},"
    "{\"address\":5632,\"size\":2095616,\"requested_size\":0,\"state\":\"inactive\",\"frames\":[]}]}],"
    "\"device_traces\":[["
    "{\"action\":\"segment_alloc\",\"addr\":4096,\"size\":2097152,\"stream\":0,\"frames\":[]},"
    "{\"action\":\"alloc\",\"addr\":8192,\"size\":9,\"stream\":0,\"frames\":[]},"
    "{\"action\":\"free_requested\",\"addr\":8192,\"size\":9,\"stream\":0,\"frames\":[]},"
    "{\"action\":\"free_completed\",\"addr\":8192,\"size\":9,\"stream\":0,\"frames\":[]},"
    "{\"action\":\"alloc\",\"addr\":4096,\"size\":1000,\"stream\":0,\"frames\":" FRAMES_TRAIN "},"
    "{\"action\":\"oom\",\"device_free\":100,\"size\":5242880,\"stream\":0,\"frames\":" FRAMES_TRAIN "},"
    "{\"action\":\"alloc\",\"addr\":5120,\"size\":300,\"stream\":0,\"frames\":" FRAMES_LOAD "},"
    "{\"action\":\"free_requested\",\"addr\":5120,\"size\":300,\"stream\":0,\"frames\":[]},"
    "{\"action\":\"oom\",\"device_free\":100,\"size\":7340032,\"stream\":0,\"frames\":" FRAMES_TRAIN "}]]}";

/* The first line of a report's device about something; absent if there is none. */
static vs_json line_about(vs_json report, const char *about) {
  const vs_json lines = at(report, "devices.0.lines");
  for (size_t i = 0; i < vs_json_count(lines); i++)
    if (vs_str_equal(vs_json_str(at(vs_json_at(lines, i), "about"), VS_STR("")), vs_str_from(about)))
      return vs_json_at(lines, i);
  return vs_json_at(lines, vs_json_count(lines));
}

static void expect_says(vs_json line, const char *text) {
  const vs_str said = vs_json_str(at(line, "text"), VS_STR(""));
  if (!vs_str_contains(said, vs_str_from(text)))
    fail_msg("'%.*s' lacks '%s'", (int)said.size, said.data, text);
}

static void the_report_is_about_the_last_failure(void **state) {
  (void)state;
  expect_ok(sample_load(engine, two_failures, &error));
  const vs_json report = ask("{\"method\":\"report\",\"params\":{\"device\":0,\"top\":1}}");
  const vs_json oom = line_about(report, "oom"), owners = line_about(report, "oom_owners");
  expect_number(oom, "event", 8);
  expect_number(oom, "bytes", 7340032);
  expect_says(oom, "the last of 2 such errors");
  assert_int_equal(vs_json_count(at(owners, "rows")), 2);
  expect_number(owners, "rows.0.bytes", 1000);
  expect_number(owners, "rows.1.bytes", 300); /* the rest: what the rows above leave of the whole */
  expect_says(line_about(report, "end"), "1.00 KiB allocated, 512 B pending free");
  expect_number(report, "devices.0.fragmentation.pinned.0.blocks", 2);
  expect_number(report, "devices.0.fragmentation.pinned.0.owner.bytes", 1000); /* the larger one's */
}

#define STEP_OF(time)                                                                                     \
  "{\"action\":\"alloc\",\"addr\":4096,\"size\":1,\"stream\":0,\"frames\":[],\"time_us\":" #time "1},"    \
  "{\"action\":\"free_requested\",\"addr\":4096,\"size\":1,\"stream\":0,\"frames\":[],\"time_us\":" #time \
  "2},"                                                                                                   \
  "{\"action\":\"free_completed\",\"addr\":4096,\"size\":1,\"stream\":0,\"frames\":[],\"time_us\":" #time \
  "3}"
#define BEGIN_OF(time) "{\"name\":\"ProfilerStep#1\",\"stage\":\"START\",\"device\":0,\"time_us\":" #time "0}"

/* Nothing can be told of two steps, and none of none. */
static void growth_of_few_steps_is_not_told(void **state) {
  (void)state;
  static const struct {
    const char *annotations, *text;
  } rows[] = {
      {"", "not checked: no repeating steps found"},
      {BEGIN_OF(1) "," BEGIN_OF(2) "," BEGIN_OF(3), "not checked: too few repeating steps"},
      {BEGIN_OF(1) "," BEGIN_OF(2) "," BEGIN_OF(3) "," BEGIN_OF(4), "none over 3 steps"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char json[2048];
    vs_format(json, sizeof json,
              "{\"segments\":[],\"device_traces\":[[" STEP_OF(1) "," STEP_OF(2) "," STEP_OF(3) "," STEP_OF(
                  4) "]],\"external_annotations\":[%s]}",
              rows[i].annotations);
    expect_ok(sample_load(engine, json, &error));
    const vs_json report = ask("{\"method\":\"report\",\"params\":{\"device\":0}}");
    expect_says(line_about(report, "growth"), rows[i].text);
    if (i == 0) { /* of one byte each */
      const vs_json stats = ask("{\"method\":\"stats\",\"params\":{\"device\":0}}");
      expect_number(stats, "sizes.0.from_bytes", 0);
      expect_number(stats, "sizes.0.allocs", 4);
      continue;
    }
    expect_number(report, "devices.0.steps.count", 1 + (int64_t)i);
    expect_number(report, "devices.0.steps.period_us", 10);
  }
}

/* From 1.5 ms to 3.6 ms: a block that is there 1.6 of these 2.1 ms counts 1.6 / 2.1 of its size, to the nearest byte. */
static void averages_are_rounded_to_the_nearest_byte(void **state) {
  (void)state;
  const vs_json live =
      ask("{\"method\":\"live\",\"params\":{\"device\":0,\"measure\":\"average\",\"since\":1,"
          "\"at\":6,\"by\":\"size\"}}");
  expect_number(live, "group_count", 3);
  expect_number(live, "groups.0.bytes", 285714); /* 1000000 * 0.6 / 2.1 = 285714.3 */
  expect_number(live, "groups.1.bytes", 1524);   /* 2000 * 1.6 / 2.1 = 1523.8 */
  expect_number(live, "groups.2.bytes", 1000);
  expect_number(live, "bytes", 285714 + 1524 + 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      ENGINE_TEST(averages_are_rounded_to_the_nearest_byte),
      ENGINE_TEST(the_report_is_about_the_last_failure),
      ENGINE_TEST(growth_of_few_steps_is_not_told),
      ENGINE_TEST(without_a_file_only_the_methods_are_told),
      ENGINE_TEST(loading_can_be_cancelled),
      ENGINE_TEST(the_source_is_told_in_replies),
      ENGINE_TEST(a_replay_is_checked_and_run),
      ENGINE_TEST(a_writer_that_fails_is_heard),
      ENGINE_TEST(what_is_not_in_the_file_is_not_found),
      ENGINE_TEST(every_method_answers),
      ENGINE_TEST(every_method_answers_about_nothing),
      ENGINE_TEST(one_rule_for_the_default_device),
      ENGINE_TEST(the_host_is_the_default_only_alone),
      ENGINE_TEST(equal_requests_get_equal_bytes),
      ENGINE_TEST(the_report_adds_up),
      ENGINE_TEST(live_groups_and_blocks),
      ENGINE_TEST(the_tree_begins_at_the_programs_entry),
      ENGINE_TEST(the_tree_is_folded),
      ENGINE_TEST(the_tree_of_a_training),
      ENGINE_TEST(events_in_a_range),
      ENGINE_TEST(segments_and_the_state),
      ENGINE_TEST(moments_have_names),
      ENGINE_TEST(stats_split_the_end_state),
      ENGINE_TEST(curves_keep_their_peaks),
      ENGINE_TEST(what_the_file_holds),
      ENGINE_TEST(folded_stacks),
      ENGINE_TEST(sql_is_one_statement_a_line),
      ENGINE_TEST(tables_hold_all_devices_or_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
