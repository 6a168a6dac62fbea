#include "alloc/pytorch_hash_order.h"

static uint32_t log2_of(uint32_t buckets) { return 31 - (uint32_t)__builtin_clz(buckets); }

static int32_t farthest(uint32_t buckets) { return buckets <= 16 ? 4 : (int32_t)log2_of(buckets); }

static size_t slot_count(uint32_t buckets) {
  return buckets == 0 ? 0 : (size_t)buckets + (size_t)farthest(buckets);
}

static uint32_t home(const vs_alloc_hash_order *order, uint64_t key) {
  return (uint32_t)((key * UINT64_C(11400714819323198485)) >> (64 - log2_of(order->buckets)));
}

static uint32_t slot_of(const vs_alloc_hash_order *order, uint64_t key) {
  if (order->buckets == 0) return UINT32_MAX;
  uint32_t at = home(order, key);
  for (int32_t distance = 0; order->slots[at].distance >= distance; distance++, at++)
    if (order->slots[at].key == key) return at;
  return UINT32_MAX;
}

void *vs_alloc_hash_order_find(const vs_alloc_hash_order *order, uint64_t key) {
  const uint32_t at = slot_of(order, key);
  return at == UINT32_MAX ? NULL : order->slots[at].value;
}

static void swap(vs_alloc_hash_slot *a, vs_alloc_hash_slot *b) {
  const vs_alloc_hash_slot kept = *a;
  *a = *b;
  *b = kept;
}

/* False if there is no place and the table has to grow; `entry` is then the entry without a place, which can be
 * another than the one that was added. */
static bool place(vs_alloc_hash_order *order, vs_alloc_hash_slot *entry) {
  const int32_t most = farthest(order->buckets);
  uint32_t at = home(order, entry->key);
  entry->distance = 0;
  while (order->slots[at].distance >= entry->distance) {
    at++;
    entry->distance++;
  }
  if (entry->distance == most) return false;
  const uint32_t first = at;
  for (; order->slots[at].distance >= 0; at++) {
    if (order->slots[at].distance < entry->distance) swap(entry, &order->slots[at]);
    if (++entry->distance < most) continue;
    /* The entry displaced last has no place. It takes the place of the new entry, which is added again after growing. */
    const int32_t distance = order->slots[first].distance;
    swap(entry, &order->slots[first]);
    order->slots[first].distance = distance;
    return false;
  }
  order->slots[at] = *entry;
  order->count++;
  return true;
}

static vs_status grow(const vs_host *host, vs_alloc_hash_order *order);

/* Adds the entries of the old slots, in their order, as a rehash does. */
static vs_status refill(const vs_host *host, vs_alloc_hash_order *order, const vs_alloc_hash_order *old) {
  for (size_t i = 0; i < slot_count(old->buckets); i++) {
    vs_alloc_hash_slot entry = old->slots[i];
    if (entry.distance < 0) continue;
    while (!place(order, &entry)) VS_TRY(grow(host, order));
  }
  return VS_OK;
}

static vs_status grow(const vs_host *host, vs_alloc_hash_order *order) {
  const vs_alloc_hash_order old = *order;
  vs_alloc_hash_order wider = {.buckets = old.buckets == 0 ? 4 : 2 * old.buckets};
  const size_t count = slot_count(wider.buckets);
  wider.slots = vs_host_alloc(host, count * sizeof *wider.slots);
  if (wider.slots == NULL) return VS_NO_MEMORY;
  for (size_t i = 0; i < count; i++) wider.slots[i].distance = -1;
  const vs_status status = refill(host, &wider, &old);
  if (status != VS_OK) {
    vs_alloc_hash_order_deinit(host, &wider);
    return status;
  }
  VS_ASSERT(wider.count == old.count);
  *order = wider;
  vs_host_free(host, old.slots, slot_count(old.buckets) * sizeof *old.slots);
  return VS_OK;
}

/* Whether `key` has a place without growing. */
static bool fits(const vs_alloc_hash_order *order, uint64_t key) {
  const int32_t most = farthest(order->buckets);
  int32_t distance = 0;
  for (uint32_t at = home(order, key); order->slots[at].distance >= 0; at++) {
    if (order->slots[at].distance < distance) distance = order->slots[at].distance;
    if (++distance == most) return false;
  }
  return true;
}

/* Grows as an insertion without a place does in that map: it has moved entries before it failed, which affects the order.
 * The slots are copied first, so that a failure changes nothing. */
static vs_status make_room(const vs_host *host, vs_alloc_hash_order *order, vs_alloc_hash_slot *entry) {
  const size_t bytes = slot_count(order->buckets) * sizeof *order->slots;
  vs_alloc_hash_slot *kept = vs_host_alloc(host, bytes);
  if (kept == NULL) return VS_NO_MEMORY;
  memcpy(kept, order->slots, bytes);
  (void)place(order, entry);
  const vs_status status = grow(host, order);
  if (status != VS_OK) memcpy(order->slots, kept, bytes);
  vs_host_free(host, kept, bytes);
  return status;
}

vs_status vs_alloc_hash_order_add(const vs_host *host, vs_alloc_hash_order *order, uint64_t key,
                                  void *value) {
  vs_alloc_hash_slot entry = {key, value, 0};
  VS_ASSERT(vs_alloc_hash_order_find(order, key) == NULL);
  if (2 * (order->count + 1) > order->buckets) VS_TRY(grow(host, order));
  while (!fits(order, key)) VS_TRY(make_room(host, order, &entry));
  (void)place(order, &entry);
  return VS_OK;
}

void vs_alloc_hash_order_remove(vs_alloc_hash_order *order, uint64_t key) {
  uint32_t at = slot_of(order, key);
  VS_ASSERT(at != UINT32_MAX);
  const size_t count = slot_count(order->buckets);
  for (; at + 1 < count && order->slots[at + 1].distance > 0; at++) {
    order->slots[at] = order->slots[at + 1];
    order->slots[at].distance--;
  }
  order->slots[at].distance = -1;
  order->count--;
}

void vs_alloc_hash_order_deinit(const vs_host *host, vs_alloc_hash_order *order) {
  vs_host_free(host, order->slots, slot_count(order->buckets) * sizeof *order->slots);
  *order = (vs_alloc_hash_order){0};
}

uint32_t vs_alloc_hash_order_next(const vs_alloc_hash_order *order, uint32_t from) {
  const size_t count = slot_count(order->buckets);
  for (size_t at = from; at < count; at++)
    if (order->slots[at].distance >= 0) return (uint32_t)at;
  return UINT32_MAX;
}

const char *vs_alloc_hash_order_check(const vs_alloc_hash_order *order) {
  const size_t count = slot_count(order->buckets);
  uint32_t used = 0;
  if ((order->buckets & (order->buckets - 1)) != 0) return "a hash order has a power of two of buckets";
  for (size_t at = 0; at < count; at++) {
    const vs_alloc_hash_slot *slot = &order->slots[at];
    if (slot->distance < 0) continue;
    used++;
    if (home(order, slot->key) + (size_t)slot->distance != at)
      return "a slot's distance is that from its home";
    if (slot->distance > farthest(order->buckets)) return "no slot is too far from its home";
    if (slot->distance > 0 && order->slots[at - 1].distance < slot->distance - 1)
      return "no slot before an entry is nearer to its home than the entry would be there";
  }
  if (used != order->count) return "a hash order's count = its used slots";
  return 2 * used > order->buckets ? "a hash order is at most half full" : NULL;
}
