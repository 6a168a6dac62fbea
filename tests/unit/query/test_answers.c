/* Figures and sentences of the sample and of files as small, which can be added up by hand. */
#include "unit/query/questions.h"

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
  root = ask("{\"method\":\"live\",\"params\":{\"by\":\"metadata\",\"filter\":\"metadata=weights\"}}");
  expect_count(root, "groups", 1);
  expect_word(root, "groups.0.key", "weights");
  expect_number(root, "groups.0.bytes", 2000);
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

/* ---- lines of a report ---------------------------------------------------------------------------------------- */

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

#define CALLS(address, size, line)                                                                        \
  "{\"action\":\"alloc\",\"addr\":" address ",\"size\":" size                                             \
  ",\"stream\":0,\"frames\":[{\"name\":\"forward\",\"filename\":\"/v/site-packages/m.py\",\"line\":" line \
  "},{\"name\":\"main\",\"filename\":\"/u/train.py\",\"line\":3}]},"
#define ENDS(address, size)                                                                            \
  ",{\"action\":\"free_requested\",\"addr\":" address ",\"size\":" size ",\"stream\":0,\"frames\":[]}" \
  ",{\"action\":\"free_completed\",\"addr\":" address ",\"size\":" size ",\"stream\":0,\"frames\":[]}"

static const char seven_parts[] = "{\"segments\":[],\"device_traces\":[[" CALLS("4096", "700", "1")
    CALLS("5120", "600", "2") CALLS("6144", "500", "3") CALLS("7168", "400", "4") CALLS("8192", "300", "5")
        CALLS("9216", "200", "6")
            CALLS("10240", "100",
                  "7") "{\"action\":\"alloc\",\"addr\":11264,\"size\":50,\"stream\":0,\"frames\":" FRAMES_LOAD
                       "}" ENDS("4096", "700") ENDS("5120", "600") ENDS("6144", "500") ENDS("7168", "400")
                           ENDS("8192", "300") ENDS("9216", "200") ENDS("10240", "100")
                               ENDS("11264", "50") "]]}";

/* One line of the user calls seven of a package: the five largest are shown, and the rest as one. */
static void the_largest_owner_has_parts(void **state) {
  (void)state;
  expect_ok(sample_load(engine, seven_parts, &error));
  const vs_json report = ask("{\"method\":\"report\",\"params\":{\"device\":0}}");
  const vs_json peak = line_about(report, "peak"), owners = at(report, "devices.0.peak.owners");
  static const int64_t bytes[] = {2800, 700, 600, 500, 400, 300, 300, 50};
  assert_int_equal(vs_json_count(at(peak, "rows")), 8);
  for (size_t i = 0; i < 8; i++) {
    const vs_json row = vs_json_at(at(peak, "rows"), i);
    expect_number(row, "bytes", bytes[i]);
    expect_number(row, "depth", i == 0 || i == 7 ? 0 : 1);
  }
  expect_word(peak, "rows.0.label", "/u/train.py:3 main");
  expect_word(peak, "rows.1.label", "m.py:1 forward");
  expect_word(peak, "rows.6.label", "2 other lines");
  expect_word(peak, "rows.1.filter", "line=\"/u/train.py:3\" innermost=\"/v/site-packages/m.py:1\"");
  expect_number(owners, "0.part_count", 7);
  assert_int_equal(vs_json_count(at(owners, "0.parts")), 7);
  expect_number(owners, "0.parts.6.bytes", 100);
  expect_number(owners, "0.parts.6.key.line", 7);
  expect_number(owners, "1.part_count", 0);
}

/* 20 MiB are cached on stream 7, and a request of 10 MiB on stream 0 or 7 failed. */
#define CACHED_ELSEWHERE(more, stream)                                                                     \
  "{\"segments\":[{\"device\":0,\"address\":4096,\"total_size\":20971520,\"stream\":7,\"segment_type\":"   \
  "\"large\",\"blocks\":[{\"address\":4096,\"size\":20971520,\"requested_size\":0,\"state\":\"inactive\"," \
  "\"frames\":[]}]}" more                                                                                  \
  "],\"device_traces\":[[{\"action\":\"oom\",\"device_free\":100,\"size\":10485760,\"stream\":" stream     \
  ",\"frames\":[]}]]}"
#define OF_STREAM_0                                                                                     \
  ",{\"device\":0,\"address\":33554432,\"total_size\":2097152,\"stream\":0,\"segment_type\":\"large\"," \
  "\"blocks\":[{\"address\":33554432,\"size\":2097152,\"requested_size\":0,\"state\":\"inactive\","     \
  "\"frames\":[]}]}"

static void expect_cause(const char *json, const char *state, const char *cause) {
  expect_ok(sample_load(engine, json, &error));
  const vs_json report = ask("{\"method\":\"report\",\"params\":{\"device\":0}}");
  expect_says(line_about(report, "oom_state"), state);
  expect_says(line_about(report, "oom_cause"), cause);
}

/* How much of the cache the request could use is said; of nothing, that it is none. */
static void the_cache_of_another_stream_is_no_use(void **state) {
  (void)state;
  expect_cause(
      CACHED_ELSEWHERE("", "0"), "20.00 MiB cached (none of it usable for this request), ",
      "20.00 MiB cached, but none of it where this request can use it: it belongs to another stream");
  expect_cause(CACHED_ELSEWHERE(OF_STREAM_0, "0"),
               "22.00 MiB cached (2.00 MiB usable for this request, largest free block 2.00 MiB), ",
               "22.00 MiB cached, but only 2.00 MiB of it where this request can use it: the rest belongs");
  expect_cause(CACHED_ELSEWHERE("", "7"), "20.00 MiB cached (largest free block 20.00 MiB), ", "");
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
      ENGINE_TEST(the_report_is_about_the_last_failure),
      ENGINE_TEST(the_largest_owner_has_parts),
      ENGINE_TEST(the_cache_of_another_stream_is_no_use),
      ENGINE_TEST(growth_of_few_steps_is_not_told),
      ENGINE_TEST(averages_are_rounded_to_the_nearest_byte),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
