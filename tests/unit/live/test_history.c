/* What is kept of events: the ring, its levels, what is skipped. */
#include "live/state.h"
#include "support/test.h"

static vs_live *open_card(void) {
  vs_live *live;
  vs_error error;
  expect_ok(vs_live_open(&(vs_live_options){.gpus = "1GiB", .settings = ""}, &live, &error));
  return live;
}

static void close_card(vs_live *live) {
  vs_error error;
  expect_ok(vs_live_close(live, &error));
}

static void keep(vs_live *live, vs_history_options options) {
  vs_error error;
  expect_ok(vs_live_history(live, &options, &error));
}

static void expect_info(vs_live *live, uint64_t entries, uint64_t overwritten) {
  vs_history_info info;
  expect_ok(vs_live_history_info(live, 0, &info));
  assert_int_equal(info.entries, entries);
  assert_int_equal(info.overwritten, overwritten);
  assert_int_equal(info.lost, 0);
  assert_null(vs_live_check(live));
}

/* ---- the ring */

static void put(vs_history *history, uint64_t n) {
  const vs_event event = {
      .address = n, .size = 2 * n, .stream = n % 3, .pool = {n % 2, 0}, .kind = VS_EVENT_ALLOC};
  vs_history_add(history, vs_host_default(), &event, (vs_context)n, 0, 1000 + n);
  assert_null(vs_history_check(history));
}

/* Entries first .. end - 1 of put() are there, in order. */
static void expect_entries(const vs_history *history, uint64_t first, uint64_t end) {
  assert_int_equal(history->entries.count, end - first);
  for (uint64_t i = first; i < end; i++) {
    const vs_history_entry *e = vs_history_at(history, i - first);
    const vs_history_place *place = &history->places.data[e->place];
    assert_int_equal(e->address, i);
    assert_int_equal(e->size, 2 * i);
    assert_int_equal(e->time_ns, 1000 + i);
    assert_int_equal(e->context, i);
    assert_int_equal(place->stream, i % 3);
    assert_int_equal(place->pool.a, i % 2);
  }
}

static void rings(void **state) {
  (void)state;
  const vs_host *host = vs_host_default();
  for (uint64_t capacity = 1; capacity <= 9; capacity++)
    for (uint64_t count = 0; count <= 25; count++)
      for (uint64_t then = 1; then <= 12; then++) {
        vs_history history = {.capacity = capacity};
        for (uint64_t n = 0; n < count; n++) put(&history, n);
        const uint64_t kept = count < capacity ? count : capacity;
        expect_entries(&history, count - kept, count);
        assert_int_equal(history.overwritten, count - kept);
        expect_ok(
            vs_history_resize(&history, host, then)); /* larger, smaller, after it was rolled or before */
        const uint64_t still = kept < then ? kept : then;
        expect_entries(&history, count - still, count);
        for (uint64_t n = count; n < count + 7; n++) put(&history, n);
        const uint64_t last = still + 7 < then ? still + 7 : then;
        expect_entries(&history, count + 7 - last, count + 7);
        assert_int_equal(history.entries.count + history.overwritten, count + 7);
        assert_true(history.places.count <= 6);
        vs_history_deinit(&history, host);
      }
}

/* ---- through live */

static void one_pair(vs_live *live) {
  uint64_t address;
  expect_ok(vs_live_malloc(live, 0, 1000, 0, &address));
  expect_ok(vs_live_free(live, 0, address));
}

static void states_and_sizes(void **state) {
  (void)state;
  vs_live *live = open_card();
  one_pair(live);
  expect_info(live, 0, 0); /* nothing is kept until the history is switched on */
  keep(live, (vs_history_options){.enabled = VS_HISTORY_EVENTS, .max_entries = 10});
  one_pair(live); /* alloc, free_requested, free_completed; the segment is there */
  expect_info(live, 3, 0);
  for (int i = 0; i < 9; i++) one_pair(live);
  expect_info(live, 10, 20);
  keep(live, (vs_history_options){.enabled = VS_HISTORY_EVENTS, .max_entries = 4});
  expect_info(live, 4, 26);
  assert_int_equal(vs_history_at(&live->devices[0]->history, 3)->kind, VS_EVENT_FREE_COMPLETED);
  keep(live, (vs_history_options){.enabled = VS_HISTORY_EVENTS, .max_entries = 4, .clear = true});
  expect_info(live, 0, 0);
  keep(live, (vs_history_options){.enabled = VS_HISTORY_STATE, .max_entries = 100});
  one_pair(live);
  expect_info(live, 1, 2);
  keep(live, (vs_history_options){.enabled = VS_HISTORY_OFF});
  expect_info(live, 0, 0);
  one_pair(live);
  expect_info(live, 0, 0);
  keep(live, (vs_history_options){.enabled = VS_HISTORY_EVENTS}); /* 0 is 1 */
  one_pair(live);
  expect_info(live, 1, 2);
  close_card(live);
}

