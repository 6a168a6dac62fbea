/* A mixed program on the allocator, with each of its requests for host memory failing once, and each call of
 * the driver: the invariants hold after every operation, the program goes on, nothing is left at the end. */
#include "alloc/alloc.h"
#include "property/alloc/fake_device.h"
#include "support/random.h"
#include "support/test.h"

enum { OPERATIONS = 150, MOST_LIVE = 40 };

typedef struct program {
  const char *settings;
  const vs_host *host;
  fake_device device;
  vs_alloc *alloc;
  uint64_t live[MOST_LIVE];
  size_t live_count;
  bool is_expandable, is_capturing, is_routed;
  uint64_t failures; /* operations that failed for another reason than that the card is full */
} program;

static const char *const programs[] = {
    "",
    "expandable_segments:True",
    "max_split_size_mb:24,garbage_collection_threshold:0.4,per_process_memory_fraction:0.9",
    "graph_capture_record_stream_reuse:True,roundup_power2_divisions:4",
};

static void note(program *p, vs_status status) {
  assert_true(status == VS_OK || status == VS_DEVICE_MEMORY || status == VS_NO_MEMORY ||
              status == VS_DEVICE || status == VS_NOT_FOUND);
  p->failures += status == VS_NO_MEMORY || status == VS_DEVICE;
}

static bool is_stream_2(void *ctx, uint64_t stream) {
  (void)ctx;
  return stream == 2;
}

static void allocate(program *p, test_random *r) {
  const uint64_t size =
      random_below(r, 2) == 0 ? 1 + random_below(r, VS_MIB) : 1 + random_below(r, 30 * VS_MIB);
  uint64_t address;
  if (p->live_count == MOST_LIVE) return;
  const vs_status status = vs_alloc_malloc(p->alloc, size, random_below(r, 3), 7, &address);
  note(p, status);
  assert_int_equal(status == VS_OK, address != 0);
  if (address != 0) p->live[p->live_count++] = address;
}

/* A free that fails has freed: the block only waits for longer. */
static void give_back(program *p, test_random *r) {
  if (p->live_count == 0) return;
  const size_t at = random_below(r, p->live_count);
  const vs_status status = vs_alloc_free(p->alloc, p->live[at], 8);
  note(p, status);
  assert_true(status != VS_NOT_FOUND);
  vs_alloc_block_info block;
  assert_false(vs_alloc_find(p->alloc, p->live[at], &block));
  p->live[at] = p->live[--p->live_count];
}

static void pools(program *p, test_random *r) {
  const vs_pool_id id = {0, 1};
  switch (random_below(r, 4)) {
    case 0:
      if (p->is_routed) {
        note(p, vs_alloc_route_end(p->alloc, id, 9));
        note(p, vs_alloc_pool_release(p->alloc, id));
        p->is_routed = false;
      } else {
        const vs_status status = vs_alloc_route_begin(p->alloc, id, is_stream_2, NULL);
        note(p, status);
        p->is_routed = status == VS_OK;
      }
      break;
    case 1: note(p, vs_alloc_pool_use_on_oom(p->alloc, id, random_below(r, 2) == 0)); break;
    case 2: note(p, vs_alloc_empty_cache(p->alloc, id, 9)); break;
    default: note(p, vs_alloc_stream_class(p->alloc, random_below(r, 3), VS_STR("class"))); break;
  }
}

static vs_status ignore_segment(void *ctx, const vs_alloc_segment_info *segment) {
  *(uint64_t *)ctx += segment->size;
  return VS_OK;
}
static vs_status ignore_block(void *ctx, const vs_alloc_block_info *block) {
  *(uint64_t *)ctx -= block->size;
  return VS_OK;
}

static void look(program *p) {
  uint64_t difference = 0;
  const vs_alloc_visitor visitor = {&difference, ignore_segment, ignore_block};
  note(p, vs_alloc_visit(p->alloc, (vs_pool_id){0, 0}, &visitor));
  assert_int_equal(difference, 0);
}

static void toggle(program *p) {
  vs_alloc_settings settings = *vs_alloc_settings_of(p->alloc);
  settings.expandable_segments = !settings.expandable_segments;
  note(p, vs_alloc_settings_apply(p->alloc, &settings));
}

static void step(program *p, test_random *r) {
  const uint64_t dice = random_below(r, 100);
  fake_device *d = &p->device;
  if (dice < 45) allocate(p, r);
  else if (dice < 70) give_back(p, r);
  else if (dice < 80 && p->live_count > 0)
    note(p,
         vs_alloc_record_stream(p->alloc, p->live[random_below(r, p->live_count)], 3 + random_below(r, 3)));
  else if (dice < 84) d->done[3 + random_below(r, 3)] += random_below(r, 3);
  else if (dice < 86) note(p, vs_alloc_empty_cache(p->alloc, (vs_pool_id){0, 0}, 9));
  else if (dice < 94) pools(p, r);
  else if (dice < 96) look(p);
  else if (dice < 97) toggle(p);
  else if (dice < 98 || p->is_capturing) {
    if (p->is_capturing) vs_alloc_capture_end(p->alloc);
    else vs_alloc_capture_begin(p->alloc);
    d->is_capturing = p->is_capturing = !p->is_capturing;
  } else {
    note(p, vs_alloc_poll(p->alloc, 9));
  }
}

