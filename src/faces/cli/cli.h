/* The context of a command, and the commands. A command writes to the screen (or, for bytes that are not text, to the
 * writer of `out`) and returns the exit code; main.c opens the output before it and finishes it after it. */
#ifndef VS_CLI_CLI_H
#define VS_CLI_CLI_H

#include "faces/cli/client.h"
#include "faces/terminal/screen.h"
#include "os/outfile.h"

typedef struct vs_cli {
  const vs_host *host;
  const vs_line *line;
  const char *shown_name; /* what the file is called where it is shown; NULL: as on the command line */
  vs_screen screen;
  vs_outfile out;
  int program_exit; /* returned instead of VS_EXIT_OK: the exit status of a program that the command ran, or of an answer that
                       is shown although parts of it are missing */
} vs_cli;

/* vs_cli_report, vs_cli_stats, ...: one for each row of commands.def. */
#define VS_COMMAND(id, arguments, options, summary, description) \
  VS_MUST_CHECK vs_exit vs_cli_##id(vs_cli *cli);
#define VS_EXAMPLE(id, line, purpose)
#include "faces/commands/commands.def"
#undef VS_COMMAND
#undef VS_EXAMPLE

static inline bool vs_cli_has(const vs_cli *cli, vs_option_id id) { return vs_line_has(cli->line, id); }

/* Loads the file of the command line. */
VS_MUST_CHECK vs_exit vs_cli_load(vs_cli *cli, vs_client *client);

/* Loads it, calls `ask`, and closes it. A recording of a program without PyTorch is refused, but for the report. */
VS_MUST_CHECK vs_exit vs_cli_answer(vs_cli *cli, vs_exit (*ask)(vs_cli *cli, vs_client *client));

/* Adds the options that are parameters of the same name: device, at, by, top, filter. */
void vs_cli_pass_options(const vs_cli *cli, vs_client *client, vs_option_set options);

/* Adds the unit of the sizes in the engine's sentences: --bytes, --si. */
void vs_cli_pass_unit(const vs_cli *cli, vs_client *client);

/* Shows a document that the command made itself: `bytes` as they are with --json, else the text that `put_text` makes of them. */
void vs_cli_put_document(vs_cli *cli, const vs_text *bytes,
                         void (*put_text)(vs_screen *screen, vs_json document));

/* Prints a failure of a file that is written. */
vs_exit vs_cli_say_output(vs_str name, vs_error *error);

/* Prints that a file was written, unless --quiet. `what` stands behind its name: "" or ", ...". */
void vs_cli_say_written(const vs_cli *cli, const char *name, const char *what, const char *opens_in);

/* Writes the reply of the request that was begun, and a line feed. */
VS_MUST_CHECK vs_exit vs_cli_pass_reply(vs_cli *cli, vs_client *client);

#endif
