/* The heap of the WebAssembly face, over a stretch of memory that grows as one there does. */
#include "faces/web/heap.c"
#include "support/random.h"
#include "support/test.h"
#include <stdlib.h>

enum { MOST_PAGES = 512 };

typedef struct space {
  unsigned char *memory;
  size_t pages, limit;
} space;

static space there;
static vs_heap heap;
static vs_host host;

static bool extend_space(void *ctx, size_t bytes) {
  space *s = ctx;
  assert_int_equal(bytes % VS_HEAP_PAGE, 0);
  if (s->limit - s->pages < bytes / VS_HEAP_PAGE) return false;
  s->pages += bytes / VS_HEAP_PAGE;
  return true;
}

static int setup(void **state) {
  (void)state;
  there =
      (space){.memory = aligned_alloc(VS_HEAP_PAGE, (size_t)MOST_PAGES * VS_HEAP_PAGE), .limit = MOST_PAGES};
  vs_heap_init(&heap, there.memory, extend_space, &there);
  host = vs_heap_host(&heap);
  return there.memory == NULL;
}

static int teardown(void **state) {
  (void)state;
  free(there.memory);
  return 0;
}

static void *take_block(size_t size) {
  void *memory = host.resize(host.ctx, NULL, 0, size);
  assert_non_null(memory);
  return memory;
}

static void a_class_holds_what_is_rounded_up_to_it(void **state) {
  (void)state;
  size_t last_class = 0, last_rounded = SMALLEST;
  for (size_t size = 1; size <= VS_HEAP_SMALL; size++) {
    size_t rounded, again;
    const size_t class = class_of(size, &rounded);
    assert_true(rounded >= size && rounded % SMALLEST == 0 && class < VS_HEAP_CLASSES);
    assert_true(rounded <= size + size / 4 + SMALLEST);
    assert_true(class == last_class ? rounded == last_rounded
                                    : class == last_class + 1 && rounded > last_rounded);
    assert_int_equal(class_of(rounded, &again), class);
    assert_int_equal(again, rounded);
    last_class = class;
    last_rounded = rounded;
  }
  assert_int_equal(last_class, VS_HEAP_CLASSES - 1);
}

static void the_last_block_grows_where_it_lies(void **state) {
  (void)state;
  unsigned char *memory = take_block(100000);
  size_t size = 100000;
  for (; size < 20u << 20; size += size / 2)
    assert_ptr_equal(host.resize(host.ctx, memory, size, size + size / 2), memory);
  assert_true(there.pages * VS_HEAP_PAGE < size + 2 * VS_HEAP_PAGE);
  (void)host.resize(host.ctx, memory, size, 0);
  assert_int_equal(heap.used, 0);
}

static void what_is_given_back_joins_its_neighbours(void **state) {
  (void)state;
  enum { SIZE = 3 * VS_HEAP_PAGE };
  unsigned char *blocks[6];
  for (int i = 0; i < 6; i++) blocks[i] = take_block(SIZE);
  const size_t pages = there.pages;
  const int order[] = {1, 3, 2, 5, 0, 4};
  for (int i = 0; i < 6; i++) {
    (void)host.resize(host.ctx, blocks[order[i]], SIZE, 0);
    assert_true(vs_heap_check(&heap));
  }
  assert_ptr_equal(take_block(6 * SIZE), blocks[0]);
  assert_int_equal(there.pages, pages);
}

static void shrinking_gives_pages_back(void **state) {
  (void)state;
  unsigned char *memory = take_block(10 * VS_HEAP_PAGE);
  assert_ptr_equal(host.resize(host.ctx, memory, 10 * VS_HEAP_PAGE, 2 * VS_HEAP_PAGE), memory);
  assert_ptr_equal(take_block(8 * VS_HEAP_PAGE), memory + 2 * VS_HEAP_PAGE);
  assert_int_equal(there.pages, 10);
}

static void no_memory_leaves_all_as_it_was(void **state) {
  (void)state;
  unsigned char *memory = take_block(VS_HEAP_PAGE);
  memset(memory, 7, VS_HEAP_PAGE);
  there.limit = there.pages;
  assert_null(host.resize(host.ctx, memory, VS_HEAP_PAGE, 2 * VS_HEAP_PAGE));
  assert_null(host.resize(host.ctx, NULL, 0, SIZE_MAX));
  assert_null(host.resize(host.ctx, NULL, 0, SIZE_MAX - VS_HEAP_PAGE));
  assert_null(host.resize(host.ctx, NULL, 0, 100));
  assert_int_equal(memory[VS_HEAP_PAGE - 1], 7);
  assert_int_equal(heap.used, VS_HEAP_PAGE);
  assert_true(vs_heap_check(&heap));
}

