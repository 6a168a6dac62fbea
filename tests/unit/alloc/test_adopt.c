/* An allocator that takes over what another one has goes on as that one does. */
#include "alloc/adopt.h"
#include "analyze/replay_device.h"
#include "base/sort.h"
#include "support/random.h"
#include "support/test.h"

enum { MOST = 4096, STREAMS = 3 };

/* An allocator on a device of its own. */
typedef struct side {
  vs_replay_device device;
  vs_alloc *alloc;
} side;

static void side_begin(side *s, const vs_alloc_settings *settings) {
  expect_ok(vs_replay_device_init(vs_host_default(), &s->device));
  const vs_device device = {
      .ops = &vs_replay_device_ops, .ctx = &s->device, .total_bytes = UINT64_C(1) << 33};
  expect_ok(vs_alloc_create(vs_host_default(), &device, settings, NULL, NULL, &s->alloc));
}

static void side_end(side *s) {
  vs_alloc_destroy(s->alloc);
  vs_replay_device_deinit(&s->device);
}

/* ---- what there is ------------------------------------------------------------------------------------- */

typedef struct picture {
  vs_alloc_segment_info segments[MOST];
  size_t first_block[MOST + 1];
  vs_alloc_block_info blocks[MOST];
  size_t segment_count, block_count;
} picture;

static vs_status take_segment(void *ctx, const vs_alloc_segment_info *segment) {
  picture *p = ctx;
  p->first_block[p->segment_count] = p->block_count;
  p->segments[p->segment_count++] = *segment;
  p->first_block[p->segment_count] = p->block_count;
  assert_true(p->segment_count < MOST);
  return VS_OK;
}

static vs_status take_block(void *ctx, const vs_alloc_block_info *block) {
  picture *p = ctx;
  p->blocks[p->block_count++] = *block;
  p->first_block[p->segment_count] = p->block_count;
  assert_true(p->block_count < MOST);
  return VS_OK;
}

static void look(const side *s, picture *p) {
  const vs_alloc_visitor visitor = {.ctx = p, .segment = take_segment, .block = take_block};
  p->segment_count = p->block_count = 0;
  expect_ok(vs_alloc_visit(s->alloc, (vs_pool_id){0, 0}, &visitor));
}

static void expect_alike(const side *left, const side *right) {
  static picture a, b;
  look(left, &a);
  look(right, &b);
  assert_int_equal(a.segment_count, b.segment_count);
  assert_int_equal(a.block_count, b.block_count);
  for (size_t i = 0; i < a.segment_count; i++) {
    assert_int_equal(a.segments[i].address, b.segments[i].address);
    assert_int_equal(a.segments[i].size, b.segments[i].size);
    assert_int_equal(a.segments[i].stream, b.segments[i].stream);
    assert_int_equal(a.segments[i].allocated, b.segments[i].allocated);
    assert_int_equal(a.segments[i].is_small, b.segments[i].is_small);
    assert_int_equal(a.segments[i].is_expandable, b.segments[i].is_expandable);
    assert_true(vs_pool_id_equal(a.segments[i].pool, b.segments[i].pool));
  }
  for (size_t i = 0; i < a.block_count; i++) {
    assert_int_equal(a.blocks[i].address, b.blocks[i].address);
    assert_int_equal(a.blocks[i].size, b.blocks[i].size);
    assert_int_equal(a.blocks[i].state, b.blocks[i].state);
    if (a.blocks[i].state == VS_ALLOC_BLOCK_ALLOCATED)
      assert_int_equal(a.blocks[i].requested, b.blocks[i].requested);
  }
  const vs_alloc_statistics *x = vs_alloc_statistics_of(left->alloc),
                            *y = vs_alloc_statistics_of(right->alloc);
  for (int part = 0; part < VS_ALLOC_PARTS; part++)
    for (int group = 0; group < VS_ALLOC_GROUPS; group++)
      assert_int_equal(x->part[part].current[group], y->part[part].current[group]);
  assert_int_equal(x->oversize_allocations.current, y->oversize_allocations.current);
  assert_int_equal(x->oversize_segments.current, y->oversize_segments.current);
}

/* ---- taking it over ------------------------------------------------------------------------------------ */

/* The reserve that a run lies in: a range of the device's. */
static vs_replay_range reserve_around(const side *s, uint64_t address) {
  for (size_t i = 0; i < s->device.ranges.count; i++) {
    const vs_replay_range range = s->device.ranges.data[i];
    if (range.size > 0 && range.address <= address && address - range.address < range.size) return range;
  }
  fail_msg("no range has %llx", (unsigned long long)address);
  return (vs_replay_range){0};
}

