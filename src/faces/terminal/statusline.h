/* One line at the bottom of the terminal behind standard error, while programs write to the same terminal:
 * what they write scrolls in the rows above it, so that the two never mix. Not drawn where standard error is
 * no terminal, or a dumb one. */
#ifndef VS_TERMINAL_STATUSLINE_H
#define VS_TERMINAL_STATUSLINE_H

#include "base/text.h"

typedef struct vs_statusline {
  bool is_possible, is_set; /* set: the rows above scroll by themselves */
  uint32_t rows;            /* of the terminal when that was arranged */
} vs_statusline;

void vs_statusline_begin(vs_statusline *line, bool is_wanted);
/* `text` is one line; it is made safe and cut to the width. */
void vs_statusline_draw(vs_statusline *line, vs_str text);
/* The terminal is as it was, and the row empty. */
void vs_statusline_end(vs_statusline *line);

#endif
