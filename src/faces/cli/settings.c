/* vramscope settings: what settings of the allocator mean, given or found in the environment. */
#include "alloc/settings.h"
#include "base/check.h"
#include "base/glyph.h"
#include "faces/cli/words.h"
#include "os/process.h"

enum { LABEL = 15 };

/* The settings to explain, and where they were found. */
typedef struct vs_given {
  const char *text;   /* NULL: nothing is set */
  uint32_t which;     /* in vs_alloc_variables; VS_ALLOC_VARIABLES: on the command line */
  const char *unused; /* a variable that is set, but ignored; NULL: none */
} vs_given;

/* A line that is being written; it is wrapped when it is complete. */
typedef struct vs_page {
  vs_cli *cli;
  vs_text line;
} vs_page;

/* ---- where they come from */

/* Text that was copied from a script begins with the variable. */
static vs_given on_the_line(const char *argument) {
  vs_given given = {.text = argument, .which = VS_ALLOC_VARIABLES};
  for (uint32_t i = 0; i < VS_ALLOC_VARIABLES; i++) {
    const size_t size = strlen(vs_alloc_variables[i]);
    if (vs_str_starts(vs_str_from(argument), vs_str_from(vs_alloc_variables[i])) && argument[size] == '=')
      given.text = argument + size + 1;
  }
  return given;
}

static vs_given in_the_environment(void) {
  const char *values[VS_ALLOC_VARIABLES];
  for (uint32_t i = 0; i < VS_ALLOC_VARIABLES; i++) values[i] = vs_process_variable(vs_alloc_variables[i]);
  vs_given given = {.which = vs_alloc_variable_choose(values)};
  if (given.which == VS_ALLOC_VARIABLES) return given;
  given.text = values[given.which];
  VS_ASSERT(given.text != NULL);
  for (uint32_t i = given.which + 1; i < VS_ALLOC_VARIABLES && given.unused == NULL; i++)
    if (values[i] != NULL) given.unused = vs_alloc_variables[i];
  return given;
}

static bool is_for_vramscope_alone(const vs_given *given) { return given->which == 0; }

/* ---- lines */

static void end(vs_page *page, const char *label, vs_style style) {
  vs_screen_end_line(&page->cli->screen, &page->line, label, LABEL, style);
}

/* A list may be broken at its commas. */
static void put_value(vs_text *line, vs_str value) {
  for (size_t at = 0, end_at = 0; at < value.size; at = end_at) {
    while (end_at < value.size && value.data[end_at] != ',') end_at++;
    end_at += end_at < value.size;
    vs_screen_safe(line, (vs_str){value.data + at, end_at - at});
    if (end_at < value.size) vs_text_byte(line, ' ');
  }
}

static void put_source(vs_page *page, const vs_given *given) {
  vs_text *line = &page->line;
  if (given->text == NULL) {
    vs_text_cstr(line, "no settings: none of these is set:");
    for (uint32_t i = 0; i < VS_ALLOC_VARIABLES; i++)
      vs_text_format(line, "%s %s", i == 0 ? "" : ",", vs_alloc_variables[i]);
    end(page, "Set by", VS_STYLE_TITLE);
  }
  if (given->which == VS_ALLOC_VARIABLES) return;
  vs_text_format(line, "%s=", vs_alloc_variables[given->which]);
  put_value(line, vs_str_from(given->text));
  end(page, "Set by", VS_STYLE_TITLE);
  if (is_for_vramscope_alone(given)) {
    vs_text_cstr(line, "PyTorch does not read this variable, only vramscope does");
    end(page, "", VS_STYLE_PLAIN);
  }
  if (given->unused != NULL) {
    vs_text_format(line, "%s is also set, but ignored", given->unused);
    end(page, "", VS_STYLE_PLAIN);
  }
}

