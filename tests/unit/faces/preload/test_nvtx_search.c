/* The search for NVTX's globals: in made-up memory, which is cut off, wrong in one bit, or has holes; and in this program. */
#include "faces/preload/nvtx_search.h"
#include "os/pages.h"
#include "support/random.h"
#include "support/test.h"
#include <string.h>
#include <sys/mman.h>

enum {
  PAGE = 4096,
  SIZE = 8 * PAGE,
  GLOBALS = sizeof(nvtx_globals),
  WORDS = GLOBALS / 8,
  CODE = 1 << 20,
  CODE_END = CODE + PAGE
};
enum { TABLE_OF = 2, SET_VERSION = 5, FUNCTIONS = 6, TABLES = 70 }; /* words of the globals */

static bool is_code(uint64_t address) { return address >= CODE && address < CODE_END; }

/* As NVTX begins in a library that has it at `at`. */
static void make(uint64_t words[WORDS], uint64_t at) {
  static const uint32_t entries[NVTX_MODULES] = {16, 9, 15, 7, 16, 7};
  const uint64_t first[FUNCTIONS] = {0, 16, CODE, 24, 3, CODE_END - 1};
  uint64_t *table = words + TABLES, function = at + sizeof first;
  memset(words, 0, GLOBALS);
  memcpy(words, first, sizeof first);
  for (uint64_t i = FUNCTIONS; i < TABLES; i++) words[i] = CODE + i;
  for (size_t module = 0; module < NVTX_MODULES; module++, table += 2)
    for (size_t i = 1; i < entries[module]; i++, function += 8) *++table = function;
  assert_ptr_equal(table, words + WORDS);
}

static uint8_t *map_memory(void) {
  void *pages = NULL;
  expect_ok(vs_pages_map(SIZE, VS_PAGES_LAZY, &pages));
  return pages;
}

static void make_at(uint8_t *memory, size_t offset, size_t bytes) {
  uint64_t words[WORDS];
  make(words, (uint64_t)(uintptr_t)(memory + offset));
  memcpy(memory + offset, words, bytes);
}

typedef struct finds {
  size_t count;
  const void *last;
} finds;

static void count_one(void *ctx, const vs_nvtx_library *library, nvtx_globals *globals) {
  finds *f = ctx;
  (void)library;
  f->count++;
  f->last = globals;
}

static finds search(const uint8_t *memory, size_t size) {
  finds f = {.count = 0};
  const uint64_t start = (uint64_t)(uintptr_t)memory;
  const vs_nvtx_library library = {.name = "",
                                   .data = {{start, start + size}},
                                   .code = {{CODE, CODE_END}},
                                   .data_count = 1,
                                   .code_count = 1};
  assert_true(vs_nvtx_search(&library, count_one, &f));
  return f;
}

static void test_at_every_place(void **state) {
  (void)state;
  uint8_t *memory = map_memory();
  for (size_t at = 0; at + GLOBALS <= SIZE; at += 8) {
    make_at(memory, at, GLOBALS);
    const finds f = search(memory, SIZE);
    assert_int_equal(f.count, 1);
    assert_ptr_equal(f.last, memory + at);
    memset(memory + at, 0, GLOBALS);
  }
  for (size_t at = 0; at + GLOBALS <= SIZE; at += GLOBALS) make_at(memory, at, GLOBALS);
  assert_int_equal(search(memory, SIZE).count, SIZE / GLOBALS);
  vs_pages_unmap(memory, SIZE);
}

/* The data ends after any byte, and the memory after any word. */
static void test_cut_off(void **state) {
  (void)state;
  uint8_t *memory = map_memory();
  for (size_t size = 0; size <= GLOBALS + 8; size++) {
    make_at(memory, PAGE, GLOBALS);
    assert_int_equal(search(memory + PAGE, size).count, size >= GLOBALS);
  }
  memset(memory, 0, SIZE);
  assert_int_equal(mprotect(memory + 4 * PAGE, PAGE, PROT_NONE), 0);
  for (size_t size = 0; size <= GLOBALS; size += 8) {
    make_at(memory, 4 * PAGE - size, size);
    assert_int_equal(search(memory + PAGE, SIZE - PAGE).count, size == GLOBALS);
    assert_int_equal(search(memory + 4 * PAGE - size, SIZE - 4 * PAGE + size).count, size == GLOBALS);
    memset(memory + 2 * PAGE, 0, (size_t)2 * PAGE);
  }
  vs_pages_unmap(memory, SIZE);
}

