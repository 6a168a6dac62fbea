/* Figures that PyTorch's allocator shows for small sequences, worked out by hand and seen in PyTorch 2.15 too
 * (tests/torch compares the two on millions of others). */
#include "alloc/alloc.h"
#include "device/sim/device.h"
#include "unit/device/sim/machine.h"

static machine m;
static vs_sim_device card;
static vs_alloc *alloc;
static vs_alloc_settings settings;

enum { MOST_EVENTS = 64 };
static vs_event events[MOST_EVENTS];
static uint32_t event_count;

static void hear(void *ctx, const vs_event *event) {
  (void)ctx;
  assert_true(event_count < MOST_EVENTS);
  events[event_count++] = *event;
}

static void begin_on(const char *text, uint64_t card_bytes, vs_sim_event_rule rule) {
  const vs_observer observer = {NULL, hear};
  machine_begin(&m, 1, card_bytes);
  vs_sim *sim = process_begin(&m, 7);
  sim->streams.rule = rule;
  for (int i = 0; i < 2; i++) {
    uint64_t stream;
    expect_sim_ok(vs_sim_stream_create(sim, 0, VS_SIM_STREAM_NON_BLOCKING, 0, &stream));
  }
  vs_sim_device_init(&card, sim, 0);
  vs_alloc_settings_init(&settings);
  if (*text != 0) expect_ok(vs_alloc_settings_parse(&settings, vs_str_from(text), NULL));
  expect_ok(vs_alloc_create(&m.host.host, &card.device, &settings, &observer, NULL, &alloc));
  event_count = 0;
}

static void begin(const char *text) { begin_on(text, 16 * GIB, VS_SIM_EVENTS_AT_ONCE); }

static void end(void) {
  const char *broken = vs_alloc_check(alloc);
  if (broken != NULL) fail_msg("%s", broken);
  expect_ok(vs_alloc_release_all(alloc));
  vs_alloc_destroy(alloc);
  vs_sim_device_deinit(&card);
  machine_end(&m);
}

#define STREAM(i) (VS_SIM_STREAM_BASE + 256 * (uint64_t)(i))

static uint64_t take_on(uint64_t size, uint64_t stream) {
  uint64_t address = 0;
  expect_ok(vs_alloc_malloc(alloc, size, stream, VS_CONTEXT_NONE, &address));
  return address;
}
static uint64_t take(uint64_t size) { return take_on(size, 0); }
static void give(uint64_t address) { expect_ok(vs_alloc_free(alloc, address, VS_CONTEXT_NONE)); }

static vs_alloc_stat stat_of(vs_alloc_group group, vs_alloc_part part) {
  return vs_alloc_statistics_at(vs_alloc_statistics_of(alloc), group, part);
}

static void expect_stat(vs_alloc_group group, vs_alloc_stat wanted) {
  const vs_alloc_stat got = stat_of(group, VS_ALLOC_ALL);
  assert_int_equal(got.current, wanted.current);
  assert_int_equal(got.peak, wanted.peak);
  assert_int_equal(got.allocated, wanted.allocated);
  assert_int_equal(got.freed, wanted.freed);
}

static int64_t now(vs_alloc_group group) { return stat_of(group, VS_ALLOC_ALL).current; }
static int64_t in_small(vs_alloc_group group) { return stat_of(group, VS_ALLOC_SMALL).current; }

static uint64_t block_size(uint64_t address) {
  vs_alloc_block_info block;
  assert_true(vs_alloc_find(alloc, address, &block));
  return block.size;
}

/* ---- rounding and placement ---------------------------------------------------------------------------- */

static void expect_placed(uint64_t request, bool is_small, uint64_t driver, bool is_split, uint64_t block) {
  begin("");
  const uint64_t address = take(request);
  assert_int_equal(block_size(address), block);
  assert_int_equal(now(VS_ALLOC_RESERVED_BYTES), driver);
  assert_int_equal(in_small(VS_ALLOC_ALLOCATED_BYTES), is_small ? block : 0);
  assert_int_equal(now(VS_ALLOC_INACTIVE_SPLIT), is_split);
  assert_int_equal(now(VS_ALLOC_INACTIVE_SPLIT_BYTES), is_split ? driver - block : 0);
  assert_int_equal(now(VS_ALLOC_REQUESTED_BYTES), request);
  end();
}

