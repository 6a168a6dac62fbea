/* Against xxHash 0.8 (XXH3_64bits): one length on each side of every seam, over bytes that differ. */
#include "support/test.h"
#include "tracefile/checksum.h"

static void test_equals_xxhash(void **state) {
  (void)state;
  static const struct {
    size_t size;
    uint64_t sum;
  } known[] = {
      {17, UINT64_C(0x714a04408e79b80f)},    {31, UINT64_C(0xed41ac283d0674b3)},
      {32, UINT64_C(0x19ff4ee1d6ba1a55)},    {33, UINT64_C(0x3e44983ad21679c8)},
      {63, UINT64_C(0x1353bea3d0ebf7e1)},    {64, UINT64_C(0x287eb1fa9e4be2c1)},
      {65, UINT64_C(0x829218de4d798646)},    {80, UINT64_C(0xd266471fadca8275)},
      {96, UINT64_C(0xf084e7cfbc624743)},    {97, UINT64_C(0x1daa83271a8e7b7c)},
      {127, UINT64_C(0x998fa0631fd78d0b)},   {128, UINT64_C(0x67425a03650261bf)},
      {129, UINT64_C(0xc664bf3311c6abc4)},   {143, UINT64_C(0x8b313780705af3a7)},
      {144, UINT64_C(0x606a17fa700bb932)},   {145, UINT64_C(0x58ceebee1ff9e519)},
      {200, UINT64_C(0x746cd0025327bf5b)},   {239, UINT64_C(0x1d861931c1f3cafa)},
      {240, UINT64_C(0x64556dc6b462a6cf)},   {241, UINT64_C(0x8beadd3a8874fe17)},
      {255, UINT64_C(0xb67b6637a76e6c39)},   {256, UINT64_C(0x3c38817f6d79c0da)},
      {257, UINT64_C(0x86edf6e0be1fe465)},   {1023, UINT64_C(0xb568482526f399bf)},
      {1024, UINT64_C(0xa6f1a01606138456)},  {1025, UINT64_C(0xecd2bad8e8ceb864)},
      {1087, UINT64_C(0x048251682d16a5f2)},  {1088, UINT64_C(0xc7d84b42188f514f)},
      {1089, UINT64_C(0x2390eecebe90a2bb)},  {2047, UINT64_C(0x879aad2c48d23e47)},
      {2048, UINT64_C(0xd9591a7a867bbf03)},  {2049, UINT64_C(0x45189093da197612)},
      {4097, UINT64_C(0x230f0c75b9fdef81)},  {65520, UINT64_C(0x5ba96a3b175914f3)},
      {65536, UINT64_C(0xede6b1ff51bf8916)}, {69999, UINT64_C(0x5fc9f7b019f09425)},
  };
  static uint8_t bytes[70000];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 7 + (i >> 8) * 13 + 3);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    assert_int_equal(vs_checksum(bytes, known[i].size), known[i].sum);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_equals_xxhash)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
