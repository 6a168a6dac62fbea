/* What clang calls and its runtime library would bring, if Debian had one for wasm32: the 128-bit product, which it needs
 * for __builtin_mul_overflow of 64-bit numbers. Tested natively by tests/unit/build/test_wasm_builtins.c. */
#include <stdint.h>

__int128 __multi3(__int128 a, __int128 b);

/* Modulo 2^128, as two's complement wants it. By halves of 64 bits, and the lower product by quarters of 32:
 * written with a 128-bit product it would call itself. */
__int128 __multi3(__int128 a, __int128 b) {
  const uint64_t a_low = (uint64_t)a, a_high = (uint64_t)(a >> 64);
  const uint64_t b_low = (uint64_t)b, b_high = (uint64_t)(b >> 64);
  const uint64_t a0 = a_low & UINT32_MAX, a1 = a_low >> 32;
  const uint64_t b0 = b_low & UINT32_MAX, b1 = b_low >> 32;

  const uint64_t bottom = a0 * b0;
  const uint64_t middle = a1 * b0 + (bottom >> 32);
  const uint64_t middle2 = a0 * b1 + (middle & UINT32_MAX);
  const uint64_t low = (middle2 << 32) | (bottom & UINT32_MAX);
  const uint64_t carry = a1 * b1 + (middle >> 32) + (middle2 >> 32);
  const uint64_t high = carry + a_low * b_high + a_high * b_low;
  return (__int128)(((unsigned __int128)high << 64) | low);
}
