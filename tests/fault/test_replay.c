/* A plan and its replays, and adopting segments, with each of their requests for memory failing once. */
#include "analyze/remedies.h"
#include "analyze/replay_snapshot.h"
#include "unit/analyze/played.h"

#define MIB  UINT64_C(1048576)
#define BASE UINT64_C(0x700000000000)

/* Something before the trace, plain and expandable; blocks that wait; a pool; a failure; emptying. */
static made everything(void) {
  made m = made_begin();
  const uint32_t side = made_stream(&m, 7), pool = made_pool(&m, 0, 1);
  for (uint64_t i = 0; i < 6; i++) {
    const uint32_t event = made_event(&m, VS_EVENT_SEGMENT_ALLOC, BASE + (40 + 30 * i) * MIB, 30 * MIB);
    const uint32_t alloc = made_event(&m, VS_EVENT_ALLOC, BASE + (40 + 30 * i) * MIB, 30 * MIB);
    if (i % 2 != 0) continue;
    expect_ok(vs_events_set_pool(m.host, &m.snapshot->events, event, pool));
    expect_ok(vs_events_set_pool(m.host, &m.snapshot->events, alloc, pool));
  }
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, BASE + 40 * MIB, 30 * MIB);
  (void)made_event(&m, VS_EVENT_ALLOC, BASE + 512, 700);
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, BASE + 40 * MIB, 30 * MIB);
  (void)made_event(&m, VS_EVENT_OOM, 5, 90 * MIB);
  (void)made_free(&m, BASE + 70 * MIB, 30 * MIB);
  (void)made_event(&m, VS_EVENT_SEGMENT_FREE, BASE + 70 * MIB, 30 * MIB);
  (void)made_free(&m, BASE, 300);                     /* older */
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, 1, 3); /* operations that no program makes */
  made_trace(&m, 0);
  (void)made_segment(&m, 0, BASE, 2 * MIB, "small");
  (void)made_block(&m, 512, 300, VS_BLOCK_INACTIVE);
  (void)made_block(&m, 1024, 700, VS_BLOCK_ALLOCATED);
  (void)made_block(&m, 2 * MIB - 1536, 0, VS_BLOCK_INACTIVE);
  vs_segment *segment = made_segment(&m, 0, BASE + 400 * MIB, 20 * MIB, "large");
  segment->is_expandable = true;
  segment->has = VS_SEGMENT_HAS_EXPANDABLE;
  segment->stream = side;
  (void)made_block(&m, 5 * MIB, 5 * MIB, VS_BLOCK_PENDING);
  (void)made_block(&m, 15 * MIB, 0, VS_BLOCK_INACTIVE);
  return m;
}

static vs_status run_as_snapshot(const vs_host *host, const vs_replay_plan *plan, vs_replay_options options) {
  const vs_whatif_mark mark = {.is_there = true};
  vs_replay_snapshot snapshot;
  vs_replay replay;
  options.snapshot = &snapshot;
  vs_status status = vs_replay_snapshot_init(&snapshot, host, plan->lifetimes->slice->snapshot);
  if (status == VS_OK) status = vs_replay_run(host, plan, &options, &replay);
  if (status == VS_OK) {
    vs_replay_deinit(host, &replay);
    status = vs_replay_snapshot_seal(&snapshot, &options.settings, &mark, true);
  }
  if (status == VS_OK) assert_null(vs_snapshot_check(&snapshot.snapshot));
  vs_replay_snapshot_deinit(&snapshot);
  return status;
}

static vs_status run_all_ways(const vs_host *host, const vs_replay_plan *plan) {
  vs_replay_options options;
  vs_replay_options_init(&options, plan->lifetimes->slice->snapshot);
  for (int way = 0; way < 4; way++) {
    vs_replay replay;
    options.follows = way < 2;
    options.settings.expandable_segments = way % 2 != 0;
    VS_TRY(way == 0 ? vs_replay_follow(host, plan, &options, &replay)
                    : vs_replay_run(host, plan, &options, &replay));
    vs_replay_deinit(host, &replay);
    if (!options.follows) VS_TRY(run_as_snapshot(host, plan, options));
  }
  return VS_OK;
}

static vs_status use_replay(const vs_host *host, void *ctx) {
  vs_lifetimes lifetimes;
  vs_replay_plan plan;
  VS_TRY(vs_lifetimes_build(host, ctx, &lifetimes));
  vs_status status = vs_replay_plan_build(host, &lifetimes, &plan);
  if (status == VS_OK) {
    status = run_all_ways(host, &plan);
    vs_replay_plan_deinit(host, &plan);
  }
  vs_lifetimes_deinit(host, &lifetimes);
  return status;
}

