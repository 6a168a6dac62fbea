/* Replays of small traces whose truth is known by the rules: what a request is, what differs and why, what
 * would be. */
#include "analyze/replay.h"
#include "unit/analyze/made.h"

#define MIB  UINT64_C(1048576)
#define BASE UINT64_C(0x700000000000)

typedef struct played {
  vs_lifetimes lifetimes;
  vs_replay_plan plan;
  vs_replay_options options;
  vs_replay replay;
} played;

static void play(played *p, made *m) {
  const vs_slice *slice = made_slice(m, 0);
  expect_ok(vs_lifetimes_build(m->host, slice, &p->lifetimes));
  expect_ok(vs_replay_plan_build(m->host, &p->lifetimes, &p->plan));
  assert_null(vs_replay_plan_check(&p->plan));
  vs_replay_options_init(&p->options, m->snapshot);
  p->options.settings.rules = vs_alloc_rules_default();
  p->options.settings_known = true;
}

static void run_again(played *p, made *m) {
  expect_ok(vs_replay_run(m->host, &p->plan, &p->options, &p->replay));
}

static void stop(played *p, made *m) {
  vs_replay_deinit(m->host, &p->replay);
  vs_replay_plan_deinit(m->host, &p->plan);
  vs_lifetimes_deinit(m->host, &p->lifetimes);
  made_end(m);
}

static void expect_matched(const vs_replay *replay, uint64_t steps, uint64_t allocs) {
  assert_int_equal(replay->steps, steps);
  assert_int_equal(replay->matched, steps);
  assert_int_equal(replay->miss_count, 0);
  assert_int_equal(replay->extra, 0);
  assert_int_equal(replay->allocs, allocs);
  assert_int_equal(replay->placed, allocs);
  assert_int_equal(replay->strays, 0);
}

/* A segment of its own for each of `count` tensors of 30 MiB, from BASE on. */
static void made_large(made *m, uint64_t index) {
  (void)made_event(m, VS_EVENT_SEGMENT_ALLOC, BASE + index * 30 * MIB, 30 * MIB);
  (void)made_event(m, VS_EVENT_ALLOC, BASE + index * 30 * MIB, 30 * MIB);
}

/* ---- following ----------------------------------------------------------------------------------------- */

static void test_the_same_comes_out(void **state) {
  (void)state;
  made m = made_begin();
  played p;
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, BASE, 2 * MIB);
  (void)made_event(&m, VS_EVENT_ALLOC, BASE, 1000);
  (void)made_event(&m, VS_EVENT_ALLOC, BASE + 1024, 600000);
  (void)made_free(&m, BASE, 1000);
  (void)made_event(&m, VS_EVENT_ALLOC, BASE, 3);
  made_trace(&m, 0);
  play(&p, &m);
  run_again(&p, &m);
  expect_matched(&p.replay, 1, 3);
  assert_int_equal(p.plan.requests.count, 4);
  assert_int_equal(p.replay.allocated_peak, 601088);
  assert_int_equal(p.replay.segments_peak, 1);
  stop(&p, &m);
}

/* A block that waits for another stream is not allocated again before its free is completed. */
static void test_pending_blocks_wait_as_long(void **state) {
  (void)state;
  made m = made_begin();
  played p;
  made_large(&m, 0);
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, BASE, 30 * MIB);
  made_large(&m, 1);
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, BASE, 30 * MIB);
  (void)made_event(&m, VS_EVENT_ALLOC, BASE, 30 * MIB);
  made_trace(&m, 0);
  play(&p, &m);
  run_again(&p, &m);
  assert_int_equal(p.plan.pendings, 1);
  expect_matched(&p.replay, 2, 3);
  stop(&p, &m);
}

