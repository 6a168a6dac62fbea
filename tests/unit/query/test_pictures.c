/* What the page asks, on the sample: figures that can be added up by hand, and refusals. */
#include "query/request.h"
#include "unit/query/questions.h"

/* Entry `index` of a column of the reply; a count that is too small fails. */
static double column(const char *name, size_t index) {
  const vs_json described = vs_json_member(at(root(), "columns"), vs_str_from(name));
  const vs_str type = vs_json_str(vs_json_member(described, VS_STR("type")), VS_STR("none"));
  const char *data = reply.bytes.data + vs_json_u64(vs_json_member(described, VS_STR("at")), 0);
  if (index >= vs_json_u64(vs_json_member(described, VS_STR("count")), 0))
    fail_msg("no %s[%zu]", name, index);
#define AS(text, c_type)                                       \
  if (vs_str_equal(type, VS_STR(text))) {                      \
    c_type value;                                              \
    memcpy(&value, data + index * sizeof value, sizeof value); \
    return (double)value;                                      \
  }
  AS("u8", uint8_t)
  AS("u16", uint16_t)
  AS("u32", uint32_t)
  AS("i32", int32_t)
  AS("u64", uint64_t)
  AS("f64", double)
#undef AS
  fail_msg("no column %s", name);
  return 0;
}

