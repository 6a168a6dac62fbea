/* What the shapes of all ages become. They are written as JSON here, because it can be read: the builder behind both
 * formats is the same, and tests/unit/snapshot/test_corpus.c compares the writers. */
#include "support/snapshots.h"

#include <stdlib.h>

#define SEGMENT "{\"device\": 0, \"address\": 4096, \"total_size\": 2048, \"stream\": 0, \"blocks\": []}"

static const vs_segment *segment_at(const vs_snapshot *s, size_t index) {
  assert_true(index < s->segments.count);
  return &s->segments.data[index];
}

static const vs_block *block_at(const vs_snapshot *s, size_t index) {
  assert_true(index < s->blocks.count);
  return &s->blocks.data[index];
}

static void expect_word(const vs_snapshot *s, uint32_t id, const char *text) {
  expect_str_at(vs_snapshot_string(s, id), vs_str_from(text), __FILE__, __LINE__);
}

/* That the stack's functions are `names`, in order and with commas between them. */
static void expect_stack(const vs_snapshot *s, uint32_t stack, const char *names) {
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  const vs_list frames = vs_stacks_at(&s->stacks, stack);
  for (uint32_t i = 0; i < frames.count; i++) {
    if (i > 0) vs_text_cstr(&text, ",");
    vs_text_str(&text, vs_snapshot_string(s, s->stacks.frames.data[frames.items[i]].name));
  }
  expect_str_at(vs_text_view(&text), vs_str_from(names), __FILE__, __LINE__);
  vs_text_deinit(&text);
}

/* ---- the newest shape ------------------------------------------------------------------------------------------ */

static void events_become_columns(void **state) {
  (void)state;
  vs_snapshot *s = snapshot_of_json(
      "{\"segments\": [], \"device_traces\": [[{\"action\": \"alloc\", \"addr\": 139637976727552, \"size\": "
      "1000,"
      " \"stream\": 94, \"time_us\": 1700000000000001, \"compile_context\": \"N/A\", \"user_metadata\": \"\","
      " \"pool_id\": [0, 3], \"frames\": [{\"name\": \"f\", \"filename\": \"a.py\", \"line\": 7}],"
      " \"forward_frames\": [\"one\\n\", \"two\\n\"], \"category\": \"gradient\"}]]}");
  const vs_events *events = &s->events;
  assert_int_equal(events->count, 1);
  assert_int_equal(vs_events_kind(events, 0), VS_EVENT_ALLOC);
  assert_true(vs_events_address(events, 0) == UINT64_C(139637976727552));
  assert_int_equal(vs_events_size(events, 0), 1000);
  assert_int_equal(s->streams.data[vs_events_stream(events, 0)], 94);
  assert_true(vs_events_time_us(events, 0) == INT64_C(1700000000000001));
  expect_word(s, vs_events_compile_context(events, 0), "N/A");
  assert_int_equal(vs_events_user_metadata(events, 0), VS_STRING_EMPTY);
  assert_int_equal(vs_events_pool(events, 0), 1);
  assert_int_equal(s->pools.data[0].b, 3);
  expect_word(s, vs_events_category(events, 0), "gradient");
  expect_stack(s, vs_events_stack(events, 0), "f");
  assert_int_equal(vs_lists_at(&s->texts, vs_events_forward_frames(events, 0)).count, 2);
  assert_int_equal(s->stacks.frames.data[0].line, 7);
  assert_int_equal(s->unknown_key_count, 0);
  vs_snapshot_destroy(s);
}

/* What no row says is no column. */
static void absent_is_not_empty(void **state) {
  (void)state;
  vs_snapshot *s = snapshot_of_json(
      "{\"device_traces\": [[{\"action\": \"alloc\", \"addr\": 1, \"size\": 2, \"stream\": 0},"
      " {\"action\": \"alloc\", \"addr\": 1, \"size\": 2, \"stream\": 0, \"frames\": [],"
      " \"forward_frames\": [], \"user_metadata\": \"\"}]]}");
  const vs_events *events = &s->events;
  assert_null(events->time_us);
  assert_null(events->pool);
  assert_null(events->category);
  assert_true(vs_events_time_us(events, 0) == VS_NO_TIME);
  assert_int_equal(vs_events_stack(events, 0), VS_LIST_NONE);
  assert_int_equal(vs_events_stack(events, 1), VS_LIST_EMPTY);
  assert_int_equal(vs_events_forward_frames(events, 0), VS_LIST_NONE);
  assert_int_equal(vs_events_forward_frames(events, 1), VS_LIST_EMPTY);
  assert_int_equal(vs_events_user_metadata(events, 0), VS_STRING_NONE);
  assert_int_equal(vs_events_user_metadata(events, 1), VS_STRING_EMPTY);
  vs_snapshot_destroy(s);
}

