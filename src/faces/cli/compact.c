/* vramscope compact: compresses the frames of a recording, in place or into another file, and prints how much was saved. */
#include "faces/cli/cli.h"
#include "tracefile/compact.h"

typedef struct result {
  vs_trace_report report; /* of what was read */
  uint64_t before, after; /* bytes */
} result;

static const char *output_of(const vs_cli *cli) {
  const char *name = cli->line->values[VS_OPTION_OUTPUT];
  return name != NULL ? name : cli->line->arguments[0];
}

static vs_status pack(const vs_cli *cli, vs_input *input, const vs_inflater *inflater, vs_outfile *out,
                      result *done, vs_error *error) {
  const vs_trace_inflate inflate = {.ctx = inflater->ctx, .inflate = inflater->frame};
  const vs_trace_deflate deflate = {.ctx = inflater->ctx, .deflate = vs_zlib_deflate_frame};
  const vs_writer writer = vs_outfile_writer(out);
  const vs_status status = vs_input_need(input, VS_TRACE_MAGIC_SIZE);
  if (status != VS_OK && !vs_input_ended(input, status)) return status;
  if (!vs_trace_is(input->data + input->pos, input->end - input->pos))
    return vs_fail(error, VS_BAD_FORMAT, 0, "not a .vram recording");
  return vs_trace_compact(cli->host, input, &inflate, &deflate, &writer, &done->report, &done->after, error);
}

static vs_status pack_file(const vs_cli *cli, vs_input_file *file, vs_outfile *out, result *done,
                           vs_error *error) {
  vs_input input;
  VS_TRY(vs_input_init(&input, cli->host, vs_input_file_reader(file)));
  const vs_status status = pack(cli, &input, &file->inflater, out, done, error);
  vs_input_deinit(&input);
  done->before = file->bytes_read;
  if (status != VS_OK && file->error.status != VS_OK) *error = file->error; /* the deeper cause */
  return status;
}

static vs_status pack_named(const vs_cli *cli, vs_progress *progress, vs_outfile *out, result *done,
                            vs_error *error) {
  vs_zlib *zlib;
  vs_input_file file;
  vs_status status = vs_zlib_create(cli->host, vs_zlib_linked(), &zlib);
  if (status == VS_UNSUPPORTED)
    return vs_fail(error, status, VS_NO_OFFSET, "this build cannot compress: it was built without zlib");
  VS_TRY(status);
  const vs_input_options options = {.inflater = vs_zlib_inflater(zlib), .watch = vs_progress_watch(progress)};
  status = vs_input_file_open(&file, cli->host, cli->line->arguments[0], &options, error);
  if (status == VS_OK) {
    status = pack_file(cli, &file, out, done, error);
    vs_input_file_close(&file);
  }
  vs_zlib_destroy(zlib);
  return status;
}

static void put_per_event(vs_text *text, uint64_t bytes, uint64_t events) {
  const uint64_t hundredths = events == 0 ? 0 : (bytes * 100 + events / 2) / events;
  vs_text_format(text, "%U.%U%U", hundredths / 100, hundredths / 10 % 10, hundredths % 10);
}

static void put_damage(vs_screen *screen, const vs_trace_report *report) {
  vs_text *text = &screen->text;
  if (report->open_frames != 0)
    vs_text_cstr(text,
                 "  The last frame was not finished, as when the program is killed: what it held is kept.\n");
  if (report->damages == 0) return;
  vs_text_cstr(text, "  Damaged and left out: ");
  vs_text_bytes(text, report->lost_bytes, screen->unit);
  vs_text_format(text, ", %U frame%s, ", report->lost_frames, report->lost_frames == 1 ? "" : "s");
  vs_text_count(text, report->lost_events);
  vs_text_cstr(text, " events\n");
}

static void put_events(vs_text *text, const result *done) {
  const uint64_t events = done->report.events, frames = done->report.frames;
  vs_text_cstr(text, "  ");
  vs_text_count(text, events);
  vs_text_format(text, " event%s in %U frame%s", events == 1 ? "" : "s", frames, frames == 1 ? "" : "s");
  if (events != 0) {
    vs_text_cstr(text, ": ");
    put_per_event(text, done->before, events);
    vs_text_cstr(text, " bytes each before, ");
    put_per_event(text, done->after, events);
    vs_text_cstr(text, " now");
  }
  vs_text_byte(text, '\n');
}

