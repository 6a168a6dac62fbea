/* A snapshot says what the allocator says, and what is written is read back equal. */
#include "live/snapshot.h"
#include "support/random.h"
#include "support/snapshots.h"

enum { SLOTS = 48 };

static vs_live *open_cards(const char *gpus, const char *settings) {
  vs_live *live;
  vs_error error;
  const vs_live_options options = {.gpus = gpus, .settings = settings, .done_at_sync = true};
  expect_ok(vs_live_open(&options, &live, &error));
  const vs_history_options keep = {
      .enabled = VS_HISTORY_EVENTS, .context = VS_HISTORY_CONTEXT_ALL, .max_entries = 2000};
  expect_ok(vs_live_history(live, &keep, &error));
  return live;
}

static void close_cards(vs_live *live) {
  vs_error error;
  expect_ok(vs_live_close(live, &error));
}

static vs_stack somewhere(vs_live *live, test_random *random) {
  static const char *const names[] = {"forward", "backward", "step", "<lambda>", ""};
  const vs_live_frame frames[] = {
      {names[random_below(random, 5)], "model.py", (int64_t)random_below(random, 9)},
      {names[random_below(random, 5)], "train.py", 7},
  };
  vs_stack stack;
  expect_ok(vs_live_stack(live, frames, random_below(random, 3), &stack)); /* also an empty one */
  return stack;
}

/* Something of everything: streams, pending blocks, failures, annotations, metadata, an empty cache. */
static void run(vs_live *live, uint64_t seed) {
  test_random random = {seed};
  uint64_t addresses[2][SLOTS] = {{0}}, streams[2][2] = {{0}};
  for (uint32_t card = 0; card < vs_live_device_count(live); card++)
    expect_ok(vs_live_stream_create(live, card, &streams[card][1]));
  for (int i = 0; i < 1500; i++) {
    const uint32_t card = (uint32_t)random_below(&random, vs_live_device_count(live));
    uint64_t *slot = &addresses[card][random_below(&random, SLOTS)];
    vs_live_stack_set(live, random_below(&random, 8) == 0 ? VS_STACK_NONE : somewhere(live, &random));
    if (*slot == 0) {
      const uint64_t size = 1 + random_below(&random, random_below(&random, 2) == 0 ? 5000 : 12 << 20);
      if (vs_live_malloc(live, card, size, streams[card][random_below(&random, 2)], slot) != VS_OK) *slot = 0;
    } else {
      if (random_below(&random, 3) == 0)
        for (int s = 0; s < 2; s++) expect_ok(vs_live_record_stream(live, card, *slot, streams[card][s]));
      expect_ok(vs_live_free(live, card, *slot));
      *slot = 0;
    }
    if (i % 300 == 0) expect_ok(vs_live_metadata_set(live, i % 600 == 0 ? "{\"epoch\":1}" : ""));
    if (i % 250 == 0) expect_ok(vs_live_annotation_begin(live, card, "step"));
    if (i % 400 == 0) expect_ok(vs_live_empty_cache(live));
  }
}

/* ---- against the allocator's own visit */

typedef struct against {
  vs_live *live;
  const vs_snapshot *s;
  int32_t device;
  size_t segment, block;
} against;

static void expect_stack(const against *a, uint32_t stack, vs_context context) {
  const uint64_t *words;
  const vs_list frames = vs_stacks_at(&a->s->stacks, stack);
  if (context == VS_CONTEXT_NONE) {
    assert_int_equal(frames.count, 0);
    return;
  }
  assert_int_equal(frames.count, vs_record_stack_at(a->live->stacks, context, &words));
  for (uint32_t i = 0; i < frames.count; i++) {
    const vs_frame *frame = &a->s->stacks.frames.data[frames.items[i]];
    const vs_record_frame wanted = vs_record_frame_at(a->live->stacks, words[i]);
    assert_true(vs_str_equal(vs_snapshot_string(a->s, frame->name), wanted.function));
    assert_true(vs_str_equal(vs_snapshot_string(a->s, frame->file), wanted.file));
    assert_int_equal(frame->line, wanted.line);
  }
}

