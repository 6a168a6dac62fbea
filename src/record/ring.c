#include "record/ring.h"
#include "os/pages.h"

static size_t size_of(uint32_t capacity) { return sizeof(vs_ring) + (size_t)capacity * sizeof(vs_slot); }

vs_status vs_ring_create(uint32_t capacity, vs_ring **out) {
  void *pages = NULL;
  VS_ASSERT(capacity != 0 && (capacity & (capacity - 1)) == 0);
  *out = NULL;
  VS_TRY(vs_pages_map(size_of(capacity), VS_PAGES_READY, &pages));
  vs_ring *ring = pages;
  ring->capacity = capacity;
  ring->is_resident = true;
  *out = ring;
  return VS_OK;
}

void vs_ring_destroy(vs_ring *ring) {
  if (ring != NULL) vs_pages_unmap(ring, size_of(ring->capacity));
}

void vs_ring_release(vs_ring *ring) {
  VS_ASSERT(ring->state == VS_RING_CHECKED && ring->head == ring->tail);
  vs_pages_release(ring->slots, (size_t)ring->capacity * sizeof *ring->slots);
  ring->is_resident = false;
}

void vs_ring_put(vs_ring *ring, uint64_t ahead, const void *data, size_t size) {
  for (const uint8_t *at = data; size != 0; ahead++) {
    const size_t part = size < VS_SLOT_SIZE ? size : VS_SLOT_SIZE;
    memcpy(vs_ring_slot(ring, ahead), at, part);
    at += part;
    size -= part;
  }
}

void vs_ring_get(const vs_ring *ring, void *data, size_t size) {
  uint64_t from = atomic_load_explicit(&ring->tail, memory_order_relaxed) + 1;
  for (uint8_t *at = data; size != 0; from++) {
    const size_t part = size < VS_SLOT_SIZE ? size : VS_SLOT_SIZE;
    memcpy(at, &ring->slots[from & (ring->capacity - 1)], part);
    at += part;
    size -= part;
  }
}

const char *vs_ring_check(const vs_ring *ring) {
  const uint64_t head = ring->head, tail = ring->tail;
  if (ring->capacity == 0 || (ring->capacity & (ring->capacity - 1)) != 0)
    return "a ring's capacity is no power of two";
  if (tail > head || head - tail > ring->capacity) return "a ring contains more than its capacity";
  if (ring->tail_seen > tail || ring->head_seen > head) return "a side of a ring has seen more than there is";
  uint64_t at = tail, last = 0;
  while (at < head) {
    const vs_slot *slot = &ring->slots[at & (ring->capacity - 1)];
    if (slot->slots == 0) return "a message has no slots";
    if (at != tail && slot->sequence <= last) return "a ring's messages are out of order";
    last = slot->sequence;
    at += slot->slots;
  }
  return at == head ? NULL : "a ring ends within a message";
}
