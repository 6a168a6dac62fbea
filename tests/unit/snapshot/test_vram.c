/* Snapshots as recordings and back, and what a recording says that was cut short. */
#include "support/recordings.h"
#include "support/snapshots.h"

static vs_status read_with(const vs_read_options *options, vs_str bytes, vs_snapshot **out, vs_error *error) {
  vs_memory_reader memory;
  return vs_snapshot_read(vs_host_default(), vs_reader_from_bytes(&memory, bytes.data, bytes.size), options,
                          out, error);
}

/* ---- there and back ------------------------------------------------------------------------------------ */

static void check_round_trip(const char *name, vs_str bytes, void *ctx) {
  vs_snapshot *snapshot;
  vs_error error;
  (void)ctx;
  if (snapshot_from(vs_host_default(), bytes, &snapshot, &error) != VS_OK) return;
  vs_text vram = written(snapshot, VS_FORMAT_VRAM);
  vs_snapshot *back = snapshot_of(vs_text_view(&vram));
  assert_int_equal(back->format, VS_FORMAT_VRAM);
  assert_false(back->recording.is_rebuilt);
  assert_true(back->recording.is_ended);
  expect_equal_snapshots(snapshot, back, name);
  vs_text once = written(snapshot, VS_FORMAT_JSON), twice = written(back, VS_FORMAT_JSON);
  assert_true(vs_str_equal(vs_text_view(&once), vs_text_view(&twice)));
  vs_text_deinit(&once);
  vs_text_deinit(&twice);
  vs_text_deinit(&vram);
  vs_snapshot_destroy(back);
  vs_snapshot_destroy(snapshot);
}

static void test_every_snapshot_comes_back(void **state) {
  (void)state;
  for_each_corpus_file(check_round_trip, NULL);
}

/* ---- a recorder's own file ----------------------------------------------------------------------------- */

typedef struct program {
  recording r;
  vs_tracew *w;
} program;

static void begin(program *p) {
  recording_init(&p->r, vs_host_default());
  const vs_tracew_sink sink = recording_sink(&p->r);
  const vs_tracew_options options = {.process = 4711, .frame_size = 4096};
  expect_ok(vs_tracew_create(vs_host_default(), &sink, &options, &p->w));
}

static vs_snapshot *finish(program *p, const vs_read_options *options) {
  vs_snapshot *snapshot;
  vs_error error;
  expect_ok(vs_tracew_flush(p->w));
  expect_ok(read_with(options, vs_text_view(&p->r.bytes), &snapshot, &error));
  const char *broken = vs_snapshot_check(snapshot);
  if (broken != NULL) fail_msg("%s", broken);
  vs_tracew_destroy(p->w);
  recording_deinit(&p->r);
  return snapshot;
}

static uint32_t string(program *p, const char *text) {
  uint32_t id;
  expect_ok(vs_tracew_string(p->w, vs_str_from(text), &id));
  return id;
}

