/* The ledger of this machine's cards now: NVML's figures, and PyTorch's rows of processes that are recorded. */
#include "codec/json_reply.h"
#include "faces/cli/recorded_process.h"
#include "faces/cli/where.h"
#include "os/proc.h"
#include <vramscope/devices.h>

enum { MOST_CARDS = 64 };

static const char nvml[] = "NVML", proc_root[] = "/proc";

typedef struct live {
  bool has_driver; /* NVML answers */
  vs_cli *cli;
  vs_ledger *ledger;
  vs_devices *devices;
  uint64_t pid; /* 0: all processes */
  uint32_t cards_of_pid;
} live;

/* ---- figures ---------------------------------------------------------------------------------------------- */

static vs_ledger_figure figure_of(vs_metric metric) {
  return vs_metric_is_known(metric) ? vs_ledger_known(metric.value, nvml)
                                    : vs_ledger_unknown(vs_str_from(vs_reason_text(metric.reason)));
}

static uint32_t add(const live *l, uint32_t parent, vs_ledger_kind kind, const char *name,
                    const vs_ledger_figure *figure) {
  return vs_ledger_add(l->ledger, parent,
                       &(vs_ledger_entry){.kind = kind, .name = vs_str_from(name), .figure = *figure});
}

static uint32_t add_unknown(const live *l, uint32_t parent, vs_ledger_kind kind, const char *name,
                            const char *why) {
  const vs_ledger_figure figure = vs_ledger_unknown(vs_str_from(why));
  return add(l, parent, kind, name, &figure);
}

/* ---- the recording of a process ---------------------------------------------------------------------------- */

static const char context[] = "only a dry run has it apart";

static void add_pytorch(const live *l, uint32_t process, const vs_recorded_process *p) {
  static const char source[] = "recording, now",
                    libraries[] = "only a recording that began with the program has them, or a dry run";
  const vs_json none = {.value.kind = VS_JSON_ABSENT};
  const vs_json reply = p->is_known ? p->device : none;
  const vs_ledger_figure reserved = p->is_known
                                        ? vs_ledger_known(vs_reply_u64(reply, "reserved_bytes"), source)
                                        : vs_ledger_unknown(vs_str_from(p->why.text));
  vs_ledger_add_pytorch(l->ledger, process, &reserved, reply, VS_STR(""));
  vs_ledger_add_libraries(l->ledger, process, reply, vs_str_from(libraries));
}

/* ---- processes ---------------------------------------------------------------------------------------------- */

static void put_name(char *name, size_t size, const vs_devices_process *process) {
  const bool has_user = process->user != NULL && process->user[0] != 0;
  vs_format(name, size, "process %U %s%s%s%s", process->pid, process->name == NULL ? "" : process->name,
            has_user ? " (" : "", has_user ? process->user : "", has_user ? ")" : "");
}

static uint32_t add_process_row(const live *l, uint32_t parent, vs_ledger_kind kind,
                                const vs_devices_process *process) {
  char name[200];
  put_name(name, sizeof name, process);
  return vs_ledger_add(l->ledger, parent,
                       &(vs_ledger_entry){.kind = kind,
                                          .name = vs_str_from(name),
                                          .figure = figure_of(process->bytes),
                                          .has_number = true,
                                          .number = process->pid});
}

/* The process with what is known of its memory. Without a recording only where it was asked for. */
static void add_process(const live *l, uint32_t used, const vs_devices_process *process,
                        uint32_t cards_of_pid, vs_metric cuda) {
  vs_recorded_process p = {.is_known = false};
  if (process->is_visible)
    vs_recorded_process_read(&p, l->cli->host, process->pid, cards_of_pid, cuda, false);
  const uint32_t row = add_process_row(l, used, VS_LEDGER_PROCESS, process);
  if (row != VS_LEDGER_NONE && (p.is_known || l->pid != 0)) {
    if (p.is_known && !p.has_pytorch)
      vs_ledger_add_without_pytorch(l->ledger, row, p.device, VS_LIBRARIES_AT_END);
    else add_pytorch(l, row, &p);
    (void)add_unknown(l, row, VS_LEDGER_CONTEXT, "CUDA context, streams, local memory", context);
  }
  vs_recorded_process_deinit(&p);
}

