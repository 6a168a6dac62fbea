#include "live/scopes.h"
#include "live/thread.h"

/* ---- events */

static void add(vs_scopes *scopes, vs_scope_kind kind, uint64_t bytes) {
  scopes->now[kind] += (int64_t)bytes;
  if (scopes->now[kind] > scopes->peak[kind]) scopes->peak[kind] = scopes->now[kind];
}

static void subtract(vs_scopes *scopes, vs_scope_kind kind, uint64_t bytes) {
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
      subtract(scopes, VS_SCOPE_ALLOCATED, event->rounded);
      charge_thread(scopes, -(int64_t)event->rounded);
      scopes->frees++;
      break;
    case VS_EVENT_FREE_COMPLETED:
      subtract(scopes, VS_SCOPE_REQUESTED, event->size);
      subtract(scopes, VS_SCOPE_ACTIVE, event->rounded);
      break;
    case VS_EVENT_SEGMENT_ALLOC:
    case VS_EVENT_SEGMENT_MAP: add(scopes, VS_SCOPE_RESERVED, event->size); break;
    case VS_EVENT_SEGMENT_FREE:
    case VS_EVENT_SEGMENT_UNMAP: subtract(scopes, VS_SCOPE_RESERVED, event->size); break;
    case VS_EVENT_OOM:
    case VS_EVENT_SNAPSHOT:
    case VS_EVENT_ANNOTATE:
    case VS_EVENT_UNKNOWN: break;
  }
}

/* ---- boundaries */

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static void fold(vs_scopes *scopes) {
  for (vs_scope *scope = scopes->first; scope != NULL; scope = scope->next) {
    VS_ASSERT(scope->account != NULL && scope->account->scopes > 0);
    for (int kind = 0; kind < VS_SCOPE_KINDS; kind++)
      scope->peak[kind] = larger(scope->peak[kind], scopes->peak[kind]);
    scope->thread_peak = larger(scope->thread_peak, scope->account->peak);
  }
  memcpy(scopes->peak, scopes->now, sizeof scopes->peak);
  for (vs_scope_account *account = scopes->accounts; account != NULL; account = account->next)
    account->peak = account->now;
}

static void start_figures(vs_scopes *scopes, const vs_alloc_statistics *statistics) {
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
  VS_ASSERT(account->scopes > 0);
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
  if (scopes->first == NULL) start_figures(scopes, statistics);
  else fold(scopes);
  *scope = (vs_scope){.next = scopes->first,
                      .account = account,
                      .thread_start = account->now,
                      .thread_peak = account->now,
                      .allocations = scopes->allocations,
                      .frees = scopes->frees};
  memcpy(scope->start, scopes->now, sizeof scope->start);
  memcpy(scope->peak, scopes->now, sizeof scope->peak);
  VS_ASSERT(scopes->first == NULL || scopes->first->previous == NULL);
  if (scopes->first != NULL) scopes->first->previous = scope;
  scopes->first = scope;
  *out = scope;
  return VS_OK;
}

static vs_scope_bytes figures_of(const vs_scopes *scopes, const vs_scope *scope, vs_scope_kind kind) {
  const int64_t start = scope->start[kind], end = scopes->now[kind], peak = scope->peak[kind];
  VS_ASSERT(peak >= start && peak >= end);
  return (vs_scope_bytes){.start = (uint64_t)start,
                          .end = (uint64_t)end,
                          .peak = (uint64_t)peak,
                          .used = end - start,
                          .peaked = (uint64_t)(peak - larger(start, end))};
}

void vs_scopes_read(vs_scopes *scopes, const vs_scope *scope, vs_scope_figures *figures) {
  VS_ASSERT(scopes->first != NULL);
  fold(scopes);
  VS_ASSERT(scope->thread_peak >= scope->thread_start);
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
  VS_ASSERT((scope->previous == NULL) == (scopes->first == scope));
  VS_ASSERT(scope->next == NULL || scope->next->previous == scope);
  if (scope->previous != NULL) scope->previous->next = scope->next;
  else scopes->first = scope->next;
  if (scope->next != NULL) scope->next->previous = scope->previous;
  release_account(scopes, host, scope->account);
  vs_host_free(host, scope, sizeof *scope);
}

/* ---- the check */

static const char *check_scope(const vs_scopes *scopes, const vs_scope *scope) {
  const vs_scope_account *account = scopes->accounts;
  while (account != NULL && account != scope->account) account = account->next;
  if (account == NULL) return "a scope's account is not in the list";
  if (scope->thread_peak < scope->thread_start) return "a scope's peak of its thread is below its start";
  if (scope->allocations > scopes->allocations || scope->frees > scopes->frees)
    return "a scope began with more allocations or frees than there are";
  for (int kind = 0; kind < VS_SCOPE_KINDS; kind++)
    if (scope->peak[kind] < scope->start[kind]) return "a scope's peak is below its start";
  return NULL;
}

static const char *check_account(const vs_scopes *scopes, const vs_scope_account *account) {
  uint32_t count = 0;
  for (const vs_scope *scope = scopes->first; scope != NULL; scope = scope->next)
    if (scope->account == account) count++;
  if (count == 0 || count != account->scopes) return "an account's number of scopes is wrong";
  if (account->peak < account->now) return "an account's peak is below its current value";
  for (const vs_scope_account *other = account->next; other != NULL; other = other->next)
    if (other->thread == account->thread) return "a thread has two accounts";
  return NULL;
}

const char *vs_scopes_check(const vs_scopes *scopes) {
  const char *broken = NULL;
  for (const vs_scope *scope = scopes->first; scope != NULL && broken == NULL; scope = scope->next) {
    if (scope->previous == NULL ? scopes->first != scope : scope->previous->next != scope)
      return "the list of scopes is broken";
    broken = check_scope(scopes, scope);
  }
  for (const vs_scope_account *a = scopes->accounts; a != NULL && broken == NULL; a = a->next)
    broken = check_account(scopes, a);
  for (int kind = 0; kind < VS_SCOPE_KINDS && scopes->first != NULL; kind++)
    if (scopes->peak[kind] < scopes->now[kind]) return "a peak is below its current value";
  return broken;
}
