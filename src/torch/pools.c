/* Private pools of captured graphs. PyTorch says which streams a pool serves by a C++ function object, which is asked at each
 * request until the pool's end is told. */
#include "base/host.h"
#include "base/mem.h"
#include "base/text.h"
#include "live/lock.h"
#include "torch/state.h"
#include "torch/throw.h"

/* ---- std::function<bool(cudaStream_t)>, as libstdc++ has it since GCC 4.5
 *
 * Two words of data, a function that copies and destroys them, and one that calls. It comes by hidden reference to a
 * temporary: what is to be kept is copied, as C++ would. */

typedef struct function {
  void *data[2];
  bool (*manage)(void **to, void *const *from, int operation);
  bool (*call)(void *const *data, void **stream);
} function;
enum { FUNCTION_CLONE = 2, FUNCTION_DESTROY = 3 };

static void function_copy(function *to, const function *from) {
  *to = (function){.call = from->call};
  if (from->manage == NULL) return; /* empty: it accepts all */
  (void)from->manage(to->data, from->data, FUNCTION_CLONE);
  to->manage = from->manage;
}

static void function_destroy(function *f) {
  if (f->manage != NULL) (void)f->manage(f->data, f->data, FUNCTION_DESTROY);
}

/* ---- pools that requests go to now */

typedef struct route {
  struct route *next;
  vs_torch_pool pool;
  int device;
  bool is_drivers; /* backend:cudaMallocAsync: the driver's own pool takes part in captures by itself */
  function filter;
} route;

static vs_live_lock lock;
static route *routes; /* under the lock */

static bool accept(void *ctx, uint64_t stream) {
  route *r = ctx;
  void *handle = vs_torch__pointer(stream);
  return r->filter.manage == NULL || r->filter.call(r->filter.data, &handle);
}

static void add(route *r) {
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

/* ---- what PyTorch calls */

/* PyTorch does not say to a pluggable allocator when a capture really begins: while requests go to a pool there may be one,
 * and each free asks. */
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

/* Called where graphs are destroyed: nothing may be thrown. A pool that is not there is nothing to release. */
void vs_torch_release_pool(int device, vs_torch_pool pool) {
  vs_live *live = vs_torch_live();
  if (live == NULL || device < 0) return;
  const vs_status status = vs_live_pool_release(live, (uint32_t)device, (vs_live_pool){pool.a, pool.b});
  (void)status;
}
