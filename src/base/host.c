#include "base/host.h"

#if !VS_FREESTANDING
#include <stdlib.h>

static void *libc_resize(void *ctx, void *old, size_t old_size, size_t new_size) {
  (void)ctx;
  (void)old_size;
  if (new_size == 0) {
    free(old);
    return NULL;
  }
  return realloc(old, new_size);
}

const vs_host *vs_host_default(void) {
  static const vs_host host = {.ctx = NULL, .resize = libc_resize};
  return &host;
}
#endif

static void *budget_resize(void *ctx, void *old, size_t old_size, size_t new_size) {
  vs_budget *budget = ctx;
  VS_ASSERT(old_size <= budget->used && (old == NULL) == (old_size == 0));
  const uint64_t others = budget->used - old_size;
  if (new_size > old_size && (new_size > budget->limit || others > budget->limit - new_size)) {
    budget->refused = true;
    return NULL;
  }
  void *memory = budget->parent->resize(budget->parent->ctx, old, old_size, new_size);
  if (memory != NULL || new_size == 0) budget->used = others + new_size;
  return memory;
}

void vs_budget_init(vs_budget *budget, const vs_host *parent, uint64_t limit) {
  *budget = (vs_budget){.parent = parent, .limit = limit};
  budget->host = (vs_host){.ctx = budget, .resize = budget_resize};
}