/* Out of memory: what is cached goes back, the request is tried again. */
static void test_a_refusal_is_repeated(void **state) {
  (void)state;
  made m = made_begin();
  played p;
  made_large(&m, 0);
  (void)made_free(&m, BASE, 30 * MIB);
  (void)made_event(&m, VS_EVENT_SEGMENT_FREE, BASE, 30 * MIB);
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, BASE, 40 * MIB);
  (void)made_event(&m, VS_EVENT_ALLOC, BASE, 40 * MIB);
  (void)made_event(&m, VS_EVENT_OOM, 5 * MIB, 50 * MIB);
  made_trace(&m, 0);
  play(&p, &m);
  run_again(&p, &m);
  assert_int_equal(p.plan.empties, 0);
  expect_matched(&p.replay, 3, 2);
  assert_int_equal(p.replay.retries, 2);
  stop(&p, &m);
}

/* The segment that empty_cache() released would have served the request. */
static void test_emptying_is_recognised(void **state) {
  (void)state;
  made m = made_begin();
  played p;
  made_large(&m, 0);
  (void)made_free(&m, BASE, 30 * MIB);
  (void)made_event(&m, VS_EVENT_SEGMENT_FREE, BASE, 30 * MIB);
  made_large(&m, 0);
  (void)made_free(&m, BASE, 30 * MIB);
  (void)made_event(&m, VS_EVENT_SEGMENT_FREE, BASE, 30 * MIB);
  made_trace(&m, 0);
  play(&p, &m);
  run_again(&p, &m);
  assert_int_equal(p.plan.empties, 2);
  expect_matched(&p.replay, 4, 2);
  assert_int_equal(p.replay.retries, 0);
  assert_int_equal(p.replay.reserved, 0);
  stop(&p, &m);
}

/* Pages come and go where they did. */
static void test_expandable_segments_grow_in_place(void **state) {
  (void)state;
  made m = made_begin();
  played p;
  (void)made_event(&m, VS_EVENT_SEGMENT_MAP, BASE, 20 * MIB);
  (void)made_event(&m, VS_EVENT_ALLOC, BASE, 15 * MIB);
  (void)made_event(&m, VS_EVENT_SEGMENT_MAP, BASE + 20 * MIB, 40 * MIB);
  (void)made_event(&m, VS_EVENT_ALLOC, BASE + 15 * MIB, 30 * MIB);
  (void)made_free(&m, BASE, 15 * MIB);
  (void)made_free(&m, BASE + 15 * MIB, 30 * MIB);
  (void)made_event(&m, VS_EVENT_SEGMENT_UNMAP, BASE, 60 * MIB);
  made_trace(&m, 0);
  play(&p, &m);
  p.options.settings.expandable_segments = true;
  run_again(&p, &m);
  expect_matched(&p.replay, 3, 2);
  assert_int_equal(p.replay.reserved, 0);
  stop(&p, &m);
}

/* Of two free blocks alike older versions take the one with the lower address, newer ones the older one. */
static void test_the_version_is_found_out(void **state) {
  (void)state;
  made m = made_begin();
  played p;
  made_large(&m, 1);
  made_large(&m, 0);
  (void)made_free(&m, BASE, 30 * MIB);
  (void)made_free(&m, BASE + 30 * MIB, 30 * MIB);
  (void)made_event(&m, VS_EVENT_ALLOC, BASE, 30 * MIB);
  made_trace(&m, 0);
  play(&p, &m);
  run_again(&p, &m);
  assert_int_equal(p.replay.placed, 2);
  vs_replay_deinit(m.host, &p.replay);
  expect_ok(vs_replay_follow(m.host, &p.plan, &p.options, &p.replay));
  expect_matched(&p.replay, 2, 3);
  assert_string_equal(p.options.settings.rules->name, "torch-2.11"); /* the nearest */
  vs_replay_deinit(m.host, &p.replay);
  p.options.settings.rules = vs_alloc_rules_find(VS_STR("torch-2.1"));
  expect_ok(vs_replay_follow(m.host, &p.plan, &p.options, &p.replay));
  assert_string_equal(p.options.settings.rules->name, "torch-2.1");
  stop(&p, &m);
}

/* ---- a trace that begins late -------------------------------------------------------------------------- */

