#include "faces/cli/result.h"
#include "os/folder.h"
#include "os/infile.h"
#include "faces/cli/reply.h"
#include "os/process.h"

/* ---- small files */

enum { FILE_MOST = 64 << 20 };

/* The whole file; what cannot be read is empty. */
static vs_status read_file(const char *path, vs_text *text) {
  vs_infile file;
  vs_error error;
  if (vs_infile_open(&file, path, &error) != VS_OK) return VS_OK;
  const vs_reader reader = vs_infile_reader(&file);
  char piece[4096];
  size_t count = 1;
  while (count != 0 && text->status == VS_OK && text->bytes.count < FILE_MOST) {
    if (reader.read(reader.ctx, piece, sizeof piece, &count) != VS_OK) break;
    vs_text_put(text, piece, count);
  }
  vs_infile_close(&file);
  return text->status;
}

/* JSON that may be torn or wrong: then the document has no root. */
static vs_status read_json(vs_json_doc *document, const vs_host *host, vs_str text) {
  vs_error error;
  const vs_status status = vs_json_doc_init(document, host, text, &error);
  if (status == VS_OK) return VS_OK;
  *document = (vs_json_doc){.host = host, .root = {.kind = VS_JSON_ABSENT}};
  return status == VS_NO_MEMORY ? VS_NO_MEMORY : VS_OK;
}

/* "stats.1234.json": the 1234 between `before` and `behind`; false for other names. */
static bool number_in(const char *name, const char *before, const char *behind, uint64_t *number) {
  const vs_str text = vs_str_from(name);
  const size_t head = strlen(before), tail = strlen(behind);
  if (text.size <= head + tail || !vs_str_starts(text, vs_str_from(before))) return false;
  if (memcmp(text.data + text.size - tail, behind, tail) != 0) return false;
  return vs_parse_u64((vs_str){text.data + head, text.size - head - tail}, number);
}

/* ---- processes */

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

/* That process, made if it is new; NULL without memory. */
static vs_result_process *process_of(gathering *g, uint64_t pid) {
  vs_result *result = g->result;
  for (size_t i = 0; i < result->processes.count; i++)
    if (result->processes.data[i].pid == pid) return &result->processes.data[i];
  if (vs_vec_reserve(result->host, &result->processes, 1) != VS_OK) return NULL;
  vs_result_process *process = &result->processes.data[result->processes.count++];
  *process = (vs_result_process){.pid = pid,
                                 .child = child_of(g, pid),
                                 .program = VS_STRING_EMPTY,
                                 .ended_us = UINT64_MAX,
                                 .stats = {.host = result->host, .root = {.kind = VS_JSON_ABSENT}}};
  return process;
}

/* Whether it ended by itself its notes tell; what the node says is for those that wrote none. */
static vs_status take_slot(gathering *g, const vs_sim_process *slot) {
  if (slot->state == VS_SIM_PROCESS_FREE) return VS_OK;
  vs_result_process *process = process_of(g, slot->pid);
  if (process == NULL) return VS_NO_MEMORY;
  process->has_node = true;
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
    use->largest_refused_bytes = slot->use[c].largest_refused_bytes;
  }
  return VS_OK;
}

static vs_status take_node(gathering *g) {
  const vs_sim_node *node = g->result->node;
  for (uint32_t i = 0; i < node->process_limit && i < VS_SIM_MAX_PROCESSES; i++)
    VS_TRY(take_slot(g, &node->processes[i]));
  return VS_OK;
}

/* ---- notes of the simulated libraries */

static bool is_users(vs_str file) {
  return file.size != 0 && file.data[0] != '<' && !vs_str_contains(file, VS_STR("-packages/")) &&
         !vs_str_contains(file, VS_STR("/lib/python"));
}

/* The innermost frame of the user's own, else the innermost. */
static vs_json frame_to_show(vs_json frames) {
  for (size_t i = 0; i < vs_json_count(frames); i++)
    if (is_users(vs_reply_str(vs_json_at(frames, i), "file"))) return vs_json_at(frames, i);
  return vs_json_at(frames, 0);
}

static vs_str base_name(vs_str path) {
  size_t start = path.size;
  while (start > 0 && path.data[start - 1] != '/') start--;
  return (vs_str){path.data + start, path.size - start};
}

