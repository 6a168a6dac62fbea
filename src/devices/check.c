/* The invariants of state.h, executed. */
#include "devices/state.h"

/* ---- the object */

static bool has_no_mig_numbers(const vs_devices_info *info) {
  return info->parent == VS_DEVICES_NONE && info->mig_index == VS_DEVICES_NONE &&
         info->gpu_instance == VS_DEVICES_NONE && info->compute_instance == VS_DEVICES_NONE;
}

/* A MIG device is behind its card, with only MIG devices of the same card between them. */
static bool check_unit(const vs_devices *devices, uint32_t unit) {
  const vs_devices_info *all = devices->units.data, *info = &all[unit];
  if (!info->is_mig) return has_no_mig_numbers(info);
  if (info->is_divided || info->is_unified || info->parent >= unit || all[info->parent].is_mig) return false;
  for (uint32_t i = info->parent + 1; i < unit; i++)
    if (!all[i].is_mig || all[i].parent != info->parent) return false;
  return info->index == all[info->parent].index;
}

static bool check_cuda_numbers(const vs_devices *devices) {
  for (size_t i = 0; i < devices->by_cuda.count; i++)
    if (devices->by_cuda.data[i] != VS_DEVICES_NONE && devices->by_cuda.data[i] >= devices->units.count)
      return false;
  for (size_t i = 0; i < devices->units.count; i++) {
    const vs_metric number = devices->units.data[i].cuda_index;
    if (!vs_metric_is_known(number)) continue;
    if (number.value >= devices->by_cuda.count || devices->by_cuda.data[number.value] != i) return false;
  }
  return true;
}

bool vs_devices__check(const vs_devices *devices) {
  if (devices->answers.count != devices->units.count * VS_METRIC_ID_COUNT) return false;
  for (uint32_t i = 0; i < devices->units.count; i++)
    if (!check_unit(devices, i)) return false;
  return check_cuda_numbers(devices);
}

/* ---- memory of a unit */

static bool is_gpu_instance_shared(const vs_devices_info *a, const vs_devices_info *b) {
  return a->is_mig && b->is_mig && a->parent == b->parent && a->gpu_instance == b->gpu_instance;
}

bool vs_devices__check_memory(const vs_devices *devices, uint32_t unit, const vs_devices_memory *memory) {
  const vs_devices_info *all = devices->units.data;
  if (!vs_devices_has(devices, unit) || memory->shared_with > unit) return false;
  if (memory->shared_with != unit && !is_gpu_instance_shared(&all[memory->shared_with], &all[unit]))
    return false;
  if (memory->is_shared != all[unit].is_unified || memory->is_approximate != all[unit].is_numa) return false;
  if (memory->is_shared && (memory->api != 0 || vs_metric_is_known(memory->reserved))) return false;
  if (!vs_metric_is_known(memory->unattributed)) return true;
  return vs_metric_is_known(memory->used) && vs_metric_is_known(memory->attributed) &&
         memory->attributed.value <= memory->used.value &&
         memory->unattributed.value == memory->used.value - memory->attributed.value;
}

/* ---- processes of a unit */

/* The text is in the buffer, up to its NUL. */
static bool is_kept(const vs_text *texts, const char *text) {
  const char *first = texts->bytes.data;
  for (size_t at = 0; at < texts->bytes.count; at++)
    if (first + at == text) return texts->bytes.data[texts->bytes.count - 1] == 0;
  return false;
}

static bool check_row(const vs_devices *devices, uint32_t unit, const vs_devices_process *row) {
  const char *const texts[] = {row->user, row->name, row->command, row->program, row->container};
  if (!vs_devices_has(devices, row->unit)) return false;
  if (row->unit != unit && devices->units.data[row->unit].parent != unit) return false;
  if (row->kinds == 0 || (row->kinds & ~(uint32_t)VS_PROCESS_ALL) != 0) return false;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (!is_kept(&devices->texts, texts[i]) || (!row->is_visible && texts[i][0] != 0)) return false;
  return row->is_visible ||
         (!row->is_self && row->inner_pid == 0 && row->start_us == 0 && row->user_id == VS_DEVICES_NONE);
}

static bool is_same_process(const vs_devices_process *a, const vs_devices_process *b) {
  return a->pid == b->pid && a->gpu_instance == b->gpu_instance && a->compute_instance == b->compute_instance;
}

/* By falling bytes, unknown ones last. */
static bool are_ordered(vs_metric first, vs_metric second) {
  if (!vs_metric_is_known(first) || !vs_metric_is_known(second)) return !vs_metric_is_known(second);
  return first.value >= second.value;
}

bool vs_devices__check_processes(const vs_devices *devices, uint32_t unit,
                                 const vs_devices_processes *processes) {
  const size_t count = devices->rows.count;
  const vs_devices_process *rows = processes->rows;
  if (!vs_devices_has(devices, unit) || rows != devices->rows.data) return false;
  if (count != (vs_metric_is_known(processes->count) ? processes->count.value : 0)) return false;
  for (size_t i = 0; i < count; i++) {
    if (!check_row(devices, unit, &rows[i])) return false;
    if (i > 0 && !are_ordered(rows[i - 1].bytes, rows[i].bytes)) return false;
    for (size_t k = 0; k < i; k++)
      if (is_same_process(&rows[k], &rows[i])) return false;
  }
  return true;
}
