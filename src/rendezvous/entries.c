#include "rendezvous/entries.h"

/* ---- bytes */

vs_status vs_bytes_append(const vs_host *host, vs_bytes *bytes, const void *data, size_t size) {
  VS_TRY(vs_vec_reserve(host, bytes, size));
  if (size != 0) memcpy(bytes->data + bytes->count, data, size);
  bytes->count += size;
  return VS_OK;
}

vs_status vs_bytes_assign(const vs_host *host, vs_bytes *bytes, vs_str text) {
  VS_TRY(vs_vec_reserve(host, bytes, text.size > bytes->count ? text.size - bytes->count : 0));
  bytes->count = 0;
  return vs_bytes_append(host, bytes, text.data, text.size);
}

/* ---- entries */

static uint64_t hash_of(vs_str key) { return vs_hash_bytes(key.data, key.size); }

/* A hash that is equal for keys that differ only in their digits: every run of digits counts as one '#'. */
static uint64_t likeness_of(vs_str key) {
  uint64_t hash = 1;
  bool in_digits = false;
  for (size_t i = 0; i < key.size; i++) {
    const uint8_t byte = (uint8_t)key.data[i];
    const bool is_digit = byte >= '0' && byte <= '9';
    if (!is_digit || !in_digits)
      hash = vs_hash_mix(hash ^ (is_digit ? '#' : byte), UINT64_C(0x8bb84b93962eacc9));
    in_digits = is_digit;
  }
  return hash;
}

static bool alike(vs_str a, vs_str b) {
  size_t i = 0, k = 0;
  while (i < a.size && k < b.size) {
    const bool digit = a.data[i] >= '0' && a.data[i] <= '9';
    if (digit != (b.data[k] >= '0' && b.data[k] <= '9')) return false;
    if (!digit && a.data[i] != b.data[k]) return false;
    if (!digit) {
      i++, k++;
      continue;
    }
    while (i < a.size && a.data[i] >= '0' && a.data[i] <= '9') i++;
    while (k < b.size && b.data[k] >= '0' && b.data[k] <= '9') k++;
  }
  return i == a.size && k == b.size;
}

static size_t slot_of(const vs_entries *entries, vs_str key) {
  size_t slot = vs_map_find(&entries->by_key, hash_of(key));
  while (slot != VS_MAP_NONE) {
    const vs_entry *entry = &entries->all.data[entries->by_key.slots[slot].value];
    if (vs_str_equal(vs_bytes_view(&entry->key), key)) return slot;
    slot = vs_map_find_next(&entries->by_key, slot);
  }
  return VS_MAP_NONE;
}

vs_entry *vs_entries_find(const vs_entries *entries, vs_str key) {
  const size_t slot = slot_of(entries, key);
  return slot == VS_MAP_NONE ? NULL : &entries->all.data[entries->by_key.slots[slot].value];
}

static vs_status new_place(vs_entries *entries, uint32_t *place) {
  if (entries->unused.count != 0) {
    *place = entries->unused.data[--entries->unused.count];
    return VS_OK;
  }
  if (entries->all.count == UINT32_MAX) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(entries->host, &entries->all, 1));
  /* Space for every place in `unused`, so that releasing one cannot fail. */
  VS_TRY(vs_vec_reserve(entries->host, &entries->unused, entries->all.count + 1 - entries->unused.count));
  *place = (uint32_t)entries->all.count++;
  entries->all.data[*place] = (vs_entry){.is_used = false};
  VS_ASSERT(entries->unused.capacity >= entries->all.count);
  return VS_OK;
}

vs_status vs_entries_obtain(vs_entries *entries, vs_str key, vs_entry **out) {
  *out = vs_entries_find(entries, key);
  if (*out != NULL) return VS_OK;
  VS_TRY(vs_map_reserve(entries->host, &entries->by_key));
  uint32_t place;
  VS_TRY(new_place(entries, &place));
  vs_entry *entry = &entries->all.data[place];
  const vs_status status = vs_bytes_append(entries->host, &entry->key, key.data, key.size);
  if (status != VS_OK) {
    entries->unused.data[entries->unused.count++] = place;
    return status;
  }
  entry->is_used = true;
  entry->likeness = likeness_of(key);
  vs_map_add(&entries->by_key, hash_of(key), place);
  *out = entry;
  return VS_OK;
}

static void forget_likeness(vs_entries *entries, const vs_entry *entry) {
  VS_ASSERT(entry->is_used && entry->has_value);
  const size_t slot = vs_map_find(&entries->by_likeness, entry->likeness);
  if (slot != VS_MAP_NONE && &entries->all.data[entries->by_likeness.slots[slot].value] == entry)
    vs_map_remove(&entries->by_likeness, slot);
}

