/* One line at the bottom of standard error's terminal, while programs write to the same terminal: their output scrolls in
 * the rows above it, so that the two never mix. Not drawn if standard error is not a terminal, or a dumb one. */
#ifndef VS_TERMINAL_STATUSLINE_H
#define VS_TERMINAL_STATUSLINE_H

#include "base/text.h"

typedef struct vs_statusline {
  bool is_possible, is_set; /* is_set: scrolling is limited to the rows above the line */
  uint32_t rows;            /* of the terminal when is_set was set */
} vs_statusline;

void vs_statusline_begin(vs_statusline *line, bool is_wanted);
/* `text` is one line; it is made safe and cut to the width. */
void vs_statusline_draw(vs_statusline *line, vs_str text);
/* Clears the line and lets the whole terminal scroll again. */
void vs_statusline_end(vs_statusline *line);

#endif
