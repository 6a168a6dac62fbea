/* The member "lines" of a reply (docs/formats/query.md): sentences for people, composed here so that all faces show the
 * same words. A face chooses only layout and colour.
 *
 *   vs_lines lines;
 *   vs_lines_begin(&lines, call);                    opens "lines" in the open object
 *   vs_line_begin(&lines, VS_LINE_peak, VS_TONE_plain);
 *   vs_line_put(&lines, "%B requested", bytes);         or any other put into lines.text
 *   vs_line_end(&lines);                             or vs_line_rows_begin, rows, vs_line_rows_end
 *   vs_lines_end(&lines);
 *
 * Sizes are in the request's unit. Names are copied from the file unchanged: a face must escape them for its medium. A
 * failure is kept in the texts, and vs_lines_end passes it to the call. */
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
  vs_text value; /* its figure, for narrow places; empty: none */
  vs_text brief; /* a short text below the value in narrow places; empty: none */
  uint64_t bytes;
  int64_t event;
  bool has_bytes;    /* `bytes` is the exact value */
  bool has_event;    /* `event` is the moment that the line is about */
  bool shows_blocks; /* rows have a number of blocks */
  bool is_detail;    /* not shown in the short form of the answer */
  vs_line_id id;
  vs_tone tone;
} vs_lines;

void vs_lines_begin(vs_lines *lines, vs_call *call);
void vs_lines_end(vs_lines *lines);

void vs_line_begin(vs_lines *lines, vs_line_id id, vs_tone tone);
void vs_line_detail_begin(vs_lines *lines, vs_line_id id, vs_tone tone);
void vs_line_end(vs_lines *lines);

/* The same, with rows below the line: the shares of owners in `whole`. */
void vs_line_rows_begin(vs_lines *lines);
void vs_line_group_row(vs_lines *lines, vs_group_by by, const vs_group *group, uint64_t whole);
void vs_line_rest_row(vs_lines *lines, uint64_t bytes, uint64_t count, const char *noun, uint64_t whole);
/* Rows of the largest owners, as many as the request's "top", and one of the other lines; below the first its parts, where it has some. */
void vs_line_owner_rows(vs_lines *lines, const vs_owners *owners);
void vs_line_rows_end(vs_lines *lines);

/* ---- parts of the open line */

void vs_line_value(vs_lines *lines, uint64_t bytes); /* value and bytes */
void vs_line_at(vs_lines *lines, int64_t event);     /* event */
/* Append to the text, or to `brief`:
 *   %B  uint64_t: a size          %N  uint64_t: a number          %C  uint64_t, const char *: a counted noun, "2 steps"
 *   %O  uint32_t: the owner of that stack                         %s  const char *: words
 * Anything else is an error in the program and traps. */
void vs_line_put(vs_lines *lines, const char *format, ...);
void vs_line_put_brief(vs_lines *lines, const char *format, ...);

#endif