static void test_what_was_there_before_is_rebuilt(void **state) {
  (void)state;
  made m = made_begin();
  played p;
  (void)made_event(&m, VS_EVENT_ALLOC, BASE + 3 * MIB, 2 * MIB); /* behind a block of 2 MiB and a bit */
  (void)made_free(&m, BASE, 2 * MIB);
  (void)made_event(&m, VS_EVENT_ALLOC, BASE, 2 * MIB + 512 * 1024);
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, BASE + 30 * MIB, 30 * MIB); /* was waiting */
  (void)made_event(&m, VS_EVENT_ALLOC, BASE + 30 * MIB, 29 * MIB + 512 * 1024);
  made_trace(&m, 0);
  (void)made_segment(&m, 0, BASE, 20 * MIB, "large");
  (void)made_block(&m, 3 * MIB, 2 * MIB + 512 * 1024, VS_BLOCK_ALLOCATED);
  (void)made_block(&m, 2 * MIB, 2 * MIB, VS_BLOCK_ALLOCATED);
  (void)made_block(&m, 15 * MIB, 0, VS_BLOCK_INACTIVE);
  (void)made_segment(&m, 0, BASE + 30 * MIB, 30 * MIB, "large");
  (void)made_block(&m, 30 * MIB, 29 * MIB + 512 * 1024, VS_BLOCK_ALLOCATED);
  play(&p, &m);
  run_again(&p, &m);
  expect_matched(&p.replay, 0, 3);
  assert_int_equal(p.replay.reserved, 50 * MIB);
  assert_int_equal(p.plan.start.blocks.data[0].size, 3 * MIB);  /* as the first allocation behind it says */
  assert_int_equal(p.plan.start.blocks.data[1].size, 30 * MIB); /* less than 1 MiB is not split off */
  stop(&p, &m);
}

/* ---- what differs -------------------------------------------------------------------------------------- */

static void test_a_difference_has_its_reason(void **state) {
  (void)state;
  made m = made_begin();
  played p;
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, BASE, 24 * MIB); /* the rules say 20 */
  (void)made_event(&m, VS_EVENT_ALLOC, BASE, 2 * MIB);
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, BASE + 90 * MIB, 20 * MIB); /* there is room */
  (void)made_event(&m, VS_EVENT_ALLOC, BASE + 90 * MIB, 2 * MIB);
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, BASE + 200 * MIB, 2 * MIB); /* for nothing */
  made_trace(&m, 0);
  play(&p, &m);
  run_again(&p, &m);
  const vs_replay *replay = &p.replay;
  assert_int_equal(replay->matched, 0);
  assert_int_equal(replay->miss_count, 3);
  assert_int_equal(replay->placed, 1);
  assert_int_equal(replay->first_misplaced, 3);
  const vs_replay_miss *misses = replay->misses.data;
  assert_true(misses[0].has_expected && misses[0].has_got);
  assert_int_equal(misses[0].expected.size, 24 * MIB);
  assert_int_equal(misses[0].got.size, 20 * MIB);
  assert_int_equal(misses[0].reason, VS_REPLAY_RULES);
  assert_true(misses[1].has_expected && !misses[1].has_got);
  assert_int_equal(misses[1].request, 3);
  assert_int_equal(misses[1].reason, VS_REPLAY_AFTER_MISS);
  assert_int_equal(misses[2].request, VS_NO_EVENT);
  assert_int_equal(misses[2].reason, VS_REPLAY_NO_REQUEST);
  assert_string_equal(vs_replay_reason_word(VS_REPLAY_AFTER_MISS), "after_miss");
  stop(&p, &m);
}

/* The first difference of one event, under options. */
static vs_replay_reason first_reason(made *m, void (*change)(played *p)) {
  played p;
  play(&p, m);
  change(&p);
  run_again(&p, m);
  assert_true(p.replay.misses.count > 0);
  const vs_replay_reason reason = p.replay.misses.data[0].reason;
  stop(&p, m);
  return reason;
}

static made one_odd_segment(void) {
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, BASE, 24 * MIB);
  (void)made_event(&m, VS_EVENT_ALLOC, BASE, 2 * MIB);
  return m;
}