static void test_who_recorded_and_what(void **state) {
  (void)state;
  program p;
  uint32_t context[2];
  begin(&p);
  const vs_trace_process process = {.pid = 4711,
                                    .parent = 1,
                                    .host = string(&p, "node7"),
                                    .program = string(&p, "train"),
                                    .writer = string(&p, "w"),
                                    .wall_us = 99,
                                    .is_simulated = true};
  expect_ok(vs_tracew_process(p.w, &process));
  vs_trace_process child = process; /* which went on in the same file */
  child.pid = 4712;
  expect_ok(vs_tracew_process(p.w, &child));
  expect_ok(
      vs_tracew_device(p.w, &(vs_trace_device){.device = 2, .name = string(&p, "H100"), .total_bytes = 80}));
  expect_ok(vs_tracew_lost(p.w, &(vs_trace_lost){.events = 5, .since_us = VS_TRACE_NO_TIME}));
  expect_ok(vs_tracew_setting(
      p.w, &(vs_trace_setting){.key = string(&p, "a"), .kind = VS_TRACE_SETTING_DICT, .bits = 9}));
  expect_ok(vs_tracew_setting(
      p.w, &(vs_trace_setting){.key = string(&p, "b"), .kind = VS_TRACE_SETTING_INT, .depth = 1, .bits = 3}));
  expect_ok(vs_tracew_context(p.w, &(vs_trace_context){.device = 1}, &context[0]));
  expect_ok(vs_tracew_context(p.w, &(vs_trace_context){.device = VS_TRACE_HOST}, &context[1]));
  for (uint32_t i = 0; i < 6; i++) /* the devices take turns; in columns each has its trace */
    expect_ok(vs_tracew_event(
        p.w,
        &(vs_trace_event){.size = i, .time_us = i, .context = context[i % 2], .kind = VS_EVENT_SNAPSHOT}));
  vs_snapshot *s = finish(&p, NULL);
  assert_int_equal(s->recording.pid, 4711);
  assert_true(s->recording.is_simulated);
  expect_str(vs_snapshot_string(s, s->recording.host), "node7");
  assert_int_equal(s->recording.unrecorded, 5);
  assert_int_equal(s->recording.devices.count, 1);
  assert_int_equal(s->settings.data[0].bits, 1); /* as many as there are, whatever it said */
  assert_int_equal(s->traces.count, 4);          /* 0, 1, 2 and the host */
  assert_int_equal(s->traces.data[1].count, 3);
  assert_int_equal(s->traces.data[3].device, VS_DEVICE_HOST);
  for (uint32_t i = 0; i < 6; i++)
    assert_int_equal(vs_events_size(&s->events, i), i < 3 ? 2 * i : 2 * (i - 3) + 1);
  vs_snapshot_destroy(s);
}

/* ---- frames without names ------------------------------------------------------------------------------ */

static size_t name_places(void *ctx, vs_str path, vs_str build_id, uint64_t offset, vs_place_name *names) {
  (void)ctx;
  expect_str(path, "/usr/lib/libfoo.so");
  expect_str(build_id, "\x01\x02");
  if (offset != 0x20) return 0;
  names[0] = (vs_place_name){.name = VS_STR("inner"), .file = VS_STR("foo.h"), .line = 3};
  names[1] = (vs_place_name){.name = VS_STR("outer"), .file = VS_STR("foo.c"), .line = 40};
  return 2;
}

static vs_snapshot *native_stack(const vs_read_options *options) {
  program p;
  uint32_t module, frames[2], stack, context;
  begin(&p);
  const vs_trace_module library = {
      .path = string(&p, "/usr/lib/libfoo.so"), .build_id = string(&p, "\x01\x02"), .base = 77};
  expect_ok(vs_tracew_module(p.w, &library, &module));
  expect_ok(vs_tracew_native(p.w, module, 0x20, &frames[0]));
  expect_ok(vs_tracew_native(p.w, module, 0x12ab, &frames[1]));
  expect_ok(vs_tracew_stack(p.w, frames, 2, &stack));
  expect_ok(vs_tracew_context(p.w, &(vs_trace_context){0}, &context));
  expect_ok(
      vs_tracew_event(p.w, &(vs_trace_event){.stack = stack, .context = context, .kind = VS_EVENT_ALLOC}));
  return finish(&p, options);
}

static void test_native_frames_say_where(void **state) {
  (void)state;
  vs_snapshot *s = native_stack(NULL);
  vs_list list = vs_stacks_at(&s->stacks, vs_events_stack(&s->events, 0));
  assert_int_equal(list.count, 2);
  const vs_frame *frame = &s->stacks.frames.data[list.items[1]];
  expect_str(vs_snapshot_string(s, frame->name), "libfoo.so+0x12ab");
  expect_str(vs_snapshot_string(s, frame->file), "/usr/lib/libfoo.so");
  assert_int_equal(frame->line, 0x12ab);
  vs_snapshot_destroy(s);
}

static void test_native_frames_get_names(void **state) {
  (void)state;
  vs_snapshot *s = native_stack(&(vs_read_options){.name = name_places});
  vs_list list = vs_stacks_at(&s->stacks, vs_events_stack(&s->events, 0));
  assert_int_equal(list.count, 3); /* one call was inlined, one is unknown */
  expect_str(vs_snapshot_string(s, s->stacks.frames.data[list.items[0]].name), "inner");
  expect_str(vs_snapshot_string(s, s->stacks.frames.data[list.items[1]].name), "outer");
  assert_int_equal(s->stacks.frames.data[list.items[1]].line, 40);
  expect_str(vs_snapshot_string(s, s->stacks.frames.data[list.items[2]].name), "libfoo.so+0x12ab");
  vs_snapshot_destroy(s);
}