static vs_status note_likeness(vs_entries *entries, const vs_entry *entry) {
  const uint32_t place = (uint32_t)(entry - entries->all.data);
  const size_t slot = vs_map_find(&entries->by_likeness, entry->likeness);
  if (slot != VS_MAP_NONE) {
    entries->by_likeness.slots[slot].value = place;
    return VS_OK;
  }
  VS_TRY(vs_map_reserve(entries->host, &entries->by_likeness));
  vs_map_add(&entries->by_likeness, entry->likeness, place);
  return VS_OK;
}

static void release(vs_entries *entries, vs_entry *entry) {
  const vs_host *host = entries->host;
  vs_vec_free(host, &entry->key);
  vs_vec_free(host, &entry->value);
  for (size_t i = entry->queue_head; i < entry->queue.count; i++) vs_vec_free(host, &entry->queue.data[i]);
  vs_vec_free(host, &entry->queue);
  *entry = (vs_entry){.is_used = false};
}

void vs_entries_tidy(vs_entries *entries, vs_entry *entry) {
  VS_ASSERT(entry->is_used && entry >= entries->all.data && entry < entries->all.data + entries->all.count);
  if (entry->has_value || vs_entry_queued(entry) != 0) return;
  VS_ASSERT(entries->unused.count < entries->unused.capacity);
  vs_map_remove(&entries->by_key, slot_of(entries, vs_bytes_view(&entry->key)));
  entries->unused.data[entries->unused.count++] = (uint32_t)(entry - entries->all.data);
  release(entries, entry);
}

vs_status vs_entries_put(vs_entries *entries, vs_str key, vs_str value, bool is_count) {
  vs_entry *entry;
  VS_TRY(vs_entries_obtain(entries, key, &entry));
  vs_status status = vs_bytes_assign(entries->host, &entry->value, value);
  if (status == VS_OK) status = note_likeness(entries, entry);
  if (status == VS_OK) {
    entries->key_count += !entry->has_value;
    entry->has_value = true;
    entry->is_count = is_count;
  }
  vs_entries_tidy(entries, entry);
  return status;
}

void vs_entries_delete_value(vs_entries *entries, vs_entry *entry) {
  if (!entry->has_value) return;
  VS_ASSERT(entries->key_count > 0);
  forget_likeness(entries, entry);
  entry->has_value = false;
  entry->value.count = 0;
  entries->key_count--;
  vs_entries_tidy(entries, entry);
}

const vs_entry *vs_entries_find_like(const vs_entries *entries, vs_str key) {
  const size_t slot = vs_map_find(&entries->by_likeness, likeness_of(key));
  if (slot == VS_MAP_NONE) return NULL;
  const vs_entry *entry = &entries->all.data[entries->by_likeness.slots[slot].value];
  return alike(vs_bytes_view(&entry->key), key) ? entry : NULL;
}

/* ---- end, and check */

void vs_entries_deinit(vs_entries *entries) {
  for (size_t i = 0; i < entries->all.count; i++) release(entries, &entries->all.data[i]);
  vs_vec_free(entries->host, &entries->all);
  vs_vec_free(entries->host, &entries->unused);
  vs_map_deinit(entries->host, &entries->by_key);
  vs_map_deinit(entries->host, &entries->by_likeness);
}

bool vs_entries_check(const vs_entries *entries) {
  uint64_t used = 0, with_value = 0;
  for (size_t i = 0; i < entries->all.count; i++) {
    const vs_entry *entry = &entries->all.data[i];
    if (!entry->is_used) continue;
    used++;
    with_value += entry->has_value;
    if (vs_entries_find(entries, vs_bytes_view(&entry->key)) != entry) return false;
    if (!entry->has_value && vs_entry_queued(entry) == 0) return false;
    if (entry->likeness != likeness_of(vs_bytes_view(&entry->key))) return false;
  }
  for (size_t i = 0; i < entries->by_likeness.capacity; i++) {
    const vs_map_slot *slot = &entries->by_likeness.slots[i];
    if (!slot->used) continue;
    const vs_entry *entry = &entries->all.data[slot->value];
    if (!entry->is_used || !entry->has_value || entry->likeness != slot->key) return false;
  }
  return used == entries->by_key.count && used + entries->unused.count == entries->all.count &&
         with_value == entries->key_count && entries->by_likeness.count <= used;
}
