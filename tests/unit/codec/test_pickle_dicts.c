/* Dicts that are read at once: the same calls of the fold, the same values and the same failures as opcode by opcode, whatever the bytes are.
 * The samples have every form of key and value that is read at once, and forms beside them that are not. */
#include "support/both_ways.h"
#include "support/snapshots.h"

#include <stdlib.h>

#define SAMPLES "tests/corpus/pickle_dicts/"
static const char *const samples[] = {"events",           "events-5",           "events-binput",
                                      "events-wide-memo", "events-long-binput", "events-cpp"};
enum { SAMPLES_COUNT = sizeof samples / sizeof *samples };

/* Opcodes of dicts and those next to them, short lengths and the ends of the range: what a byte is replaced by. */
static const uint8_t bytes_of_interest[] = {0x00, 0x01, 0x02, 0x07, 0x08, 0x09, 0x0f, 0x7f, 0x80, 0xff, '(',
                                            ')',  '.',  '0',  '1',  '2',  'J',  'K',  'M',  'N',  'X',  ']',
                                            'a',  'e',  'h',  'j',  'q',  'r',  's',  't',  'u',  '}',  0x85,
                                            0x86, 0x88, 0x89, 0x8a, 0x8b, 0x8c, 0x8f, 0x94, 0x95};

static vs_str sample(size_t i) {
  char path[128];
  vs_format(path, sizeof path, SAMPLES "%s", samples[i]);
  return file_bytes(path);
}

/* Where the snapshot of a sample begins: strings that only fill the memo come before. */
static size_t beginning(vs_str pickle) {
  if (pickle.size < 2000) return 0;
  for (size_t at = 0; at + 8 <= pickle.size; at++)
    if (memcmp(pickle.data + at, "segments", 8) == 0) return at;
  return 0;
}

static fold_counts expect_same_case(const fold_case *c, const char *name, const char *what, size_t at) {
  fold_counts counts;
  const char *difference = fold_both_ways(vs_host_default(), c, &counts);
  if (difference != NULL) fail_msg("%s, %s %zu: different in: %s", name, what, at, difference);
  return counts;
}

static fold_counts expect_same(vs_str pickle, const char *name, const char *what, size_t at) {
  return expect_same_case(&(fold_case){.pickle = pickle}, name, what, at);
}

static void dicts_are_read_at_once(void **state) {
  (void)state;
  for (size_t i = 0; i < SAMPLES_COUNT; i++) {
    const vs_str pickle = sample(i);
    const uint64_t at_once = expect_same(pickle, samples[i], "whole", 0).at_once;
    if (at_once < 7) fail_msg("%s: only %d dicts were read at once", samples[i], (int)at_once);
    const char *difference = read_both_ways(vs_host_default(), pickle);
    if (difference != NULL) fail_msg("%s: different in: %s", samples[i], difference);
    free((void *)(uintptr_t)pickle.data);
  }
}

static void every_byte_may_be_another(void **state) {
  (void)state;
  const size_t step = (size_t)test_repetitions(VS_HOSTILE ? 31 : 1, 37);
  for (size_t i = 0; i < SAMPLES_COUNT; i++) {
    const vs_str pickle = sample(i);
    uint8_t *bytes = (uint8_t *)(uintptr_t)pickle.data;
    for (size_t at = beginning(pickle); at < pickle.size; at += step) {
      const uint8_t was = bytes[at];
      for (size_t k = 0; k < sizeof bytes_of_interest; k++) {
        bytes[at] = bytes_of_interest[k];
        (void)expect_same(pickle, samples[i], "another byte", at);
      }
      bytes[at] = (uint8_t)(was ^ 1);
      (void)expect_same(pickle, samples[i], "another bit of byte", at);
      bytes[at] = was;
    }
    free(bytes);
  }
}

static void every_byte_may_be_the_last(void **state) {
  (void)state;
  const size_t step = (size_t)test_repetitions(VS_HOSTILE ? 31 : 1, 37);
  for (size_t i = 0; i < SAMPLES_COUNT; i++) {
    const vs_str pickle = sample(i);
    for (size_t size = beginning(pickle); size < pickle.size; size += step)
      (void)expect_same((vs_str){pickle.data, size}, samples[i], "cut at byte", size);
    free((void *)(uintptr_t)pickle.data);
  }
}

static void every_byte_may_be_missing_or_twice(void **state) {
  (void)state;
  const size_t step = (size_t)test_repetitions(VS_HOSTILE ? 31 : 1, 37);
  for (size_t i = 0; i < SAMPLES_COUNT; i++) {
    const vs_str pickle = sample(i);
    char *changed = vs_host_alloc(vs_host_default(), pickle.size + 1);
    assert_non_null(changed);
    for (size_t at = beginning(pickle); at < pickle.size; at += step) {
      memcpy(changed, pickle.data, at);
      memcpy(changed + at, pickle.data + at + 1, pickle.size - at - 1);
      (void)expect_same((vs_str){changed, pickle.size - 1}, samples[i], "without byte", at);
      memcpy(changed, pickle.data, at + 1);
      memcpy(changed + at + 1, pickle.data + at, pickle.size - at);
      (void)expect_same((vs_str){changed, pickle.size + 1}, samples[i], "twice byte", at);
    }
    vs_host_free(vs_host_default(), changed, pickle.size + 1);
    free((void *)(uintptr_t)pickle.data);
  }
}

