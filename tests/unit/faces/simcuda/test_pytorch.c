/* What PyTorch's allocator reports is kept in the shared machine, by card. */
#include "faces/simcuda/core/machine.h"
#include "faces/simcuda/core/process.h"
#include "unit/faces/simcuda/apart.h"

#define MIB (UINT64_C(1) << 20)

typedef struct c10_device {
  int8_t type, index;
} c10_device;

/* By PyTorch's names of them. */
void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *block, int64_t bytes, size_t allocated,
                                                           size_t reserved, c10_device device);
void _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(int64_t bytes, size_t allocated, size_t reserved,
                                                         c10_device device);

static void report(int8_t type, int8_t index, uint64_t allocated, uint64_t reserved) {
  _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(NULL, 1, allocated, reserved,
                                                        (c10_device){type, index});
}

static vs_sim_use use_of_card(uint32_t card) {
  const vs_sim_machine *machine = vs_simcuda_lock_machine();
  CHECK(machine != NULL);
  const vs_sim_use use = machine->processes[0].use[card];
  vs_simcuda_unlock_machine();
  return use;
}

static void see_peaks(void) {
  report(1, 0, 5 * MIB, 8 * MIB); /* the simulation has not begun: nothing is counted, and nothing begins */
  CHECK(!vs_simcuda_has_begun());
  CHECK(vs_simcuda_use(0) == VS_SIM_OK && vs_simcuda_use(1) == VS_SIM_OK);
  report(0, 0, 900 * MIB, 900 * MIB);  /* the CPU's allocator */
  report(1, -1, 900 * MIB, 900 * MIB); /* no device */
  report(1, 9, 900 * MIB, 900 * MIB);  /* none that is there */
  CHECK(use_of_card(0).has_allocator == 0);
  report(1, 0, 5 * MIB, 8 * MIB);
  report(1, 0, 3 * MIB, 10 * MIB); /* a peak does not fall */
  report(1, 0, 4 * MIB, 2 * MIB);
  _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(1, 4 * MIB, 2 * MIB, (c10_device){1, 0});
  const vs_sim_use card2 = use_of_card(2), card0 = use_of_card(0);
  /* The program's device 0 is card 2 of the machine. */
  CHECK(card0.has_allocator == 0 && card0.allocated_peak_bytes == 0 && card0.out_of_memory_count == 0);
  CHECK(card2.has_allocator == 1 && card2.allocated_peak_bytes == 5 * MIB);
  CHECK(card2.reserved_peak_bytes == 10 * MIB && card2.out_of_memory_count == 1);
}

static void peaks_are_kept_by_card(void **state) {
  (void)state;
  expect_apart(see_peaks, WITH("VRAMSCOPE_SIM_GPU=3xL4", "CUDA_VISIBLE_DEVICES=2,0"), "");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(peaks_are_kept_by_card)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