static void expect_column(const char *name, const double *wanted, size_t count) {
  const vs_json described = vs_json_member(at(root(), "columns"), vs_str_from(name));
  assert_int_equal(vs_json_u64(vs_json_member(described, VS_STR("count")), 999), count);
  for (size_t i = 0; i < count; i++)
    if (column(name, i) != wanted[i])
      fail_msg("%s[%zu]: wanted %g, got %g", name, i, wanted[i], column(name, i));
}
#define EXPECT_COLUMN(name, ...) \
  expect_column((name), (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

/* ---- pictures -------------------------------------------------------------------------------------------------- */

/* One pixel column for each moment. */
static void a_picture_shows_the_curves(void **state) {
  (void)state;
  (void)ask_method("picture", "\"columns\":12,\"rows\":0");
  EXPECT_COLUMN("sample_event", -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
  EXPECT_COLUMN("sample_bytes", 0, 0, 1000, 3000, 3000, 1003000, 1003000, 1002000, 1002000, 1002500, 1002500,
                1002500);
  EXPECT_COLUMN("sample_column", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
  EXPECT_COLUMN("reserved_high", 0, 4096, 4096, 4096, 2101248, 2101248, 2101248, 2101248, 2101248, 2101248,
                2101248, 2101248);
  EXPECT_COLUMN("held_low", 0, 0, 1000, 3000, 3000, 1003000, 1002000, 1002000, 1002000, 1002500, 1002000,
                1002000);
  EXPECT_COLUMN("segment_gets", 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0);
  expect_count(root(), "columns.run_row", 3);
  expect_number(root(), "columns.run_row.count", 0);
  expect_number(root(), "highest.bytes", 1003000);
  expect_number(root(), "highest.event", 4);
  expect_number(root(), "count", 4);
  expect_null(root(), "marked");
}

/* 100 bytes a pixel: 2000 of data.py lie on 1000 of model.py; 1000000 stick out. */
static void a_picture_shows_what_lies_on_what(void **state) {
  (void)state;
  (void)ask_method("picture", "\"x0\":4,\"x1\":5,\"y1\":4000,\"columns\":1,\"rows\":40,\"mark\":\"data.py\"");
  EXPECT_COLUMN("sample_event", 4);
  EXPECT_COLUMN("run_end", 10, 30, 40);
  EXPECT_COLUMN("run_row", 0, 1, 2);
  EXPECT_COLUMN("run_group", 0, 1, 0); /* by line: model.py first */
  EXPECT_COLUMN("run_flags", 0, 2, 0);
  expect_number(root(), "marked.count", 1);
  expect_number(root(), "marked.bytes_at_highest", 2000);
  (void)ask_method(
      "picture",
      "\"x0\":4,\"x1\":5,\"y1\":4000,\"columns\":1,\"rows\":40,\"filter\":\"data.py\",\"by\":\"allocation\"");
  EXPECT_COLUMN("run_row", 1);
  EXPECT_COLUMN("run_end", 20);
  EXPECT_COLUMN("run_group", 1);
  expect_number(root(), "count", 1);
  (void)ask_method("picture",
                   "\"x0\":4,\"x1\":5,\"columns\":1,\"rows\":10,\"what\":\"segments\",\"by\":\"stream\"");
  expect_number(root(), "highest.bytes", 2101248);
  EXPECT_COLUMN("run_end", 10);
  EXPECT_COLUMN("run_row", 1);
}

static void a_picture_by_time(void **state) {
  (void)state;
  (void)ask_method("picture", "\"axis\":\"time\",\"x0\":0,\"x1\":5001,\"columns\":1,\"rows\":0");
  EXPECT_COLUMN("sample_event", 4);
  (void)ask_method("picture", "\"axis\":\"time\",\"x0\":500,\"x1\":1000,\"columns\":1,\"rows\":0");
  EXPECT_COLUMN("sample_bytes", 1000);
  expect_method_refused("picture", "\"axis\":\"time\",\"device\":1", VS_NOT_FOUND, "this trace has no times");
}

static void windows_outside_are_empty(void **state) {
  (void)state;
  static const char *const windows[] = {"\"x0\":100,\"x1\":200", "\"x0\":-1e300,\"x1\":-1e299",
                                        "\"x0\":1e299,\"x1\":1e300", "\"x0\":-50,\"x1\":-1"};
  for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
    char params[100];
    vs_format(params, sizeof params, "%s,\"columns\":2", windows[i]);
    (void)ask_method("picture", params);
    EXPECT_COLUMN("sample_event", -2);
    EXPECT_COLUMN("sample_run", 0, 0);
    assert_true(column("requested_high", 1) != column("requested_high", 1)); /* no number */
    expect_number(root(), "highest.bytes", 0);
    expect_null(root(), "highest.event");
    vs_format(params, sizeof params, "\"axis\":\"time\",%s,\"columns\":2", windows[i]);
    (void)ask_method("picture", params);
    (void)ask_method("holes", windows[i]);
  }
  (void)ask_method("picture", "\"x0\":-1e300,\"x1\":1e300,\"columns\":3,\"rows\":0");
  (void)ask_method(
      "picture",
      "\"x0\":4,\"x1\":4.000000000000001,\"columns\":8192,\"rows\":4096,\"y0\":1e300,\"y1\":2e300");
  (void)ask_method("picture", "\"y0\":-1e300,\"y1\":1e-300");
}

static void what_makes_no_sense_is_refused(void **state) {
  (void)state;
  expect_method_refused("picture", "\"x0\":5,\"x1\":5", VS_BAD_ARGUMENT, "'x0' has to be below 'x1'");
  expect_method_refused("picture", "\"x0\":50", VS_BAD_ARGUMENT, "'x0' has to be below 'x1'");
  expect_method_refused("holes", "\"x0\":5,\"x1\":4", VS_BAD_ARGUMENT, "'x0' has to be below 'x1'");
  expect_method_refused("picture", "\"y0\":7,\"y1\":7", VS_BAD_ARGUMENT, "'y0' has to be below 'y1'");
  expect_method_refused("pick", "\"y0\":7,\"y1\":3", VS_BAD_ARGUMENT, "'y0' has to be below 'y1'");
  expect_method_refused("picture", "\"columns\":0", VS_BAD_ARGUMENT,
                        "parameter 'columns' has to be from 1 to 8192");
  expect_method_refused("picture", "\"columns\":8193", VS_BAD_ARGUMENT,
                        "parameter 'columns' has to be from 1 to 8192");
  expect_method_refused("picture", "\"rows\":1000000000", VS_BAD_ARGUMENT,
                        "parameter 'rows' has to be from 0 to 4096");
  expect_method_refused("holes", "\"points\":0", VS_BAD_ARGUMENT,
                        "parameter 'points' has to be from 1 to 8192");
  expect_method_refused("allocation", "\"row\":4", VS_NOT_FOUND,
                        "there is no row 4: this device has 4 allocations");
  expect_method_refused("allocation", "\"row\":18446744073709551615,\"what\":\"segments\"", VS_NOT_FOUND,
                        "there is no row 18446744073709551615: this device has 2 segments");
  expect_method_refused("picture", "\"filter\":\"action=alloc\"", VS_BAD_ARGUMENT,
                        "filter: allocations have no 'action'");
  expect_method_refused("picture", "\"mark\":\"size>x\"", VS_BAD_ARGUMENT,
                        "filter 'size>x': a size is a number, perhaps with B, KiB, MiB, GiB");
  expect_method_refused("allocations", "\"what\":\"segments\",\"filter\":\"category=x\"", VS_BAD_ARGUMENT,
                        "filter: segments have no 'category'");
}

/* ---- who ------------------------------------------------------------------------------------------------------- */

static void groups_come_by_bytes_and_time(void **state) {
  (void)state;
  (void)ask_method("groups", "");
  expect_count(root(), "groups", 3);
  expect_word(root(), "groups.0.label", "model.py:12 forward");
  expect_word(root(), "groups.0.filter", "line=\"/home/u/model.py:12\"");
  expect_number(root(), "groups.0.count", 2);
  expect_number(root(), "groups.0.bytes_at_peak", 1001000);
  expect_word(root(), "groups.1.label", "data.py:7 load; all");
  expect_word(root(), "groups.2.label", "backward pass (no Python stack)");
  expect_null(root(), "groups.2.key");
  expect_null(root(), "groups.2.filter");
  expect_null(root(), "others");
  (void)ask_method("groups", "\"by\":\"lifetime\",\"top\":1");
  expect_word(root(), "groups.0.label", "to the end");
  expect_number(root(), "rest.groups", 1);
  expect_number(root(), "rest.count", 1);
  (void)ask_method("groups", "\"by\":\"lifetime\",\"filter\":\"lifetime>1ms\"");
  expect_number(root(), "group_count", 1);
  expect_number(root(), "groups.0.key.from_us", 1000);
  expect_word(root(), "groups.0.label", "1.0 ms to 10 ms");
  (void)ask_method("groups", "\"what\":\"segments\",\"by\":\"pool\"");
  expect_number(root(), "groups.0.key.1", 1);
  (void)ask_method("groups", "\"by\":\"allocation\"");
  expect_count(root(), "groups", 0);
  (void)ask_method("groups", "\"by\":\"annotation\"");
  expect_word(root(), "groups.0.label", "never closed");
}

/* Whatever a group's filter keeps are its members. */
static void a_groups_filter_keeps_its_members(void **state) {
  (void)state;
  static const char *const bys[] = {"stack",    "line",     "stream",     "pool",    "size",
                                    "category", "metadata", "annotation", "lifetime"};
  size_t checked = 0;
  for (size_t i = 0; i < sizeof bys / sizeof *bys; i++)
    for (size_t group = 0;; group++) {
      char params[300], filter[200];
      vs_format(params, sizeof params, "\"by\":\"%s\"", bys[i]);
      const vs_json groups = at(ask_method("groups", params), "groups");
      if (group == vs_json_count(groups)) break;
      const vs_json g = vs_json_at(groups, group);
      const uint64_t count = vs_json_u64(vs_json_member(g, VS_STR("count")), 99);
      const vs_str text = vs_json_str(vs_json_member(g, VS_STR("filter")), VS_STR(""));
      if (text.size == 0) continue;
      size_t size = 0; /* as JSON */
      for (size_t c = 0; c < text.size; c++) {
        if (text.data[c] == '"') filter[size++] = '\\';
        filter[size++] = text.data[c];
      }
      filter[size] = 0;
      vs_format(params, sizeof params, "\"filter\":\"%s\"", filter);
      (void)ask_method("allocations", params);
      expect_number(root(), "count", (int64_t)count);
      checked++;
    }
  assert_true(checked > 12);
}

static void rows_and_names_are_found(void **state) {
  (void)state;
  (void)ask_method("allocations", "\"filter\":\"name=b1400_0\"");
  expect_number(root(), "count", 1);
  expect_number(root(), "rows.0.row", 1);
  expect_number(root(), "rows.0.start_us", 2000);
  expect_null(root(), "rows.0.end_us");
  (void)ask_method("allocations", "\"filter\":\"name=b1400_1\"");
  expect_number(root(), "count", 0);
  (void)ask_method("allocations", "\"filter\":\"row>=2\"");
  expect_number(root(), "count", 2);
  (void)ask_method("allocations", "\"what\":\"segments\",\"filter\":\"name=s100000_0\"");
  expect_number(root(), "rows.0.row", 1);
  (void)ask_method("events", "\"filter\":\"name=b1000_0\"");
  expect_number(root(), "count", 3);
  expect_number(root(), "events.2.event", 6);
  (void)ask_method("find", "\"filter\":\"name!=b1000_0\"");
  expect_number(root(), "count", 6); /* the failed request and the snapshot have no name */
  (void)ask_method("find", "\"filter\":\"name=s1000_0\"");
  expect_number(root(), "event", 0);
  (void)ask_method("live", "\"at\":4,\"filter\":\"name!=b1000_0\"");
  expect_number(root(), "bytes", 1002000);
  expect_method_refused("events", "\"filter\":\"row=1\"", VS_BAD_ARGUMENT, "filter: events have no 'row'");
}

static void everything_about_one(void **state) {
  (void)state;
  (void)ask_method("allocation", "\"row\":0,\"at\":4");
  expect_word(root(), "name", "b1000_0");
  expect_number(root(), "size_bytes", 1000);
  expect_null(root(), "rounded_bytes");
  expect_number(root(), "start_event", 1);
  expect_number(root(), "free_requested_event", 5);
  expect_number(root(), "end_event", 6);
  expect_number(root(), "lifetime_us", 2100);
  expect_number(root(), "lifetime_events", 5);
  expect_number(root(), "offset_bytes", 0);
  expect_number(root(), "segment.address", 4096);
  expect_number(root(), "segment.row", 0);
  expect_word(root(), "label", "model.py:12 forward");
  expect_count(root(), "free_stack", 0);
  expect_null(root(), "forward_stack");
  (void)ask_method("allocation", "\"row\":2,\"at\":4");
  expect_number(root(), "offset_bytes", 3000);
  expect_number(root(), "rounded_bytes", 1000448);
  expect_null(root(), "end_event");
  (void)ask_method("allocation", "\"row\":2,\"at\":3");
  expect_null(root(), "offset_bytes");
  (void)ask_method("allocation", "\"row\":1,\"what\":\"segments\",\"at\":4");
  expect_word(root(), "name", "s100000_0");
  expect_number(root(), "offset_bytes", 4096);
  expect_null(root(), "segment");
}

static void picking_and_listing(void **state) {
  (void)state;
  (void)ask_method("pick", "\"at\":4,\"y0\":500,\"y1\":1001");
  expect_number(root(), "total_bytes", 1003000);
  expect_number(root(), "count", 2);
  expect_number(root(), "bytes", 3000);
  expect_number(root(), "rows.0.row", 0);
  expect_number(root(), "rows.1.offset_bytes", 1000);
  expect_word(root(), "rows.1.label", "data.py:7 load; all");
  (void)ask_method("pick", "\"at\":4,\"y0\":1003000,\"y1\":1e300");
  expect_number(root(), "count", 0);
  (void)ask_method("pick", "\"at\":\"end\",\"what\":\"segments\",\"filter\":\"size>4096\"");
  expect_number(root(), "total_bytes", 2097152);
  (void)ask_method("allocations", "");
  expect_number(root(), "count", 4);
  expect_number(root(), "rows.0.row", 2);
  expect_number(root(), "rows.3.row", 3);
  (void)ask_method("allocations", "\"sort\":\"start\",\"offset\":1,\"top\":2");
  expect_count(root(), "rows", 2);
  expect_number(root(), "rows.0.row", 1);
  (void)ask_method("allocations", "\"sort\":\"lifetime\",\"top\":1");
  expect_number(root(), "rows.0.row", 1);
  (void)ask_method("allocations", "\"at\":8");
  expect_number(root(), "count", 3);
  expect_number(root(), "bytes", 1002500);
  (void)ask_method("allocations", "\"offset\":99");
  expect_count(root(), "rows", 0);
}

/* ---- when ------------------------------------------------------------------------------------------------------ */

static void marks_on_the_axis(void **state) {
  (void)state;
  (void)ask_method("marks", "");
  expect_number(root(), "peak.event", 4);
  expect_number(root(), "peak.bytes", 1003000);
  expect_number(root(), "peak_reserved.event", 3);
  expect_number(root(), "end.bytes", 1002500);
  expect_number(root(), "rise.from_event", 0);
  expect_number(root(), "rise.to_event", 4);
  expect_number(root(), "rise.bytes", 1003000);
  expect_number(root(), "ooms.0.event", 7);
  expect_number(root(), "ooms.0.requested_bytes", 4194304);
  expect_number(root(), "snapshots.0.event", 10);
  expect_number(root(), "annotations.0.begin_event", 0);
  expect_number(root(), "annotations.0.end_event", 4);
  expect_number(root(), "annotations.1.begin_us", 1400);
  expect_null(root(), "annotations.2.end_event");
  expect_number(root(), "first_us", 1000);
  expect_number(root(), "event_count", 11);
}

static void finding_events(void **state) {
  (void)state;
  (void)ask_method("find", "\"filter\":\"action=alloc\"");
  expect_number(root(), "event", 1);
  expect_number(root(), "ordinal", 0);
  expect_number(root(), "count", 4);
  (void)ask_method("find", "\"filter\":\"action=alloc\",\"event\":3");
  expect_number(root(), "event", 4);
  expect_number(root(), "ordinal", 2);
  (void)ask_method("find", "\"filter\":\"action=alloc\",\"event\":3,\"backwards\":true");
  expect_number(root(), "event", 2);
  (void)ask_method("find", "\"filter\":\"action=alloc\",\"event\":9");
  expect_null(root(), "event");
  expect_null(root(), "ordinal");
  (void)ask_method("find", "\"filter\":\"action=alloc\",\"event\":4000000000000,\"backwards\":true");
  expect_number(root(), "event", 8);
  (void)ask_method("find", "\"event\":-1,\"backwards\":true");
  expect_null(root(), "event");
}

static void events_have_rows_and_names(void **state) {
  (void)state;
  (void)ask_method("events", "");
  expect_word(root(), "events.0.name", "s1000_0");
  expect_word(root(), "events.1.name", "b1000_0");
  expect_number(root(), "events.6.row", 0);
  expect_word(root(), "events.6.name", "b1000_0");
  expect_null(root(), "events.7.row");
  expect_null(root(), "events.7.name");
  expect_word(root(), "events.1.label", "model.py:12 forward");
  (void)ask_method("events", "\"folded\":true");
  expect_number(root(), "count", 10);
  expect_number(root(), "events.5.event", 5);
  expect_number(root(), "events.6.event", 7);
  assert_true(vs_json_bool(at(root(), "events.5.folded"), false));
  assert_false(vs_json_bool(at(root(), "events.4.folded"), true));
  (void)ask_method("events", "\"filter\":\"action=alloc\",\"from\":2,\"to\":4,\"offset\":1");
  expect_number(root(), "count", 2);
  expect_number(root(), "events.0.event", 4);
}

/* Only a pair of one address is folded. */
static void frees_of_two_blocks_are_not_folded(void **state) {
  (void)state;
  expect_ok(
      sample_load(engine,
                  "{\"device_traces\":[["
                  "{\"action\":\"free_requested\",\"addr\":512,\"size\":5,\"stream\":0},"
                  "{\"action\":\"free_completed\",\"addr\":1024,\"size\":5,\"stream\":0},"
                  "{\"action\":\"free_completed\",\"addr\":512,\"size\":5,\"stream\":0},"
                  "{\"action\":\"free_requested\",\"addr\":2048,\"size\":5,\"stream\":0},"
                  "{\"action\":\"free_completed\",\"addr\":2048,\"size\":5,\"stream\":0}]],\"segments\":[]}",
                  &error));
  (void)ask_method("find", "\"folded\":true");
  expect_number(root(), "count", 4);
  (void)ask_method("find", "\"folded\":true,\"filter\":\"size=5\",\"backwards\":true,\"event\":\"end\"");
  expect_number(root(), "event", 3);
}

/* ---- where ----------------------------------------------------------------------------------------------------- */

static void a_map_of_the_address_space(void **state) {
  (void)state;
  (void)ask_method("map", "\"at\":4,\"by\":\"allocation\"");
  expect_number(root(), "reserved_bytes", 2101248);
  EXPECT_COLUMN("segment_address", 4096, 1048576);
  EXPECT_COLUMN("segment_size", 4096, 2097152);
  EXPECT_COLUMN("segment_row", 0, 1);
  EXPECT_COLUMN("segment_kind", 0, 1);
  EXPECT_COLUMN("segment_pool", 1, 2);
  EXPECT_COLUMN("segment_block", 0, 2, 3);
  EXPECT_COLUMN("block_offset", 0, 1024, 0);
  EXPECT_COLUMN("block_size", 1024, 2048, 1000448);
  EXPECT_COLUMN("block_requested", 1000, 2000, 1000000);
  EXPECT_COLUMN("block_row", 0, 1, 2);
  EXPECT_COLUMN("block_group", 0, 1, 2);
  EXPECT_COLUMN("block_flags", 2, 0, 0);
  (void)ask_method("map", "\"at\":5");
  EXPECT_COLUMN("block_flags", 3, 0, 0);
  EXPECT_COLUMN("block_group", 0, 1, 0);
}

/* The rows of the ledger, the lowest first: releasable, fragmented, pending (freed at event 5), rounding, the private pool as a whole, and what
 * is requested outside of it. */
static void bands_over_the_trace(void **state) {
  (void)state;
  (void)ask_method("bands", "\"points\":3,\"x0\":3,\"x1\":6");
  EXPECT_COLUMN("point_event", 3, 4, 5);
  EXPECT_COLUMN("known", 2101248, 2101248, 2101248);
  EXPECT_COLUMN("bytes", 0, 0, 0, 1024, 1024, 1024, 0, 0, 1024, 72, 72, 48, 2097152, 2097152, 2097152, 3000,
                3000, 2000);
  expect_count(root(), "bands", 6);
  expect_word(root(), "bands.0.name", "releasable");
  expect_word(root(), "bands.5.kind", "requested");
  expect_word(root(), "bands.5.source", "PyTorch, estimated");
  expect_count(root(), "unknown", 3);
  expect_word(root(), "unknown.0.kind", "library");
  expect_word(root(), "unknown.0.why", "a snapshot or recording has PyTorch's memory alone");
  (void)ask_method("bands", "\"points\":4,\"x0\":3,\"x1\":5"); /* every second piece is between two events */
  EXPECT_COLUMN("point_event", 3, 3, 4, 4);
  EXPECT_COLUMN("known", 2101248, 2101248, 2101248, 2101248);
  EXPECT_COLUMN("bytes", 0, 0, 0, 0, 1024, 1024, 1024, 1024, 0, 0, 0, 0, 72, 72, 72, 72, 2097152, 2097152,
                2097152, 2097152, 3000, 3000, 3000, 3000);
  (void)ask_method("ledger", "\"at\":5");
  expect_number(root(), "devices.0.rows.0.rows.0.rows.0.bytes", 2000);
  expect_null(root(), "devices.0.rows.0.bytes");
  expect_method_refused("bands", "\"points\":0", VS_BAD_ARGUMENT,
                        "parameter 'points' has to be from 1 to 8192");
}

static void holes_over_the_trace(void **state) {
  (void)state;
  (void)ask_method("holes", "\"points\":3,\"x0\":3,\"x1\":6");
  EXPECT_COLUMN("point_event", 3, 4, 5);
  EXPECT_COLUMN("reserved", 2101248, 2101248, 2101248);
  EXPECT_COLUMN("active", 3072, 1003520, 1003520);
  EXPECT_COLUMN("largest_hole", 2097152, 1096704, 1096704);
  EXPECT_COLUMN("hole_count", 2, 2, 2);
  EXPECT_COLUMN("releasable", 2097152, 0, 0);
  expect_count(root(), "classes", 28);
  (void)ask_method("holes", "\"points\":6,\"x0\":3,\"x1\":6"); /* every second column is between two events */
  EXPECT_COLUMN("point_event", 3, 3, 4, 4, 5, 5);
  (void)ask_method("holes", "\"points\":3,\"x0\":-4,\"x1\":2"); /* nothing is before the start */
  EXPECT_COLUMN("point_event", -1, -1, 1);
  (void)ask_method("fragmentation", "\"at\":4");
  expect_number(root(), "all.largest_hole", 1096704);
  expect_number(root(), "pinned.0.row", 1);
  expect_number(root(), "pinned.0.blocks.0.row", 2);
  expect_number(root(), "pinned.1.blocks.1.offset_bytes", 1024);
}

/* ---- what the reserved memory consists of ----------------------------------------------------------------------- */

static void what_is_reserved(void **state) {
  (void)state;
  (void)ask_method("reserved", "\"at\":4");
  expect_number(root(), "reserved_bytes", 2101248);
  expect_number(root(), "requested_bytes", 1003000);
  expect_number(root(), "rounding_bytes", 520);
  expect_number(root(), "fragmented_bytes", 1097728);
  expect_number(root(), "releasable_bytes", 0);
  expect_number(root(), "pending_bytes", 0);
  expect_count(root(), "pools", 2);
  (void)ask_method("reserved", "\"at\":0,\"reserved_bytes\":2101248"); /* 3 obtains a segment, for 4 */
  expect_number(root(), "at.event", 4);
  expect_number(root(), "reserved_bytes", 2101248);
}

/* ---- between two moments --------------------------------------------------------------------------------------- */

static void what_changed_between_two_moments(void **state) {
  (void)state;
  (void)ask_method("live", "\"measure\":\"grown\",\"since\":2,\"at\":8");
  expect_number(root(), "bytes", 1000500);
  expect_number(root(), "since.event", 2);
  expect_word(root(), "measure", "grown");
  (void)ask_method("live", "\"measure\":\"freed\",\"since\":2,\"at\":8");
  expect_number(root(), "bytes", 1000);
  expect_number(root(), "count", 1);
  (void)ask_method("live", "\"measure\":\"allocated\",\"since\":1,\"at\":8");
  expect_number(root(), "bytes", 1002500);
  (void)ask_method("live", "\"measure\":\"allocated\",\"at\":\"end\",\"filter\":\"data.py\"");
  expect_number(root(), "bytes", 2000);
  /* from 2000 us to 3000 us: 3000 bytes of rows 0 and 1; row 2 begins at the end of it */
  (void)ask_method("live", "\"measure\":\"average\",\"since\":2,\"at\":4");
  expect_number(root(), "bytes", 3000);
  /* from 2500 us to 3500 us: row 2 for half of it */
  (void)ask_method("tree", "\"measure\":\"average\",\"since\":5,\"at\":3");
  expect_number(root(), "bytes", 503000);
  (void)ask_method("live", "\"by\":\"lifetime\",\"at\":\"peak\"");
  expect_word(root(), "groups.0.label", "to the end");
  expect_null(root(), "since");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      ENGINE_TEST(a_picture_shows_the_curves),
      ENGINE_TEST(a_picture_shows_what_lies_on_what),
      ENGINE_TEST(a_picture_by_time),
      ENGINE_TEST(windows_outside_are_empty),
      ENGINE_TEST(what_makes_no_sense_is_refused),
      ENGINE_TEST(groups_come_by_bytes_and_time),
      ENGINE_TEST(a_groups_filter_keeps_its_members),
      ENGINE_TEST(rows_and_names_are_found),
      ENGINE_TEST(everything_about_one),
      ENGINE_TEST(picking_and_listing),
      ENGINE_TEST(marks_on_the_axis),
      ENGINE_TEST(finding_events),
      ENGINE_TEST(events_have_rows_and_names),
      ENGINE_TEST(frees_of_two_blocks_are_not_folded),
      ENGINE_TEST(a_map_of_the_address_space),
      ENGINE_TEST(bands_over_the_trace),
      ENGINE_TEST(holes_over_the_trace),
      ENGINE_TEST(what_is_reserved),
      ENGINE_TEST(what_changed_between_two_moments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
