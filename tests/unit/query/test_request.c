#include "query/request.h"
#include "support/test.h"

static vs_request request;
static vs_error error;

static vs_status read_it(const char *text) {
  return vs_request_init(&request, vs_host_default(), vs_str_from(text), &error);
}

static void expect_refused(const char *text, const char *why) {
  expect_status(read_it(text), VS_BAD_ARGUMENT);
  expect_status(error.status, VS_BAD_ARGUMENT);
  assert_string_equal(error.text, why);
}

static void what_is_left_out_has_its_default(void **state) {
  (void)state;
  expect_ok(read_it("{\"method\":\"live\"}"));
  assert_int_equal(request.method, VS_METHOD_live);
  assert_int_equal(request.indent, 0);
  assert_false(request.device.is_given);
  assert_int_equal(request.at.kind, VS_WHEN_PEAK);
  assert_int_equal(request.by, VS_BY_LINE);
  assert_int_equal(request.top, 20);
  assert_true(vs_filter_is_empty(&request.filter));
  vs_request_deinit(&request);
  expect_ok(read_it("{\"method\":\"live\",\"params\":{\"device\":null,\"at\":null,\"top\":null}}"));
  assert_int_equal(request.at.kind, VS_WHEN_PEAK);
  assert_int_equal(request.top, 20);
  vs_request_deinit(&request);
  expect_ok(read_it("{\"method\":\"methods\",\"params\":null,\"indent\":8}"));
  assert_int_equal(request.indent, 8);
  vs_request_deinit(&request);
}

static void every_default_can_be_read(void **state) {
  (void)state;
  for (int i = 0; i < VS_METHOD_COUNT; i++) {
    char text[80];
    vs_format(text, sizeof text, "{\"method\":\"%s\"%s}", vs_methods[i].name,
              i == VS_METHOD_export ? ",\"params\":{\"format\":\"csv\"}" : "");
    expect_ok(read_it(text));
    assert_int_equal(request.method, i);
    vs_request_deinit(&request);
  }
}

/* choices.def lists them in the order of analyze's enum. */
static void groups_have_the_names_that_analyze_gives_them(void **state) {
  (void)state;
  for (int i = 0; i < VS_GROUP_BYS; i++) {
    char text[80];
    vs_format(text, sizeof text, "{\"method\":\"live\",\"params\":{\"by\":\"%s\"}}",
              vs_group_by_name((vs_group_by)i));
    expect_ok(read_it(text));
    assert_int_equal(request.by, i);
    vs_request_deinit(&request);
  }
}

static vs_when moment(const char *json) {
  char text[120];
  vs_format(text, sizeof text, "{\"method\":\"state\",\"params\":{\"at\":%s}}", json);
  expect_ok(read_it(text));
  vs_request_deinit(&request);
  return request.at;
}

static void expect_moment(const char *json, vs_when_kind kind, int64_t value) {
  const vs_when when = moment(json);
  assert_int_equal(when.kind, kind);
  assert_true(when.value == value);
}

static void expect_steps(const char *json, uint64_t first, uint64_t last) {
  const vs_when when = moment(json);
  assert_int_equal(when.kind, VS_WHEN_STEPS);
  assert_true(when.first == first && when.last == last);
}

static void moments_are_names_events_and_times(void **state) {
  (void)state;
  assert_int_equal(moment("\"start\"").kind, VS_WHEN_START);
  assert_int_equal(moment("\"end\"").kind, VS_WHEN_END);
  assert_int_equal(moment("\"peak_reserved\"").kind, VS_WHEN_PEAK_RESERVED);
  assert_int_equal(moment("\"oom\"").kind, VS_WHEN_OOM);
  expect_moment("17", VS_WHEN_EVENT, 17);
  expect_moment("\"17\"", VS_WHEN_EVENT, 17);
  expect_moment("-1", VS_WHEN_EVENT, -1);
  expect_moment("\"12.5s\"", VS_WHEN_AFTER, 12500000);
  expect_moment("\"0.5us\"", VS_WHEN_AFTER, 1);
  expect_moment("\"300ms\"", VS_WHEN_AFTER, 300000);
  expect_moment("\"2min\"", VS_WHEN_AFTER, 120000000);
  expect_moment("\"@1700000000000001\"", VS_WHEN_TIME, INT64_C(1700000000000001));
  expect_moment("\"@-5\"", VS_WHEN_TIME, -5);
  expect_steps("\"step 3\"", 3, 3);
  expect_steps("\"step12\"", 12, 12);
  expect_steps("\"steps 1-2\"", 1, 2);
  expect_steps("\"steps3-\"", 3, UINT64_MAX);
  expect_steps("\"steps -4\"", 0, 4);
  expect_refused("{\"method\":\"state\",\"params\":{\"at\":\"steps 2-1\"}}",
                 "unknown moment 'steps 2-1': there is start, end, peak, peak_reserved, oom");
  expect_refused("{\"method\":\"state\",\"params\":{\"at\":\"step 0\"}}",
                 "unknown moment 'step 0': there is start, end, peak, peak_reserved, oom");
  expect_refused("{\"method\":\"state\",\"params\":{\"at\":\"pek\"}}",
                 "unknown moment 'pek': did you mean 'peak'?");
  expect_refused("{\"method\":\"state\",\"params\":{\"at\":\"1h\"}}",
                 "unknown moment '1h': there is start, end, peak, peak_reserved, oom");
  expect_refused("{\"method\":\"state\",\"params\":{\"at\":\"-3s\"}}",
                 "unknown moment '-3s': there is start, end, peak, peak_reserved, oom");
  expect_refused("{\"method\":\"state\",\"params\":{\"at\":-2}}",
                 "parameter 'at' has to be an event number, a name such as \"peak\", or a time");
  expect_refused("{\"method\":\"state\",\"params\":{\"at\":1.5}}",
                 "parameter 'at' has to be an event number, a name such as \"peak\", or a time");
}