/* ---- the end state of a program that was killed -------------------------------------------------------- */

enum { MOST = 400 };

typedef struct naive_block {
  uint64_t address, size, requested;
  vs_block_state state;
  uint32_t segment;
} naive_block;

typedef struct naive_segment {
  uint64_t address, size;
  bool is_there, is_expandable;
} naive_segment;

/* All blocks in a list, by address. */
typedef struct naive {
  program p;
  test_random random;
  uint32_t context, stack;
  int64_t time_us;
  naive_block blocks[MOST];
  uint32_t block_count;
  naive_segment segments[16];
} naive;

static void say(naive *n, vs_event_kind kind, uint64_t address, uint64_t size, uint64_t rounded) {
  const vs_trace_event event = {.address = address,
                                .size = size,
                                .rounded = rounded,
                                .time_us = n->time_us++,
                                .stack = n->stack,
                                .context = n->context,
                                .kind = (uint8_t)kind};
  expect_ok(vs_tracew_event(n->p.w, &event));
}

static void insert(naive *n, uint32_t at, naive_block block) {
  assert_true(n->block_count < MOST);
  memmove(n->blocks + at + 1, n->blocks + at, (n->block_count++ - at) * sizeof block);
  n->blocks[at] = block;
}

static void erase(naive *n, uint32_t at) {
  memmove(n->blocks + at, n->blocks + at + 1, (--n->block_count - at) * sizeof *n->blocks);
}

static void merge(naive *n) {
  for (uint32_t i = 1; i < n->block_count;) {
    naive_block *a = &n->blocks[i - 1], *b = &n->blocks[i];
    if (a->segment == b->segment && a->state == VS_BLOCK_INACTIVE && b->state == VS_BLOCK_INACTIVE) {
      a->size += b->size;
      erase(n, i);
    } else {
      i++;
    }
  }
}

/* Segment i lies at i x 64 MiB; an expandable one grows there. */
static void get_segment(naive *n, uint32_t i) {
  naive_segment *segment = &n->segments[i];
  const uint64_t size = segment->is_there || i % 4 == 3 ? 2 << 20 : (uint64_t)(2 + 18 * (i % 2)) << 20;
  if (segment->is_there && (!segment->is_expandable || segment->size >= 20 << 20)) return;
  const uint64_t address = segment->is_there ? segment->address + segment->size : (uint64_t)(i + 1) << 26;
  uint32_t at = 0;
  while (at < n->block_count && n->blocks[at].address < address) at++;
  insert(n, at, (naive_block){.address = address, .size = size, .state = VS_BLOCK_INACTIVE, .segment = i});
  if (!segment->is_there)
    *segment = (naive_segment){.address = address, .is_there = true, .is_expandable = i % 4 == 3};
  segment->size += size;
  say(n, segment->is_expandable ? VS_EVENT_SEGMENT_MAP : VS_EVENT_SEGMENT_ALLOC, address, size, 0);
  merge(n);
}

static void give_segment(naive *n, uint32_t at) {
  const naive_block block = n->blocks[at];
  naive_segment *segment = &n->segments[block.segment];
  if (block.state != VS_BLOCK_INACTIVE) return;
  if (block.size == segment->size) {
    say(n, segment->is_expandable ? VS_EVENT_SEGMENT_UNMAP : VS_EVENT_SEGMENT_FREE, block.address, block.size,
        0);
    segment->is_there = false;
  } else if (segment->is_expandable && block.address + block.size == segment->address + segment->size) {
    say(n, VS_EVENT_SEGMENT_UNMAP, block.address, block.size, 0); /* the end of it */
    segment->size -= block.size;
  } else {
    return;
  }
  erase(n, at);
}

