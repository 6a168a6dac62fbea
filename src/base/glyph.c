#include "base/glyph.h"
#include "base/utf8.h"

typedef struct range {
  uint32_t first, last;
} range;

static bool is_in(uint32_t point, const range *ranges, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (point >= ranges[i].first && point <= ranges[i].last) return true;
  return false;
}
#define IS_IN(point, ranges) is_in(point, ranges, sizeof(ranges) / sizeof(ranges)[0])

uint32_t vs_glyph_decode(const char *data, size_t length) {
  VS_ASSERT(length >= 1 && length <= 4);
  const uint8_t *p = (const uint8_t *)data;
  uint32_t point = length == 1 ? p[0] : p[0] & (0x7fU >> length);
  for (size_t i = 1; i < length; i++) point = point << 6 | (p[i] & 0x3fU);
  return point;
}

bool vs_glyph_is_unsafe(uint32_t point) {
  static const range unsafe[] = {
      {0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},   {0x200e, 0x200f}, {0x2028, 0x202e},
      {0x2066, 0x2069}, {0xd800, 0xdfff}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
  };
  return IS_IN(point, unsafe);
}

size_t vs_glyph_columns(uint32_t point) {
  static const range none[] = {{0x300, 0x36f}, {0x200b, 0x200d}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}};
  static const range two[] = {{0x1100, 0x115f},   {0x2e80, 0xa4cf},  {0xac00, 0xd7a3}, {0xf900, 0xfaff},
                              {0xfe30, 0xfe6f},   {0xff00, 0xff60},  {0xffe0, 0xffe6}, {0x1f300, 0x1f64f},
                              {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
  return IS_IN(point, none) ? 0 : IS_IN(point, two) ? 2 : 1;
}

static size_t escape(char *out, uint8_t byte) {
  const char escaped[4] = {'\\', 'x', "0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
  memcpy(out, escaped, sizeof escaped);
  return sizeof escaped;
}

size_t vs_glyph_safe_piece(char out[static VS_GLYPH_PIECE], vs_str s, size_t *at) {
  VS_ASSERT(*at < s.size);
  const char *data = s.data + *at;
  const size_t length = vs_utf8_length((vs_str){data, s.size - *at});
  *at += length == 0 ? 1 : length;
  if (length == 0) return escape(out, (uint8_t)data[0]);
  const uint32_t point = vs_glyph_decode(data, length);
  if (point >= 0xdc80 && point <= 0xdcff)
    return escape(out, (uint8_t)point); /* a byte in Python's form (PEP 383) */
  if (!vs_glyph_is_unsafe(point)) {
    memcpy(out, data, length);
    return length;
  }
  size_t size = 0;
  for (size_t i = 0; i < length; i++) size += escape(out + size, (uint8_t)data[i]);
  return size;
}
