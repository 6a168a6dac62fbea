/* Values, rows and sentences of a reply as text for a terminal. */
#ifndef VS_FACES_REPLY_WORDS_H
#define VS_FACES_REPLY_WORDS_H

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

/* One side of a row of a difference (docs/formats/diff.md): "8 × 64.00 MiB", "512.0 MiB in 12"; "-" for nothing. */
void vs_words_part(const vs_screen *screen, vs_text *text, vs_json part);

/* "1 block", "12,000 blocks". */
static inline void vs_words_count(vs_text *text, uint64_t count, const char *noun) {
  vs_text_counted(text, count, noun);
}

/* "0.52 s": the time of an event since the first one; nothing if the recording has no times. */
void vs_words_time_since(vs_text *text, vs_json time_us, vs_json first_time_us);

/* A word as a shell reads it back: in quotes where it needs some. */
void vs_words_shell(vs_text *text, vs_str word);

/* A label in the column of labels and a text of a reply beside it, wrapped. The text is made safe. */
void vs_words_labelled(vs_screen *screen, const char *label, vs_style style, vs_str text);
/* Paragraphs of a text of a reply. The text is made safe. */
void vs_words_paragraphs(vs_screen *screen, vs_str text);
/* The member "lines" of a reply: the engine's sentences with their rows, without those that are details. */
void vs_words_lines(vs_screen *screen, vs_json lines);

/* The array "changes" of a reply (docs/formats/fit.md): a paragraph, or nothing without changes. */
void vs_words_changes(vs_screen *screen, vs_json changes);

#endif
