/* Each invariant of model.h, broken alone. */
#include "support/snapshots.h"

/* Two devices and the host, two segments of two blocks, three events, an unknown action, nested settings. */
static const char whole[] =
    "{\"segments\": [{\"device\": 0, \"address\": 4096, \"total_size\": 1024, \"stream\": 0, "
    "\"segment_type\": \"small\","
    " \"segment_pool_id\": [0, 1], \"frames\": [{\"name\": \"f\", \"filename\": \"a.py\", \"line\": 1,"
    " \"fx_node_op\": \"call\"}], \"forward_frames\": [\"x\"], \"blocks\": [{\"address\": 4096, \"size\": "
    "512,"
    " \"requested_size\": 500, \"state\": \"inactive\", \"frames\": []}, {\"address\": 4608, \"size\": 512,"
    " \"requested_size\": 500, \"state\": \"inactive\", \"frames\": []}]},"
    " {\"device\": 1, \"address\": 8192, \"total_size\": 1024, \"stream\": 7, \"blocks\": [{\"size\": 512,"
    " \"state\": \"inactive\"}, {\"size\": 512, \"state\": \"inactive\"}]}],"
    " \"device_traces\": [[{\"action\": \"alloc\", \"addr\": 1, \"size\": 2, \"stream\": 7, \"pool_id\": [0, "
    "1],"
    " \"compile_context\": \"\", \"user_metadata\": \"\", \"category\": \"\", \"frames\": [], "
    "\"forward_frames\": []},"
    " {\"action\": \"defragment\", \"size\": 2}], []],"
    " \"host_traces\": [{\"action\": \"alloc\", \"addr\": 1, \"size\": 2}],"
    " \"allocator_settings\": {\"a\": {\"b\": 1, \"c\": \"x\"}, \"d\": true},"
    " \"external_annotations\": [{\"name\": \"step\", \"stage\": \"START\", \"device\": 0, \"time_us\": 1}], "
    "\"extra\": 1}";

static vs_snapshot *s;

static int setup(void **state) {
  (void)state;
  s = snapshot_of(vs_str_from(whole)); /* which holds */
  return 0;
}

static int teardown(void **state) {
  (void)state;
  vs_snapshot_destroy(s);
  return 0;
}

/* The part of the sentence that must be said once `place` holds `value`; the old value is put back. */
#define BREAKS(place, value, part)            \
  do {                                        \
    const __typeof__(place) before = (place); \
    (place) = (value);                        \
    expect_broken((part), __LINE__);          \
    (place) = before;                         \
    assert_null(vs_snapshot_check(s));        \
  } while (0)

static void expect_broken(const char *part, int line) {
  const char *sentence = vs_snapshot_check(s);
  if (sentence == NULL || strstr(sentence, part) == NULL) {
    print_error("line %d: '%s' does not say '%s'\n", line, sentence == NULL ? "nothing" : sentence, part);
    fail();
  }
}

static void blocks_tile(void **state) {
  (void)state;
  vs_segment *first = &s->segments.data[0], *second = &s->segments.data[1];
  BREAKS(first->first_block, 1, "follow each other");
  BREAKS(second->first_block, 3, "follow each other");
  BREAKS(second->first_block, 1, "follow each other");
  BREAKS(second->block_count, 1, "just the blocks");
  BREAKS(second->block_count, UINT32_MAX, "just the blocks");
  BREAKS(s->blocks.count, 3, "just the blocks");
}

static void events_tile(void **state) {
  (void)state;
  vs_trace *traces = s->traces.data;
  BREAKS(traces[0].first, 1, "follow each other");
  BREAKS(traces[1].first, 0, "follow each other");
  BREAKS(traces[2].count, 0, "just the events");
  BREAKS(traces[2].count, UINT32_MAX, "just the events");
  BREAKS(s->events.count, 2, "just the events");
}

static void traces_are_in_order(void **state) {
  (void)state;
  vs_trace *traces = s->traces.data;
  BREAKS(traces[0].device, 1, "device 0, 1, ...");
  BREAKS(traces[1].device, VS_DEVICE_HOST, "device 0, 1, ...");
  BREAKS(traces[1].device, 2, "device 0, 1, ...");
  BREAKS(traces[2].device, -2, "cannot be");
  BREAKS(traces[2].device, VS_MAX_DEVICES, "cannot be");
  BREAKS(s->segments.data[1].device, 2, "no trace");
  BREAKS(s->segments.data[1].device, VS_MAX_DEVICES, "cannot be");
  BREAKS(s->segments.data[1].device, -2, "cannot be");
}

static void event_ids_are_there(void **state) {
  (void)state;
  vs_events *events = &s->events;
  BREAKS(events->action[0], (uint16_t)s->actions.count, "action");
  BREAKS(events->stream[0], (uint32_t)s->streams.count, "stream");
  BREAKS(events->stack[0], vs_lists_count(&s->stacks.lists), "stack");
  BREAKS(events->pool[0], (uint32_t)s->pools.count + 1, "pool");
  BREAKS(events->compile_context[0], vs_strings_count(&s->strings), "string");
  BREAKS(events->user_metadata[0], vs_strings_count(&s->strings), "string");
  BREAKS(events->forward_frames[0], vs_lists_count(&s->texts), "text");
  BREAKS(events->missing[0], VS_EVENT_NO_ADDRESS, "said to be absent");
  BREAKS(events->capacity, 2, "shorter");
  BREAKS(events->stream_capacity, events->capacity - 1, "shorter");
}