static void set_unknown(played *p) { p->options.settings_known = false; }
static void set_expandable(played *p) { p->options.settings.expandable_segments = true; }
static void set_fraction(played *p) { p->options.settings.memory_fraction = 0.5; }
static void set_nothing(played *p) { (void)p; }

static void test_reasons(void **state) {
  (void)state;
  made m = one_odd_segment();
  made_trace(&m, 0);
  assert_int_equal(first_reason(&m, set_unknown), VS_REPLAY_NO_SETTINGS);
  m = one_odd_segment();
  made_trace(&m, 0);
  assert_int_equal(first_reason(&m, set_expandable), VS_REPLAY_SETTINGS_CHANGED);
  m = one_odd_segment();
  made_trace(&m, 0);
  assert_int_equal(first_reason(&m, set_fraction), VS_REPLAY_LIMIT_UNKNOWN);
  m = one_odd_segment();
  (void)made_pool(&m, 0, 1);
  made_trace(&m, 0);
  assert_int_equal(first_reason(&m, set_nothing), VS_REPLAY_POOLS_UNKNOWN);
  m = one_odd_segment();
  (void)made_event(&m, VS_EVENT_ALLOC, BASE, 2 * MIB);
  made_trace(&m, 0);
  assert_int_equal(first_reason(&m, set_nothing), VS_REPLAY_CONTRADICTION);
  m = one_odd_segment();
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, BASE, 2 * MIB);
  made_trace(&m, 0);
  assert_int_equal(first_reason(&m, set_nothing), VS_REPLAY_SKIPPED);
  m = one_odd_segment();
  made_trace(&m, 0);
  (void)made_segment(&m, 0, BASE + 100 * MIB, 2 * MIB, "small");
  (void)made_block(&m, 2 * MIB, 0, VS_BLOCK_INACTIVE);
  assert_int_equal(first_reason(&m, set_nothing), VS_REPLAY_INITIAL_CACHE);
}

/* ---- what would be ------------------------------------------------------------------------------------- */

static void test_another_card_and_other_settings(void **state) {
  (void)state;
  made m = made_begin();
  played p;
  made_large(&m, 0);
  made_large(&m, 1);
  (void)made_free(&m, BASE, 30 * MIB);
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, BASE + 60 * MIB, 40 * MIB);
  (void)made_event(&m, VS_EVENT_ALLOC, BASE + 60 * MIB, 40 * MIB);
  (void)made_event(&m, VS_EVENT_OOM, 5 * MIB, 50 * MIB);
  made_trace(&m, 0);
  play(&p, &m);
  p.options.follows = false;
  run_again(&p, &m);
  assert_false(p.replay.ran_out);
  assert_int_equal(p.replay.reserved_peak, 150 * MIB);
  assert_int_equal(p.replay.avoided, 1);
  vs_replay_deinit(m.host, &p.replay);

  p.options.card = 70 * MIB; /* the first segment has to go back for the third request */
  run_again(&p, &m);
  assert_false(p.replay.ran_out);
  assert_int_equal(p.replay.retries, 2);
  assert_int_equal(p.replay.reserved_peak, 70 * MIB);
  assert_int_equal(p.replay.avoided, 0);
  vs_replay_deinit(m.host, &p.replay);

  p.options.card = 68 * MIB;
  run_again(&p, &m);
  assert_true(p.replay.ran_out);
  assert_int_equal(p.replay.ran_out_at, 7);
  assert_int_equal(p.replay.ran_out_for, 40 * MIB);
  vs_replay_deinit(m.host, &p.replay);

  p.options.settings.expandable_segments = true; /* 40 MiB grow where 30 were */
  p.options.card = 80 * MIB;
  run_again(&p, &m);
  assert_false(p.replay.ran_out);
  assert_int_equal(p.replay.segments_peak, 0);
  stop(&p, &m);
}

