/* Connections to the fake NVML (tests/fake): machines that never were, with the answers that real ones gave. */
#ifndef VS_TESTS_DEVICE_NVML_FAKE_H
#define VS_TESTS_DEVICE_NVML_FAKE_H

#include "base/host.h"
#include "device/abi/nvml_types.h"
#include "device/nvml/nvml.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* The fake library, as CMake builds it; "old/" is the one without the newer functions. */
static inline const char *fake_library(const char *variant) {
  static char path[4096];
  const char *folder = getenv("VRAMSCOPE_FAKE");
  if (folder == NULL) fail_msg("VRAMSCOPE_FAKE is to name the folder of the fake NVML");
  snprintf(path, sizeof path, "%s/%slibnvidia-ml.so.1", folder, variant);
  return path;
}

/* Chooses a scenario of tests/fake/scenarios, for the next connection. */
static inline void fake_choose(const char *scenario) {
  char path[256];
  snprintf(path, sizeof path, "tests/fake/scenarios/%s.txt", scenario);
  setenv("VRAMSCOPE_FAKE_NVML", path, 1);
}

static inline vs_telemetry fake_open_variant(const char *scenario, const char *variant) {
  vs_telemetry telemetry;
  vs_telemetry_failure failure;
  fake_choose(scenario);
  expect_ok(vs_nvml_open(vs_host_default(), fake_library(variant), &telemetry, &failure));
  return telemetry;
}
static inline vs_telemetry fake_open(const char *scenario) { return fake_open_variant(scenario, ""); }
static inline void fake_close(vs_telemetry *telemetry) { telemetry->ops->close(telemetry->ctx); }

static inline vs_metric fake_metric(const vs_telemetry *telemetry, uint32_t unit, vs_metric_id id) {
  return telemetry->ops->metric(telemetry->ctx, unit, id);
}

static inline void expect_known_at(vs_metric metric, uint64_t value, const char *file, int line) {
  _assert_string_equal(vs_reason_name(metric.reason), "KNOWN", file, line);
  _assert_int_equal(metric.value, value, file, line);
  _assert_int_equal((uint64_t)metric.code, 0, file, line);
}
static inline void expect_reason_at(vs_metric metric, vs_reason reason, int32_t code, const char *file,
                                    int line) {
  _assert_string_equal(vs_reason_name(metric.reason), vs_reason_name(reason), file, line);
  _assert_int_equal((uint64_t)metric.code, (uint64_t)code, file, line);
  _assert_int_equal(metric.value, 0, file, line);
}
#define expect_known(metric, value)         expect_known_at((metric), (uint64_t)(value), __FILE__, __LINE__)
#define expect_reason(metric, reason, code) expect_reason_at((metric), (reason), (code), __FILE__, __LINE__)

/* What a function cost so far. */
static inline const vs_telemetry_cost *fake_cost(const vs_telemetry *telemetry, const char *function) {
  const vs_telemetry_cost *list;
  const uint32_t count = telemetry->ops->costs(telemetry->ctx, &list);
  for (uint32_t i = 0; i < count; i++)
    if (strcmp(list[i].function, function) == 0) return &list[i];
  fail_msg("there is no %s in the list of costs", function);
  return NULL;
}

#endif
