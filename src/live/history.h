/* The last events of one card, in memory: 40 bytes each.
 *
 * Entries are appended until there are `capacity` of them; from then on the newest takes the place of the oldest, and
 * `overwritten` counts. Oldest first they are entries[(first + i) % count], i = 0 .. count - 1.
 *
 *   count <= capacity;  first < max(count, 1);  first != 0 only when count = capacity
 *   appended since the beginning = count + overwritten        (lost and skipped events were never appended)
 *
 * Values that repeat are numbers: stacks and metadata are those of record/stacks.h; stream and pool together are a row of
 * `places`. Guarded by the card's lock. */
#ifndef VS_LIVE_HISTORY_H
#define VS_LIVE_HISTORY_H

#include "base/map.h"
#include "base/vec.h"
#include "event/event.h"

typedef struct vs_history_place {
  uint64_t stream;
  vs_pool_id pool;
} vs_history_place;

typedef struct vs_history_entry {
  uint64_t address, size; /* as in vs_event */
  uint64_t time_ns;       /* of the object's clock */
  vs_context context;
  uint32_t metadata; /* text: 0 none, 1 the empty one */
  uint32_t place;
  uint32_t kind; /* vs_event_kind */
} vs_history_entry;

typedef struct vs_history {
  VS_VEC(vs_history_entry) entries;
  VS_VEC(vs_history_place) places;
  vs_map place_by_hash;
  uint32_t last_place; /* of the last entry: most entries have the same place as the one before */
  uint64_t capacity;
  uint64_t first;
  uint64_t overwritten, lost;
  uint32_t skipped; /* a bit for each kind that is not kept */
} vs_history;

void vs_history_deinit(vs_history *history, const vs_host *host);

/* Forgets all entries and counts. */
void vs_history_clear(vs_history *history, const vs_host *host);

/* The most entries from now on, at least 1; of the present entries the newest stay.
 * Fails: VS_NO_MEMORY (nothing has changed) */
VS_MUST_CHECK vs_status vs_history_resize(vs_history *history, const vs_host *host, uint64_t capacity);

/* Adds an entry. If there is no memory for it, it is counted in `lost`. */
void vs_history_add(vs_history *history, const vs_host *host, const vs_event *event, vs_context context,
                    uint32_t metadata, uint64_t time_ns);

static inline const vs_history_entry *vs_history_at(const vs_history *history, uint64_t i) {
  const uint64_t at = history->first + i, count = history->entries.count;
  VS_ASSERT(i < count && history->first < count);
  return &history->entries.data[at < count ? at : at - count];
}

/* Copies of all entries, oldest first, and of the places. */
typedef struct vs_history_copy {
  VS_VEC(vs_history_entry) entries;
  VS_VEC(vs_history_place) places;
} vs_history_copy;
VS_MUST_CHECK vs_status vs_history_copy_init(vs_history_copy *copy, const vs_history *history,
                                             const vs_host *host);
void vs_history_copy_deinit(vs_history_copy *copy, const vs_host *host);

/* Executes the invariant; NULL if it holds, else what does not, in words. */
const char *vs_history_check(const vs_history *history);

#endif