static void devices_are_numbers_or_the_host(void **state) {
  (void)state;
  expect_ok(read_it("{\"method\":\"stats\",\"params\":{\"device\":\"host\"}}"));
  assert_int_equal(request.device.device, VS_DEVICE_HOST);
  assert_true(request.device.is_given);
  vs_request_deinit(&request);
  expect_ok(read_it("{\"method\":\"stats\",\"params\":{\"device\":\"12\"}}"));
  assert_int_equal(request.device.device, 12);
  vs_request_deinit(&request);
  const char *why = "parameter 'device' has to be a device number, \"host\" or null";
  expect_refused("{\"method\":\"stats\",\"params\":{\"device\":-1}}", why);
  expect_refused("{\"method\":\"stats\",\"params\":{\"device\":2147483648}}", why);
  expect_refused("{\"method\":\"stats\",\"params\":{\"device\":\"cpu\"}}", why);
  expect_refused("{\"method\":\"stats\",\"params\":{\"device\":true}}", why);
}

static void what_is_unknown_is_refused_with_the_nearest_word(void **state) {
  (void)state;
  expect_refused("{\"method\":\"repot\"}", "unknown method 'repot': did you mean 'report'?");
  expect_refused("{\"method\":\"sta\"}", "unknown method 'sta': did you mean 'stats'?");
  expect_refused(
      "{\"method\":\"xyz\"}",
      "unknown method 'xyz': there is report, stats, live, inventory, steps, tree, blocks, events, find, "
      "segments, state, "
      "timeline, marks, picture, groups, pick, allocation, allocations, map, holes, fragmentation, reserved, "
      "ledger, bands, libraries, "
      "replay, whatif, whatif_snapshot, course, oom, export, info, settings, methods");
  expect_refused("{\"method\":\"live\",\"params\":{\"tpo\":1}}",
                 "unknown parameter 'tpo': did you mean 'top'?");
  expect_refused("{\"method\":\"live\",\"params\":{\"by\":\"streem\"}}",
                 "unknown by 'streem': did you mean 'stream'?");
  expect_refused("{\"method\":\"live\",\"params\":{\"by\":7}}",
                 "parameter 'by' has to be one of the words that the method \"methods\" lists");
  expect_refused("{\"method\":\"export\",\"params\":{\"format\":\"perfeto\"}}",
                 "unknown format 'perfeto': did you mean 'perfetto'?");
  expect_refused("{\"method\":\"export\"}", "parameter 'format' has to be given");
  expect_refused("{\"method\":\"methods\",\"params\":{\"x\":1}}", "'methods' takes no parameters");
  expect_refused("{\"metod\":\"live\"}", "unknown member of a request 'metod': did you mean 'method'?");
}

static void what_is_no_request_is_refused(void **state) {
  (void)state;
  expect_refused("[]", "a request is an object with a method");
  expect_refused("{}", "a request names its method");
  expect_refused("{\"method\":1}", "a request names its method");
  expect_refused("{\"method\":\"live\",\"params\":[]}", "'params' has to be an object");
  expect_refused("{\"method\":\"live\",\"indent\":9}", "'indent' has to be a number from 0 to 8");
  expect_refused("{\"method\":\"live\",\"indent\":null}", "'indent' has to be a number from 0 to 8");
  expect_refused("{\"method\":\"live\",\"params\":{\"top\":-1}}",
                 "parameter 'top' has to be a whole number, 0 or more");
  expect_refused("{\"method\":\"live\",\"params\":{\"top\":\"1\"}}",
                 "parameter 'top' has to be a whole number, 0 or more");
  expect_refused("{\"method\":\"live\",\"params\":{\"filter\":1}}", "parameter 'filter' has to be text");
  expect_refused("{\"method\":\"tree\",\"params\":{\"inverted\":1}}",
                 "parameter 'inverted' has to be true or false");
  expect_status(read_it("{\"method\":\"live\""), VS_BAD_ARGUMENT);
  assert_true(error.offset != VS_NO_OFFSET);
  expect_status(read_it(""), VS_BAD_ARGUMENT);
  expect_status(read_it("{\"method\":\"live\"}x"), VS_BAD_ARGUMENT);
  assert_int_equal(error.offset, 17);
}

