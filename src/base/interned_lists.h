/* Interned lists of uint32_t: equal lists have equal ids. Stacks are lists of frame ids, texts are lists of string ids.
 *
 * Id 0 means absent, id 1 is the empty list. Ids are dense and never change.
 * Invariant: ends is increasing, ends[0] = ends[1] = 0, list i = items[ends[i-1] .. ends[i]) for i >= 1. */
#ifndef VS_BASE_INTERNED_LISTS_H
#define VS_BASE_INTERNED_LISTS_H

#include "base/map.h"
#include "base/vec.h"

enum { VS_LIST_NONE = 0, VS_LIST_EMPTY = 1 };

typedef struct vs_lists {
  VS_VEC(uint32_t) items;
  VS_VEC(uint64_t) ends;
  vs_map by_hash;
} vs_lists;

typedef struct vs_list {
  const uint32_t *items;
  uint32_t count;
} vs_list;

VS_MUST_CHECK vs_status vs_lists_init(const vs_host *host, vs_lists *lists);
void vs_lists_deinit(const vs_host *host, vs_lists *lists);

VS_MUST_CHECK vs_status vs_lists_intern(const vs_host *host, vs_lists *lists, const uint32_t *items,
                                        size_t count, uint32_t *id);

/* Executes the invariant; NULL if it holds, else what does not, in words. */
const char *vs_lists_check(const vs_lists *lists);

static inline uint32_t vs_lists_count(const vs_lists *lists) { return (uint32_t)lists->ends.count; }

/* Borrowed until the next intern; VS_LIST_NONE reads as empty. */
static inline vs_list vs_lists_at(const vs_lists *lists, uint32_t id) {
  VS_ASSERT(id < lists->ends.count);
  if (id == VS_LIST_NONE) return (vs_list){NULL, 0};
  const uint64_t start = lists->ends.data[id - 1];
  return (vs_list){lists->items.data + start, (uint32_t)(lists->ends.data[id] - start)};
}

#endif
