#include "live/history.h"

_Static_assert(sizeof(vs_history_entry) == 40, "the size that the header promises");

void vs_history_deinit(vs_history *history, const vs_host *host) {
  vs_vec_free(host, &history->entries);
  vs_vec_free(host, &history->places);
  vs_map_deinit(host, &history->place_by_hash);
}

void vs_history_clear(vs_history *history, const vs_host *host) {
  const vs_history kept = {.capacity = history->capacity, .skipped = history->skipped};
  vs_history_deinit(history, host);
  *history = kept;
}

/* Copies the entries from number `skip` on to `to`, oldest first. */
static void unroll(const vs_history *history, uint64_t skip, vs_history_entry *to) {
  const uint64_t count = history->entries.count;
  for (uint64_t i = skip; i < count; i++) *to++ = *vs_history_at(history, i);
}

vs_status vs_history_resize(vs_history *history, const vs_host *host, uint64_t capacity) {
  const uint64_t wanted = capacity == 0 ? 1 : capacity, count = history->entries.count;
  const uint64_t dropped = count > wanted ? count - wanted : 0;
  if (history->first == 0 && dropped == 0) { /* in order already: entries can be appended */
    history->capacity = wanted;
    return VS_OK;
  }
  vs_history_entry *straight = vs_host_alloc(host, (size_t)(count - dropped) * sizeof *straight);
  if (straight == NULL) return VS_NO_MEMORY;
  unroll(history, dropped, straight);
  vs_vec_free(host, &history->entries);
  history->entries.data = straight;
  history->entries.count = history->entries.capacity = (size_t)(count - dropped);
  history->first = 0;
  history->overwritten += dropped;
  history->capacity = wanted;
  VS_ASSERT(history->entries.count <= wanted && history->entries.count > 0);
  return VS_OK;
}

/* ---- adding */

static bool is_place(const vs_history_place *place, const vs_event *event) {
  return place->stream == event->stream && vs_pool_id_equal(place->pool, event->pool);
}

static vs_status find_place(vs_history *history, const vs_host *host, const vs_event *event, uint32_t *row) {
  *row = history->last_place;
  if (*row < history->places.count && is_place(&history->places.data[*row], event)) return VS_OK;
  const uint64_t hash = vs_hash_mix(event->stream ^ vs_hash_u64(event->pool.a), vs_hash_u64(event->pool.b));
  for (size_t slot = vs_map_find(&history->place_by_hash, hash); slot != VS_MAP_NONE;
       slot = vs_map_find_next(&history->place_by_hash, slot)) {
    *row = history->place_by_hash.slots[slot].value;
    if (is_place(&history->places.data[*row], event)) return VS_OK;
  }
  VS_TRY(vs_map_reserve(host, &history->place_by_hash));
  VS_TRY(vs_vec_reserve(host, &history->places, 1));
  *row = (uint32_t)history->places.count;
  history->places.data[history->places.count++] = (vs_history_place){event->stream, event->pool};
  vs_map_add(&history->place_by_hash, hash, *row);
  return VS_OK;
}

void vs_history_add(vs_history *history, const vs_host *host, const vs_event *event, vs_context context,
                    uint32_t metadata, uint64_t time_ns) {
  vs_history_entry entry = {.address = event->address,
                            .size = event->size,
                            .time_ns = time_ns,
                            .context = context,
                            .metadata = metadata,
                            .kind = (uint32_t)event->kind};
  VS_ASSERT(history->capacity >= 1 && (uint32_t)event->kind < VS_EVENT_KIND_COUNT);
  if ((history->skipped >> event->kind & 1) != 0) return;
  const bool is_full = history->entries.count >= history->capacity;
  if (find_place(history, host, event, &entry.place) != VS_OK ||
      (!is_full && vs_vec_reserve(host, &history->entries, 1) != VS_OK)) {
    history->lost++;
    return;
  }
  VS_ASSERT(entry.place < history->places.count);
  history->last_place = entry.place;
  if (!is_full) {
    history->entries.data[history->entries.count++] = entry;
    return;
  }
  VS_ASSERT(history->entries.count == history->capacity && history->first < history->capacity);
  history->entries.data[history->first] = entry;
  history->first = history->first + 1 == history->entries.count ? 0 : history->first + 1;
  history->overwritten++;
}

/* ---- copies and the check */

vs_status vs_history_copy_init(vs_history_copy *copy, const vs_history *history, const vs_host *host) {
  *copy = (vs_history_copy){0};
  vs_status status = vs_vec_reserve(host, &copy->entries, history->entries.count);
  if (status == VS_OK) status = vs_vec_reserve(host, &copy->places, history->places.count);
  if (status != VS_OK) {
    vs_history_copy_deinit(copy, host);
    return status;
  }
  unroll(history, 0, copy->entries.data);
  copy->entries.count = history->entries.count;
  if (history->places.count != 0)
    memcpy(copy->places.data, history->places.data, history->places.count * sizeof *copy->places.data);
  copy->places.count = history->places.count;
  return VS_OK;
}

void vs_history_copy_deinit(vs_history_copy *copy, const vs_host *host) {
  vs_vec_free(host, &copy->entries);
  vs_vec_free(host, &copy->places);
}

const char *vs_history_check(const vs_history *history) {
  const uint64_t count = history->entries.count;
  if (count > history->capacity) return "a history has more entries than its capacity";
  if (history->first != 0 && count != history->capacity)
    return "a history that is not full begins in the middle";
  if (history->first >= (count == 0 ? 1 : count)) return "a history begins behind its last entry";
  for (uint64_t i = 0; i < count; i++)
    if (history->entries.data[i].place >= history->places.count) return "an entry of a history has no place";
  return NULL;
}
