#include "faces/preload/python_code.h"
#include "base/hash.h"

/* ---- the table of lines (CPython's Objects/locations.md)
 *
 * Each entry covers 1 to 8 instructions. Its first byte is 1, four bits of the form, three bits of the instructions - 1. Numbers have
 * six bits a byte, the lowest first; 64 says that more follow. */

enum { FORM_ONE_LINE = 10, FORM_ONE_LINE_LAST = 12, FORM_NO_COLUMNS = 13, FORM_LONG = 14, FORM_NONE = 15 };

typedef struct table {
  const uint8_t *at, *end;
} table;

static uint32_t take_number(table *t) {
  uint32_t value = 0;
  for (uint32_t shift = 0; t->at < t->end; shift += 6) {
    const uint8_t byte = *t->at++;
    if (shift < 30) value |= (uint32_t)(byte & 63) << shift;
    if ((byte & 64) == 0) break;
  }
  return value;
}

static int take_signed(table *t) {
  const uint32_t value = take_number(t);
  return (value & 1) != 0 ? -(int)(value >> 1) : (int)(value >> 1);
}

/* The entry after its first byte: by how much it moves the line. */
static int take_step(table *t, unsigned form) {
  if (form == FORM_NO_COLUMNS) return take_signed(t);
  if (form == FORM_LONG) {
    const int step = take_signed(t);
    for (int i = 0; i < 3; i++) (void)take_number(t);
    return step;
  }
  const bool is_one_line = form >= FORM_ONE_LINE && form <= FORM_ONE_LINE_LAST;
  const ptrdiff_t columns = form == FORM_NONE ? 0 : is_one_line ? 2 : 1;
  t->at = t->end - t->at < columns ? t->end : t->at + columns;
  return is_one_line ? (int)form - FORM_ONE_LINE : 0;
}

int vs_python_line(const vs_python_layout *layout, uint64_t code, uint64_t at) {
  const uint64_t lines = vs_python_word(code, layout->code_lines);
  const uint64_t size = vs_python_word(lines, PYTHON_LENGTH);
  table t = {.at = (const uint8_t *)(uintptr_t)(lines + PYTHON_BYTES)};
  int line = vs_python_int(code, layout->code_first_line);
  t.end = t.at + size;
  for (uint64_t covered = 0; t.at < t.end;) {
    const uint8_t first = *t.at++;
    const unsigned form = first >> 3 & 15;
    line += take_step(&t, form);
    covered += (uint64_t)((first & 7) + 1) * PYTHON_INSTRUCTION;
    if (covered > at) return form == FORM_NONE ? -1 : line;
  }
  return -1;
}

/* ---- text: ASCII, or 1, 2 or 4 bytes a character, behind its header */

enum { MOST_TEXT = 1 << 24 };

static uint32_t state_of(uint64_t text) { return (uint32_t)vs_python_int(text, PYTHON_TEXT_STATE); }
static uint32_t kind_of(uint64_t text) { return state_of(text) >> PYTHON_KIND_SHIFT & PYTHON_KIND; }

bool vs_python_is_text(uint64_t text) {
  const uint32_t kind = kind_of(text);
  return (state_of(text) & PYTHON_COMPACT) != 0 && (kind == 1 || kind == 2 || kind == 4) &&
         vs_python_word(text, PYTHON_LENGTH) < MOST_TEXT;
}

static const uint8_t *characters_of(const vs_python_layout *layout, uint64_t text) {
  const bool is_ascii = (state_of(text) & PYTHON_ASCII) != 0;
  return (const uint8_t *)(uintptr_t)(text + (uint64_t)(is_ascii ? layout->ascii_size : layout->text_size));
}

static uint32_t character_at(const uint8_t *characters, uint32_t kind, size_t i) {
  uint32_t wide = 0;
  memcpy(&wide, characters + i * kind, kind); /* little endian */
  return wide;
}

static size_t encode(uint32_t c, uint8_t to[4]) {
  if (c < 0x80) return to[0] = (uint8_t)c, 1;
  if (c < 0x800) return to[0] = (uint8_t)(0xc0 | c >> 6), to[1] = (uint8_t)(0x80 | (c & 63)), 2;
  if (c < 0x10000)
    return to[0] = (uint8_t)(0xe0 | c >> 12), to[1] = (uint8_t)(0x80 | (c >> 6 & 63)),
           to[2] = (uint8_t)(0x80 | (c & 63)), 3;
  return to[0] = (uint8_t)(0xf0 | (c >> 18 & 7)), to[1] = (uint8_t)(0x80 | (c >> 12 & 63)),
         to[2] = (uint8_t)(0x80 | (c >> 6 & 63)), to[3] = (uint8_t)(0x80 | (c & 63)), 4;
}

size_t vs_python_text(const vs_python_layout *layout, uint64_t text, char *to, size_t capacity) {
  const uint8_t *characters = characters_of(layout, text);
  const uint32_t kind = kind_of(text);
  const size_t length = (size_t)vs_python_word(text, PYTHON_LENGTH);
  size_t written = 0;
  for (size_t i = 0; i < length; i++) {
    uint8_t bytes[4];
    const size_t size = encode(character_at(characters, kind, i), bytes);
    if (size > capacity - written) break;
    memcpy(to + written, bytes, size);
    written += size;
  }
  return written;
}

uint64_t vs_python_text_hash(const vs_python_layout *layout, uint64_t text) {
  return vs_hash_bytes(characters_of(layout, text),
                       (size_t)vs_python_word(text, PYTHON_LENGTH) * kind_of(text));
}

uint64_t vs_python_bytes_hash(uint64_t bytes) {
  return vs_hash_bytes((const void *)(uintptr_t)(bytes + PYTHON_BYTES),
                       (size_t)vs_python_word(bytes, PYTHON_LENGTH));
}
