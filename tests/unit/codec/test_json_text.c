/* The runs of bytes of a JSON text, found eight bytes at a time, against their definitions byte by byte. */
#include "codec/json_text.h"
#include "support/test.h"
#include <stdlib.h>

enum { MOST = 20 };

static size_t plain(const uint8_t *text, size_t size, bool only_ascii) {
  size_t n = 0;
  while (n < size && text[n] != '"' && text[n] != '\\' && text[n] >= 0x20 && (!only_ascii || text[n] < 0x80))
    n++;
  return n;
}

static size_t blank(const uint8_t *text, size_t size) {
  size_t n = 0;
  while (n < size && strchr(" \n\r\t", text[n]) != NULL && text[n] != 0) n++;
  return n;
}

/* Each byte at each place of texts of each length that otherwise consist of `around`, and two of them beside each other: a mark in a byte can make
 * a wrong one above it. The texts end where their memory does. */
static void compare(uint8_t around) {
  for (size_t size = 0; size <= MOST; size++) {
    uint8_t *memory = malloc(MOST), *text = memory + (MOST - size);
    for (size_t at = 0; at < size; at++)
      for (unsigned byte = 0; byte < 256; byte++)
        for (int more = -1; more <= 1; more++) {
          memset(text, around, size);
          text[at] = (uint8_t)byte;
          if (at + 1 < size) text[at + 1] = (uint8_t)(byte + (unsigned)more);
          assert_int_equal(vs_json_plain_run(text, size, false), plain(text, size, false));
          assert_int_equal(vs_json_plain_run(text, size, true), plain(text, size, true));
          assert_int_equal(vs_json_blank_run(text, size), blank(text, size));
        }
    assert_int_equal(vs_json_plain_run(text, 0, false), 0);
    assert_int_equal(vs_json_blank_run(text, 0), 0);
    free(memory);
  }
}

static void runs_in_plain_text(void **state) {
  (void)state;
  compare('a');
  compare(0x7f);
  compare(0xff);
}

static void runs_in_white_space(void **state) {
  (void)state;
  compare(' ');
  compare('\n');
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(runs_in_plain_text),
                                     cmocka_unit_test(runs_in_white_space)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
