/* Exact peaks of the parts of a program, on one card.
 *
 * While at least one scope is open, every event moves `now` and `peak`, each a row of one figure for each kind of bytes.
 * `peak` is the highest that `now` was since the last boundary (a scope began, was read, or ended). At a boundary `peak` is
 * folded into every open scope, and is `now` again. So an event costs the same however many scopes are open, a
 * boundary costs a step for each, and no scope knows of another. With, for each scope s and kind k,
 *
 *   the highest that k was since s began = max(s.peak[k], scopes.peak[k])        at every moment
 *
 * The figures come from events and not from the allocator's statistics, whose peaks belong to the user.
 *
 * Thread accounts do the same for what one thread allocates and frees: there is one for each thread that has scopes open.
 *
 * Everything is guarded by the card's lock. */
#ifndef VS_LIVE_SCOPES_H
#define VS_LIVE_SCOPES_H

#include "alloc/alloc.h"
#include <vramscope/live.h>

typedef enum vs_scope_kind {
  VS_SCOPE_ALLOCATED,
  VS_SCOPE_REQUESTED,
  VS_SCOPE_ACTIVE,
  VS_SCOPE_RESERVED,
  VS_SCOPE_KINDS
} vs_scope_kind;

typedef struct vs_scope_account {
  struct vs_scope_account *next;
  uint64_t thread;   /* vs_live_thread_number */
  uint32_t scopes;   /* open ones; the account goes with the last */
  int64_t now, peak; /* since the account began; since the last boundary */
} vs_scope_account;

struct vs_live_device;

struct vs_scope {
  vs_scope *next, *previous;
  struct vs_live_device *device;
  vs_scope_account *account;
  int64_t start[VS_SCOPE_KINDS], peak[VS_SCOPE_KINDS];
  int64_t thread_start, thread_peak;
  uint64_t allocations, frees; /* what the counters were when it began */
};

typedef struct vs_scopes {
  vs_scope *first;
  vs_scope_account *accounts;
  int64_t now[VS_SCOPE_KINDS], peak[VS_SCOPE_KINDS]; /* mean something only while a scope is open */
  uint64_t allocations, frees;
} vs_scopes;

static inline bool vs_scopes_are_open(const vs_scopes *scopes) { return scopes->first != NULL; }

/* Something happened, on the calling thread. */
void vs_scopes_event(vs_scopes *scopes, const vs_event *event);

/* `statistics` say what is now, where no scope was open before. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_scopes_begin(vs_scopes *scopes, const vs_host *host,
                                        const vs_alloc_statistics *statistics, vs_scope **scope);
void vs_scopes_read(vs_scopes *scopes, const vs_scope *scope, vs_scope_figures *figures);
void vs_scopes_end(vs_scopes *scopes, const vs_host *host, vs_scope *scope);

#endif
