#include "dryrun/gather.h"
#include "codec/json_reply.h"
#include "dryrun/notes.h"
#include "dryrun/sums.h"
#include "os/folder.h"
#include "os/infile.h"
#include "os/process.h"

/* ---- small files */

enum { FILE_MOST = 64 << 20 };

/* Appends the whole file, or its first FILE_MOST bytes. A file that cannot be read adds nothing: the process that writes it
 * may have been killed. */
static vs_status read_file(const char *path, vs_text *text) {
  vs_error ignored;
  const vs_status status = vs_infile_text(path, FILE_MOST, text, &ignored);
  (void)status;
  return text->status;
}

/* Reads the number between `before` and `behind`, 1234 in "stats.1234.json"; false for other names. */
static bool number_in(const char *name, const char *before, const char *behind, uint64_t *number) {
  const vs_str text = vs_str_from(name);
  const size_t head = strlen(before), tail = strlen(behind);
  if (text.size <= head + tail || !vs_str_starts(text, vs_str_from(before))) return false;
  if (memcmp(text.data + text.size - tail, behind, tail) != 0) return false;
  return vs_parse_u64((vs_str){text.data + head, text.size - head - tail}, number);
}

/* ---- the machine */

typedef struct gathering {
  vs_result *result;
  const char *folder;
  const int64_t *pids;
  size_t pid_count;
} gathering;

static uint32_t child_of(const gathering *g, uint64_t pid) {
  for (size_t i = 0; i < g->pid_count; i++)
    if (g->pids[i] >= 0 && (uint64_t)g->pids[i] == pid) return (uint32_t)i;
  return VS_NO_CHILD;
}

static vs_result_process *process_of(gathering *g, uint64_t pid) {
  return vs_result_process_of(g->result, pid, child_of(g, pid));
}

/* What the allocator reported while it ran. */
static vs_torch_figures reported(const vs_sim_use *use) {
  VS_ASSERT(use->has_allocator <= 1);
  return (vs_torch_figures){.is_known = use->has_allocator != 0,
                            .peak_allocated_bytes = use->allocated_peak_bytes,
                            .peak_reserved_bytes = use->reserved_peak_bytes,
                            .ooms = use->out_of_memory_count};
}

/* A process's own notes say how it ended (vs_notes_take); the record in the machine is used only if it left none. */
static vs_status take_slot(gathering *g, const vs_sim_process *slot) {
  if (slot->state == VS_SIM_PROCESS_FREE) return VS_OK;
  vs_result_process *process = process_of(g, slot->pid);
  if (process == NULL) return VS_NO_MEMORY;
  VS_ASSERT(g->result->card_count <= VS_SIM_MAX_DEVICES);
  process->used_cuda = true;
  process->end = slot->state == VS_SIM_PROCESS_LEFT        ? VS_PROCESS_ENDED
                 : vs_process_is_alive((int64_t)slot->pid) ? VS_PROCESS_RUNS
                                                           : VS_PROCESS_KILLED;
  process->steps = slot->steps;
  process->reads = slot->reads;
  process->kernels = slot->kernels;
  for (uint32_t c = 0; c < g->result->card_count; c++) {
    vs_result_use *use = &process->use[c];
    use->is_used = slot->use[c].peak_bytes != 0 || slot->use[c].refused_count != 0;
    use->driver_peak_bytes = slot->use[c].peak_bytes;
    use->refused_count = slot->use[c].refused_count;
    use->context_refused_count = slot->use[c].context_refused_count;
    use->largest_refused_bytes = slot->use[c].largest_refused_bytes;
    use->torch = reported(&slot->use[c]);
  }
  return VS_OK;
}

static vs_status take_machine(gathering *g) {
  const vs_sim_machine *machine = g->result->machine;
  for (uint32_t i = 0; i < machine->process_limit && i < VS_SIM_MAX_PROCESSES; i++)
    VS_TRY(take_slot(g, &machine->processes[i]));
  return VS_OK;
}

/* ---- the figures of PyTorch's allocator */

static uint64_t microseconds(vs_json seconds, uint64_t fallback) {
  const double value = vs_json_f64(seconds, -1);
  return value < 0 ? fallback : (uint64_t)(value * 1e6);
}

