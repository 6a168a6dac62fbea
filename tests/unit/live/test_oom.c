/* Failures: who hears of them, in which order, and what is said. */
#include "live/state.h"
#include "os/thread.h"
#include "support/test.h"

static vs_live *open_card(const char *settings) {
  vs_live *live;
  vs_error error;
  expect_ok(vs_live_open(&(vs_live_options){.gpus = "1GiB", .settings = settings}, &live, &error));
  return live;
}

static void close_card(vs_live *live) {
  vs_error error;
  expect_ok(vs_live_close(live, &error));
}

typedef struct listener {
  vs_live *live;
  uint32_t id, calls, order;
  uint32_t *clock;
  vs_live_oom last;
  bool leaves, joins;
} listener;

static void hear(void *ctx, const vs_live_oom *oom) {
  listener *l = ctx;
  uint64_t address;
  l->calls++;
  l->order = ++*l->clock;
  l->last = *oom;
  expect_status(vs_live_malloc(l->live, 0, UINT64_C(2) << 30, 0, &address),
                VS_DEVICE_MEMORY); /* calls no observer */
  if (l->leaves) vs_live_unobserve_oom(l->live, l->id);
  if (l->joins) expect_ok(vs_live_observe_oom(l->live, VS_LIVE_ON_OOM, hear, l, &(uint32_t){0}));
  l->joins = false;
}

static void fail_once(vs_live *live, uint64_t size) {
  uint64_t address;
  expect_status(vs_live_malloc(live, 0, size, 0, &address), VS_DEVICE_MEMORY);
}

static void observers_hear(void **state) {
  (void)state;
  vs_live *live = open_card("");
  uint32_t clock = 0;
  uint64_t address;
  listener first = {.live = live, .clock = &clock}, second = first, third = first, rejections = first;
  second.leaves = true;
  third.joins = true;
  expect_ok(vs_live_observe_oom(live, VS_LIVE_ON_OOM, hear, &first, &first.id));
  expect_ok(vs_live_observe_oom(live, VS_LIVE_ON_OOM, hear, &second, &second.id));
  expect_ok(vs_live_observe_oom(live, VS_LIVE_ON_REJECTION, hear, &rejections, &rejections.id));
  expect_ok(vs_live_observe_oom(live, VS_LIVE_ON_OOM, hear, &third, &third.id));
  expect_ok(vs_live_malloc(live, 0, 100 << 20, 0, &address));
  fail_once(live, UINT64_C(3) << 30);
  assert_int_equal(first.order, 1);
  assert_int_equal(second.order, 2);
  assert_int_equal(third.order, 3); /* who joined in a call hears of the next failure */
  assert_int_equal(rejections.calls, 0);
  assert_int_equal(first.last.requested, UINT64_C(3) << 30);
  assert_int_equal(first.last.driver_size, UINT64_C(3) << 30);
  assert_int_equal(first.last.device_total, UINT64_C(1) << 30);
  assert_int_equal(first.last.allocated, 100 << 20);
  assert_int_equal(first.last.reserved, 100 << 20);
  assert_int_equal(first.last.limit, UINT64_MAX);
  assert_false(first.last.is_rejected);
  fail_once(live, UINT64_C(3) << 30);
  assert_int_equal(first.calls, 2);
  assert_int_equal(second.calls, 1);
  assert_int_equal(third.calls, 3);
  vs_live_unobserve_oom(live, first.id);
  vs_live_unobserve_oom(live, first.id);
  vs_live_unobserve_oom(live, 0);
  vs_live_unobserve_oom(live, 999);
  fail_once(live, UINT64_C(3) << 30);
  assert_int_equal(first.calls, 2);
  expect_status(vs_live_observe_oom(live, VS_LIVE_ON_OOM, NULL, NULL, &first.id), VS_BAD_ARGUMENT);
  close_card(live);
}

static void places_run_out(void **state) {
  (void)state;
  vs_live *live = open_card("");
  uint32_t ids[VS_LIVE_OBSERVERS], id, clock = 0;
  listener l = {.live = live, .clock = &clock};
  for (int i = 0; i < VS_LIVE_OBSERVERS; i++)
    expect_ok(vs_live_observe_oom(live, VS_LIVE_ON_OOM, hear, &l, &ids[i]));
  expect_status(vs_live_observe_oom(live, VS_LIVE_ON_OOM, hear, &l, &id), VS_LIMIT);
  vs_live_unobserve_oom(live, ids[5]);
  expect_ok(vs_live_observe_oom(live, VS_LIVE_ON_OOM, hear, &l, &id));
  fail_once(live, UINT64_C(3) << 30);
  assert_int_equal(l.calls, VS_LIVE_OBSERVERS);
  close_card(live);
}

