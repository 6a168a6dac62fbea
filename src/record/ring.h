/* A ring of slots from one recording thread, which fills it at the head, to the writer thread, which empties it at
 * the tail.
 *
 * A message is one slot with a header and six words, followed by as many slots as its bytes need. Its slots are
 * contiguous modulo the capacity.
 *
 * Invariant: tail <= head <= tail + capacity; slots [tail, head) modulo capacity are whole messages and belong to the
 * reader, the others to the filler. Private to record. */
#ifndef VS_RECORD_RING_H
#define VS_RECORD_RING_H

#include "base/check.h"
#include "os/thread.h"
#include <stdatomic.h>

enum { VS_SLOT_SIZE = 64, VS_SLOT_WORDS = 6 };

typedef struct vs_slot {
  uint64_t sequence; /* place of the message among those of all rings */
  uint8_t type;      /* vs_message_type */
  uint8_t kind;      /* vs_event_kind of events */
  uint16_t slots;    /* of the message, this one included */
  int16_t device;
  uint16_t metadata; /* of events: the text, if its number fits; else it is in the second slot */
  uint64_t words[VS_SLOT_WORDS];
} vs_slot;
_Static_assert(sizeof(vs_slot) == VS_SLOT_SIZE, "a slot is a cache line");

/* A thread that starts takes a ring that is free or left. A left one may still contain messages of the threads before: each
 * owner begins with a message that says which thread it is, so a reader that takes the messages in order knows whose they
 * are. So threads that start and end faster than the reader works share a ring. */
typedef enum vs_ring_state {
  VS_RING_FREE,    /* empty, without an owner */
  VS_RING_OWNED,   /* a thread fills it */
  VS_RING_LEFT,    /* its thread ended; messages may be left to read */
  VS_RING_CHECKED, /* without an owner; the reader is about to make it free or left */
} vs_ring_state;

typedef struct vs_ring {
  /* the filler's */
  _Alignas(64) _Atomic uint64_t head;
  uint64_t tail_seen;    /* an earlier value of tail */
  volatile bool is_busy; /* a message is being filled: a signal handler of the thread may not record */
  _Atomic uint64_t lost; /* events lost because the ring was full */
  /* the reader's */
  _Alignas(64) _Atomic uint64_t tail;
  uint64_t head_seen; /* an earlier value of head */
  uint64_t thread;    /* the number in the file of the thread whose messages come next */
  /* both */
  _Alignas(64) _Atomic uint32_t state; /* changes by compare and exchange */
  uint32_t capacity;                   /* a power of two */
  _Atomic bool is_resident;            /* its slots take memory; changes only while OWNED or CHECKED */
  uint64_t owner;                      /* the kernel's number of its thread; guarded by the recorder's lock */
  _Alignas(64) vs_slot slots[];
} vs_ring;

/* Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_ring_create(uint32_t capacity, vs_ring **out);
void vs_ring_destroy(vs_ring *ring);

/* Moves a ring from one state to another. False: it is not in that state. */
static inline bool vs_ring_change(vs_ring *ring, vs_ring_state from, vs_ring_state to) {
  uint32_t expected = (uint32_t)from;
  return atomic_compare_exchange_strong(&ring->state, &expected, (uint32_t)to);
}

/* Returns the memory of the slots to the system; they take memory again when they are used. Only of a ring that is CHECKED and
 * empty. */
void vs_ring_release(vs_ring *ring);

/* ---- filling */

/* A lower bound of the free slots. Reads the other side's tail only if the known one leaves fewer than `wanted`. */
static inline uint64_t vs_ring_room(vs_ring *ring, uint64_t wanted) {
  const uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
  if (ring->capacity - (head - ring->tail_seen) < wanted)
    ring->tail_seen = atomic_load_explicit(&ring->tail, memory_order_acquire);
  VS_ASSERT(head - ring->tail_seen <= ring->capacity);
  return ring->capacity - (head - ring->tail_seen);
}

/* The slot `ahead` slots after the head. */
static inline vs_slot *vs_ring_slot(vs_ring *ring, uint64_t ahead) {
  const uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
  return &ring->slots[(head + ahead) & (ring->capacity - 1)];
}

/* Publishes a message. The next slots are in the reader's cache, so they are prefetched while the program goes on. */
static inline void vs_ring_push(vs_ring *ring, uint32_t slots) {
  const uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed) + slots;
  VS_ASSERT(slots != 0 && head - ring->tail_seen <= ring->capacity);
  atomic_store_explicit(&ring->head, head, memory_order_release);
  __builtin_prefetch(&ring->slots[(head + 1) & (ring->capacity - 1)], 1);
  __builtin_prefetch(&ring->slots[(head + 2) & (ring->capacity - 1)], 1);
}

/* Copies `size` bytes into the slots from `ahead` on. */
void vs_ring_put(vs_ring *ring, uint64_t ahead, const void *data, size_t size);

/* ---- reading */

/* The first message, NULL if there is none. */
static inline const vs_slot *vs_ring_peek(vs_ring *ring) {
  const uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
  if (ring->head_seen == tail) ring->head_seen = atomic_load_explicit(&ring->head, memory_order_acquire);
  return ring->head_seen == tail ? NULL : &ring->slots[tail & (ring->capacity - 1)];
}

static inline void vs_ring_pop(vs_ring *ring, uint32_t slots) {
  const uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
  VS_ASSERT(slots != 0 && tail + slots <= ring->head_seen);
  atomic_store_explicit(&ring->tail, tail + slots, memory_order_release);
}

/* Copies `size` bytes out of the slots of the first message after its first slot. */
void vs_ring_get(const vs_ring *ring, void *data, size_t size);

/* NULL if the invariant holds and the ring contains whole messages, else what does not hold, in words. Only while no
 * thread fills or reads it. */
const char *vs_ring_check(const vs_ring *ring);

#endif
