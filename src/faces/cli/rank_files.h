/* The files of ranks that a command line names (ranks/files.h), read with what the command line has (ranks/reading.h): the libraries that it links,
 * the line at the bottom of the terminal, and --device.
 *
 *   vs_rank_files files;
 *   code = vs_cli_list_ranks(cli, cli->line->arguments, cli->line->argument_count, &files);
 *   ...                                   VS_EXIT_OK:
 *   status = vs_cli_read_ranks(cli, &files, &reader);
 *   vs_rank_files_deinit(&files);         always */
#ifndef VS_CLI_RANK_FILES_H
#define VS_CLI_RANK_FILES_H

#include "faces/cli/cli.h"
#include "faces/terminal/statusline.h"
#include "ranks/reading.h"

/* Whether the arguments are several files, or a folder of them. */
bool vs_cli_names_ranks(const vs_cli *cli);

/* vs_rank_files_list; on failure a sentence was printed. */
VS_MUST_CHECK vs_exit vs_cli_list_ranks(const vs_cli *cli, const char *const *paths, size_t count,
                                        vs_rank_files *files);

/* Opens files, and shows for which one it waits. Invariant: `line` is shown between begin and end. */
typedef struct vs_rank_terminal {
  const vs_host *host;
  vs_statusline line;
} vs_rank_terminal;

vs_rank_face vs_rank_terminal_begin(vs_rank_terminal *terminal, const vs_cli *cli);
void vs_rank_terminal_end(vs_rank_terminal *terminal);

/* vs_rank_files_read. */
VS_MUST_CHECK vs_status vs_cli_read_ranks(const vs_cli *cli, const vs_rank_files *files,
                                          const vs_rank_reader *reader);

/* vs_rank_ask about the device of --device. */
VS_MUST_CHECK vs_status vs_cli_ask_rank(const vs_cli *cli, vs_engine *engine, const char *method,
                                        const char *more, vs_rank_replies *replies, vs_error *error);

#endif
