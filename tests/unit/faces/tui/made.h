/* A machine made by hand: samples as the driver would give them, for tests of what is shown. */
#ifndef VS_TESTS_TUI_MADE_H
#define VS_TESTS_TUI_MADE_H

#include "faces/tui/draw.h"
#include "support/test.h"

#define MADE_MIB UINT64_C(1048576)
#define MADE_GIB (1024 * MADE_MIB)

static inline vs_metric made_known(uint64_t value) {
  return (vs_metric){.reason = VS_REASON_KNOWN, .value = value};
}
static inline vs_metric made_unknown(vs_reason reason) { return (vs_metric){.reason = reason}; }

static inline void made_init(vs_top_sample *sample) {
  *sample = (vs_top_sample){.number = 1,
                            .at_us = 1000 * UINT64_C(1000000),
                            .wall_us = 1783116646 * UINT64_C(1000000),
                            .clock = "22:10:46",
                            .host = "node17"};
  vs_format(sample->driver.driver_version, sizeof sample->driver.driver_version, "590.48.01");
  sample->driver.cuda_version = made_known(13010);
}

/* A card of which so many MiB are used; NVML keeps some, processes are told of by made_process. */
static inline vs_top_device *made_device(vs_top_sample *sample, const char *name, uint64_t total_mib,
                                         uint64_t used_mib, uint64_t reserved_mib) {
  expect_ok(vs_vec_reserve(vs_host_default(), &sample->devices, 1));
  const uint32_t index = (uint32_t)sample->devices.count;
  vs_top_device *device = &sample->devices.data[sample->devices.count++];
  const uint64_t total = total_mib * MADE_MIB, used = used_mib * MADE_MIB, reserved = reserved_mib * MADE_MIB;
  *device = (vs_top_device){.info = {.index = index,
                                     .parent = VS_DEVICES_NONE,
                                     .mig_index = VS_DEVICES_NONE,
                                     .total_bytes = total,
                                     .gpu_instance = VS_DEVICES_NONE,
                                     .compute_instance = VS_DEVICES_NONE,
                                     .cuda_index = made_known(index)},
                            .memory = {.total = made_known(total),
                                       .used = made_known(used),
                                       .reserved = made_known(reserved),
                                       .free = made_known(total - used - reserved),
                                       .attributed = made_known(0),
                                       .unattributed = made_known(used),
                                       .api = 2,
                                       .shared_with = VS_DEVICES_NONE},
                            .utilization = made_known(97),
                            .memory_utilization = made_known(61),
                            .temperature = made_known(64),
                            .power = made_known(512300),
                            .power_limit = made_known(700000),
                            .clock_reasons = made_known(0),
                            .recovery_action = made_known(0),
                            .process_count = made_known(0)};
  vs_format(device->info.name, sizeof device->info.name, "%s", name);
  vs_format(device->info.uuid, sizeof device->info.uuid, "GPU-0000000%u-1111-2222-3333-444444444444", index);
  vs_format(device->info.bus_id, sizeof device->info.bus_id, "00000000:8%u:00.0", index);
  vs_format(device->label, sizeof device->label, "%u", index);
  return device;
}

static inline vs_top_process *made_process(vs_top_sample *sample, uint32_t row, uint64_t pid,
                                           const char *user, uint64_t mib, const char *command) {
  expect_ok(vs_vec_reserve(vs_host_default(), &sample->processes, 1));
  vs_top_process *process = &sample->processes.data[sample->processes.count++];
  vs_top_device *device = &sample->devices.data[row];
  *process = (vs_top_process){.device = row,
                              .pid = pid,
                              .inner_pid = pid,
                              .start_us = sample->wall_us - pid * 1000000,
                              .bytes = made_known(mib * MADE_MIB),
                              .is_visible = command[0] != 0,
                              .kind = "C"};
  vs_format(process->user, sizeof process->user, "%s", user);
  vs_format(process->command, sizeof process->command, "%s", command);
  device->process_count.value++;
  device->memory.attributed.value += mib * MADE_MIB;
  if (device->memory.attributed.value > device->memory.used.value) /* as the collector does it */
    device->memory.unattributed = made_unknown(VS_REASON_STALE);
  else device->memory.unattributed.value -= mib * MADE_MIB;
  return process;
}

/* The loaded machine of the guide: two cards, four processes, one of them in a container, one not to be
 * seen. */
static inline void made_loaded(vs_top_sample *sample) {
  made_init(sample);
  made_device(sample, "NVIDIA H200", 143771, 86550, 614);
  vs_top_device *idle = made_device(sample, "NVIDIA H200", 143771, 1130, 614);
  idle->utilization = made_known(3);
  idle->temperature = made_known(31);
  idle->power = made_known(77710);
  made_process(sample, 0, 12345, "ana", 79200, "python train.py --config configs/gpt-2b.yaml --resume");
  made_process(sample, 0, 2001, "jupyter", 5130, "/usr/bin/python3 -m ipykernel_launcher -f kernel-1.json");
  vs_format(sample->processes.data[1].container, VS_TOP_CONTAINER, "%s", "3f2a9c1b77de");
  made_process(sample, 0, 991234, "", 2200, "");
  made_process(sample, 1, 31337, "bo", 1110, "python serve.py");
}

#endif