static void segments_and_blocks_become_rows(void **state) {
  (void)state;
  vs_snapshot *s = snapshot_of_json(
      "{\"segments\": [{\"device\": 1, \"address\": 8192, \"total_size\": 2048, \"allocated_size\": 512,"
      " \"active_size\": 1024, \"requested_size\": 700, \"stream\": 5, \"segment_type\": \"small\","
      " \"segment_pool_id\": [0, 0], \"is_expandable\": true, \"registration_counter\": 9, \"frames\": [],"
      " \"blocks\": [{\"address\": 8192, \"size\": 512, \"requested_size\": 400, \"state\": "
      "\"active_allocated\","
      " \"frames\": [{\"name\": \"g\", \"filename\": \"b.py\", \"line\": 1}]},"
      " {\"address\": 8704, \"size\": 512, \"requested_size\": 300, \"state\": \"active_pending_free\", "
      "\"frames\": []},"
      " {\"address\": 9216, \"size\": 1024, \"requested_size\": 0, \"state\": \"inactive\", \"frames\": "
      "[]}]}],"
      " \"device_traces\": [[], []]}");
  const vs_segment *segment = segment_at(s, 0);
  assert_int_equal(segment->device, 1);
  assert_int_equal(segment->active_size, 1024);
  assert_int_equal(segment->has, VS_SEGMENT_HAS_ALLOCATED | VS_SEGMENT_HAS_ACTIVE | VS_SEGMENT_HAS_REQUESTED |
                                     VS_SEGMENT_HAS_EXPANDABLE);
  assert_true(segment->is_expandable);
  assert_int_equal(segment->registration_counter, 9);
  assert_int_equal(segment->stack, VS_LIST_EMPTY);
  assert_int_equal(segment->block_count, 3);
  expect_word(s, segment->type, "small");
  assert_int_equal(block_at(s, 0)->state, VS_BLOCK_ALLOCATED);
  assert_int_equal(block_at(s, 1)->state, VS_BLOCK_PENDING);
  assert_int_equal(block_at(s, 2)->state, VS_BLOCK_INACTIVE);
  assert_int_equal(block_at(s, 0)->has, VS_BLOCK_HAS_ADDRESS | VS_BLOCK_HAS_REQUESTED);
  expect_stack(s, block_at(s, 0)->stack, "g");
  assert_int_equal(s->traces.count, 2);
  vs_snapshot_destroy(s);
}

static void annotations_and_settings(void **state) {
  (void)state;
  vs_snapshot *s = snapshot_of_json(
      "{\"segments\": [], \"external_annotations\": [{\"stage\": \"START\", \"name\": \"step\", \"device\": "
      "0,"
      " \"time_us\": 5}, {\"stage\": \"END\", \"name\": \"step\"}],"
      " \"allocator_settings\": {\"conf\": \"x\", \"size\": -1, \"part\": 0.5, \"on\": true, \"none\": null,"
      " \"powers\": {\"1\": 4, \"deep\": {}}, \"last\": 2, \"list\": [1]}}");
  assert_int_equal(s->annotations.count, 2);
  expect_word(s, s->annotations.data[1].stage, "END");
  assert_true(s->annotations.data[1].time_us == VS_NO_TIME);
  static const struct {
    const char *key;
    uint8_t kind, depth;
  } wanted[] = {
      {"conf", VS_SETTING_STRING, 0}, {"size", VS_SETTING_INT, 0},  {"part", VS_SETTING_REAL, 0},
      {"on", VS_SETTING_BOOL, 0},     {"none", VS_SETTING_NONE, 0}, {"powers", VS_SETTING_DICT, 0},
      {"1", VS_SETTING_INT, 1},       {"deep", VS_SETTING_DICT, 1}, {"last", VS_SETTING_INT, 0},
  };
  assert_int_equal(s->settings.count, sizeof wanted / sizeof *wanted);
  for (size_t i = 0; i < s->settings.count; i++) {
    expect_word(s, s->settings.data[i].key, wanted[i].key);
    assert_int_equal(s->settings.data[i].kind, wanted[i].kind);
    assert_int_equal(s->settings.data[i].depth, wanted[i].depth);
  }
  assert_int_equal(s->settings.data[5].bits, 2);
  assert_int_equal(s->unknown_key_count, 1); /* a setting that is a list */
  assert_string_equal(s->unknown_keys.data[0].where, "allocator_settings");
  vs_snapshot_destroy(s);
}

