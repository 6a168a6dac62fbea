/* Thousands of random calls by two processes on one small card, against a model that keeps a plain list and
 * searches it from end to end: the answer of every call, every address, what any address belongs to, and
 * every byte of the account. */
#include "support/random.h"
#include "unit/device/sim/machine.h"

#define GRANULE VS_SIM_GRANULE
#define WINDOW  VS_SIM_WINDOW_BASE
#define TOTAL   (CONTEXT * 2 + 150 * GRANULE)

enum { STEPS = 15000, MOST_THINGS = 400 };

typedef enum thing_kind { BIG, SMALL, MANAGED, HOST, RESERVATION, PHYSICAL, MAPPING } thing_kind;

typedef struct thing {
  thing_kind kind;
  uint64_t base, size; /* PHYSICAL: its handle */
  uint64_t physical;   /* MAPPING: the handle of what is mapped */
  uint32_t refs;       /* PHYSICAL */
} thing;

/* What one process has, in no order. */
typedef struct model {
  thing things[MOST_THINGS];
  uint32_t count;
  bool has_context;
} model;

static machine m;
static model models[2];
static test_random random_state;

static uint64_t dice(uint64_t bound) { return random_below(&random_state, bound); }

static uint64_t up(uint64_t size, uint64_t unit) { return (size + unit - 1) / unit * unit; }

/* ---- the model ----------------------------------------------------------------------------------------- */

static bool meets(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size) {
  return a < b + b_size && b < a + a_size;
}

/* The addresses that a thing takes away from others of its region. */
static bool footprint(const thing *t, thing_kind region, uint64_t *base, uint64_t *size) {
  *base = t->base;
  *size = t->size;
  if (region == RESERVATION || region == SMALL) {
    *size = up(t->size, region == SMALL ? 512 : GRANULE);
    return t->kind == region;
  }
  if (t->kind == SMALL) *base = t->base / GRANULE * GRANULE;
  *size = t->kind == SMALL ? GRANULE : up(t->size, GRANULE);
  return t->kind == BIG || t->kind == MANAGED || t->kind == SMALL;
}

static bool is_taken(const model *p, thing_kind region, uint64_t at, uint64_t size) {
  uint64_t base, taken;
  for (uint32_t i = 0; i < p->count; i++)
    if (footprint(&p->things[i], region, &base, &taken) && meets(at, size, base, taken)) return true;
  return false;
}

/* The lowest free address: the region's beginning, or right behind something. */
static uint64_t lowest(const model *p, thing_kind region, uint64_t begin, uint64_t end, uint64_t size) {
  uint64_t best = UINT64_MAX, base, taken;
  for (uint32_t i = 0; i <= p->count; i++) {
    uint64_t at = begin;
    if (i > 0) {
      if (!footprint(&p->things[i - 1], region, &base, &taken)) continue;
      at = base + taken;
    }
    if (at >= begin && at + size <= end && at < best && !is_taken(p, region, at, size)) best = at;
  }
  return best;
}

static uint64_t lowest_in_shared(const model *p, uint64_t size) {
  uint64_t best = UINT64_MAX;
  for (uint32_t i = 0; i < p->count; i++) {
    if (p->things[i].kind != SMALL) continue;
    const uint64_t granule = p->things[i].base / GRANULE * GRANULE;
    const uint64_t at = lowest(p, SMALL, granule, granule + GRANULE, size);
    if (at < best) best = at;
  }
  return best;
}

static uint64_t charge_of(const model *p) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < p->count; i++) {
    const thing *t = &p->things[i];
    if (t->kind == BIG) sum += up(t->size, GRANULE);
    if (t->kind == PHYSICAL) sum += t->size;
    if (t->kind != SMALL) continue;
    bool is_first = true; /* of its granule */
    for (uint32_t k = 0; k < i; k++)
      if (p->things[k].kind == SMALL && p->things[k].base / GRANULE == t->base / GRANULE) is_first = false;
    if (is_first) sum += GRANULE;
  }
  return sum;
}