/* Half of a card that leaves the allocator 1 GiB is more than 512 MiB: limits are parts of the card. */
static void test_a_limit_is_a_part_of_the_card(void **state) {
  (void)state;
  made m = made_begin();
  played p;
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, BASE, 700 * MIB);
  (void)made_event(&m, VS_EVENT_ALLOC, BASE, 700 * MIB);
  made_trace(&m, 0);
  play(&p, &m);
  p.options.follows = false;
  p.options.card = 1024 * MIB;
  p.options.settings.memory_fraction = 0.5;
  run_again(&p, &m);
  assert_false(p.replay.ran_out);
  vs_replay_deinit(m.host, &p.replay);
  p.options.total = 1100 * MIB;
  run_again(&p, &m);
  assert_true(p.replay.ran_out);
  stop(&p, &m);
}

/* Whether a request of 40 MiB from such a pool passes where that needs the cached 30 MiB of the default pool. */
static bool passes_beside_a_cache(vs_pool_id pool, uint64_t stream) {
  made m = made_begin();
  played p;
  (void)made_stream(&m, 0);
  const uint32_t index = stream == 0 ? 0 : made_stream(&m, stream), its_pool = made_pool(&m, pool.a, pool.b);
  made_large(&m, 0);
  (void)made_free(&m, BASE, 30 * MIB);
  for (int i = 0; i < 2; i++) {
    const uint32_t event =
        made_event(&m, i == 0 ? VS_EVENT_SEGMENT_ALLOC : VS_EVENT_ALLOC, BASE + 30 * MIB, 40 * MIB);
    expect_ok(vs_events_set_stream(m.host, &m.snapshot->events, event, index));
    expect_ok(vs_events_set_pool(m.host, &m.snapshot->events, event, its_pool));
  }
  made_trace(&m, 0);
  play(&p, &m);
  assert_int_equal(p.plan.has_streams, stream != 0);
  run_again(&p, &m);
  expect_matched(&p.replay, 2, 2);
  vs_replay_deinit(m.host, &p.replay);
  p.options.follows = false;
  p.options.card = 70 * MIB;
  run_again(&p, &m);
  assert_false(p.replay.ran_out);
  vs_replay_deinit(m.host, &p.replay);
  p.options.card = 68 * MIB;
  run_again(&p, &m);
  const bool passes = !p.replay.ran_out;
  assert_int_equal(p.replay.retries, passes);
  stop(&p, &m);
  return passes;
}

static void test_a_capture_cannot_empty_the_cache(void **state) {
  (void)state;
  assert_false(passes_beside_a_cache((vs_pool_id){1, 0}, 7)); /* made by a capture */
  assert_false(passes_beside_a_cache((vs_pool_id){1, 0}, 0));
  assert_false(passes_beside_a_cache((vs_pool_id){0, 1}, 7)); /* a MemPool, or for a capture: unknown */
  assert_true(passes_beside_a_cache((vs_pool_id){0, 1}, 0));  /* the default stream is never captured */
  assert_true(passes_beside_a_cache((vs_pool_id){0, 0}, 7));
}

static void test_another_back_end_is_refused(void **state) {
  (void)state;
  made m = made_begin();
  played p;
  made_large(&m, 0);
  made_trace(&m, 0);
  play(&p, &m);
  p.options.settings.backend = VS_ALLOC_ASYNC;
  expect_status(vs_replay_run(m.host, &p.plan, &p.options, &p.replay), VS_UNSUPPORTED);
  stop(&p, &m);
}

/* ---- settings ------------------------------------------------------------------------------------------ */

static void made_setting(made *m, const char *key, vs_setting_kind kind, uint8_t depth, uint64_t bits) {
  const uint32_t id = made_string(m, key);
  expect_ok(vs_vec_reserve(m->host, &m->snapshot->settings, 1));
  m->snapshot->settings.data[m->snapshot->settings.count++] =
      (vs_setting){.key = id, .kind = (uint8_t)kind, .depth = depth, .bits = bits};
  m->snapshot->has |= VS_HAS_SETTINGS;
}

