/* Numbers and texts: each from its call, of one instant, or with the reason why not. */
#include "fake.h"

/* ---- every number of the H200, as its scenario has it */

typedef struct wanted {
  vs_metric_id id;
  uint64_t value;
} wanted;

#define W(name, value) \
  { VS_METRIC_ID_##name, (uint64_t)(value) }
static const wanted h200[] = {
    W(MEMORY_TOTAL, 143771 * MIB),
    W(MEMORY_RESERVED, 643301376),
    W(MEMORY_USED, 0),
    W(MEMORY_FREE, 143771 * MIB - 643301376),
    W(MEMORY_API, 2),
    W(BAR1_TOTAL, 256 * GIB),
    W(BAR1_USED, MIB),
    W(BAR1_FREE, 256 * GIB - MIB),
    W(PERFORMANCE_STATE, 0),
    W(UTILIZATION_GPU, 0),
    W(UTILIZATION_MEMORY, 0),
    W(UTILIZATION_ENCODER, 0),
    W(UTILIZATION_DECODER, 0),
    W(UTILIZATION_JPEG, 0),
    W(UTILIZATION_OFA, 0),
    W(ENCODER_SESSIONS, 0),
    W(ENCODER_FPS, 0),
    W(ENCODER_LATENCY, 0),
    W(TEMPERATURE, 28),
    W(TEMPERATURE_LIMIT, 58),
    W(TEMPERATURE_MEMORY, 33),
    W(POWER_DRAW, 77710),
    W(POWER_DRAW_AVERAGE, 77710),
    W(POWER_DRAW_INSTANT, 77690),
    W(POWER_LIMIT, 700000),
    W(POWER_LIMIT_ENFORCED, 700000),
    W(POWER_LIMIT_DEFAULT, 700000),
    W(POWER_LIMIT_MIN, 200000),
    W(POWER_LIMIT_MAX, 700000),
    W(ENERGY, 123456789),
    W(CLOCK_GRAPHICS, 345),
    W(CLOCK_SM, 345),
    W(CLOCK_MEMORY, 3201),
    W(CLOCK_VIDEO, 765),
    W(CLOCK_GRAPHICS_MAX, 1980),
    W(CLOCK_SM_MAX, 1980),
    W(CLOCK_MEMORY_MAX, 3201),
    W(CLOCK_VIDEO_MAX, 1545),
    W(CLOCK_REASONS, 1),
    W(CLOCK_REASONS_SUPPORTED, 0x1EF),
    W(CLOCK_TIME_POWER_CAP, 2000),
    W(CLOCK_TIME_SYNC_BOOST, 0),
    W(CLOCK_TIME_SOFTWARE_THERMAL, 0),
    W(CLOCK_TIME_HARDWARE_THERMAL, 0),
    W(CLOCK_TIME_POWER_BRAKE, 0),
    W(PCIE_GENERATION, 5),
    W(PCIE_GENERATION_MAX, 5),
    W(PCIE_GENERATION_GPU_MAX, 5),
    W(PCIE_WIDTH, 16),
    W(PCIE_WIDTH_MAX, 16),
    W(PCIE_SENT, 700000),
    W(PCIE_RECEIVED, 300000),
    W(PCIE_REPLAYS, 0),
    W(PCI_DEVICE_ID, 0x233510DE),
    W(PCI_SUBSYSTEM_ID, 0x18BE10DE),
    W(PCI_BASE_CLASS, 3),
    W(PCI_SUB_CLASS, 2),
    W(C2C_MODE, 0),
    W(FABRIC_STATE, 3),
    W(FABRIC_STATUS, 0),
    W(FABRIC_CLIQUE, 0),
    W(FABRIC_HEALTH, 0),
    W(COMPUTE_CAPABILITY, 9 << 16),
    W(COMPUTE_MODE, 0),
    W(PERSISTENCE_MODE, 1),
    W(ADDRESSING_MODE, 1),
    W(MIG_MODE, 0),
    W(MIG_MODE_PENDING, 0),
    W(MIG_SLOTS, 7),
    W(ACCOUNTING_MODE, 0),
    W(ACCOUNTING_BUFFER_SIZE, 4000),
    W(DISPLAY_ATTACHED, 0),
    W(DISPLAY_ACTIVE, 0),
    W(RECOVERY_ACTION, 0),
    W(GSP_MODE, 1),
    W(GSP_MODE_DEFAULT, 1),
    W(DRAM_ENCRYPTION, 0),
    W(DRAM_ENCRYPTION_PENDING, 0),
    W(MULTIPROCESSORS, 132),
    W(ECC_MODE, 1),
    W(ECC_MODE_PENDING, 1),
    W(ECC_CORRECTED_VOLATILE_DEVICE_MEMORY, 0),
    W(ECC_CORRECTED_VOLATILE_DRAM, 0),
    W(ECC_CORRECTED_VOLATILE_SRAM, 0),
    W(ECC_CORRECTED_VOLATILE_TOTAL, 0),
    W(ECC_CORRECTED_AGGREGATE_DEVICE_MEMORY, 2),
    W(ECC_CORRECTED_AGGREGATE_DRAM, 2),
    W(ECC_CORRECTED_AGGREGATE_SRAM, 0),
    W(ECC_CORRECTED_AGGREGATE_TOTAL, 2),
    W(ECC_UNCORRECTED_VOLATILE_DEVICE_MEMORY, 0),
    W(ECC_UNCORRECTED_VOLATILE_DRAM, 0),
    W(ECC_UNCORRECTED_VOLATILE_SRAM, 0),
    W(ECC_UNCORRECTED_VOLATILE_TOTAL, 0),
    W(ECC_UNCORRECTED_AGGREGATE_DEVICE_MEMORY, 0),
    W(ECC_UNCORRECTED_AGGREGATE_DRAM, 0),
    W(ECC_UNCORRECTED_AGGREGATE_SRAM, 0),
    W(ECC_UNCORRECTED_AGGREGATE_TOTAL, 0),
    W(ECC_SRAM_VOLATILE_PARITY, 0),
    W(ECC_SRAM_VOLATILE_SECDED, 0),
    W(ECC_SRAM_AGGREGATE_PARITY, 0),
    W(ECC_SRAM_AGGREGATE_SECDED, 0),
    W(ECC_SRAM_AGGREGATE_L2, 0),
    W(ECC_SRAM_AGGREGATE_SM, 0),
    W(ECC_SRAM_AGGREGATE_MCU, 0),
    W(ECC_SRAM_AGGREGATE_PCIE, 0),
    W(ECC_SRAM_AGGREGATE_OTHER, 0),
    W(ECC_SRAM_THRESHOLD_EXCEEDED, 0),
    W(REMAPPED_ROWS_CORRECTABLE, 0),
    W(REMAPPED_ROWS_UNCORRECTABLE, 0),
    W(REMAPPED_ROWS_PENDING, 0),
    W(REMAPPED_ROWS_FAILURE, 0),
    W(REMAPPED_ROWS_MAX, 6144),
    W(REMAPPED_ROWS_HIGH, 0),
    W(REMAPPED_ROWS_PARTIAL, 0),
    W(REMAPPED_ROWS_LOW, 0),
    W(REMAPPED_ROWS_NONE, 0),
};
enum { H200 = sizeof h200 / sizeof h200[0] };

/* All that the list above does not have is not supported there. */
static void every_number_comes_from_its_call(void **state) {
  (void)state;
  vs_telemetry telemetry = fake_open("h200");
  vs_metric_id ids[VS_METRIC_ID_COUNT];
  vs_metric together[VS_METRIC_ID_COUNT];
  for (unsigned i = 0; i < VS_METRIC_ID_COUNT; i++) ids[i] = (vs_metric_id)i;
  telemetry.ops->metrics(telemetry.ctx, 0, ids, VS_METRIC_ID_COUNT, together);
  unsigned at = 0;
  for (unsigned i = 0; i < VS_METRIC_ID_COUNT; i++) {
    const vs_metric alone = fake_metric(&telemetry, 0, ids[i]);
    assert_memory_equal(&alone, &together[i], sizeof alone);
    if (at < H200 && h200[at].id == ids[i]) {
      if (!vs_metric_is_known(alone) || alone.value != h200[at].value)
        fail_msg("%s is %s %llu", vs_metric_describe(ids[i])->name, vs_reason_name(alone.reason),
                 (unsigned long long)alone.value);
      at++;
    } else if (alone.reason != VS_REASON_NOT_SUPPORTED)
      fail_msg("%s is %s", vs_metric_describe(ids[i])->name, vs_reason_name(alone.reason));
  }
  assert_int_equal(at, H200);
  fake_close(&telemetry);
}

/* Each number has a value of its own here, so that two that are taken for each other are seen. */
static const wanted DISTINCT[] = {
    W(UTILIZATION_GPU, 11),
    W(UTILIZATION_MEMORY, 12),
    W(UTILIZATION_ENCODER, 13),
    W(UTILIZATION_DECODER, 14),
    W(UTILIZATION_JPEG, 15),
    W(UTILIZATION_OFA, 16),
    W(ENCODER_SESSIONS, 21),
    W(ENCODER_FPS, 22),
    W(ENCODER_LATENCY, 23),
    W(POWER_LIMIT, 31),
    W(POWER_LIMIT_ENFORCED, 32),
    W(POWER_LIMIT_DEFAULT, 33),
    W(POWER_LIMIT_MIN, 34),
    W(POWER_LIMIT_MAX, 35),
    W(POWER_DRAW, 36),
    W(POWER_DRAW_AVERAGE, 37),
    W(POWER_DRAW_INSTANT, 38),
    W(CLOCK_GRAPHICS, 41),
    W(CLOCK_SM, 42),
    W(CLOCK_MEMORY, 43),
    W(CLOCK_VIDEO, 44),
    W(CLOCK_GRAPHICS_MAX, 45),
    W(CLOCK_SM_MAX, 46),
    W(CLOCK_MEMORY_MAX, 47),
    W(CLOCK_VIDEO_MAX, 48),
    W(CLOCK_TIME_POWER_CAP, 51),
    W(CLOCK_TIME_SYNC_BOOST, 52),
    W(CLOCK_TIME_SOFTWARE_THERMAL, 53),
    W(CLOCK_TIME_HARDWARE_THERMAL, 54),
    W(CLOCK_TIME_POWER_BRAKE, 55),
    W(PCIE_GENERATION, 61),
    W(PCIE_GENERATION_MAX, 62),
    W(PCIE_GENERATION_GPU_MAX, 63),
    W(PCIE_WIDTH, 64),
    W(PCIE_WIDTH_MAX, 65),
    W(MIG_MODE, 0),
    W(MIG_MODE_PENDING, 1),
    W(GSP_MODE, 1),
    W(GSP_MODE_DEFAULT, 0),
    W(DRAM_ENCRYPTION, 0),
    W(DRAM_ENCRYPTION_PENDING, 1),
    W(OPERATION_MODE, 1),
    W(OPERATION_MODE_PENDING, 2),
    W(ECC_MODE, 0),
    W(ECC_MODE_PENDING, 1),
    W(ECC_CORRECTED_VOLATILE_REGISTER_FILE, 101),
    W(ECC_CORRECTED_VOLATILE_L1_CACHE, 102),
    W(ECC_CORRECTED_VOLATILE_L2_CACHE, 103),
    W(ECC_CORRECTED_AGGREGATE_TEXTURE_MEMORY, 104),
    W(ECC_UNCORRECTED_VOLATILE_CBU, 105),
    W(ECC_UNCORRECTED_AGGREGATE_SRAM, 106),
    W(ECC_UNCORRECTED_AGGREGATE_DRAM, 107),
    W(ECC_CORRECTED_VOLATILE_TOTAL, 108),
    W(ECC_CORRECTED_AGGREGATE_TOTAL, 109),
    W(ECC_UNCORRECTED_VOLATILE_TOTAL, 110),
    W(ECC_UNCORRECTED_AGGREGATE_TOTAL, 111),
    W(ECC_SRAM_VOLATILE_PARITY, 121),
    W(ECC_SRAM_VOLATILE_SECDED, 122),
    W(ECC_SRAM_AGGREGATE_PARITY, 123),
    W(ECC_SRAM_AGGREGATE_SECDED, 124),
    W(ECC_SRAM_AGGREGATE_L2, 125),
    W(ECC_SRAM_AGGREGATE_SM, 126),
    W(ECC_SRAM_AGGREGATE_MCU, 127),
    W(ECC_SRAM_AGGREGATE_PCIE, 128),
    W(ECC_SRAM_AGGREGATE_OTHER, 129),
    W(ECC_SRAM_THRESHOLD_EXCEEDED, 1),
    W(RETIRED_PAGES_SINGLE_BIT, 3),
    W(RETIRED_PAGES_DOUBLE_BIT, 5),
    W(RETIRED_PAGES_PENDING, 1),
    W(REMAPPED_ROWS_CORRECTABLE, 131),
    W(REMAPPED_ROWS_UNCORRECTABLE, 132),
    W(REMAPPED_ROWS_PENDING, 1),
    W(REMAPPED_ROWS_FAILURE, 0),
    W(REMAPPED_ROWS_MAX, 141),
    W(REMAPPED_ROWS_HIGH, 142),
    W(REMAPPED_ROWS_PARTIAL, 143),
    W(REMAPPED_ROWS_LOW, 144),
    W(REMAPPED_ROWS_NONE, 145),
    W(PROTECTED_TOTAL, 8 * GIB),
    W(PROTECTED_USED, 3 * GIB),
    W(PROTECTED_FREE, 5 * GIB),
    W(TEMPERATURE, 28),
    W(TEMPERATURE_LIMIT, (int64_t)-1), /* one degree too hot; no "not available" */
    W(NUMA_NODE, 4),
    W(FAN_SPEED, 44),
    W(FABRIC_STATE, 2),
    W(FABRIC_STATUS, 3),
    W(FABRIC_CLIQUE, 9),
    W(FABRIC_HEALTH, 6),
    W(DISPLAY_ATTACHED, 1),
    W(DISPLAY_ACTIVE, 0),
};

static void each_number_is_its_own(void **state) {
  (void)state;
  vs_telemetry telemetry = fake_open("distinct");
  for (size_t i = 0; i < sizeof DISTINCT / sizeof DISTINCT[0]; i++) {
    const vs_metric metric = fake_metric(&telemetry, 0, DISTINCT[i].id);
    if (!vs_metric_is_known(metric) || metric.value != DISTINCT[i].value)
      fail_msg("%s is %s %lld", vs_metric_describe(DISTINCT[i].id)->name, vs_reason_name(metric.reason),
               (long long)metric.value);
  }
  fake_close(&telemetry);
}

/* ---- one instant */

/* Used memory is another at each question; asked together the four are of one. */
static void what_one_call_tells_is_of_one_instant(void **state) {
  (void)state;
  vs_telemetry telemetry = fake_open("moving");
  const vs_telemetry_cost *cost = fake_cost(&telemetry, "nvmlDeviceGetMemoryInfo_v2");
  vs_telemetry_memory memory, last = {0};
  for (int i = 0; i < 4; i++) {
    const uint64_t before = cost->calls;
    telemetry.ops->memory(telemetry.ctx, 0, &memory);
    assert_int_equal(cost->calls, before + 1);
    assert_int_equal(memory.total.value, memory.reserved.value + memory.used.value + memory.free.value);
    assert_int_not_equal(memory.used.value, last.used.value);
    assert_int_equal(memory.api, 2);
    last = memory;
  }
  static const vs_metric_id fields[] = {VS_METRIC_ID_TEMPERATURE_MEMORY, VS_METRIC_ID_MEMORY_TOTAL,
                                        VS_METRIC_ID_POWER_DRAW_AVERAGE, VS_METRIC_ID_TEMPERATURE_MEMORY,
                                        VS_METRIC_ID_CLOCK_TIME_POWER_CAP};
  vs_metric to[5];
  const vs_telemetry_cost *asked = fake_cost(&telemetry, "nvmlDeviceGetFieldValues");
  assert_int_equal(asked->calls, 0);
  telemetry.ops->metrics(telemetry.ctx, 0, fields, 5, to);
  assert_int_equal(asked->calls, 1);
  expect_known(to[0], 68);
  expect_known(to[1], 143771 * MIB);
  expect_known(to[2], 612340);
  expect_known(to[3], 68);
  expect_known(to[4], 2000);
  vs_metric_id again[64];
  vs_metric same[64];
  for (int i = 0; i < 64; i++) again[i] = VS_METRIC_ID_TEMPERATURE_MEMORY;
  telemetry.ops->metrics(telemetry.ctx, 0, again, 64, same);
  for (int i = 0; i < 64; i++) expect_known(same[i], 68);
  fake_close(&telemetry);
}

/* ---- what is not there */

static void the_first_call_for_memory_counts_the_reserve_as_used(void **state) {
  (void)state;
  static const char *const variants[] = {"", "old/"};
  for (int i = 0; i < 2; i++) {
    vs_telemetry telemetry = fake_open_variant(i == 0 ? "missing" : "h200_loaded", variants[i]);
    vs_telemetry_memory memory;
    telemetry.ops->memory(telemetry.ctx, 0, &memory);
    assert_int_equal(memory.api, 1);
    expect_known(memory.total, 143771 * MIB);
    expect_known(memory.used, 32362 * MIB + 643301376);
    expect_known(memory.free, 143771 * MIB - 32362 * MIB - 643301376);
    expect_reason(memory.reserved, VS_REASON_NOT_SUPPORTED, 3);
    expect_known(fake_metric(&telemetry, 0, VS_METRIC_ID_CLOCK_REASONS), 4);
    expect_known(fake_metric(&telemetry, 0, VS_METRIC_ID_TEMPERATURE), 61);
    expect_known(fake_metric(&telemetry, 0, VS_METRIC_ID_PCI_DEVICE_ID), 0x233510DE);
    expect_reason(fake_metric(&telemetry, 0, VS_METRIC_ID_PCI_BASE_CLASS), VS_REASON_NOT_SUPPORTED, 3);
    fake_close(&telemetry);
  }
}

static void a_missing_function_has_its_own_reason(void **state) {
  (void)state;
  vs_telemetry telemetry = fake_open_variant("h200_loaded", "old/");
  expect_reason(fake_metric(&telemetry, 0, VS_METRIC_ID_REMAPPED_ROWS_PENDING), VS_REASON_NO_FUNCTION, 13);
  expect_reason(fake_metric(&telemetry, 0, VS_METRIC_ID_TEMPERATURE_LIMIT), VS_REASON_NO_FUNCTION, 13);
  expect_reason(fake_metric(&telemetry, 0, VS_METRIC_ID_TEMPERATURE_MEMORY), VS_REASON_NO_FUNCTION, 13);
  expect_reason(fake_metric(&telemetry, 0, VS_METRIC_ID_ADDRESSING_MODE), VS_REASON_NO_FUNCTION, 13);
  expect_reason(fake_metric(&telemetry, 0, VS_METRIC_ID_MIG_MODE), VS_REASON_NO_FUNCTION, 13);
  char text[VS_METRIC_TEXT_SIZE];
  expect_reason(telemetry.ops->text(telemetry.ctx, 0, VS_METRIC_TEXT_ID_GSP_FIRMWARE, text),
                VS_REASON_NO_FUNCTION, 13);
  assert_string_equal(text, "");
  fake_close(&telemetry);
}

static void who_may_not_is_told_and_the_rest_is_known(void **state) {
  (void)state;
  vs_telemetry telemetry = fake_open("not_permitted");
  vs_telemetry_memory memory;
  telemetry.ops->memory(telemetry.ctx, 0, &memory);
  expect_reason(memory.total, VS_REASON_NO_PERMISSION, 4);
  expect_reason(memory.used, VS_REASON_NO_PERMISSION, 4);
  assert_int_equal(memory.api, 0);
  expect_reason(fake_metric(&telemetry, 0, VS_METRIC_ID_POWER_LIMIT), VS_REASON_NO_PERMISSION, 4);
  expect_known(fake_metric(&telemetry, 0, VS_METRIC_ID_POWER_DRAW), 77710);
  char text[VS_METRIC_TEXT_SIZE];
  expect_reason(telemetry.ops->text(telemetry.ctx, 0, VS_METRIC_TEXT_ID_SERIAL, text),
                VS_REASON_NO_PERMISSION, 4);
  fake_close(&telemetry);
}

/* Not available in 32 or 64 bits, performance state 32, and each code by its reason. */
static void nothing_unknown_is_a_number(void **state) {
  (void)state;
  vs_telemetry telemetry = fake_open("odd");
  expect_reason(fake_metric(&telemetry, 0, VS_METRIC_ID_PERFORMANCE_STATE), VS_REASON_NOT_SUPPORTED, 0);
  expect_reason(fake_metric(&telemetry, 0, VS_METRIC_ID_FAN_SPEED), VS_REASON_NOT_SUPPORTED, 0);
  expect_reason(fake_metric(&telemetry, 0, VS_METRIC_ID_MEMORY_USED), VS_REASON_NOT_VISIBLE, 0);
  expect_reason(fake_metric(&telemetry, 0, VS_METRIC_ID_POWER_DRAW), VS_REASON_STALE, 10);
  expect_reason(fake_metric(&telemetry, 0, VS_METRIC_ID_POWER_LIMIT), VS_REASON_FAILED, 999);
  expect_reason(fake_metric(&telemetry, 0, VS_METRIC_ID_POWER_LIMIT_ENFORCED), VS_REASON_DEPRECATED, 26);
  expect_reason(fake_metric(&telemetry, 0, VS_METRIC_ID_POWER_LIMIT_DEFAULT), VS_REASON_NOT_FOUND, 6);
  expect_reason(fake_metric(&telemetry, 0, VS_METRIC_ID_UTILIZATION_GPU), VS_REASON_NO_FUNCTION, 25);
  expect_reason(fake_metric(&telemetry, 0, VS_METRIC_ID_PCIE_GENERATION_HOST_MAX), VS_REASON_NOT_SUPPORTED,
                0);
  fake_close(&telemetry);
}

/* Some field numbers meant something else to older drivers, which would answer with a wrong figure. */
static void a_field_is_not_asked_of_a_driver_that_knows_another_by_its_number(void **state) {
  (void)state;
  vs_telemetry telemetry = fake_open("branch_575");
  expect_reason(fake_metric(&telemetry, 0, VS_METRIC_ID_CLOCK_TIME_HARDWARE_THERMAL), VS_REASON_NO_FUNCTION,
                0);
  assert_int_equal(fake_cost(&telemetry, "nvmlDeviceGetFieldValues")->calls, 0);
  expect_known(fake_metric(&telemetry, 0, VS_METRIC_ID_CLOCK_TIME_POWER_CAP), 2000);
  fake_close(&telemetry);
}

/* ---- MIG */

static void a_mig_device_has_some_figures_of_its_own(void **state) {
  (void)state;
  vs_telemetry telemetry = fake_open("mig");
  expect_known(fake_metric(&telemetry, 0, VS_METRIC_ID_MEMORY_USED), 17000 * MIB);
  expect_reason(fake_metric(&telemetry, 0, VS_METRIC_ID_UTILIZATION_GPU), VS_REASON_NOT_SUPPORTED, 3);
  expect_known(fake_metric(&telemetry, 1, VS_METRIC_ID_MEMORY_TOTAL), 71424 * MIB);
  expect_known(fake_metric(&telemetry, 1, VS_METRIC_ID_MEMORY_USED), 16925 * MIB);
  expect_known(fake_metric(&telemetry, 2, VS_METRIC_ID_MEMORY_USED), 16925 * MIB);
  expect_known(fake_metric(&telemetry, 3, VS_METRIC_ID_MEMORY_USED), 15 * MIB);
  expect_known(fake_metric(&telemetry, 1, VS_METRIC_ID_MULTIPROCESSORS), 16);
  expect_reason(fake_metric(&telemetry, 1, VS_METRIC_ID_UTILIZATION_GPU), VS_REASON_NOT_SUPPORTED, 3);
  expect_reason(fake_metric(&telemetry, 1, VS_METRIC_ID_UTILIZATION_ENCODER), VS_REASON_NOT_SUPPORTED, 3);
  expect_known(fake_metric(&telemetry, 1, VS_METRIC_ID_TEMPERATURE), 28);
  expect_known(fake_metric(&telemetry, 1, VS_METRIC_ID_POWER_DRAW_INSTANT), 77690);
  char text[VS_METRIC_TEXT_SIZE];
  expect_known(telemetry.ops->text(telemetry.ctx, 3, VS_METRIC_TEXT_ID_NAME, text), 23);
  assert_string_equal(text, "NVIDIA H200 MIG 1g.18gb");
  expect_known(telemetry.ops->text(telemetry.ctx, 3, VS_METRIC_TEXT_ID_VBIOS_VERSION, text), 14);
  fake_close(&telemetry);
  telemetry = fake_open("mig_not_permitted");
  expect_reason(fake_metric(&telemetry, 0, VS_METRIC_ID_MEMORY_USED), VS_REASON_NO_PERMISSION, 4);
  expect_known(fake_metric(&telemetry, 1, VS_METRIC_ID_MEMORY_USED), 16925 * MIB);
  fake_close(&telemetry);
}

/* ---- texts */

static void every_text_comes_from_its_call(void **state) {
  (void)state;
  static const char *const texts[VS_METRIC_TEXT_ID_COUNT] = {
      [VS_METRIC_TEXT_ID_NAME] = "NVIDIA H200",
      [VS_METRIC_TEXT_ID_UUID] = "GPU-a1b2c3d4-0000-4000-8000-000000000001",
      [VS_METRIC_TEXT_ID_SERIAL] = "1650000000001",
      [VS_METRIC_TEXT_ID_BUS_ID] = "00000000:83:00.0",
      [VS_METRIC_TEXT_ID_VBIOS_VERSION] = "96.00.A5.00.03",
      [VS_METRIC_TEXT_ID_BOARD_PART] = "692-2G520-0280-000",
      [VS_METRIC_TEXT_ID_INFOROM_IMAGE] = "G520.0280.00.03",
      [VS_METRIC_TEXT_ID_INFOROM_OEM] = "2.1",
      [VS_METRIC_TEXT_ID_INFOROM_ECC] = "7.16",
      [VS_METRIC_TEXT_ID_GSP_FIRMWARE] = "590.48.01",
      [VS_METRIC_TEXT_ID_FABRIC_CLUSTER] = "11111111-1111-1111-1111-111111111111",
  };
  vs_telemetry telemetry = fake_open("h200");
  for (unsigned i = 0; i < VS_METRIC_TEXT_ID_COUNT; i++) {
    char text[VS_METRIC_TEXT_SIZE];
    const vs_metric metric = telemetry.ops->text(telemetry.ctx, 0, (vs_metric_text_id)i, text);
    if (texts[i] == NULL) expect_reason(metric, VS_REASON_NOT_SUPPORTED, 3);
    else expect_known(metric, strlen(texts[i]));
    assert_string_equal(text, texts[i] == NULL ? "" : texts[i]);
  }
  fake_close(&telemetry);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_number_comes_from_its_call),
      cmocka_unit_test(each_number_is_its_own),
      cmocka_unit_test(what_one_call_tells_is_of_one_instant),
      cmocka_unit_test(the_first_call_for_memory_counts_the_reserve_as_used),
      cmocka_unit_test(a_missing_function_has_its_own_reason),
      cmocka_unit_test(who_may_not_is_told_and_the_rest_is_known),
      cmocka_unit_test(nothing_unknown_is_a_number),
      cmocka_unit_test(a_field_is_not_asked_of_a_driver_that_knows_another_by_its_number),
      cmocka_unit_test(a_mig_device_has_some_figures_of_its_own),
      cmocka_unit_test(every_text_comes_from_its_call),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
