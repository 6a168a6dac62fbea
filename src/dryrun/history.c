#include "dryrun/history.h"
#include "codec/json_reply.h"
#include "dryrun/gather.h"
#include "dryrun/reply_ledger.h"
#include "os/infile.h"
#include "os/outfile.h"
#include <vramscope/query.h>

/* ---- reading */

typedef struct reading {
  const vs_dryrun_setup *setup;
  vs_reader file;
  uint64_t read_bytes, file_bytes;
} reading;

static vs_status read_shown(void *ctx, void *data, size_t capacity, size_t *count) {
  reading *r = ctx;
  const vs_status status = r->file.read(r->file.ctx, data, capacity, count);
  VS_ASSERT(status != VS_OK || *count <= capacity);
  if (status == VS_OK) r->read_bytes += *count;
  vs_dryrun_show(r->setup, &(vs_dryrun_progress){.stage = VS_DRYRUN_READING,
                                                 .read_bytes = r->read_bytes,
                                                 .file_bytes = r->file_bytes});
  return status;
}

static vs_status load(vs_engine *engine, const vs_dryrun_setup *setup, const char *path, vs_error *error) {
  vs_infile in;
  VS_TRY(vs_infile_open(&in, path, error));
  reading r = {.setup = setup, .file = vs_infile_reader(&in), .file_bytes = in.size};
  vs_dryrun_show(setup, &(vs_dryrun_progress){.stage = VS_DRYRUN_READING, .file_bytes = r.file_bytes});
  const vs_source source = {.name = VS_STR("dry run"), .bytes = in.size};
  const vs_status status =
      vs_engine_load(engine, (vs_reader){.ctx = &r, .read = read_shown}, &source, NULL, error);
  vs_infile_close(&in);
  return status;
}

/* ---- the file that the user gets: PyTorch's own, or one in its format that is made of the recording */

static vs_status copy(vs_reader from, vs_writer to) {
  char piece[16384];
  for (size_t count = 1; count != 0;) {
    VS_TRY(from.read(from.ctx, piece, sizeof piece, &count));
    if (count != 0) VS_TRY(to.write(to.ctx, piece, count));
  }
  return VS_OK;
}

static vs_status copy_snapshot(const char *path, vs_writer to, vs_error *error) {
  vs_infile in;
  VS_TRY(vs_infile_open(&in, path, error));
  const vs_status status = copy(vs_infile_reader(&in), to);
  vs_infile_close(&in);
  return status == VS_OK ? VS_OK
                         : vs_fail(error, VS_IO, VS_NO_OFFSET, "the history cannot be read to its end");
}

static vs_status convert_recording(const vs_dryrun_setup *setup, const char *path, vs_writer to,
                                   vs_error *error) {
  vs_engine *engine;
  VS_TRY(vs_engine_create(setup->host, &engine));
  vs_status status = load(engine, setup, path, error);
  if (status == VS_OK)
    status = vs_engine_request(
        engine, VS_STR("{\"method\": \"export\", \"params\": {\"format\": \"pickle\"}}"), to, error);
  vs_engine_destroy(engine);
  vs_dryrun_show_end(setup);
  return status;
}

/* Removes the file again if it cannot be completed. */
static vs_status fill(const vs_dryrun_setup *setup, vs_outfile *out, const char *path, bool is_snapshot,
                      vs_error *error) {
  const vs_writer to = vs_outfile_writer(out);
  const vs_status status =
      is_snapshot ? copy_snapshot(path, to, error) : convert_recording(setup, path, to, error);
  if (status == VS_OK) return vs_outfile_finish(out, error);
  if (out->error.status != VS_OK) *error = out->error;
  vs_outfile_abandon(out);
  return error->status != VS_OK ? error->status : status;
}

static vs_status keep(const vs_dryrun_setup *setup, const char *path, bool is_snapshot, vs_error *error) {
  vs_outfile *out = vs_host_alloc(setup->host, sizeof *out); /* large for a stack */
  if (out == NULL) return VS_NO_MEMORY;
  vs_status status = vs_outfile_create(out, setup->plan->snapshot, setup->plan->replaces_snapshot, error);
  if (status == VS_OK) status = fill(setup, out, path, is_snapshot, error);
  vs_host_free(setup->host, out, sizeof *out);
  return status == VS_OK || status == VS_NO_MEMORY ? status : VS_IO;
}

/* ---- asking */

/* Appends the reply to a request. */
static vs_status request(vs_engine *engine, const char *what, vs_text *replies, vs_error *error) {
  return vs_engine_request(engine, vs_str_from(what), vs_text_writer(replies), error);
}

