/* A machine of tests/fake/scenarios behind the true NVML loader, with a /proc that the test made, or none. */
#ifndef VS_TESTS_MACHINE_H
#define VS_TESTS_MACHINE_H

#include "support/made_proc.h"
#include "support/test.h"

#include <vramscope/devices.h>

#include <stdlib.h>

#define MIB (UINT64_C(1) << 20)

static inline void set_machine(const char *scenario) {
  char path[512];
  vs_format(path, sizeof path, "tests/fake/scenarios/%s.txt", scenario);
  assert_int_equal(setenv("VRAMSCOPE_FAKE_NVML", path, 1), 0);
}

/* The fake library, without variables of the environment that runs the tests. */
static inline const char *fake_library(const char *name) {
  static char path[512];
  const char *folder = getenv("VRAMSCOPE_FAKE");
  if (folder == NULL) fail_msg("VRAMSCOPE_FAKE has to name the folder of the fake libraries");
  vs_format(path, sizeof path, "%s/%s", folder, name);
  (void)unsetenv("CUDA_VISIBLE_DEVICES");
  (void)unsetenv("CUDA_DEVICE_ORDER");
  return path;
}

static inline vs_devices *open_machine(const char *scenario, vs_devices_options options) {
  vs_devices *devices;
  vs_devices_failure failure;
  set_machine(scenario);
  options.nvml = fake_library("libnvidia-ml.so.1");
  if (options.proc == NULL) options.proc = "/not/there";
  const vs_status status = vs_devices_open(&options, &devices, &failure);
  if (status != VS_OK) fail_msg("%s: %s", scenario, failure.text);
  return devices;
}

static inline vs_devices_info info_of(const vs_devices *devices, uint32_t unit) {
  vs_devices_info info;
  expect_ok(vs_devices_info_of(devices, unit, &info));
  return info;
}

#define expect_known(metric, wanted) expect_known_at((metric), (wanted), __FILE__, __LINE__)
#define expect_reason(metric, wanted) \
  _assert_string_equal(vs_reason_name((metric).reason), vs_reason_name(wanted), __FILE__, __LINE__)

static inline void expect_known_at(vs_metric metric, uint64_t wanted, const char *file, int line) {
  _assert_string_equal(vs_reason_name(metric.reason), "KNOWN", file, line);
  _assert_int_equal(metric.value, wanted, file, line);
}

#endif