static void allocate(naive *n, uint32_t at) {
  naive_block *block = &n->blocks[at];
  const uint64_t size = (random_below(&n->random, 8) + 1) * 512 * (1 + random_below(&n->random, 400));
  if (block->state != VS_BLOCK_INACTIVE || block->size < size || n->block_count + 2 >= MOST) return;
  const uint64_t requested = size - random_below(&n->random, 512);
  say(n, VS_EVENT_ALLOC, block->address, requested, size);
  const naive_block rest = {.address = block->address + size,
                            .size = block->size - size,
                            .state = VS_BLOCK_INACTIVE,
                            .segment = block->segment};
  block->size = size;
  block->requested = requested;
  block->state = VS_BLOCK_ALLOCATED;
  if (rest.size != 0) insert(n, at + 1, rest);
}

static void release(naive *n, uint32_t at) {
  naive_block *block = &n->blocks[at];
  if (block->state == VS_BLOCK_INACTIVE) return;
  if (block->state == VS_BLOCK_ALLOCATED) {
    say(n, VS_EVENT_FREE_REQUESTED, block->address, block->requested, block->size);
    block->state = VS_BLOCK_PENDING;
    if (random_below(&n->random, 4) == 0) return; /* another stream uses it */
  }
  say(n, VS_EVENT_FREE_COMPLETED, block->address, block->requested, block->size);
  block->state = VS_BLOCK_INACTIVE;
  merge(n);
}

static void step(naive *n) {
  const uint32_t at = n->block_count == 0 ? 0 : (uint32_t)random_below(&n->random, n->block_count);
  const uint64_t what = random_below(&n->random, 40);
  if (n->block_count == 0 || what == 0) get_segment(n, (uint32_t)random_below(&n->random, 16));
  else if (what == 1) give_segment(n, at);
  else if (what < 25) allocate(n, at);
  else release(n, at);
}

/* Says all of it, as a recorder does that begins late. */
static void say_state(naive *n) {
  expect_ok(vs_tracew_state_begin(n->p.w, VS_TRACE_AT_START, n->time_us));
  for (uint32_t i = 0, at = 0; i < 16; i++) {
    const naive_segment *segment = &n->segments[i];
    if (!segment->is_there) continue;
    const vs_trace_segment said = {.address = segment->address,
                                   .total_size = segment->size,
                                   .registration_counter = VS_TRACE_NO_COUNTER,
                                   .has = VS_TRACE_HAS_EXPANDABLE,
                                   .is_expandable = segment->is_expandable,
                                   .type = string(&n->p, segment->size == 2 << 20 ? "small" : "large")};
    expect_ok(vs_tracew_segment(n->p.w, &said));
    for (; at < n->block_count && n->blocks[at].segment == i; at++) {
      const naive_block *block = &n->blocks[at];
      expect_ok(vs_tracew_block(n->p.w, &(vs_trace_block){.address = block->address,
                                                          .size = block->size,
                                                          .requested = block->requested,
                                                          .state = (uint8_t)block->state}));
    }
  }
  expect_ok(vs_tracew_state_end(n->p.w));
}

static void expect_state(const naive *n, const vs_snapshot *s) {
  uint32_t at = 0, segment = 0;
  assert_int_equal(s->blocks.count, n->block_count);
  for (uint32_t i = 0; i < 16; i++) {
    if (!n->segments[i].is_there) continue;
    assert_true(segment < s->segments.count);
    const vs_segment *found = &s->segments.data[segment++];
    assert_int_equal(found->address, n->segments[i].address);
    assert_int_equal(found->total_size, n->segments[i].size);
    assert_int_equal(found->is_expandable, n->segments[i].is_expandable);
    uint64_t active = 0;
    for (uint32_t j = 0; j < found->block_count; j++, at++) {
      const vs_block *block = &s->blocks.data[found->first_block + j];
      assert_int_equal(block->address, n->blocks[at].address);
      assert_int_equal(block->size, n->blocks[at].size);
      assert_int_equal(block->state, n->blocks[at].state);
      if (block->state != VS_BLOCK_INACTIVE) assert_int_equal(block->requested_size, n->blocks[at].requested);
      active += block->state != VS_BLOCK_INACTIVE ? block->size : 0;
    }
    assert_int_equal(found->active_size, active);
  }
  assert_int_equal(segment, s->segments.count);
}