static void requests_are_rounded_and_placed(void **state) {
  (void)state;
  expect_placed(1, true, 2097152, true, 512);
  expect_placed(512, true, 2097152, true, 512);
  expect_placed(513, true, 2097152, true, 1024);
  expect_placed(1048576, true, 2097152, true, 1048576);
  expect_placed(1048577, false, 20971520, true, 1049088);
  expect_placed(10485759, false, 10485760, false, 10485760);
  expect_placed(10485761, false, 12582912, true, 10486272);
  expect_placed(12058624, false, 12582912, false, 12582912);
  expect_placed(20971521, false, 23068672, true, 20972032);
}

static void nothing_is_asked_for_nothing(void **state) {
  (void)state;
  begin("");
  assert_int_equal(take(0), 0);
  assert_int_equal(event_count, 0);
  give(0);
  assert_int_equal(now(VS_ALLOC_ALLOCATION), 0);
  end();
}

static void expect_rounded(const char *text, uint64_t request, uint64_t rounded) {
  begin(text);
  assert_int_equal(now(VS_ALLOC_ALLOCATED_BYTES), 0);
  const uint64_t address = take(request);
  uint64_t size = block_size(address);
  /* Where the rest of the segment is too small to be split off, it comes along. */
  assert_true(size >= rounded && size <= rounded + MIB);
  if (size != rounded) assert_int_equal(size % (2 * MIB), 0);
  end();
}

static void divisions_round_in_steps(void **state) {
  (void)state;
  static const char four[] = "roundup_power2_divisions:4";
  expect_rounded(four, 1200, 1536); /* not 1280: a size has to be more than 512 * divisions */
  expect_rounded(four, 2049, 2560);
  expect_rounded(four, 5000, 5120);
  expect_rounded("roundup_power2_divisions:2", 5000, 6144);
  expect_rounded("roundup_power2_divisions:2", 3000, 3072);
  expect_rounded("roundup_power2_divisions:8", 100 * MIB, 104 * MIB);
  expect_rounded(four, 600 * MIB, 640 * MIB);
  expect_rounded(four, 4096, 4096);
  static const char list[] = "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]";
  expect_rounded(list, 300 * MIB, 300 * MIB);
  expect_rounded(list, 600 * MIB, 768 * MIB);
  expect_rounded(list, 1100 * MIB, 1280 * MIB);
  expect_rounded(list, 2150 * MIB, 2304 * MIB);
}

/* ---- the sequence of eight steps ----------------------------------------------------------------------- */

typedef struct step {
  vs_alloc_stat count, bytes, requested, inactive, inactive_bytes;
  int64_t segments, reserved, device_allocs;
} step;

static void expect_step(const step *wanted) {
  expect_stat(VS_ALLOC_ALLOCATION, wanted->count);
  expect_stat(VS_ALLOC_ACTIVE, wanted->count); /* no other process uses memory */
  expect_stat(VS_ALLOC_ALLOCATED_BYTES, wanted->bytes);
  expect_stat(VS_ALLOC_ACTIVE_BYTES, wanted->bytes);
  expect_stat(VS_ALLOC_REQUESTED_BYTES, wanted->requested);
  expect_stat(VS_ALLOC_INACTIVE_SPLIT, wanted->inactive);
  expect_stat(VS_ALLOC_INACTIVE_SPLIT_BYTES, wanted->inactive_bytes);
  assert_int_equal(now(VS_ALLOC_SEGMENT), wanted->segments);
  assert_int_equal(now(VS_ALLOC_RESERVED_BYTES), wanted->reserved);
  assert_int_equal(vs_alloc_statistics_of(alloc)->num_device_alloc, wanted->device_allocs);
}

/* Step i of: x = 1000, y = 600,000, free x, free y, z = 3 MiB, 30 MiB, free z, 5 MiB. */
static uint64_t do_step(int i) {
  static uint64_t x, y, z;
  switch (i) {
    case 0: return x = take(1000);
    case 1: return y = take(600000);
    case 2: return give(x), 0;
    case 3: return give(y), 0;
    case 4: return z = take(3 * MIB);
    case 5: return take(30 * MIB);
    case 6: return give(z), 0;
    default: return take(5 * MIB);
  }
}

