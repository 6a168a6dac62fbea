/* Hashing for tables that live in memory only: fast, not keyed by a secret, never written to a file.
 *
 * The functions are public and easy to invert, so a hostile file can contain many keys with equal hashes. A table
 * that probes too far grows, and fails with VS_LIMIT if that does not help (map.h). */
#ifndef VS_BASE_HASH_H
#define VS_BASE_HASH_H

#include "base/mem.h"
#include <stdint.h>

/* The high and low half of a 64 x 64 bit product, folded: every input bit reaches every output bit. */
static inline uint64_t vs_hash_mix(uint64_t a, uint64_t b) {
#if defined( \
    __wasm__) /* no 64 x 64 -> 128 multiply: from 32-bit halves, which avoids clang's call to __multi3 */
  const uint64_t a0 = a & UINT32_MAX, a1 = a >> 32, b0 = b & UINT32_MAX, b1 = b >> 32;
  const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), middle2 = a0 * b1 + (middle & UINT32_MAX);
  return (a * b) ^ (a1 * b1 + (middle >> 32) + (middle2 >> 32));
#elif defined(__SIZEOF_INT128__)
  const unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
  a ^= b;
  a *= UINT64_C(0x9e3779b97f4a7c15);
  a ^= a >> 32;
  a *= UINT64_C(0xd6e8feb86659fd93);
  return a ^ (a >> 29);
#endif
}

static inline uint64_t vs_hash_u64(uint64_t value) {
  return vs_hash_mix(value ^ UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xd6e8feb86659fd93));
}

/* Fewer than eight bytes as a word, the first one lowest: read as two parts, which may overlap. */
static inline uint64_t vs_hash_rest(const uint8_t *p, size_t size) {
  uint32_t low, high;
  if (size == 0) return 0;
  if (size < 4) return p[0] | (uint64_t)p[size / 2] << size / 2 * 8 | (uint64_t)p[size - 1] << (size - 1) * 8;
  memcpy(&low, p, 4);
  memcpy(&high, p + size - 4, 4);
  return low | (uint64_t)high << (size - 4) * 8;
}

static inline uint64_t vs_hash_bytes(const void *data, size_t size) {
  const uint8_t *p = data;
  uint64_t hash = UINT64_C(0x2d358dccaa6c78a5) ^ size, word;
  for (; size >= 8; size -= 8, p += 8) {
    memcpy(&word, p, 8);
    hash = vs_hash_mix(hash ^ word, UINT64_C(0x8bb84b93962eacc9));
  }
  return vs_hash_mix(hash ^ vs_hash_rest(p, size), UINT64_C(0x4b33a62ed433d4a3));
}

#endif