static void host_memory(void **state) {
  (void)state;
  vs_snapshot *s = snapshot_of_json(
      "{\"segments\": [" SEGMENT "], \"device_traces\": [[]], \"host_segments\": [" SEGMENT "],"
      " \"host_traces\": [{\"action\": \"alloc\", \"addr\": 1, \"size\": 2, \"stream\": 0}]}");
  assert_int_equal(segment_at(s, 1)->device, VS_DEVICE_HOST);
  assert_int_equal(s->traces.count, 2);
  assert_int_equal(vs_snapshot_trace(s, VS_DEVICE_HOST)->count, 1);
  assert_int_equal(s->has & VS_HAS_NESTED_HOST_TRACES, 0);
  vs_snapshot_destroy(s);

  s = snapshot_of_json("{\"host_traces\": [[{\"action\": \"alloc\", \"size\": 1}], [], [{\"action\": "
                       "\"alloc\", \"size\": 2}]]}");
  assert_int_equal(vs_snapshot_trace(s, VS_DEVICE_HOST)->count, 2);
  assert_int_equal(vs_events_size(&s->events, 1), 2);
  assert_int_not_equal(s->has & VS_HAS_NESTED_HOST_TRACES, 0);
  vs_snapshot_destroy(s);

  s = snapshot_of_json("{\"segments\": [], \"host_segments\": [], \"host_traces\": []}");
  assert_int_equal(s->traces.count, 0);
  vs_snapshot_destroy(s);
}

/* ---- older shapes ---------------------------------------------------------------------------------------------- */

static void bare_list_of_1_12(void **state) {
  (void)state;
  vs_snapshot *s = snapshot_of_json(
      "[{\"device\": 2, \"address\": 4096, \"total_size\": 2048, \"allocated_size\": 512, \"active_size\": "
      "512,"
      " \"segment_type\": \"small\", \"blocks\": [{\"size\": 512, \"state\": \"active_allocated\"},"
      " {\"size\": 1536, \"state\": \"inactive\"}]}]");
  assert_int_equal(s->has, VS_HAS_SEGMENTS | VS_HAS_ONLY_SEGMENTS);
  assert_int_equal(block_at(s, 1)->address, 4096 + 512);
  assert_int_equal(block_at(s, 1)->requested_size, 1536);
  assert_int_equal(block_at(s, 1)->has, 0);
  assert_int_equal(block_at(s, 0)->stack, VS_LIST_NONE);
  assert_int_equal(segment_at(s, 0)->has, VS_SEGMENT_HAS_ALLOCATED | VS_SEGMENT_HAS_ACTIVE);
  assert_int_equal(s->streams.data[segment_at(s, 0)->stream], 0);
  assert_int_equal(s->traces.count, 3); /* devices 0 and 1 are there too, with nothing */
  vs_snapshot_destroy(s);
}

