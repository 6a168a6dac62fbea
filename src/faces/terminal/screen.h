/* Text for people, in the units, colours and width that they chose.
 *
 * Text from a file goes through vs_screen_safe or a function that uses it, because it may contain control bytes that a
 * terminal would obey. */
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
  bool has_unicode; /* bars and arrows need not be ASCII */
  uint32_t columns; /* at least VS_SCREEN_LEAST */
} vs_screen;

enum { VS_SCREEN_LEAST = 40, VS_SCREEN_USUAL = 80, VS_SCREEN_MOST = 160 };

/* A text to collect pieces in before their width is known. It has no writer, so it is never printed itself. */
static inline void vs_scratch_init(vs_text *scratch, const vs_screen *screen) {
  vs_text_init(scratch, screen->text.host, NULL);
}

/* ---- pieces of text, to any vs_text */

/* Appends printable text unchanged, and control characters, invalid UTF-8 and characters that reorder a line as \xNN. */
void vs_screen_safe(vs_text *text, vs_str s);

/* How many columns the safe text `s` takes. */
size_t vs_screen_width(vs_str s);

/* Appends `s` in at most `columns`: a longer text loses its beginning or its end, marked by "...". */
void vs_screen_fit_end(vs_text *text, vs_str s, size_t columns);   /* keeps the end: for paths */
void vs_screen_fit_start(vs_text *text, vs_str s, size_t columns); /* keeps the start: for names */

void vs_screen_spaces(vs_text *text, size_t count);

/* ---- on the screen */

void vs_screen_style(vs_screen *screen, vs_style style);
void vs_screen_styled(vs_screen *screen, vs_style style, vs_str safe);

/* A bar of at most `columns` for `share` (0..1), in eighths of a column with Unicode. Returns the columns that it takes. */
size_t vs_screen_bar(vs_screen *screen, double share, size_t columns);

/* "  Label     text wrapped under itself". `mark` is the style of the label. `text` is safe; it is broken at spaces, and a
 * word that is too long for a line stands beyond its end. */
void vs_screen_labelled(vs_screen *screen, const char *label, size_t label_columns, vs_style mark,
                        vs_str text);

/* The same for a text that was collected in `line`, which is emptied. A failure of `line` becomes one of the screen. */
void vs_screen_end_line(vs_screen *screen, vs_text *line, const char *label, size_t label_columns,
                        vs_style mark);

/* Paragraphs (separated by an empty line), wrapped, each line behind `indent` spaces. */
void vs_screen_paragraphs(vs_screen *screen, size_t indent, vs_str text);

#endif
