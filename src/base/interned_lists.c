#include "base/interned_lists.h"

vs_status vs_lists_init(const vs_host *host, vs_lists *lists) {
  *lists = (vs_lists){0};
  vs_status status = vs_vec_reserve(host, &lists->ends, 64);
  if (status == VS_OK) status = vs_vec_reserve(host, &lists->items, 256);
  if (status == VS_OK) {
    lists->ends.data[lists->ends.count++] = 0; /* VS_LIST_NONE */
    uint32_t empty;
    status = vs_lists_intern(host, lists, NULL, 0, &empty);
    VS_ASSERT(status != VS_OK || empty == VS_LIST_EMPTY);
  }
  if (status != VS_OK) vs_lists_deinit(host, lists);
  return status;
}

void vs_lists_deinit(const vs_host *host, vs_lists *lists) {
  vs_vec_free(host, &lists->items);
  vs_vec_free(host, &lists->ends);
  vs_map_deinit(host, &lists->by_hash);
}

vs_status vs_lists_intern(const vs_host *host, vs_lists *lists, const uint32_t *items, size_t count,
                          uint32_t *id) {
  const size_t bytes = count * sizeof *items;
  const uint64_t hash = vs_hash_bytes(items, bytes);
  for (size_t slot = vs_map_find(&lists->by_hash, hash); slot != VS_MAP_NONE;
       slot = vs_map_find_next(&lists->by_hash, slot)) {
    *id = lists->by_hash.slots[slot].value;
    const vs_list known = vs_lists_at(lists, *id);
    if (known.count == count && (count == 0 || memcmp(known.items, items, bytes) == 0)) return VS_OK;
  }
  if (lists->ends.count >= UINT32_MAX || count > UINT32_MAX) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(host, &lists->items, count));
  VS_TRY(vs_vec_reserve(host, &lists->ends, 1));
  VS_TRY(vs_map_reserve(host, &lists->by_hash));
  *id = (uint32_t)lists->ends.count;
  if (count != 0) memcpy(lists->items.data + lists->items.count, items, bytes);
  lists->items.count += count;
  VS_ASSERT(lists->items.count <= lists->items.capacity && lists->ends.count < lists->ends.capacity);
  lists->ends.data[lists->ends.count++] = lists->items.count;
  vs_map_add(&lists->by_hash, hash, *id);
  return VS_OK;
}

const char *vs_lists_check(const vs_lists *lists) {
  const size_t count = lists->ends.count;
  if (count <= VS_LIST_EMPTY || lists->ends.data[VS_LIST_NONE] != 0 || lists->ends.data[VS_LIST_EMPTY] != 0)
    return "interned lists do not begin with none and the empty one";
  if (lists->ends.data[count - 1] != lists->items.count) return "the last interned list ends elsewhere";
  if (lists->by_hash.count != count - 1) return "an interned list is not in the table";
  for (uint32_t id = VS_LIST_EMPTY; id < count; id++) {
    if (lists->ends.data[id] < lists->ends.data[id - 1]) return "interned lists overlap";
    const vs_list list = vs_lists_at(lists, id);
    size_t slot = vs_map_find(&lists->by_hash, vs_hash_bytes(list.items, list.count * sizeof *list.items));
    while (slot != VS_MAP_NONE && lists->by_hash.slots[slot].value != id)
      slot = vs_map_find_next(&lists->by_hash, slot);
    if (slot == VS_MAP_NONE) return "an interned list is not found by its items";
  }
  return vs_map_check(&lists->by_hash);
}
