/* Rows and sentences of a difference (docs/formats/diff.md) as text for a terminal and as Markdown. */
#ifndef VS_CLI_DIFF_WORDS_H
#define VS_CLI_DIFF_WORDS_H

#include "codec/json_reply.h"
#include "faces/cli/cli.h"

enum { VS_DIFF_WORDS_ROWS = 20 }; /* that are shown without --top */

/* "+64.00 MiB", "=" for no change. */
void vs_diff_words_change(const vs_screen *screen, vs_text *text, int64_t bytes);

/* The rows that changed, which come first in `rows`, at most --top. `changed`: how many there are; `rows` may have fewer if it has those that
 * are shown. */
void vs_diff_words_rows(vs_cli *cli, vs_json rows, uint64_t changed);
/* The same as a table of Markdown; `by`: what the rows are. */
void vs_diff_words_markdown_rows(vs_cli *cli, vs_json rows, vs_str by, uint64_t changed);

/* The sentences as a list of Markdown. */
void vs_diff_words_markdown_lines(vs_cli *cli, vs_json lines);

#endif
