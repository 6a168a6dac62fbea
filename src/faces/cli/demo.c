/* vramscope demo: a synthetic training run on a simulated GPU, recorded and reported, and run again with another setting of
 * the allocator to show what that changes. */
#include "faces/cli/demo.h"
#include "base/check.h"
#include "faces/cli/cli.h"
#include "codec/json_reply.h"
#include "faces/cli/words.h"
#include "os/folder.h"

enum { LABEL = 15, USUAL_STEPS = 16, MOST_STEPS = 1000 };

static const char cure[] = "expandable_segments:True";

typedef struct vs_demo {
  vs_cli *cli;
  vs_demo_plan plan;
  vs_demo_outcome first, second;
  bool has_second; /* the same requests with expandable_segments, where the first run had not set it */
  vs_folder folder;
  char path[VS_FOLDER_PATH + 16]; /* of the recording */
} vs_demo;

/* ---- the plan */

static vs_status number_of(const vs_cli *cli, vs_option_id id, uint64_t usual, uint64_t *number) {
  const char *value = cli->line->values[id];
  *number = usual;
  return value == NULL || vs_parse_u64(vs_str_from(value), number) ? VS_OK : VS_BAD_ARGUMENT;
}

static vs_status make_plan(vs_demo *demo, vs_error *error) {
  const vs_cli *cli = demo->cli;
  const char *gpus = cli->line->values[VS_OPTION_GPU], *settings = cli->line->values[VS_OPTION_CONF];
  vs_demo_plan *plan = &demo->plan;
  *plan = (vs_demo_plan){.gpus = gpus == NULL ? "8GiB" : gpus, .settings = settings == NULL ? "" : settings};
  VS_TRY(number_of(cli, VS_OPTION_STEPS, USUAL_STEPS, &plan->steps));
  VS_TRY(number_of(cli, VS_OPTION_SEED, 1, &plan->seed));
  if (plan->steps == 0 || plan->steps > MOST_STEPS)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "--steps takes 1 to %d, not %U", (int)MOST_STEPS,
                   plan->steps);
  plan->recording = cli->line->values[VS_OPTION_KEEP];
  plan->may_replace = vs_cli_has(cli, VS_OPTION_FORCE);
  if (plan->recording != NULL) return VS_OK;
  VS_TRY(vs_folder_create(&demo->folder, "vramscope-demo-", error));
  vs_format(demo->path, sizeof demo->path, "%s/demo.vram", demo->folder.path);
  plan->recording = demo->path;
  return VS_OK;
}

static vs_status train(vs_demo *demo, vs_error *error) {
  VS_TRY(vs_demo_train(&demo->plan, &demo->first, error));
  if (vs_str_contains(vs_str_from(demo->plan.settings), VS_STR("expandable_segments"))) return VS_OK;
  char settings[512];
  vs_format(settings, sizeof settings, "%s%s%s", demo->plan.settings, demo->plan.settings[0] == 0 ? "" : ",",
            cure);
  vs_demo_plan again = demo->plan;
  again.settings = settings;
  again.recording = NULL;
  demo->has_second = true;
  return vs_demo_train(&again, &demo->second, error);
}

/* ---- the reply */

static void reply_run(const vs_demo *demo, vs_jsonw *w, const vs_demo_outcome *run, bool is_second) {
  VS_ASSERT(run->steps <= demo->plan.steps && run->ran_out == (run->steps < demo->plan.steps));
  vs_jsonw_object_begin(w);
  vs_jsonw_member_str(w, "settings", vs_str_from(demo->plan.settings));
  vs_jsonw_member_bool(w, "expandable_segments_added", is_second);
  vs_jsonw_member_u64(w, "steps_done", run->steps);
  vs_jsonw_member_bool(w, "ran_out", run->ran_out);
  vs_jsonw_member_u64(w, "peak_requested_bytes", run->memory.requested_peak);
  vs_jsonw_member_u64(w, "peak_allocated_bytes", run->memory.allocated_peak);
  vs_jsonw_member_u64(w, "peak_reserved_bytes", run->memory.reserved_peak);
  vs_jsonw_member_u64(w, "largest_step_bytes", run->largest_step);
  vs_jsonw_member_i64(w, "time_us", run->took_us);
  vs_jsonw_key(w, VS_STR("oom"));
  if (run->ran_out) {
    vs_jsonw_object_begin(w);
    vs_jsonw_member_u64(w, "requested_bytes", run->oom.requested);
    vs_jsonw_member_u64(w, "driver_bytes", run->oom.driver_size);
    vs_jsonw_member_u64(w, "device_free_bytes", run->oom.device_free);
    vs_jsonw_member_u64(w, "allocated_bytes", run->oom.allocated);
    vs_jsonw_member_u64(w, "reserved_bytes", run->oom.reserved);
    vs_jsonw_object_end(w);
  } else {
    vs_jsonw_null(w);
  }
  vs_jsonw_object_end(w);
}