/* Appends the inventories of these devices, the reports of all GPUs. */
static vs_status ask_inventories(vs_engine *engine, vs_json devices, vs_text *replies, vs_error *error) {
  for (size_t i = 0; i < vs_json_count(devices); i++) {
    char what[80];
    vs_format(what, sizeof what, "{\"method\": \"inventory\", \"params\": {\"device\": %D}}",
              vs_reply_i64(vs_json_at(devices, i), "device"));
    if (i != 0) vs_text_byte(replies, ',');
    VS_TRY(request(engine, what, replies, error));
  }
  return VS_OK;
}

/* Appends the entry of one device: its inventory at the peak within the steps, or why there is none. */
static vs_status ask_range(vs_engine *engine, const vs_host *host, const char *steps, int64_t device,
                           vs_text *replies, vs_error *error) {
  char what[160];
  vs_error why;
  vs_text reply;
  vs_text_init(&reply, host, NULL);
  vs_format(what, sizeof what,
            "{\"method\": \"inventory\", \"params\": {\"device\": %D, \"at\": \"steps %s\"}}", device, steps);
  vs_status status = request(engine, what, &reply, &why);
  if (status == VS_OK) status = reply.status;
  if (status == VS_NOT_FOUND) {
    reply.bytes.count = 0;
    status = VS_OK;
  }
  if (status == VS_OK) vs_reply_put_range(replies, vs_str_from(steps), vs_text_view(&reply), &why);
  else if (error != NULL) *error = why;
  vs_text_deinit(&reply);
  return status;
}

static vs_status ask_ranges(vs_engine *engine, const vs_dryrun_setup *setup, vs_json devices,
                            vs_text *replies, vs_error *error) {
  const char *const *ranges = setup->plan->step_ranges;
  size_t count = 0;
  for (size_t r = 0; ranges != NULL && ranges[r] != NULL; r++)
    for (size_t i = 0; i < vs_json_count(devices); i++) {
      if (count++ != 0) vs_text_byte(replies, ',');
      VS_TRY(ask_range(engine, setup->host, ranges[r], vs_reply_i64(vs_json_at(devices, i), "device"),
                       replies, error));
    }
  return replies->status;
}

/* ---- asking for settings of the allocator */

/* A search replays all events once for each of its settings, which for a long history takes longer than it is worth; the first two are the
 * run's own and expandable segments. */
enum { FEWEST_SEARCHED = 2, MOST_SEARCHED = 40, MOST_REPLAYED = 20 * 1000 * 1000 };

static vs_status search_settings(vs_engine *engine, int64_t device, uint64_t steps, vs_text *reply,
                                 vs_error *error) {
  char what[120];
  reply->bytes.count = 0;
  vs_format(what, sizeof what, "{\"method\": \"whatif\", \"params\": {\"device\": %D, \"steps\": %U}}",
            device, steps);
  VS_TRY(request(engine, what, reply, error));
  return reply->status;
}

static vs_status count_events(const vs_host *host, vs_str reply, uint64_t *events, vs_error *error) {
  vs_json_doc document;
  VS_TRY(vs_json_doc_init(&document, host, reply, error));
  *events = vs_reply_u64(vs_json_root(&document), "events");
  vs_json_doc_deinit(&document);
  return VS_OK;
}

/* The engine keeps what it did, so the second request goes on where the first ended. */
static vs_status ask_search(vs_engine *engine, const vs_host *host, int64_t device, vs_text *reply,
                            vs_error *error) {
  uint64_t events;
  VS_TRY(search_settings(engine, device, FEWEST_SEARCHED, reply, error));
  VS_TRY(count_events(host, vs_text_view(reply), &events, error));
  const uint64_t most = events == 0 ? 0 : vs_min_u64(MOST_REPLAYED / events, MOST_SEARCHED);
  return most <= FEWEST_SEARCHED ? VS_OK : search_settings(engine, device, most, reply, error);
}

/* Appends the replies for these devices. Of one with nothing to replay (VS_NOT_FOUND) there is none. */
static vs_status ask_searches(vs_engine *engine, const vs_dryrun_setup *setup, vs_json devices,
                              vs_text *replies, vs_error *error) {
  vs_status status = VS_OK;
  size_t count = 0;
  vs_text reply;
  vs_text_init(&reply, setup->host, NULL);
  for (size_t i = 0; setup->asks_settings && i < vs_json_count(devices) && status == VS_OK; i++) {
    const int64_t device = vs_reply_i64(vs_json_at(devices, i), "device");
    status = ask_search(engine, setup->host, device, &reply, error);
    if (status == VS_OK) {
      if (count++ != 0) vs_text_byte(replies, ',');
      vs_text_str(replies, vs_text_view(&reply));
    } else if (status == VS_NOT_FOUND) {
      status = VS_OK;
    }
  }
  vs_text_deinit(&reply);
  return status;
}

