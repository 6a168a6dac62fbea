/* Blocks that were freed in a capture while another stream used them: when the same graph may use them again
 * (graph_capture_record_stream_reuse), and that it does not without the setting. */
#include "alloc/alloc.h"
#include "device/sim/device.h"
#include "unit/device/sim/work.h"

static machine m;
static vs_sim_device card;
static vs_alloc *alloc;
static uint64_t stream, side;

static const vs_sim_thread relaxed = {.id = 1, .mode = VS_SIM_CAPTURE_RELAXED};

/* A capture of `stream`, which `side` has joined with work of its own. */
static void begin(const char *text) {
  vs_alloc_settings settings;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  stream = new_stream(sim);
  side = new_stream(sim);
  vs_sim_device_init(&card, sim, 0);
  vs_alloc_settings_init(&settings);
  expect_ok(vs_alloc_settings_parse(&settings, vs_str_from(text), NULL));
  expect_ok(vs_alloc_create(&m.host.host, &card.device, &settings, NULL, NULL, &alloc));
  expect_sim_ok(vs_sim_capture_begin(sim, &relaxed, 0, stream, VS_SIM_CAPTURE_RELAXED));
  vs_alloc_capture_begin(alloc);
  kernel(sim, stream);
  wait_for(sim, side, mark(sim, stream));
  kernel(sim, side);
}

static void end(void) {
  uint64_t graph;
  wait_for(card.sim, stream, mark(card.sim, side));
  expect_sim_ok(vs_sim_capture_end(card.sim, &relaxed, 0, stream, &graph));
  vs_alloc_capture_end(alloc);
  expect_sim_ok(vs_sim_graph_destroy(card.sim, graph));
  const char *broken = vs_alloc_check(alloc);
  if (broken != NULL) fail_msg("%s", broken);
  expect_ok(vs_alloc_release_all(alloc));
  vs_alloc_destroy(alloc);
  vs_sim_device_deinit(&card);
  machine_end(&m);
}

/* Of the large pool, without a rest: another block never fits in its place. */
static uint64_t take_on(uint64_t on) {
  uint64_t address = 0;
  expect_ok(vs_alloc_malloc(alloc, 20 * VS_MIB, on, VS_CONTEXT_NONE, &address));
  return address;
}

/* A block of `stream` that `side` uses, freed: its markers are the last work of both. */
static uint64_t take_use_and_free(void) {
  const uint64_t block = take_on(stream);
  expect_ok(vs_alloc_record_stream(alloc, block, side));
  expect_ok(vs_alloc_free(alloc, block, VS_CONTEXT_NONE));
  return block;
}

static void reused_behind_all_work_that_uses_it(void **state) {
  (void)state;
  begin("graph_capture_record_stream_reuse:True");
  const uint64_t block = take_use_and_free();
  assert_int_not_equal(take_on(stream), block); /* the work of `side` may come later */
  wait_for(card.sim, stream, mark(card.sim, side));
  assert_int_equal(take_on(stream), block);
  end();
}

static void reused_when_what_precedes_leads_back_to_that_work(void **state) {
  (void)state;
  begin("graph_capture_record_stream_reuse:True");
  const uint64_t block = take_use_and_free();
  kernel(card.sim, side); /* the marker is two nodes away from the next work of `stream` */
  kernel(card.sim, side);
  wait_for(card.sim, stream, mark(card.sim, side));
  kernel(card.sim, stream);
  assert_int_equal(take_on(stream), block);
  end();
}

/* The next work of `side` is behind both markers, but the block belongs to the other stream, whose next work is not. */
static void another_stream_frees_nothing(void **state) {
  (void)state;
  begin("graph_capture_record_stream_reuse:True");
  const uint64_t block = take_use_and_free();
  assert_int_not_equal(take_on(side), block);
  assert_int_not_equal(take_on(stream), block);
  end();
}

/* Work of its own stream that came after the free is no reason to wait longer; that of `side` before it is. */
static void each_block_waits_for_its_own_work(void **state) {
  (void)state;
  begin("graph_capture_record_stream_reuse:True");
  const uint64_t first = take_use_and_free();
  const uint64_t joined = mark(card.sim, side);
  kernel(card.sim, side);
  const uint64_t second = take_use_and_free();
  assert_int_not_equal(second, first);
  wait_for(card.sim, stream, joined);
  assert_int_equal(take_on(stream), first);
  assert_int_not_equal(take_on(stream), second);
  end();
}

static void not_reused_without_the_setting(void **state) {
  (void)state;
  begin("");
  const uint64_t block = take_use_and_free();
  wait_for(card.sim, stream, mark(card.sim, side));
  assert_int_not_equal(take_on(stream), block);
  end();
}

static void free_after_the_capture(void **state) {
  (void)state;
  begin("graph_capture_record_stream_reuse:True");
  const uint64_t block = take_use_and_free();
  uint64_t graph;
  wait_for(card.sim, stream, mark(card.sim, side));
  expect_sim_ok(vs_sim_capture_end(card.sim, &relaxed, 0, stream, &graph));
  vs_alloc_capture_end(alloc);
  expect_sim_ok(vs_sim_graph_destroy(card.sim, graph));
  assert_int_equal(take_on(stream), block);
  expect_ok(vs_alloc_release_all(alloc));
  vs_alloc_destroy(alloc);
  vs_sim_device_deinit(&card);
  machine_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reused_behind_all_work_that_uses_it),
      cmocka_unit_test(reused_when_what_precedes_leads_back_to_that_work),
      cmocka_unit_test(another_stream_frees_nothing),
      cmocka_unit_test(each_block_waits_for_its_own_work),
      cmocka_unit_test(not_reused_without_the_setting),
      cmocka_unit_test(free_after_the_capture),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
