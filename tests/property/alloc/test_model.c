/* Random programs on the allocator and on a naive model of it: every address, all statistics and the whole
 * list of blocks are equal after each operation, and vs_alloc_check holds.
 *
 * OPERATIONS in the environment, or the first argument, says how many; SEED where to begin. */
#include "property/alloc/model.h"
#include "support/random.h"
#include "support/test.h"

#include <stdio.h>

enum { OPERATIONS = 100000, MOST_LIVE = 160, CHECK_BLOCKS_EVERY = 16, PROGRAM = 2500 };

static const char *const configurations[] = {
    "",
    "expandable_segments:True",
    "max_split_size_mb:24",
    "max_split_size_mb:30,max_non_split_rounding_mb:60,roundup_power2_divisions:[1:4,4:2,16:8,>:1]",
    "garbage_collection_threshold:0.6,per_process_memory_fraction:0.5",
    "roundup_power2_divisions:4,large_segment_size_mb:12",
    "expandable_segments:True,per_process_memory_fraction:0.7,large_segment_size_mb:32",
    "throw_on_cudamalloc_oom:True,max_split_size_mb:20",
    "expandable_segments:True,roundup_power2_divisions:[2:2,>:4],throw_on_cudamalloc_oom:True",
    "expandable_segments:True,expandable_segments_reserve:0.15",
    "profile:torch-2.6,max_split_size_mb:24",
    "profile:torch-1.13,roundup_power2_divisions:4,roundup_bypass_threshold_mb:8",
    "max_split_size_mb:64,garbage_collection_threshold:0.3,per_process_memory_fraction:0.9",
};
enum { CONFIGURATIONS = sizeof configurations / sizeof *configurations };

typedef struct play {
  test_random random;
  uint64_t seed, operation;
  const char *what; /* the operation that goes on */
  model model;
  fake_device device;
  vs_alloc *alloc;
  uint64_t live[MOST_LIVE];
  size_t live_count;
  uint64_t gift; /* as the model's */
} play;

static void fail_at(const play *p, const char *what, int64_t ours, int64_t models) {
  print_error("seed %llu, operation %llu (%s), settings '%s': %s is %lld, the model has %lld\n",
              (unsigned long long)p->seed, (unsigned long long)p->operation, p->what,
              configurations[p->seed % CONFIGURATIONS], what, (long long)ours, (long long)models);
  fail();
}
static void expect_same(const play *p, const char *what, int64_t ours, int64_t models) {
  if (ours != models) fail_at(p, what, ours, models);
}

/* ---- comparing ----------------------------------------------------------------------------------------- */

static void compare_stat(const play *p, const char *what, vs_alloc_stat ours, vs_alloc_stat models) {
  if (memcmp(&ours, &models, sizeof ours) == 0) return;
  expect_same(p, what, ours.current, models.current);
  expect_same(p, what, ours.peak, models.peak);
  expect_same(p, what, ours.allocated, models.allocated);
  expect_same(p, what, ours.freed, models.freed);
}

static void compare_pools(play *p) {
  const vs_alloc_private *pools;
  uint64_t count, rows = 0;
  expect_ok(vs_alloc_private_pools(p->alloc, &pools, &count));
  for (uint64_t i = 0; i < count; i++)
    for (int part = 0; part < VS_ALLOC_PARTS; part++)
      compare_stat(p, "a private pool", pools[i].reserved[part],
                   p->model.pools[pools[i].id.b].reserved[part]);
  for (int i = 1; i < MODEL_POOLS; i++) rows += p->model.pools[i].has_row;
  expect_same(p, "private pools", (int64_t)count, (int64_t)rows);
}

static void compare_statistics(play *p) {
  static const char *const names[] = {
#define VS_ALLOC_GROUP(name, key, is_bytes, words) key,
#include "alloc/groups.def"
#undef VS_ALLOC_GROUP
  };
  const vs_alloc_statistics *s = vs_alloc_statistics_of(p->alloc);
  const model *m = &p->model;
  for (int group = 0; group < VS_ALLOC_GROUPS; group++)
    for (int part = 0; part < VS_ALLOC_PARTS; part++)
      compare_stat(p, names[group], vs_alloc_statistics_at(s, (vs_alloc_group)group, (vs_alloc_part)part),
                   m->stats[group][part]);
  compare_stat(p, "oversize allocations", s->oversize_allocations, m->oversize_allocations);
  compare_stat(p, "oversize segments", s->oversize_segments, m->oversize_segments);
  expect_same(p, "retries", s->num_alloc_retries, m->retries);
  expect_same(p, "ooms", s->num_ooms, m->ooms);
  expect_same(p, "rejections", s->num_oom_rejections, m->rejections);
  expect_same(p, "syncs", s->num_sync_all_streams, m->syncs);
  expect_same(p, "device allocs", s->num_device_alloc, m->device_allocs);
  expect_same(p, "device frees", s->num_device_free, m->device_frees);
  for (int step = 0; step < VS_ALLOC_STEPS; step++)
    expect_same(p, "a step", (int64_t)s->steps[step], (int64_t)m->steps[step]);
  compare_pools(p);
}