static void adopt_all(const side *from, side *to) {
  static picture p;
  vs_sort_pair order[MOST];
  look(from, &p);
  for (size_t i = 0; i < p.segment_count; i++)
    order[i] = (vs_sort_pair){(uint64_t)p.segments[i].registration, (uint32_t)i};
  expect_ok(vs_sort_pairs(vs_host_default(), order, p.segment_count));
  for (size_t n = 0; n < p.segment_count; n++) {
    const size_t i = order[n].value;
    const vs_replay_range range = reserve_around(from, p.segments[i].address);
    vs_alloc_adopted adopted = {.segment = p.segments[i],
                                .blocks = &p.blocks[p.first_block[i]],
                                .block_count = p.first_block[i + 1] - p.first_block[i],
                                .reserve_address = range.address,
                                .reserve_size = range.size};
    if (vs_map_find(&to->device.by_address, range.address) == VS_MAP_NONE)
      expect_ok(vs_replay_device_put(&to->device, range.address, range.size, 0));
    to->device.used += p.segments[i].size;
    expect_ok(vs_alloc_adopt_segment(to->alloc, &adopted));
    assert_null(vs_alloc_check(to->alloc));
  }
}

/* ---- random programs ----------------------------------------------------------------------------------- */

typedef struct live {
  uint64_t addresses[MOST / 4];
  size_t count;
} live;

static uint64_t draw_size(test_random *random) {
  static const uint64_t tops[] = {4096, VS_MIB, 12 * VS_MIB, 70 * VS_MIB};
  return 1 + random_below(random, tops[random_below(random, 4)]);
}

/* The same step on both sides, if there is another one. */
static void step(test_random *random, live *blocks, side *one, side *other) {
  uint64_t address, same;
  const uint64_t what = random_below(random, 100);
  if (what == 0) {
    expect_ok(vs_alloc_empty_cache(one->alloc, (vs_pool_id){0, 0}, VS_CONTEXT_NONE));
    if (other != NULL) expect_ok(vs_alloc_empty_cache(other->alloc, (vs_pool_id){0, 0}, VS_CONTEXT_NONE));
  } else if (blocks->count == MOST / 4 || (what < 45 && blocks->count > 0)) {
    const size_t at = (size_t)random_below(random, blocks->count);
    address = blocks->addresses[at];
    blocks->addresses[at] = blocks->addresses[--blocks->count];
    expect_ok(vs_alloc_free(one->alloc, address, VS_CONTEXT_NONE));
    if (other != NULL) expect_ok(vs_alloc_free(other->alloc, address, VS_CONTEXT_NONE));
  } else {
    const uint64_t size = draw_size(random), stream = random_below(random, STREAMS);
    expect_ok(vs_alloc_malloc(one->alloc, size, stream, VS_CONTEXT_NONE, &address));
    blocks->addresses[blocks->count++] = address;
    if (other == NULL) return;
    expect_ok(vs_alloc_malloc(other->alloc, size, stream, VS_CONTEXT_NONE, &same));
    assert_int_equal(address, same);
  }
}

static void go_on_alike(const char *text, uint64_t seed) {
  vs_alloc_settings settings;
  vs_error error;
  side one, other;
  live blocks = {.count = 0};
  test_random random = {.state = seed};
  vs_alloc_settings_init(&settings);
  expect_ok(vs_alloc_settings_parse(&settings, vs_str_from(text), &error));
  side_begin(&one, &settings);
  side_begin(&other, &settings);
  for (int i = 0; i < 200; i++) step(&random, &blocks, &one, NULL);
  adopt_all(&one, &other);
  expect_alike(&one, &other);
  for (int i = 0; i < 200; i++) step(&random, &blocks, &one, &other);
  expect_alike(&one, &other);
  assert_null(vs_alloc_check(other.alloc));
  side_end(&other);
  side_end(&one);
}

static void test_both_go_on_alike(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 12; seed++) {
    go_on_alike("", seed);
    go_on_alike("profile:torch-2.6", seed);
    go_on_alike("expandable_segments:True", seed);
    go_on_alike("max_split_size_mb:20,roundup_power2_divisions:4", seed);
  }
}

/* ---- what is refused ----------------------------------------------------------------------------------- */

static vs_alloc_block_info block(uint64_t address, uint64_t size, vs_alloc_block_state state) {
  return (vs_alloc_block_info){
      .address = address, .size = size, .requested = size, .state = state, .context = VS_CONTEXT_NONE};
}