static void skipped(void **state) {
  (void)state;
  vs_live *live = open_card();
  vs_error error;
  keep(live, (vs_history_options){.enabled = VS_HISTORY_EVENTS,
                                  .max_entries = 100,
                                  .skip_actions = "free_requested,segment_alloc,"});
  one_pair(live);
  expect_info(live, 2, 0);
  assert_int_equal(vs_history_at(&live->devices[0]->history, 0)->kind, VS_EVENT_ALLOC);
  assert_int_equal(vs_history_at(&live->devices[0]->history, 1)->kind, VS_EVENT_FREE_COMPLETED);
  const vs_history_options wrong = {.enabled = VS_HISTORY_EVENTS, .skip_actions = "alloc,malloc"};
  expect_status(vs_live_history(live, &wrong, &error), VS_BAD_ARGUMENT);
  assert_string_equal(error.text, "\"malloc\" is no action of the history");
  one_pair(live); /* by the rules before */
  expect_info(live, 4, 0);
  close_card(live);
}

/* ---- levels */

static vs_stack stack_of(vs_live *live, const char *function) {
  vs_stack stack;
  const vs_live_frame frames[] = {{.function = function, .file = "a.py", .line = 3},
                                  {.function = "main", .file = "b.py", .line = 4}};
  expect_ok(vs_live_stack(live, frames, 2, &stack));
  return stack;
}

/* An allocation at one place, freed at another. */
static void at_places(vs_live *live, vs_stack here, vs_stack there, uint64_t *address) {
  vs_live_stack_set(live, here);
  expect_ok(vs_live_malloc(live, 0, 1000, 0, address));
  vs_live_stack_set(live, there);
}

static void levels(void **state) {
  (void)state;
  for (int level = VS_HISTORY_CONTEXT_NEVER; level <= VS_HISTORY_CONTEXT_ALL; level++) {
    vs_live *live = open_card();
    const vs_stack here = stack_of(live, "here"), there = stack_of(live, "there");
    assert_int_not_equal(here, there);
    assert_int_equal(stack_of(live, "here"), here);
    uint64_t address;
    vs_alloc_block_info block;
    keep(live, (vs_history_options){
                   .enabled = VS_HISTORY_EVENTS, .context = (vs_history_context)level, .max_entries = 100});
    at_places(live, here, there, &address);
    assert_true(vs_alloc_find(live->devices[0]->alloc, address, &block));
    assert_int_equal(block.context, level >= VS_HISTORY_CONTEXT_STATE ? here : VS_STACK_NONE);
    expect_ok(vs_live_free(live, 0, address));
    const vs_history *history = &live->devices[0]->history;
    assert_int_equal(history->entries.count, 4); /* segment_alloc, alloc, free_requested, free_completed */
    for (uint64_t i = 0; i < 4; i++)
      assert_int_equal(vs_history_at(history, i)->context, level < VS_HISTORY_CONTEXT_ALLOC ? VS_STACK_NONE
                                                           : level == VS_HISTORY_CONTEXT_ALL && i >= 2
                                                               ? there
                                                               : here);
    close_card(live);
  }
}

static int64_t tick(void *ctx) { return ++*(int64_t *)ctx; }

/* The events of one call have its time; the next call has its own. */
static void times(void **state) {
  (void)state;
  vs_live *live;
  vs_error error;
  int64_t now = 100;
  const vs_live_options options = {.gpus = "1GiB", .settings = "", .time = tick, .time_ctx = &now};
  expect_ok(vs_live_open(&options, &live, &error));
  keep(live, (vs_history_options){.enabled = VS_HISTORY_EVENTS, .max_entries = 100});
  one_pair(live);
  one_pair(live);
  static const int64_t wanted[] = {101, 101, 102, 102, 103, 104, 104};
  const vs_history *history = &live->devices[0]->history;
  assert_int_equal(history->entries.count, 7);
  for (uint64_t i = 0; i < 7; i++)
    assert_int_equal(vs_live_time_us(live, vs_history_at(history, i)->time_ns), wanted[i]);
  close_card(live);
}

static void metadata(void **state) {
  (void)state;
  vs_live *live = open_card();
  keep(live, (vs_history_options){.enabled = VS_HISTORY_EVENTS, .max_entries = 100});
  expect_ok(vs_live_metadata_set(live, "layer 3"));
  one_pair(live);
  expect_ok(vs_live_metadata_set(live, NULL));
  one_pair(live);
  const vs_history *history = &live->devices[0]->history;
  const uint32_t text = vs_history_at(history, 1)->metadata;
  assert_true(vs_str_equal(vs_record_text_at(live->stacks, text), VS_STR("layer 3")));
  assert_int_equal(vs_record_text_at(live->stacks, vs_history_at(history, 4)->metadata).size, 0);
  close_card(live);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rings),   cmocka_unit_test(states_and_sizes),
      cmocka_unit_test(skipped), cmocka_unit_test(levels),
      cmocka_unit_test(times),   cmocka_unit_test(metadata),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