/* Statistics that were not written at the process's end are older than what the allocator reported. */
static void take_figures(vs_result *result, vs_result_process *process, vs_json device) {
  if (vs_reply_is_unknown(vs_reply_at(device, "peak_reserved_bytes"))) return;
  const uint32_t card = vs_result_card_of(result, device);
  VS_ASSERT(card < VS_SIM_MAX_DEVICES);
  vs_result_use *use = &process->use[card];
  use->is_used = true;
  if (!process->is_complete && use->torch.is_known) return;
  use->torch = (vs_torch_figures){.is_known = true,
                                  .has_statistics = true,
                                  .peak_allocated_bytes = vs_reply_u64(device, "peak_allocated_bytes"),
                                  .peak_requested_bytes = vs_reply_u64(device, "peak_requested_bytes"),
                                  .peak_reserved_bytes = vs_reply_u64(device, "peak_reserved_bytes"),
                                  .ooms = vs_reply_u64(device, "num_ooms"),
                                  .retries = vs_reply_u64(device, "num_alloc_retries")};
}

static void take_torch_oom(vs_result *result, vs_json oom, vs_json devices) {
  if (vs_json_kind(oom) != VS_JSON_OBJECT) return;
  uint32_t card = 0;
  for (size_t i = 0; i < vs_json_count(devices); i++)
    if (vs_reply_u64(vs_json_at(devices, i), "device") == vs_reply_u64(oom, "device"))
      card = vs_result_card_of(result, vs_json_at(devices, i));
  result->oom = (vs_result_oom){.is_there = true,
                                .card = card,
                                .asked_bytes = vs_reply_u64(oom, "asked_bytes"),
                                .free_bytes = vs_reply_u64(oom, "free_bytes"),
                                .has_torch = true,
                                .allocated_bytes = vs_reply_u64(oom, "allocated_bytes"),
                                .reserved_bytes = vs_reply_u64(oom, "reserved_bytes")};
}

static vs_status take_stats(gathering *g, vs_str text, uint64_t pid) {
  vs_result_process *process = process_of(g, pid);
  if (process == NULL) return VS_NO_MEMORY;
  VS_TRY(vs_notes_parse(&process->stats, g->result->host, text));
  const vs_json stats = vs_json_root(&process->stats), devices = vs_reply_at(stats, "devices");
  if (vs_json_kind(stats) != VS_JSON_OBJECT) return VS_OK;
  process->has_stats = true;
  process->is_complete = vs_reply_bool(stats, "complete");
  process->is_recorded = vs_reply_bool(stats, "is_recorded");
  process->began_us = microseconds(vs_reply_at(stats, "began"), 0);
  if (process->is_complete) process->ended_us = microseconds(vs_reply_at(stats, "ended"), UINT64_MAX);
  process->steps = vs_max_u64(process->steps, vs_reply_u64(stats, "steps"));
  for (size_t i = 0; i < vs_json_count(devices); i++)
    take_figures(g->result, process, vs_json_at(devices, i));
  take_torch_oom(g->result, vs_reply_at(stats, "oom"), devices);
  return VS_OK;
}

/* ---- the figures of JAX's and TensorFlow's allocators */

static void take_pool_figures(gathering *g, vs_result_process *process, vs_pool_owner owner, vs_json device) {
  vs_result_use *use = &process->use[vs_result_card_of(g->result, device)];
  use->is_used = true;
  use->pools[owner] = (vs_pool_figures){.is_known = true,
                                        .peak_in_use_bytes = vs_reply_u64(device, "peak_bytes_in_use"),
                                        .peak_pool_bytes = vs_reply_u64(device, "peak_pool_bytes"),
                                        .limit_bytes = vs_reply_u64(device, "bytes_limit")};
}

/* An error does not name its card: it is that of the fullest pool. */
static void take_pool_oom(gathering *g, vs_result_process *process, vs_pool_owner owner, vs_json oom) {
  vs_result *result = g->result;
  uint32_t card = 0;
  if (vs_json_kind(oom) != VS_JSON_OBJECT || result->card_count == 0) return;
  for (uint32_t c = 1; c < result->card_count; c++)
    if (process->use[c].pools[owner].peak_in_use_bytes > process->use[card].pools[owner].peak_in_use_bytes)
      card = c;
  vs_pool_figures *pool = &process->use[card].pools[owner];
  pool->is_known = true;
  pool->ooms++;
  result->oom = (vs_result_oom){.is_there = true,
                                .is_pool = true,
                                .pool = owner,
                                .card = card,
                                .asked_bytes = vs_reply_u64(oom, "asked_bytes"),
                                .free_bytes = vs_reply_u64(oom, "free_bytes")};
}

/* A process of the machine, which was taken before the files; NULL: it imported the library and did not use a card. */
static vs_result_process *using_process(vs_result *result, uint64_t pid) {
  for (size_t i = 0; i < result->processes.count; i++)
    if (result->processes.data[i].pid == pid) return &result->processes.data[i];
  return NULL;
}

