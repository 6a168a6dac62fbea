/* The shape that is written: as JSON where it is about keys, as bytes where it is about the pickle. */
#include "support/snapshots.h"

#define FRAME "{\"name\": \"f\", \"filename\": \"a.py\", \"line\": 3}"
#define EVENT(action)      \
  "{\"action\": \"" action \
  "\", \"addr\": 139637976727552, \"size\": 512, \"stream\": 0, \"frames\": [" FRAME "]}"

static void expect_written(const char *json, vs_file_format format, vs_str wanted) {
  vs_snapshot *snapshot = snapshot_of(vs_str_from(json));
  vs_text text = written(snapshot, format);
  expect_str_at(vs_text_view(&text), wanted, __FILE__, __LINE__);
  vs_text_deinit(&text);
  vs_snapshot_destroy(snapshot);
}

/* That reading `json` and writing it as JSON gives `wanted`. */
static void expect_json(const char *json, const char *wanted) {
  expect_written(json, VS_FORMAT_JSON, vs_str_from(wanted));
}

/* The example of docs/formats/snapshot.md; loaded with CPython's pickle when it was written down. */
static void a_whole_pickle(void **state) {
  (void)state;
  expect_written(
      "{\"segments\": [], \"device_traces\": [[" EVENT("alloc") ", " EVENT("free_requested") "]]}",
      VS_FORMAT_PICKLE,
      VS_STR("\x80\x04}(\x8c\x08segmentsq\x00]\x8c\x0d"
             "device_tracesq\x01](](}("
             "\x8c\x06"
             "actionq\x02\x8c\x05"
             "allocq\x03\x8c\x04"
             "addrq\x04\x8a\x06\x00\x00\x00\x00\x00\x7f"
             "\x8c\x04sizeq\x05M\x00\x02\x8c\x06streamq\x06K\x00\x8c\x06"
             "framesq\x07](}("
             "\x8c\x04nameq\x08\x8c\x01"
             "fq@\x8c\x08"
             "filenameq\x09\x8c\x04"
             "a.pyqA\x8c\x04lineq\x0aK\x03uqB"
             "eqCu"
             "}(h\x02\x8c\x0e"
             "free_requestedq\x0bh\x04\x8a\x06\x00\x00\x00\x00\x00\x7fh\x05M\x00\x02h\x06K\x00h\x07hCu"
             "eeu."));
}

static void keys_have_their_order(void **state) {
  (void)state;
  expect_json(
      "{\"host_traces\": [[]], \"host_segments\": [], \"external_annotations\": [{\"time_us\": 3, "
      "\"device\": 0,"
      " \"stage\": \"START\", \"name\": \"n\"}], \"allocator_settings\": {\"b\": {\"x\": 1}, \"a\": null},"
      " \"device_traces\": [[{\"forward_frames\": [\"t\"], \"frames\": [], \"category\": \"c\", \"pool_id\": "
      "[0, 0],"
      " \"user_metadata\": \"\", \"compile_context\": \"N/A\", \"time_us\": 1, \"stream\": 2, \"size\": 3, "
      "\"addr\": 4,"
      " \"action\": \"alloc\"}, {\"action\": \"oom\", \"size\": 1, \"stream\": 0, \"device_free\": 9}]],"
      " \"segments\": [{\"blocks\": [{\"forward_frames\": [], \"frames\": [], \"state\": \"inactive\","
      " \"requested_size\": 0, \"size\": 1, \"address\": 4}], \"forward_frames\": [], \"frames\": [],"
      " \"registration_counter\": -1, \"is_expandable\": false, \"segment_pool_id\": [0, 1], "
      "\"segment_type\": \"small\","
      " \"stream\": 2, \"requested_size\": 5, \"active_size\": 6, \"allocated_size\": 7, \"total_size\": 1,"
      " \"address\": 4, \"device\": 0}]}",
      "{\"segments\":[{\"device\":0,\"address\":4,\"total_size\":1,\"allocated_size\":7,\"active_size\":6,"
      "\"requested_size\":5,\"stream\":2,\"segment_type\":\"small\",\"segment_pool_id\":[0,1],\"is_"
      "expandable\":false,"
      "\"registration_counter\":-1,\"frames\":[],\"forward_frames\":[],\"blocks\":[{\"address\":4,\"size\":1,"
      "\"requested_size\":0,\"state\":\"inactive\",\"frames\":[],\"forward_frames\":[]}]}],"
      "\"device_traces\":[[{\"action\":\"alloc\",\"addr\":4,\"size\":3,\"stream\":2,\"time_us\":1,"
      "\"compile_context\":\"N/A\",\"user_metadata\":\"\",\"pool_id\":[0,0],\"category\":\"c\",\"frames\":[],"
      "\"forward_frames\":[\"t\"]},{\"action\":\"oom\",\"device_free\":9,\"size\":1,\"stream\":0}]],"
      "\"allocator_settings\":{\"b\":{\"x\":1},\"a\":null},"
      "\"external_annotations\":[{\"name\":\"n\",\"stage\":\"START\",\"device\":0,\"time_us\":3}],"
      "\"host_segments\":[],\"host_traces\":[[]]}");
}