/* Two functions that are checkpointed, by a line and by a name, and the requests that come out. */
static vs_status use_checkpoint(const vs_host *host, void *ctx) {
  const played *p = ctx;
  const vs_str functions[] = {VS_STR("model.py:11"), VS_STR("inner")};
  vs_frames frames;
  vs_checkpoint checkpoint;
  vs_edited edited;
  VS_TRY(vs_frames_init(host, p->m.snapshot, &frames));
  vs_status status = vs_checkpoint_build(host, &p->plan, &frames, functions, 2, NULL, &checkpoint);
  if (status == VS_OK) {
    const vs_edit edit = {
        .kind = VS_EDIT_CHECKPOINT, .rows = checkpoint.saved.data, .checkpoint = &checkpoint};
    status = vs_edits_apply(host, &p->plan, &edit, 1, &edited);
    if (status == VS_OK) vs_edited_deinit(host, &edited);
    vs_checkpoint_deinit(host, &checkpoint);
  }
  vs_frames_deinit(host, &frames);
  return status;
}

static void test_each_request_of_a_checkpoint_may_fail(void **state) {
  (void)state;
  played p;
  play(&p,
       "z@2010 t@10 a@11 -z -t r@12 c@2010 d@2010 e@2010 s@10 b@11 -s q@12 x@o g@B -x -q h@B -b -r -a -g -h "
       "u@10 k@11 -u v@12 y@o !@B");
  assert_true(fault_prove(use_checkpoint, &p) > 20);
  played_end(&p);
}

static void test_each_request_for_memory_may_fail(void **state) {
  (void)state;
  made m = everything();
  const vs_slice *slice = made_slice(&m, 0);
  assert_true(fault_prove(use_replay, (void *)(uintptr_t)slice) > 20);
  made_end(&m);
}

/* Two segments of which halves are held, and a request that the free halves cannot serve: settings, frees and a card do. */
static made failing(void) {
  made m = made_begin();
  const uint32_t stack = made_stack(&m, "forward", 1);
  for (uint64_t i = 0; i < 2; i++) {
    const uint64_t at = BASE + 40 * i * MIB;
    (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, at, 40 * MIB);
    (void)made_alloc(&m, at, 40 * MIB, stack);
    (void)made_free(&m, at, 40 * MIB);
    (void)made_alloc(&m, at, 20 * MIB, stack);
    (void)made_alloc(&m, at + 20 * MIB, 20 * MIB, stack);
  }
  for (uint64_t i = 0; i < 2; i++) (void)made_free(&m, BASE + (20 + 40 * i) * MIB, 20 * MIB);
  (void)made_event(&m, VS_EVENT_OOM, 4 * MIB, 30 * MIB);
  made_trace(&m, 0);
  for (uint64_t i = 0; i < 2; i++) {
    (void)made_segment(&m, 0, BASE + 40 * i * MIB, 40 * MIB, "large");
    (void)made_block(&m, 20 * MIB, 20 * MIB, VS_BLOCK_ALLOCATED);
    (void)made_block(&m, 20 * MIB, 0, VS_BLOCK_INACTIVE);
  }
  return m;
}

static vs_status search(const vs_host *host, const vs_replay_plan *plan, const vs_moment_index *moments,
                        vs_frames *frames) {
  const vs_steps steps = {0};
  const vs_growths growths = {0};
  vs_replay_options options;
  vs_remedies remedies;
  vs_replay_options_init(&options, plan->lifetimes->slice->snapshot);
  const vs_remedy_case of = {.plan = plan,
                             .recorded = &options,
                             .rules_of_age = options.settings.rules,
                             .spans = &moments->spans,
                             .growths = &growths,
                             .steps = &steps,
                             .frames = frames,
                             .event = plan->lifetimes->slice->event_count - 1};
  VS_TRY(vs_remedies_find(host, &of, &remedies));
  assert_int_equal(remedies.basis, VS_BASIS_RECORDED);
  assert_int_not_equal(remedies.settings_passing, 0);
  assert_int_equal(remedies.list.data[remedies.list.count - 1].kind, VS_REMEDY_CARD);
  vs_remedies_deinit(host, &remedies);
  return VS_OK;
}

static vs_status use_remedies(const vs_host *host, void *ctx) {
  const vs_lifetimes *lifetimes = ctx;
  vs_replay_plan plan;
  vs_moment_index moments;
  vs_frames frames;
  VS_TRY(vs_frames_init(host, lifetimes->slice->snapshot, &frames));
  vs_status status = vs_moment_index_build(host, lifetimes, &moments);
  if (status == VS_OK) {
    status = vs_replay_plan_build(host, lifetimes, &plan);
    if (status == VS_OK) {
      status = search(host, &plan, &moments, &frames);
      vs_replay_plan_deinit(host, &plan);
    }
    vs_moment_index_deinit(host, &moments);
  }
  vs_frames_deinit(host, &frames);
  return status;
}

static void test_the_search_of_remedies(void **state) {
  (void)state;
  made m = failing();
  vs_lifetimes lifetimes;
  expect_ok(vs_lifetimes_build(m.host, made_slice(&m, 0), &lifetimes));
  assert_true(fault_prove(use_remedies, &lifetimes) > 100);
  vs_lifetimes_deinit(m.host, &lifetimes);
  made_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_request_for_memory_may_fail),
                                     cmocka_unit_test(test_each_request_of_a_checkpoint_may_fail),
                                     cmocka_unit_test(test_the_search_of_remedies)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