static uint64_t free_of_card(void) {
  uint64_t used = 0;
  for (int i = 0; i < 2; i++) used += charge_of(&models[i]) + (models[i].has_context ? CONTEXT : 0);
  return TOTAL - used;
}

static thing *add(model *p, thing_kind kind, uint64_t base, uint64_t size) {
  p->things[p->count] = (thing){.kind = kind, .base = base, .size = size};
  return &p->things[p->count++];
}

static void drop(model *p, const thing *t) { p->things[t - p->things] = p->things[--p->count]; }

static thing *with(model *p, thing_kind kind, uint64_t base) {
  for (uint32_t i = 0; i < p->count; i++)
    if (p->things[i].kind == kind && p->things[i].base == base) return &p->things[i];
  return NULL;
}

/* Any of a kind; NULL if there is none. */
static thing *any(model *p, thing_kind kind) {
  const uint32_t first = p->count == 0 ? 0 : (uint32_t)dice(p->count);
  for (uint32_t i = 0; i < p->count; i++) {
    thing *t = &p->things[(first + i) % p->count];
    if (t->kind == kind) return t;
  }
  return NULL;
}

static uint32_t mappings_of(const model *p, uint64_t handle) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < p->count; i++)
    count += p->things[i].kind == MAPPING && p->things[i].physical == handle;
  return count;
}

static void drop_unheld(model *p, uint64_t handle) {
  const thing *t = with(p, PHYSICAL, handle);
  if (t->refs == 0 && mappings_of(p, handle) == 0) drop(p, t);
}

static bool needs_context(model *p) {
  if (!p->has_context && free_of_card() < CONTEXT) return false;
  p->has_context = true;
  return true;
}

/* ---- calls --------------------------------------------------------------------------------------------- */

static uint64_t some_size(void) {
  switch (dice(8)) {
    case 0: return 0;
    case 1: return UINT64_MAX - dice(4 * GRANULE);
    case 2: return UINT64_C(1) << dice(64);
    case 3: return 1 + dice(MIB + 2);
    case 4: return 1 + dice(4096);
    default: return 1 + dice(9 * MIB);
  }
}

static void play_alloc(vs_sim *sim, model *p) {
  const uint64_t size = some_size();
  uint64_t got = 1;
  const vs_sim_error error = vs_sim_alloc(sim, 0, size, &got);
  if (size == 0) {
    expect_sim(error, VS_SIM_INVALID_VALUE);
    return;
  }
  uint64_t wanted = UINT64_MAX, cost = 0;
  const bool has_context = needs_context(p), is_small = size <= MIB;
  if (has_context && is_small) wanted = lowest_in_shared(p, up(size, 512));
  if (has_context && wanted == UINT64_MAX && size <= TOTAL) {
    cost = is_small ? GRANULE : up(size, GRANULE);
    wanted = lowest(p, BIG, WINDOW, WINDOW + VS_SIM_WINDOW_SIZE, cost);
  }
  if (wanted == UINT64_MAX || cost > free_of_card()) {
    expect_sim(error, VS_SIM_OUT_OF_MEMORY);
    assert_int_equal(got, 1);
    return;
  }
  expect_sim_ok(error);
  assert_int_equal(got, wanted);
  (void)add(p, is_small ? SMALL : BIG, got, size);
}

static void play_managed(vs_sim *sim, model *p) {
  const uint64_t size = some_size();
  uint64_t got = 1, wanted = UINT64_MAX;
  const vs_sim_error error = vs_sim_managed_alloc(sim, 0, size, &got);
  if (size == 0) {
    expect_sim(error, VS_SIM_INVALID_VALUE);
    return;
  }
  if (needs_context(p) && size <= VS_SIM_WINDOW_SIZE)
    wanted = lowest(p, BIG, WINDOW, WINDOW + VS_SIM_WINDOW_SIZE, up(size, GRANULE));
  expect_sim(error, wanted == UINT64_MAX ? VS_SIM_OUT_OF_MEMORY : VS_SIM_OK);
  if (error != VS_SIM_OK) return;
  assert_int_equal(got, wanted);
  (void)add(p, MANAGED, got, size);
}

