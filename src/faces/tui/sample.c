#include "faces/tui/sample.h"
#include "base/check.h"
#include "os/clock.h"

void vs_top_sample_deinit(const vs_host *host, vs_top_sample *sample) {
  vs_vec_free(host, &sample->devices);
  vs_vec_free(host, &sample->processes);
}

void vs_top_sample_set_time(vs_top_sample *sample, uint64_t wall_us) {
  vs_clock_calendar at;
  sample->wall_us = wall_us;
  vs_clock_local(wall_us * 1000, &at);
  vs_format(sample->clock, sizeof sample->clock, "%u%u:%u%u:%u%u", at.hour / 10, at.hour % 10, at.minute / 10,
            at.minute % 10, at.second / 10, at.second % 10);
}

vs_status vs_top_sample_copy(const vs_host *host, vs_top_sample *to, const vs_top_sample *from) {
  const size_t devices = from->devices.count, processes = from->processes.count;
  VS_ASSERT(to != from);
  to->devices.count = to->processes.count = 0;
  VS_TRY(vs_vec_reserve(host, &to->devices, devices));
  VS_TRY(vs_vec_reserve(host, &to->processes, processes));
  const vs_top_sample kept = *to;
  *to = *from;
  to->devices = kept.devices;
  to->processes = kept.processes;
  if (devices != 0) memcpy(to->devices.data, from->devices.data, devices * sizeof *to->devices.data);
  if (processes != 0)
    memcpy(to->processes.data, from->processes.data, processes * sizeof *to->processes.data);
  to->devices.count = devices;
  to->processes.count = processes;
  VS_ASSERT(to->devices.data != from->devices.data || devices == 0); /* each owns its rows */
  return VS_OK;
}

size_t vs_top_sample_device(const vs_top_sample *sample, const char *uuid) {
  size_t i = 0;
  while (i < sample->devices.count &&
         !vs_str_equal(vs_str_from(sample->devices.data[i].info.uuid), vs_str_from(uuid)))
    i++;
  return i;
}

/* ---- recordings */

static uint32_t count_devices(const vs_top_sample *sample, uint64_t pid) {
  uint32_t count = 0;
  for (size_t i = 0; i < sample->processes.count; i++) count += sample->processes.data[i].pid == pid;
  return count;
}

void vs_top_sample_read_recordings(vs_top_sample *sample, const vs_top_recordings *recordings,
                                   bool is_selection) {
  for (size_t i = 0; i < sample->processes.count; i++) {
    vs_top_process *process = &sample->processes.data[i];
    if (process->is_read) continue;
    process->is_read = true;
    if (process->is_visible) {
      recordings->read(recordings->ctx, process, sample->devices.data[process->device].info.uuid,
                       is_selection ? 0 : count_devices(sample, process->pid), &process->recorded);
      continue;
    }
    vs_format(process->recorded.pytorch_why, VS_TOP_WHY, "the process is not visible here");
    vs_format(process->recorded.libraries_why, VS_TOP_WHY, "the process is not visible here");
  }
}

/* ---- the invariants */

static bool ends(const char *text, size_t size) { return memchr(text, 0, size) != NULL; }

static bool device_texts_end(const vs_top_device *device) {
  return ends(device->label, sizeof device->label) && ends(device->info.uuid, sizeof device->info.uuid) &&
         ends(device->info.name, sizeof device->info.name) &&
         ends(device->info.bus_id, sizeof device->info.bus_id);
}

static bool process_texts_end(const vs_top_process *process) {
  return ends(process->kind, sizeof process->kind) && ends(process->user, sizeof process->user) &&
         ends(process->name, sizeof process->name) && ends(process->command, sizeof process->command) &&
         ends(process->container, sizeof process->container) &&
         ends(process->recorded.pytorch_why, VS_TOP_WHY) && ends(process->recorded.libraries_why, VS_TOP_WHY);
}

static bool adds_up(const vs_devices_memory *m) {
  const bool is_known =
      vs_metric_is_known(m->used) && vs_metric_is_known(m->attributed) && vs_metric_is_known(m->unattributed);
  return m->is_shared || !is_known ||
         (m->attributed.value <= m->used.value &&
          m->used.value - m->attributed.value == m->unattributed.value);
}

const char *vs_top_sample_check(const vs_top_sample *sample) {
  if (sample->number == 0 && sample->devices.count != 0) return "an empty sample has devices";
  if (!ends(sample->clock, sizeof sample->clock) || !ends(sample->host, sizeof sample->host) ||
      !ends(sample->trouble, sizeof sample->trouble))
    return "a text of the sample does not end";
  for (size_t i = 0; i < sample->devices.count; i++) {
    if (!device_texts_end(&sample->devices.data[i])) return "a text of a device does not end";
    if (!adds_up(&sample->devices.data[i].memory)) return "the memory of a device does not add up";
  }
  for (size_t i = 0; i < sample->processes.count; i++) {
    if (sample->processes.data[i].device >= sample->devices.count) return "a process is on no device";
    if (!process_texts_end(&sample->processes.data[i])) return "a text of a process does not end";
  }
  return NULL;
}