static void expect_settings(made *m, const char *text, bool known) {
  vs_alloc_settings settings;
  bool is_known;
  vs_text out;
  vs_text_init(&out, m->host, NULL);
  vs_replay_settings_of(m->snapshot, &settings, &is_known);
  vs_replay_settings_write(&settings, &out);
  expect_str_at(vs_text_view(&out), vs_str_from(text), __FILE__, __LINE__);
  assert_int_equal(is_known, known);
  vs_text_deinit(&out);
}

static void test_settings_of_a_file(void **state) {
  (void)state;
  made m = made_begin();
  expect_settings(&m, "profile:torch-1.13", false);
  made_setting(&m, "PYTORCH_CUDA_ALLOC_CONF", VS_SETTING_STRING, 0,
               made_string(&m, "max_split_size_mb:100,expandable_segments:True"));
  made_setting(&m, "max_cached_size", VS_SETTING_INT, 0, UINT64_MAX);
  expect_settings(&m, "max_split_size_mb:100,expandable_segments:True", true);
  made_setting(&m, "max_split_size", VS_SETTING_INT, 0, 200 * MIB); /* what is in force */
  made_setting(&m, "expandable_segments", VS_SETTING_BOOL, 0, 0);
  made_setting(&m, "roundup_power2_divisions", VS_SETTING_DICT, 0, 2);
  made_setting(&m, "1", VS_SETTING_INT, 1, 4);
  made_setting(&m, "2", VS_SETTING_INT, 1, 3); /* no power of two */
  vs_alloc_settings settings;
  bool is_known;
  vs_replay_settings_of(m.snapshot, &settings, &is_known);
  assert_int_equal(settings.max_split_size, 200 * MIB);
  assert_false(settings.expandable_segments);
  assert_int_equal(settings.roundup_divisions[0], 4);
  assert_int_equal(settings.roundup_divisions[1], 0);
  made_end(&m);

  m = made_begin(); /* unreadable: the defaults */
  made_setting(&m, "PYTORCH_CUDA_ALLOC_CONF", VS_SETTING_STRING, 0, made_string(&m, "max_split:1"));
  expect_settings(&m, "profile:torch-2.4", true);
  m.snapshot->has |= VS_HAS_ANNOTATIONS;
  expect_settings(&m, "profile:torch-2.6", true);
  made_setting(&m, "graph_capture_record_stream_reuse", VS_SETTING_BOOL, 0, 0);
  expect_settings(&m, "profile:torch-2.11", true);
  made_end(&m);

  vs_error error;
  const vs_alloc_rules *old = vs_alloc_rules_find(VS_STR("torch-1.13"));
  expect_ok(vs_replay_settings_parse(VS_STR("max_split_size_mb:64"), old, &settings, &error));
  assert_ptr_equal(settings.rules, old);
  expect_ok(vs_replay_settings_parse(VS_STR("expandable_segments:True"), old, &settings, &error));
  assert_string_equal(settings.rules->name, "torch-2.1"); /* the next that knows it */
  expect_ok(vs_replay_settings_parse(VS_STR("per_process_memory_fraction:0.5,expandable_segments:True"), old,
                                     &settings, &error));
  assert_string_equal(settings.rules->name, "torch-2.1");
  assert_true(settings.memory_fraction == 0.5);
  expect_ok(vs_replay_settings_parse(VS_STR("throw_on_cudamalloc_oom:True"), old, &settings, &error));
  assert_ptr_equal(settings.rules, vs_alloc_rules_default());
  expect_status(vs_replay_settings_parse(VS_STR("max_split_size:64"), NULL, &settings, &error),
                VS_BAD_ARGUMENT);
  assert_non_null(strstr(error.text, "max_split_size_mb"));
  expect_status(vs_replay_settings_parse(VS_STR("backend:cudaMallocAsync"), NULL, &settings, &error),
                VS_BAD_ARGUMENT);
}

/* ---- lies ---------------------------------------------------------------------------------------------- */