typedef struct walk {
  play *play;
  size_t at; /* the next block of the model that has memory */
  vs_alloc_segment_info segment;
} walk;

static void skip_unmapped(walk *w) {
  while (w->at < w->play->model.count && w->play->model.blocks[w->at].state == MODEL_UNMAPPED) w->at++;
}

static vs_status on_segment(void *ctx, const vs_alloc_segment_info *segment) {
  walk *w = ctx;
  w->segment = *segment;
  return VS_OK;
}

static vs_status on_block(void *ctx, const vs_alloc_block_info *block) {
  walk *w = ctx;
  play *p = w->play;
  skip_unmapped(w);
  if (w->at == p->model.count) fail_at(p, "a block more, at", (int64_t)block->address, 0);
  const model_block *b = &p->model.blocks[w->at++];
  expect_same(p, "a block's address", (int64_t)block->address, (int64_t)b->address);
  expect_same(p, "a block's size", (int64_t)block->size, (int64_t)b->size);
  expect_same(p, "a block's state", block->state,
              b->state == MODEL_USED      ? VS_ALLOC_BLOCK_ALLOCATED
              : b->state == MODEL_PENDING ? VS_ALLOC_BLOCK_PENDING
                                          : VS_ALLOC_BLOCK_FREE);
  if (b->state != MODEL_FREE) expect_same(p, "requested", (int64_t)block->requested, (int64_t)b->requested);
  expect_same(p, "a block's stream", (int64_t)w->segment.stream, (int64_t)b->stream);
  expect_same(p, "a block's pool", (int64_t)w->segment.pool.b, b->pool);
  expect_same(p, "expandable", w->segment.is_expandable, b->is_expandable);
  expect_same(p, "small", w->segment.is_small, b->is_small);
  return VS_OK;
}

static void compare_blocks(play *p) {
  walk w = {.play = p};
  const vs_alloc_visitor visitor = {&w, on_segment, on_block};
  expect_ok(vs_alloc_visit(p->alloc, (vs_pool_id){0, 0}, &visitor));
  skip_unmapped(&w);
  expect_same(p, "the number of blocks", (int64_t)w.at, (int64_t)p->model.count);
  expect_same(p, "the card's used bytes", (int64_t)p->device.used, (int64_t)p->model.device.used);
}

/* ---- operations ---------------------------------------------------------------------------------------- */

static uint64_t any_size(test_random *r) {
  switch (random_below(r, 10)) {
    case 0:
    case 1:
    case 2: return 1 + random_below(r, 8192);
    case 3:
    case 4: return 1 + random_below(r, VS_MIB);
    case 5:
    case 6: return VS_MIB + random_below(r, 9 * VS_MIB);
    case 7: return 10 * VS_MIB + random_below(r, 20 * VS_MIB);
    case 8: return (1 + random_below(r, 60)) * VS_MIB; /* whole numbers make ties */
    default: return UINT64_C(1) << random_below(r, 27);
  }
}

/* The hook: the program may free a block. */
static bool give(void *ctx) {
  play *p = ctx;
  if (p->gift == 0) return false;
  expect_ok(vs_alloc_free(p->alloc, p->gift, VS_CONTEXT_NONE));
  p->gift = 0;
  return true;
}

static void play_malloc(play *p) {
  const uint64_t size = any_size(&p->random), stream = random_below(&p->random, 4);
  uint64_t address;
  if (p->live_count == MOST_LIVE) return;
  p->what = "malloc";
  const size_t offered = p->live_count > 0 ? random_below(&p->random, p->live_count) : 0;
  if (p->live_count > 0 && random_below(&p->random, 8) == 0) p->gift = p->model.gift = p->live[offered];
  const bool offers = p->gift != 0;
  const vs_status status = vs_alloc_malloc(p->alloc, size, stream, VS_CONTEXT_NONE, &address);
  const uint64_t models = model_malloc(&p->model, size, stream);
  expect_same(p, "the address", (int64_t)address, (int64_t)models);
  expect_same(p, "what was offered", (int64_t)p->gift, (int64_t)p->model.gift);
  if (offers && p->gift == 0) p->live[offered] = p->live[--p->live_count];
  p->gift = p->model.gift = 0;
  expect_status(status, models != 0 ? VS_OK : VS_DEVICE_MEMORY);
  if (models != 0) p->live[p->live_count++] = models;
}

