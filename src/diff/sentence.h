/* Sentences of a reply, as query has them, and the ranks that they name. */
#ifndef VS_DIFF_SENTENCE_H
#define VS_DIFF_SENTENCE_H

#include "base/interned_strings.h"
#include "codec/json_writer.h"

/* Writes {"about", "label", "depth", "tone", "text"}, an item of the member "lines", and empties `text`. */
void vs_sentence_put(vs_jsonw *json, vs_text *text, const char *about, const char *label, uint32_t depth,
                     const char *tone);

/* A rank as sentences name it. */
typedef struct vs_rank_label {
  uint64_t number;
  uint32_t name; /* string id of its file */
} vs_rank_label;

/* "rank 3", "ranks 0-2, 5 and 7", of many the first ranges and "and 12 more". Without numbers (`have_numbers`) the names of the files. The
 * labels are in the order in which they are to be named; with numbers that is rising. */
void vs_sentence_ranks(vs_text *text, const vs_strings *strings, const vs_rank_label *labels, size_t count,
                       bool have_numbers);

#endif
