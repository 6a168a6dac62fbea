/* Numbers as bytes: fixed-size ones in little endian; varints in groups of seven bits, lowest first, where the top
 * bit says that more follow. Signed numbers are folded first: 0, -1, 1, -2 ... become 0, 1, 2, 3. */
#ifndef VS_TRACEFILE_BYTES_H
#define VS_TRACEFILE_BYTES_H

#include "base/check.h"

enum { VS_VARINT_MOST = 10 };

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define VS_LITTLE(bits, value) __builtin_bswap##bits(value)
#else
#define VS_LITTLE(bits, value) (value)
#endif

#define VS_FIXED(bits)                                                   \
  static inline void vs_put_u##bits(uint8_t *to, uint##bits##_t value) { \
    const uint##bits##_t little = VS_LITTLE(bits, value);                \
    memcpy(to, &little, sizeof little);                                  \
  }                                                                      \
  static inline uint##bits##_t vs_get_u##bits(const uint8_t *from) {     \
    uint##bits##_t little;                                               \
    memcpy(&little, from, sizeof little);                                \
    return VS_LITTLE(bits, little);                                      \
  }
VS_FIXED(16)
VS_FIXED(32)
VS_FIXED(64)
#undef VS_FIXED

/* Returns the byte after the number. The caller provides VS_VARINT_MOST bytes. */
static inline uint8_t *vs_put_varint(uint8_t *to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *to++ = (uint8_t)(value | 0x80);
  *to++ = (uint8_t)value;
  return to;
}

static inline uint64_t vs_fold_sign(int64_t value) {
  return ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0);
}
static inline int64_t vs_unfold_sign(uint64_t value) {
  return (int64_t)((value >> 1) ^ ((value & 1) != 0 ? UINT64_MAX : 0));
}

/* The unread bytes of a frame or of a record in it. A read beyond the end, or of an invalid varint, makes it bad and
 * gives 0 from then on. */
typedef struct vs_bytes {
  const uint8_t *at, *end;
  bool is_bad;
} vs_bytes;

static inline uint64_t vs_get_varint(vs_bytes *bytes) {
  uint64_t value = 0;
  VS_ASSERT(bytes->at <= bytes->end);
  for (unsigned shift = 0; shift < 64 && bytes->at < bytes->end; shift += 7) {
    const uint8_t byte = *bytes->at++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) {
      if (shift == 63 && byte > 1) break;
      return value;
    }
  }
  bytes->is_bad = true;
  bytes->at = bytes->end;
  return 0;
}

static inline uint32_t vs_get_varint32(vs_bytes *bytes) {
  const uint64_t value = vs_get_varint(bytes);
  if (value <= UINT32_MAX) return (uint32_t)value;
  bytes->is_bad = true;
  return 0;
}

static inline int64_t vs_get_signed(vs_bytes *bytes) { return vs_unfold_sign(vs_get_varint(bytes)); }

static inline size_t vs_bytes_left(const vs_bytes *bytes) { return (size_t)(bytes->end - bytes->at); }

#endif