static void play_free(vs_sim *sim, model *p) {
  static const thing_kind kinds[] = {BIG, SMALL, SMALL, BIG, MANAGED, MANAGED, HOST, MAPPING};
  const thing_kind kind = kinds[dice(8)];
  const thing *t = any(p, kind);
  if (t == NULL) return;
  vs_sim_range was;
  if (dice(4) == 0) expect_sim(vs_sim_free(sim, t->base + 1 + dice(t->size), NULL), VS_SIM_INVALID_VALUE);
  if (kind != BIG && kind != SMALL && kind != MANAGED) {
    expect_sim(vs_sim_free(sim, t->base, NULL), VS_SIM_INVALID_VALUE);
    return;
  }
  expect_sim_ok(vs_sim_free(sim, t->base, &was));
  assert_int_equal(was.size, t->size);
  const uint64_t base = t->base;
  drop(p, t);
  expect_sim(vs_sim_free(sim, base, NULL), VS_SIM_INVALID_VALUE);
}

static void play_host(vs_sim *sim, model *p) {
  const uint64_t address = UINT64_C(0x7f0000000000) + dice(64) * 4096, size = 1 + dice(5 * 4096);
  bool is_free = true;
  for (uint32_t i = 0; i < p->count; i++)
    if (p->things[i].kind == HOST && meets(address, size, p->things[i].base, p->things[i].size))
      is_free = false;
  const thing *known = with(p, HOST, address);
  if (dice(2) == 0) {
    expect_sim(vs_sim_host_remove(sim, address, NULL),
               known == NULL ? VS_SIM_HOST_MEMORY_NOT_REGISTERED : VS_SIM_OK);
    if (known != NULL) drop(p, known);
    return;
  }
  expect_sim(vs_sim_host_add(sim, address, size, 0, 0),
             is_free ? VS_SIM_OK : VS_SIM_HOST_MEMORY_ALREADY_REGISTERED);
  if (is_free) (void)add(p, HOST, address, size);
}

static void play_reserve(vs_sim *sim, model *p) {
  const uint64_t size = (1 + dice(12)) * GRANULE;
  uint64_t got;
  expect_sim_ok(vs_sim_reserve(sim, size, 0, 0, &got));
  assert_int_equal(got, lowest(p, RESERVATION, VS_SIM_RESERVED_BASE, VS_SIM_RESERVED_END, size));
  (void)add(p, RESERVATION, got, size);
}

static void play_unreserve(vs_sim *sim, model *p) {
  const thing *t = any(p, RESERVATION);
  if (t == NULL) return;
  bool is_mapped = false;
  for (uint32_t i = 0; i < p->count; i++)
    if (p->things[i].kind == MAPPING && meets(t->base, t->size, p->things[i].base, p->things[i].size))
      is_mapped = true;
  expect_sim(vs_sim_unreserve(sim, t->base, t->size + GRANULE), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_unreserve(sim, t->base, t->size), is_mapped ? VS_SIM_INVALID_VALUE : VS_SIM_OK);
  if (!is_mapped) drop(p, t);
}

static void play_create(vs_sim *sim, model *p) {
  const uint64_t size = dice(6) * GRANULE;
  uint64_t handle = 0;
  const vs_sim_error error = vs_sim_physical_create(sim, 0, size, 0, &handle);
  if (size == 0) {
    expect_sim(error, VS_SIM_INVALID_VALUE);
    return;
  }
  const bool is_enough = needs_context(p) && size <= free_of_card();
  expect_sim(error, is_enough ? VS_SIM_OK : VS_SIM_OUT_OF_MEMORY);
  if (!is_enough) return;
  assert_null(with(p, PHYSICAL, handle));
  add(p, PHYSICAL, handle, size)->refs = 1;
}