/* In a container another process of the host may have the same number. */
static bool is_wanted(const live *l, const vs_devices_process *process) {
  return process->pid == l->pid && process->is_visible;
}

static const char hidden[] = "in a container the driver's list may lack processes";

/* All others of a process in one row, with a row for each. */
static void add_others(const live *l, uint32_t used, const vs_devices_processes *all) {
  vs_ledger_figure sum = vs_ledger_known(0, nvml);
  for (uint64_t i = 0; i < all->count.value && sum.is_known; i++) {
    if (is_wanted(l, &all->rows[i])) continue;
    if (vs_metric_is_known(all->rows[i].bytes))
      sum.bytes = vs_sat_add_u64(sum.bytes, all->rows[i].bytes.value);
    else sum = figure_of(all->rows[i].bytes);
  }
  if (sum.is_known && all->may_miss) sum = vs_ledger_unknown(vs_str_from(hidden));
  const uint32_t row = add(l, used, VS_LEDGER_OTHER_PROCESSES, "other processes", &sum);
  for (uint64_t i = 0; row != VS_LEDGER_NONE && i < all->count.value; i++)
    if (!is_wanted(l, &all->rows[i])) (void)add_process_row(l, row, VS_LEDGER_OTHER_PROCESS, &all->rows[i]);
}

static bool has_pid(const live *l, const vs_devices_processes *all) {
  for (uint64_t i = 0; vs_metric_is_known(all->count) && i < all->count.value; i++)
    if (is_wanted(l, &all->rows[i])) return true;
  return false;
}

static void add_processes(const live *l, uint32_t used, const vs_devices_processes *all, vs_metric cuda) {
  if (!vs_metric_is_known(all->count)) {
    (void)add_unknown(l, used, VS_LEDGER_OTHER_PROCESSES, l->pid == 0 ? "processes" : "other processes",
                      vs_reason_text(all->count.reason));
    return;
  }
  if (l->pid != 0) add_others(l, used, all);
  for (uint64_t i = 0; i < all->count.value; i++)
    if (l->pid == 0 || is_wanted(l, &all->rows[i]))
      add_process(l, used, &all->rows[i], l->cards_of_pid, cuda);
  if (l->pid == 0 && all->may_miss)
    (void)add_unknown(l, used, VS_LEDGER_OTHER_PROCESSES, "other processes", hidden);
}

/* ---- cards ---------------------------------------------------------------------------------------------------- */

static vs_status add_card(const live *l, uint32_t unit, const vs_devices_info *info) {
  vs_devices_memory memory;
  vs_devices_processes all;
  VS_TRY(vs_devices_memory_of(l->devices, unit, false, &memory));
  VS_TRY(vs_devices_processes_of(l->devices, unit, &all));
  const uint32_t card = vs_ledger_add(l->ledger, VS_LEDGER_NONE,
                                      &(vs_ledger_entry){.kind = VS_LEDGER_CARD,
                                                         .name = vs_str_from(info->name),
                                                         .figure = figure_of(memory.total),
                                                         .has_number = true,
                                                         .number = info->index,
                                                         .moment = VS_STR("now")});
  const vs_ledger_figure used = figure_of(memory.used), reserve = figure_of(memory.reserved),
                         free_bytes = figure_of(memory.free);
  const uint32_t row = add(l, card, VS_LEDGER_USED, "used", &used);
  if (row == VS_LEDGER_NONE) return l->ledger->status;
  add_processes(l, row, &all, info->cuda_index);
  (void)add(l, card, VS_LEDGER_RESERVE, "driver's own reserve", &reserve);
  (void)add(l, card, VS_LEDGER_FREE, "free", &free_bytes);
  return l->ledger->status;
}

