/* Characters on a terminal: how many columns each takes, and which are unsafe to send to one. */
#ifndef VS_BASE_GLYPH_H
#define VS_BASE_GLYPH_H

#include "base/check.h"

/* The character that begins with `length` well-formed bytes (vs_utf8_length). */
uint32_t vs_glyph_decode(const char *data, size_t length);

/* Control characters, characters that reorder a line, and lone surrogates, which stand for invalid bytes. */
bool vs_glyph_is_unsafe(uint32_t point);

/* 0, 1 or 2, approximated by blocks of Unicode: an error is one column. */
size_t vs_glyph_columns(uint32_t point);

/* Makes text safe, a character at a time: the one at s[*at] is copied to `out`, or written as \xNN for each byte if
 * it is unsafe; *at moves past it. Returns the number of bytes in `out`. */
enum { VS_GLYPH_PIECE = 16 };
size_t vs_glyph_safe_piece(char out[static VS_GLYPH_PIECE], vs_str s, size_t *at);

#endif