static void play_free(play *p) {
  if (p->live_count == 0) return;
  const size_t at = random_below(&p->random, p->live_count);
  const uint64_t address = p->live[at];
  p->what = "free";
  expect_ok(vs_alloc_free(p->alloc, address, VS_CONTEXT_NONE));
  model_free(&p->model, address);
  p->live[at] = p->live[--p->live_count];
}

static void play_record(play *p) {
  if (p->live_count == 0) return;
  const uint64_t address = p->live[random_below(&p->random, p->live_count)];
  p->what = "record_stream";
  expect_ok(vs_alloc_record_stream(p->alloc, address, MODEL_SIDE));
  model_record_stream(&p->model, address);
}

/* The side stream comes on by a few events. */
static void play_time(play *p) {
  fake_device *a = &p->device, *b = &p->model.device;
  p->what = "time";
  expect_same(p, "recorded events", (int64_t)a->recorded[MODEL_SIDE], (int64_t)b->recorded[MODEL_SIDE]);
  const uint64_t done =
      vs_min_u64(a->done[MODEL_SIDE] + random_below(&p->random, 6), a->recorded[MODEL_SIDE]);
  a->done[MODEL_SIDE] = b->done[MODEL_SIDE] = done;
}

static bool is_stream_3(void *ctx, uint64_t stream) {
  (void)ctx;
  return stream == 3;
}

static void play_pool(play *p) {
  const int pool = 1 + (int)random_below(&p->random, MODEL_POOLS - 1);
  const vs_pool_id id = {0, (uint64_t)pool};
  model_pool *mine = &p->model.pools[pool];
  p->what = "pool";
  switch (random_below(&p->random, 6)) {
    case 0:
    case 1: /* requests go there, or no longer */
      if (p->model.route != 0) {
        expect_ok(vs_alloc_route_end(p->alloc, (vs_pool_id){0, (uint64_t)p->model.route}, VS_CONTEXT_NONE));
        expect_ok(vs_alloc_pool_release(p->alloc, (vs_pool_id){0, (uint64_t)p->model.route}));
        p->model.pools[p->model.route].users--;
        p->model.route = 0;
      } else {
        expect_ok(vs_alloc_route_begin(p->alloc, id, is_stream_3, NULL));
        if (!mine->is_alive)
          *mine = (model_pool){.is_alive = true,
                               .has_row = mine->has_row,
                               .reserved = {mine->reserved[0], mine->reserved[1], mine->reserved[2]}};
        mine->users++;
        p->model.route = pool;
      }
      break;
    case 2:
      if (mine->is_alive && random_below(&p->random, 4) == 0) {
        expect_ok(vs_alloc_pool_no_split(p->alloc, id));
        mine->no_split = true;
      }
      break;
    case 3:
      if (p->model.lender != 0)
        expect_ok(vs_alloc_pool_use_on_oom(p->alloc, (vs_pool_id){0, (uint64_t)p->model.lender}, false));
      p->model.lender = 0;
      if (random_below(&p->random, 2) == 0) break;
      expect_ok(vs_alloc_pool_use_on_oom(p->alloc, id, true));
      if (mine->is_alive) p->model.lender = pool;
      break;
    default:
      if (p->model.captures > 0) return;
      expect_ok(vs_alloc_empty_cache(p->alloc, id, VS_CONTEXT_NONE));
      model_release_cached(&p->model, pool);
  }
}

static void play_capture(play *p) {
  p->what = "capture";
  if (p->model.captures > 0) {
    vs_alloc_capture_end(p->alloc);
    p->model.captures--;
  } else if (random_below(&p->random, 4) == 0) {
    vs_alloc_capture_begin(p->alloc);
    p->model.captures++;
  }
  p->device.is_capturing = p->model.captures > 0;
}

static void play_empty(play *p) {
  p->what = "empty_cache";
  expect_ok(vs_alloc_empty_cache(p->alloc, (vs_pool_id){0, 0}, VS_CONTEXT_NONE));
  model_release_cached(&p->model, 0);
}

