/* Titles, moments and next commands: text that several commands show, and that depends on the command line. */
#ifndef VS_CLI_WORDS_H
#define VS_CLI_WORDS_H

#include "faces/cli/cli.h"
#include "faces/words/reply_words.h"

/* The first line: the file, then `rest`, which is safe. A long name loses its beginning, so that it stays one line where
 * that is possible. */
void vs_words_file(vs_screen *screen, vs_str name, vs_str rest);

/* The title of a table: "snapshot.pickle, GPU 0, `where`" and below it `what`, with an empty line behind. Both are safe. */
void vs_words_title(vs_cli *cli, vs_json reply, vs_str where, vs_str what);

/* The title of a reply about the blocks at a moment. */
void vs_words_live_title(vs_cli *cli, vs_json reply, const char *usual);

/* "at the peak (event 8,812)": the moment of --at, or `usual`, and its event (below 0: before the first event). */
void vs_words_moment(const vs_cli *cli, vs_text *text, const char *usual, int64_t event);

/* What --at says, or `usual`. */
const char *vs_words_at(const vs_cli *cli, const char *usual);

/* The number of --top, or `usual`; 0 becomes UINT64_MAX: all. */
uint64_t vs_words_top(const vs_cli *cli, uint64_t usual);

/* A command to type next. */
typedef struct vs_next {
  const char *command;
  const char *option; /* NULL: none */
  const char *value;  /* of the option */
  const char *device; /* NULL: as on the command line */
  const char *purpose;
} vs_next;

/* "Next: vramscope tree --at end FILE  # purpose"; the purpose only where it fits. Not shown with --quiet. */
void vs_words_next(vs_cli *cli, const vs_next *next);

/* The same for a whole command line, which is safe. */
void vs_words_next_line(vs_cli *cli, vs_str line, const char *purpose);
/* A further one below it. */
void vs_words_next_below(vs_cli *cli, vs_str line, const char *purpose);

/* "      vramscope view FILE  # purpose" below it, where this build can. Not of standard input, which has been read. */
void vs_words_next_view(vs_cli *cli);

#endif
