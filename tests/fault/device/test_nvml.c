/* A connection to NVML with each request for host memory failing once: an error or a reason, nothing lost, and it goes on. */
#include "device/nvml/nvml.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

enum { OUT_OF_MEMORY = 20 }; /* the code of a list that there was no room for */

static vs_status ask(vs_telemetry *telemetry) {
  const vs_telemetry_process *processes;
  const vs_telemetry_account *accounts;
  for (uint32_t unit = 0; unit < telemetry->ops->count(telemetry->ctx); unit++) {
    const vs_metric listed = telemetry->ops->processes(telemetry->ctx, unit, VS_PROCESS_ALL, &processes);
    if (listed.code == OUT_OF_MEMORY) return VS_NO_MEMORY;
    const vs_metric kept = telemetry->ops->accounts(telemetry->ctx, unit, &accounts);
    if (kept.code == OUT_OF_MEMORY) return VS_NO_MEMORY;
    if (!vs_metric_is_known(listed) || !vs_metric_is_known(kept)) return VS_DEVICE;
  }
  return VS_OK;
}

static vs_status live(const vs_host *host, void *path) {
  vs_telemetry telemetry;
  vs_telemetry_failure failure;
  VS_TRY(vs_nvml_open(host, path, &telemetry, &failure));
  vs_status status = ask(&telemetry);
  if (status == VS_OK) status = telemetry.ops->reopen(telemetry.ctx, &failure);
  if (status == VS_OK) status = ask(&telemetry);
  telemetry.ops->close(telemetry.ctx);
  return status;
}

static void a_connection_survives_a_host_without_memory(void **state) {
  (void)state;
  static const char *const scenarios[] = {"accounting", "sixteen", "mig", "r535"};
  char path[4096], scenario[256];
  const char *folder = getenv("VRAMSCOPE_FAKE");
  assert_non_null(folder);
  snprintf(path, sizeof path, "%s/libnvidia-ml.so.1", folder);
  for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
    snprintf(scenario, sizeof scenario, "tests/fake/scenarios/%s.txt", scenarios[i]);
    setenv("VRAMSCOPE_FAKE_NVML", scenario, 1);
    assert_in_range(fault_prove(live, path), 4, 1000);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_connection_survives_a_host_without_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
