/* The processes that have memory on a unit: NVML's list, with what /proc says about each. */
#include "devices/state.h"
#include "base/sort.h"
#include "os/proc.h"
#include "os/process.h"

_Static_assert((int)VS_DEVICES_COMPUTE == (int)VS_PROCESS_COMPUTE &&
                   (int)VS_DEVICES_GRAPHICS == (int)VS_PROCESS_GRAPHICS &&
                   (int)VS_DEVICES_MPS == (int)VS_PROCESS_MPS,
               "one numbering of kinds");

enum { COMMAND = 4096 };

static uint32_t or_none(int32_t number) { return number < 0 ? VS_DEVICES_NONE : (uint32_t)number; }

/* ---- texts: the buffer may move while texts are added, so rows store offsets first; settle_texts makes them pointers */

static size_t keep(vs_text *texts, const char *text, size_t size) {
  const size_t offset = texts->bytes.count;
  vs_text_put(texts, text, size);
  vs_text_byte(texts, 0);
  return offset;
}

static void settle_texts(vs_devices *devices) {
  const char *base = devices->texts.bytes.data;
  VS_ASSERT(devices->texts.status == VS_OK && devices->row_texts.capacity >= devices->rows.count);
  for (size_t i = 0; i < devices->rows.count; i++) {
    vs_devices_process *row = &devices->rows.data[i];
    const vs_row_texts *at = &devices->row_texts.data[i];
    row->user = base + at->user;
    row->name = base + at->name;
    row->command = base + at->command;
    row->program = base + at->program;
    row->container = base + at->container;
  }
}

/* ---- names of users, kept because looking one up may be slow */

static vs_status user_of(vs_devices *devices, uint32_t id, const char **name) {
  for (size_t i = 0; i < devices->users.count; i++)
    if (devices->users.data[i].id == id) {
      *name = devices->users.data[i].name;
      return VS_OK;
    }
  VS_TRY(vs_vec_reserve(devices->host, &devices->users, 1));
  vs_user *user = &devices->users.data[devices->users.count++];
  user->id = id;
  vs_proc_user(id, user->name, sizeof user->name);
  *name = user->name;
  return VS_OK;
}

/* ---- one process */

/* Whether the process that /proc shows under this number is the one that NVML lists. Outside of a pid namespace both use
 * the same numbers. Inside one they may differ, so the process also has to have a GPU's files or CUDA mapped. */
static bool is_the_one(const vs_devices *devices, uint64_t pid) {
  static const char *const marks[] = {"/dev/nvidia", "libcuda.so", "libvramscope-sim.so", NULL};
  const vs_metric hidden = devices->driver.is_pid_hidden;
  if (vs_metric_is_known(hidden) && hidden.value == 0) return true;
  return vs_proc_has_mapped(devices->options.proc, pid, marks);
}

static vs_status look_at(vs_devices *devices, vs_devices_process *row, vs_row_texts *at) {
  const char *root = devices->options.proc;
  vs_text *texts = &devices->texts;
  vs_proc proc;
  char command[COMMAND];
  const char *user = "";
  row->user_id = VS_DEVICES_NONE;
  at->user = at->name = at->command = at->program = at->container = keep(texts, "", 0);
  if (vs_proc_read(root, row->pid, &proc) != VS_OK || !is_the_one(devices, row->pid)) return texts->status;
  row->is_visible = true;
  row->is_self = row->pid == vs_process_id();
  row->inner_pid = proc.inner_pid;
  row->start_us = proc.start_us;
  row->user_id = proc.user_id == VS_PROC_NO_USER ? VS_DEVICES_NONE : proc.user_id;
  at->name = keep(texts, proc.name, strlen(proc.name));
  at->container = keep(texts, proc.container, strlen(proc.container));
  size_t program;
  const size_t size = vs_proc_command(root, row->pid, command, sizeof command, &program);
  at->command = keep(texts, command, size);
  at->program = keep(texts, command, program);
  if (row->user_id != VS_DEVICES_NONE) VS_TRY(user_of(devices, row->user_id, &user));
  at->user = keep(texts, user, strlen(user));
  return texts->status;
}

/* The MIG device of a divided card that a process uses; `unit` itself if there is none. */
static uint32_t unit_of(const vs_devices *devices, uint32_t unit, const vs_devices_process *row) {
  if (row->gpu_instance == VS_DEVICES_NONE) return unit;
  for (uint32_t i = 0; i < devices->units.count; i++) {
    const vs_devices_info *info = &devices->units.data[i];
    const bool is_there = info->parent == unit && info->gpu_instance == row->gpu_instance;
    if (is_there &&
        (info->compute_instance == row->compute_instance || row->compute_instance == VS_DEVICES_NONE))
      return i;
  }
  return unit;
}

/* ---- the list */

