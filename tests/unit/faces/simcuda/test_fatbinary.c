/* Fat binaries: which code a driver would choose, and containers that lie. */
#include "faces/simcuda/cudart/fatbinary.c"
#include "support/random.h"
#include "support/test.h"
#include <stdlib.h>

enum {
  PTX = 1,
  CUBIN = 2,
  OTHER = 64,
  PLAIN = 0,
  EXACT = 1 << 20,
  FAMILY = 1 << 21,
  CODE_SIZE = 24,
  MOST = 4096
};

typedef struct container {
  uint8_t bytes[MOST];
  uint64_t size;
} container;

static void put(container *to, uint64_t at, uint64_t value, unsigned count) {
  for (unsigned i = 0; i < count; i++) to->bytes[at + i] = (uint8_t)(value >> (8 * i));
}

static void begin(container *to) {
  memset(to, 0, sizeof *to);
  put(to, 0, CONTAINER_MAGIC, 4);
  put(to, 4, 1, 2);
  put(to, 6, VS_FATBINARY_HEAD_SIZE, 2);
  to->size = VS_FATBINARY_HEAD_SIZE;
}

/* With a head of 112 bytes for the newer kinds of code, as compilers write it. */
static void add(container *to, unsigned kind, unsigned architecture, unsigned flags) {
  const unsigned head = flags == PLAIN ? 64 : 112;
  const uint64_t at = to->size;
  put(to, at, kind, 2);
  put(to, at + 4, head, 4);
  put(to, at + 8, CODE_SIZE, 8);
  put(to, at + 28, architecture, 4);
  put(to, at + 40, flags | 0x8011, 8);
  to->size = at + head + CODE_SIZE;
  put(to, 8, to->size - VS_FATBINARY_HEAD_SIZE, 8);
}

static vs_fatbinary_result choose(const container *from, uint32_t capability, vs_fatbinary_choice *choice) {
  return vs_fatbinary_choose(from->bytes, from->size, capability / 10, capability % 10, choice);
}

static void expect_code(const container *from, uint32_t capability, uint32_t ptx, uint32_t binary) {
  vs_fatbinary_choice choice = {0, 0};
  assert_int_equal(choose(from, capability, &choice), VS_FATBINARY_CHOSEN);
  assert_int_equal(choice.ptx, ptx);
  assert_int_equal(choice.binary, binary);
}

static void expect_nothing(const container *from, uint32_t capability) {
  vs_fatbinary_choice choice;
  assert_int_equal(choose(from, capability, &choice), VS_FATBINARY_NOTHING_FITS);
}

/* The architectures that a release of PyTorch is built for. */
static void test_same_major_and_not_newer(void **state) {
  (void)state;
  container torch;
  begin(&torch);
  static const unsigned architectures[] = {75, 80, 86, 90, 100, 120};
  for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++)
    add(&torch, CUBIN, architectures[i], PLAIN);
  expect_code(&torch, 75, 75, 75);
  expect_code(&torch, 80, 80, 80);
  expect_code(&torch, 86, 86, 86);
  expect_code(&torch, 87, 86, 86);
  expect_code(&torch, 89, 86, 86);
  expect_code(&torch, 90, 90, 90);
  expect_code(&torch, 103, 100, 100);
  expect_code(&torch, 121, 120, 120);
  expect_nothing(&torch, 70);
  expect_nothing(&torch, 110);
}

static void test_order_does_not_matter(void **state) {
  (void)state;
  container code;
  begin(&code);
  add(&code, CUBIN, 86, PLAIN);
  add(&code, CUBIN, 80, PLAIN);
  expect_code(&code, 89, 86, 86);
}

static void test_exact_and_family(void **state) {
  (void)state;
  container code;
  begin(&code);
  add(&code, CUBIN, 90, PLAIN);
  add(&code, CUBIN, 100, PLAIN);
  add(&code, CUBIN, 100, EXACT);
  add(&code, CUBIN, 103, FAMILY);
  expect_code(&code, 100, 100, 100);
  expect_code(&code, 103, 103, 103);
  expect_code(&code, 104, 103, 103);
  begin(&code);
  add(&code, CUBIN, 90, EXACT);
  expect_code(&code, 90, 90, 90);
  begin(&code);
  add(&code, CUBIN, 100, EXACT);
  expect_nothing(&code, 103); /* 100a runs on 10.0 and nowhere else */
}