/* The consumer fails at each of its calls: the offset of the failure is the same. */
static void every_call_may_fail(void **state) {
  (void)state;
  for (size_t i = 0; i < SAMPLES_COUNT; i++) {
    fold_case c = {.pickle = sample(i), .failing_call = 1};
    while (expect_same_case(&c, samples[i], "failing call", (size_t)c.failing_call).calls >= c.failing_call)
      c.failing_call++;
    assert_true(c.failing_call > 20);
    free((void *)(uintptr_t)c.pickle.data);
  }
}

/* The reader fails after each byte, whatever it gave at a time. */
static void every_read_may_fail(void **state) {
  (void)state;
  static const size_t steps[] = {0, 1, 100, 700};
  const size_t step = (size_t)test_repetitions(VS_HOSTILE ? 31 : 1, 37);
  for (size_t i = 0; i < SAMPLES_COUNT; i++)
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
      fold_case c = {.pickle = sample(i), .step = steps[k]};
      (void)expect_same_case(&c, samples[i], "bytes at a time:", c.step);
      for (size_t at = beginning(c.pickle); at <= c.pickle.size; at += step) {
        c.failing_byte = 1 + at;
        (void)expect_same_case(&c, samples[i], "unreadable from byte", at);
      }
      free((void *)(uintptr_t)c.pickle.data);
    }
}

/* ---- limits of what is read at once ------------------------------------------------------------------------------ */

/* A pickle of a list of `dicts` dicts: {0: 1, ...} with `pairs` keys, which are strings of the memo. */
static vs_str many_pairs(vs_text *text, int pairs, int dicts) {
  vs_text_init(text, vs_host_default(), NULL);
  vs_text_put(text, "\x80\x04(", 3);
  for (int i = 0; i < pairs; i++) vs_text_put(text, (const char[]){'\x8c', 1, (char)('0' + i), '\x94'}, 4);
  vs_text_put(text, "l]\x94(", 4);
  for (int d = 0; d < dicts; d++) {
    vs_text_put(text, "}\x94(", 3);
    for (int i = 0; i < pairs; i++) vs_text_put(text, (const char[]){'h', (char)i, 'K', (char)(i + d)}, 4);
    vs_text_put(text, "u", 1);
  }
  vs_text_put(text, "e\x86.", 3);
  return vs_text_view(text);
}

/* The most pairs that are read at once, and more; and more dicts than one call reads. */
static void the_number_of_pairs_is_bounded(void **state) {
  (void)state;
  for (int pairs = 1; pairs <= 40; pairs++) {
    vs_text text;
    const vs_str pickle = many_pairs(&text, pairs, 600);
    const uint64_t at_once = expect_same(pickle, "pairs", "number", (size_t)pairs).at_once;
    if (pairs > 32) assert_int_equal(at_once, 0);
    else assert_true(at_once > (VS_HOSTILE ? 0 : 590));
    vs_text_deinit(&text);
  }
}

/* A pickle of a list of dicts {0: number, 1: [2, 3]}, where the number is short, long, and the same short one again. */
static vs_str with_lists(vs_text *text, int dicts) {
  vs_text_init(text, vs_host_default(), NULL);
  vs_text_put(text,
              "\x80\x04(\x8c\x01"
              "a\x94\x8c\x01"
              "b\x94\x8c\x01"
              "c\x94\x8c\x01"
              "d\x94l]\x94(",
              23);
  for (int d = 0; d < dicts; d++) {
    vs_text_put(text, "}\x94(h\x00", 5);
    if (d % 3 == 1) vs_text_put(text, (const char[]){'\x8a', 6, 1, 2, 3, 4, 5, (char)d}, 8);
    else vs_text_put(text, "K\x05", 2);
    vs_text_put(text,
                "h\x01]\x94(h\x02h\x03"
                "eu",
                11);
  }
  vs_text_put(text, "e\x86.", 3);
  return vs_text_view(text);
}

static void a_number_is_that_of_its_own_dict(void **state) {
  (void)state;
  vs_text text;
  const vs_str pickle = with_lists(&text, 600);
  assert_true(expect_same(pickle, "lists", "whole", 0).at_once > (VS_HOSTILE ? 0 : 300));
  vs_text_deinit(&text);
}

/* At a list the loop looks ahead. Where that has to read, and fails, the offset is that of the list. */
static void looking_ahead_may_fail(void **state) {
  (void)state;
  vs_text text;
  fold_case c = {.pickle = with_lists(&text, 600), .step = 5000};
  for (size_t at = 4000; at <= c.pickle.size; at += (size_t)test_repetitions(17, 1700)) {
    c.failing_byte = 1 + at;
    (void)expect_same_case(&c, "lists", "unreadable from byte", at);
  }
  vs_text_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dicts_are_read_at_once),
      cmocka_unit_test(every_byte_may_be_another),
      cmocka_unit_test(every_byte_may_be_the_last),
      cmocka_unit_test(every_byte_may_be_missing_or_twice),
      cmocka_unit_test(every_call_may_fail),
      cmocka_unit_test(every_read_may_fail),
      cmocka_unit_test(the_number_of_pairs_is_bounded),
      cmocka_unit_test(a_number_is_that_of_its_own_dict),
      cmocka_unit_test(looking_ahead_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
