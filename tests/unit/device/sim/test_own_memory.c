/* Memory of the driver and of libraries, against what was measured on an H100 and an H200 (tests/gpu/facts.py). */
#include "unit/device/sim/work.h"

static machine m;

static uint64_t used(vs_sim *sim, uint32_t device) {
  uint64_t free_bytes, total_bytes;
  expect_sim_ok(vs_sim_memory_info(sim, device, &free_bytes, &total_bytes));
  return total_bytes - free_bytes;
}

/* The numbers of streams at which the card had 2 MiB less, and those at which it had 4 MiB less. */
static void streams_take_what_they_took_on_the_card(void **state) {
  (void)state;
  static const uint32_t twice[] = {122, 250};
  static const uint32_t other[] = {36, 79, 164, 207, 292};
  machine_begin(&m, 1, 80 * GIB);
  vs_sim *sim = process_begin(&m, 7);
  uint64_t before = used(sim, 0);
  for (uint32_t count = 1; count <= 300; count++) {
    uint32_t granules = count % 4 == 2;
    for (size_t i = 0; i < sizeof twice / sizeof *twice; i++) granules += count == twice[i];
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) granules += count == other[i];
    uint64_t stream;
    expect_sim_ok(vs_sim_stream_create(sim, 0, 0, 0, &stream));
    assert_int_equal(used(sim, 0) - before, granules * 2 * MIB);
    before = used(sim, 0);
  }
  machine_end(&m);
}

static void memory_of_a_destroyed_stream_serves_the_next(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  uint64_t streams[10];
  for (int i = 0; i < 10; i++) streams[i] = new_stream(sim);
  const uint64_t before = used(sim, 0);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 10; i++) expect_sim_ok(vs_sim_stream_destroy(sim, streams[i]));
    assert_true(vs_sim_check(sim));
    for (int i = 0; i < 10; i++) streams[i] = new_stream(sim);
    assert_int_equal(used(sim, 0), before);
  }
  expect_sim_ok(vs_sim_device_reset(sim, 0));
  assert_true(vs_sim_check(sim));
  assert_int_equal(used(sim, 0), CONTEXT);
  machine_end(&m);
}

/* What the card had less after one, two and three handles. */
static void handles_take_what_they_took_on_the_card(void **state) {
  (void)state;
  static const struct {
    vs_sim_own_kind kind;
    uint64_t mib[3], before_hopper;
  } measured[] = {{VS_SIM_OWN_CUBLAS, {66, 130, 194}, 10},
                  {VS_SIM_OWN_CUDNN, {10, 18, 28}, 10},
                  {VS_SIM_OWN_CUSOLVER, {98, 194, 290}, 42},
                  {VS_SIM_OWN_KERNELS, {92, 92, 92}, 92}};
  machine_begin(&m, 1, 80 * GIB);
  vs_sim *sim = process_begin(&m, 7);
  const vs_sim_figures *a100 = &vs_sim_profile_find(VS_STR("A100"))->figures;
  for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
    const uint64_t before = used(sim, 0);
    for (int count = 0; count < 3; count++) {
      expect_sim_ok(vs_sim_own_take(sim, 0, measured[i].kind, NULL));
      assert_int_equal(used(sim, 0) - before, measured[i].mib[count] * MIB);
    }
    vs_sim_own_give(sim, 0, measured[i].kind);
    expect_sim_ok(vs_sim_own_take(sim, 0, measured[i].kind, NULL));
    assert_int_equal(used(sim, 0) - before, measured[i].mib[2] * MIB);
    assert_int_equal(vs_sim_own_bytes(measured[i].kind, a100, 1), measured[i].before_hopper * MIB);
    assert_int_equal(vs_sim_own_bytes(measured[i].kind, a100, 0), 0);
  }
  machine_end(&m);
}

