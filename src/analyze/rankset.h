/* A set of numbers below a bound that is known from the start: which one comes next before and behind a given one, in a
 * few steps however many there are. For live blocks by the rank of their address.
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
void vs_rankset_remove(vs_rankset *set, uint32_t number); /* one that is in it */

static inline bool vs_rankset_has(const vs_rankset *set, uint32_t number) {
  return (set->words[number / 64] >> (number % 64) & 1) != 0;
}

/* The largest member below `number`, the smallest above it; false if there is none. */
bool vs_rankset_before(const vs_rankset *set, uint32_t number, uint32_t *member);
bool vs_rankset_after(const vs_rankset *set, uint32_t number, uint32_t *member);

#endif
