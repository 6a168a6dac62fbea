/* Input is mixed with a fixed secret of 192 bytes. Inputs of up to 128 and of up to 240 bytes have their own
 * functions; of longer ones eight lanes of 64 bits take stripes of 64 bytes, and are scrambled after every block of
 * 1024 bytes. */
#include "tracefile/checksum.h"
#include "tracefile/bytes.h"

#define P32_1 UINT64_C(0x9e3779b1)
#define P32_2 UINT64_C(0x85ebca77)
#define P32_3 UINT64_C(0xc2b2ae3d)
#define P64_1 UINT64_C(0x9e3779b185ebca87)
#define P64_2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define P64_3 UINT64_C(0x165667b19e3779f9)
#define P64_4 UINT64_C(0x85ebca77c2b2ae63)
#define P64_5 UINT64_C(0x27d4eb2f165667c5)

enum { SECRET = 192, LANES = 8, STRIPE = 64, STRIPES_IN_BLOCK = (SECRET - STRIPE) / 8 };

static const uint8_t secret[SECRET] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e};

/* The two halves of a product, folded. */
static uint64_t mul_fold(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
  const unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
  const uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX), cross_a = (a >> 32) * (b & UINT32_MAX);
  const uint64_t cross_b = (a & UINT32_MAX) * (b >> 32), high = (a >> 32) * (b >> 32);
  const uint64_t middle = (low >> 32) + (cross_a & UINT32_MAX) + cross_b;
  return (high + (cross_a >> 32) + (middle >> 32)) ^ (middle << 32 | (low & UINT32_MAX));
#endif
}

static uint64_t avalanche(uint64_t hash) {
  hash ^= hash >> 37;
  hash *= UINT64_C(0x165667919e3779f9);
  return hash ^ (hash >> 32);
}

static uint64_t mix16(const uint8_t *at, const uint8_t *key) {
  return mul_fold(vs_get_u64(at) ^ vs_get_u64(key), vs_get_u64(at + 8) ^ vs_get_u64(key + 8));
}

/* 17 to 128 bytes: from both ends to the middle. */
static uint64_t short_sum(const uint8_t *at, size_t size) {
  uint64_t sum = size * P64_1;
  VS_ASSERT(size > 16 && size <= 128);
  for (size_t i = (size - 1) / 32 + 1; i-- > 0;)
    sum += mix16(at + 16 * i, secret + 32 * i) + mix16(at + size - 16 * (i + 1), secret + 32 * i + 16);
  return avalanche(sum);
}

/* 129 to 240 bytes: in parts of 16, the last of which ends at the end. */
static uint64_t middle_sum(const uint8_t *at, size_t size) {
  uint64_t sum = size * P64_1;
  VS_ASSERT(size > 128 && size <= 240);
  for (size_t i = 0; i < 8; i++) sum += mix16(at + 16 * i, secret + 16 * i);
  sum = avalanche(sum);
  for (size_t i = 8; i < size / 16; i++) sum += mix16(at + 16 * i, secret + 16 * (i - 8) + 3);
  return avalanche(sum + mix16(at + size - 16, secret + 136 - 17));
}

static void take_stripe(uint64_t lanes[LANES], const uint8_t *at, const uint8_t *key) {
  for (size_t i = 0; i < LANES; i++) {
    const uint64_t word = vs_get_u64(at + 8 * i), keyed = word ^ vs_get_u64(key + 8 * i);
    lanes[i ^ 1] += word;
    lanes[i] += (keyed & UINT32_MAX) * (keyed >> 32);
  }
}

static void scramble(uint64_t lanes[LANES]) {
  for (size_t i = 0; i < LANES; i++) {
    const uint64_t lane = lanes[i] ^ (lanes[i] >> 47) ^ vs_get_u64(secret + SECRET - STRIPE + 8 * i);
    lanes[i] = lane * P32_1;
  }
}

static uint64_t long_sum(const uint8_t *at, size_t size) {
  uint64_t lanes[LANES] = {P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1};
  const size_t stripes = (size - 1) / STRIPE;
  VS_ASSERT(size > 240);
  for (size_t i = 0; i < stripes; i++) {
    take_stripe(lanes, at + STRIPE * i, secret + 8 * (i % STRIPES_IN_BLOCK));
    if (i % STRIPES_IN_BLOCK == STRIPES_IN_BLOCK - 1) scramble(lanes);
  }
  take_stripe(lanes, at + size - STRIPE, secret + SECRET - STRIPE - 7);
  uint64_t sum = size * P64_1;
  for (size_t i = 0; i < LANES; i += 2)
    sum +=
        mul_fold(lanes[i] ^ vs_get_u64(secret + 11 + 8 * i), lanes[i + 1] ^ vs_get_u64(secret + 19 + 8 * i));
  return avalanche(sum);
}

uint64_t vs_checksum(const void *data, size_t size) {
  VS_ASSERT(size > 16);
  if (size <= 128) return short_sum(data, size);
  return size <= 240 ? middle_sum(data, size) : long_sum(data, size);
}