static void rebuild(uint64_t seed, int before, int after) {
  static naive n;
  n = (naive){.random = {seed}, .time_us = 1};
  begin(&n.p);
  expect_ok(vs_tracew_context(n.p.w, &(vs_trace_context){0}, &n.context));
  for (int i = 0; i < before; i++) step(&n);
  if (seed % 2 == 0) say_state(&n);
  for (int i = 0; i < after; i++) step(&n);
  step(&n);
  vs_snapshot *s = finish(&n.p, NULL);
  assert_true(s->recording.is_rebuilt || s->events.count == 0);
  assert_false(s->recording.is_ended);
  expect_state(&n, s);
  vs_snapshot_destroy(s);
}

static void test_the_end_state_follows_from_the_events(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 60; seed++) rebuild(seed, (int)(seed * 20), 400);
}

static void test_one_event_behind_a_state_counts(void **state) {
  (void)state;
  static naive n;
  n = (naive){.time_us = 1};
  begin(&n.p);
  expect_ok(vs_tracew_context(n.p.w, &(vs_trace_context){0}, &n.context));
  say_state(&n);
  say(&n, VS_EVENT_SEGMENT_ALLOC, 1 << 26, 2 << 20, 0);
  vs_snapshot *s = finish(&n.p, NULL);
  assert_true(s->recording.is_rebuilt);
  assert_int_equal(s->segments.count, 1);
  vs_snapshot_destroy(s);
}

/* A block whose free waits for a stream is active and no longer allocated. */
static void test_sums_of_a_rebuilt_segment(void **state) {
  (void)state;
  static naive n;
  n = (naive){.time_us = 1};
  begin(&n.p);
  expect_ok(vs_tracew_context(n.p.w, &(vs_trace_context){0}, &n.context));
  say(&n, VS_EVENT_SEGMENT_ALLOC, 1 << 26, 2 << 20, 0);
  say(&n, VS_EVENT_ALLOC, 1 << 26, 1000, 1024);
  say(&n, VS_EVENT_ALLOC, (1 << 26) + 1024, 500, 512);
  say(&n, VS_EVENT_FREE_REQUESTED, 1 << 26, 1000, 1024);
  vs_snapshot *s = finish(&n.p, NULL);
  assert_int_equal(s->segments.count, 1);
  assert_int_equal(s->segments.data[0].allocated_size, 512);
  assert_int_equal(s->segments.data[0].active_size, 1536);
  assert_int_equal(s->segments.data[0].requested_size, 1500);
  vs_snapshot_destroy(s);
}

/* A recorder that does not see completions: memory is free again once that was requested, and the next block may be larger. */
static void test_frees_without_completions(void **state) {
  (void)state;
  static naive n;
  n = (naive){.time_us = 1};
  begin(&n.p);
  expect_ok(vs_tracew_process(n.p.w, &(vs_trace_process){.has_no_completions = true}));
  expect_ok(vs_tracew_context(n.p.w, &(vs_trace_context){0}, &n.context));
  say(&n, VS_EVENT_SEGMENT_ALLOC, 1 << 26, 2 << 20, 0);
  say(&n, VS_EVENT_ALLOC, 1 << 26, 1000, 1024);
  say(&n, VS_EVENT_ALLOC, (1 << 26) + 1024, 500, 512);
  say(&n, VS_EVENT_FREE_REQUESTED, 1 << 26, 1000, 1024);
  say(&n, VS_EVENT_FREE_REQUESTED, (1 << 26) + 1024, 500, 512);
  say(&n, VS_EVENT_ALLOC, 1 << 26, 4000, 4096);
  vs_snapshot *s = finish(&n.p, NULL);
  assert_int_equal(s->segments.count, 1);
  assert_int_equal(s->segments.data[0].active_size, 4096);
  assert_int_equal(s->segments.data[0].requested_size, 4000);
  assert_int_equal(s->segments.data[0].block_count, 2);
  vs_snapshot_destroy(s);
}