/* The doubt with the same words, made if it is new; NULL without memory. */
static vs_doubt *doubt_of(vs_result *result, vs_doubt_kind kind, vs_str what, vs_str detail, int64_t line) {
  uint32_t what_id, detail_id;
  if (vs_strings_intern(result->host, &result->strings, what, &what_id) != VS_OK ||
      vs_strings_intern(result->host, &result->strings, detail, &detail_id) != VS_OK)
    return NULL;
  for (size_t i = 0; i < result->doubts.count; i++) {
    vs_doubt *doubt = &result->doubts.data[i];
    if (doubt->kind == kind && doubt->what == what_id && doubt->detail == detail_id && doubt->line == line)
      return doubt;
  }
  if (vs_vec_reserve(result->host, &result->doubts, 1) != VS_OK) return NULL;
  vs_doubt *doubt = &result->doubts.data[result->doubts.count++];
  *doubt = (vs_doubt){.kind = kind, .what = what_id, .detail = detail_id, .line = line};
  return doubt;
}

/* Which doubt a place has become that the notes of one process call by a number. */
typedef struct place {
  uint64_t id;
  size_t doubt;
} place;

typedef struct note_reader {
  gathering *g;
  vs_result_process *process; /* borrowed from the list, which does not grow meanwhile */
  VS_VEC(place) places;
  bool has_exit;
} note_reader;

static vs_status take_read(note_reader *reader, vs_json note) {
  vs_result *result = reader->g->result;
  const vs_json frame = frame_to_show(vs_reply_at(note, "frames"));
  const vs_str name = vs_reply_str(frame, "name"), file = vs_reply_str(frame, "file");
  const int64_t line = vs_json_i64(vs_reply_at(frame, "line"), -1);
  char label[256];
  if (file.size == 0)
    vs_format(label, sizeof label, "%S", name.size == 0 ? VS_STR("a place without a stack") : name);
  else vs_format(label, sizeof label, "%S:%D %S", base_name(file), line, name);
  vs_doubt *doubt = doubt_of(result, VS_DOUBT_READ, vs_str_from(label), file, line);
  if (doubt == NULL || vs_vec_reserve(result->host, &reader->places, 1) != VS_OK) return VS_NO_MEMORY;
  doubt->count++;
  doubt->bytes = vs_max_u64(doubt->bytes, vs_reply_u64(note, "bytes"));
  reader->places.data[reader->places.count++] =
      (place){.id = vs_reply_u64(note, "id"), .doubt = (size_t)(doubt - result->doubts.data)};
  return VS_OK;
}

/* Comes at the end: the first read of the place was counted already. */
static vs_status take_reads(note_reader *reader, vs_json note) {
  const uint64_t id = vs_reply_u64(note, "id"), count = vs_reply_u64(note, "count");
  for (size_t i = 0; i < reader->places.count; i++)
    if (reader->places.data[i].id == id && count != 0)
      reader->g->result->doubts.data[reader->places.data[i].doubt].count += count - 1;
  return VS_OK;
}

static vs_status take_guess(note_reader *reader, vs_json note) {
  vs_doubt *doubt =
      doubt_of(reader->g->result, VS_DOUBT_GUESS, vs_reply_str(note, "what"), vs_reply_str(note, "why"), -1);
  if (doubt == NULL) return VS_NO_MEMORY;
  doubt->bytes += vs_reply_u64(note, "bytes");
  doubt->count++;
  return VS_OK;
}

static vs_status take_refused(note_reader *reader, vs_json note) {
  vs_doubt *doubt = doubt_of(reader->g->result, VS_DOUBT_REFUSED, vs_reply_str(note, "name"),
                             vs_reply_str(note, "library"), -1);
  if (doubt == NULL) return VS_NO_MEMORY;
  doubt->count++;
  return VS_OK;
}

static vs_status take_start(note_reader *reader, vs_json note) {
  vs_result *result = reader->g->result;
  return vs_strings_intern(result->host, &result->strings, vs_reply_str(note, "program"),
                           &reader->process->program);
}

/* The driver's refusals; what of them PyTorch passed on to the program it says itself. */
static vs_status take_oom(note_reader *reader, vs_json note) {
  vs_result *result = reader->g->result;
  const uint64_t card = vs_reply_u64(note, "device");
  if (card >= result->card_count || (result->oom.is_there && result->oom.has_torch)) return VS_OK;
  result->oom = (vs_result_oom){.is_there = true,
                                .card = (uint32_t)card,
                                .asked_bytes = vs_reply_u64(note, "bytes"),
                                .free_bytes = vs_reply_u64(note, "free")};
  return VS_OK;
}