static void put_changed(vs_page *page, vs_json settings) {
  const char *label = "Changed";
  for (size_t i = 0; i < vs_json_count(settings); i++) {
    const vs_json row = vs_json_at(settings, i);
    if (!vs_reply_bool(row, "differs")) continue;
    vs_text_str(&page->line, vs_reply_str(row, "key"));
    vs_text_cstr(&page->line, ": ");
    put_value(&page->line, vs_reply_str(row, "value"));
    vs_text_cstr(&page->line, " (default: ");
    vs_text_str(&page->line, vs_reply_str(row, "default"));
    vs_text_cstr(&page->line, ")");
    end(page, label, VS_STYLE_TITLE);
    vs_screen_paragraphs(&page->cli->screen, LABEL + 2, vs_reply_str(row, "sentence"));
    label = "";
  }
  if (*label == 0) return;
  vs_text_cstr(&page->line, "no settings: everything is at its default");
  end(page, label, VS_STYLE_TITLE);
}

/* The rest in brief. */
static void put_defaults(vs_page *page, vs_json settings) {
  uint64_t pinned = 0;
  for (size_t i = 0; i < vs_json_count(settings); i++) {
    const vs_json row = vs_json_at(settings, i);
    const vs_str key = vs_reply_str(row, "key"), value = vs_reply_str(row, "value");
    if (vs_reply_bool(row, "differs")) continue;
    if (vs_str_starts(key, VS_STR("pinned_"))) pinned++;
    else vs_text_format(&page->line, "%s%S:%S", page->line.bytes.count == 0 ? "" : " ", key, value);
  }
  if (pinned != 0) {
    vs_text_cstr(&page->line, "; and ");
    vs_words_count(&page->line, pinned, "setting");
    vs_text_cstr(&page->line, " of pinned host memory (--json)");
  }
  end(page, "Default", VS_STYLE_TITLE);
}

static void put_warnings(vs_page *page, const vs_given *given, vs_json warnings) {
  static const char no_caching[] = "PYTORCH_NO_CUDA_MEMORY_CACHING";
  const bool is_environment = given->text == NULL || given->which != VS_ALLOC_VARIABLES;
  if (is_environment && vs_process_variable(no_caching) != NULL) {
    vs_text_format(&page->line,
                   "%s is set: PyTorch calls the driver for every allocation and ignores the settings above",
                   no_caching);
    end(page, "Warning", VS_STYLE_BAD);
  }
  for (size_t i = 0; i < vs_json_count(warnings); i++) {
    vs_screen_safe(&page->line, vs_json_str(vs_json_at(warnings, i), VS_STR("")));
    end(page, "Warning", VS_STYLE_BAD);
  }
}

/* How to run the user's program with these settings. PyTorch has no profiles, so they can be tried only with the demo. */
static void put_next(vs_page *page, const vs_given *given, vs_json reply) {
  vs_text *line = &page->line;
  const char *purpose = "your program with them, without a GPU";
  const vs_str text = vs_str_from(given->text == NULL ? "" : given->text);
  const bool is_demo = vs_str_contains(text, VS_STR("profile"));
  if (vs_reply_u64(reply, "differing") == 0) {
    vs_text_cstr(line, "vramscope settings expandable_segments:True");
    purpose = "the effect of a setting";
  } else {
    VS_ASSERT(given->text != NULL); /* without settings none differs from its default */
    vs_text_format(line, "vramscope %s", is_demo ? "demo" : "dryrun");
    if (is_demo || given->which == VS_ALLOC_VARIABLES || is_for_vramscope_alone(given)) {
      vs_text_cstr(line, " --conf ");
      vs_words_shell(line, text);
    }
    vs_text_cstr(line, is_demo ? "" : " -- python3 train.py");
    if (is_demo) purpose = "a simulated run with them";
  }
  vs_text_byte(&page->cli->screen.text, '\n');
  vs_words_next_line(page->cli, vs_text_view(line), purpose);
}

static void put_page(vs_cli *cli, const vs_given *given, vs_json reply) {
  vs_page page = {.cli = cli};
  const vs_json settings = vs_reply_at(reply, "settings");
  vs_scratch_init(&page.line, &cli->screen);
  put_source(&page, given);
  put_changed(&page, settings);
  put_defaults(&page, settings);
  put_warnings(&page, given, vs_reply_at(reply, "warnings"));
  if (!vs_cli_has(cli, VS_OPTION_QUIET)) put_next(&page, given, reply);
  vs_text_deinit(&page.line);
}

