#include "faces/tui/sample.h"
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
  return VS_OK;
}

size_t vs_top_sample_device(const vs_top_sample *sample, const char *uuid) {
  size_t i = 0;
  while (i < sample->devices.count &&
         !vs_str_equal(vs_str_from(sample->devices.data[i].info.uuid), vs_str_from(uuid)))
    i++;
  return i;
}