/* The invariants, and that the card has given what the allocator thinks it has (a page that could not be
 * released is lost to both). */
static void expect_whole(program *p) {
  const char *broken = vs_alloc_check(p->alloc);
  const vs_alloc_stat reserved =
      vs_alloc_statistics_at(vs_alloc_statistics_of(p->alloc), VS_ALLOC_RESERVED_BYTES, VS_ALLOC_ALL);
  if (broken == NULL && p->device.failing != FAKE_RELEASE && (uint64_t)reserved.current != p->device.used)
    broken = "reserved bytes = what the card has given";
  if (broken == NULL) return;
  print_error("%s (%s, call %d fails at %u)\n", broken, p->settings, (int)p->device.failing,
              (unsigned)p->device.failing_at);
  fail();
}

/* Plays the program; false if not even the allocator could be made. */
static bool play(program *p) {
  test_random random = {42};
  vs_alloc_settings settings;
  const vs_device face = fake_face(&p->device);
  vs_alloc_settings_init(&settings);
  expect_ok(vs_alloc_settings_parse(&settings, vs_str_from(p->settings), NULL));
  p->live_count = 0;
  p->failures = 0;
  p->is_capturing = p->is_routed = false;
  if (vs_alloc_create(p->host, &face, &settings, NULL, NULL, &p->alloc) != VS_OK) return false;
  for (int i = 0; i < OPERATIONS; i++) {
    step(p, &random);
    expect_whole(p);
  }
  return true;
}

static void finish(program *p) {
  vs_alloc_destroy(p->alloc);
  assert_int_equal(p->device.events_alive, 0);
  fake_deinit(&p->device);
}

/* Plays with request `at` failing; how many requests there were. */
static uint64_t play_without(const char *settings, uint64_t at) {
  fault_host fault;
  program p = {.settings = settings, .host = &fault.host};
  fault_host_init(&fault, at);
  fake_init(&p.device, 256 * VS_MIB);
  if (play(&p)) {
    assert_true(p.failures <= (at < fault.requests)); /* a cache may do without memory */
    finish(&p);
  }
  fault_host_expect_empty(&fault);
  return fault.requests;
}

/* The first ones, and fewer and fewer of the others. */
static uint64_t next_to_fail(uint64_t at) { return at + 1 + at / 16; }

static void test_host_memory(void **state) {
  (void)state;
  for (size_t which = 0; which < sizeof programs / sizeof *programs; which++)
    for (uint64_t at = 0; at < play_without(programs[which], at); at = next_to_fail(at)) {
    }
}

static void play_with(const char *settings, fake_call call, uint64_t at, vs_device_result how,
                      uint64_t *calls) {
  fault_host fault;
  program p = {.settings = settings, .host = &fault.host};
  fault_host_init(&fault, FAULT_NEVER);
  fake_init(&p.device, 256 * VS_MIB);
  p.device.failing = call;
  p.device.failing_at = at;
  p.device.how = how;
  assert_true(play(&p));
  if (calls != NULL) memcpy(calls, p.device.calls, sizeof p.device.calls);
  finish(&p);
  fault_host_expect_empty(&fault);
}

static void test_driver(void **state) {
  (void)state;
  uint64_t made[FAKE_CALLS] = {0};
  for (size_t which = 0; which < sizeof programs / sizeof *programs; which++) {
    uint64_t calls[FAKE_CALLS];
    play_with(programs[which], FAKE_CALLS, 0, VS_DEVICE_OK, calls);
    for (int call = 0; call < FAKE_CALLS; call++) made[call] += calls[call];
    for (int call = 0; call < FAKE_CALLS; call++)
      for (uint64_t at = 0; at < calls[call]; at = next_to_fail(at)) {
        play_with(programs[which], (fake_call)call, at, VS_DEVICE_FAILED, NULL);
        if (call == FAKE_ALLOC || call == FAKE_CREATE || call == FAKE_RESERVE)
          play_with(programs[which], (fake_call)call, at, VS_DEVICE_OUT_OF_MEMORY, NULL);
        if (at == 0) play_with(programs[which], (fake_call)call, at, VS_DEVICE_NO_HOST_MEMORY, NULL);
      }
  }
  for (int call = 0; call < FAKE_CALLS; call++) assert_true(made[call] > 0); /* each could fail */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_host_memory),
      cmocka_unit_test(test_driver),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