static void play_release(vs_sim *sim, model *p) {
  thing *t = any(p, PHYSICAL);
  if (t == NULL) return;
  const uint64_t handle = t->base;
  expect_sim(vs_sim_physical_release(sim, handle), t->refs > 0 ? VS_SIM_OK : VS_SIM_INVALID_VALUE);
  if (t->refs > 0) t->refs--;
  drop_unheld(p, handle);
}

static void play_retain(vs_sim *sim, model *p) {
  const thing *t = any(p, MAPPING);
  uint64_t handle;
  if (t == NULL) return;
  expect_sim_ok(vs_sim_physical_retain(sim, t->base + dice(t->size), &handle));
  assert_int_equal(handle, t->physical);
  with(p, PHYSICAL, handle)->refs++;
}

static void play_map(vs_sim *sim, model *p) {
  const thing *where = any(p, RESERVATION), *what = any(p, PHYSICAL);
  if (where == NULL || what == NULL) return;
  const uint64_t offset = dice(12) * GRANULE, address = where->base + offset;
  const uint64_t size = dice(8) == 0 ? what->size + GRANULE : what->size;
  bool is_lawful = what->refs > 0 && size == what->size && offset + size <= where->size;
  for (uint32_t i = 0; i < p->count; i++)
    if (p->things[i].kind == MAPPING && meets(address, size, p->things[i].base, p->things[i].size))
      is_lawful = false;
  /* An offset beyond this reservation may hit the next one, and be lawful there. */
  if (offset >= where->size) return;
  expect_sim(vs_sim_map(sim, address, size, 0, what->base), is_lawful ? VS_SIM_OK : VS_SIM_INVALID_VALUE);
  if (is_lawful) add(p, MAPPING, address, size)->physical = what->base;
}

/* A mapping, and perhaps those that follow it without a gap. */
static void play_unmap(vs_sim *sim, model *p) {
  const thing *t = any(p, MAPPING);
  if (t == NULL) return;
  const uint64_t first = t->base;
  uint64_t end = first + t->size;
  for (uint64_t more = dice(3); more > 0; more--) {
    const thing *next = with(p, MAPPING, end);
    if (next != NULL) end += next->size;
  }
  if (t->size > GRANULE) {
    expect_sim(vs_sim_unmap(sim, first, end - first - GRANULE),
               with(p, MAPPING, end - GRANULE) != NULL ? VS_SIM_OK : VS_SIM_INVALID_VALUE);
    if (with(p, MAPPING, end - GRANULE) != NULL) end -= GRANULE;
    else expect_sim_ok(vs_sim_unmap(sim, first, end - first));
  } else {
    expect_sim_ok(vs_sim_unmap(sim, first, end - first));
  }
  for (uint64_t at = first; at < end;) {
    const thing copy = *with(p, MAPPING, at);
    drop(p, with(p, MAPPING, at));
    drop_unheld(p, copy.physical);
    at += copy.size;
  }
}

/* ---- questions ----------------------------------------------------------------------------------------- */

static void expect_found(const vs_sim *sim, const model *p, uint64_t address) {
  static const vs_sim_range_kind kinds[] = {[BIG] = VS_SIM_RANGE_DEVICE,
                                            [SMALL] = VS_SIM_RANGE_DEVICE,
                                            [MANAGED] = VS_SIM_RANGE_MANAGED,
                                            [HOST] = VS_SIM_RANGE_HOST,
                                            [MAPPING] = VS_SIM_RANGE_MAPPING};
  const vs_sim_range *range = vs_sim_find(sim, address);
  for (uint32_t i = 0; i < p->count; i++) {
    const thing *t = &p->things[i];
    if (t->kind == RESERVATION || t->kind == PHYSICAL || address - t->base >= t->size) continue;
    assert_non_null(range);
    assert_int_equal(range->base, t->base);
    assert_int_equal(range->size, t->size);
    assert_int_equal(range->kind, kinds[t->kind]);
    return;
  }
  assert_null(range);
}

