/* vramscope view --html: a page that contains the files, compressed, and the engine that reads them. Each file is also
 * loaded while it is written, as by any other command, so that no page is made of a file that cannot be read. */
#include "faces/cli/view.h"
#include "base/check.h"
#include "codec/json_reply.h"
#include "intake/embed.h"
#include "os/process.h"

enum { MIB = 1024 * 1024, HEAVY_MIB = 100 }; /* browsers are slow with pages larger than about this */

typedef struct writing {
  vs_cli *cli;
  vs_page page;
  const char *name; /* of the output */
  vs_view_page wanted;
  vs_outfile out;
} writing;

static writing w; /* its buffer is large for a stack */

static vs_exit check_options(const vs_cli *cli) {
  static const vs_option_id serving[] = {VS_OPTION_PORT, VS_OPTION_OPEN, VS_OPTION_NO_TOKEN};
  for (size_t i = 0; i < sizeof serving / sizeof serving[0]; i++) {
    char sentence[80];
    vs_format(sentence, sizeof sentence, "--html serves nothing, so --%s has no meaning",
              vs_options[serving[i]].name);
    if (vs_cli_has(cli, serving[i])) return vs_view_refuse(sentence);
  }
  return VS_EXIT_OK;
}

vs_exit vs_view_check_build(bool has_files) {
  vs_error error;
  if (has_files && vs_zlib_version() == NULL) {
    vs_fail(&error, VS_UNSUPPORTED, VS_NO_OFFSET,
            "this build cannot compress (zlib), as the files of a page are");
    return vs_print_error(VS_STR(""), &error);
  }
  if (vs_page_has_engine()) return VS_EXIT_OK;
  vs_fail(&error, VS_UNSUPPORTED, VS_NO_OFFSET, "%s",
          "this build's page cannot read files by itself (it was built without clang and wasm-ld): serve "
          "them with "
          "vramscope view FILE");
  return vs_print_error(VS_STR(""), &error);
}

static vs_str output_name(void) { return vs_str_from(w.name); }

static vs_exit say_output(vs_error *error) { return vs_cli_say_output(output_name(), error); }

static vs_status put(vs_str text) {
  const vs_writer writer = vs_outfile_writer(&w.out);
  return writer.write(writer.ctx, text.data, text.size);
}

/* ---- a file */

/* The engine in the page does not have the readers of other programs' files. */
static vs_status refuse_account(const vs_host *host, vs_engine *engine, vs_error *error) {
  static const char *const formats[] = {"pickle", "json", "vram"};
  vs_text reply;
  vs_json_doc doc;
  bool is_readable = false;
  vs_text_init(&reply, host, NULL);
  vs_status status =
      vs_engine_request(engine, VS_STR("{\"method\":\"info\"}"), vs_text_writer(&reply), error);
  if (status == VS_OK) status = vs_json_doc_init(&doc, host, vs_text_view(&reply), error);
  if (status == VS_OK) {
    const vs_str format = vs_reply_str(vs_reply_at(vs_json_root(&doc), "file"), "format");
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
      is_readable = is_readable || vs_str_equal(format, vs_str_from(formats[i]));
    vs_json_doc_deinit(&doc);
  }
  vs_text_deinit(&reply);
  if (status != VS_OK || is_readable) return status;
  return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET,
                 "a page cannot read this file by itself: serve it with vramscope view FILE");
}

static vs_status embed(const char *path, vs_progress *progress, vs_embedding *embedding, vs_error *error) {
  const vs_writer tap = vs_embedding_writer(embedding);
  const vs_intake intake = {
      .name = vs_str_from(path), .input = {.watch = vs_progress_watch(progress)}, .tap = &tap};
  vs_engine *engine;
  VS_TRY(vs_intake_open(w.cli->host, &intake, path, &engine, error));
  const vs_status status = refuse_account(w.cli->host, engine, error);
  vs_engine_destroy(engine);
  return status == VS_OK ? vs_embedding_finish(embedding) : status;
}

/* Prints a failure of the output or of the input. */
static vs_exit say_failure(vs_str name, vs_error *error, vs_status status) {
  if (w.out.error.status != VS_OK) {
    *error = w.out.error;
    return status == VS_CANCELLED ? VS_EXIT_FILE : say_output(error);
  }
  if (error->status == VS_OK) vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  error->status = status;
  (void)vs_print_error(name, error);
  return status == VS_NO_MEMORY ? VS_EXIT_NO_MEMORY : VS_EXIT_FILE;
}

