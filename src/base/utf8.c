#include "base/utf8.h"

static bool is_continuation(uint8_t byte) { return (byte & 0xc0) == 0x80; }

size_t vs_utf8_length(vs_str s) {
  if (s.size == 0) return 0;
  const uint8_t *p = (const uint8_t *)s.data;
  if (p[0] < 0x80) return 1;
  /* The narrower bounds of the second byte exclude overlong forms and code points above U+10FFFF. */
  if (p[0] >= 0xc2 && p[0] <= 0xdf) return s.size >= 2 && is_continuation(p[1]) ? 2 : 0;
  if (p[0] >= 0xe0 && p[0] <= 0xef) {
    const uint8_t least = p[0] == 0xe0 ? 0xa0 : 0x80;
    return s.size >= 3 && p[1] >= least && p[1] <= 0xbf && is_continuation(p[2]) ? 3 : 0;
  }
  if (p[0] >= 0xf0 && p[0] <= 0xf4) {
    const uint8_t least = p[0] == 0xf0 ? 0x90 : 0x80, most = p[0] == 0xf4 ? 0x8f : 0xbf;
    return s.size >= 4 && p[1] >= least && p[1] <= most && is_continuation(p[2]) && is_continuation(p[3]) ? 4
                                                                                                          : 0;
  }
  return 0;
}

size_t vs_utf8_valid(vs_str s) {
  size_t at = 0;
  while (at < s.size) {
    const size_t length = vs_utf8_length((vs_str){s.data + at, s.size - at});
    if (length == 0) break;
    at += length;
  }
  VS_ASSERT(at <= s.size);
  return at;
}

size_t vs_utf8_encode(char out[static 4], uint32_t code_point) {
  VS_ASSERT(code_point <= 0x10ffff);
  if (code_point < 0x80) {
    out[0] = (char)code_point;
    return 1;
  }
  const size_t length = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
  for (size_t i = length - 1; i > 0; i--, code_point >>= 6) out[i] = (char)(0x80 | (code_point & 0x3f));
  out[0] = (char)((0xf00 >> length & 0xf0) | code_point); /* 110xxxxx, 1110xxxx, 11110xxx */
  return length;
}