/* ---- anything, in any order ------------------------------------------------------------------------------------ */

typedef struct block {
  unsigned char *memory;
  size_t size;
  unsigned char byte; /* what it is filled with */
} block;

static size_t any_size(test_random *random) {
  const uint64_t kind = random_below(random, 10);
  if (kind < 6) return 1 + (size_t)random_below(random, 600);
  if (kind < 9) return 1 + (size_t)random_below(random, 50000);
  return 1 + (size_t)random_below(random, 600000);
}

static void expect_filled(const block *b, size_t size) {
  for (size_t i = 0; i < size; i += i < 64 ? 1 : 97) assert_int_equal(b->memory[i], b->byte);
}

static void blocks_never_meet(void **state) {
  (void)state;
  enum { COUNT = 120, STEPS_TO_GO = 20000 };
  static block blocks[COUNT];
  test_random random = {42};
  uint64_t used = 0;
  memset(blocks, 0, sizeof blocks);
  for (int step = 0; step < STEPS_TO_GO; step++) {
    block *b = &blocks[random_below(&random, COUNT)];
    const size_t size = random_below(&random, 3) == 0 ? 0 : any_size(&random);
    if (b->memory == NULL && size == 0) continue;
    unsigned char *memory = host.resize(host.ctx, b->memory, b->size, size);
    if (size != 0 && memory == NULL) continue; /* full */
    used = used - b->size + size;
    if (size != 0) {
      assert_int_equal((uintptr_t)memory % SMALLEST, 0);
      *b = (block){.memory = memory, .size = smaller(b->size, size), .byte = b->byte};
      expect_filled(b, b->size);
      b->byte = (unsigned char)step;
      memset(memory, b->byte, size);
    }
    b->memory = memory;
    b->size = size;
    assert_int_equal(heap.used, used);
    if (step % 64 == 0) {
      assert_true(vs_heap_check(&heap));
      for (size_t i = 0; i < COUNT; i++) expect_filled(&blocks[i], blocks[i].size);
    }
  }
}

/* Columns of a table grow by turns. From some size on they stay where they are for three turns of four, and what is in them
 * is never lost, even where the memory ends. */
static void what_grows_moves_seldom(void **state) {
  (void)state;
  enum { BLOCKS = 3, START = 1 << 18 };
  unsigned char *blocks[BLOCKS];
  size_t size = START, moves = 0, turns = 0;
  for (size_t i = 0; i < BLOCKS; i++) memset(blocks[i] = take_block(size), (int)i + 1, size);
  for (; size < 4u << 20; size += size / 2)
    for (size_t i = 0; i < BLOCKS; i++) {
      unsigned char *grown = host.resize(host.ctx, blocks[i], size, size + size / 2);
      assert_non_null(grown);
      turns += size >= ROOMY_FROM;
      moves += size >= ROOMY_FROM && grown != blocks[i];
      assert_true(grown[0] == i + 1 && grown[size - 1] == i + 1);
      memset(grown + size, (int)i + 1, size / 2);
      blocks[i] = grown;
      assert_true(vs_heap_check(&heap));
    }
  assert_true(turns >= 3 * (size_t)BLOCKS && moves * 2 <= turns);
  for (size_t i = 0; i < BLOCKS; i++) (void)host.resize(host.ctx, blocks[i], size, 0);
  assert_int_equal(heap.used, 0);
  assert_true(heap.ranges->next == NULL && heap.ranges->size == (size_t)(heap.end - heap.start));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_class_holds_what_is_rounded_up_to_it),
      cmocka_unit_test_setup_teardown(the_last_block_grows_where_it_lies, setup, teardown),
      cmocka_unit_test_setup_teardown(what_is_given_back_joins_its_neighbours, setup, teardown),
      cmocka_unit_test_setup_teardown(shrinking_gives_pages_back, setup, teardown),
      cmocka_unit_test_setup_teardown(no_memory_leaves_all_as_it_was, setup, teardown),
      cmocka_unit_test_setup_teardown(what_grows_moves_seldom, setup, teardown),
      cmocka_unit_test_setup_teardown(blocks_never_meet, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
