/* vs_hash_bytes, which reads a rest of less than eight bytes as two parts. */
#include "base/hash.h"
#include "support/test.h"
#include <stdlib.h>

/* The same by its definition: the bytes of a part that are not there are 0. */
static uint64_t by_bytes(const uint8_t *p, size_t size) {
  uint64_t hash = UINT64_C(0x2d358dccaa6c78a5) ^ size;
  for (size_t left = size;; left -= 8, p += 8) {
    uint64_t word = 0;
    for (size_t i = 0; i < left && i < 8; i++) word |= (uint64_t)p[i] << (8 * i);
    if (left < 8) return vs_hash_mix(hash ^ word, UINT64_C(0x4b33a62ed433d4a3));
    hash = vs_hash_mix(hash ^ word, UINT64_C(0x8bb84b93962eacc9));
  }
}

static void each_byte_counts_in_its_place(void **state) {
  (void)state;
  for (size_t size = 0; size <= 24; size++) {
    uint8_t *text = size == 0 ? NULL : malloc(size); /* so that a read behind its end is found */
    for (size_t i = 0; i < size; i++) text[i] = (uint8_t)(0x91 + 7 * i);
    const uint64_t hash = vs_hash_bytes(text, size);
    assert_int_equal(hash, by_bytes(text, size));
    for (size_t i = 0; i < size; i++) {
      text[i] ^= 0x40;
      assert_int_not_equal(vs_hash_bytes(text, size), hash);
      text[i] ^= 0x40;
    }
    free(text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_byte_counts_in_its_place)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