static vs_status take_exit(note_reader *reader, vs_json note) {
  (void)note;
  reader->has_exit = true;
  return VS_OK;
}

static vs_status take_note(note_reader *reader, vs_json note) {
  static const struct {
    const char *kind;
    vs_status (*take)(note_reader *reader, vs_json note);
  } kinds[] = {{"start", take_start},     {"read", take_read}, {"reads", take_reads}, {"guess", take_guess},
               {"refused", take_refused}, {"oom", take_oom},   {"exit", take_exit}};
  const vs_str kind = vs_reply_str(note, "note");
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (vs_str_equal(kind, vs_str_from(kinds[i].kind))) return kinds[i].take(reader, note);
  return VS_OK; /* those of later versions */
}

/* The hook in a Python program could not do something: python/vramscope_dryrun writes what is missing, and why. */
static vs_status take_problem(note_reader *reader, vs_json note) {
  const vs_str what = vs_reply_str(note, "what");
  if (what.size == 0) return VS_OK;
  vs_doubt *doubt = doubt_of(reader->g->result, VS_DOUBT_NOT_RECORDED, what, vs_reply_str(note, "why"), -1);
  if (doubt == NULL) return VS_NO_MEMORY;
  doubt->count++;
  return VS_OK;
}

static vs_status take_lines(note_reader *reader, vs_str text,
                            vs_status (*take)(note_reader *reader, vs_json note)) {
  for (size_t at = 0; at < text.size;) {
    size_t end = at;
    while (end < text.size && text.data[end] != '\n') end++;
    vs_json_doc line;
    VS_TRY(read_json(&line, reader->g->result->host, (vs_str){text.data + at, end - at}));
    const vs_status status = take(reader, vs_json_root(&line));
    vs_json_doc_deinit(&line);
    VS_TRY(status);
    at = end + 1;
  }
  return VS_OK;
}

static vs_status take_file_of_lines(note_reader *reader, const char *path,
                                    vs_status (*take)(note_reader *reader, vs_json note)) {
  vs_text text;
  vs_text_init(&text, reader->g->result->host, NULL);
  vs_status status = read_file(path, &text);
  if (status == VS_OK) status = take_lines(reader, vs_text_view(&text), take);
  vs_text_deinit(&text);
  return status;
}

static vs_status take_problems(gathering *g, const char *path) {
  note_reader reader = {.g = g};
  return take_file_of_lines(&reader, path, take_problem);
}

static vs_status take_notes(gathering *g, const char *path, uint64_t pid) {
  note_reader reader = {.g = g, .process = process_of(g, pid)};
  if (reader.process == NULL) return VS_NO_MEMORY;
  const vs_status status = take_file_of_lines(&reader, path, take_note);
  reader.process->end = reader.has_exit                     ? VS_PROCESS_ENDED
                        : vs_process_is_alive((int64_t)pid) ? VS_PROCESS_RUNS
                                                            : VS_PROCESS_KILLED;
  reader.process->has_node = true;
  vs_vec_free(g->result->host, &reader.places);
  return status;
}

/* ---- what PyTorch said */

static uint64_t microseconds(vs_json seconds, uint64_t fallback) {
  const double value = vs_json_f64(seconds, -1);
  return value < 0 ? fallback : (uint64_t)(value * 1e6);
}

/* The card that a device of the program is. Where the program's numbers do not tell, one with the same
 * name. */
static uint32_t card_of(const vs_result *result, vs_json device) {
  const uint64_t card = vs_json_u64(vs_reply_at(device, "card"), UINT64_MAX);
  if (card < result->card_count) return (uint32_t)card;
  for (uint32_t c = 0; c < result->card_count; c++)
    if (vs_str_equal(vs_reply_str(device, "name"), vs_str_from(result->node->cards[c].name))) return c;
  return 0;
}