/* Pages side by side are one segment where they have one stream and one pool. */
static void test_neighbours_of_other_places_stay_apart(void **state) {
  (void)state;
  static const vs_trace_context places[] = {
      {.stream = 0}, {.stream = 0}, {.stream = 7}, {.stream = 7, .has_pool = true, .pool = {0, 1}}};
  program p;
  begin(&p);
  for (uint32_t i = 0; i < 4; i++) {
    vs_trace_event event = {.address = (i + 1) << 21, .size = 2 << 20, .kind = VS_EVENT_SEGMENT_MAP};
    expect_ok(vs_tracew_context(p.w, &places[i], &event.context));
    expect_ok(vs_tracew_event(p.w, &event));
  }
  vs_snapshot *s = finish(&p, NULL);
  assert_int_equal(s->segments.count, 3);
  assert_int_equal(s->segments.data[0].total_size, 4 << 20);
  assert_int_equal(s->segments.data[1].total_size, 2 << 20);
  assert_int_equal(s->streams.data[s->segments.data[1].stream], 7);
  assert_int_equal(s->segments.data[1].pool, 0);
  assert_int_not_equal(s->segments.data[2].pool, 0);
  vs_snapshot_destroy(s);
}

/* What is mapped between two parts of a segment joins them; a block at the beginning of the second one stays as it is. */
static void test_a_gap_that_is_mapped_joins_two_parts(void **state) {
  (void)state;
  static const struct {
    vs_event_kind kind;
    uint64_t address, size;
  } events[] = {{VS_EVENT_SEGMENT_MAP, 20 << 20, 20 << 20},
                {VS_EVENT_SEGMENT_MAP, 60 << 20, 20 << 20},
                {VS_EVENT_ALLOC, 60 << 20, 4096},
                {VS_EVENT_SEGMENT_MAP, 40 << 20, 20 << 20}};
  program p;
  uint32_t context;
  begin(&p);
  expect_ok(vs_tracew_context(p.w, &(vs_trace_context){0}, &context));
  for (size_t i = 0; i < sizeof events / sizeof *events; i++)
    expect_ok(vs_tracew_event(p.w, &(vs_trace_event){.address = events[i].address,
                                                     .size = events[i].size,
                                                     .rounded = events[i].kind == VS_EVENT_ALLOC ? 4096 : 0,
                                                     .context = context,
                                                     .kind = (uint8_t)events[i].kind}));
  vs_snapshot *s = finish(&p, NULL);
  assert_int_equal(s->segments.count, 1);
  assert_int_equal(s->segments.data[0].total_size, 60 << 20);
  assert_int_equal(s->blocks.count, 3);
  assert_int_equal(s->blocks.data[0].size, 40 << 20);
  assert_int_equal(s->blocks.data[1].address, 60 << 20);
  assert_int_equal(s->blocks.data[1].state, VS_BLOCK_ALLOCATED);
  assert_int_equal(s->blocks.data[1].size, 4096);
  vs_snapshot_destroy(s);
}

/* A pending block whose place has an equal block after the loss was completed in between; one that stays pending was not. */
static void test_a_pending_block_is_not_allocated_again(void **state) {
  (void)state;
  static const vs_trace_segment segment = {.address = 1 << 20, .total_size = 2 << 20, .has = 0};
  for (uint8_t after = VS_TRACE_ALLOCATED; after <= VS_TRACE_PENDING; after++) {
    program p;
    uint32_t context;
    begin(&p);
    expect_ok(vs_tracew_context(p.w, &(vs_trace_context){0}, &context));
    vs_trace_event event = {
        .address = 1 << 20, .size = 2 << 20, .context = context, .kind = VS_EVENT_SEGMENT_ALLOC};
    expect_ok(vs_tracew_event(p.w, &event));
    event = (vs_trace_event){.address = 1 << 20, .size = 500, .rounded = 512, .context = context};
    expect_ok(vs_tracew_event(p.w, &event));
    event.kind = VS_EVENT_FREE_REQUESTED;
    expect_ok(vs_tracew_event(p.w, &event));
    expect_ok(vs_tracew_lost(p.w, &(vs_trace_lost){.events = 2, .since_us = 30}));
    expect_ok(vs_tracew_state_begin(p.w, VS_TRACE_AT_END, 50));
    expect_ok(vs_tracew_segment(p.w, &segment));
    const vs_trace_block block = {.address = 1 << 20, .size = 512, .requested = 500, .state = after};
    expect_ok(vs_tracew_block(p.w, &block));
    const vs_trace_block rest = {
        .address = (1 << 20) + 512, .size = (2 << 20) - 512, .state = VS_TRACE_INACTIVE};
    expect_ok(vs_tracew_block(p.w, &rest));
    expect_ok(vs_tracew_state_end(p.w));
    vs_snapshot *s = finish(&p, NULL);
    const bool is_new = after == VS_TRACE_ALLOCATED;
    assert_int_equal(s->recording.derived, is_new ? 2 : 0);
    assert_int_equal(s->events.count, is_new ? 5 : 3);
    if (is_new) assert_int_equal(vs_events_kind(&s->events, 3), VS_EVENT_FREE_COMPLETED);
    if (is_new) assert_int_equal(vs_events_kind(&s->events, 4), VS_EVENT_ALLOC);
    assert_int_equal(s->recording.gaps.count, 1);
    assert_int_equal(s->recording.gaps.data[0].events, 2);
    assert_int_equal(s->recording.gaps.data[0].from_us, 30);
    assert_int_equal(s->recording.gaps.data[0].to_us, 50);
    assert_int_equal(s->traces.data[0].missing_from[VS_GAP_UNRECORDED], 4);
    vs_snapshot_destroy(s);
  }
}