static void eight_steps(void **state) {
  (void)state;
  static const step steps[] = {
      {{1, 1, 1, 0},
       {1024, 1024, 1024, 0},
       {1000, 1000, 1000, 0},
       {1, 1, 1, 0},
       {2096128, 2096128, 2096128, 0},
       1,
       2097152,
       1},
      {{2, 2, 2, 0},
       {601088, 601088, 601088, 0},
       {601000, 601000, 601000, 0},
       {1, 1, 1, 0},
       {1496064, 2096128, 2096128, 600064},
       1,
       2097152,
       1},
      {{1, 2, 2, 1},
       {600064, 601088, 601088, 1024},
       {600000, 601000, 601000, 1000},
       {2, 2, 2, 0},
       {1497088, 2096128, 2097152, 600064},
       1,
       2097152,
       1},
      {{0, 2, 2, 2},
       {0, 601088, 601088, 601088},
       {0, 601000, 601000, 601000},
       {0, 2, 2, 2},
       {0, 2096128, 2097152, 2097152},
       1,
       2097152,
       1},
      {{1, 2, 3, 2},
       {3145728, 3145728, 3746816, 601088},
       {3145728, 3145728, 3746728, 601000},
       {1, 2, 3, 2},
       {17825792, 17825792, 19922944, 2097152},
       2,
       23068672,
       2},
      {{2, 2, 4, 2},
       {34603008, 34603008, 35204096, 601088},
       {34603008, 34603008, 35204008, 601000},
       {1, 2, 3, 2},
       {17825792, 17825792, 19922944, 2097152},
       3,
       54525952,
       3},
      {{1, 2, 4, 3},
       {31457280, 34603008, 35204096, 3746816},
       {31457280, 34603008, 35204008, 3746728},
       {0, 2, 3, 3},
       {0, 17825792, 19922944, 19922944},
       3,
       54525952,
       3},
      {{2, 2, 5, 3},
       {36700160, 36700160, 40446976, 3746816},
       {36700160, 36700160, 40446888, 3746728},
       {1, 2, 4, 3},
       {15728640, 17825792, 35651584, 19922944},
       3,
       54525952,
       3},
  };
  begin("");
  for (int i = 0; i < 8; i++) {
    do_step(i);
    expect_step(&steps[i]);
  }
  end();
}

static void eight_steps_expandable(void **state) {
  (void)state;
  static const int64_t reserved[] = {2097152,  2097152,  2097152,  2097152,
                                     23068672, 44040192, 44040192, 44040192};
  static const int64_t device_allocs[] = {1, 1, 1, 1, 2, 3, 3, 3};
  uint64_t at[8];
  begin("expandable_segments:True");
  for (int i = 0; i < 8; i++) {
    at[i] = do_step(i);
    assert_int_equal(now(VS_ALLOC_SEGMENT), 0);
    expect_stat(VS_ALLOC_INACTIVE_SPLIT, (vs_alloc_stat){0});
    expect_stat(VS_ALLOC_INACTIVE_SPLIT_BYTES, (vs_alloc_stat){0});
    assert_int_equal(now(VS_ALLOC_RESERVED_BYTES), reserved[i]);
    assert_int_equal(vs_alloc_statistics_of(alloc)->num_device_alloc, device_allocs[i]);
  }
  assert_int_equal(at[5], at[4] + 3 * MIB);  /* the free end of the first page is used */
  assert_int_equal(at[7], at[4] + 33 * MIB); /* behind it, and not where 3 MiB were */
  uint32_t maps = 0;
  for (uint32_t i = 0; i < event_count; i++) {
    if (events[i].kind != VS_EVENT_SEGMENT_MAP) continue;
    static const uint64_t sizes[] = {2 * MIB, 20 * MIB, 20 * MIB};
    assert_int_equal(events[i].size, sizes[maps]);
    if (maps == 2) assert_int_equal(events[i].address, at[4] + 20 * MIB);
    maps++;
  }
  assert_int_equal(maps, 3);
  end();
}

/* ---- streams, limits, reuse ---------------------------------------------------------------------------- */

static void blocks_stay_with_their_stream(void **state) {
  (void)state;
  begin("");
  const uint64_t a = take_on(3 * MIB, STREAM(0));
  give(a);
  const uint64_t b = take_on(3 * MIB, STREAM(1));
  assert_int_not_equal(a, b);
  assert_int_equal(now(VS_ALLOC_SEGMENT), 2);
  assert_int_equal(take_on(3 * MIB, STREAM(0)), a);
  end();
}

