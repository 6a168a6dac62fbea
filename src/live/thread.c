#include "live/thread.h"
#include <stdatomic.h>

/* The only variables of the whole process in this library: which slots are taken, and the last numbers given. */
static _Atomic uint32_t slots;
static _Atomic uint64_t last_serial, last_thread;

static _Thread_local struct {
  vs_live_thread records[VS_LIVE_MAX_OPEN];
  uint64_t number;
  const void *observer;
  uint64_t failed_serial;
  uint32_t failed_device;
  vs_alloc_oom failure;
  uint64_t sentence_serial;
  char sentence[VS_LIVE_SENTENCE_SIZE];
} own;

vs_status vs_live_identity_take(vs_live_identity *identity) {
  uint32_t taken = atomic_load(&slots);
  for (;;) {
    uint32_t slot = 0;
    while (slot < VS_LIVE_MAX_OPEN && (taken >> slot & 1) != 0) slot++;
    if (slot == VS_LIVE_MAX_OPEN) return VS_LIMIT;
    if (!atomic_compare_exchange_weak(&slots, &taken, taken | UINT32_C(1) << slot)) continue;
    *identity = (vs_live_identity){.serial = atomic_fetch_add(&last_serial, 1) + 1, .slot = slot};
    return VS_OK;
  }
}

void vs_live_identity_give(const vs_live_identity *identity) {
  VS_ASSERT((atomic_load(&slots) >> identity->slot & 1) != 0);
  atomic_fetch_and(&slots, ~(UINT32_C(1) << identity->slot));
}

vs_live_thread *vs_live_thread_of(const vs_live_identity *identity) {
  VS_ASSERT(identity->slot < VS_LIVE_MAX_OPEN && identity->serial != 0);
  vs_live_thread *thread = &own.records[identity->slot];
  return thread->serial == identity->serial ? thread : NULL;
}

vs_live_thread *vs_live_thread_make(const vs_live_identity *identity) {
  VS_ASSERT(identity->slot < VS_LIVE_MAX_OPEN && identity->serial != 0);
  vs_live_thread *thread = &own.records[identity->slot];
  if (thread->serial != identity->serial)
    *thread = (vs_live_thread){.serial = identity->serial, .stack = VS_CONTEXT_NONE};
  return thread;
}

uint64_t vs_live_thread_number(void) {
  if (own.number == 0) own.number = atomic_fetch_add(&last_thread, 1) + 1;
  return own.number;
}

void vs_live_thread_failed(const vs_live_identity *identity, uint32_t device, const vs_alloc_oom *oom) {
  own.failed_serial = identity->serial;
  own.failed_device = device;
  own.failure = *oom;
}

const vs_alloc_oom *vs_live_thread_failure(const vs_live_identity *identity, uint32_t *device) {
  if (own.failed_serial != identity->serial) return NULL;
  *device = own.failed_device;
  return &own.failure;
}

const char *vs_live_thread_sentence(const vs_live_identity *identity) {
  return own.sentence_serial == identity->serial ? own.sentence : "";
}

char *vs_live_thread_sentence_new(const vs_live_identity *identity) {
  own.sentence_serial = identity->serial;
  own.sentence[0] = 0;
  return own.sentence;
}

const void *vs_live_thread_observer(void) { return own.observer; }
void vs_live_thread_observer_set(const void *observer) {
  VS_ASSERT((own.observer == NULL) != (observer == NULL)); /* calls of observers do not nest */
  own.observer = observer;
}
