/* Sentences and lines that several commands show. */
#ifndef VS_CLI_WORDS_H
#define VS_CLI_WORDS_H

#include "faces/cli/cli.h"
#include "codec/json_reply.h"
#include "faces/terminal/table.h"

/* The size in a member of a reply, in the units of the screen; "-" for an unknown one. */
void vs_words_bytes(const vs_screen *screen, vs_text *text, vs_json bytes);

/* What a row of a reply is attributed to: its "label". Safe. */
void vs_words_label(vs_text *text, vs_json row);
/* The same in the next cell of a table, with the whole path where there is room. */
void vs_words_label_cell(vs_table *table, vs_json row);
/* A frame, or a node of a call tree: "train.py:42 forward", "backward pass, MulBackward0". Safe. */
void vs_words_frame(vs_text *text, vs_json frame, bool whole_path);
/* The same in the next cell of a table, behind `indent`, with the whole path where there is room. */
void vs_words_frame_cell(vs_table *table, const char *indent, vs_json frame);

/* "1 block", "12,000 blocks". */
static inline void vs_words_count(vs_text *text, uint64_t count, const char *noun) {
  vs_text_counted(text, count, noun);
}

/* "0.52 s": the time of an event since the first one; nothing if the recording has no times. */
void vs_words_time_since(vs_text *text, vs_json time_us, vs_json first_time_us);

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

/* A label in the column of labels and a text of a reply beside it, wrapped. The text is made safe. */
void vs_words_labelled(vs_screen *screen, const char *label, vs_style style, vs_str text);
/* Paragraphs of a text of a reply. The text is made safe. */
void vs_words_paragraphs(vs_screen *screen, vs_str text);
/* The member "lines" of a reply: the engine's sentences with their rows, without those that are details. */
void vs_words_lines(vs_cli *cli, vs_json lines);

/* A word as a shell reads it back: in quotes where it needs some. */
void vs_words_shell(vs_text *text, vs_str word);

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