static vs_exit put_file(size_t number) {
  VS_ASSERT(number < w.wanted.count);
  const char *path = w.wanted.paths[number];
  const vs_str name = vs_client_shown_name(vs_str_from(path));
  char element[96];
  vs_format(element, sizeof element, "\n<script type=\"application/octet-stream\" id=\"data-%U\">",
            (uint64_t)number);
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_progress progress;
  vs_embedding *embedding = NULL;
  vs_progress_begin(&progress, !vs_cli_has(w.cli, VS_OPTION_QUIET), name);
  vs_status status = put(vs_str_from(element));
  if (status == VS_OK)
    status = vs_embedding_create(w.cli->host, vs_zlib_linked(), vs_outfile_writer(&w.out), &embedding);
  if (status == VS_OK) status = embed(path, &progress, embedding, &error);
  if (status == VS_OK) status = put(VS_STR("</script>"));
  vs_embedding_destroy(embedding);
  vs_progress_end(&progress);
  return status == VS_OK ? VS_EXIT_OK : say_failure(name, &error, status);
}

/* ---- the page */

static vs_status put_beginning(void) {
  const size_t count = w.wanted.count;
  const vs_writer writer = vs_outfile_writer(&w.out);
  vs_text text;
  vs_text_init(&text, w.cli->host, &writer);
  vs_page_put_above(&text, w.page.before, w.wanted.above);
  vs_page_put_boot(&text, count == 0 ? VS_PAGE_EMPTY : VS_PAGE_INLINED, w.wanted.files, count);
  vs_text_str(&text, w.page.between);
  const vs_status status = vs_text_finish(&text);
  vs_text_deinit(&text);
  return status;
}

static vs_exit put_page(void) {
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_status status = put_beginning();
  if (status != VS_OK) return say_failure(output_name(), &error, status);
  for (size_t i = 0; i < w.wanted.count; i++) {
    const vs_exit code = put_file(i);
    if (code != VS_EXIT_OK) return code;
  }
  status = put(w.page.after);
  return status == VS_OK ? VS_EXIT_OK : say_failure(output_name(), &error, status);
}

static void say_done(void) {
  const uint64_t bytes = w.out.written;
  vs_text note;
  vs_text_init(&note, w.cli->host, NULL);
  vs_text_format(&note, "Wrote %S, ", output_name());
  vs_text_bytes(&note, bytes, VS_UNIT_BINARY);
  vs_text_cstr(&note, ": opens in any browser, from disk\n");
  if (bytes / MIB >= HEAVY_MIB)
    vs_text_cstr(&note, "Browsers take their time with a page of this size, or give up: vramscope view FILE "
                        "serves it without one\n");
  const vs_str view = vs_text_view(&note);
  if (note.status == VS_OK) vs_stderr_put(view.data, view.size);
  vs_text_deinit(&note);
}

vs_exit vs_view_begin_page(vs_cli *cli, const char *name) {
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  w.cli = cli;
  w.name = name;
  vs_page_open(&w.page);
  if (vs_str_equal(vs_str_from(name), VS_STR("-"))) vs_outfile_stdout(&w.out);
  else if (vs_outfile_create(&w.out, name, vs_cli_has(cli, VS_OPTION_FORCE), &error) != VS_OK)
    return say_output(&error);
  return VS_EXIT_OK;
}

void vs_view_abandon_page(void) { vs_outfile_abandon(&w.out); }

vs_exit vs_view_end_page(const vs_view_page *page) {
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  w.wanted = *page;
  const vs_exit code = put_page();
  if (code != VS_EXIT_OK) {
    vs_view_abandon_page();
    return code;
  }
  if (vs_outfile_finish(&w.out, &error) != VS_OK)
    return error.status == VS_CANCELLED ? VS_EXIT_OK : say_output(&error);
  if (!vs_cli_has(w.cli, VS_OPTION_QUIET)) say_done();
  return VS_EXIT_OK;
}

vs_exit vs_view_write_page(vs_cli *cli) {
  static vs_page_file files[VS_MAX_ARGUMENTS];
  VS_ASSERT(cli->line->values[VS_OPTION_HTML] != NULL);
  vs_exit code = check_options(cli);
  if (code == VS_EXIT_OK) code = vs_view_check_build(cli->line->argument_count != 0);
  if (code == VS_EXIT_OK) code = vs_view_files(cli, files);
  if (code == VS_EXIT_OK) code = vs_view_begin_page(cli, cli->line->values[VS_OPTION_HTML]);
  if (code != VS_EXIT_OK) return code;
  return vs_view_end_page(
      &(vs_view_page){.paths = cli->line->arguments, .files = files, .count = cli->line->argument_count});
}