static vs_status take_pool(gathering *g, vs_str text, uint64_t pid, vs_pool_owner owner) {
  vs_json_doc document;
  vs_result_process *process = using_process(g->result, pid);
  if (process == NULL) return VS_OK;
  VS_TRY(vs_notes_parse(&document, g->result->host, text));
  const vs_json root = vs_json_root(&document), devices = vs_reply_at(root, "devices");
  process->lacks_pool[owner] = !vs_reply_bool(root, "complete");
  for (size_t i = 0; i < vs_json_count(devices); i++)
    take_pool_figures(g, process, owner, vs_json_at(devices, i));
  take_pool_oom(g, process, owner, vs_reply_at(root, "oom"));
  vs_json_doc_deinit(&document);
  return VS_OK;
}

static vs_status take_jax(gathering *g, vs_str text, uint64_t pid) {
  return take_pool(g, text, pid, VS_POOL_JAX);
}

static vs_status take_tensorflow(gathering *g, vs_str text, uint64_t pid) {
  return take_pool(g, text, pid, VS_POOL_TENSORFLOW);
}

/* ---- files */

static vs_status take_notes(gathering *g, vs_str text, uint64_t pid) {
  return vs_notes_take(g->result, text, pid, child_of(g, pid));
}

static vs_status take_problems(gathering *g, vs_str text, uint64_t pid) {
  (void)pid;
  return vs_problems_take(g->result, text);
}

static vs_status take_text(gathering *g, const char *name, uint64_t pid,
                           vs_status (*take)(gathering *g, vs_str text, uint64_t pid)) {
  char path[VS_FOLDER_PATH];
  vs_text text;
  vs_format(path, sizeof path, "%s/%s", g->folder, name);
  vs_text_init(&text, g->result->host, NULL);
  vs_status status = read_file(path, &text);
  if (status == VS_OK) status = take(g, vs_text_view(&text), pid);
  vs_text_deinit(&text);
  return status;
}

static vs_status take_file(void *ctx, const char *name, vs_folder_kind kind) {
  gathering *g = ctx;
  uint64_t pid;
  if (kind != VS_FOLDER_FILE) return VS_OK;
  if (number_in(name, "notes.", ".jsonl", &pid)) return take_text(g, name, pid, take_notes);
  if (number_in(name, "stats.", ".json", &pid)) return take_text(g, name, pid, take_stats);
  if (number_in(name, "jax.", ".json", &pid)) return take_text(g, name, pid, take_jax);
  if (number_in(name, "tensorflow.", ".json", &pid)) return take_text(g, name, pid, take_tensorflow);
  if (number_in(name, "problems.", ".jsonl", &pid)) return take_text(g, name, pid, take_problems);
  const bool is_snapshot = number_in(name, "snapshot.", ".pickle", &pid);
  if (!is_snapshot && !number_in(name, "recording.", ".vram", &pid)) return VS_OK;
  vs_result_process *process = process_of(g, pid);
  if (process == NULL) return VS_NO_MEMORY;
  if (is_snapshot) process->has_snapshot = true;
  else process->has_recording = true;
  return VS_OK;
}

void vs_gather_recording_name(char *path, size_t capacity, const char *folder) {
  vs_format(path, capacity, "%s/recording.vram", folder);
}

void vs_gather_history_path(char *path, size_t capacity, const char *folder,
                            const vs_result_process *process) {
  VS_ASSERT(vs_result_has_history(process));
  const bool is_snapshot = process->has_snapshot;
  vs_format(path, capacity, "%s/%s.%U.%s", folder, is_snapshot ? "snapshot" : "recording", process->pid,
            is_snapshot ? "pickle" : "vram");
}

static vs_status gather(gathering *g) {
  VS_TRY(take_machine(g));
  const vs_status status = vs_folder_each(g->folder, g, take_file);
  if (status != VS_OK && status != VS_NOT_FOUND && status != VS_IO) return status;
  VS_TRY(vs_sums_make(g->result));
  VS_ASSERT(vs_result_check(g->result));
  return VS_OK;
}

vs_status vs_gather(vs_result *result, const vs_host *host, const vs_sim_machine *machine, const char *folder,
                    const int64_t *pids, size_t pid_count) {
  gathering g = {.result = result, .folder = folder, .pids = pids, .pid_count = pid_count};
  VS_TRY(vs_result_init(result, host, machine));
  const vs_status status = gather(&g);
  if (status != VS_OK) vs_result_deinit(result);
  return status;
}