/* What today's tools cannot do without is filled in; what else was absent stays absent. */
static void old_shapes_become_new_ones(void **state) {
  (void)state;
  expect_json(
      "[{\"device\": 1, \"address\": 4096, \"total_size\": 1024, \"blocks\": [{\"size\": 512,"
      " \"state\": \"active_allocated\"}, {\"size\": 512, \"state\": \"inactive\"}]}]",
      "{\"segments\":[{\"device\":1,\"address\":4096,\"total_size\":1024,\"stream\":0,\"blocks\":["
      "{\"address\":4096,\"size\":512,\"requested_size\":512,\"state\":\"active_allocated\",\"frames\":[]},"
      "{\"address\":4608,\"size\":512,\"requested_size\":512,\"state\":\"inactive\",\"frames\":[]}]}],"
      "\"device_traces\":[[],[]]}");
  expect_json("{\"segments\": [{\"address\": 4096, \"total_size\": 512, \"blocks\": [{\"size\": 512,"
              " \"state\": \"active_allocated\", \"history\": [{\"addr\": 4096, \"real_size\": 500, "
              "\"frames\": [" FRAME "]}]}]}]}",
              "{\"segments\":[{\"device\":0,\"address\":4096,\"total_size\":512,\"stream\":0,\"blocks\":["
              "{\"address\":4096,\"size\":512,\"requested_size\":500,\"state\":\"active_allocated\","
              "\"frames\":[{\"name\":\"f\",\"filename\":\"a.py\",\"line\":3}]}]}],\"device_traces\":[[]]}");
  expect_json("{}", "{\"segments\":[],\"device_traces\":[]}");
}

static void what_tells_a_dict_is_always_there(void **state) {
  (void)state;
  expect_json(
      "{\"device_traces\": [[{\"action\": \"alloc\", \"frames\": [{\"filename\": null}, {\"name\": \"f\","
      " \"line\": 1}]}]], \"external_annotations\": [{\"stage\": null}]}",
      "{\"segments\":[],\"device_traces\":[[{\"action\":\"alloc\",\"size\":0,\"stream\":0,"
      "\"frames\":[{\"name\":null,\"filename\":null,\"line\":0},{\"name\":\"f\",\"filename\":null,\"line\":1}"
      "]}]],"
      "\"external_annotations\":[{\"name\":null,\"stage\":null,\"device\":0}]}");
}

/* Even where a segment of host memory stands among those of devices. */
static void host_memory_has_its_keys(void **state) {
  (void)state;
#define SEGMENT_OF(device) "{\"device\":" device ",\"address\":1,\"total_size\":0,\"stream\":0,\"blocks\":[]}"
  static const char json[] = "{\"segments\":[" SEGMENT_OF("-1") "," SEGMENT_OF(
      "0") "],\"device_traces\":[[]],\"host_segments\":[" SEGMENT_OF("-1") "],"
                                                                           "\"host_traces\":[{\"action\":"
                                                                           "\"alloc\",\"addr\":1,\"size\":2,"
                                                                           "\"stream\":0}]}";
  expect_json(json, json);
}