static void history_of_1_13(void **state) {
  (void)state;
  vs_snapshot *s = snapshot_of_json(
      "{\"segments\": [{\"device\": 0, \"address\": 4096, \"total_size\": 1024, \"stream\": 0, \"blocks\": ["
      "{\"size\": 512, \"state\": \"active_allocated\", \"history\": [{\"addr\": 4096, \"real_size\": 400,"
      " \"frames\": [{\"name\": \"py\", \"filename\": \"a.py\", \"line\": 1}],"
      " \"cpp_frames\": [{\"name\": \"cpp\", \"filename\": \"??\", \"line\": 0}]},"
      " {\"addr\": 4096, \"real_size\": 99}]},"
      "{\"size\": 256, \"state\": \"inactive\", \"history\": [{\"addr\": 4608, \"real_size\": 200}]},"
      "{\"size\": 256, \"state\": \"inactive\", \"history\": []}]}], \"device_traces\": [[]]}");
  assert_int_equal(block_at(s, 0)->requested_size, 400);
  assert_int_equal(block_at(s, 0)->has, VS_BLOCK_HAS_REQUESTED);
  expect_stack(s, block_at(s, 0)->stack, "cpp,py"); /* innermost first */
  assert_int_equal(block_at(s, 1)->requested_size, 200);
  assert_int_equal(block_at(s, 1)->stack, VS_LIST_NONE);
  assert_int_equal(block_at(s, 2)->requested_size, 256);
  assert_int_equal(block_at(s, 2)->has, 0);
  vs_snapshot_destroy(s);
}

static void derived_from_a_profile(void **state) {
  (void)state;
  vs_snapshot *s = snapshot_of_json(
      "{\"device_traces\": [[{\"action\": \"alloc\", \"addr\": 4096, \"size\": 100, \"stream\": 0, "
      "\"frames\": ["
      "{\"filename\": \"none\", \"line\": 0, \"name\": \"f\"}], \"category\": \"unknown\"}]],"
      " \"segments\": [{\"device\": 0, \"address\": 4096, \"total_size\": 300, \"stream\": 0, \"blocks\": ["
      "{\"size\": 100, \"state\": \"active_allocated\", \"requested_size\": 100, \"frames\": []},"
      "{\"size\": 200, \"state\": \"inactive\"}]}]}");
  assert_int_equal(block_at(s, 1)->address, 4196);
  assert_int_equal(segment_at(s, 0)->has, 0);
  expect_word(s, vs_events_category(&s->events, 0), "unknown");
  vs_snapshot_destroy(s);
}

/* ---- details --------------------------------------------------------------------------------------------------- */

static void addresses_are_unsigned(void **state) {
  (void)state;
  vs_snapshot *s = snapshot_of_json(
      "{\"device_traces\": [[{\"action\": \"alloc\", \"addr\": -4096, \"size\": 1},"
      " {\"action\": \"alloc\", \"addr\": 18446744073709547520, \"size\": 9223372036854775808}]]}");
  assert_true(vs_events_address(&s->events, 0) == UINT64_MAX - 4095);
  assert_true(vs_events_address(&s->events, 1) == UINT64_MAX - 4095);
  assert_true(vs_events_size(&s->events, 1) == UINT64_C(1) << 63);
  vs_snapshot_destroy(s);
}

static void an_oom_has_free_bytes_for_an_address(void **state) {
  (void)state;
  vs_snapshot *s = snapshot_of_json(
      "{\"device_traces\": [[{\"action\": \"oom\", \"device_free\": 77, \"size\": 5},"
      " {\"action\": \"oom\", \"addr\": 78, \"size\": 5}, {\"action\": \"oom\", \"size\": 5},"
      " {\"action\": \"alloc\", \"size\": 5}]]}");
  assert_int_equal(vs_events_address(&s->events, 0), 77);
  assert_int_equal(vs_events_address(&s->events, 1), 78);
  assert_int_equal(vs_events_missing(&s->events, 1), 0);
  assert_int_equal(vs_events_missing(&s->events, 2), VS_EVENT_NO_ADDRESS);
  assert_int_equal(vs_events_missing(&s->events, 3), VS_EVENT_NO_ADDRESS);
  vs_snapshot_destroy(s);
}

static void unknown_names_are_kept(void **state) {
  (void)state;
  vs_snapshot *s = snapshot_of_json("{\"device_traces\": [[{\"action\": \"defragment\", \"addr\": 1, "
                                    "\"size\": 2}, {\"action\": \"defragment\"}]],"
                                    " \"segments\": [{\"address\": 0, \"total_size\": 1, \"blocks\": "
                                    "[{\"size\": 1, \"state\": \"asleep\"}]}]}");
  assert_int_equal(vs_events_kind(&s->events, 0), VS_EVENT_UNKNOWN);
  assert_int_equal(vs_events_action(&s->events, 0), vs_events_action(&s->events, 1));
  expect_word(s, s->actions.data[vs_events_action(&s->events, 0)], "defragment");
  assert_int_equal(block_at(s, 0)->state, VS_BLOCK_UNKNOWN);
  expect_word(s, block_at(s, 0)->state_name, "asleep");
  vs_snapshot_destroy(s);
}

