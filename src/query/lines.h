/* Lines of an answer for people, composed once so that every face shows the same words: the member "lines" of a reply
 * (docs/formats/query.md). A face chooses layout and colour, and composes nothing.
 *
 *   vs_lines lines;
 *   vs_lines_begin(&lines, call);                    opens "lines" in the open object
 *   vs_line_begin(&lines, VS_LINE_peak, VS_TONE_plain);
 *   vs_line_put(&lines, "%B requested", bytes);         or any other put into lines.text
 *   vs_line_end(&lines);                             or vs_line_rows_begin, rows, vs_line_rows_end
 *   vs_lines_end(&lines);
 *
 * Sizes are in the request's unit. Names come out of the file as they are: a face makes them safe for its medium. A
 * failure sticks in the texts and reaches the call with vs_lines_end. */
#ifndef VS_QUERY_LINES_H
#define VS_QUERY_LINES_H

#include "base/human.h"
#include "query/reply.h"

typedef enum vs_line_id {
#define VS_LINE(name, depth, label) VS_LINE_##name,
#include "query/lines.def"
} vs_line_id;

typedef enum vs_tone {
#define VS_TONE(name) VS_TONE_##name,
#include "query/lines.def"
} vs_tone;

typedef struct vs_lines {
  vs_call *call;
  vs_unit unit;
  vs_text text;  /* the sentence; empty: the line is its value */
  vs_text value; /* its figure, for a place that has room for nothing else; empty: none */
  vs_text brief; /* what a narrow place says below the value; empty: nothing */
  uint64_t bytes;
  int64_t event;
  bool has_bytes; /* `bytes` is the value exactly */
  bool has_event; /* `event` is the moment that the line is about */
  bool is_detail; /* left out where only the answer in short is shown */
  vs_line_id id;
  vs_tone tone;
} vs_lines;

void vs_lines_begin(vs_lines *lines, vs_call *call);
void vs_lines_end(vs_lines *lines);

void vs_line_begin(vs_lines *lines, vs_line_id id, vs_tone tone);
void vs_line_detail_begin(vs_lines *lines, vs_line_id id, vs_tone tone);
void vs_line_end(vs_lines *lines);

/* The same, with rows below the line: who has how much of `whole`. */
void vs_line_rows_begin(vs_lines *lines);
void vs_line_group_row(vs_lines *lines, vs_group_by by, const vs_group *group, uint64_t whole);
void vs_line_rest_row(vs_lines *lines, uint64_t bytes, uint64_t count, const char *noun, uint64_t whole);
void vs_line_rows_end(vs_lines *lines);

/* ---- pieces of the open line */

void vs_line_value(vs_lines *lines, uint64_t bytes); /* value and bytes */
void vs_line_at(vs_lines *lines, int64_t event);     /* event */
/* Into the text, or into brief:
 *   %B  uint64_t: a size          %N  uint64_t: a number          %C  uint64_t, const char *: so many of these, "2 steps"
 *   %O  uint32_t: what that stack is attributed to                %s  const char *: words
 * Anything else is an error in the program and traps. */
void vs_line_put(vs_lines *lines, const char *format, ...);
void vs_line_put_brief(vs_lines *lines, const char *format, ...);

#endif
