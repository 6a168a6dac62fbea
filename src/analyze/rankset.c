#include "analyze/rankset.h"

vs_status vs_rankset_init(const vs_host *host, uint32_t bound, vs_rankset *set) {
  *set = (vs_rankset){0};
  size_t bits = bound, bytes;
  do {
    const size_t words = bits / 64 + 1;
    VS_ASSERT(set->levels < VS_RANKSET_LEVELS);
    set->level_start[set->levels++] = set->word_count;
    set->word_count += words;
    bits = words;
  } while (bits > 1);
  if (!vs_mul_size(set->word_count, sizeof *set->words, &bytes)) return VS_NO_MEMORY;
  set->words = vs_host_alloc(host, bytes);
  if (set->words == NULL) return VS_NO_MEMORY;
  memset(set->words, 0, bytes);
  return VS_OK;
}

void vs_rankset_deinit(const vs_host *host, vs_rankset *set) {
  vs_host_free(host, set->words, set->word_count * sizeof *set->words);
  *set = (vs_rankset){0};
}

void vs_rankset_word_filled(vs_rankset *set, uint32_t number) {
  size_t at = number / 64;
  for (uint32_t level = 1; level < set->levels; level++, at /= 64) {
    uint64_t *word = &set->words[set->level_start[level] + at / 64];
    const bool was_empty = *word == 0;
    *word |= UINT64_C(1) << (at % 64);
    if (!was_empty) return;
  }
}

void vs_rankset_word_emptied(vs_rankset *set, uint32_t number) {
  size_t at = number / 64;
  for (uint32_t level = 1; level < set->levels; level++, at /= 64) {
    uint64_t *word = &set->words[set->level_start[level] + at / 64];
    *word &= ~(UINT64_C(1) << (at % 64));
    if (*word != 0) return;
  }
}

static uint32_t highest(uint64_t word) { return 63 - (uint32_t)__builtin_clzll(word); }
static uint32_t lowest(uint64_t word) { return (uint32_t)__builtin_ctzll(word); }

/* Both go up until a word has a bit on the wanted side, and then down along the nearest bits. */

bool vs_rankset_word_before(const vs_rankset *set, uint32_t number, uint32_t *member) {
  size_t at = number / 64;
  for (uint32_t level = 1; level < set->levels; level++, at /= 64) {
    const uint64_t below = set->words[set->level_start[level] + at / 64] & ((UINT64_C(1) << (at % 64)) - 1);
    if (below == 0) continue;
    at = at / 64 * 64 + highest(below);
    while (level-- > 0) at = at * 64 + highest(set->words[set->level_start[level] + at]);
    *member = (uint32_t)at;
    VS_ASSERT(at < number && vs_rankset_has(set, *member));
    return true;
  }
  return false;
}

bool vs_rankset_word_after(const vs_rankset *set, uint32_t number, uint32_t *member) {
  size_t at = number / 64;
  for (uint32_t level = 1; level < set->levels; level++, at /= 64) {
    const uint64_t above = set->words[set->level_start[level] + at / 64] & (~UINT64_C(1) << (at % 64));
    if (above == 0) continue;
    at = at / 64 * 64 + lowest(above);
    while (level-- > 0) at = at * 64 + lowest(set->words[set->level_start[level] + at]);
    *member = (uint32_t)at;
    VS_ASSERT(at > number && vs_rankset_has(set, *member));
    return true;
  }
  return false;
}