static void skipped_keys_are_counted_and_named(void **state) {
  (void)state;
  vs_snapshot *s =
      snapshot_of_json("{\"device_traces\": [[{\"action\": \"alloc\", \"colour\": 1}, {\"action\": \"free\", "
                       "\"colour\": [2, 3]},"
                       " {\"action\": \"alloc\", \"pool_id\": \"main\"}]], \"colour\": {}, \"traces\": []}");
  assert_int_equal(s->unknown_key_count, 4);
  assert_int_equal(s->unknown_keys.count, 3);
  assert_string_equal(s->unknown_keys.data[0].where, "trace entry");
  expect_word(s, s->unknown_keys.data[0].key, "colour");
  assert_int_equal(s->unknown_keys.data[0].count, 2);
  expect_word(s, s->unknown_keys.data[1].key, "pool_id");
  assert_string_equal(s->unknown_keys.data[2].where, "snapshot");
  assert_int_equal(vs_events_pool(&s->events, 2), 0);
  vs_snapshot_destroy(s);
}

static void only_rows_of_the_snapshot_count(void **state) {
  (void)state;
  vs_snapshot *s =
      snapshot_of_json("{\"elsewhere\": [{\"action\": \"alloc\", \"size\": 1}, " SEGMENT "],"
                       " \"device_traces\": [[{\"action\": \"alloc\", \"size\": 2}], [], "
                       "[{\"action\": \"free_requested\", \"size\": 3}]], \"segments\": [" SEGMENT "]}");
  assert_int_equal(s->events.count, 2);
  assert_int_equal(vs_events_size(&s->events, 0), 2);
  assert_int_equal(vs_events_size(&s->events, 1), 3);
  assert_int_equal(s->segments.count, 1);
  assert_int_equal(s->traces.data[1].count, 0);
  assert_int_equal(s->traces.data[2].first, 1);
  vs_snapshot_destroy(s);
}

/* A pickle can hold the same entry, the same segment and the same list of blocks in several places. */
static void shared_rows_are_copied(void **state) {
  (void)state;
  const vs_str bytes = file_bytes(CORPUS "rows-shared");
  vs_snapshot *s = snapshot_of(bytes);
  assert_int_equal(s->segments.count, 2);
  assert_int_equal(s->blocks.count, 2);
  assert_int_equal(s->segments.data[1].first_block, 1);
  assert_int_equal(s->events.count, 3);
  assert_int_equal(s->traces.data[1].first, 2);
  vs_snapshot_destroy(s);
  free((void *)(uintptr_t)bytes.data);
}

static void numbers_of_other_tools(void **state) {
  (void)state;
  vs_snapshot *s =
      snapshot_of_json("{\"device_traces\": [[{\"action\": \"alloc\", \"addr\": 4096.0, \"size\": 1e3,"
                       " \"time_us\": 5.75, \"stream\": null}]]}");
  assert_int_equal(vs_events_address(&s->events, 0), 4096);
  assert_int_equal(vs_events_size(&s->events, 0), 1000);
  assert_int_equal(vs_events_time_us(&s->events, 0), 5);
  vs_snapshot_destroy(s);
}

static void of_equal_keys_the_last_counts(void **state) {
  (void)state;
  vs_snapshot *s =
      snapshot_of_json("{\"device_traces\": [[{\"action\": \"alloc\", \"size\": 1, \"size\": 2}]]}");
  assert_int_equal(vs_events_size(&s->events, 0), 2);
  vs_snapshot_destroy(s);
}

/* ---- refusals -------------------------------------------------------------------------------------------------- */

static void expect_refusal(const char *json, vs_status wanted, const char *part) {
  vs_snapshot *s;
  vs_error error;
  expect_status(snapshot_from(vs_host_default(), vs_str_from(json), &s, &error), wanted);
  assert_null(s);
  if (!vs_str_contains(vs_str_from(error.text), vs_str_from(part)))
    fail_msg("'%s' does not say '%s'", error.text, part);
}