/* ---- asking for all */

/* A process whose history is read. */
typedef struct subject {
  const vs_dryrun_setup *setup;
  const vs_result *result;
  const vs_result_process *process;
} subject;

static void put_why(vs_text *replies, const char *why) {
  vs_jsonw w;
  vs_text_cstr(replies, ",\"why\":");
  vs_jsonw_begin(&w, replies, 0);
  vs_jsonw_str(&w, vs_str_from(why));
  vs_jsonw_end(&w);
  vs_text_byte(replies, '}');
}

/* Appends the entry of one card: what the memory that PyTorch's allocator had of it at the card's peak consisted of, or why that is
 * unknown. */
static vs_status ask_reserved_of(vs_engine *engine, const subject *s, uint32_t card, int64_t device,
                                 uint64_t bytes, vs_text *replies, vs_error *error) {
  char what[200];
  vs_error why = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_text reply;
  vs_text_init(&reply, s->setup->host, NULL);
  vs_format(
      what, sizeof what,
      "{\"method\": \"reserved\", \"params\": {\"device\": %D, \"at\": \"@%U\", \"reserved_bytes\": %U}}",
      device, s->result->machine->cards[card].peak_time_us, bytes);
  vs_status status = request(engine, what, &reply, &why);
  if (status == VS_OK) status = reply.status;
  vs_text_format(replies, "{\"card\":%u,\"reply\":", card);
  if (status == VS_OK) vs_text_str(replies, vs_text_view(&reply));
  else vs_text_cstr(replies, "null");
  if (status == VS_OK) vs_text_cstr(replies, ",\"why\":null}");
  else put_why(replies, why.text);
  vs_text_deinit(&reply);
  if (status == VS_OK || status == VS_NOT_FOUND) return VS_OK;
  if (error != NULL) *error = why;
  return status;
}

static vs_status ask_reserved(vs_engine *engine, const subject *s, vs_json devices, vs_text *replies,
                              vs_error *error) {
  size_t count = 0;
  for (size_t i = 0; i < vs_json_count(devices); i++) {
    const int64_t device = vs_reply_i64(vs_json_at(devices, i), "device");
    uint32_t card;
    if (device < 0 || !vs_result_card_of_number(s->result, s->process, (uint64_t)device, &card)) continue;
    const uint64_t bytes = vs_dryrun_ledger_pytorch(s->result, card, s->process->pid);
    if (bytes == 0) continue;
    if (count++ != 0) vs_text_byte(replies, ',');
    VS_TRY(ask_reserved_of(engine, s, card, device, bytes, replies, error));
  }
  return replies->status;
}

/* What depends on which devices there are. */
static vs_status ask_devices(vs_engine *engine, const subject *s, bool is_main, vs_str report,
                             vs_text *replies, vs_error *error) {
  vs_json_doc document;
  VS_TRY(vs_json_doc_init(&document, s->setup->host, report, error));
  const vs_json devices = vs_reply_at(vs_json_root(&document), "devices");
  vs_text_cstr(replies, ",\"reserved\":[");
  vs_status status = ask_reserved(engine, s, devices, replies, error);
  if (is_main) {
    vs_text_cstr(replies, "],\"inventories\":[");
    if (status == VS_OK) status = ask_inventories(engine, devices, replies, error);
    vs_text_cstr(replies, "],\"searches\":[");
    if (status == VS_OK) status = ask_searches(engine, s->setup, devices, replies, error);
    vs_text_cstr(replies, "],\"step_ranges\":[");
    if (status == VS_OK) status = ask_ranges(engine, s->setup, devices, replies, error);
  }
  vs_text_byte(replies, ']');
  vs_json_doc_deinit(&document);
  return status;
}

static vs_status ask_report(vs_engine *engine, const vs_dryrun_setup *setup, vs_text *report,
                            vs_error *error) {
  char what[80];
  vs_format(what, sizeof what, "{\"method\": \"report\", \"params\": {\"top\": %U}}", setup->plan->top);
  return request(engine, what, report, error);
}

