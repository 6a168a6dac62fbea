/* Parts of a reply about ranks (docs/formats/ranks.md) as text, which several commands show. */
#ifndef VS_CLI_RANK_WORDS_H
#define VS_CLI_RANK_WORDS_H

#include "faces/words/reply_words.h"

/* Rows of a difference as a table, "median rank" and "this rank". */
void vs_rank_words_rows(vs_screen *screen, vs_json rows);
/* Only those of which this rank has more, at most `top`. */
void vs_rank_words_more(vs_screen *screen, vs_json rows, uint64_t top);

/* The files that were not read, with the reasons. */
void vs_rank_words_failures(vs_screen *screen, vs_json files);

#endif