/* The figures are not read while a block is pending: the peaks of active blocks are right afterwards, too. */
static void active_peaks_count_pending_blocks(void **state) {
  (void)state;
  begin_on("", 16 * GIB, VS_SIM_EVENTS_AT_SYNC);
  const uint64_t a = take_on(MIB, STREAM(0));
  expect_ok(vs_alloc_record_stream(alloc, a, STREAM(1)));
  expect_sim_ok(vs_sim_op(card.sim, 0, STREAM(1), VS_SIM_NODE_KERNEL));
  give(a);
  const uint64_t b = take_on(512, STREAM(0)); /* beside it */
  expect_sim_ok(vs_sim_stream_synchronize(card.sim, 0, STREAM(1)));
  give(b);
  give(take_on(512, STREAM(0))); /* looks which are done first */
  const vs_alloc_stat bytes = stat_of(VS_ALLOC_ACTIVE_BYTES, VS_ALLOC_SMALL);
  assert_int_equal(bytes.current, 0);
  assert_int_equal(bytes.peak, MIB + 512);
  assert_int_equal(bytes.allocated, MIB + 1024);
  assert_int_equal(stat_of(VS_ALLOC_ACTIVE, VS_ALLOC_ALL).peak, 2);
  assert_int_equal(stat_of(VS_ALLOC_ACTIVE, VS_ALLOC_LARGE).peak, 0);
  assert_int_equal(stat_of(VS_ALLOC_ALLOCATED_BYTES, VS_ALLOC_ALL).peak, MIB);
  vs_alloc_reset_peak(alloc);
  give(take_on(512, STREAM(0))); /* with nothing pending */
  assert_int_equal(stat_of(VS_ALLOC_ACTIVE_BYTES, VS_ALLOC_ALL).peak, 512);
  vs_alloc_reset_totals(alloc);
  (void)take_on(512, STREAM(0));
  assert_int_equal(stat_of(VS_ALLOC_ACTIVE, VS_ALLOC_SMALL).allocated, 1);
  assert_int_equal(stat_of(VS_ALLOC_ACTIVE, VS_ALLOC_SMALL).freed, 0);
  end();
}

static void recorded_blocks_stay_active(void **state) {
  (void)state;
  begin_on("", 16 * GIB, VS_SIM_EVENTS_AT_SYNC);
  const uint64_t a = take_on(MIB, STREAM(0));
  expect_ok(vs_alloc_record_stream(alloc, a, STREAM(1)));
  expect_sim_ok(vs_sim_op(card.sim, 0, STREAM(1), VS_SIM_NODE_KERNEL));
  give(a);
  assert_int_equal(now(VS_ALLOC_ALLOCATED_BYTES), 0);
  assert_int_equal(now(VS_ALLOC_ACTIVE_BYTES), MIB);
  assert_int_equal(now(VS_ALLOC_REQUESTED_BYTES), MIB);
  const uint64_t b = take_on(MIB, STREAM(0));
  assert_int_not_equal(a, b);
  assert_int_equal(now(VS_ALLOC_ACTIVE_BYTES), 2 * MIB);
  expect_sim_ok(vs_sim_stream_synchronize(card.sim, 0, STREAM(1)));
  give(b);
  const uint64_t c = take_on(512, STREAM(0)); /* looks which are done first */
  assert_int_equal(c, a);
  assert_int_equal(now(VS_ALLOC_ACTIVE_BYTES), 512);
  end();
}

static void oversize_blocks_are_handed_out_whole(void **state) {
  (void)state;
  begin("max_split_size_mb:20");
  const uint64_t cached = take(64 * MIB);
  give(cached);
  assert_int_equal(vs_alloc_statistics_of(alloc)->oversize_segments.current, 1);
  const uint64_t again = take(50 * MIB); /* 64 < 50 + 20 */
  assert_int_equal(again, cached);
  assert_int_equal(block_size(again), 64 * MIB);
  give(again);
  const uint64_t other = take(40 * MIB); /* 64 >= 40 + 20 */
  assert_int_not_equal(other, cached);
  assert_int_equal(block_size(other), 40 * MIB);
  assert_int_equal(vs_alloc_statistics_of(alloc)->oversize_allocations.allocated, 3);
  end();
}

/* The free part of a segment can be as large as max_split_size when that was set after the segment was split. */
static void split_segments_are_not_released_for_a_request(void **state) {
  (void)state;
  begin_on("", 4 * GIB, VS_SIM_EVENTS_AT_ONCE);
  give(take(64 * MIB));
  const uint64_t live = take(9 * MIB);
  expect_ok(vs_alloc_settings_parse(&settings, VS_STR("max_split_size_mb:50"), NULL));
  expect_ok(vs_alloc_settings_apply(alloc, &settings));
  uint64_t address;
  assert_int_equal(vs_alloc_malloc(alloc, 4 * GIB, 0, VS_CONTEXT_NONE, &address), VS_DEVICE_MEMORY);
  assert_int_equal(now(VS_ALLOC_RESERVED_BYTES), 64 * MIB);
  assert_int_equal(block_size(live), 9 * MIB);
  end();
}

