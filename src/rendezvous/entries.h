/* The keys of a store. Each has a value, a queue, or both, and is found by the key or by its likeness (a hash of the key in
 * which all runs of digits are equal).
 *
 * Invariant (vs_entries_check): an entry is in `by_key` exactly while it is used; a used entry has a value or a queue that is
 * not empty; `by_likeness` holds, for each likeness that was ever set and not deleted since, the latest used entry that has it;
 * key_count is how many entries have a value. */
#ifndef VS_RENDEZVOUS_ENTRIES_H
#define VS_RENDEZVOUS_ENTRIES_H

#include "base/map.h"
#include "base/text.h"

/* ---- bytes that grow */

typedef VS_VEC(uint8_t) vs_bytes;

static inline vs_str vs_bytes_view(const vs_bytes *bytes) {
  return (vs_str){(const char *)bytes->data, bytes->count};
}
VS_MUST_CHECK vs_status vs_bytes_append(const vs_host *host, vs_bytes *bytes, const void *data, size_t size);
VS_MUST_CHECK vs_status vs_bytes_assign(const vs_host *host, vs_bytes *bytes, vs_str text);

/* ---- entries */

/* A key with a value, a queue, or both under one name, as in PyTorch's store. */
typedef struct vs_entry {
  vs_bytes key, value;
  VS_VEC(vs_bytes) queue;
  size_t queue_head; /* index of the first value; those before it were popped */
  uint64_t likeness; /* hash of the key with all runs of digits equal */
  bool is_used, has_value;
  bool is_count; /* the value was made by ADD or BARRIER */
} vs_entry;

typedef struct vs_entries {
  const vs_host *host;
  VS_VEC(vs_entry) all;
  VS_VEC(uint32_t) unused; /* places in all */
  vs_map by_key;           /* hash of the key -> place */
  vs_map by_likeness;      /* likeness -> place of the latest */
  uint64_t key_count;      /* entries with a value */
} vs_entries;

void vs_entries_deinit(vs_entries *entries);
/* Executes the invariant. */
bool vs_entries_check(const vs_entries *entries);

/* The entry of a key, or NULL. It does not move until another entry is obtained. */
vs_entry *vs_entries_find(const vs_entries *entries, vs_str key);
/* The latest entry with a value whose key differs from `key` only in its digits; NULL if there is none. */
const vs_entry *vs_entries_find_like(const vs_entries *entries, vs_str key);
/* The entry of a key, added if there is none. The caller gives an entry that stays empty to vs_entries_tidy. */
VS_MUST_CHECK vs_status vs_entries_obtain(vs_entries *entries, vs_str key, vs_entry **entry);

VS_MUST_CHECK vs_status vs_entries_put(vs_entries *entries, vs_str key, vs_str value, bool is_count);
void vs_entries_delete_value(vs_entries *entries, vs_entry *entry);
/* Removes the entry if it has neither a value nor a queue. */
void vs_entries_tidy(vs_entries *entries, vs_entry *entry);

static inline size_t vs_entry_queued(const vs_entry *entry) {
  VS_ASSERT(entry == NULL || entry->queue_head <= entry->queue.count);
  return entry == NULL ? 0 : entry->queue.count - entry->queue_head;
}

#endif
