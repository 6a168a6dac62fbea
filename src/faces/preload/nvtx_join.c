#include "faces/preload/nvtx_join.h"
#include "base/text.h"
#include "faces/preload/nvtx.h"
#include "faces/preload/nvtx_search.h"
#include "faces/preload/recording_file.h"
#include "os/library.h"
#include "os/pages.h"
#include <stdatomic.h>
#include <time.h>

enum { MOST_UNSETTLED = 256, MOST_WAITS = 100 };

/* NVTX that has not looked for a tool yet. What makes it look must not be called under the loader's lock, so the library is found again by
 * its name. */
typedef struct unsettled {
  nvtx_globals *globals;
  char library[VS_PRELOAD_PATH];
} unsettled;

typedef struct search {
  bool is_promised; /* to another tool */
  bool is_missed;   /* ranges of an NVTX are not seen */
  size_t count;
  unsettled unsettled[MOST_UNSETTLED];
} search;

static _Atomic bool is_joined;
static _Atomic uint64_t searched; /* libraries: nvtx_search.h */

static uint32_t state_of(const nvtx_globals *globals) {
  return __atomic_load_n(&globals->state, __ATOMIC_ACQUIRE);
}

static void found(void *ctx, const vs_nvtx_library *library, nvtx_globals *globals) {
  search *s = ctx;
  if (s->is_promised || (state_of(globals) != NVTX_COMPLETE && s->count == MOST_UNSETTLED)) {
    s->is_missed = true;
  } else if (state_of(globals) == NVTX_COMPLETE) {
    s->is_missed |= !vs_nvtx_fill(globals);
  } else {
    unsettled *new = &s->unsettled[s->count++];
    new->globals = globals;
    vs_format(new->library, sizeof new->library, "%s", library->name);
  }
}

/* Its own first call does the same, on any thread. */
static void make_complete(const nvtx_globals *globals, vs_nvtx_initialize *initialize) {
  const struct timespec moment = {.tv_nsec = 1000000};
  if (state_of(globals) == NVTX_FRESH && initialize != NULL) initialize(NULL);
  for (size_t i = 0; i < MOST_WAITS && state_of(globals) != NVTX_COMPLETE; i++)
    (void)nanosleep(&moment, NULL);
}

/* False: its ranges are not seen. A library that was unloaded since has none. */
static bool settle(const unsettled *one) {
  vs_nvtx_initialize *own;
  bool is_seen = true;
  void *const held = vs_library_hold(one->library);
  if (vs_nvtx_confirm(one->globals, &own)) {
    if (held != NULL) make_complete(one->globals, own);
    is_seen = held != NULL && state_of(one->globals) == NVTX_COMPLETE && vs_nvtx_fill(one->globals);
  }
  vs_library_release(held);
  return is_seen;
}

static void look(void) {
  void *pages;
  uint64_t before = atomic_load(&searched);
  if (vs_pages_map(sizeof(search), VS_PAGES_LAZY, &pages) != VS_OK) {
    vs_pytorch_doubt_add(VS_DOUBT_ANNOTATIONS);
    return;
  }
  search *s = pages;
  s->is_promised = vs_nvtx_is_promised();
  s->is_missed = !vs_nvtx_search_all(found, s, &before) || s->is_missed;
  atomic_store(&searched, before);
  for (size_t i = 0; i < s->count; i++) s->is_missed |= !settle(&s->unsettled[i]);
  if (s->is_missed) vs_pytorch_doubt_add(VS_DOUBT_ANNOTATIONS);
  vs_pages_unmap(pages, sizeof(search));
}

void vs_nvtx_join(void) {
  atomic_store(&searched, 0);
  atomic_store(&is_joined, true);
  look();
}

bool vs_nvtx_is_joined(void) { return atomic_load_explicit(&is_joined, memory_order_relaxed); }

void vs_nvtx_look_again(void) {
  if (vs_nvtx_is_joined()) look();
}

static void clear(void *ctx, const vs_nvtx_library *library, nvtx_globals *globals) {
  (void)ctx, (void)library;
  vs_nvtx_clear(globals);
}

void vs_nvtx_leave(void) {
  if (atomic_exchange(&is_joined, false)) (void)vs_nvtx_search_all(clear, NULL, NULL);
}