static void expect_account(const vs_sim *sim, const model *p) {
  uint64_t free_bytes = free_of_card();
  assert_int_equal(held(sim, 0), charge_of(p));
  assert_int_equal(vs_sim_machine_free_bytes(&m.machine, 0), free_bytes);
  assert_true(vs_sim_machine_check(&m.machine));
}

/* ---- the play ------------------------------------------------------------------------------------------ */

static void step(vs_sim *sim, model *p, bool grows) {
  if (p->count > MOST_THINGS - 2) grows = false;
  switch (dice(12)) {
    case 0:
    case 1:
    case 2: (grows ? play_alloc : play_free)(sim, p); break;
    case 3: (grows ? play_alloc : play_managed)(sim, p); break;
    case 4: (grows ? play_managed : play_free)(sim, p); break;
    case 5: play_host(sim, p); break;
    case 6: (grows ? play_reserve : play_unreserve)(sim, p); break;
    case 7: (grows ? play_create : play_release)(sim, p); break;
    case 8: (grows ? play_map : play_unmap)(sim, p); break;
    case 9: play_map(sim, p); break;
    case 10: (grows ? play_retain : play_release)(sim, p); break;
    default: play_free(sim, p); break;
  }
}

static void play(uint64_t seed) {
  random_state = (test_random){seed};
  machine_begin(&m, 1, TOTAL);
  vs_sim *sims[] = {process_begin(&m, 7), process_begin(&m, 8)};
  memset(models, 0, sizeof models);
  for (uint32_t i = 0; i < STEPS; i++) {
    const uint64_t who = dice(2);
    vs_sim *sim = sims[who];
    model *p = &models[who];
    step(sim, p, i / 400 % 2 == 0);
    expect_account(sim, p);
    if (p->count > 0) {
      const thing *t = &p->things[dice(p->count)];
      expect_found(sim, p, t->base + dice(t->size + 2 * GRANULE) - GRANULE);
      expect_found(sim, p, t->base + dice(t->size));
    }
    if (i % 16 == 0) assert_true(vs_sim_check(sim));
    if (i % 1500 != 1499) continue;
    expect_sim_ok(vs_sim_device_reset(sim, 0)); /* reservations and host memory stay */
    for (uint32_t k = p->count; k-- > 0;)
      if (p->things[k].kind != HOST && p->things[k].kind != RESERVATION) drop(p, &p->things[k]);
    p->has_context = false;
    expect_account(sim, p);
  }
  machine_end(&m);
}

static void all_calls_against_a_list(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 4; seed++) play(seed);
}

/* ---- pools --------------------------------------------------------------------------------------------- */

/* Which piece a pool gives is its own affair. What must hold: pieces do not meet, a pool's figures are the
 * sums, it never holds more than it may, and after a synchronisation not more than it must. */
enum { POOLS = 3, MOST_PIECES = 120, POOL_STEPS = 8000 };

typedef struct piece {
  uint64_t base, size;
  int pool;
} piece;

typedef struct pool_play {
  piece pieces[MOST_PIECES];
  uint32_t count;
  uint64_t pools[POOLS];
  uint64_t used[POOLS], threshold[POOLS];
} pool_play;

static void expect_apart(const pool_play *p, uint64_t base, uint64_t size) {
  for (uint32_t i = 0; i < p->count; i++)
    assert_false(meets(base, up(size, 512), p->pieces[i].base, up(p->pieces[i].size, 512)));
}

static uint64_t pool_figure(const vs_sim *sim, uint64_t pool, vs_sim_pool_attribute attribute) {
  uint64_t value = 0;
  expect_sim_ok(vs_sim_pool_get(sim, pool, attribute, &value));
  return value;
}