static void a_long_word_does_not_hide_what_is_wrong_with_it(void **state) {
  (void)state;
  char text[700] = "{\"method\":\"";
  size_t size = strlen(text);
  memset(text + size, 'x', 600);
  memcpy(text + size + 600, "\"}", 3);
  expect_status(read_it(text), VS_BAD_ARGUMENT);
  assert_non_null(strstr(error.text, "there is report, stats"));
}

/* The same name can stand for different things in different methods. */
static void what_and_by_depend_on_the_method(void **state) {
  (void)state;
  expect_ok(read_it("{\"method\":\"picture\",\"params\":{\"what\":\"segments\",\"by\":\"allocation\"}}"));
  assert_int_equal(request.drawn, VS_DRAWN_segments);
  assert_int_equal(request.colour, VS_COLOUR_ALLOCATION);
  vs_request_deinit(&request);
  for (int i = 0; i < VS_GROUP_BYS; i++) {
    char text[80];
    vs_format(text, sizeof text, "{\"method\":\"groups\",\"params\":{\"by\":\"%s\"}}",
              vs_group_by_name((vs_group_by)i));
    expect_ok(read_it(text));
    assert_int_equal(request.colour, i);
    vs_request_deinit(&request);
  }
  expect_refused("{\"method\":\"picture\",\"params\":{\"what\":\"events\"}}",
                 "unknown what 'events': there is allocations, segments");
  expect_refused("{\"method\":\"live\",\"params\":{\"by\":\"allocation\"}}",
                 "unknown by 'allocation': did you mean 'annotation'?");
  expect_refused("{\"method\":\"live\",\"params\":{\"measure\":\"grow\"}}",
                 "unknown measure 'grow': did you mean 'grown'?");
}

static void reals_are_any_finite_number_or_none(void **state) {
  (void)state;
  expect_ok(
      read_it("{\"method\":\"picture\",\"params\":{\"x0\":-1,\"x1\":2.5e3,\"y1\":18446744073709551615}}"));
  assert_true(request.x0.is_given && request.x0.value == -1);
  assert_true(request.x1.is_given && request.x1.value == 2500);
  assert_true(request.y1.is_given && request.y1.value == 18446744073709551616.0);
  assert_true(request.y0.is_given && request.y0.value == 0); /* its default */
  vs_request_deinit(&request);
  expect_ok(read_it("{\"method\":\"picture\",\"params\":{\"x0\":null}}"));
  assert_false(request.x0.is_given || request.x1.is_given);
  vs_request_deinit(&request);
  const char *why = "parameter 'x0' has to be a number or null";
  expect_refused("{\"method\":\"picture\",\"params\":{\"x0\":\"1\"}}", why);
  expect_refused("{\"method\":\"picture\",\"params\":{\"x0\":true}}", why);
  expect_refused("{\"method\":\"picture\",\"params\":{\"x0\":1e999}}", why);
  expect_refused("{\"method\":\"picture\",\"params\":{\"x0\":[1]}}", why);
}

static void a_moment_can_be_none(void **state) {
  (void)state;
  expect_ok(read_it("{\"method\":\"allocations\"}"));
  assert_int_equal(request.at.kind, VS_WHEN_NONE);
  vs_request_deinit(&request);
  expect_ok(read_it("{\"method\":\"live\",\"params\":{\"since\":null,\"at\":null}}"));
  assert_int_equal(request.since.kind, VS_WHEN_NONE);
  assert_int_equal(request.at.kind, VS_WHEN_PEAK);
  vs_request_deinit(&request);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_left_out_has_its_default),
      cmocka_unit_test(every_default_can_be_read),
      cmocka_unit_test(groups_have_the_names_that_analyze_gives_them),
      cmocka_unit_test(moments_are_names_events_and_times),
      cmocka_unit_test(what_and_by_depend_on_the_method),
      cmocka_unit_test(reals_are_any_finite_number_or_none),
      cmocka_unit_test(a_moment_can_be_none),
      cmocka_unit_test(devices_are_numbers_or_the_host),
      cmocka_unit_test(what_is_unknown_is_refused_with_the_nearest_word),
      cmocka_unit_test(what_is_no_request_is_refused),
      cmocka_unit_test(a_long_word_does_not_hide_what_is_wrong_with_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