/* ---- a file whose last frame is not sealed: the process was killed, or still writes ------------------------ */

enum { SLOT = 4096 };
static uint8_t slots[2 * SLOT];
static size_t slots_used;

static vs_status begin_slot(void *ctx, size_t at_least, void **memory, size_t *size) {
  (void)ctx;
  assert_true(at_least <= SLOT && slots_used < sizeof slots);
  *memory = slots + slots_used;
  *size = SLOT;
  slots_used += SLOT;
  return VS_OK;
}
static vs_status sealed_slot(void *ctx, void *memory, size_t size) {
  (void)ctx, (void)memory, (void)size;
  return VS_OK;
}

/* It has the state of the end, but what followed in that frame may be missing. */
static void test_an_open_frame_is_no_end(void **state) {
  (void)state;
  vs_tracew *w;
  uint32_t context;
  const vs_tracew_sink sink = {.begin = begin_slot, .sealed = sealed_slot};
  const vs_tracew_options options = {.process = 1, .keeps_slots = true, .frame_size = SLOT};
  expect_ok(vs_tracew_create(vs_host_default(), &sink, &options, &w));
  expect_ok(vs_tracew_context(w, &(vs_trace_context){0}, &context));
  expect_ok(vs_tracew_state_begin(w, VS_TRACE_AT_END, 5));
  expect_ok(vs_tracew_state_end(w));
  for (int is_sealed = 0; is_sealed <= 1; is_sealed++) {
    vs_snapshot *s;
    vs_error error;
    if (is_sealed) expect_ok(vs_tracew_flush(w));
    expect_ok(read_with(NULL, (vs_str){(const char *)slots, slots_used}, &s, &error));
    assert_int_equal(s->recording.open_frames, !is_sealed);
    assert_int_equal(s->recording.is_ended, is_sealed);
    vs_snapshot_destroy(s);
  }
  vs_tracew_destroy(w);
}

/* ---- ranges that are open at a checkpoint */

static void annotate(program *p, const char *name, const char *stage, int64_t time_us) {
  vs_trace_annotation annotation = {
      .time_us = time_us, .name = string(p, name), .stage = *stage == 0 ? VS_TRACE_EMPTY : string(p, stage)};
  expect_ok(vs_tracew_annotation(p->w, &annotation));
}

static void happen(program *p, int64_t time_us) {
  uint32_t where;
  expect_ok(vs_tracew_context(p->w, &(vs_trace_context){.has_pool = true}, &where));
  const vs_trace_event event = {.kind = VS_EVENT_ALLOC,
                                .address = 4096 * (uint64_t)time_us,
                                .size = 1,
                                .time_us = time_us,
                                .context = where};
  expect_ok(vs_tracew_event(p->w, &event));
}

static void list_annotations(program *p, vs_text *text) {
  vs_snapshot *s = finish(p, NULL);
  for (size_t i = 0; i < s->annotations.count; i++) {
    const vs_annotation *at = &s->annotations.data[i];
    vs_text_format(text, "%S %S %D, ", vs_snapshot_string(s, at->name), vs_snapshot_string(s, at->stage),
                   at->time_us);
  }
  vs_snapshot_destroy(s);
}