/* What a GPT's training had beside PyTorch's allocator on both cards. */
static void the_room_is_what_a_training_had(void **state) {
  (void)state;
  const vs_sim_profile *h100 = vs_sim_profile_find(VS_STR("H100")),
                       *h200 = vs_sim_profile_find(VS_STR("H200"));
  assert_int_equal(vs_sim_room_bytes(h100, h100->figures.total_bytes, false), 85017493504 - 804061184);
  assert_int_equal(vs_sim_room_bytes(h200, 150109880320, false), 150109880320 - 804061184);
  assert_int_equal(vs_sim_room_bytes(h100, 804061184, false), 0);
  assert_int_equal(vs_sim_room_bytes(h100, 1, false), 0);
  assert_int_equal(vs_sim_beside_bytes(h100, false), 804061184);
  assert_int_equal(vs_sim_beside_bytes(h100, true), 804061184 + (UINT64_C(70) << 20));
  assert_int_equal(vs_sim_room_bytes(h100, h100->figures.total_bytes, true),
                   85017493504 - 804061184 - (UINT64_C(70) << 20));
  assert_true(vs_sim_context_is_measured(h200));
  assert_false(vs_sim_context_is_measured(vs_sim_profile_find(VS_STR("B200"))));
}

/* A new object tells what the card has less. */
static void what_was_taken_is_told(void **state) {
  (void)state;
  uint64_t taken = 7;
  machine_begin(&m, 1, 80 * GIB);
  vs_sim *sim = process_begin(&m, 7);
  expect_sim_ok(vs_sim_own_take(sim, 0, VS_SIM_OWN_CUDNN, &taken));
  assert_int_equal(taken, 10 * MIB);
  expect_sim_ok(vs_sim_own_take(sim, 0, VS_SIM_OWN_CUDNN, &taken));
  assert_int_equal(taken, 8 * MIB);
  vs_sim_own_give(sim, 0, VS_SIM_OWN_CUDNN);
  expect_sim_ok(vs_sim_own_take(sim, 0, VS_SIM_OWN_CUDNN, &taken));
  assert_int_equal(taken, 0);
  machine_end(&m);
}

/* The kind of card is that of a size alone, so dryrun --gpu with that size leaves the room. */
static void a_size_with_room_leaves_it(void **state) {
  (void)state;
  for (uint64_t room = UINT64_C(1) << 30; room < UINT64_C(200) << 30; room += UINT64_C(1) << 30)
    for (int streams = 0; streams < 2; streams++) {
      char text[32];
      vs_sim_gpu gpu;
      const uint64_t size = vs_sim_size_with_room(room, streams == 1);
      vs_format(text, sizeof text, "%UB", size);
      expect_ok(vs_sim_gpu_parse(vs_str_from(text), &gpu, NULL));
      assert_int_equal(gpu.total_bytes, size);
      assert_int_equal(vs_sim_room_bytes(gpu.profile, size, streams == 1), room);
    }
}

static void a_full_card_has_no_room_for_handles(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  uint64_t address;
  expect_sim_ok(vs_sim_alloc(sim, 0, GIB - CONTEXT - 65 * MIB, &address));
  const uint64_t before = used(sim, 0);
  expect_sim(vs_sim_own_take(sim, 0, VS_SIM_OWN_CUBLAS, NULL), VS_SIM_OUT_OF_MEMORY);
  assert_int_equal(used(sim, 0), before);
  assert_true(vs_sim_check(sim));
  expect_sim_ok(vs_sim_alloc(sim, 0, 64 * MIB, &address)); /* the last but one granule */
  uint64_t stream;
  expect_sim_ok(vs_sim_stream_create(sim, 0, 0, 0, &stream)); /* the context has room for one */
  expect_sim(vs_sim_stream_create(sim, 0, 0, 0, &stream), VS_SIM_OUT_OF_MEMORY);
  assert_true(vs_sim_check(sim));
  vs_sim_own_give(sim, 0, VS_SIM_OWN_CUBLAS); /* none is there */
  expect_sim(vs_sim_own_take(sim, 1, VS_SIM_OWN_CUBLAS, NULL), VS_SIM_INVALID_DEVICE);
  machine_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(streams_take_what_they_took_on_the_card),
      cmocka_unit_test(memory_of_a_destroyed_stream_serves_the_next),
      cmocka_unit_test(handles_take_what_they_took_on_the_card),
      cmocka_unit_test(the_room_is_what_a_training_had),
      cmocka_unit_test(what_was_taken_is_told),
      cmocka_unit_test(a_size_with_room_leaves_it),
      cmocka_unit_test(a_full_card_has_no_room_for_handles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