static void what_is_no_snapshot_is_refused(void **state) {
  (void)state;
  expect_refusal("", VS_TRUNCATED, "empty");
  expect_refusal("hello", VS_BAD_FORMAT, "neither a pickle nor JSON");
  expect_refusal("PK\003\004", VS_UNSUPPORTED, "zip");
  expect_refusal(" \n<!DOCTYPE html>", VS_UNSUPPORTED, "web page");
  expect_refusal("{\"traceEvents\": []}", VS_BAD_FORMAT, "not a PyTorch memory snapshot");
  expect_refusal("[1, 2]", VS_BAD_FORMAT, "not a PyTorch memory snapshot");
  expect_refusal("{\"segments\": 5}", VS_BAD_FORMAT, "\"segments\" is not a list of segments");
  expect_refusal("{\"segments\": [5]}", VS_BAD_FORMAT, "\"segments\" is not a list of segments");
  expect_refusal("{\"device_traces\": [{\"action\": \"alloc\"}]}", VS_BAD_FORMAT, "\"device_traces\"");
  expect_refusal("{\"external_annotations\": [1]}", VS_BAD_FORMAT, "\"external_annotations\"");
  expect_refusal("{\"allocator_settings\": []}", VS_BAD_FORMAT, "\"allocator_settings\"");
  expect_refusal("{\"host_traces\": 1}", VS_BAD_FORMAT, "\"host_traces\"");
  expect_refusal("{\"segments\": [", VS_TRUNCATED, "ends");
}

static void expect_blank(vs_str bytes, vs_status wanted, const char *part) {
  vs_snapshot *s;
  vs_error error;
  expect_status(snapshot_from(vs_host_default(), bytes, &s, &error), wanted);
  assert_null(s);
  if (!vs_str_contains(vs_str_from(error.text), vs_str_from(part)))
    fail_msg("'%s' does not say '%s'", error.text, part);
}

/* A recorder extends its file, writes the header of the first frame, and last the magic of that. */
static void a_recording_that_never_began_is_named(void **state) {
  (void)state;
  static char bytes[3 << 20];
  expect_blank((vs_str){bytes, sizeof bytes}, VS_TRUNCATED, "process was killed before anything was written");
  expect_blank((vs_str){bytes, 1}, VS_TRUNCATED, "process was killed before anything was written");
  memset(bytes + 16, 1, 64);
  expect_blank((vs_str){bytes, sizeof bytes}, VS_TRUNCATED, "process was killed before anything was written");
  bytes[1 << 20] = 1;
  expect_blank((vs_str){bytes, sizeof bytes}, VS_BAD_FORMAT, "nor a recording (it begins with zeros)");
  memset(bytes, 0, 100);
  expect_blank((vs_str){bytes, sizeof bytes}, VS_BAD_FORMAT, "nor a recording (it begins with zeros)");
}

static void wrong_values_are_refused_by_name(void **state) {
  (void)state;
  expect_refusal("[{\"address\": 1, \"total_size\": -1, \"blocks\": []}]", VS_BAD_FORMAT,
                 "\"total_size\" of a segment");
  expect_refusal("[{\"address\": 1, \"total_size\": 0.5, \"blocks\": []}]", VS_BAD_FORMAT,
                 "\"total_size\" of a segment");
  expect_refusal("[{\"address\": 1, \"total_size\": 36893488147419103232, \"blocks\": []}]", VS_BAD_FORMAT,
                 "total_size");
  expect_refusal("[{\"address\": \"1\", \"total_size\": 1, \"blocks\": []}]", VS_BAD_FORMAT,
                 "\"address\" of a segment");
  expect_refusal("[{\"total_size\": 1, \"blocks\": []}]", VS_BAD_FORMAT,
                 "\"address\" of a segment is not there");
  expect_refusal("[{\"address\": 1, \"total_size\": 1, \"blocks\": 7}]", VS_BAD_FORMAT,
                 "\"blocks\" of a segment");
  expect_refusal("[{\"address\": 1, \"total_size\": 1, \"blocks\": [{\"state\": \"inactive\"}]}]",
                 VS_BAD_FORMAT, "\"size\" of a block");
  expect_refusal("[{\"address\": 1, \"total_size\": 1, \"device\": 5000, \"blocks\": []}]", VS_LIMIT,
                 "device 5000");
  expect_refusal("[{\"address\": 1, \"total_size\": 1, \"device\": -2, \"blocks\": []}]", VS_LIMIT,
                 "device -2");
  expect_refusal("{\"device_traces\": [[{\"action\": 3}]]}", VS_BAD_FORMAT, "\"action\" of a trace entry");
  expect_refusal("{\"device_traces\": [[{\"action\": \"alloc\", \"time_us\": \"now\"}]]}", VS_BAD_FORMAT,
                 "\"time_us\"");
}

