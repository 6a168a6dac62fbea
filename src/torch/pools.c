/* Private pools of captured graphs. A C++ function object of PyTorch's decides which streams a pool serves; it is called for
 * each request until PyTorch ends the pool. */
#include "base/host.h"
#include "base/mem.h"
#include "base/text.h"
#include "live/lock.h"
#include "torch/state.h"
#include "torch/throw.h"

/* ---- std::function<bool(cudaStream_t)> in libstdc++ since GCC 4.5
 *
 * It has two words of data, a function that copies and destroys them, and one that calls. The argument is a reference to a
 * temporary, so it is copied as C++ would do. */

typedef struct function {
  void *data[2];
  bool (*manage)(void **to, void *const *from, int operation);
  bool (*call)(void *const *data, void **stream);
} function;
enum { FUNCTION_CLONE = 2, FUNCTION_DESTROY = 3 };

static void function_copy(function *to, const function *from) {
  *to = (function){.call = from->call};
  if (from->manage == NULL) return; /* an empty function: every stream is accepted */
  (void)from->manage(to->data, from->data, FUNCTION_CLONE);
  to->manage = from->manage;
}

static void function_destroy(function *f) {
  if (f->manage != NULL) (void)f->manage(f->data, f->data, FUNCTION_DESTROY);
}

/* ---- pools that have begun and not ended */

typedef struct route {
  struct route *next;
  vs_torch_pool pool;
  int device;
  bool is_drivers; /* backend:cudaMallocAsync, whose pool in the driver handles captures itself */
  function filter;
} route;

static vs_live_lock lock;
static route *routes; /* under the lock */

static bool accept(void *ctx, uint64_t stream) {
  route *r = ctx;
  VS_ASSERT(r->filter.manage == NULL || r->filter.call != NULL);
  void *handle = vs_torch__pointer(stream);
  return r->filter.manage == NULL || r->filter.call(r->filter.data, &handle);
}

static void add(route *r) {
  VS_ASSERT(r->next == NULL);
  vs_live_lock_take(&lock);
  r->next = routes;
  routes = r;
  vs_live_lock_give(&lock);
}

static route *take(int device, vs_torch_pool pool) {
  vs_live_lock_take(&lock);
  route **link = &routes;
  while (*link != NULL &&
         ((*link)->device != device || (*link)->pool.a != pool.a || (*link)->pool.b != pool.b))
    link = &(*link)->next;
  route *found = *link;
  if (found != NULL) *link = found->next;
  vs_live_lock_give(&lock);
  return found;
}

static void destroy(route *r) {
  if (r == NULL) return;
  function_destroy(&r->filter);
  vs_host_free(vs_torch__the.host, r, sizeof *r);
}

_Noreturn static void refuse(const char *what, vs_status status) {
  char text[128];
  vs_format(text, sizeof text, "%s: %s (vramscope)", what, vs_status_text(status));
  vs_torch__throw_error(text, strlen(text));
}

/* ---- the functions that PyTorch calls */

/* PyTorch does not tell a pluggable allocator when a capture begins. While a pool serves requests there may be one, so each
 * free asks the driver. */
static vs_status begin(vs_live *live, uint32_t device, vs_torch_pool pool, route *r) {
  const vs_status status = vs_live_pool_begin(live, device, (vs_live_pool){pool.a, pool.b}, accept, r);
  r->is_drivers = status == VS_UNSUPPORTED;
  if (r->is_drivers) return VS_OK;
  return status == VS_OK ? vs_live_capture_begin(live, device) : status;
}

static vs_status end(vs_live *live, uint32_t device, vs_torch_pool pool, const route *r) {
  if (r->is_drivers) return VS_OK;
  VS_TRY(vs_live_capture_end(live, device));
  return vs_live_pool_end(live, device, (vs_live_pool){pool.a, pool.b});
}

void vs_torch_begin_allocate_to_pool(int device, vs_torch_pool pool, const void *filter) {
  vs_live *live = vs_torch_live();
  if (live == NULL || device < 0) return;
  route *r = vs_host_alloc(vs_torch__the.host, sizeof *r);
  if (r == NULL) refuse("a pool cannot begin", VS_NO_MEMORY);
  *r = (route){.pool = pool, .device = device};
  function_copy(&r->filter, filter);
  const vs_status status = begin(live, (uint32_t)device, pool, r);
  if (status == VS_OK) {
    add(r);
    return;
  }
  destroy(r);
  refuse("a pool cannot begin", status);
}

void vs_torch_end_allocate_to_pool(int device, vs_torch_pool pool) {
  vs_live *live = vs_torch_live();
  if (live == NULL || device < 0) return;
  route *r = take(device, pool);
  if (r == NULL) refuse("no such pool has begun", VS_NOT_FOUND);
  const vs_status status = end(live, (uint32_t)device, pool, r);
  destroy(r);
  if (status != VS_OK) refuse("a pool cannot end", status);
}

/* Called by destructors of graphs, so it must not throw. There is nothing to do for an unknown pool. */
void vs_torch_release_pool(int device, vs_torch_pool pool) {
  vs_live *live = vs_torch_live();
  if (live == NULL || device < 0) return;
  const vs_status status = vs_live_pool_release(live, (uint32_t)device, (vs_live_pool){pool.a, pool.b});
  (void)status;
}