/* Sizes and addresses at the edges: nothing overflows, nothing takes for ever. */
static void test_claims_are_bounded(void **state) {
  (void)state;
  made m = made_begin();
  played p;
  for (uint64_t i = 0; i < 40; i++) {
    (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, UINT64_MAX - i, UINT64_C(1) << 59);
    (void)made_event(&m, VS_EVENT_ALLOC, UINT64_MAX - i, UINT64_C(1) << 59);
    (void)made_event(&m, VS_EVENT_SEGMENT_MAP, UINT64_MAX - i, UINT64_MAX);
    (void)made_event(&m, VS_EVENT_ALLOC, i << 20, (UINT64_C(1) << 43) - 1);
    (void)made_free(&m, i << 20, 0);
  }
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 512, UINT64_C(1) << 63, "large");
  (void)made_block(&m, UINT64_C(1) << 63, 77, VS_BLOCK_ALLOCATED);
  play(&p, &m);
  for (int expandable = 0; expandable < 2; expandable++)
    for (int follows = 0; follows < 2; follows++) {
      p.options.settings.expandable_segments = expandable != 0;
      p.options.follows = follows != 0;
      run_again(&p, &m);
      assert_true(p.replay.reserved_peak <= UINT64_C(1) << 44);
      vs_replay_deinit(m.host, &p.replay);
    }
  p.replay = (vs_replay){0};
  stop(&p, &m);
}

/* A segment without a byte at the end is left out, whatever lies in it. */
static void test_a_segment_of_nothing(void **state) {
  (void)state;
  for (int expandable = 0; expandable < 2; expandable++) {
    made m = made_begin();
    played p;
    made_trace(&m, 0);
    (void)made_segment(&m, 0, BASE, 0, "large");
    m.snapshot->segments.data[0].is_expandable = expandable;
    m.snapshot->segments.data[0].has |= VS_SEGMENT_HAS_EXPANDABLE;
    (void)made_block(&m, 30 * MIB, 30 * MIB, VS_BLOCK_ALLOCATED);
    (void)made_segment(&m, 0, BASE + 30 * MIB, 30 * MIB, "large");
    (void)made_block(&m, 30 * MIB, 30 * MIB, VS_BLOCK_ALLOCATED);
    play(&p, &m);
    run_again(&p, &m);
    assert_int_equal(p.replay.strays, 1);
    assert_int_equal(p.replay.reserved_peak, 30 * MIB);
    stop(&p, &m);
  }
}

/* More streams than any program has: the run is cut, and says so. */
static void test_too_much_is_cut(void **state) {
  (void)state;
  made m = made_begin();
  played p;
  for (uint64_t i = 1; i < 5000; i++) (void)made_stream(&m, i);
  made_large(&m, 0);
  made_trace(&m, 0);
  play(&p, &m);
  run_again(&p, &m);
  assert_true(p.replay.is_cut);
  assert_int_equal(p.replay.last_event, VS_NO_EVENT);
  assert_int_equal(p.replay.miss_count, 0);
  stop(&p, &m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_same_comes_out),
      cmocka_unit_test(test_pending_blocks_wait_as_long),
      cmocka_unit_test(test_a_refusal_is_repeated),
      cmocka_unit_test(test_emptying_is_recognised),
      cmocka_unit_test(test_expandable_segments_grow_in_place),
      cmocka_unit_test(test_the_version_is_found_out),
      cmocka_unit_test(test_what_was_there_before_is_rebuilt),
      cmocka_unit_test(test_a_difference_has_its_reason),
      cmocka_unit_test(test_reasons),
      cmocka_unit_test(test_another_card_and_other_settings),
      cmocka_unit_test(test_a_limit_is_a_part_of_the_card),
      cmocka_unit_test(test_a_capture_cannot_empty_the_cache),
      cmocka_unit_test(test_another_back_end_is_refused),
      cmocka_unit_test(test_settings_of_a_file),
      cmocka_unit_test(test_claims_are_bounded),
      cmocka_unit_test(test_a_segment_of_nothing),
      cmocka_unit_test(test_too_much_is_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
