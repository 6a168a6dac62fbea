#include "faces/preload/python_paths.h"
#include "base/hash.h"
#include <stdatomic.h>

typedef struct entry {
  _Alignas(32) _Atomic uint32_t sequence;
  _Atomic uint32_t epoch, count;
  _Atomic vs_context stack;
  _Atomic uint64_t hash;
} entry;

enum { TABLE_BITS = 13 };
static entry table[1 << TABLE_BITS]; /* takes memory only where it is used */

#define LOAD(member)         atomic_load_explicit(&(member), memory_order_relaxed)
#define STORE(member, value) atomic_store_explicit(&(member), (value), memory_order_relaxed)

static entry *entry_of(vs_python_path path) { return &table[vs_hash_u64(path.hash) >> (64 - TABLE_BITS)]; }

bool vs_python_path_find(vs_python_path path, uint32_t epoch, vs_context *stack) {
  const entry *e = entry_of(path);
  const uint32_t before = atomic_load_explicit(&e->sequence, memory_order_acquire);
  *stack = LOAD(e->stack);
  const bool is_it = (before & 1) == 0 && before != 0 && LOAD(e->epoch) == epoch &&
                     LOAD(e->hash) == path.hash && LOAD(e->count) == path.count;
  atomic_thread_fence(memory_order_acquire);
  return is_it && LOAD(e->sequence) == before;
}

void vs_python_path_keep(vs_python_path path, uint32_t epoch, vs_context stack) {
  entry *e = entry_of(path);
  uint32_t before = LOAD(e->sequence);
  if ((before & 1) != 0 || !atomic_compare_exchange_strong(&e->sequence, &before, before + 1)) return;
  atomic_thread_fence(memory_order_release);
  STORE(e->epoch, epoch);
  STORE(e->count, path.count);
  STORE(e->stack, stack);
  STORE(e->hash, path.hash);
  atomic_store_explicit(&e->sequence, before + 2, memory_order_release);
}
