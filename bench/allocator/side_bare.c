/* Our allocator on a simulated H100, without lock and observer. */
#include "sides.h"

#include <stdio.h>

#include "alloc/alloc.h"
#include "device/sim/device.h"

static void must(vs_status status, const char *what) {
  if (status != VS_OK) bench_fail(what, vs_status_name(status));
}

static vs_sim_machine machine;
static vs_sim sim;
static vs_sim_device card;
static vs_alloc *alloc;

static void bare_begin(const bench_options *options) {
  vs_sim_gpu gpu;
  vs_error error;
  vs_alloc_settings settings;
  if (vs_sim_gpu_parse(VS_STR("H100"), &gpu, &error) != VS_OK) bench_fail("H100", error.text);
  uint32_t slot;
  if (vs_sim_machine_init(&machine, &gpu, 1) != VS_OK ||
      vs_sim_machine_enter(&machine, 1, 1, &slot) != VS_SIM_OK ||
      vs_sim_init(&sim, vs_host_default(), &machine, slot, NULL, VS_SIM_EVENTS_AT_ONCE) != VS_SIM_OK)
    bench_fail("the simulated device", "refuses");
  vs_sim_device_init(&card, &sim, 0);
  vs_alloc_settings_init(&settings);
  if (vs_alloc_settings_parse(&settings, vs_str_from(options->settings), &error) != VS_OK)
    bench_fail(options->settings, error.text);
  must(vs_alloc_create(vs_host_default(), &card.device, &settings, NULL, NULL, &alloc), "vs_alloc_create");
}

static uint64_t bare_alloc(uint64_t bytes, uint32_t stream) {
  uint64_t address;
  must(vs_alloc_malloc(alloc, bytes, stream, VS_CONTEXT_NONE, &address), "vs_alloc_malloc");
  return address;
}

static void bare_free(uint64_t address) {
  must(vs_alloc_free(alloc, address, VS_CONTEXT_NONE), "vs_alloc_free");
}

static void bare_end(uint64_t events) {
  (void)events;
  const vs_alloc_statistics *statistics = vs_alloc_statistics_of(alloc);
  printf("reserved %lld\n", (long long)statistics->part[VS_ALLOC_ALL].peak[VS_ALLOC_RESERVED_BYTES]);
  vs_alloc_destroy(alloc);
  vs_sim_device_deinit(&card);
  vs_sim_deinit(&sim);
}

const bench_side bench_bare = {"bare", bare_begin, bare_alloc, bare_free, NULL, bare_end};