static void test_what_makes_no_sense_is_refused(void **state) {
  (void)state;
  const uint64_t at = 0x40000000;
  vs_alloc_settings settings;
  side s;
  vs_alloc_settings_init(&settings);
  side_begin(&s, &settings);
  vs_alloc_block_info blocks[3] = {block(at, 512, VS_ALLOC_BLOCK_ALLOCATED),
                                   block(at + 512, 1024, VS_ALLOC_BLOCK_FREE),
                                   block(at + 1536, 512, VS_ALLOC_BLOCK_ALLOCATED)};
  vs_alloc_adopted adopted = {
      .segment = {.address = at, .size = 2048, .is_small = true}, .blocks = blocks, .block_count = 3};
#define REFUSED(change, undo)                                                \
  change;                                                                    \
  expect_status(vs_alloc_adopt_segment(s.alloc, &adopted), VS_BAD_ARGUMENT); \
  undo
  REFUSED(blocks[1].size = 512, blocks[1].size = 1024);      /* a gap */
  REFUSED(blocks[2].size = 1024, blocks[2].size = 512);      /* sticks out */
  REFUSED(blocks[1].size = 0, blocks[1].size = 1024);        /* empty */
  REFUSED(adopted.block_count = 2, adopted.block_count = 3); /* not all of it */
  REFUSED(blocks[2].state = VS_ALLOC_BLOCK_FREE,
          blocks[2].state = VS_ALLOC_BLOCK_ALLOCATED); /* two free ones */
  REFUSED(blocks[2].state = VS_ALLOC_BLOCK_PENDING, blocks[2].state = VS_ALLOC_BLOCK_ALLOCATED);
  REFUSED(adopted.segment.size = 2000, adopted.segment.size = 2048); /* no multiple of 512 */
  REFUSED(adopted.segment.is_expandable = true, adopted.segment.is_expandable = false); /* no reserve */
#undef REFUSED
  adopted.segment.pool = (vs_pool_id){0, 1};
  expect_status(vs_alloc_adopt_segment(s.alloc, &adopted), VS_NOT_FOUND);
  adopted.segment.pool = (vs_pool_id){0, 0};
  expect_ok(vs_alloc_adopt_segment(s.alloc, &adopted));
  expect_status(vs_alloc_adopt_segment(s.alloc, &adopted), VS_BAD_ARGUMENT); /* it is there */
  assert_null(vs_alloc_check(s.alloc));
  uint64_t address;
  expect_ok(vs_alloc_malloc(s.alloc, 900, 0, VS_CONTEXT_NONE, &address));
  assert_int_equal(address, at + 512);
  side_end(&s);
}

/* Runs of one reserve, the higher first; and what does not fit into it. */
static void test_runs_share_a_reserve(void **state) {
  (void)state;
  const uint64_t base = 0x40000000, page = 2 * VS_MIB;
  vs_alloc_settings settings;
  side s;
  vs_alloc_settings_init(&settings);
  settings.expandable_segments = true;
  side_begin(&s, &settings);
  expect_ok(vs_replay_device_put(&s.device, base, 8 * page, 3 * page));
  vs_alloc_block_info run = block(base + 4 * page, page, VS_ALLOC_BLOCK_FREE);
  vs_alloc_adopted adopted = {
      .segment = {.address = run.address, .size = page, .is_small = true, .is_expandable = true},
      .blocks = &run,
      .block_count = 1,
      .reserve_address = base,
      .reserve_size = 8 * page};
  expect_ok(vs_alloc_adopt_segment(s.alloc, &adopted));
  run.address = adopted.segment.address = base + 3 * page; /* touches it: they would be one */
  expect_status(vs_alloc_adopt_segment(s.alloc, &adopted), VS_BAD_ARGUMENT);
  run.address = adopted.segment.address = base + 8 * page; /* behind the reserve */
  expect_status(vs_alloc_adopt_segment(s.alloc, &adopted), VS_BAD_ARGUMENT);
  run.address = adopted.segment.address = base + page / 2; /* no whole page */
  expect_status(vs_alloc_adopt_segment(s.alloc, &adopted), VS_BAD_ARGUMENT);
  run = block(base, 2 * page, VS_ALLOC_BLOCK_ALLOCATED);
  adopted.segment.address = base;
  adopted.segment.size = 2 * page;
  expect_ok(vs_alloc_adopt_segment(s.alloc, &adopted));
  assert_null(vs_alloc_check(s.alloc));

  /* Giving all back ends the reserve: it was one. */
  expect_ok(vs_alloc_free(s.alloc, base, VS_CONTEXT_NONE));
  expect_ok(vs_alloc_empty_cache(s.alloc, (vs_pool_id){0, 0}, VS_CONTEXT_NONE));
  assert_int_equal(s.device.used, 0);
  assert_int_equal(s.device.by_address.count, 0);
  side_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_both_go_on_alike),
      cmocka_unit_test(test_what_makes_no_sense_is_refused),
      cmocka_unit_test(test_runs_share_a_reserve),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