static void numbers_are_unsigned(void **state) {
  (void)state;
  expect_json(
      "{\"device_traces\": [[{\"action\": \"alloc\", \"addr\": -1, \"size\": 18446744073709551615,"
      " \"stream\": 9223372036854775808, \"pool_id\": [18446744073709551615, 9223372036854775808]}]]}",
      "{\"segments\":[],\"device_traces\":[[{\"action\":\"alloc\",\"addr\":18446744073709551615,"
      "\"size\":18446744073709551615,\"stream\":9223372036854775808,"
      "\"pool_id\":[18446744073709551615,9223372036854775808]}]]}");
  expect_written(
      "{\"device_traces\": [[{\"action\": \"x\", \"addr\": -1, \"size\": 0, \"pool_id\": [0, "
      "9223372036854775808]}]]}",
      VS_FORMAT_PICKLE,
      VS_STR("\x80\x04}(\x8c\x08segmentsq\x00]\x8c\x0d"
             "device_tracesq\x01](](}("
             "\x8c\x06"
             "actionq\x02\x8c\x01xq\x03\x8c\x04"
             "addrq\x04"
             "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00\x8c\x04sizeq\x05K\x00\x8c\x06streamq\x06K\x00"
             "\x8c\x07pool_idq\x07K\x00\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00\x86q\x08ueeu."));
}

/* ---- the way out ----------------------------------------------------------------------------------------------- */

/* 20,000 events with one stack. */
static vs_snapshot *many_events(const vs_host *host) {
  vs_text json;
  vs_snapshot *s;
  vs_error error;
  vs_text_init(&json, vs_host_default(), NULL);
  vs_text_cstr(&json, "{\"device_traces\": [[");
  for (int i = 0; i < 20000; i++) vs_text_cstr(&json, i == 0 ? EVENT("alloc") : ", " EVENT("alloc"));
  vs_text_cstr(&json, "]]}");
  expect_ok(snapshot_from(host, vs_text_view(&json), &s, &error));
  vs_text_deinit(&json);
  return s;
}

typedef struct counter {
  size_t calls, largest, bytes, fail_at;
} counter;

static vs_status count(void *ctx, const void *data, size_t size) {
  counter *c = ctx;
  (void)data;
  c->bytes += size;
  if (size > c->largest) c->largest = size;
  return c->calls++ == c->fail_at ? VS_IO : VS_OK;
}

static void memory_stays_small(void **state) {
  (void)state;
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  vs_snapshot *s = many_events(&fault.host);
  for (int format = VS_FORMAT_PICKLE; format <= VS_FORMAT_JSON; format++) {
    counter c = {.fail_at = SIZE_MAX};
    const uint64_t before = fault.peak_bytes = fault.live_bytes;
    expect_ok(vs_snapshot_write(s, (vs_file_format)format, &(vs_writer){.ctx = &c, .write = count}, NULL));
    assert_true(c.bytes > 20000 * 20);
    assert_true(c.largest < 68 * 1024);
    assert_true(fault.peak_bytes - before < 300 * 1024);
    assert_int_equal(fault.live_bytes, before);
  }
  vs_snapshot_destroy(s);
  fault_host_expect_empty(&fault);
}

static void equal_stacks_are_written_once(void **state) {
  (void)state;
  vs_snapshot *s = many_events(vs_host_default());
  vs_text text = written(s, VS_FORMAT_PICKLE);
  size_t found = 0;
  for (size_t i = 0; i + 4 <= text.bytes.count; i++) found += memcmp(text.bytes.data + i, "a.py", 4) == 0;
  assert_int_equal(found, 1);
  assert_true(text.bytes.count < 20000 * 32);
  vs_text_deinit(&text);
  vs_snapshot_destroy(s);
}

static void a_failing_writer_ends_it(void **state) {
  (void)state;
  vs_snapshot *s = many_events(vs_host_default());
  for (size_t fail_at = 0; fail_at < 3; fail_at++) {
    counter c = {.fail_at = fail_at};
    vs_error error;
    expect_status(vs_snapshot_write(s, VS_FORMAT_PICKLE, &(vs_writer){.ctx = &c, .write = count}, &error),
                  VS_IO);
    expect_status(error.status, VS_IO);
    assert_string_equal(error.text, vs_status_text(VS_IO));
    assert_int_equal(c.calls, fail_at + 1);
  }
  vs_snapshot_destroy(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_whole_pickle),
      cmocka_unit_test(keys_have_their_order),
      cmocka_unit_test(old_shapes_become_new_ones),
      cmocka_unit_test(what_tells_a_dict_is_always_there),
      cmocka_unit_test(host_memory_has_its_keys),
      cmocka_unit_test(numbers_are_unsigned),
      cmocka_unit_test(memory_stays_small),
      cmocka_unit_test(equal_stacks_are_written_once),
      cmocka_unit_test(a_failing_writer_ends_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
