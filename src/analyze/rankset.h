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

static inline bool vs_rankset_has(const vs_rankset *set, uint32_t number) {
  VS_ASSERT(number / 64 < set->word_count);
  return (set->words[number / 64] >> (number % 64) & 1) != 0;
}

/* What the functions below need where a word of level 0 does not tell it. */
void vs_rankset_word_filled(vs_rankset *set, uint32_t number);
void vs_rankset_word_emptied(vs_rankset *set, uint32_t number);
bool vs_rankset_word_before(const vs_rankset *set, uint32_t number, uint32_t *member);
bool vs_rankset_word_after(const vs_rankset *set, uint32_t number, uint32_t *member);

static inline void vs_rankset_put(vs_rankset *set, uint32_t number) {
  VS_ASSERT(number / 64 < (set->levels > 1 ? set->level_start[1] : set->word_count));
  uint64_t *word = &set->words[number / 64];
  const bool was_empty = *word == 0;
  *word |= UINT64_C(1) << (number % 64);
  if (was_empty) vs_rankset_word_filled(set, number);
}

/* `number` must be a member. */
static inline void vs_rankset_remove(vs_rankset *set, uint32_t number) {
  VS_ASSERT(vs_rankset_has(set, number));
  uint64_t *word = &set->words[number / 64];
  *word &= ~(UINT64_C(1) << (number % 64));
  if (*word == 0) vs_rankset_word_emptied(set, number);
}

/* The largest member below `number`, the smallest above it; false if there is none. */
static inline bool vs_rankset_before(const vs_rankset *set, uint32_t number, uint32_t *member) {
  const uint64_t below = set->words[number / 64] & ((UINT64_C(1) << (number % 64)) - 1);
  if (below == 0) return vs_rankset_word_before(set, number, member);
  *member = number / 64 * 64 + 63 - (uint32_t)__builtin_clzll(below);
  return true;
}

static inline bool vs_rankset_after(const vs_rankset *set, uint32_t number, uint32_t *member) {
  const uint64_t above = set->words[number / 64] & (~UINT64_C(1) << (number % 64));
  if (above == 0) return vs_rankset_word_after(set, number, member);
  *member = number / 64 * 64 + (uint32_t)__builtin_ctzll(above);
  return true;
}

#endif