/* A dict of settings that is in itself a thousandfold: quickly refused, however little memory it would take. */
static void exploding_settings_are_refused(void **state) {
  (void)state;
  vs_text pickle;
  vs_text_init(&pickle, vs_host_default(), NULL);
  vs_text_str(&pickle, VS_STR("\x80\x04}X\x12\0\0\0allocator_settings"));
  vs_text_cstr(&pickle, "}(");
  for (int i = 0; i < 4000; i++)
    vs_text_format(&pickle, "\x8c\x04%d]", 1000 + i); /* empty lists are skipped */
  vs_text_cstr(&pickle, "uq\x01");
  for (int level = 1; level < 6; level++) {
    vs_text_cstr(&pickle, "0}(");
    for (int i = 0; i < 4000; i++) vs_text_format(&pickle, "\x8c\x04%dh%c", 1000 + i, level);
    vs_text_format(&pickle, "uq%c", level + 1);
  }
  vs_text_cstr(&pickle, "s.");
  vs_snapshot *s;
  vs_error error;
  expect_status(snapshot_from(vs_host_default(), vs_text_view(&pickle), &s, &error), VS_LIMIT);
  assert_non_null(strstr(error.text, "allocator_settings"));
  vs_text_deinit(&pickle);
}

/* ---- the input ------------------------------------------------------------------------------------------------- */

static void what_lies_behind_the_end_is_counted(void **state) {
  (void)state;
  vs_snapshot *s = snapshot_of(VS_STR("\x80\x02].\0\0noise\0"));
  assert_int_equal(s->bytes, 4);
  assert_int_equal(s->trailing_bytes, 5);
  assert_int_equal(s->pickle_protocol, 2);
  vs_snapshot_destroy(s);
}

static bool stop_at_once(void *ctx, uint64_t bytes_read) {
  *(uint64_t *)ctx += bytes_read;
  return false;
}

static void reading_can_be_cancelled(void **state) {
  (void)state;
  vs_memory_reader bytes;
  vs_snapshot *s;
  vs_error error;
  uint64_t seen = 0;
  const vs_read_options options = {.progress = stop_at_once, .progress_ctx = &seen};
  const vs_reader reader = vs_reader_from_bytes(&bytes, "\x80\x02].", 4);
  expect_status(vs_snapshot_read(vs_host_default(), reader, &options, &s, &error), VS_CANCELLED);
  assert_int_equal(seen, 4);
  assert_null(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(events_become_columns),
      cmocka_unit_test(absent_is_not_empty),
      cmocka_unit_test(segments_and_blocks_become_rows),
      cmocka_unit_test(annotations_and_settings),
      cmocka_unit_test(host_memory),
      cmocka_unit_test(bare_list_of_1_12),
      cmocka_unit_test(history_of_1_13),
      cmocka_unit_test(derived_from_a_profile),
      cmocka_unit_test(addresses_are_unsigned),
      cmocka_unit_test(an_oom_has_free_bytes_for_an_address),
      cmocka_unit_test(unknown_names_are_kept),
      cmocka_unit_test(skipped_keys_are_counted_and_named),
      cmocka_unit_test(only_rows_of_the_snapshot_count),
      cmocka_unit_test(shared_rows_are_copied),
      cmocka_unit_test(numbers_of_other_tools),
      cmocka_unit_test(of_equal_keys_the_last_counts),
      cmocka_unit_test(what_is_no_snapshot_is_refused),
      cmocka_unit_test(a_recording_that_never_began_is_named),
      cmocka_unit_test(wrong_values_are_refused_by_name),
      cmocka_unit_test(exploding_settings_are_refused),
      cmocka_unit_test(what_lies_behind_the_end_is_counted),
      cmocka_unit_test(reading_can_be_cancelled),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