/* ---- invalid settings */

/* Where byte `offset` of the text that the engine saw is in `text`: a byte that is not UTF-8 reaches the engine as \udcXX,
 * which takes three bytes. */
static size_t place_of(vs_str text, uint64_t offset) {
  enum { ESCAPED = 3 };
  size_t at = 0;
  for (uint64_t seen = 0; seen < offset && at < text.size;) {
    char piece[VS_GLYPH_PIECE];
    const size_t begin = at;
    (void)vs_glyph_safe_piece(piece, text, &at);
    VS_ASSERT(at > begin); /* so that the loop ends */
    seen += at - begin == 1 && (uint8_t)text.data[begin] >= 0x80 ? ESCAPED : at - begin;
  }
  return at;
}

/* The text below the error, with the place marked; a long text is cut on both sides of it. */
static void say_place(const vs_cli *cli, vs_str text, size_t place) {
  enum { COLUMNS = 76, BEFORE_MOST = 50 };
  VS_ASSERT(place <= text.size);
  vs_text safe, out;
  vs_scratch_init(&safe, &cli->screen);
  vs_scratch_init(&out, &cli->screen);
  vs_screen_safe(&safe, (vs_str){text.data, place});
  vs_text_cstr(&out, "  ");
  vs_screen_fit_end(&out, vs_text_view(&safe), BEFORE_MOST);
  const size_t width = vs_screen_width(vs_text_view(&out));
  safe.bytes.count = 0;
  vs_screen_safe(&safe, (vs_str){text.data + place, text.size - place});
  vs_screen_fit_start(&out, vs_text_view(&safe), COLUMNS - width);
  vs_text_byte(&out, '\n');
  vs_screen_spaces(&out, width);
  vs_text_cstr(&out, "^\n");
  if (safe.status == VS_OK && out.status == VS_OK)
    vs_stderr_put(vs_text_view(&out).data, vs_text_view(&out).size);
  vs_text_deinit(&out);
  vs_text_deinit(&safe);
}

static vs_exit refuse(const vs_cli *cli, const vs_given *given, vs_error *error) {
  const vs_str text = vs_str_from(given->text == NULL ? "" : given->text);
  const uint64_t place = error->offset;
  const bool is_variable = given->which != VS_ALLOC_VARIABLES;
  error->offset = VS_NO_OFFSET; /* it is shown instead */
  const vs_exit code =
      vs_print_error(vs_str_from(is_variable ? vs_alloc_variables[given->which] : "settings"), error);
  if (place != VS_NO_OFFSET) say_place(cli, text, place_of(text, place));
  return code;
}

/* ---- the command */

static vs_exit show(vs_cli *cli, const vs_given *given, vs_str bytes) {
  if (vs_cli_has(cli, VS_OPTION_JSON)) {
    vs_text_str(&cli->screen.text, bytes);
    vs_text_byte(&cli->screen.text, '\n');
    return VS_EXIT_OK;
  }
  vs_json_doc document;
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  if (vs_json_doc_init(&document, cli->host, bytes, &error) != VS_OK)
    return vs_print_error(VS_STR(""), &error);
  put_page(cli, given, vs_json_root(&document));
  vs_json_doc_deinit(&document);
  return VS_EXIT_OK;
}

vs_exit vs_cli_settings(vs_cli *cli) {
  const char *argument = cli->line->arguments[0];
  const vs_given given = argument != NULL ? on_the_line(argument) : in_the_environment();
  vs_client client;
  vs_error error;
  vs_text reply;
  vs_exit code = vs_client_open_empty(&client, cli->host);
  if (code != VS_EXIT_OK) return code;
  vs_text_init(&reply, cli->host, NULL);
  vs_client_begin(&client, "settings");
  if (given.text != NULL) vs_client_param(&client, "settings", given.text);
  const vs_status status = vs_client_try(&client, &reply, &error);
  code = status == VS_OK ? show(cli, &given, vs_text_view(&reply)) : refuse(cli, &given, &error);
  vs_text_deinit(&reply);
  vs_client_close(&client);
  return code;
}