static vs_status expect_segment(void *ctx, const vs_alloc_segment_info *wanted) {
  against *a = ctx;
  assert_true(a->segment < a->s->segments.count);
  const vs_segment *got = &a->s->segments.data[a->segment++];
  assert_int_equal(got->device, a->device);
  assert_int_equal(got->address, wanted->address);
  assert_int_equal(got->total_size, wanted->size);
  assert_int_equal(got->allocated_size, wanted->allocated);
  assert_int_equal(got->active_size, wanted->active);
  assert_int_equal(got->requested_size, wanted->requested);
  assert_int_equal(a->s->streams.data[got->stream], wanted->stream);
  assert_true(vs_pool_id_equal(a->s->pools.data[got->pool - 1], wanted->pool));
  assert_int_equal(got->is_expandable, wanted->is_expandable);
  assert_true(vs_str_equal(vs_snapshot_string(a->s, got->type),
                           wanted->is_small ? VS_STR("small") : VS_STR("large")));
  assert_int_equal(got->first_block, a->block);
  expect_stack(a, got->stack, wanted->context);
  return VS_OK;
}

static vs_status expect_block(void *ctx, const vs_alloc_block_info *wanted) {
  static const vs_block_state states[] = {VS_BLOCK_ALLOCATED, VS_BLOCK_PENDING, VS_BLOCK_INACTIVE};
  against *a = ctx;
  const vs_block *got = &a->s->blocks.data[a->block++];
  assert_int_equal(got->address, wanted->address);
  assert_int_equal(got->size, wanted->size);
  assert_int_equal(got->requested_size, wanted->requested);
  assert_int_equal(got->state, states[wanted->state]);
  expect_stack(a, got->stack, wanted->context);
  return VS_OK;
}

static void expect_trace(const against *a) {
  const vs_history *history = &a->live->devices[a->device]->history;
  const vs_trace *trace = vs_snapshot_trace(a->s, a->device);
  const vs_events *events = &a->s->events;
  /* The snapshot's own event came behind, and pushed one out where the ring was full. */
  const uint64_t count = history->entries.count, shift = count == history->capacity ? 1 : 0;
  assert_int_equal(trace->count, shift == 1 ? count : count - 1);
  assert_int_equal(vs_history_at(history, count - 1)->kind, VS_EVENT_SNAPSHOT);
  for (uint32_t i = 0; i + 1 < count; i++) {
    const vs_history_entry *e = vs_history_at(history, i);
    const uint32_t row = trace->first + i + (uint32_t)shift;
    assert_int_equal(vs_events_kind(events, row), e->kind);
    assert_int_equal(vs_events_address(events, row), e->address);
    assert_int_equal(vs_events_size(events, row), e->size);
    assert_int_equal(vs_events_time_us(events, row), vs_live_time_us(a->live, e->time_ns));
    expect_stack(a, vs_events_stack(events, row), e->context);
  }
}

static void expect_all(vs_live *live, const vs_snapshot *s) {
  against a = {.live = live, .s = s};
  const vs_alloc_visitor visitor = {.ctx = &a, .segment = expect_segment, .block = expect_block};
  assert_null(vs_snapshot_check(s));
  for (uint32_t card = 0; card < vs_live_device_count(live); card++) {
    a.device = (int32_t)card;
    expect_ok(vs_alloc_visit(live->devices[card]->alloc, (vs_pool_id){0, 0}, &visitor));
    expect_trace(&a);
  }
  assert_int_equal(a.segment, s->segments.count);
  assert_int_equal(a.block, s->blocks.count);
  assert_int_equal(s->annotations.count, 6);
}