/* `report`: the engine's reply about the recording; absent if its text is printed instead. */
static void put_reply(const vs_demo *demo, vs_text *text, vs_json report) {
  vs_jsonw writer, *w = &writer;
  vs_jsonw_begin(w, text, 0);
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "schema", 1);
  vs_jsonw_member_str(w, "method", VS_STR("demo"));
  vs_jsonw_member_bool(w, "simulated", true);
  vs_jsonw_member_str(w, "gpu", vs_str_from(demo->first.card.name));
  vs_jsonw_member_u64(w, "total_bytes", demo->first.card.total_bytes);
  vs_jsonw_member_u64(w, "steps", demo->plan.steps);
  vs_jsonw_member_u64(w, "seed", demo->plan.seed);
  vs_jsonw_key(w, VS_STR("runs"));
  vs_jsonw_array_begin(w);
  reply_run(demo, w, &demo->first, false);
  if (demo->has_second) reply_run(demo, w, &demo->second, true);
  vs_jsonw_array_end(w);
  vs_jsonw_key(w, VS_STR("report"));
  vs_reply_put(w, vs_reply_at(report, "devices"));
  vs_jsonw_object_end(w);
  vs_jsonw_end(w);
  vs_text_byte(text, '\n');
}

/* ---- the text about the runs, made from the reply that --json prints */

/* A line that is being written. */
typedef struct vs_demo_line {
  vs_screen *screen;
  vs_text text;
} vs_demo_line;

static void put_bytes(vs_demo_line *line, uint64_t bytes) {
  vs_text_bytes(&line->text, bytes, line->screen->unit);
}

static void put_introduction(vs_demo_line *line, vs_json reply) {
  vs_text_cstr(&line->text, "A small GPT is trained with AdamW on a simulated GPU of ");
  put_bytes(line, vs_reply_u64(reply, "total_bytes"));
  vs_text_cstr(&line->text,
               ", in batches of changing length. The model is synthetic; the allocator behaves exactly like "
               "PyTorch's.");
  vs_screen_paragraphs(line->screen, 0, vs_text_view(&line->text));
  vs_text_byte(&line->screen->text, '\n');
  line->text.bytes.count = 0;
}

static void put_out_of_memory(vs_demo_line *line, vs_json reply, vs_json run, vs_json oom) {
  VS_ASSERT(vs_reply_u64(oom, "allocated_bytes") <= vs_reply_u64(oom, "reserved_bytes"));
  vs_text_cstr(&line->text, "out of memory in step ");
  vs_text_count(&line->text, vs_reply_u64(run, "steps_done") + 1);
  vs_text_format(&line->text, " of %U: ", vs_reply_u64(reply, "steps"));
  vs_text_cstr(&line->text, "failed to allocate ");
  put_bytes(line, vs_reply_u64(oom, "driver_bytes"));
  vs_text_cstr(&line->text, " with ");
  put_bytes(line, vs_reply_u64(oom, "reserved_bytes") - vs_reply_u64(oom, "allocated_bytes"));
  vs_text_cstr(&line->text, " cached and ");
  put_bytes(line, vs_reply_u64(oom, "device_free_bytes"));
  vs_text_cstr(&line->text, " free on the GPU");
}

static void put_all_steps(vs_demo_line *line, vs_json run) {
  const uint64_t steps = vs_reply_u64(run, "steps_done");
  vs_text_cstr(&line->text, steps == 1 ? "" : "all ");
  vs_words_count(&line->text, steps, "step");
  vs_text_cstr(&line->text, "; peak ");
  put_bytes(line, vs_reply_u64(run, "peak_allocated_bytes"));
  vs_text_cstr(&line->text, " allocated, ");
  put_bytes(line, vs_reply_u64(run, "peak_reserved_bytes"));
  vs_text_cstr(&line->text, " reserved");
}

static void put_run(vs_demo_line *line, vs_json reply, vs_json run, const char *label) {
  const bool ran_out = vs_reply_bool(run, "ran_out");
  if (ran_out) put_out_of_memory(line, reply, run, vs_reply_at(run, "oom"));
  else put_all_steps(line, run);
  vs_screen_end_line(line->screen, &line->text, label, LABEL, ran_out ? VS_STYLE_BAD : VS_STYLE_GOOD);
}