static bool is_still_right(size_t word, uint64_t value) {
  if (word == 0) return (uint32_t)value <= NVTX_COMPLETE;
  if (word == TABLE_OF || word == SET_VERSION) return is_code(value);
  return word >= FUNCTIONS && word < TABLES; /* a tool's */
}

static void test_every_bit(void **state) {
  (void)state;
  uint8_t *memory = map_memory();
  make_at(memory, 0, GLOBALS);
  for (size_t bit = 0; bit < (size_t)GLOBALS * 8; bit++) {
    uint64_t value;
    memory[bit / 8] ^= (uint8_t)(1 << bit % 8);
    memcpy(&value, memory + bit / 64 * 8, sizeof value);
    assert_int_equal(search(memory, GLOBALS).count, is_still_right(bit / 64, value));
    memory[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
  assert_int_equal(search(memory, GLOBALS).count, 1);
  vs_pages_unmap(memory, SIZE);
}

static void test_holes(void **state) {
  (void)state;
  uint8_t *memory = map_memory();
  make_at(memory, PAGE - GLOBALS, GLOBALS);
  make_at(memory, (size_t)3 * PAGE, GLOBALS);
  make_at(memory, 6 * PAGE - GLOBALS, GLOBALS);
  assert_int_equal(mprotect(memory + PAGE, PAGE, PROT_NONE), 0);
  assert_int_equal(munmap(memory + (size_t)2 * PAGE, PAGE), 0);
  assert_int_equal(mprotect(memory + (size_t)6 * PAGE, 2 * PAGE, PROT_NONE), 0);
  assert_int_equal(search(memory, SIZE).count, 3);
  assert_int_equal(search(memory + 6 * PAGE, 2 * PAGE).count, 0);
  assert_int_equal(search((const uint8_t *)8, SIZE).count, 0);
  vs_pages_unmap(memory, SIZE);
}

/* Memory of the words that NVTX's globals have, in any order. */
static void test_similar_memory(void **state) {
  (void)state;
  test_random random = {.state = 1};
  uint8_t *memory = map_memory();
  for (uint64_t round = 0; round < test_repetitions(200, 10); round++) {
    uint64_t words[WORDS];
    make(words, (uint64_t)(uintptr_t)memory);
    for (size_t at = 0; at < SIZE; at += 8)
      memcpy(memory + at, &words[random_below(&random, round % 2 == 0 ? 6 : WORDS)], 8);
    assert_int_equal(search(memory, SIZE).count, 0);
  }
  vs_pages_unmap(memory, SIZE);
}

/* ---- this program */

static nvtx_globals own = {.state = 99}; /* in the part of its data that comes from the file */

static int table_of(int module, nvtx_function ****functions, uint32_t *count) {
  (void)module, (void)functions, (void)count;
  return 0;
}
static void set_version(uint32_t version) { (void)version; }
static void initialize(const void *reserved) { (void)reserved; }

static void test_this_program(void **state) {
  (void)state;
  vs_nvtx_initialize *found = NULL;
  finds f = {.count = 0};
  assert_true(vs_nvtx_search_all(count_one, &f, NULL));
  assert_int_equal(f.count, 0);
  assert_false(vs_nvtx_confirm(&own, &found));
  uint64_t words[WORDS];
  make(words, (uint64_t)(uintptr_t)&own);
  memcpy(&own, words, sizeof own);
  own.callbacks.functions = table_of;
  own.version.set_tool_version = set_version;
  assert_true(vs_nvtx_search_all(count_one, &f, NULL));
  assert_int_equal(f.count, 1);
  assert_ptr_equal(f.last, &own);
  uint64_t searched = 0;
  assert_true(vs_nvtx_search_all(count_one, &f, &searched));
  assert_true(vs_nvtx_search_all(count_one, &f, &searched)); /* nothing was loaded since */
  assert_int_equal(f.count, 2);
  assert_true(vs_nvtx_confirm(&own, &found));
  assert_true(found == NULL); /* no code of this program */
  own.functions[NVTX_INITIALIZE] = (nvtx_function *)initialize;
  assert_true(vs_nvtx_confirm(&own, &found));
  assert_true(found == initialize);
  assert_false(vs_nvtx_confirm((const nvtx_globals *)((const char *)&own + 8), &found));
  assert_false(vs_nvtx_confirm((const nvtx_globals *)8, &found));
  assert_true(found == NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_at_every_place), cmocka_unit_test(test_cut_off),
      cmocka_unit_test(test_every_bit),      cmocka_unit_test(test_holes),
      cmocka_unit_test(test_similar_memory), cmocka_unit_test(test_this_program),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