/* The beginnings that a ring file has lost come from its first checkpoint; all others are there once. */
static void test_ranges_that_are_open_at_a_checkpoint(void **state) {
  (void)state;
  program p;
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  begin(&p);
  happen(&p, 20);
  annotate(&p, "step", "START", 21);
  annotate(&p, "step", "", 21);
  annotate(&p, "inner", "", 19);
  annotate(&p, "outer", "", 10);
  annotate(&p, "step", "END", 30);
  annotate(&p, "inner", "", 19);
  annotate(&p, "outer", "", 10);
  annotate(&p, "inner", "END", 40);
  list_annotations(&p, &text);
  expect_text(&text, "step START 21, inner START 19, outer START 10, step END 30, inner END 40, ");
  begin(&p); /* it begins with a checkpoint */
  annotate(&p, "inner", "", 9);
  annotate(&p, "outer", "", 8);
  happen(&p, 9);
  annotate(&p, "inner", "", 9);
  annotate(&p, "outer", "", 8);
  list_annotations(&p, &text);
  expect_text(&text, "inner START 9, outer START 8, ");
  vs_text_deinit(&text);
}

/* By PyTorch's rules, where the recording does not say the rounded size. */
static void test_sizes_are_derived(void **state) {
  (void)state;
  static naive n;
  n = (naive){.time_us = 1};
  const uint64_t large = 20 << 20, small = 2 << 20;
  begin(&n.p);
  expect_ok(vs_tracew_context(n.p.w, &(vs_trace_context){0}, &n.context));
  say(&n, VS_EVENT_SEGMENT_ALLOC, 1 << 26, large, 0);
  say(&n, VS_EVENT_SEGMENT_ALLOC, 2 << 26, small, 0);
  say(&n, VS_EVENT_ALLOC, 1 << 26, 1000, 0);                     /* 1024 */
  say(&n, VS_EVENT_ALLOC, (1 << 26) + 1024, large - 2000000, 0); /* more than 1 MiB is left: split */
  say(&n, VS_EVENT_ALLOC, 2 << 26, small - 512, 0);              /* 512 left in a small segment: split */
  vs_snapshot *s = finish(&n.p, NULL);
  assert_int_equal(s->blocks.count, 5);
  assert_int_equal(s->blocks.data[0].size, 1024);
  assert_int_equal(s->blocks.data[1].size, (large - 2000000 + 511) / 512 * 512);
  assert_int_equal(s->blocks.data[3].size, small - 512);
  assert_int_equal(s->blocks.data[4].size, 512);
  vs_snapshot_destroy(s);

  n = (naive){.time_us = 1};
  begin(&n.p);
  expect_ok(vs_tracew_context(n.p.w, &(vs_trace_context){0}, &n.context));
  say(&n, VS_EVENT_SEGMENT_ALLOC, 1 << 26, large, 0);
  say(&n, VS_EVENT_ALLOC, 1 << 26, large - (1 << 20), 0); /* just 1 MiB left: all of it */
  s = finish(&n.p, NULL);
  assert_int_equal(s->blocks.count, 1);
  vs_snapshot_destroy(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_snapshot_comes_back),
      cmocka_unit_test(test_who_recorded_and_what),
      cmocka_unit_test(test_native_frames_say_where),
      cmocka_unit_test(test_native_frames_get_names),
      cmocka_unit_test(test_the_end_state_follows_from_the_events),
      cmocka_unit_test(test_one_event_behind_a_state_counts),
      cmocka_unit_test(test_sums_of_a_rebuilt_segment),
      cmocka_unit_test(test_frees_without_completions),
      cmocka_unit_test(test_neighbours_of_other_places_stay_apart),
      cmocka_unit_test(test_a_gap_that_is_mapped_joins_two_parts),
      cmocka_unit_test(test_a_pending_block_is_not_allocated_again),
      cmocka_unit_test(test_an_open_frame_is_no_end),
      cmocka_unit_test(test_ranges_that_are_open_at_a_checkpoint),
      cmocka_unit_test(test_sizes_are_derived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
