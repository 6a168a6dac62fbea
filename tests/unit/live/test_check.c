/* vs_live_check finds what is broken: each invariant is broken once in a sound object, and mended. */
#include "live/state.h"
#include "support/test.h"

static void observe(void *ctx, const vs_live_oom *oom) {
  (void)ctx;
  (void)oom;
}

typedef struct used {
  vs_live *live;
  vs_scope *scopes[2];
  uint64_t address;
  uint32_t observer;
} used;

/* An object with everything that the check looks at. */
static used begin(void) {
  used u = {.observer = 0};
  vs_error error;
  const vs_history_options history = {.enabled = VS_HISTORY_EVENTS, .max_entries = 4};
  expect_ok(vs_live_open(&(vs_live_options){.gpus = "1GiB"}, &u.live, &error));
  expect_ok(vs_live_history(u.live, &history, &error));
  for (int i = 0; i < 2; i++) expect_ok(vs_live_scope_begin(u.live, 0, &u.scopes[i]));
  for (int i = 0; i < 3; i++) expect_ok(vs_live_malloc(u.live, 0, 1000, 0, &u.address));
  expect_ok(vs_live_free(u.live, 0, u.address));
  for (int i = 0; i < 6; i++) expect_ok(vs_live_annotation_begin(u.live, 0, "part"));
  expect_ok(vs_live_observe_oom(u.live, VS_LIVE_ON_OOM, observe, NULL, &u.observer));
  assert_null(vs_live_check(u.live));
  return u;
}

static void end(used *u) {
  vs_error error;
  assert_null(vs_live_check(u->live));
  vs_live_unobserve_oom(u->live, u->observer);
  for (int i = 0; i < 2; i++) {
    vs_live_scope_end(u->scopes[i], NULL);
    assert_null(vs_live_check(u->live));
  }
  expect_ok(vs_live_close(u->live, &error));
}

/* Breaks a member by adding to it, expects the check to fail, and takes it back. */
#define BREAK(member, by)                   \
  do {                                      \
    (member) += (by);                       \
    assert_non_null(vs_live_check(u.live)); \
    (member) -= (by);                       \
    assert_null(vs_live_check(u.live));     \
  } while (0)

static void scopes(void **state) {
  (void)state;
  used u = begin();
  vs_scopes *s = &u.live->devices[0]->scopes;
  for (int kind = 0; kind < VS_SCOPE_KINDS; kind++) {
    BREAK(s->now[kind], -512);
    BREAK(s->peak[kind], -((int64_t)1 << 40));
    BREAK(u.scopes[0]->peak[kind], -((int64_t)1 << 40));
  }
  BREAK(s->accounts->scopes, 1);
  BREAK(s->accounts->now, (int64_t)1 << 40);
  BREAK(u.scopes[1]->thread_start, (int64_t)1 << 40);
  BREAK(u.scopes[1]->allocations, 100);
  vs_scope *next = s->first->next;
  s->first->next = NULL; /* the second one is lost */
  assert_non_null(vs_live_check(u.live));
  s->first->next = next;
  end(&u);
}

static void rings(void **state) {
  (void)state;
  used u = begin();
  vs_history *history = &u.live->devices[0]->history;
  BREAK(history->first, 4);
  BREAK(history->capacity, UINT64_MAX); /* one less */
  BREAK(history->entries.data[0].place, 7);
  BREAK(u.live->annotations.first, 4);
  BREAK(u.live->annotations.capacity, 1);
  BREAK(u.live->annotations.entries.data[1].device, 1);
  end(&u);
}

static void listeners_and_observers(void **state) {
  (void)state;
  used u = begin();
  vs_live_device *device = u.live->devices[0];
  vs_live_observers *observers = &u.live->observers;
  BREAK(device->watch, (uint32_t)VS_WATCH_RECORDING);
  BREAK(device->watch, -(uint32_t)VS_WATCH_SCOPES);
  BREAK(device->index, 1);
  BREAK(u.live->recording_stacks, 1);
  BREAK(observers->places[0].id, 1);
  BREAK(observers->places[5].running, 1);
  BREAK(observers->count, 1);
  device->is_held = true;
  assert_non_null(vs_live_check(u.live));
  device->is_held = false;
  end(&u);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scopes),
      cmocka_unit_test(rings),
      cmocka_unit_test(listeners_and_observers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