static void play_setting(play *p) {
  p->what = "settings";
  if (random_below(&p->random, 2) == 0) {
    const double fraction = (double)(4 + random_below(&p->random, 7)) / 10;
    expect_ok(vs_alloc_fraction_set(p->alloc, fraction));
    model_fraction(&p->model, fraction);
    return;
  }
  p->model.settings.expandable_segments = random_below(&p->random, 2) == 0;
  expect_ok(vs_alloc_settings_apply(p->alloc, &p->model.settings));
}

/* All figures of the model that have four metrics. */
static void for_each_stat(model *m, void (*visit)(vs_alloc_stat *stat)) {
  for (int part = 0; part < VS_ALLOC_PARTS; part++) {
    for (int group = 0; group < VS_ALLOC_GROUPS; group++) visit(&m->stats[group][part]);
    for (int pool = 0; pool < MODEL_POOLS; pool++) visit(&m->pools[pool].reserved[part]);
  }
  visit(&m->oversize_allocations);
  visit(&m->oversize_segments);
}
static void reset_peak(vs_alloc_stat *stat) { stat->peak = stat->current; }
static void reset_totals(vs_alloc_stat *stat) { stat->allocated = stat->freed = 0; }

static void play_resets(play *p) {
  model *m = &p->model;
  p->what = "resets";
  if (random_below(&p->random, 2) == 0) {
    vs_alloc_reset_peak(p->alloc);
    for_each_stat(m, reset_peak);
    return;
  }
  vs_alloc_reset_totals(p->alloc);
  for_each_stat(m, reset_totals);
  m->retries = m->ooms = m->rejections = m->syncs = m->device_allocs = m->device_frees = 0;
  memset(m->steps, 0, sizeof m->steps);
}

/* ---- programs ------------------------------------------------------------------------------------------ */

static void play_one(play *p) {
  const uint64_t dice = random_below(&p->random, 1000);
  const bool fills = (p->operation / 400) % 2 == 0; /* live memory comes and goes in waves */
  if (dice < 8) play_capture(p);
  else if (dice < 14) play_empty(p);
  else if (dice < 34) play_pool(p);
  else if (dice < 40) play_setting(p);
  else if (dice < 44) play_resets(p);
  else if (dice < 100) play_record(p);
  else if (dice < 140) play_time(p);
  else if (dice < (fills ? 640U : 500U)) play_malloc(p);
  else play_free(p);
}

static void play_program(uint64_t seed, uint64_t operations) {
  static play p;
  p = (play){.seed = seed, .random = {seed}, .what = "begin"};
  const uint64_t total = (256 + 64 * (seed % 5)) * VS_MIB;
  vs_alloc_settings settings;
  vs_error error;
  vs_alloc_settings_init(&settings);
  expect_ok(vs_alloc_settings_parse(&settings, vs_str_from(configurations[seed % CONFIGURATIONS]), &error));
  model_init(&p.model, &settings, total);
  fake_init(&p.device, total);
  const vs_device face = fake_face(&p.device);
  const vs_alloc_hooks hooks = {.ctx = &p, .free_memory = give};
  expect_ok(vs_alloc_create(vs_host_default(), &face, &settings, NULL, &hooks, &p.alloc));
  for (p.operation = 0; p.operation < operations; p.operation++) {
    play_one(&p);
    compare_statistics(&p);
    if (p.operation % CHECK_BLOCKS_EVERY != 0 && p.operation + 1 != operations) continue;
    const char *broken = vs_alloc_check(p.alloc);
    if (broken != NULL) {
      print_error("%s\n", broken);
      fail_at(&p, "an invariant", 0, 0);
    }
    compare_blocks(&p);
  }
  vs_alloc_destroy(p.alloc);
  expect_same(&p, "events left", (int64_t)p.device.events_alive, 0);
  fake_deinit(&p.device);
  model_deinit(&p.model);
}

static uint64_t number_from(const char *text, uint64_t fallback) {
  uint64_t number;
  return text != NULL && vs_parse_u64(vs_str_from(text), &number) ? number : fallback;
}

static const char *first_argument;

static void test_programs(void **state) {
  (void)state;
  const char *text = first_argument != NULL ? first_argument : getenv("OPERATIONS");
  const uint64_t operations = number_from(text, OPERATIONS), seed = number_from(getenv("SEED"), 0);
  for (uint64_t done = 0, i = 0; done < operations; done += PROGRAM, i++) play_program(seed + i, PROGRAM);
}

int main(int argc, char **argv) {
  if (argc > 1) first_argument = argv[1];
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