static void put_text(vs_screen *screen, const vs_cli *cli, const result *done) {
  vs_text *text = &screen->text;
  vs_screen_safe(text, vs_str_from(output_of(cli)));
  vs_text_cstr(text, ": ");
  vs_text_bytes(text, done->before, screen->unit);
  vs_text_cstr(text, " before, ");
  vs_text_bytes(text, done->after, screen->unit);
  vs_text_cstr(text, " now (");
  vs_text_percent(text, done->after, done->before);
  vs_text_cstr(text, ")\n");
  put_events(text, done);
  put_damage(screen, &done->report);
}

static void put_json(vs_screen *screen, const vs_cli *cli, const result *done) {
  const vs_trace_report *report = &done->report;
  vs_jsonw json;
  vs_jsonw_begin(&json, &screen->text, 0);
  vs_jsonw_object_begin(&json);
  vs_jsonw_member_u64(&json, "schema", 1);
  vs_jsonw_member_str(&json, "method", VS_STR("compact"));
  vs_jsonw_member_str(&json, "file", vs_str_from(cli->line->arguments[0]));
  vs_jsonw_member_str(&json, "output", vs_str_from(output_of(cli)));
  vs_jsonw_member_u64(&json, "bytes_before", done->before);
  vs_jsonw_member_u64(&json, "bytes_after", done->after);
  vs_jsonw_member_u64(&json, "events", report->events);
  vs_jsonw_member_u64(&json, "frames", report->frames);
  vs_jsonw_member_u64(&json, "unfinished_frames", report->open_frames);
  vs_jsonw_member_u64(&json, "lost_bytes", report->lost_bytes);
  vs_jsonw_member_u64(&json, "lost_frames", report->lost_frames);
  vs_jsonw_member_u64(&json, "lost_events", report->lost_events);
  vs_jsonw_object_end(&json);
  vs_jsonw_end(&json);
  vs_text_byte(&screen->text, '\n');
}

/* In place, the input stays open until the output is complete and replaces it by a rename, so the file is never partial. */
vs_exit vs_cli_compact(vs_cli *cli) {
  static vs_outfile out; /* its buffer is large for a stack */
  const char *name = output_of(cli);
  const bool is_in_place = cli->line->values[VS_OPTION_OUTPUT] == NULL;
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  if (vs_str_equal(vs_str_from(name), VS_STR("-"))) {
    vs_fail(&error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "standard input cannot be replaced: name a file with -o");
    return vs_print_error(VS_STR(""), &error);
  }
  if (vs_outfile_create(&out, name, is_in_place || vs_cli_has(cli, VS_OPTION_FORCE), &error) != VS_OK)
    return vs_print_error(vs_str_from(name), &error);
  vs_progress progress;
  result done = {0};
  const vs_str shown = vs_client_shown_name(vs_str_from(cli->line->arguments[0]));
  vs_progress_begin(&progress, !vs_cli_has(cli, VS_OPTION_QUIET), shown);
  vs_status status = pack_named(cli, &progress, &out, &done, &error);
  vs_progress_end(&progress);
  if (status != VS_OK) {
    const bool is_output = out.error.status != VS_OK;
    if (is_output) error = out.error;
    vs_outfile_abandon(&out);
    if (error.status == VS_OK) vs_fail(&error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
    (void)vs_print_error(is_output ? vs_str_from(name) : shown, &error);
    return is_output || status == VS_NO_MEMORY ? vs_exit_for(status) : VS_EXIT_FILE;
  }
  if (vs_outfile_finish(&out, &error) != VS_OK) return vs_print_error(vs_str_from(name), &error);
  if (vs_cli_has(cli, VS_OPTION_JSON)) put_json(&cli->screen, cli, &done);
  else put_text(&cli->screen, cli, &done);
  return VS_EXIT_OK;
}
