/* An event of GPU memory, and the observer of an allocator's events.
 *
 * An allocator calls its observer while it works, with the same events in the same order as in PyTorch's history
 * (kinds.def says what address and size mean for each kind). */
#ifndef VS_EVENT_EVENT_H
#define VS_EVENT_EVENT_H

#include "event/kinds.h"

/* Names a pool of memory. (0, 0) is the default pool; (n, 0) was made by a graph capture, (0, n) by the user. */
typedef struct vs_pool_id {
  uint64_t a, b;
} vs_pool_id;

static inline bool vs_pool_id_equal(vs_pool_id left, vs_pool_id right) {
  return left.a == right.a && left.b == right.b;
}
static inline bool vs_pool_id_is_default(vs_pool_id id) { return id.a == 0 && id.b == 0; }

/* The cause of an event: a number of the caller, such as a stack id, which the allocator only passes on. */
typedef uint32_t vs_context;
#define VS_CONTEXT_NONE UINT32_MAX

typedef struct vs_event {
  uint64_t address; /* OOM: free bytes that the driver reported */
  uint64_t size;    /* bytes, see kinds.def */
  uint64_t rounded; /* ALLOC, FREE_...: bytes of the block that serves the request; else 0 */
  uint64_t stream;  /* handle; 0 is the default stream */
  vs_pool_id pool;
  vs_context context;
  vs_event_kind kind;
} vs_event;

/* `event` is called in the middle of an allocator's work, and may not call that allocator; NULL: no observer. The
 * event is borrowed for the call. */
typedef struct vs_observer {
  void *ctx;
  void (*event)(void *ctx, const vs_event *event);
} vs_observer;

#endif
