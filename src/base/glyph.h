/* Characters as a terminal shows them: how many columns each takes, and which must not be sent to one. */
#ifndef VS_BASE_GLYPH_H
#define VS_BASE_GLYPH_H

#include "base/check.h"

/* The character that begins with `length` well-formed bytes (vs_utf8_length). */
uint32_t vs_glyph_decode(const char *data, size_t length);

/* Control characters, what reorders a line, and lone surrogates, which stand for bytes that are no text. */
bool vs_glyph_is_unsafe(uint32_t point);

/* 0, 1 or 2. By blocks of Unicode, coarsely: a wrong guess costs one column. */
size_t vs_glyph_columns(uint32_t point);

/* Text made safe piece by piece: what begins at s[*at] goes to `out` as it is, or as \xNN for each byte that must
 * not be sent; *at moves on. Returns the bytes in `out`. */
enum { VS_GLYPH_PIECE = 16 };
size_t vs_glyph_safe_piece(char out[static VS_GLYPH_PIECE], vs_str s, size_t *at);

#endif
