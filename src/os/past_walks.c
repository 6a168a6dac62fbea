#include "os/past_walks.h"
#include "base/check.h"
#include "base/hash.h"
#include "os/pages.h"

enum {
  SET_BITS = 7,
  WAYS = 4, /* walks with the same beginning, or the same set */
  MOST_WORDS = 88,
};

/* Invariant: note is 0, and nothing else has a meaning, or
 *            address, sp and fp are the registers at the beginning; fp has a meaning if needs_fp
 *            the walk read values[i] at `high` - 8 x places[i] for i < count, innermost first */
typedef struct past_walk {
  uint64_t address, sp, fp, note;
  uint32_t version;
  uint8_t count;
  bool needs_fp;
  uint32_t places[MOST_WORDS];
  uint64_t values[MOST_WORDS];
} past_walk;
_Static_assert(MOST_WORDS <= UINT8_MAX, "count has a byte");

struct vs_past_walks {
  past_walk sets[1 << SET_BITS][WAYS];
  uint8_t oldest[1 << SET_BITS];
};
_Static_assert(sizeof(vs_past_walks) <= 576 * 1024, "as the header says");

vs_past_walks *vs_past_walks_create(void) {
  void *pages = NULL;
  return vs_pages_map(sizeof(vs_past_walks), VS_PAGES_LAZY, &pages) == VS_OK ? pages : NULL;
}

void vs_past_walks_destroy(vs_past_walks *walks) { vs_pages_unmap(walks, sizeof(vs_past_walks)); }

static inline uint32_t set_of(uint64_t address, uint64_t sp) {
  return (uint32_t)(vs_hash_u64(address ^ sp << 20) >> (64 - SET_BITS));
}

/* To a sanitizer stack slots are variables of other functions, so it may not check these reads. */
__attribute__((no_sanitize("address", "undefined", "thread"))) static inline uint64_t load(uint64_t address) {
  typedef const uint64_t __attribute__((may_alias)) word;
  return *(const volatile word *)(uintptr_t)address;
}

static inline bool is_same(const past_walk *walk, uint64_t high) {
  for (uint32_t i = 0; i < walk->count; i++)
    if (load(high - (uint64_t)walk->places[i] * 8) != walk->values[i]) return false;
  return true;
}

/* Where the walk is kept, WAYS if it is not. */
static inline uint32_t way_of(const past_walk set[WAYS], const vs_stackwalk_frame *first, uint64_t high,
                              uint32_t version) {
  uint32_t way = 0;
  for (; way < WAYS; way++) {
    const past_walk *walk = &set[way];
    if (walk->sp == first->sp && walk->address == first->address && walk->note != 0 &&
        walk->version == version && (!walk->needs_fp || walk->fp == first->fp) && is_same(walk, high))
      break;
  }
  return way;
}

uint64_t vs_past_walks_find(const vs_past_walks *walks, const vs_stackwalk_frame *first, uint64_t high,
                            uint32_t version) {
  const past_walk *set = walks->sets[set_of(first->address, first->sp)];
  const uint32_t way = way_of(set, first, high, version);
  return way == WAYS ? 0 : set[way].note;
}

static inline bool is_on_stack(const past_walk *walk, uint64_t high, const uint64_t *place) {
  const uint64_t address = (uint64_t)(uintptr_t)place;
  return address >= walk->sp && address < high;
}

/* False: the word is not on the stack, or there is no room. */
static bool add_word(past_walk *walk, uint64_t high, const uint64_t *place) {
  const uint64_t address = (uint64_t)(uintptr_t)place, words = (high - address) / 8;
  if (walk->count == MOST_WORDS || !is_on_stack(walk, high, place) || words > UINT32_MAX) return false;
  walk->places[walk->count] = (uint32_t)words;
  walk->values[walk->count++] = load(address);
  return true;
}

/* The words that frame `f` was read from, as far as the way out depends on them. A frame pointer that is not on the stack is a constant. */
static bool add_frame(past_walk *walk, uint64_t high, const vs_stackwalk_frame *f) {
  const bool has_fp = f->needs_fp && f->fp_slot != NULL && is_on_stack(walk, high, f->fp_slot);
  return add_word(walk, high, f->return_slot) && (!has_fp || add_word(walk, high, f->fp_slot));
}

void vs_past_walks_keep(vs_past_walks *walks, const vs_stackwalk_frame *frames, uint32_t count, uint64_t high,
                        uint32_t version, uint64_t note) {
  VS_ASSERT(count != 0 && note != 0);
  const vs_stackwalk_frame *first = &frames[count - 1];
  const uint32_t number = set_of(first->address, first->sp);
  past_walk *set = walks->sets[number];
  uint32_t way = way_of(set, first, high, version);
  if (way == WAYS) way = walks->oldest[number]++ % WAYS;
  past_walk *walk = &set[way];
  walk->address = first->address;
  walk->sp = first->sp;
  walk->fp = first->fp;
  walk->needs_fp = first->needs_fp;
  walk->version = version;
  walk->count = 0;
  bool is_kept = true;
  for (uint32_t i = count - 1; i != 0 && is_kept; i--) is_kept = add_frame(walk, high, &frames[i - 1]);
  walk->note = is_kept ? note : 0;
}