static void put_runs(vs_screen *screen, vs_json reply) {
  const vs_json runs = vs_reply_at(reply, "runs");
  vs_demo_line line = {.screen = screen};
  vs_scratch_init(&line.text, screen);
  put_introduction(&line, reply);
  put_run(&line, reply, vs_json_at(runs, 0), "This run");
  if (vs_json_count(runs) > 1) {
    vs_text_format(&line.text, "with %s: ", cure);
    put_run(&line, reply, vs_json_at(runs, 1), "The same again");
  }
  vs_text_deinit(&line.text);
  vs_text_byte(&screen->text, '\n');
}

/* ---- the report, which is the command `report` on the recording */

static vs_exit put_report(vs_demo *demo) {
  vs_cli *cli = demo->cli;
  const bool is_kept = vs_cli_has(cli, VS_OPTION_KEEP);
  vs_line line = *cli->line;
  const vs_line *whole = cli->line;
  line.command = VS_COMMAND_report;
  line.arguments[0] = demo->plan.recording;
  if (!is_kept)
    line.given |= VS_OPTION_BIT(VS_OPTION_QUIET); /* the recording is temporary: no next commands */
  cli->line = &line;
  cli->shown_name = is_kept ? NULL : "demo.vram";
  const vs_exit code = vs_cli_report(cli);
  cli->line = whole;
  cli->shown_name = NULL;
  return code;
}

static void put_next(vs_demo *demo) {
  vs_text *to = &demo->cli->screen.text;
  if (vs_cli_has(demo->cli, VS_OPTION_QUIET)) return;
  if (!vs_cli_has(demo->cli, VS_OPTION_KEEP)) {
    vs_text_cstr(to, "Next: vramscope demo --keep demo.vram  # keeps the recording\n");
    return;
  }
  vs_text_cstr(to, "      vramscope export ");
  vs_words_shell(to, vs_str_from(demo->plan.recording));
  vs_text_cstr(to, " pickle -o demo.pickle  # for PyTorch's viewer\n");
}

/* ---- the whole */

static vs_exit ask_report(const vs_demo *demo, vs_json_doc *report) {
  vs_client client;
  vs_exit code = vs_client_open(&client, demo->cli->host, demo->plan.recording, "demo.vram", false);
  if (code != VS_EXIT_OK) return code;
  vs_client_begin(&client, "report");
  code = vs_client_ask(&client, report);
  vs_client_close(&client);
  return code;
}

static vs_exit answer(vs_demo *demo) {
  const bool is_json = vs_cli_has(demo->cli, VS_OPTION_JSON);
  vs_json_doc report = {.host = demo->cli->host, .root = {.kind = VS_JSON_ABSENT}};
  vs_text bytes;
  vs_exit code = is_json ? ask_report(demo, &report) : VS_EXIT_OK;
  if (code != VS_EXIT_OK) return code;
  vs_text_init(&bytes, demo->cli->host, NULL);
  put_reply(demo, &bytes, vs_json_root(&report));
  vs_json_doc_deinit(&report);
  vs_cli_put_document(demo->cli, &bytes, put_runs);
  vs_text_deinit(&bytes);
  if (!is_json) code = put_report(demo);
  if (!is_json && code == VS_EXIT_OK) put_next(demo);
  return code;
}

/* An error about the recording's file names that file. */
static vs_exit say(const vs_demo *demo, vs_error *error, vs_status status) {
  const char *kept = demo->cli->line->values[VS_OPTION_KEEP];
  const bool is_file = kept != NULL && (status == VS_IO || status == VS_NOT_FOUND);
  error->status = status == VS_BAD_FORMAT ? VS_BAD_ARGUMENT : is_file ? VS_IO : status;
  error->offset = VS_NO_OFFSET; /* it is a short text */
  if (is_file && vs_str_equal(vs_str_from(error->text), VS_STR("file exists")))
    vs_fail(error, error->status, VS_NO_OFFSET, "%s", "file exists; use --force to overwrite it");
  return vs_print_error(is_file ? vs_str_from(kept) : VS_STR(""), error);
}

vs_exit vs_cli_demo(vs_cli *cli) {
  static vs_demo demo; /* large for a stack */
  demo = (vs_demo){.cli = cli, .folder = {.fd = -1}};
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_status status = make_plan(&demo, &error);
  if (status == VS_OK) status = train(&demo, &error);
  const vs_exit code = status == VS_OK ? answer(&demo) : say(&demo, &error, status);
  if (demo.folder.path[0] != 0) vs_folder_remove(&demo.folder);
  return code;
}
