/* Where runs of bytes end in a JSON text, eight bytes at a time. Private to the JSON reader and writer.
 *
 * Eight bytes are one word. A mark is the highest bit of each byte that is looked for. The subtraction that finds them borrows from the byte
 * above one that it has found, so a mark above the lowest one can be wrong, and only the lowest one is used. */
#ifndef VS_CODEC_JSON_TEXT_H
#define VS_CODEC_JSON_TEXT_H

#include "base/check.h"
#include "base/mem.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the lowest byte of a word is the first one in memory");

#define VS_JSON_EACH_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

static inline uint64_t vs_json_word(const void *text) {
  uint64_t word;
  memcpy(&word, text, sizeof word);
  return word;
}

/* The place in memory of the first byte that is not 0. */
static inline size_t vs_json_first(uint64_t word) {
  VS_ASSERT(word != 0);
  return (size_t)__builtin_ctzll(word) / 8;
}

/* Marks of the bytes that are less than `limit`, which is at most 0x80. */
static inline uint64_t vs_json_below(uint64_t word, uint8_t limit) {
  return (word - VS_JSON_EACH_BYTE(limit)) & ~word & VS_JSON_EACH_BYTE(0x80);
}

/* Marks of the bytes that a string has only as an escape or at its end: quotes, backslashes and control bytes. */
static inline uint64_t vs_json_special(uint64_t word) {
  return vs_json_below(word ^ VS_JSON_EACH_BYTE('"'), 1) | vs_json_below(word ^ VS_JSON_EACH_BYTE('\\'), 1) |
         vs_json_below(word, 0x20);
}

static inline bool vs_json_is_special(uint8_t byte) { return byte < 0x20 || byte == '"' || byte == '\\'; }

/* The number of bytes up to the first one that is special, or that is not ASCII if `only_ascii`. */
static inline size_t vs_json_plain_run(const void *text, size_t size, bool only_ascii) {
  const uint8_t *bytes = text;
  const uint64_t high = only_ascii ? VS_JSON_EACH_BYTE(0x80) : 0;
  size_t n = 0;
  for (; n + sizeof(uint64_t) <= size; n += sizeof(uint64_t)) {
    const uint64_t word = vs_json_word(bytes + n), marks = vs_json_special(word) | (word & high);
    if (marks != 0) return n + vs_json_first(marks);
  }
  while (n < size && !vs_json_is_special(bytes[n]) && (!only_ascii || bytes[n] < 0x80)) n++;
  return n;
}

/* The number of bytes of white space at the beginning. Most of it is a line feed and the spaces that indent the next line. */
static inline size_t vs_json_blank_run(const uint8_t *text, size_t size) {
  size_t n = 0;
  while (n < size && (text[n] == ' ' || text[n] == '\n' || text[n] == '\r' || text[n] == '\t')) {
    n++;
    for (; n + sizeof(uint64_t) <= size; n += sizeof(uint64_t)) {
      const uint64_t others = vs_json_word(text + n) ^ VS_JSON_EACH_BYTE(' ');
      if (others == 0) continue;
      n += vs_json_first(others);
      break;
    }
  }
  return n;
}

#endif
