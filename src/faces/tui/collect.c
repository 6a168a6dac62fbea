#include "faces/tui/collect.h"
#include "base/check.h"
#include "os/clock.h"
#include "os/process.h"

/* Listing processes takes a lock of the driver that programs wait for, too, so it is done at most about once a second. The
 * bound is a little shorter than a second, so that it is due at each sample of one a second. */
enum { LIST_US = 900 * 1000 };

void vs_top_collector_init(vs_top_collector *collector, const vs_host *host, const char *selection) {
  *collector = (vs_top_collector){.host = host, .selection = selection, .at = UINT32_MAX};
}

void vs_top_collector_deinit(vs_top_collector *collector) {
  vs_devices_close(collector->devices);
  vs_vec_free(collector->host, &collector->units);
}

/* ---- which units, in which order */

static bool has_unit(const vs_top_collector *c, uint32_t unit) {
  for (size_t i = 0; i < c->units.count; i++)
    if (c->units.data[i] == unit) return true;
  return false;
}

static vs_status add_unit(vs_top_collector *c, uint32_t unit) {
  VS_ASSERT(unit < vs_devices_count(c->devices));
  if (has_unit(c, unit)) return VS_OK;
  VS_TRY(vs_vec_reserve(c->host, &c->units, 1));
  c->units.data[c->units.count++] = unit;
  return VS_OK;
}

/* Adds a card with its MIG devices. */
static vs_status add_with_parts(vs_top_collector *c, uint32_t unit) {
  VS_TRY(add_unit(c, unit));
  for (uint32_t part = 0; part < vs_devices_count(c->devices); part++) {
    vs_devices_info info;
    VS_TRY(vs_devices_info_of(c->devices, part, &info));
    if (info.is_mig && info.parent == unit) VS_TRY(add_unit(c, part));
  }
  return VS_OK;
}

static vs_status select_units(vs_top_collector *c, vs_error *error) {
  enum { MOST = 512 };
  uint32_t named[MOST];
  size_t count;
  VS_TRY(vs_devices_select(c->devices, c->selection, named, MOST, &count, error));
  c->units.count = 0;
  for (size_t i = 0; i < count && i < MOST; i++) VS_TRY(add_with_parts(c, named[i]));
  return VS_OK;
}

/* ---- opening, and opening again */

static vs_status fail_without_driver(const vs_devices_failure *failure, vs_error *error) {
  const vs_status status = failure->status == VS_NO_MEMORY ? VS_NO_MEMORY : VS_DEVICE;
  return vs_fail(error, status, VS_NO_OFFSET, "%s", failure->text);
}

static vs_status open_driver(vs_top_collector *c, vs_error *error) {
  const vs_devices_options options = {.host = c->host, .may_ask_cuda = true, .slow_us = LIST_US};
  vs_devices_failure failure;
  if (vs_devices_open(&options, &c->devices, &failure) != VS_OK) return fail_without_driver(&failure, error);
  VS_TRY(select_units(c, error));
  if (c->units.count == 0)
    return vs_fail(error, VS_DEVICE, VS_NO_OFFSET, "the driver runs, but there is no GPU");
  return VS_OK;
}

/* Returns false if there is none; sample->trouble says why. */
static bool reopen_driver(vs_top_collector *c, vs_top_sample *sample) {
  vs_devices_failure failure;
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  sample->trouble[0] = 0;
  c->listed_us = 0;
  if (vs_devices_refresh(c->devices, &failure) != VS_OK) {
    memcpy(sample->trouble, failure.text, sizeof sample->trouble);
  } else if (select_units(c, &error) != VS_OK || c->units.count == 0) {
    vs_format(sample->trouble, sizeof sample->trouble, "%s",
              error.text[0] != 0 ? error.text : "the driver is back, but there is no GPU");
  }
  return sample->trouble[0] == 0;
}

/* ---- a device */

/* One call for all figures, so that they are of one instant. */
static void collect_figures(vs_devices *devices, uint32_t unit, vs_top_device *to) {
  const struct {
    vs_metric_id id;
    vs_metric *to;
  } wanted[] = {{VS_METRIC_ID_UTILIZATION_GPU, &to->utilization},
                {VS_METRIC_ID_UTILIZATION_MEMORY, &to->memory_utilization},
                {VS_METRIC_ID_TEMPERATURE, &to->temperature},
                {VS_METRIC_ID_POWER_DRAW, &to->power},
                {VS_METRIC_ID_POWER_LIMIT_ENFORCED, &to->power_limit},
                {VS_METRIC_ID_CLOCK_REASONS, &to->clock_reasons},
                {VS_METRIC_ID_RECOVERY_ACTION, &to->recovery_action}};
  enum { COUNT = sizeof wanted / sizeof wanted[0] };
  vs_metric_id ids[COUNT];
  vs_metric metrics[COUNT];
  for (size_t i = 0; i < COUNT; i++) ids[i] = wanted[i].id;
  vs_devices_metrics(devices, unit, ids, COUNT, metrics);
  for (size_t i = 0; i < COUNT; i++) *wanted[i].to = metrics[i];
}

