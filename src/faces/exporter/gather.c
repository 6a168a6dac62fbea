#include "faces/exporter/gather.h"
#include "base/check.h"
#include "os/proc.h"
#include "os/process.h"

static const char proc[] = "/proc";

void vs_gatherer_init(vs_gatherer *g, const vs_host *host, const char *selection,
                      const vs_top_recordings *recordings) {
  *g = (vs_gatherer){.recordings = recordings};
  vs_top_collector_init(&g->collector, host, selection);
}

void vs_gatherer_deinit(vs_gatherer *g) {
  const vs_host *host = g->collector.host;
  vs_top_sample_deinit(host, &g->sample.top);
  vs_vec_free(host, &g->sample.devices);
  vs_vec_free(host, &g->sample.processes);
  vs_vec_free(host, &g->sample.xids);
  vs_top_collector_deinit(&g->collector);
}

/* ---- devices */

/* A driver that is gone is not asked: vs_top_collect has said so of the other figures, too. */
static void gather_device(vs_gatherer *g, size_t row, vs_exporter_device *device) {
  const bool is_gone = g->sample.top.trouble[0] != 0;
  const vs_metric gone = {.reason = VS_REASON_NO_DRIVER};
  *device = (vs_exporter_device){0};
  if (!is_gone && !g->sample.top.devices.data[row].info.is_mig)
    vs_devices_metrics(g->collector.devices, g->collector.units.data[row], vs_series_metrics, VS_SERIES_COUNT,
                       device->figures);
  for (size_t i = 0; i < VS_SERIES_COUNT && is_gone; i++) device->figures[i] = gone;
}

/* ---- processes */

static bool read_variable(uint64_t pid, const char *name, char *to, size_t capacity) {
  const bool is_there = vs_proc_variable(proc, pid, name, to, capacity) == VS_OK;
  if (!is_there) to[0] = 0;
  return is_there;
}

/* The job that started it, by the variables of Slurm and torchrun, which calls a job without a name "none". */
static void read_job(uint64_t pid, vs_exporter_process *process) {
  (void)read_variable(pid, "RANK", process->rank, sizeof process->rank);
  if (read_variable(pid, "SLURM_JOB_ID", process->job, sizeof process->job)) return;
  if (read_variable(pid, "TORCHELASTIC_RUN_ID", process->job, sizeof process->job) &&
      vs_str_equal(vs_str_from(process->job), VS_STR("none")))
    process->job[0] = 0;
}

static void gather_process(const vs_top_process *from, vs_exporter_process *to) {
  *to = (vs_exporter_process){.pod = ""};
  if (!from->is_visible) return;
  read_job(from->pid, to);
  vs_proc_pod(proc, from->pid, to->pod, sizeof to->pod);
}

/* ---- the whole */

static vs_status gather_more(vs_gatherer *g) {
  vs_exporter_sample *s = &g->sample;
  s->devices.count = s->processes.count = 0;
  VS_TRY(vs_vec_reserve(g->collector.host, &s->devices, s->top.devices.count));
  VS_TRY(vs_vec_reserve(g->collector.host, &s->processes, s->top.processes.count));
  s->devices.count = s->top.devices.count;
  s->processes.count = s->top.processes.count;
  for (size_t i = 0; i < s->devices.count; i++) gather_device(g, i, &s->devices.data[i]);
  for (size_t i = 0; i < s->processes.count; i++)
    gather_process(&s->top.processes.data[i], &s->processes.data[i]);
  s->has_xids = g->xids != NULL;
  return s->has_xids ? vs_xids_read(g->xids, &s->xids) : VS_OK;
}

vs_status vs_gather_sample(vs_gatherer *g, vs_error *error) {
  const uint64_t began = vs_process_clock_us();
  VS_TRY(vs_top_collect(&g->collector, &g->sample.top, error));
  vs_top_sample_read_recordings(&g->sample.top, g->recordings, g->collector.selection != NULL);
  const vs_status status = gather_more(g);
  if (status != VS_OK) return vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  g->sample.took_us = vs_process_clock_us() - began;
  return VS_OK;
}