static void expect_same_read_back(vs_live *live, vs_live_format format) {
  vs_text text;
  vs_error error;
  vs_snapshot *whole;
  vs_history_options nothing_more = {.enabled = VS_HISTORY_EVENTS,
                                     .context = VS_HISTORY_CONTEXT_ALL,
                                     .max_entries = 2000,
                                     .skip_actions = "snapshot"};
  expect_ok(vs_live_history(live, &nothing_more, &error)); /* so that two snapshots are equal */
  vs_text_init(&text, vs_host_default(), NULL);
  expect_ok(vs_live_snapshot(live, true, &whole));
  vs_text written_text = written(whole, format == VS_LIVE_JSON ? VS_FORMAT_JSON : VS_FORMAT_PICKLE);
  vs_snapshot *back = snapshot_of(vs_text_view(&written_text));
  expect_equal_snapshots(whole, back, "what live wrote");
  vs_snapshot_destroy(back);
  vs_snapshot_destroy(whole);
  vs_text_deinit(&written_text);
  vs_text_deinit(&text);
}

static void says_what_there_is(void **state) {
  static const char *const settings[] = {"", "expandable_segments:True"};
  (void)state;
  for (int i = 0; i < 2; i++)
    for (uint64_t seed = 1; seed <= 2; seed++) {
      vs_live *live = open_cards("2x512MiB", settings[i]);
      vs_snapshot *snapshot;
      run(live, seed);
      expect_ok(vs_live_snapshot(live, true, &snapshot));
      expect_all(live, snapshot);
      vs_snapshot_destroy(snapshot);
      expect_same_read_back(live, VS_LIVE_PICKLE);
      expect_same_read_back(live, VS_LIVE_JSON);
      close_cards(live);
    }
}

/* ---- the shape, to the key */

static vs_status append(void *ctx, const void *data, size_t size) {
  vs_text *text = ctx;
  vs_text_put(text, data, size);
  return text->status;
}

static int64_t at_noon(void *ctx) {
  (void)ctx;
  return INT64_C(1800000000000000);
}

