/* vramscope: reads the command line, opens the output, runs the command, finishes the output. */
#include "base/check.h"
#include "faces/cli/cli.h"
#include "faces/commands/help.h"
#include "os/process.h"

typedef vs_exit (*vs_command_run)(vs_cli *cli);

static const vs_command_run runs[VS_COMMAND_COUNT] = {
#define VS_COMMAND(id, arguments, options, summary, description) [VS_COMMAND_##id] = vs_cli_##id,
#define VS_EXAMPLE(id, line, purpose)
#include "faces/commands/commands.def"
#undef VS_COMMAND
#undef VS_EXAMPLE
};

/* ---- the screen: units, colours, characters, width */

static bool is_set(const char *name) {
  const char *value = vs_process_variable(name);
  return value != NULL && *value != 0;
}

static bool wants_colour(const vs_line *line) {
  const char *choice = line->values[VS_OPTION_COLOR];
  if (choice != NULL && vs_str_equal(vs_str_from(choice), VS_STR("always"))) return true;
  if (choice != NULL && vs_str_equal(vs_str_from(choice), VS_STR("never"))) return false;
  if (is_set("NO_COLOR") || vs_line_has(line, VS_OPTION_OUTPUT)) return false;
  const char *terminal = vs_process_variable("TERM");
  return vs_stream_is_terminal(VS_STDOUT) && terminal != NULL &&
         !vs_str_equal(vs_str_from(terminal), VS_STR("dumb"));
}

/* The first of the locale's variables that is set decides. */
static bool has_unicode(void) {
  static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (!is_set(names[i])) continue;
    const vs_str value = vs_str_from(vs_process_variable(names[i]));
    return vs_str_contains(value, VS_STR("UTF-8")) || vs_str_contains(value, VS_STR("utf8")) ||
           vs_str_contains(value, VS_STR("UTF8")) || vs_str_contains(value, VS_STR("utf-8"));
  }
  return false;
}

static uint32_t wanted_columns(const vs_line *line) {
  uint64_t columns = 0;
  const bool is_terminal = !vs_line_has(line, VS_OPTION_OUTPUT) && vs_stream_is_terminal(VS_STDOUT);
  if (is_terminal) columns = vs_stream_columns(VS_STDOUT);
  const char *variable = vs_process_variable("COLUMNS");
  if (!is_terminal && variable != NULL && !vs_parse_u64(vs_str_from(variable), &columns)) columns = 0;
  if (columns == 0) columns = VS_SCREEN_USUAL;
  return (uint32_t)(columns < VS_SCREEN_LEAST  ? VS_SCREEN_LEAST
                    : columns > VS_SCREEN_MOST ? VS_SCREEN_MOST
                                               : columns);
}

static void init_screen(vs_screen *screen, const vs_cli *cli, const vs_writer *writer) {
  vs_text_init(&screen->text, cli->host, writer);
  screen->unit = vs_cli_has(cli, VS_OPTION_BYTES) ? VS_UNIT_PLAIN
                 : vs_cli_has(cli, VS_OPTION_SI)  ? VS_UNIT_SI
                                                  : VS_UNIT_BINARY;
  screen->has_colour = wants_colour(cli->line);
  screen->has_unicode = has_unicode();
  screen->columns = wanted_columns(cli->line);
  VS_ASSERT(screen->columns >= VS_SCREEN_LEAST && screen->columns <= VS_SCREEN_MOST);
}

/* ---- the output around a command */

static vs_str output_name(const vs_cli *cli) {
  const char *name = cli->line->values[VS_OPTION_OUTPUT];
  return name == NULL ? VS_STR("standard output") : vs_str_from(name);
}

static vs_exit open_output(vs_cli *cli) {
  const char *name = cli->line->values[VS_OPTION_OUTPUT];
  /* They write their files themselves. */
  const bool is_own = cli->line->command == VS_COMMAND_compact || cli->line->command == VS_COMMAND_merge;
  if (name == NULL || is_own || vs_str_equal(vs_str_from(name), VS_STR("-"))) {
    vs_outfile_stdout(&cli->out);
    return VS_EXIT_OK;
  }
  vs_error error;
  const vs_status status = vs_outfile_create(&cli->out, name, vs_cli_has(cli, VS_OPTION_FORCE), &error);
  return status == VS_OK ? VS_EXIT_OK : vs_cli_say_output(output_name(cli), &error);
}

/* A closed pipe (head, a pager that was quit) is not a failure. */
static vs_exit finish_output(vs_cli *cli, vs_exit code) {
  if (code != VS_EXIT_OK && cli->out.error.status == VS_OK) {
    vs_outfile_abandon(&cli->out);
    return code;
  }
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_status status = vs_text_finish(&cli->screen.text);
  if (status == VS_NO_MEMORY) vs_outfile_abandon(&cli->out);
  else status = vs_outfile_finish(&cli->out, &error);
  if (status == VS_CANCELLED) return VS_EXIT_OK;
  if (status == VS_OK) return code;
  error.status = status;
  return vs_cli_say_output(output_name(cli), &error);
}

static vs_exit run(vs_cli *cli) {
  vs_exit code = open_output(cli);
  if (code != VS_EXIT_OK) return code;
  const vs_writer writer = vs_outfile_writer(&cli->out);
  init_screen(&cli->screen, cli, &writer);
  const vs_line *line = cli->line;
  if (vs_line_has(line, VS_OPTION_VERSION)) {
    vs_text_format(&cli->screen.text, "vramscope %s\n", vs_version_text());
  } else if (line->command == VS_COMMAND_COUNT) {
    vs_help_overview(&cli->screen);
  } else if (vs_line_has(line, VS_OPTION_HELP)) {
    vs_help_command(&cli->screen, line->command);
  } else {
    VS_ASSERT(line->command < VS_COMMAND_COUNT && runs[line->command] != NULL);
    code = runs[line->command](cli);
  }
  code = finish_output(cli, code);
  vs_text_deinit(&cli->screen.text);
  return code;
}

/* Appends "(see: vramscope report --help)", unless the error itself says what to type. */
static vs_exit say_usage(const vs_line *line, vs_error *error) {
  char sentence[sizeof error->text];
  memcpy(sentence, error->text, sizeof sentence);
  VS_ASSERT(line->command <= VS_COMMAND_COUNT);
  const bool has_advice = vs_str_contains(vs_str_from(sentence), VS_STR("vramscope ")) ||
                          vs_str_contains(vs_str_from(sentence), VS_STR("did you mean"));
  if (!has_advice && line->command != VS_COMMAND_COUNT)
    vs_fail(error, error->status, VS_NO_OFFSET, "%s (see: vramscope %s --help)", sentence,
            vs_commands[line->command].name);
  return vs_print_error(VS_STR(""), error);
}

int main(int argc, char **argv) {
  static vs_cli cli; /* its buffer is large for a stack */
  vs_process_prepare();
  vs_line line;
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  if (vs_line_parse(&line, argc, argv, &error) != VS_OK) return (int)say_usage(&line, &error);
  cli.host = vs_host_default();
  cli.line = &line;
  const vs_exit code = run(&cli);
  if (code == VS_EXIT_OK && line.command == VS_COMMAND_COUNT && line.given == 0) return VS_EXIT_USAGE;
  return code == VS_EXIT_OK ? cli.program_exit : (int)code;
}