static void test_ptx_where_no_cubin_fits(void **state) {
  (void)state;
  container code;
  begin(&code);
  add(&code, CUBIN, 80, PLAIN);
  add(&code, PTX, 70, PLAIN);
  add(&code, PTX, 90, PLAIN);
  add(&code, OTHER, 120, PLAIN);
  expect_code(&code, 86, 80, 80);   /* a cubin comes first */
  expect_code(&code, 100, 90, 100); /* compiled for the device */
  expect_code(&code, 75, 70, 75);
  expect_nothing(&code, 61);
  begin(&code);
  add(&code, PTX, 90, EXACT);
  expect_code(&code, 90, 90, 90);
  expect_nothing(&code, 100);
}

static void test_no_container(void **state) {
  (void)state;
  container code;
  vs_fatbinary_choice choice;
  begin(&code);
  assert_int_equal(choose(&code, 90, &choice), VS_FATBINARY_UNREADABLE); /* empty */
  add(&code, OTHER, 90, PLAIN);
  assert_int_equal(choose(&code, 90, &choice), VS_FATBINARY_UNREADABLE); /* nothing that runs */
  add(&code, CUBIN, 90, PLAIN);
  expect_code(&code, 90, 90, 90);
  code.bytes[0] ^= 1;
  assert_int_equal(choose(&code, 90, &choice), VS_FATBINARY_UNREADABLE);
  assert_int_equal(vs_fatbinary_size(code.bytes), 0);
}

/* What comes before the damage counts; "nothing fits" is only said of a container that was read to its
 * end. */
static void test_cut_off(void **state) {
  (void)state;
  container code;
  vs_fatbinary_choice choice;
  begin(&code);
  add(&code, CUBIN, 80, PLAIN);
  const uint64_t first = code.size;
  add(&code, CUBIN, 90, PLAIN);
  for (uint64_t size = 0; size < code.size; size++) {
    code.size = size;
    const vs_fatbinary_result on_80 = choose(&code, 80, &choice), on_90 = choose(&code, 90, &choice);
    assert_int_equal(on_80, size < first ? VS_FATBINARY_UNREADABLE : VS_FATBINARY_CHOSEN);
    assert_int_equal(on_90, size == first ? VS_FATBINARY_NOTHING_FITS : VS_FATBINARY_UNREADABLE);
    code.size = first + 64 + CODE_SIZE;
  }
}

/* Sizes that wrap, heads that are too small, and anything else: in memory of exactly that size, so that a
 * sanitizer sees every byte beyond. */
static void choose_in_exact_memory(const container *from) {
  vs_fatbinary_choice choice;
  uint8_t *exact = malloc(from->size == 0 ? 1 : from->size);
  assert_non_null(exact);
  memcpy(exact, from->bytes, from->size);
  for (uint32_t capability = 50; capability < 130; capability += 7)
    (void)vs_fatbinary_choose(exact, from->size, capability / 10, capability % 10, &choice);
  free(exact);
}

static void test_lies(void **state) {
  (void)state;
  container code;
  static const uint64_t sizes[] = {0, 1, 15, 63, 64, UINT32_MAX, INT64_MAX, UINT64_MAX - 15, UINT64_MAX};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    for (unsigned what = 0; what < 4; what++) {
      begin(&code);
      add(&code, CUBIN, 90, PLAIN);
      if (what == 0) put(&code, 8, sizes[i], 8);       /* of the container */
      else if (what == 1) put(&code, 6, sizes[i], 2);  /* of its head */
      else if (what == 2) put(&code, 20, sizes[i], 4); /* of an entry's head */
      else put(&code, 24, sizes[i], 8);                /* of its code */
      choose_in_exact_memory(&code);
    }
  }
}

static void test_any_bytes(void **state) {
  (void)state;
  test_random random = {1};
  container code;
  for (unsigned round = 0; round < 20000; round++) {
    begin(&code);
    const uint64_t count = random_below(&random, 8);
    for (uint64_t i = 0; i < count; i++)
      add(&code, (unsigned)random_below(&random, 4), (unsigned)random_below(&random, 130),
          random_below(&random, 2) == 0 ? PLAIN : EXACT);
    const uint64_t damage = random_below(&random, 6);
    for (uint64_t i = 0; i < damage; i++)
      code.bytes[random_below(&random, code.size)] = (uint8_t)random_below(&random, 256);
    code.size -= random_below(&random, code.size);
    choose_in_exact_memory(&code);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_major_and_not_newer),
      cmocka_unit_test(test_order_does_not_matter),
      cmocka_unit_test(test_exact_and_family),
      cmocka_unit_test(test_ptx_where_no_cubin_fits),
      cmocka_unit_test(test_no_container),
      cmocka_unit_test(test_cut_off),
      cmocka_unit_test(test_lies),
      cmocka_unit_test(test_any_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
