/* Exact peaks of the parts of a program, on one card.
 *
 * While at least one scope is open, every event moves `now` and `peak`, each a row of one figure for each kind of
 * bytes. `peak` is the largest `now` since the last boundary (a scope began, was read, or ended). At a boundary
 * `peak` is folded into every open scope and set to `now`. So the cost of an event does not depend on the number of
 * open scopes, a boundary costs a step for each, and scopes do not affect each other. For each scope s and kind k,
 * at every moment:
 *
 *   the largest k since s began = max(s.peak[k], scopes.peak[k])
 *
 * The figures come from events, not from the allocator's statistics, because the program may reset the peaks of those.
 *
 * Thread accounts do the same for what one thread allocates and frees. Each thread with open scopes has one.
 *
 * The card's lock guards everything. */
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
  uint32_t scopes;   /* open ones; the account is freed with the last */
  int64_t now, peak; /* since the account began; since the last boundary */
} vs_scope_account;

struct vs_live_device;

struct vs_scope {
  vs_scope *next, *previous;
  struct vs_live_device *device;
  vs_scope_account *account;
  int64_t start[VS_SCOPE_KINDS], peak[VS_SCOPE_KINDS];
  int64_t thread_start, thread_peak;
  uint64_t allocations, frees; /* the counters when it began */
};

typedef struct vs_scopes {
  vs_scope *first;
  vs_scope_account *accounts;
  int64_t now[VS_SCOPE_KINDS], peak[VS_SCOPE_KINDS]; /* valid only while a scope is open */
  uint64_t allocations, frees;
} vs_scopes;

static inline bool vs_scopes_are_open(const vs_scopes *scopes) { return scopes->first != NULL; }

/* Counts an event of the calling thread. */
void vs_scopes_event(vs_scopes *scopes, const vs_event *event);

/* `statistics` are the start of the figures if no other scope is open. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_scopes_begin(vs_scopes *scopes, const vs_host *host,
                                        const vs_alloc_statistics *statistics, vs_scope **scope);
void vs_scopes_read(vs_scopes *scopes, const vs_scope *scope, vs_scope_figures *figures);
void vs_scopes_end(vs_scopes *scopes, const vs_host *host, vs_scope *scope);

/* Executes the invariants; NULL if they hold, else what does not, in words. */
const char *vs_scopes_check(const vs_scopes *scopes);

#endif