static bool holds_more(const void *ctx, uint32_t a, uint32_t b) {
  const vs_telemetry_process *list = ctx, *left = &list[a], *right = &list[b];
  const bool left_known = vs_metric_is_known(left->bytes), right_known = vs_metric_is_known(right->bytes);
  if (left_known != right_known) return left_known;
  if (left->bytes.value != right->bytes.value) return left->bytes.value > right->bytes.value;
  return left->pid < right->pid;
}

static vs_status take_row(vs_devices *devices, uint32_t unit, const vs_telemetry_process *from) {
  VS_ASSERT(devices->rows.count < devices->rows.capacity &&
            devices->rows.count < devices->row_texts.capacity);
  vs_devices_process *row = &devices->rows.data[devices->rows.count];
  *row = (vs_devices_process){.pid = from->pid,
                              .bytes = from->bytes,
                              .protected_bytes = from->protected_bytes,
                              .kinds = from->kinds,
                              .kind = vs_process_kind_text(from->kinds),
                              .gpu_instance = or_none(from->gpu_instance),
                              .compute_instance = or_none(from->compute_instance)};
  row->unit = unit_of(devices, unit, row);
  VS_ASSERT(vs_devices_has(devices, row->unit));
  return look_at(devices, row, &devices->row_texts.data[devices->rows.count++]);
}

static vs_status take_rows(vs_devices *devices, uint32_t unit, const vs_telemetry_process *list,
                           size_t count) {
  VS_VEC(uint32_t) order = {0};
  VS_TRY(vs_vec_reserve(devices->host, &devices->rows, count));
  VS_TRY(vs_vec_reserve(devices->host, &devices->row_texts, count));
  VS_TRY(vs_vec_reserve(devices->host, &order, count));
  for (uint32_t i = 0; i < count; i++) order.data[order.count++] = i;
  vs_status status = vs_sort_rows(devices->host, order.data, count, holds_more, list);
  for (size_t i = 0; i < count && status == VS_OK; i++)
    status = take_row(devices, unit, &list[order.data[i]]);
  vs_vec_free(devices->host, &order);
  return status;
}

static vs_status read_processes(vs_devices *devices, uint32_t unit, vs_devices_processes *processes) {
  const vs_telemetry_process *list = NULL;
  const vs_metric hidden = devices->driver.is_pid_hidden;
  *processes = (vs_devices_processes){.may_miss = !vs_metric_is_known(hidden) || hidden.value != 0};
  devices->rows.count = 0;
  devices->texts.bytes.count = 0;
  devices->texts.status = VS_OK;
  processes->count = devices->telemetry.ops->processes(devices->telemetry.ctx, unit, VS_PROCESS_ALL, &list);
  if (vs_devices__is_out_of_memory(processes->count)) return VS_NO_MEMORY;
  if (vs_metric_is_known(processes->count) && processes->count.value != 0) {
    const vs_status status = take_rows(devices, unit, list, (size_t)processes->count.value);
    if (status != VS_OK) {
      devices->rows.count = 0;
      *processes = (vs_devices_processes){.may_miss = true};
      return status;
    }
    settle_texts(devices);
  }
  processes->rows = devices->rows.data;
  VS_ASSERT(vs_devices__check_processes(devices, unit, processes));
  return VS_OK;
}

vs_status vs_devices_processes_of(vs_devices *devices, uint32_t unit, vs_devices_processes *processes) {
  *processes = (vs_devices_processes){.may_miss = true};
  return vs_devices_has(devices, unit) ? read_processes(devices, unit, processes) : VS_BAD_ARGUMENT;
}

/* ---- accounts */

vs_status vs_devices_accounts_of(vs_devices *devices, uint32_t unit, vs_devices_accounts *accounts) {
  const vs_telemetry_account *list = NULL;
  *accounts = (vs_devices_accounts){.rows = NULL};
  devices->accounts.count = 0;
  if (!vs_devices_has(devices, unit)) return VS_BAD_ARGUMENT;
  const vs_metric count = devices->telemetry.ops->accounts(devices->telemetry.ctx, unit, &list);
  if (vs_devices__is_out_of_memory(count)) return VS_NO_MEMORY;
  const size_t rows = vs_metric_is_known(count) ? (size_t)count.value : 0;
  VS_TRY(vs_vec_reserve(devices->host, &devices->accounts, rows));
  for (size_t i = 0; i < rows; i++)
    devices->accounts.data[i] = (vs_devices_account){.pid = list[i].pid,
                                                     .is_running = list[i].is_running,
                                                     .peak_bytes = list[i].peak_bytes,
                                                     .gpu_utilization = list[i].gpu_utilization,
                                                     .memory_utilization = list[i].memory_utilization,
                                                     .time_us = list[i].time_us,
                                                     .start_us = list[i].start_us};
  devices->accounts.count = rows;
  *accounts = (vs_devices_accounts){.count = count, .rows = devices->accounts.data};
  return VS_OK;
}
