/* Finding the statistics of PyTorch's allocator, and reading them. */
#include "faces/python/torch_layout.h"
#include "base/check.h"

#if defined(__linux__)
#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>
#endif

enum {
  POOL_WORDS = VS_TORCH_METRICS,
  GROUP_WORDS = VS_TORCH_POOLS * VS_TORCH_METRICS,
  GROUPS = VS_TORCH_oversize_allocations / VS_TORCH_POOLS,
  SINGLES = VS_TORCH_STATS - VS_TORCH_oversize_allocations,
  COUNT_WORDS = 2,
  LOCK_WORDS = 5, /* pthread_mutex_t of glibc, 64 bits: lock and count, owner and users, kind, spins, list */
  GAP_WORDS = 24, /* what a version may have put between two groups: at most */
  ALLOCATOR_WORDS = 8192, /* of the allocator, in which the list of cards is looked for */
  CARD_WORDS = 1024,      /* of a card's own object, in which the statistics are looked for */
  MOST_CARDS = 256,
  PAGE_BYTES = 4096,
  MOST_TRIES = 16, /* of a reading that other threads disturb */
};

/* ---- memory that may not be mapped */

#if defined(__linux__)

/* Returns how many of `words` could be read. Reads page by page, because a call reads all of a piece or nothing. */
static size_t read_words(uint64_t address, uint64_t *into, size_t words) {
  size_t done = 0;
  while (done < words) {
    const uint64_t from = address + done * 8;
    const size_t to_page_end = (size_t)(PAGE_BYTES - from % PAGE_BYTES) / 8;
    const size_t piece = words - done < to_page_end || to_page_end == 0 ? words - done : to_page_end;
    VS_ASSERT(piece != 0 && piece <= words - done);
    const struct iovec local = {.iov_base = into + done, .iov_len = piece * 8};
    const struct iovec remote = {.iov_base = (void *)(uintptr_t)from,
                                 .iov_len = piece * 8}; // NOLINT: the kernel reads it
    if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != (ssize_t)(piece * 8)) break;
    done += piece;
  }
  return done;
}

/* The same words twice, one reading after the other. */
static bool read_twice(uint64_t address, uint64_t *first, uint64_t *second, size_t words) {
  const size_t bytes = words * 8;
  const struct iovec local[2] = {{.iov_base = first, .iov_len = bytes},
                                 {.iov_base = second, .iov_len = bytes}};
  const struct iovec there = {.iov_base = (void *)(uintptr_t)address,
                              .iov_len = bytes}; // NOLINT: the kernel reads it
  const struct iovec remote[2] = {there, there};
  return process_vm_readv(getpid(), local, 2, remote, 2, 0) == (ssize_t)(2 * bytes);
}

