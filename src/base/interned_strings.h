/* Interned strings: equal bytes have equal ids.
 *
 * Id 0 means absent, id 1 is the empty string. Ids are dense and never change.
 * Invariant: ends is increasing, ends[0] = ends[1] = 0, string i = bytes[ends[i-1] .. ends[i]) for i >= 1. */
#ifndef VS_BASE_INTERNED_STRINGS_H
#define VS_BASE_INTERNED_STRINGS_H

#include "base/map.h"
#include "base/vec.h"

enum { VS_STRING_NONE = 0, VS_STRING_EMPTY = 1 };

typedef struct vs_strings {
  VS_VEC(char) bytes;
  VS_VEC(uint64_t) ends;
  vs_map by_hash;
} vs_strings;

VS_MUST_CHECK vs_status vs_strings_init(const vs_host *host, vs_strings *strings);
void vs_strings_deinit(const vs_host *host, vs_strings *strings);

VS_MUST_CHECK vs_status vs_strings_intern(const vs_host *host, vs_strings *strings, vs_str text,
                                          uint32_t *id);

/* The id of `text`, VS_STRING_NONE if it was never interned. */
uint32_t vs_strings_find(const vs_strings *strings, vs_str text);

/* Executes the invariant; NULL if it holds, else what does not, in words. */
const char *vs_strings_check(const vs_strings *strings);

static inline uint32_t vs_strings_count(const vs_strings *strings) { return (uint32_t)strings->ends.count; }

/* Borrowed until the next intern. */
static inline vs_str vs_strings_at(const vs_strings *strings, uint32_t id) {
  VS_ASSERT(id < strings->ends.count);
  if (id == VS_STRING_NONE) return (vs_str){"", 0};
  const uint64_t start = strings->ends.data[id - 1];
  return (vs_str){strings->bytes.data + start, (size_t)(strings->ends.data[id] - start)};
}

#endif