static void take_figures(vs_result *result, vs_result_process *process, vs_json device) {
  if (vs_reply_is_unknown(vs_reply_at(device, "peak_reserved_bytes"))) return;
  vs_result_use *use = &process->use[card_of(result, device)];
  use->is_used = true;
  use->torch = (vs_torch_figures){.is_known = true,
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
      card = card_of(result, vs_json_at(devices, i));
  result->oom = (vs_result_oom){.is_there = true,
                                .card = card,
                                .asked_bytes = vs_reply_u64(oom, "asked_bytes"),
                                .free_bytes = vs_reply_u64(oom, "free_bytes"),
                                .has_torch = true,
                                .allocated_bytes = vs_reply_u64(oom, "allocated_bytes"),
                                .reserved_bytes = vs_reply_u64(oom, "reserved_bytes")};
}

static vs_status take_stats(gathering *g, const char *path, uint64_t pid) {
  vs_result_process *process = process_of(g, pid);
  if (process == NULL) return VS_NO_MEMORY;
  vs_text text;
  vs_text_init(&text, g->result->host, NULL);
  vs_status status = read_file(path, &text);
  if (status == VS_OK) status = read_json(&process->stats, g->result->host, vs_text_view(&text));
  vs_text_deinit(&text);
  VS_TRY(status);
  const vs_json stats = vs_json_root(&process->stats), devices = vs_reply_at(stats, "devices");
  if (vs_json_kind(stats) != VS_JSON_OBJECT) return VS_OK;
  process->has_stats = true;
  process->is_complete = vs_reply_bool(stats, "complete");
  process->began_us = microseconds(vs_reply_at(stats, "began"), 0);
  if (process->is_complete) process->ended_us = microseconds(vs_reply_at(stats, "ended"), UINT64_MAX);
  process->steps = vs_max_u64(process->steps, vs_reply_u64(stats, "steps"));
  for (size_t i = 0; i < vs_json_count(devices); i++)
    take_figures(g->result, process, vs_json_at(devices, i));
  take_torch_oom(g->result, vs_reply_at(stats, "oom"), devices);
  return VS_OK;
}

static vs_status take_file(void *ctx, const char *name, vs_folder_kind kind) {
  gathering *g = ctx;
  uint64_t pid;
  char path[VS_FOLDER_PATH];
  vs_format(path, sizeof path, "%s/%s", g->folder, name);
  if (kind != VS_FOLDER_FILE) return VS_OK;
  if (number_in(name, "notes.", ".jsonl", &pid)) return take_notes(g, path, pid);
  if (number_in(name, "stats.", ".json", &pid)) return take_stats(g, path, pid);
  if (number_in(name, "problems.", ".jsonl", &pid)) return take_problems(g, path);
  if (!number_in(name, "snapshot.", ".pickle", &pid)) return VS_OK;
  vs_result_process *process = process_of(g, pid);
  if (process == NULL) return VS_NO_MEMORY;
  process->has_snapshot = true;
  return VS_OK;
}

void vs_result_snapshot_path(char *path, size_t capacity, const char *folder, uint64_t pid) {
  vs_format(path, capacity, "%s/snapshot.%U.pickle", folder, pid);
}

/* ---- sums */

static bool lives_at(const vs_result_process *process, uint64_t time) {
  return process->began_us <= time && time <= process->ended_us;
}

static void add_figures(vs_torch_figures *sum, const vs_torch_figures *more) {
  if (!more->is_known) return;
  sum->is_known = true;
  sum->peak_allocated_bytes += more->peak_allocated_bytes;
  sum->peak_requested_bytes += more->peak_requested_bytes;
  sum->peak_reserved_bytes += more->peak_reserved_bytes;
}

/* What those had together that lived when process `i` began: the most over all `i` is the most that there
 * was. */
static void sum_together(const vs_result *result, vs_result_card *card, uint32_t c, size_t i) {
  const uint64_t time = result->processes.data[i].began_us;
  vs_torch_figures together = {.is_known = false};
  uint32_t contexts = 0;
  for (size_t k = 0; k < result->processes.count; k++) {
    const vs_result_process *process = &result->processes.data[k];
    if (!process->use[c].is_used || !lives_at(process, time)) continue;
    contexts++;
    add_figures(&together, &process->use[c].torch);
  }
  if (contexts > card->contexts) card->contexts = contexts;
  vs_torch_figures *most = &card->torch;
  most->is_known = most->is_known || together.is_known;
  most->peak_allocated_bytes = vs_max_u64(most->peak_allocated_bytes, together.peak_allocated_bytes);
  most->peak_requested_bytes = vs_max_u64(most->peak_requested_bytes, together.peak_requested_bytes);
  most->peak_reserved_bytes = vs_max_u64(most->peak_reserved_bytes, together.peak_reserved_bytes);
}

/* A process holds its memory a little longer than it says. Where the driver saw as much as they all had, they
 * had it at the same time. */
static void sum_all(const vs_result *result, vs_result_card *card, uint32_t c) {
  vs_torch_figures all = {.ooms = card->torch.ooms, .retries = card->torch.retries};
  uint32_t contexts = 0;
  for (size_t i = 0; i < result->processes.count; i++) {
    const vs_result_use *use = &result->processes.data[i].use[c];
    contexts += use->is_used;
    add_figures(&all, &use->torch);
  }
  const uint64_t needed = vs_sat_add_u64(all.peak_reserved_bytes, contexts * card->card->context_bytes);
  if (!all.is_known || needed > card->driver_peak_bytes) return;
  card->torch = all;
  card->contexts = contexts;
}

static void sum_card(vs_result *result, uint32_t c) {
  vs_result_card *card = &result->cards[c];
  *card = (vs_result_card){.card = &result->node->cards[c],
                           .driver_peak_bytes = result->node->cards[c].peak_bytes,
                           .refused_count = result->node->cards[c].refused_count};
  for (size_t i = 0; i < result->processes.count; i++) {
    const vs_result_use *use = &result->processes.data[i].use[c];
    if (!use->is_used) continue;
    card->is_used = true;
    card->torch.ooms += use->torch.ooms;
    card->torch.retries += use->torch.retries;
    if (!use->torch.is_known) result->refused += use->refused_count;
    sum_together(result, card, c, i);
  }
  sum_all(result, card, c);
  result->ooms += card->torch.ooms;
}

/* How much a process is worth looking into: errors first, then what can be looked into, then bytes. */
static uint64_t weight(const vs_result_process *process, uint32_t card_count) {
  uint64_t bytes = 0, ooms = 0;
  for (uint32_t c = 0; c < card_count; c++) {
    bytes = vs_max_u64(bytes, process->use[c].driver_peak_bytes);
    ooms += process->use[c].torch.ooms;
  }
  const uint64_t below = (UINT64_C(1) << 60) - 1;
  return (bytes < below ? bytes : below) | (ooms != 0 ? UINT64_C(1) << 62 : 0) |
         (process->has_snapshot ? UINT64_C(1) << 61 : 0);
}

static void find_main(vs_result *result) {
  result->main = SIZE_MAX;
  for (size_t i = 0; i < result->processes.count; i++) {
    const vs_result_process *process = &result->processes.data[i];
    result->steps = vs_max_u64(result->steps, process->steps);
    if (result->main == SIZE_MAX || weight(process, result->card_count) >
                                        weight(&result->processes.data[result->main], result->card_count))
      result->main = i;
  }
}

/* What the hook's own sentence calls the figures that a process leaves at its end. */
static const char figures_name[] = "PyTorch's figures";

static bool is_figures_problem_known(const vs_result *result) {
  for (size_t i = 0; i < result->doubts.count; i++)
    if (result->doubts.data[i].kind == VS_DOUBT_NOT_RECORDED &&
        vs_str_equal(vs_result_string(result, result->doubts.data[i].what), vs_str_from(figures_name)))
      return true;
  return false;
}

/* Figures that end before the process does. Of a process that the simulated libraries saw ending by exit(), the hook
 * says why it did not write them; where it says nothing, it was not called. */
static vs_status doubt_histories(vs_result *result) {
  for (size_t i = 0; i < result->processes.count; i++) {
    const vs_result_process *process = &result->processes.data[i];
    if (!process->has_stats || process->is_complete || process->end == VS_PROCESS_RUNS) continue;
    const bool was_cut = !process->has_node || process->end == VS_PROCESS_KILLED;
    if (!was_cut && is_figures_problem_known(result)) continue;
    vs_doubt *doubt =
        was_cut ? doubt_of(result, VS_DOUBT_HISTORY, VS_STR("lost"), VS_STR(""), -1)
                : doubt_of(result, VS_DOUBT_NOT_RECORDED, vs_str_from(figures_name),
                           VS_STR("Python's exit handlers did not run, or could write nothing"), -1);
    if (doubt == NULL) return VS_NO_MEMORY;
    doubt->count++;
  }
  return VS_OK;
}

static bool is_before(const vs_doubt *a, const vs_doubt *b) {
  if (a->kind != b->kind) return a->kind < b->kind;
  return a->kind == VS_DOUBT_GUESS ? a->bytes > b->bytes : a->count > b->count;
}

/* By kind, the most frequent first; there are few. */
static void sort_doubts(vs_result *result) {
  for (size_t i = 1; i < result->doubts.count; i++) {
    const vs_doubt moving = result->doubts.data[i];
    size_t k = i;
    for (; k > 0 && is_before(&moving, &result->doubts.data[k - 1]); k--)
      result->doubts.data[k] = result->doubts.data[k - 1];
    result->doubts.data[k] = moving;
  }
}

static vs_status gather(gathering *g) {
  vs_result *result = g->result;
  VS_TRY(take_node(g));
  const vs_status status = vs_folder_each(g->folder, g, take_file);
  if (status != VS_OK && status != VS_NOT_FOUND && status != VS_IO) return status;
  for (uint32_t c = 0; c < result->card_count; c++) sum_card(result, c);
  find_main(result);
  VS_TRY(doubt_histories(result));
  sort_doubts(result);
  return VS_OK;
}

vs_status vs_result_init(vs_result *result, const vs_host *host, const vs_sim_node *node, const char *folder,
                         const int64_t *pids, size_t pid_count) {
  *result = (vs_result){.host = host, .node = node, .card_count = node->card_count, .main = SIZE_MAX};
  gathering g = {.result = result, .folder = folder, .pids = pids, .pid_count = pid_count};
  VS_TRY(vs_strings_init(host, &result->strings));
  const vs_status status = gather(&g);
  if (status != VS_OK) vs_result_deinit(result);
  return status;
}

void vs_result_deinit(vs_result *result) {
  for (size_t i = 0; i < result->processes.count; i++) vs_json_doc_deinit(&result->processes.data[i].stats);
  vs_vec_free(result->host, &result->processes);
  vs_vec_free(result->host, &result->doubts);
  vs_strings_deinit(result->host, &result->strings);
}

/* ---- the model */

vs_json vs_result_model(const vs_result *result) {
  if (result->main == SIZE_MAX) return (vs_json){0};
  const vs_json stats = vs_json_root(&result->processes.data[result->main].stats);
  const vs_json model = vs_reply_at(stats, "model");
  return vs_reply_is_unknown(model) ? vs_reply_at(vs_reply_at(stats, "oom"), "model") : model;
}

uint64_t vs_result_training_bytes(const vs_result *result) {
  const vs_json model = vs_result_model(result);
  const vs_str optimizer = vs_json_str(vs_reply_at(model, "optimizer"), VS_STR(""));
  const bool is_adam = optimizer.size >= 4 && vs_str_equal((vs_str){optimizer.data, 4}, VS_STR("Adam"));
  uint32_t used = 0;
  for (uint32_t c = 0; c < result->card_count; c++) used += result->cards[c].is_used;
  const uint64_t weights = vs_reply_u64(model, "parameter_bytes"),
                 trained = vs_reply_u64(model, "trainable_bytes");
  return is_adam && used == 1 && trained < UINT64_MAX / 8 ? vs_sat_add_u64(weights, 3 * trained) : 0;
}

/* ---- what it needed */

vs_fit_need vs_result_need(const vs_result *result, uint32_t c, bool is_context_given) {
  const vs_result_card *card = &result->cards[c];
  const uint64_t context = card->card->context_bytes;
  vs_fit_need need = {.bytes = card->driver_peak_bytes,
                      .context_bytes = context,
                      .contexts = card->contexts,
                      .is_context_given = is_context_given,
                      .is_open_ended = result->ooms + result->refused != 0};
  if (context != 0 && need.contexts > need.bytes / context) need.contexts = (uint32_t)(need.bytes / context);
  if (card->torch.peak_reserved_bytes > card->torch.peak_allocated_bytes)
    need.cached_bytes = card->torch.peak_reserved_bytes - card->torch.peak_allocated_bytes;
  if (!need.is_open_ended) return need;
  const vs_result_oom *oom = &result->oom;
  need.least_bytes = need.bytes - (need.cached_bytes < need.bytes ? need.cached_bytes : need.bytes);
  if (card->is_used && vs_result_training_bytes(result) != 0)
    need.least_bytes =
        vs_max_u64(need.least_bytes, vs_sat_add_u64(vs_result_training_bytes(result), context));
  if (!oom->is_there || oom->card != c) return need;
  const uint64_t used =
      card->card->figures.total_bytes - card->card->taken_bytes -
      vs_min_u64(oom->free_bytes, card->card->figures.total_bytes - card->card->taken_bytes);
  const uint64_t cached = oom->has_torch && oom->reserved_bytes > oom->allocated_bytes
                              ? oom->reserved_bytes - oom->allocated_bytes
                              : 0;
  const uint64_t past = vs_sat_add_u64(used - vs_min_u64(cached, used), oom->asked_bytes);
  need.least_bytes = vs_max_u64(need.least_bytes, past);
  return need;
}