static void garbage_is_collected_by_age(void **state) {
  (void)state;
  begin_on("garbage_collection_threshold:0.5,per_process_memory_fraction:0.5", 4 * GIB,
           VS_SIM_EVENTS_AT_ONCE);
  const uint64_t old = take(600 * MIB);
  const uint64_t young = take(600 * MIB);
  give(old);
  for (int i = 0; i < 10; i++) give(take(30 * MIB)); /* each is a look into the cache */
  give(young);
  event_count = 0;
  (void)take(800 * MIB); /* 1200 MiB and more are above half of 2 GiB */
  assert_int_equal(events[0].kind, VS_EVENT_SEGMENT_FREE);
  assert_int_equal(events[0].address, old);
  assert_int_equal(vs_alloc_statistics_of(alloc)->num_alloc_retries, 0);
  end();
}

static void a_threshold_without_a_fraction_does_nothing(void **state) {
  (void)state;
  begin_on("garbage_collection_threshold:0.1", 4 * GIB, VS_SIM_EVENTS_AT_ONCE);
  for (int i = 0; i < 3; i++) give(take(600 * MIB + (uint64_t)i * 50 * MIB));
  assert_int_equal(now(VS_ALLOC_SEGMENT), 3);
  assert_int_equal(vs_alloc_statistics_of(alloc)->num_device_free, 0);
  end();
}

static void a_full_card_is_tried_again(void **state) {
  (void)state;
  begin_on("", 4 * GIB, VS_SIM_EVENTS_AT_ONCE);
  uint64_t address = 7;
  give(take(2 * GIB));
  (void)take(3 * GIB); /* after the cache was given back */
  const vs_alloc_statistics *statistics = vs_alloc_statistics_of(alloc);
  assert_int_equal(statistics->num_alloc_retries, 1);
  assert_int_equal(statistics->num_sync_all_streams, 1);
  expect_status(vs_alloc_malloc(alloc, 2 * GIB, 0, VS_CONTEXT_NONE, &address), VS_DEVICE_MEMORY);
  assert_int_equal(address, 0);
  assert_int_equal(statistics->num_alloc_retries, 2);
  assert_int_equal(statistics->num_ooms, 1);
  assert_int_equal(events[event_count - 1].kind, VS_EVENT_OOM);
  uint64_t free_bytes, total_bytes;
  expect_sim_ok(vs_sim_memory_info(card.sim, 0, &free_bytes, &total_bytes));
  assert_int_equal(events[event_count - 1].address, free_bytes);
  assert_int_equal(free_bytes, 4 * GIB - CONTEXT - 2 * MIB - 3 * GIB); /* 2 MiB are of the streams */
  end();
}

/* PyTorch records an event in the capture, asks it, and never recovers. */
static void streams_of_a_capture_are_not_asked(void **state) {
  (void)state;
  static const vs_sim_thread thread = {.id = 1, .mode = VS_SIM_CAPTURE_RELAXED};
  uint64_t graph;
  begin("");
  const uint64_t a = take_on(MIB, 0);
  expect_ok(vs_alloc_record_stream(alloc, a, STREAM(0)));
  expect_sim_ok(vs_sim_capture_begin(card.sim, &thread, 0, STREAM(0), VS_SIM_CAPTURE_RELAXED));
  vs_alloc_capture_begin(alloc);
  give(a);
  assert_int_not_equal(take(MIB), a);
  expect_sim_ok(vs_sim_capture_end(card.sim, &thread, 0, STREAM(0), &graph));
  vs_alloc_capture_end(alloc);
  assert_int_equal(take(MIB), a);
  expect_sim_ok(vs_sim_graph_destroy(card.sim, graph));
  end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(requests_are_rounded_and_placed),
      cmocka_unit_test(nothing_is_asked_for_nothing),
      cmocka_unit_test(divisions_round_in_steps),
      cmocka_unit_test(eight_steps),
      cmocka_unit_test(eight_steps_expandable),
      cmocka_unit_test(blocks_stay_with_their_stream),
      cmocka_unit_test(active_peaks_count_pending_blocks),
      cmocka_unit_test(recorded_blocks_stay_active),
      cmocka_unit_test(streams_of_a_capture_are_not_asked),
      cmocka_unit_test(oversize_blocks_are_handed_out_whole),
      cmocka_unit_test(split_segments_are_not_released_for_a_request),
      cmocka_unit_test(garbage_is_collected_by_age),
      cmocka_unit_test(a_threshold_without_a_fraction_does_nothing),
      cmocka_unit_test(a_full_card_is_tried_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
