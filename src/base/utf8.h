/* UTF-8: validating and encoding. File names and symbols can contain any bytes. */
#ifndef VS_BASE_UTF8_H
#define VS_BASE_UTF8_H

#include "base/check.h"

/* How many bytes at the beginning of `s` are one well-formed character (1..4); 0 if it begins with none
 * (overlong, beyond U+10FFFF, cut off, or a stray byte) or is empty. Encoded surrogates (ED A0..BF xx) count as
 * characters: Python represents invalid bytes by them (PEP 383), and writes them into pickles. */
size_t vs_utf8_length(vs_str s);

/* The length of the longest beginning of `s` that is well-formed in that sense. */
size_t vs_utf8_valid(vs_str s);

/* Encodes a code point of up to U+10FFFF, surrogates too; returns the number of bytes, 1..4. */
size_t vs_utf8_encode(char out[static 4], uint32_t code_point);

#endif
