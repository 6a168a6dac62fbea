/* Memory through the host, and a bound on how much of it one piece of work may use. */
#ifndef VS_BASE_HOST_H
#define VS_BASE_HOST_H

#include "base/check.h"

static inline void *vs_host_alloc(const vs_host *host, size_t size) {
  return host->resize(host->ctx, NULL, 0, size);
}

static inline void vs_host_free(const vs_host *host, void *memory, size_t size) {
  if (memory != NULL) (void)host->resize(host->ctx, memory, size, 0);
}

/* A host that passes requests to `parent`, and refuses those that would bring the allocated bytes above `limit`.
 * Invariant: used = sum of the sizes that are allocated <= the largest limit so far. */
typedef struct vs_budget {
  const vs_host *parent;
  uint64_t used;
  uint64_t limit;
  bool refused; /* a request failed because of the limit, not of the parent */
  vs_host host; /* what callers use; its ctx is this struct, which must not move */
} vs_budget;

void vs_budget_init(vs_budget *budget, const vs_host *parent, uint64_t limit);

#endif
