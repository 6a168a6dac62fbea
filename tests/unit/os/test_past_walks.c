/* Walks over a stack that is an array: what is kept, and when it is another walk. */
#include "os/past_walks.h"
#include "support/test.h"

enum { WORDS = 256, FRAMES = 8 };

static uint64_t stack[WORDS];

static uint64_t address_of(uint32_t word) { return (uint64_t)(uintptr_t)&stack[word]; }

#define HIGH address_of(WORDS)

/* A walk of FRAMES frames of four words each that begins at `word`: the return address is a frame's last word, the caller's frame pointer the one
 * before it. `needs_fp` is that of all frames. */
static void make_walk(vs_stackwalk_frame frames[FRAMES], uint32_t word, bool needs_fp) {
  for (uint32_t i = 0; i < FRAMES; i++) {
    const uint32_t end = word + 4 * i;
    vs_stackwalk_frame *f = &frames[FRAMES - 1 - i];
    stack[end - 1] = 1000 + i;
    stack[end - 2] = 2000 + i;
    *f = (vs_stackwalk_frame){.address = 1000 + i,
                              .sp = address_of(end),
                              .fp = 2000 + i,
                              .return_slot = &stack[end - 1],
                              .fp_slot = &stack[end - 2],
                              .needs_fp = needs_fp};
  }
}

static uint64_t find(const vs_past_walks *walks, const vs_stackwalk_frame frames[FRAMES]) {
  return vs_past_walks_find(walks, &frames[FRAMES - 1], HIGH, 7);
}

static void keep(vs_past_walks *walks, const vs_stackwalk_frame frames[FRAMES], uint64_t note) {
  vs_past_walks_keep(walks, frames, FRAMES, HIGH, 7, note);
}

static vs_past_walks *create(void) {
  vs_past_walks *walks = vs_past_walks_create();
  assert_non_null(walks);
  return walks;
}

static void test_a_walk_is_the_words_that_it_read(void **state) {
  (void)state;
  for (int needs_fp = 0; needs_fp < 2; needs_fp++) {
    vs_stackwalk_frame frames[FRAMES];
    vs_past_walks *walks = create();
    make_walk(frames, 40, needs_fp);
    assert_int_equal(find(walks, frames), 0);
    keep(walks, frames, 5);
    assert_int_equal(find(walks, frames), 5);
    for (uint32_t i = 40; i < WORDS; i++) { /* each word outside of the beginning */
      const uint32_t at = (i - 40) % 4;
      const bool is_read = i < 40 + 4 * (FRAMES - 1) && (at == 3 || (at == 2 && needs_fp));
      stack[i]++;
      assert_int_equal(find(walks, frames), is_read ? 0 : 5);
      stack[i]--;
    }
    vs_past_walks_destroy(walks);
  }
}

static void test_a_walk_is_its_beginning(void **state) {
  (void)state;
  for (int needs_fp = 0; needs_fp < 2; needs_fp++) {
    vs_stackwalk_frame frames[FRAMES];
    vs_past_walks *walks = create();
    make_walk(frames, 40, needs_fp);
    keep(walks, frames, 5);
    vs_stackwalk_frame *first = &frames[FRAMES - 1];
    first->fp++;
    assert_int_equal(find(walks, frames), needs_fp ? 0 : 5);
    first->fp--;
    first->address++;
    assert_int_equal(find(walks, frames), 0);
    first->address--;
    first->sp += 8;
    assert_int_equal(find(walks, frames), 0);
    first->sp -= 8;
    assert_int_equal(vs_past_walks_find(walks, first, HIGH, 8), 0); /* by other rules */
    assert_int_equal(find(walks, frames), 5);
    vs_past_walks_destroy(walks);
  }
}

static void test_the_same_walk_is_kept_once(void **state) {
  (void)state;
  vs_stackwalk_frame frames[FRAMES];
  vs_past_walks *walks = create();
  make_walk(frames, 40, false);
  keep(walks, frames, 5);
  keep(walks, frames, 6);
  assert_int_equal(find(walks, frames), 6);
  vs_past_walks_destroy(walks);
}

/* Walks with one beginning, which differ outside of it. */
static void test_the_oldest_gives_way(void **state) {
  (void)state;
  enum { KEPT = 4, MORE = 6 };
  vs_stackwalk_frame frames[FRAMES];
  vs_past_walks *walks = create();
  make_walk(frames, 40, false);
  for (uint64_t i = 0; i < MORE; i++) {
    stack[40 + 4 * 3 - 1] = frames[FRAMES - 4].address = 5000 + i;
    keep(walks, frames, 10 + i);
  }
  for (uint64_t i = 0; i < MORE; i++) {
    stack[40 + 4 * 3 - 1] = 5000 + i;
    assert_int_equal(find(walks, frames), i < MORE - KEPT ? 0 : 10 + i);
  }
  vs_past_walks_destroy(walks);
}

/* A frame pointer that was lost is a constant outside of the stack; a return address that depends on more than its place has such a place. */
static void test_places_outside_of_the_stack(void **state) {
  (void)state;
  static const uint64_t zero;
  vs_stackwalk_frame frames[FRAMES];
  vs_past_walks *walks = create();
  make_walk(frames, 40, true);
  frames[2].fp = 0;
  frames[2].fp_slot = &zero;
  keep(walks, frames, 5);
  assert_int_equal(find(walks, frames), 5);
  frames[3].return_slot = &zero;
  keep(walks, frames, 6);
  assert_int_equal(find(walks, frames), 0); /* and nothing of it is left */
  vs_past_walks_destroy(walks);
}

static void test_a_deep_walk_is_not_kept(void **state) {
  (void)state;
  enum { DEEP = 100 };
  static vs_stackwalk_frame frames[DEEP];
  vs_past_walks *walks = create();
  for (uint32_t count = 80; count < DEEP; count++) {
    for (uint32_t i = 0; i < count; i++) {
      const uint32_t end = 10 + 2 * i;
      stack[end - 1] = i + 1;
      frames[count - 1 - i] =
          (vs_stackwalk_frame){.address = i + 1, .sp = address_of(end), .return_slot = &stack[end - 1]};
    }
    vs_past_walks_keep(walks, frames, count, HIGH, 7, count);
    const uint64_t found = vs_past_walks_find(walks, &frames[count - 1], HIGH, 7);
    assert_int_equal(found, count <= 89 ? count : 0);
  }
  vs_past_walks_destroy(walks);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_walk_is_the_words_that_it_read), cmocka_unit_test(test_a_walk_is_its_beginning),
      cmocka_unit_test(test_the_same_walk_is_kept_once),       cmocka_unit_test(test_the_oldest_gives_way),
      cmocka_unit_test(test_places_outside_of_the_stack),      cmocka_unit_test(test_a_deep_walk_is_not_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