/* Where memory belongs to a GPU instance or to the machine, only `devices` knows which processes share it. Elsewhere
 * `attribute` sums the listed processes, which saves a second call for them. */
static bool is_summed_below(const vs_devices_info *info) {
  return info->is_mig || info->is_divided || info->is_unified;
}

static vs_status collect_device(vs_devices *devices, uint32_t unit, bool is_listing, vs_top_device *to) {
  const vs_top_device before = *to; /* what the last list of processes said is kept until the next list */
  *to = (vs_top_device){.process_count = before.process_count, .may_miss = before.may_miss};
  VS_TRY(vs_devices_info_of(devices, unit, &to->info));
  if (to->info.is_mig) vs_format(to->label, sizeof to->label, "%u:%u", to->info.index, to->info.mig_index);
  else vs_format(to->label, sizeof to->label, "%u", to->info.index);
  collect_figures(devices, unit, to);
  VS_TRY(vs_devices_memory_of(devices, unit, is_listing && is_summed_below(&to->info), &to->memory));
  if (!is_listing) {
    to->memory.attributed = before.memory.attributed;
    if (to->memory.is_shared) to->memory.used = before.memory.used;
  }
  return VS_OK;
}

/* ---- its processes */

static void copy_process(vs_top_process *to, const vs_devices_process *from, uint32_t device) {
  *to = (vs_top_process){.device = device,
                         .pid = from->pid,
                         .inner_pid = from->inner_pid,
                         .start_us = from->start_us,
                         .bytes = from->bytes,
                         .is_visible = from->is_visible};
  vs_format(to->kind, sizeof to->kind, "%s", from->kind);
  vs_format(to->user, sizeof to->user, "%s", from->user == NULL ? "" : from->user);
  vs_format(to->name, sizeof to->name, "%s", from->name == NULL ? "" : from->name);
  vs_format(to->command, sizeof to->command, "%s", from->command == NULL ? "" : from->command);
  vs_format(to->container, sizeof to->container, "%s", from->container == NULL ? "" : from->container);
}

static uint32_t row_of_unit(const vs_top_collector *c, uint32_t unit, uint32_t otherwise) {
  for (uint32_t i = 0; i < c->units.count; i++)
    if (c->units.data[i] == unit) return i;
  return otherwise;
}

/* Where a card is shown with its MIG devices, the card's list has the processes of all of them. */
static vs_status collect_processes(vs_top_collector *c, uint32_t row, vs_top_sample *sample) {
  const vs_devices_info *info = &sample->devices.data[row].info;
  vs_devices_processes list;
  VS_ASSERT(row < sample->devices.count && row < c->units.count);
  if (info->is_mig && has_unit(c, info->parent)) {
    const uint32_t card = row_of_unit(c, info->parent, row);
    sample->devices.data[row].process_count = sample->devices.data[card].process_count;
    sample->devices.data[row].may_miss = sample->devices.data[card].may_miss;
    return VS_OK;
  }
  VS_TRY(vs_devices_processes_of(c->devices, c->units.data[row], &list));
  sample->devices.data[row].process_count = list.count;
  sample->devices.data[row].may_miss = list.may_miss;
  if (!vs_metric_is_known(list.count)) return VS_OK;
  VS_TRY(vs_vec_reserve(c->host, &sample->processes, (size_t)list.count.value));
  for (uint64_t i = 0; i < list.count.value; i++)
    copy_process(&sample->processes.data[sample->processes.count++], &list.rows[i],
                 row_of_unit(c, list.rows[i].unit, row));
  return VS_OK;
}

/* Sums and counts the listed processes of a device. */
static void attribute(vs_top_sample *sample, uint32_t row) {
  vs_top_device *device = &sample->devices.data[row];
  vs_metric sum = {.reason = VS_REASON_KNOWN};
  uint64_t count = 0;
  for (size_t i = 0; i < sample->processes.count; i++) {
    const vs_top_process *process = &sample->processes.data[i];
    if (process->device != row) continue;
    count++;
    if (!vs_metric_is_known(process->bytes)) sum = (vs_metric){.reason = VS_REASON_NOT_VISIBLE};
    else if (vs_metric_is_known(sum)) sum.value += process->bytes.value;
  }
  if (vs_metric_is_known(device->process_count) && !device->info.is_divided)
    device->process_count.value = count;
  if (is_summed_below(&device->info)) return;
  device->memory.attributed = vs_metric_is_known(device->process_count) ? sum : device->process_count;
}