/* ---- taken out while it runs */

typedef struct slow {
  vs_live *live;
  _Atomic uint32_t entered, left;
} slow;

static void dawdle(void *ctx, const vs_live_oom *oom) {
  slow *s = ctx;
  (void)oom;
  s->entered = 1;
  for (int i = 0; i < 2000; i++) vs_thread_yield();
  s->left = 1;
}

static void fail_there(void *ctx) {
  slow *s = ctx;
  uint64_t address;
  if (vs_live_malloc(s->live, 0, UINT64_C(3) << 30, 0, &address) != VS_DEVICE_MEMORY) __builtin_trap();
}

static void waits_for_its_calls(void **state) {
  (void)state;
  vs_thread thread;
  uint32_t id;
  slow s = {.live = open_card("")};
  expect_ok(vs_live_observe_oom(s.live, VS_LIVE_ON_OOM, dawdle, &s, &id));
  expect_ok(vs_thread_start(&thread, "fails", fail_there, &s));
  while (s.entered == 0) vs_thread_yield();
  vs_live_unobserve_oom(s.live, id);
  assert_int_equal(s.left, 1);
  vs_thread_join(&thread);
  close_card(s.live);
}

/* ---- words */

static vs_status append(void *ctx, const void *data, size_t size) {
  vs_text *text = ctx;
  vs_text_put(text, data, size);
  return text->status;
}

static void says_what_pytorch_says(void **state) {
  (void)state;
  vs_live *live = open_card("");
  vs_text text;
  const vs_writer to = {&text, append};
  vs_text_init(&text, vs_host_default(), NULL);
  expect_status(vs_live_oom_write(live, to), VS_NOT_FOUND);
  fail_once(live, UINT64_C(3) << 30);
  expect_ok(vs_live_oom_write(live, to));
  assert_true(vs_str_starts(vs_text_view(&text),
                            VS_STR("CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total "
                                   "capacity of 1024.00 MiB of which 620.00 MiB is free. Including "
                                   "non-PyTorch memory, this process has 404.00 MiB memory in use. Of the "
                                   "allocated memory 0 bytes is allocated by PyTorch, ")));
  vs_text_deinit(&text);
  close_card(live);
  live = open_card("");
  expect_status(vs_live_oom_write(live, to), VS_NOT_FOUND); /* it was another object's */
  close_card(live);
}

static void rejections(void **state) {
  (void)state;
  vs_live *live = open_card("throw_on_cudamalloc_oom:True");
  uint32_t clock = 0;
  listener ooms = {.live = live, .clock = &clock}, rejected = ooms;
  expect_ok(vs_live_observe_oom(live, VS_LIVE_ON_OOM, hear, &ooms, &ooms.id));
  expect_ok(vs_live_observe_oom(live, VS_LIVE_ON_REJECTION, hear, &rejected, &rejected.id));
  fail_once(live, UINT64_C(3) << 30);
  assert_int_equal(ooms.calls, 0);
  assert_int_equal(rejected.calls, 1);
  assert_true(rejected.last.is_rejected);
  close_card(live);
}

/* Failures are counted from the last reset on; one behind it is told like any other. */
static void a_failure_after_a_reset_is_told(void **state) {
  (void)state;
  vs_live *live = open_card("");
  uint32_t clock = 0;
  listener l = {.live = live, .clock = &clock};
  fail_once(live, UINT64_C(3) << 30);
  expect_ok(vs_live_reset_totals(live, 0));
  expect_ok(vs_live_observe_oom(live, VS_LIVE_ON_OOM, hear, &l, &l.id)); /* which fails once more each time */
  for (uint32_t calls = 1; calls < 5; calls++) {
    fail_once(live, UINT64_C(3) << 30);
    assert_int_equal(l.calls, calls);
  }
  close_card(live);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(observers_hear),      cmocka_unit_test(places_run_out),
      cmocka_unit_test(waits_for_its_calls), cmocka_unit_test(says_what_pytorch_says),
      cmocka_unit_test(rejections),          cmocka_unit_test(a_failure_after_a_reset_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