/* Appends what the engine answers about a loaded snapshot: members of an object. */
static vs_status ask_all(vs_engine *engine, const subject *s, bool is_main, vs_text *replies,
                         vs_error *error) {
  vs_text report;
  vs_text_init(&report, s->setup->host, NULL);
  vs_status status = ask_report(engine, s->setup, &report, error);
  vs_text_cstr(replies, "\"report\":");
  vs_text_str(replies, vs_text_view(&report));
  if (status == VS_OK) status = ask_devices(engine, s, is_main, vs_text_view(&report), replies, error);
  vs_text_deinit(&report);
  return status == VS_OK ? replies->status : status;
}

/* The memory of one snapshot at a time. If it fails, what it appended is taken away, and the plan's watcher is told. */
static vs_status read_one(const subject *s, bool is_main, const char *path, vs_text *replies) {
  const vs_dryrun_setup *setup = s->setup;
  vs_engine *engine;
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  const size_t before = replies->bytes.count;
  VS_TRY(vs_engine_create(setup->host, &engine));
  vs_status status = load(engine, setup, path, &error);
  if (status == VS_OK) status = ask_all(engine, s, is_main, replies, &error);
  vs_engine_destroy(engine);
  vs_dryrun_show_end(setup);
  if (status == VS_OK) return VS_OK;
  replies->bytes.count = before;
  if (error.text[0] == 0) (void)vs_fail(&error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  error.status = status;
  vs_dryrun_say(setup, path, &error);
  return status;
}

static void put_other(vs_text *replies, const vs_text *answers, uint64_t pid, size_t number) {
  vs_text_format(replies, "%s{\"pid\":%U,", number == 0 ? "" : ",", pid);
  vs_text_str(replies, vs_text_view(answers));
  vs_text_byte(replies, '}');
}

/* Appends those of the processes beside the main one; one that cannot be read is left out. */
static vs_status read_others(const vs_dryrun_setup *setup, const vs_launch *launch, const vs_result *result,
                             vs_text *replies) {
  vs_text answers;
  size_t count = 0;
  vs_text_init(&answers, setup->host, NULL);
  for (size_t i = 0; i < result->processes.count && count < VS_HISTORY_OTHERS; i++) {
    const vs_result_process *process = &result->processes.data[i];
    char path[VS_FOLDER_PATH];
    if (i == result->main || !vs_result_has_history(process)) continue;
    vs_gather_history_path(path, sizeof path, launch->folder.path, process);
    answers.bytes.count = 0;
    const subject other = {.setup = setup, .result = result, .process = process};
    if (read_one(&other, false, path, &answers) == VS_OK) put_other(replies, &answers, process->pid, count++);
  }
  const vs_status status = answers.status == VS_OK ? replies->status : answers.status;
  vs_text_deinit(&answers);
  return status;
}

static vs_status read_all(const vs_dryrun_setup *setup, const vs_launch *launch, const vs_result *result,
                          const char *path, vs_json_doc *history) {
  vs_text replies;
  vs_error error;
  const subject main = {.setup = setup, .result = result, .process = &result->processes.data[result->main]};
  vs_text_init(&replies, setup->host, NULL);
  vs_text_byte(&replies, '{');
  vs_status status = read_one(&main, true, path, &replies);
  if (status == VS_OK) {
    vs_text_cstr(&replies, ",\"others\":[");
    status = read_others(setup, launch, result, &replies);
    vs_text_cstr(&replies, "]}");
  }
  if (status == VS_OK) status = vs_json_doc_init(history, setup->host, vs_text_view(&replies), &error);
  vs_text_deinit(&replies);
  return status;
}

vs_status vs_history_ask(const vs_dryrun_setup *setup, const vs_launch *launch, const vs_result *result,
                         vs_json_doc *history, vs_error *error) {
  const char *wanted = setup->plan->snapshot;
  const vs_json_doc none = {.host = setup->host, .root = {.kind = VS_JSON_ABSENT}};
  char path[VS_FOLDER_PATH];
  *history = none;
  const vs_result_process *process = result->main == SIZE_MAX ? NULL : &result->processes.data[result->main];
  if (process == NULL || !vs_result_has_history(process)) {
    if (wanted == NULL || setup->is_snapshot_optional) return VS_OK;
    vs_error missing;
    (void)vs_fail(&missing, VS_NOT_FOUND, VS_NO_OFFSET,
                  "no snapshot written: the program did not use PyTorch's CUDA allocator");
    vs_dryrun_say(setup, wanted, &missing); /* the figures are still worth a report */
    return VS_OK;
  }
  VS_ASSERT(result->main < result->processes.count);
  vs_gather_history_path(path, sizeof path, launch->folder.path, process);
  if (wanted != NULL) VS_TRY(keep(setup, path, process->has_snapshot, error));
  if (read_all(setup, launch, result, path, history) != VS_OK) *history = none;
  return VS_OK;
}