static void segment_ids_are_there(void **state) {
  (void)state;
  vs_segment *segment = &s->segments.data[0];
  BREAKS(segment->stream, (uint32_t)s->streams.count, "stream");
  BREAKS(segment->pool, (uint32_t)s->pools.count + 1, "pool");
  BREAKS(segment->type, vs_strings_count(&s->strings), "string");
  BREAKS(segment->stack, vs_lists_count(&s->stacks.lists), "stack");
  BREAKS(segment->forward_frames, vs_lists_count(&s->texts), "text");
  BREAKS(segment->allocated_size, 1, "said to be absent");
  BREAKS(segment->active_size, 1, "said to be absent");
  BREAKS(segment->requested_size, 1, "said to be absent");
  BREAKS(segment->is_expandable, true, "said to be absent");
}

static void block_ids_are_there(void **state) {
  (void)state;
  vs_block *block = &s->blocks.data[3];
  BREAKS(block->state, VS_BLOCK_UNKNOWN + 1, "state");
  BREAKS(block->state_name, vs_strings_count(&s->strings), "string");
  BREAKS(block->stack, vs_lists_count(&s->stacks.lists), "stack");
  BREAKS(block->forward_frames, vs_lists_count(&s->texts), "text");
}

static void stack_ids_are_there(void **state) {
  (void)state;
  vs_frame *frame = &s->stacks.frames.data[0];
  BREAKS(s->stacks.lists.items.data[0], (uint32_t)s->stacks.frames.count, "a stack names a frame");
  BREAKS(s->texts.items.data[0], vs_strings_count(&s->strings), "a text names a string");
  BREAKS(frame->name, vs_strings_count(&s->strings), "a frame names a string");
  BREAKS(frame->file, vs_strings_count(&s->strings), "a frame names a string");
  BREAKS(frame->detail, (uint32_t)s->stacks.details.count + 1, "a frame names a detail");
  BREAKS(s->stacks.details.data[0].fx_node_op, vs_strings_count(&s->strings), "detail names a string");
}

static void actions_begin_with_the_kinds(void **state) {
  (void)state;
  BREAKS(s->actions.data[0], s->actions.data[1], "known kinds");
  BREAKS(s->actions.data[VS_EVENT_KIND_COUNT], s->actions.data[1], "known kinds");
  BREAKS(s->actions.data[VS_EVENT_KIND_COUNT], vs_strings_count(&s->strings), "action names a string");
  BREAKS(s->actions.count, VS_EVENT_KIND_COUNT - 1, "known kinds");
}

static void settings_nest(void **state) {
  (void)state;
  vs_setting *settings = s->settings.data; /* a: {b, c}, d */
  BREAKS(settings[0].bits, 3, "not in the dict");
  BREAKS(settings[0].bits, 1, "not in the dict");
  BREAKS(settings[1].depth, 0, "not in the dict");
  BREAKS(settings[3].depth, 1, "not in the dict");
  BREAKS(s->settings.count, 2, "fewer entries");
  BREAKS(settings[1].key, vs_strings_count(&s->strings), "a setting names a string");
  BREAKS(settings[2].bits, vs_strings_count(&s->strings), "a value that cannot be");
  BREAKS(settings[3].bits, 2, "a value that cannot be");
  BREAKS(settings[3].kind, VS_SETTING_DICT + 1, "a value that cannot be");
}

static void settings_are_not_too_deep(void **state) {
  (void)state;
  expect_ok(vs_vec_reserve(s->host, &s->settings, VS_MAX_SETTING_DEPTH));
  for (uint8_t depth = 0; depth < VS_MAX_SETTING_DEPTH; depth++)
    s->settings.data[depth] = (vs_setting){.kind = VS_SETTING_DICT, .depth = depth, .bits = 1};
  s->settings.count = VS_MAX_SETTING_DEPTH;
  expect_broken("too deeply", __LINE__);
}

static void the_rest(void **state) {
  (void)state;
  BREAKS(s->annotations.data[0].device, VS_MAX_DEVICES, "an annotation");
  BREAKS(s->annotations.data[0].name, vs_strings_count(&s->strings), "an annotation names a string");
  BREAKS(s->annotations.data[0].stage, vs_strings_count(&s->strings), "an annotation names a string");
  vs_library_memory library = {.name = VS_STRING_EMPTY};
  expect_ok(vs_vec_reserve(s->host, &s->libraries, 1));
  s->libraries.data[s->libraries.count++] = library;
  BREAKS(s->libraries.data[0].device, VS_MAX_DEVICES, "a library has memory of a device");
  BREAKS(s->libraries.data[0].name, vs_strings_count(&s->strings), "a library's name");
  BREAKS(s->unknown_keys.data[0].key, vs_strings_count(&s->strings), "a skipped key names a string");
  BREAKS(s->unknown_keys.data[0].count, 2, "by name than at all");
  BREAKS(s->unknown_keys.count, VS_MAX_UNKNOWN_KEYS + 1, "more skipped keys");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(blocks_tile, setup, teardown),
      cmocka_unit_test_setup_teardown(events_tile, setup, teardown),
      cmocka_unit_test_setup_teardown(traces_are_in_order, setup, teardown),
      cmocka_unit_test_setup_teardown(event_ids_are_there, setup, teardown),
      cmocka_unit_test_setup_teardown(segment_ids_are_there, setup, teardown),
      cmocka_unit_test_setup_teardown(block_ids_are_there, setup, teardown),
      cmocka_unit_test_setup_teardown(stack_ids_are_there, setup, teardown),
      cmocka_unit_test_setup_teardown(actions_begin_with_the_kinds, setup, teardown),
      cmocka_unit_test_setup_teardown(settings_nest, setup, teardown),
      cmocka_unit_test_setup_teardown(settings_are_not_too_deep, setup, teardown),
      cmocka_unit_test_setup_teardown(the_rest, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
