/* Text without a C library: comparing, and building it in a buffer whose failures are checked once, at the end.
 *
 * A vs_text collects bytes. The first failure is kept in `status` and later calls do nothing, so a sequence of puts
 * is checked once. With a writer it passes the bytes on in parts of about 64 KiB, without one it keeps them all. */
#ifndef VS_BASE_TEXT_H
#define VS_BASE_TEXT_H

#include "base/vec.h"
#include <stdarg.h>

#define VS_STR(literal) ((vs_str){(literal), sizeof(literal) - 1})

static inline vs_str vs_str_from(const char *text) { return (vs_str){text, strlen(text)}; }

static inline bool vs_str_equal(vs_str a, vs_str b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool vs_str_starts(vs_str text, vs_str with) {
  return text.size >= with.size && (with.size == 0 || memcmp(text.data, with.data, with.size) == 0);
}
static inline bool vs_str_ends(vs_str text, vs_str with) {
  return text.size >= with.size && memcmp(text.data + text.size - with.size, with.data, with.size) == 0;
}
bool vs_str_contains(vs_str text, vs_str part);
/* Whether it contains one of several parts, none of which is empty. One pass over the text. */
bool vs_str_contains_any(vs_str text, const char *const *parts, size_t count);
/* Less than, equal to or greater than 0, by bytes. */
int vs_str_compare(vs_str a, vs_str b);

typedef struct vs_text {
  const vs_host *host;
  const vs_writer *writer; /* NULL: everything stays in `bytes` */
  vs_status status;
  VS_VEC(char) bytes;
} vs_text;

void vs_text_init(vs_text *text, const vs_host *host, const vs_writer *writer);
void vs_text_deinit(vs_text *text);

/* Passes the remaining bytes to the writer, and returns the status. */
VS_MUST_CHECK vs_status vs_text_finish(vs_text *text);

/* A writer that appends to the text. */
vs_writer vs_text_writer(vs_text *text);

/* The bytes that were not passed to the writer; borrowed until the next put. */
static inline vs_str vs_text_view(const vs_text *text) {
  return (vs_str){text->bytes.data, text->bytes.count};
}

void vs_text_put(vs_text *text, const void *data, size_t size);
void vs_text_byte(vs_text *text, uint8_t byte);
static inline void vs_text_str(vs_text *text, vs_str s) { vs_text_put(text, s.data, s.size); }
static inline void vs_text_cstr(vs_text *text, const char *s) { vs_text_put(text, s, strlen(s)); }
void vs_text_code_point(vs_text *text, uint32_t point); /* as UTF-8; U+FFFD for an invalid one */
void vs_text_clean(vs_text *text, vs_str s);            /* as UTF-8; U+FFFD for each invalid byte */
void vs_text_u64(vs_text *text, uint64_t value);
void vs_text_i64(vs_text *text, int64_t value);
void vs_text_hex(vs_text *text, uint64_t value); /* 7f00a0, no prefix */

/* The few conversions of printf that the library needs:
 *   %s  const char *      %S  vs_str (control bytes escaped as \xNN)
 *   %d  int   %u  unsigned   %D  int64_t   %U  uint64_t   %x  uint64_t in hexadecimal   %c  int   %%
 * Any other conversion is a bug and traps. */
void vs_text_format(vs_text *text, const char *format, ...);

/* Formats into a fixed array; truncated at its end, always NUL terminated. */
void vs_format(char *to, size_t capacity, const char *format, ...);
void vs_format_list(char *to, size_t capacity, const char *format, va_list arguments);

/* Decimal text to number; false if `s` is not wholly one or does not fit. */
bool vs_parse_u64(vs_str s, uint64_t *value);
bool vs_parse_i64(vs_str s, int64_t *value);

/* A range of numbers that count from 1: "4", "1-2", "3-" or "-2". An end that is open is 0 or UINT64_MAX; *first <= *last. False if `s` is not
 * wholly one. */
bool vs_parse_range(vs_str s, uint64_t *first, uint64_t *last);

/* Fills `error` unless it is NULL, and returns `status`, so that failing is one statement. */
vs_status vs_fail(vs_error *error, vs_status status, uint64_t offset, const char *format, ...);

#endif