uint64_t vs_torch_allocator(void) {
  void *library = dlopen("libc10_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == NULL) return 0;
  /* std::atomic<CUDAAllocator *> c10::cuda::CUDACachingAllocator::allocator */
  const void *symbol = dlsym(library, "_ZN3c104cuda20CUDACachingAllocator9allocatorE");
  uint64_t allocator = 0;
  if (symbol == NULL || read_words((uint64_t)(uintptr_t)symbol, &allocator, 1) != 1) allocator = 0;
  dlclose(library); /* PyTorch holds it */
  return allocator;
}

#else

static size_t read_words(uint64_t address, uint64_t *into, size_t words) {
  (void)address, (void)into, (void)words;
  return 0;
}

static bool read_twice(uint64_t address, uint64_t *first, uint64_t *second, size_t words) {
  (void)address, (void)first, (void)second, (void)words;
  return false;
}

uint64_t vs_torch_allocator(void) { return 0; }

#endif

/* ---- finding */

static bool all_zero(const void *data, size_t words) {
  const uint64_t *each = data;
  for (size_t i = 0; i < words; i++)
    if (each[i] != 0) return false;
  return true;
}

/* The words that are searched, and the position of the search. */
typedef struct search {
  const uint64_t *words;
  size_t count;
  size_t next; /* the end of what was found so far */
} search;

/* Finds `want` behind the last match. Words that are all zero match anywhere, so they have to follow at once; the groups
 * before and after them confirm the place. */
static bool find_next(search *in, const void *want, size_t words) {
  VS_ASSERT(in->next <= in->count);
  const size_t most = all_zero(want, words) ? 0 : GAP_WORDS;
  for (size_t at = in->next; at <= in->next + most && at + words <= in->count; at++)
    if (memcmp(in->words + at, want, words * 8) == 0) return in->next = at + words, true;
  return false;
}

static void put(vs_torch_place *place, size_t first_stat, size_t stats, size_t word) {
  VS_ASSERT(first_stat + stats <= VS_TORCH_STATS && word + stats * POOL_WORDS <= CARD_WORDS);
  for (size_t i = 0; i < stats; i++) place->at[first_stat + i] = (uint16_t)(word + i * POOL_WORDS);
}

/* The two scalars follow the groups in known versions. They are nearly always 0, which is little to know them by, so a
 * comparison with the dict (torch_statistics.c) has to agree in them, too. */
static bool match_counts(search *in, const vs_torch_stats *now, vs_torch_place *place) {
  const int64_t counts[COUNT_WORDS] = {now->retries, now->ooms};
  VS_ASSERT(in->next <= UINT16_MAX);
  place->counts_at = (uint16_t)in->next;
  if (in->next + COUNT_WORDS > in->count || memcmp(in->words + in->next, counts, sizeof counts) != 0)
    return false;
  in->next += COUNT_WORDS;
  return true;
}

/* The two oversize statistics come last; if all are zero, they are assumed to follow at once.
 * Without max_split_size they stay 0, so their place does not matter. */
static bool match_singles(search *in, const vs_torch_stats *now, vs_torch_place *place) {
  const size_t first = VS_TORCH_oversize_allocations, words = SINGLES * POOL_WORDS;
  if (!now->has_oversize) {
    for (size_t i = 0; i < SINGLES; i++) place->at[first + i] = VS_TORCH_NOWHERE;
    return true;
  }
  if (!find_next(in, now->of + first, words)) return false;
  put(place, first, SINGLES, in->next - words);
  return true;
}

static bool put_gap(vs_torch_place *place, const uint64_t *words, size_t from, size_t to) {
  VS_ASSERT(from <= to && to <= CARD_WORDS);
  for (size_t at = from; at < to; at++) {
    if (place->gaps == VS_TORCH_MOST_GAPS) return false;
    place->gap_at[place->gaps] = (uint16_t)at;
    place->gap[place->gaps++] = words[at];
  }
  return true;
}

/* Whether these words are a recursive mutex that no thread has. */
static bool is_free_lock(const uint64_t *words) {
  static const uint64_t FREE[LOCK_WORDS] = {0, 0, 1, 0, 0};
  return memcmp(words, FREE, sizeof FREE) == 0;
}

/* Is here the lock, and behind it the statistics? Fills `at`, counted from here. */
static bool match(const uint64_t *words, size_t count, const vs_torch_stats *now, vs_torch_place *place) {
  if (count < LOCK_WORDS || !is_free_lock(words)) return false;
  search in = {.words = words, .count = count, .next = LOCK_WORDS};
  place->gaps = 0;
  for (size_t group = 0; group < GROUPS; group++) {
    const size_t stat = group * VS_TORCH_POOLS, end = in.next;
    if (!find_next(&in, now->of + stat, GROUP_WORDS)) return false;
    put(place, stat, VS_TORCH_POOLS, in.next - GROUP_WORDS);
    if (!put_gap(place, in.words, end, in.next - GROUP_WORDS)) return false;
  }
  if (place->at[0] != LOCK_WORDS || !match_counts(&in, now, place) || !match_singles(&in, now, place))
    return false;
  VS_ASSERT(in.next <= count);
  place->words = (uint32_t)in.next;
  place->has_oversize = now->has_oversize;
  return in.next <= VS_TORCH_MOST_WORDS;
}

static bool find_in_card(uint64_t card, const vs_torch_stats *now, vs_torch_place *place) {
  uint64_t words[CARD_WORDS];
  const size_t count = read_words(card, words, CARD_WORDS);
  for (size_t first = 0; first < count; first++)
    if (match(words + first, count - first, now, place)) return place->base = card + first * 8, true;
  return false;
}

/* A std::vector of pointers with room for `card`: where it begins, where it ends, and where its memory ends.
 * */
static bool is_vector(const uint64_t *words, uint32_t card) {
  const uint64_t begin = words[0], end = words[1], limit = words[2];
  return begin > 4096 && begin % 8 == 0 && end % 8 == 0 && limit % 8 == 0 && end > begin && limit >= end &&
         (end - begin) / 8 > card && (limit - begin) / 8 <= MOST_CARDS;
}

bool vs_torch_place_find(uint64_t allocator, uint32_t card, const vs_torch_stats *now,
                         vs_torch_place *place) {
  if (allocator == 0 || card >= MOST_CARDS || now->has_pools) return false;
  if (all_zero(&now->of[VS_TORCH_allocation], POOL_WORDS)) return false; /* nothing to know it by */
  uint64_t words[64 + 2];
  for (size_t from = 0; from < ALLOCATOR_WORDS; from += 64) {
    const size_t count = read_words(allocator + from * 8, words, 64 + 2);
    for (size_t i = 0; i + 2 < count && i < 64; i++) {
      uint64_t object;
      if (!is_vector(words + i, card) || read_words(words[i] + (uint64_t)card * 8, &object, 1) != 1) continue;
      if (find_in_card(object, now, place)) return true;
    }
    if (count < 64) return false;
  }
  return false;
}

/* ---- reading */

static bool has_same_gaps(const vs_torch_place *place, const uint64_t *words) {
  for (size_t i = 0; i < place->gaps; i++) {
    VS_ASSERT(place->gap_at[i] < place->words);
    if (words[place->gap_at[i]] != place->gap[i]) return false;
  }
  return true;
}

bool vs_torch_place_read(const vs_torch_place *place, vs_torch_stats *stats) {
  uint64_t words[2][VS_TORCH_MOST_WORDS];
  VS_ASSERT(place->words >= LOCK_WORDS && place->words <= VS_TORCH_MOST_WORDS);
  for (int tries = 0; tries < MOST_TRIES; tries++) {
    if (!read_twice(place->base, words[0], words[1], place->words)) return false;
    if (!is_free_lock(words[0]) || memcmp(words[0], words[1], place->words * 8) != 0) continue;
    if (!has_same_gaps(place, words[0])) return false;
    for (size_t i = 0; i < VS_TORCH_STATS; i++)
      if (place->at[i] == VS_TORCH_NOWHERE) stats->of[i] = (vs_torch_stat){0};
      else memcpy(&stats->of[i], words[0] + place->at[i], sizeof(vs_torch_stat));
    memcpy(&stats->retries, words[0] + place->counts_at, sizeof stats->retries);
    memcpy(&stats->ooms, words[0] + place->counts_at + 1, sizeof stats->ooms);
    stats->has_oversize = place->has_oversize;
    stats->has_pools = false;
    return true;
  }
  return false;
}
