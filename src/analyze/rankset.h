/* A set of numbers below a fixed bound that finds the nearest member below or above a number in a few steps. Used for
 * live blocks by the rank of their address.
 *
 * Level 0 has one bit for each number. A bit of level n + 1 says that a word of level n is not 0. */
#ifndef VS_ANALYZE_RANKSET_H
#define VS_ANALYZE_RANKSET_H

#include "base/host.h"

enum { VS_RANKSET_LEVELS = 6 }; /* 64^6 numbers */

typedef struct vs_rankset {
  uint64_t *words; /* of all levels, level 0 first */
  size_t word_count;
  size_t level_start[VS_RANKSET_LEVELS];
  uint32_t levels;
} vs_rankset;

/* Empty, for numbers below `bound`. */
VS_MUST_CHECK vs_status vs_rankset_init(const vs_host *host, uint32_t bound, vs_rankset *set);
void vs_rankset_deinit(const vs_host *host, vs_rankset *set);

void vs_rankset_put(vs_rankset *set, uint32_t number);
void vs_rankset_remove(vs_rankset *set, uint32_t number); /* `number` must be a member */

static inline bool vs_rankset_has(const vs_rankset *set, uint32_t number) {
  VS_ASSERT(number / 64 < set->word_count);
  return (set->words[number / 64] >> (number % 64) & 1) != 0;
}

/* The largest member below `number`, the smallest above it; false if there is none. */
bool vs_rankset_before(const vs_rankset *set, uint32_t number, uint32_t *member);
bool vs_rankset_after(const vs_rankset *set, uint32_t number, uint32_t *member);

#endif