/* Unattributed memory is the rest of the used memory. The list of processes may be older than `used`, so the sum over them
 * can be larger: then the rest is unknown. */
static void find_rest(vs_devices_memory *memory) {
  if (!vs_metric_is_known(memory->used)) memory->unattributed = memory->used;
  else if (!vs_metric_is_known(memory->attributed)) memory->unattributed = memory->attributed;
  else if (memory->attributed.value > memory->used.value)
    memory->unattributed = (vs_metric){.reason = VS_REASON_STALE};
  else
    memory->unattributed =
        (vs_metric){.reason = VS_REASON_KNOWN, .value = memory->used.value - memory->attributed.value};
}

/* ---- the whole */

static void put_time(vs_top_sample *sample) {
  sample->at_us = vs_process_clock_us();
  vs_top_sample_set_time(sample, vs_clock_wall_ns() / 1000);
}

/* Without a driver, names and labels stay and all figures are unknown. */
static void forget_figures(vs_top_sample *sample) {
  const vs_metric gone = {.reason = VS_REASON_NO_DRIVER};
  sample->processes.count = 0;
  for (size_t i = 0; i < sample->devices.count; i++) {
    vs_top_device *device = &sample->devices.data[i];
    device->utilization = device->memory_utilization = device->temperature = device->power =
        device->power_limit = gone;
    device->clock_reasons = device->recovery_action = device->process_count = gone;
    device->memory = (vs_devices_memory){.total = gone,
                                         .reserved = gone,
                                         .used = gone,
                                         .free = gone,
                                         .attributed = gone,
                                         .unattributed = gone,
                                         .api = device->memory.api,
                                         .shared_with = VS_DEVICES_NONE};
  }
}

static void find_sharing(vs_top_sample *sample) {
  for (size_t i = 0; i < sample->devices.count; i++)
    for (size_t k = 0; k < sample->devices.count; k++) {
      const vs_devices_info *a = &sample->devices.data[i].info, *b = &sample->devices.data[k].info;
      if (i != k && a->is_mig && b->is_mig && a->parent == b->parent && a->gpu_instance == b->gpu_instance)
        sample->devices.data[i].is_sharing = true;
    }
}

static vs_status collect_all(vs_top_collector *c, vs_top_sample *sample) {
  const uint32_t count = (uint32_t)c->units.count;
  const uint64_t now = vs_process_clock_us();
  const bool is_listing =
      c->listed_us == 0 || now - c->listed_us >= LIST_US || sample->devices.count != count;
  VS_TRY(vs_vec_reserve(c->host, &sample->devices, count));
  if (is_listing) {
    memset(sample->devices.data, 0, count * sizeof *sample->devices.data);
    sample->processes.count = 0;
    c->listed_us = now;
  }

  sample->devices.count = count;
  for (uint32_t i = 0; i < count; i++) {
    atomic_store_explicit(&c->at, i, memory_order_relaxed);
    VS_TRY(collect_device(c->devices, c->units.data[i], is_listing, &sample->devices.data[i]));
    if (is_listing) VS_TRY(collect_processes(c, i, sample));
  }
  for (uint32_t i = 0; i < count; i++) {
    if (is_listing) attribute(sample, i);
    if (!sample->devices.data[i].memory.is_shared) find_rest(&sample->devices.data[i].memory);
  }
  find_sharing(sample);
  return VS_OK;
}

vs_status vs_top_collect(vs_top_collector *c, vs_top_sample *sample, vs_error *error) {
  bool has_driver = true;
  if (c->count == 0) VS_TRY(open_driver(c, error));
  else if (sample->trouble[0] != 0 || vs_devices_is_stale(c->devices)) has_driver = reopen_driver(c, sample);
  if (has_driver) {
    const vs_status status = collect_all(c, sample);
    if (status != VS_OK) return vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  } else {
    forget_figures(sample);
  }
  atomic_store_explicit(&c->at, UINT32_MAX, memory_order_relaxed);
  vs_process_host(sample->host, sizeof sample->host);
  vs_devices_driver_of(c->devices, &sample->driver);
  put_time(sample);
  sample->number = ++c->count;
  VS_ASSERT(vs_top_sample_check(sample) == NULL);
  return VS_OK;
}