static void has_the_keys_of_pytorch(void **state) {
  (void)state;
  vs_live *live;
  vs_error error;
  vs_text text;
  uint64_t address;
  const vs_live_options options = {
      .gpus = "1GiB", .settings = "max_split_size_mb:64,garbage_collection_threshold:0.5", .time = at_noon};
  expect_ok(vs_live_open(&options, &live, &error));
  const vs_history_options keep = {
      .enabled = VS_HISTORY_EVENTS, .context = VS_HISTORY_CONTEXT_ALL, .max_entries = 1};
  const vs_live_frame frame = {.function = "f", .file = "a.py", .line = 3};
  vs_stack stack;
  expect_ok(vs_live_history(live, &keep, &error));
  expect_ok(vs_live_stack(live, &frame, 1, &stack));
  vs_live_stack_set(live, stack);
  expect_ok(vs_live_metadata_set(live, "m"));
  expect_ok(vs_live_malloc(live, 0, 12 << 20, 0, &address));
  expect_ok(vs_live_annotation_end(live, 0, "n"));
  vs_text_init(&text, vs_host_default(), NULL);
  expect_ok(vs_live_snapshot_write(live, VS_LIVE_JSON, true, (vs_writer){&text, append}, &error));
#define FRAMES "\"frames\":[{\"name\":\"f\",\"filename\":\"a.py\",\"line\":3}]"
  expect_text(
      &text,
      "{\"segments\":[{\"device\":0,\"address\":35184372088832,\"total_size\":12582912,"
      "\"allocated_size\":12582912,\"active_size\":12582912,\"requested_size\":12582912,\"stream\":0,"
      "\"segment_type\":\"large\",\"segment_pool_id\":[0,0],\"is_expandable\":false," FRAMES
      ",\"blocks\":[{\"address\":35184372088832,\"size\":12582912,\"requested_size\":12582912,"
      "\"state\":\"active_allocated\"," FRAMES "}]}],"
      "\"device_traces\":[[{\"action\":\"alloc\",\"addr\":35184372088832,\"size\":12582912,\"stream\":0,"
      "\"time_us\":1800000000000000,\"compile_context\":\"N/"
      "A\",\"user_metadata\":\"m\",\"pool_id\":[0,0]," FRAMES "}]],"
      "\"allocator_settings\":{\"PYTORCH_CUDA_ALLOC_CONF\":\"max_split_size_mb:64,garbage_collection_"
      "threshold:0.5\","
      "\"max_split_size\":67108864,\"garbage_collection_threshold\":0.5,\"expandable_segments\":false,"
      "\"pinned_num_register_threads\":1,\"release_lock_on_cudamalloc\":false,"
      "\"pinned_use_cuda_host_register\":false,\"graph_capture_record_stream_reuse\":false,"
      "\"max_round_threshold\":-1,\"max_cached_size\":-1,\"roundup_power2_divisions\":{\"1\":0,\"2\":0,\"4\":"
      "0,"
      "\"8\":0,\"16\":0,\"32\":0,\"64\":0,\"128\":0,\"256\":0,\"512\":0,\"1024\":0,\"2048\":0,\"4096\":0,"
      "\"8192\":0,\"16384\":0,\"32768\":0},\"trace_alloc_overflowed\":true,\"trace_alloc_max_entries\":1},"
      "\"external_annotations\":[{\"name\":\"n\",\"stage\":\"END\",\"device\":0,\"time_us\":1800000000000000}"
      "],"
      "\"host_segments\":[],\"host_traces\":[]}");
  expect_ok(vs_live_snapshot_write(live, VS_LIVE_JSON, false, (vs_writer){&text, append}, &error));
  assert_true(vs_str_contains(vs_text_view(&text), VS_STR("\"device_traces\":[[]],")));
  vs_text_deinit(&text);
  close_cards(live);
}

/* ---- native stacks */

/* The frames of the first allocated block. */
static vs_list first_frames(const vs_snapshot *s) {
  for (size_t i = 0; i < s->blocks.count; i++)
    if (s->blocks.data[i].state == VS_BLOCK_ALLOCATED)
      return vs_stacks_at(&s->stacks, s->blocks.data[i].stack);
  return (vs_list){NULL, 0};
}

static void native_frames(void **state) {
  (void)state;
  vs_live *live;
  vs_error error;
  vs_snapshot *snapshot;
  uint64_t address;
  need_native_stacks(vs_record_native_is_supported());
  expect_ok(vs_live_open(&(vs_live_options){.gpus = "1GiB", .settings = ""}, &live, &error));
  const vs_history_options keep = {.enabled = VS_HISTORY_EVENTS,
                                   .context = VS_HISTORY_CONTEXT_ALLOC,
                                   .stacks = VS_HISTORY_STACKS_NATIVE,
                                   .max_entries = 10};
  expect_ok(vs_live_history(live, &keep, &error));
  expect_ok(vs_live_malloc(live, 0, 12 << 20, 0, &address));
  expect_ok(vs_live_snapshot(live, true, &snapshot));
  const vs_list frames = first_frames(snapshot);
  assert_true(frames.count >= 3); /* this function, cmocka, main ... */
  for (uint32_t i = 0; i < frames.count; i++) {
    const vs_frame *frame = &snapshot->stacks.frames.data[frames.items[i]];
    expect_str(vs_snapshot_string(snapshot, frame->name), "??");
    assert_true(frame->line > 0); /* the offset in that file */
    if (i < 2) assert_true(vs_str_contains(vs_snapshot_string(snapshot, frame->file), VS_STR("snapshot")));
  }
  vs_snapshot_destroy(snapshot);
  close_cards(live);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(says_what_there_is),
      cmocka_unit_test(has_the_keys_of_pytorch),
      cmocka_unit_test(native_frames),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