static void pool_alloc(vs_sim *sim, pool_play *p) {
  const int pool = (int)dice(POOLS);
  const uint64_t size = dice(3) == 0 ? 1 + dice(50 * MIB) : 1 + dice(3 * MIB);
  uint64_t base = 0;
  if (p->count == MOST_PIECES) return;
  const vs_sim_error error = vs_sim_pool_alloc(sim, p->pools[pool], size, &base);
  if (error != VS_SIM_OK) {
    expect_sim(error, VS_SIM_OUT_OF_MEMORY);
    if (pool != 2)
      assert_true(vs_sim_machine_free_bytes(&m.machine, 0) < up(size, GRANULE)); /* it really is full */
    return;
  }
  expect_apart(p, base, size);
  p->pieces[p->count++] = (piece){base, size, pool};
  p->used[pool] += up(size, 512);
}

static void pool_free(vs_sim *sim, pool_play *p) {
  if (p->count == 0) return;
  piece *t = &p->pieces[dice(p->count)];
  const bool is_ordered = dice(8) != 0;
  expect_sim_ok(is_ordered ? vs_sim_pool_free(sim, t->base) : vs_sim_free(sim, t->base, NULL));
  expect_sim(vs_sim_pool_free(sim, t->base), VS_SIM_INVALID_VALUE);
  p->used[t->pool] -= up(t->size, 512);
  *t = p->pieces[--p->count];
}

/* No chunk that is wholly free stays beyond the threshold. */
static void pool_synchronize(vs_sim *sim, const pool_play *p) {
  vs_sim_pools_synchronize(sim, 0);
  for (int i = 0; i < POOLS; i++) {
    const vs_sim_pool *pool = vs_sim_pool_find(sim, p->pools[i]);
    if (p->threshold[i] == 0) assert_int_equal(pool->idle, 0);
    if (pool->reserved == pool->idle) assert_true(pool->reserved < p->threshold[i] + 2 * VS_SIM_POOL_CHUNK);
  }
}

static void pool_configure(vs_sim *sim, pool_play *p) {
  const uint64_t i = dice(POOLS), value = dice(2) * dice(6) * 16 * MIB;
  expect_sim_ok(vs_sim_pool_set(sim, p->pools[i], VS_SIM_POOL_RELEASE_THRESHOLD, value));
  p->threshold[i] = value;
  if (dice(4) == 0) expect_sim_ok(vs_sim_pool_trim(sim, p->pools[i], dice(100 * MIB)));
}

static void pools_against_their_sums(void **state) {
  (void)state;
  static pool_play p;
  p = (pool_play){0};
  random_state = (test_random){77};
  machine_begin(&m, 1, CONTEXT + 500 * MIB);
  vs_sim *sim = process_begin(&m, 7);
  p.pools[0] = vs_sim_pool_default(sim, 0);
  expect_sim_ok(vs_sim_pool_create(sim, 0, 0, &p.pools[1]));
  expect_sim_ok(vs_sim_pool_create(sim, 0, 90 * MIB, &p.pools[2]));
  for (uint32_t i = 0; i < POOL_STEPS; i++) {
    const bool grows = i / 200 % 2 == 0;
    const uint64_t what = dice(20);
    if (what < (grows ? 12u : 5u)) pool_alloc(sim, &p);
    else if (what < 18) pool_free(sim, &p);
    else if (what == 18) pool_synchronize(sim, &p);
    else pool_configure(sim, &p);
    uint64_t reserved = 0;
    for (int k = 0; k < POOLS; k++) {
      assert_int_equal(pool_figure(sim, p.pools[k], VS_SIM_POOL_USED_CURRENT), p.used[k]);
      reserved += pool_figure(sim, p.pools[k], VS_SIM_POOL_RESERVED_CURRENT);
    }
    assert_true(pool_figure(sim, p.pools[2], VS_SIM_POOL_RESERVED_CURRENT) <= 90 * MIB);
    assert_int_equal(held(sim, 0), reserved);
    assert_true(vs_sim_check(sim));
  }
  machine_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_calls_against_a_list),
      cmocka_unit_test(pools_against_their_sums),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
