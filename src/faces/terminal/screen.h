/* What is shown: text for people, in the units, colours and width that they asked for.
 *
 * Everything that comes out of a file goes through vs_screen_safe or one of the functions that use it: it may hold
 * control bytes that would make a terminal do things. */
#ifndef VS_TERMINAL_SCREEN_H
#define VS_TERMINAL_SCREEN_H

#include "base/human.h"

typedef enum vs_style {
  VS_STYLE_PLAIN,
  VS_STYLE_TITLE,
  VS_STYLE_FAINT,
  VS_STYLE_GOOD,
  VS_STYLE_BAD,
  VS_STYLE_BAR
} vs_style;

typedef struct vs_screen {
  vs_text text; /* to the output */
  vs_unit unit;
  bool has_colour;
  bool has_unicode; /* bars and arrows may be more than ASCII */
  uint32_t columns; /* at least VS_SCREEN_LEAST */
} vs_screen;

enum { VS_SCREEN_LEAST = 40, VS_SCREEN_USUAL = 80, VS_SCREEN_MOST = 160 };

/* Where text is collected before its width is known: on no account shown itself. */
static inline void vs_scratch_init(vs_text *scratch, const vs_screen *screen) {
  vs_text_init(scratch, screen->text.host, NULL);
}

/* ---- pieces of text, to any vs_text */

/* Printable text as it is; control characters, bytes that are no text, and characters that reorder a line as \xNN. */
void vs_screen_safe(vs_text *text, vs_str s);

/* How many columns `s` takes; it is safe text. */
size_t vs_screen_width(vs_str s);

/* `s` in at most `columns`: what is too long loses its beginning or its end, marked by "...". */
void vs_screen_fit_end(vs_text *text, vs_str s, size_t columns);   /* keeps the end: for paths */
void vs_screen_fit_start(vs_text *text, vs_str s, size_t columns); /* keeps the start: for names */

void vs_screen_spaces(vs_text *text, size_t count);

/* ---- on the screen */

void vs_screen_style(vs_screen *screen, vs_style style);
void vs_screen_styled(vs_screen *screen, vs_style style, vs_str safe);

/* A bar of at most `columns` for `share` (0..1), in eighths of a column where the terminal has them; returns the columns
 * that it takes. */
size_t vs_screen_bar(vs_screen *screen, double share, size_t columns);

/* "  Label     text wrapped under itself", the label in bold. `text` is safe; it is broken at spaces, an unbreakable
 * word runs over. `mark` is the style of the label. */
void vs_screen_labelled(vs_screen *screen, const char *label, size_t label_columns, vs_style mark,
                        vs_str text);

/* The same of a text that was collected in `line`, which is emptied; what failed there fails the screen. */
void vs_screen_end_line(vs_screen *screen, vs_text *line, const char *label, size_t label_columns,
                        vs_style mark);

/* Paragraphs (separated by an empty line), wrapped, each line behind `indent` spaces. */
void vs_screen_paragraphs(vs_screen *screen, size_t indent, vs_str text);

#endif
