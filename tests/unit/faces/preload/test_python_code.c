/* CPython's objects in memory: tables of lines and texts that are made here, for the layout of each version. What CPython itself makes is
 * in tests/sim/test_recorder.py. */
#include "faces/preload/python_code.h"
#include "support/random.h"
#include "support/test.h"

static const vs_python_layout layouts[] = {
#define VS_PYTHON_LAYOUT(...) {__VA_ARGS__},
#include "faces/preload/python_layouts.def"
#undef VS_PYTHON_LAYOUT
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts, ENTRIES = 60 };

typedef struct object {
  _Alignas(8) uint8_t bytes[2048];
} object;

static uint64_t address_of(const object *o) { return (uint64_t)(uintptr_t)o->bytes; }
static void put_word(object *o, int offset, uint64_t word) { memcpy(o->bytes + offset, &word, sizeof word); }
static void put_int(object *o, int offset, int32_t value) { memcpy(o->bytes + offset, &value, sizeof value); }

/* ---- tables of lines */

static void put_number(object *table, size_t *size, uint32_t value) {
  for (; value >= 64; value >>= 6) table->bytes[PYTHON_BYTES + (*size)++] = (uint8_t)(64 | (value & 63));
  table->bytes[PYTHON_BYTES + (*size)++] = (uint8_t)value;
}
static void put_signed(object *table, size_t *size, int value) {
  put_number(table, size, value < 0 ? (uint32_t)-value << 1 | 1 : (uint32_t)value << 1);
}

/* Appends an entry of a random form; returns the line of its instructions. */
static int put_entry(object *table, size_t *size, test_random *random, int *line, unsigned instructions) {
  const unsigned form = (unsigned)random_below(random, 16);
  const int step = (int)random_below(random, 400) - 200;
  table->bytes[PYTHON_BYTES + (*size)++] = (uint8_t)(0x80 | form << 3 | (instructions - 1));
  if (form < 10) {
    table->bytes[PYTHON_BYTES + (*size)++] = 0x35;
  } else if (form < 13) {
    *line += (int)form - 10;
    for (int i = 0; i < 2; i++) table->bytes[PYTHON_BYTES + (*size)++] = 0x7f;
  } else if (form < 15) {
    *line += step;
    put_signed(table, size, step);
    for (uint32_t i = 0; i < 3 && form == 14; i++) put_number(table, size, 70 * i);
  }
  return form == 15 ? -1 : *line;
}

static void check_lines(const vs_python_layout *layout, uint64_t seed) {
  static object code, table;
  test_random random = {.state = seed};
  int lines[ENTRIES * 8], line = 1000;
  size_t size = 0, instructions = 0;
  put_int(&code, layout->code_first_line, line);
  put_word(&code, layout->code_lines, address_of(&table));
  for (int i = 0; i < ENTRIES; i++) {
    const unsigned covered = 1 + (unsigned)random_below(&random, 8);
    const int there = put_entry(&table, &size, &random, &line, covered);
    for (unsigned k = 0; k < covered; k++) lines[instructions++] = there;
  }
  put_word(&table, PYTHON_LENGTH, size);
  for (size_t i = 0; i < instructions; i++)
    assert_int_equal(vs_python_line(layout, address_of(&code), i * PYTHON_INSTRUCTION), lines[i]);
  assert_int_equal(vs_python_line(layout, address_of(&code), instructions * PYTHON_INSTRUCTION), -1);
  for (size_t cut = 0; cut < size; cut++) { /* a table that ends within an entry ends there */
    put_word(&table, PYTHON_LENGTH, cut);
    (void)vs_python_line(layout, address_of(&code), instructions * PYTHON_INSTRUCTION);
  }
}

static void test_lines(void **state) {
  (void)state;
  for (size_t i = 0; i < LAYOUTS; i++)
    for (uint64_t seed = 1; seed <= 40; seed++) check_lines(&layouts[i], seed);
}

/* ---- text */

static void make_text(const vs_python_layout *layout, object *text, const uint32_t *characters, size_t count,
                      uint32_t kind, bool is_ascii) {
  const int header = is_ascii ? layout->ascii_size : layout->text_size;
  put_word(text, PYTHON_LENGTH, count);
  put_int(text, PYTHON_TEXT_STATE,
          (int32_t)(kind << PYTHON_KIND_SHIFT | PYTHON_COMPACT | (is_ascii ? PYTHON_ASCII : 0)));
  for (size_t i = 0; i < count; i++) memcpy(text->bytes + header + i * kind, &characters[i], kind);
}

static void expect_utf8(const vs_python_layout *layout, const object *text, const char *expected) {
  char utf8[64];
  assert_true(vs_python_is_text(address_of(text)));
  const size_t size = vs_python_text(layout, address_of(text), utf8, sizeof utf8);
  assert_int_equal(size, strlen(expected));
  assert_memory_equal(utf8, expected, size);
  assert_int_equal(vs_python_text(layout, address_of(text), utf8, size - 1) < size,
                   true); /* whole characters */
}

static void test_text(void **state) {
  (void)state;
  static const uint32_t ascii[] = {'a', 'b', 'c'}, latin[] = {'g', 0xf6, 0xdf},
                        wide[] = {0x5927, 'x', 0x5c0f}, widest[] = {0x1f40d, 'y'};
  for (size_t i = 0; i < LAYOUTS; i++) {
    static object text;
    make_text(&layouts[i], &text, ascii, 3, 1, true);
    expect_utf8(&layouts[i], &text, "abc");
    const uint64_t hash = vs_python_text_hash(&layouts[i], address_of(&text));
    make_text(&layouts[i], &text, ascii + 1, 2, 1, true);
    assert_int_not_equal(vs_python_text_hash(&layouts[i], address_of(&text)), hash);
    make_text(&layouts[i], &text, latin, 3, 1, false);
    expect_utf8(&layouts[i], &text, "g\xc3\xb6\xc3\x9f");
    make_text(&layouts[i], &text, wide, 3, 2, false);
    expect_utf8(&layouts[i], &text, "\xe5\xa4\xa7x\xe5\xb0\x8f");
    make_text(&layouts[i], &text, widest, 2, 4, false);
    expect_utf8(&layouts[i], &text, "\xf0\x9f\x90\x8dy");
    put_int(&text, PYTHON_TEXT_STATE, 3 << PYTHON_KIND_SHIFT | PYTHON_COMPACT);
    assert_false(vs_python_is_text(address_of(&text)));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines), cmocka_unit_test(test_text)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