/* The units on which programs run, and on which the process has memory; their number, at most MOST_CARDS. */
static vs_status list_cards(const live *l, uint32_t cards[MOST_CARDS], uint32_t *count) {
  *count = 0;
  for (uint32_t i = 0; i < vs_devices_count(l->devices) && *count < MOST_CARDS; i++) {
    vs_devices_info info;
    vs_devices_processes all;
    VS_TRY(vs_devices_info_of(l->devices, i, &info));
    if (info.is_divided) continue;
    if (l->pid != 0) {
      VS_TRY(vs_devices_processes_of(l->devices, i, &all));
      if (!has_pid(l, &all)) continue;
    }
    cards[(*count)++] = i;
  }
  return VS_OK;
}

static vs_status no_card(const live *l, vs_error *error) {
  if (l->pid == 0) return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET, "no GPU was found");
  vs_devices_driver driver;
  vs_devices_driver_of(l->devices, &driver);
  if (vs_metric_is_known(driver.is_pid_hidden) && driver.is_pid_hidden.value == 0)
    return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET,
                   "process %U has no memory of a GPU, as the driver lists it", l->pid);
  return vs_fail(
      error, VS_NOT_FOUND, VS_NO_OFFSET,
      "the driver's list does not have process %U: in a container it may have another number there", l->pid);
}

static vs_status add_cards(live *l, vs_error *error) {
  const char *option = l->cli->line->values[VS_OPTION_DEVICE];
  uint32_t cards[MOST_CARDS], count;
  uint64_t wanted = 0, found = 0;
  if (option != NULL && !vs_parse_u64(vs_str_from(option), &wanted))
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "--device takes the number of a GPU");
  VS_TRY(list_cards(l, cards, &count));
  if (count == 0) return no_card(l, error);
  l->cards_of_pid = l->pid == 0 ? 0 : count;
  for (uint32_t i = 0; i < count; i++) {
    vs_devices_info info;
    VS_TRY(vs_devices_info_of(l->devices, cards[i], &info));
    if (option != NULL && info.index != wanted) continue;
    found++;
    VS_TRY(add_card(l, cards[i], &info));
  }
  return found != 0 ? VS_OK
                    : vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET, "there is no GPU %U to show", wanted);
}

/* ---- the machine, as the process sees it ------------------------------------------------------------------------ */

static vs_status open_devices(live *l, vs_error *error) {
  vs_devices_failure failure;
  const vs_host *host = l->cli->host;
  const vs_devices_options options = {.host = host};
  const vs_status status = l->pid == 0
                               ? vs_devices_open(&options, &l->devices, &failure)
                               : vs_recorded_process_open_devices(host, l->pid, &l->devices, &failure);
  if (status != VS_OK) return vs_fail(error, status, VS_NO_OFFSET, "%s", failure.text);
  l->has_driver = true;
  const vs_status added = add_cards(l, error);
  vs_devices_close(l->devices);
  return added;
}

vs_exit vs_where_add_live(vs_cli *cli, uint64_t pid, vs_ledger *ledger) {
  live l = {.cli = cli, .ledger = ledger, .pid = pid};
  vs_proc proc;
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_status status = VS_OK;
  const bool is_there = pid == 0 || vs_proc_read(proc_root, pid, &proc) == VS_OK;
  if (!is_there) status = vs_fail(&error, VS_NOT_FOUND, VS_NO_OFFSET, "there is no process %U", pid);
  if (status == VS_OK) status = open_devices(&l, &error);
  if (status == VS_OK) return VS_EXIT_OK;
  if (error.status == VS_OK) vs_fail(&error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  const vs_exit code = vs_print_error(VS_STR(""), &error);
  return is_there && !l.has_driver && code == VS_EXIT_USAGE ? VS_EXIT_FILE : code; /* no GPU was found */
}
