#include "live/scopes.h"
#include "live/thread.h"

/* ---- events */

static void add(vs_scopes *scopes, vs_scope_kind kind, uint64_t bytes) {
  scopes->now[kind] += (int64_t)bytes;
  if (scopes->now[kind] > scopes->peak[kind]) scopes->peak[kind] = scopes->now[kind];
}

static void take_away(vs_scopes *scopes, vs_scope_kind kind, uint64_t bytes) {
  scopes->now[kind] -= (int64_t)bytes;
}

static vs_scope_account *find_account(const vs_scopes *scopes, uint64_t thread) {
  vs_scope_account *account = scopes->accounts;
  while (account != NULL && account->thread != thread) account = account->next;
  return account;
}

static void charge_thread(vs_scopes *scopes, int64_t bytes) {
  vs_scope_account *account = find_account(scopes, vs_live_thread_number());
  if (account == NULL) return;
  account->now += bytes;
  if (account->now > account->peak) account->peak = account->now;
}

void vs_scopes_event(vs_scopes *scopes, const vs_event *event) {
  switch (event->kind) {
    case VS_EVENT_ALLOC:
      add(scopes, VS_SCOPE_ALLOCATED, event->rounded);
      add(scopes, VS_SCOPE_REQUESTED, event->size);
      add(scopes, VS_SCOPE_ACTIVE, event->rounded);
      charge_thread(scopes, (int64_t)event->rounded);
      scopes->allocations++;
      break;
    case VS_EVENT_FREE_REQUESTED:
      take_away(scopes, VS_SCOPE_ALLOCATED, event->rounded);
      charge_thread(scopes, -(int64_t)event->rounded);
      scopes->frees++;
      break;
    case VS_EVENT_FREE_COMPLETED:
      take_away(scopes, VS_SCOPE_REQUESTED, event->size);
      take_away(scopes, VS_SCOPE_ACTIVE, event->rounded);
      break;
    case VS_EVENT_SEGMENT_ALLOC:
    case VS_EVENT_SEGMENT_MAP: add(scopes, VS_SCOPE_RESERVED, event->size); break;
    case VS_EVENT_SEGMENT_FREE:
    case VS_EVENT_SEGMENT_UNMAP: take_away(scopes, VS_SCOPE_RESERVED, event->size); break;
    case VS_EVENT_OOM:
    case VS_EVENT_SNAPSHOT:
    case VS_EVENT_ANNOTATE:
    case VS_EVENT_UNKNOWN: break;
  }
}

/* ---- boundaries */

static int64_t highest(int64_t a, int64_t b) { return a > b ? a : b; }

static void fold(vs_scopes *scopes) {
  for (vs_scope *scope = scopes->first; scope != NULL; scope = scope->next) {
    for (int kind = 0; kind < VS_SCOPE_KINDS; kind++)
      scope->peak[kind] = highest(scope->peak[kind], scopes->peak[kind]);
    scope->thread_peak = highest(scope->thread_peak, scope->account->peak);
  }
  memcpy(scopes->peak, scopes->now, sizeof scopes->peak);
  for (vs_scope_account *account = scopes->accounts; account != NULL; account = account->next)
    account->peak = account->now;
}

static void look(vs_scopes *scopes, const vs_alloc_statistics *statistics) {
  const int64_t *now = statistics->part[VS_ALLOC_ALL].current;
  scopes->now[VS_SCOPE_ALLOCATED] = now[VS_ALLOC_ALLOCATED_BYTES];
  scopes->now[VS_SCOPE_REQUESTED] = now[VS_ALLOC_REQUESTED_BYTES];
  scopes->now[VS_SCOPE_ACTIVE] = now[VS_ALLOC_ACTIVE_BYTES];
  scopes->now[VS_SCOPE_RESERVED] = now[VS_ALLOC_RESERVED_BYTES];
  memcpy(scopes->peak, scopes->now, sizeof scopes->peak);
}

static vs_scope_account *retain_account(vs_scopes *scopes, const vs_host *host) {
  const uint64_t thread = vs_live_thread_number();
  vs_scope_account *account = find_account(scopes, thread);
  if (account == NULL) {
    account = vs_host_alloc(host, sizeof *account);
    if (account == NULL) return NULL;
    *account = (vs_scope_account){.next = scopes->accounts, .thread = thread};
    scopes->accounts = account;
  }
  account->scopes++;
  return account;
}

static void release_account(vs_scopes *scopes, const vs_host *host, vs_scope_account *account) {
  vs_scope_account **link = &scopes->accounts;
  if (--account->scopes != 0) return;
  while (*link != account) link = &(*link)->next;
  *link = account->next;
  vs_host_free(host, account, sizeof *account);
}

vs_status vs_scopes_begin(vs_scopes *scopes, const vs_host *host, const vs_alloc_statistics *statistics,
                          vs_scope **out) {
  vs_scope *scope = vs_host_alloc(host, sizeof *scope);
  vs_scope_account *account = scope == NULL ? NULL : retain_account(scopes, host);
  *out = NULL;
  if (account == NULL) {
    vs_host_free(host, scope, sizeof *scope);
    return VS_NO_MEMORY;
  }
  if (scopes->first == NULL) look(scopes, statistics);
  else fold(scopes);
  *scope = (vs_scope){.next = scopes->first,
                      .account = account,
                      .thread_start = account->now,
                      .thread_peak = account->now,
                      .allocations = scopes->allocations,
                      .frees = scopes->frees};
  memcpy(scope->start, scopes->now, sizeof scope->start);
  memcpy(scope->peak, scopes->now, sizeof scope->peak);
  if (scopes->first != NULL) scopes->first->previous = scope;
  scopes->first = scope;
  *out = scope;
  return VS_OK;
}

static vs_scope_bytes figures_of(const vs_scopes *scopes, const vs_scope *scope, vs_scope_kind kind) {
  const int64_t start = scope->start[kind], end = scopes->now[kind], peak = scope->peak[kind];
  return (vs_scope_bytes){.start = (uint64_t)start,
                          .end = (uint64_t)end,
                          .peak = (uint64_t)peak,
                          .used = end - start,
                          .peaked = (uint64_t)(peak - highest(start, end))};
}

void vs_scopes_read(vs_scopes *scopes, const vs_scope *scope, vs_scope_figures *figures) {
  fold(scopes);
  *figures = (vs_scope_figures){.allocated = figures_of(scopes, scope, VS_SCOPE_ALLOCATED),
                                .requested = figures_of(scopes, scope, VS_SCOPE_REQUESTED),
                                .active = figures_of(scopes, scope, VS_SCOPE_ACTIVE),
                                .reserved = figures_of(scopes, scope, VS_SCOPE_RESERVED),
                                .thread_used = scope->account->now - scope->thread_start,
                                .thread_peak = scope->thread_peak - scope->thread_start,
                                .allocations = scopes->allocations - scope->allocations,
                                .frees = scopes->frees - scope->frees};
}

void vs_scopes_end(vs_scopes *scopes, const vs_host *host, vs_scope *scope) {
  if (scope->previous != NULL) scope->previous->next = scope->next;
  else scopes->first = scope->next;
  if (scope->next != NULL) scope->next->previous = scope->previous;
  release_account(scopes, host, scope->account);
  vs_host_free(host, scope, sizeof *scope);
}
