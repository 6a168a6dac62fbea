#include "unit/device/sim/machine.h"

#define GRANULE VS_SIM_GRANULE
#define FIRST   VS_SIM_RESERVED_BASE

static machine m;

static uint64_t reserved(vs_sim *sim, uint64_t size) {
  uint64_t address = 0;
  expect_sim_ok(vs_sim_reserve(sim, size, 0, 0, &address));
  return address;
}

static uint64_t created(vs_sim *sim, uint32_t device, uint64_t size) {
  uint64_t handle = 0;
  expect_sim_ok(vs_sim_physical_create(sim, device, size, 0, &handle));
  return handle;
}

/* ---- addresses ----------------------------------------------------------------------------------------- */

static void reserving_costs_nothing(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  const uint64_t a = reserved(sim, 8 * GIB), b = reserved(sim, GRANULE), c = reserved(sim, 4 * GRANULE);
  assert_int_equal(a, FIRST);
  assert_int_equal(b, FIRST + 8 * GIB);
  assert_int_equal(c, b + GRANULE);
  assert_int_equal(m.machine.cards[0].used_bytes, 0); /* not even a context */
  assert_null(vs_sim_find(sim, a));                   /* there is nothing to point to */
  assert_int_equal(vs_sim_find_reserved(sim, a + 8 * GIB - 1)->base, a);
  assert_int_equal(vs_sim_find_reserved(sim, b)->size, GRANULE);
  assert_null(vs_sim_find_reserved(sim, c + 4 * GRANULE));
  expect_sim_ok(vs_sim_unreserve(sim, b, GRANULE));
  assert_int_equal(reserved(sim, GRANULE), b);
  machine_end(&m);
}

static void alignment_and_hints(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  uint64_t a;
  (void)reserved(sim, GRANULE);
  expect_sim_ok(vs_sim_reserve(sim, 3 * GRANULE, GIB, 0, &a));
  assert_int_equal(a, FIRST + GIB);
  assert_int_equal(reserved(sim, GRANULE), FIRST + GRANULE); /* what the alignment left out is used */
  expect_sim_ok(vs_sim_reserve(sim, GRANULE, 4096, 0, &a));  /* less than a granule is a granule */
  assert_int_equal(a, FIRST + 2 * GRANULE);
  expect_sim_ok(vs_sim_reserve(sim, GRANULE, 0, FIRST + 64 * GRANULE, &a));
  assert_int_equal(a, FIRST + 64 * GRANULE);
  static const uint64_t ignored[] = {
      FIRST + 64 * GRANULE, FIRST + 100 * GRANULE + 512, 0x1000,
      UINT64_MAX,           UINT64_MAX - GRANULE + 1,    VS_SIM_RESERVED_END - GRANULE};
  for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) {
    expect_sim_ok(vs_sim_reserve(sim, 2 * GRANULE, 0, ignored[i], &a));
    assert_int_equal(a, FIRST + (3 + 2 * i) * GRANULE);
  }
  machine_end(&m);
}

static void what_cannot_be_reserved(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  uint64_t a = 1;
  expect_sim(vs_sim_reserve(sim, 0, 0, 0, &a), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_reserve(sim, GRANULE + 1, 0, 0, &a), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_reserve(sim, GRANULE, 3 * GRANULE, 0, &a), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_reserve(sim, UINT64_MAX - GRANULE + 1, 0, 0, &a), VS_SIM_OUT_OF_MEMORY);
  expect_sim(vs_sim_reserve(sim, UINT64_MAX - GRANULE + 1, 0, FIRST, &a), VS_SIM_OUT_OF_MEMORY);
  expect_sim(vs_sim_reserve(sim, GRANULE, UINT64_C(1) << 63, 0, &a), VS_SIM_OUT_OF_MEMORY);
  expect_sim(vs_sim_reserve(sim, VS_SIM_RESERVED_END - FIRST + GRANULE, 0, 0, &a), VS_SIM_OUT_OF_MEMORY);
  assert_int_equal(a, 1);
  const uint64_t all = reserved(sim, VS_SIM_RESERVED_END - FIRST);
  expect_sim(vs_sim_reserve(sim, GRANULE, 0, 0, &a), VS_SIM_OUT_OF_MEMORY);
  expect_sim(vs_sim_unreserve(sim, all, GRANULE), VS_SIM_INVALID_VALUE); /* the whole or nothing */
  expect_sim(vs_sim_unreserve(sim, all + GRANULE, GRANULE), VS_SIM_INVALID_VALUE);
  expect_sim_ok(vs_sim_unreserve(sim, all, VS_SIM_RESERVED_END - FIRST));
  expect_sim(vs_sim_unreserve(sim, all, VS_SIM_RESERVED_END - FIRST), VS_SIM_INVALID_VALUE);
  machine_end(&m);
}

/* ---- physical memory ----------------------------------------------------------------------------------- */

static void physical_memory_is_charged_when_made(void **state) {
  (void)state;
  machine_begin(&m, 2, GIB);
  vs_sim *sim = process_begin(&m, 7);
  uint64_t handle = 1;
  const uint64_t a = created(sim, 1, 20 * MIB);
  assert_int_equal(held(sim, 1), 20 * MIB);
  assert_int_equal(m.machine.cards[1].used_bytes, 20 * MIB + CONTEXT);
  assert_int_equal(vs_sim_physical_find(sim, a)->size, 20 * MIB);
  assert_int_equal(vs_sim_physical_find(sim, a)->device, 1);
  const uint64_t of_host = created(sim, VS_SIM_NO_DEVICE_ID, 4 * GIB);
  assert_int_equal(m.machine.cards[0].used_bytes, 0);
  expect_sim(vs_sim_physical_create(sim, 1, GIB - 100 * MIB, 0, &handle), VS_SIM_OUT_OF_MEMORY);
  expect_sim(vs_sim_physical_create(sim, 1, UINT64_MAX - GRANULE + 1, 0, &handle), VS_SIM_OUT_OF_MEMORY);
  expect_sim(vs_sim_physical_create(sim, 1, GRANULE / 2, 0, &handle), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_physical_create(sim, 1, 0, 0, &handle), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_physical_create(sim, 2, GRANULE, 0, &handle), VS_SIM_INVALID_DEVICE);
  assert_int_equal(handle, 1);
  expect_sim_ok(vs_sim_physical_release(sim, a));
  assert_int_equal(held(sim, 1), 0);
  expect_sim(vs_sim_physical_release(sim, a), VS_SIM_INVALID_VALUE);
  assert_null(vs_sim_physical_find(sim, a));
  expect_sim_ok(vs_sim_physical_release(sim, of_host));
  static const uint64_t none[] = {0,
                                  1,
                                  VS_SIM_PHYSICAL_HANDLES - 256,
                                  VS_SIM_PHYSICAL_HANDLES + 1,
                                  VS_SIM_PHYSICAL_HANDLES + 256 * 50,
                                  UINT64_MAX};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    expect_sim(vs_sim_physical_release(sim, none[i]), VS_SIM_INVALID_VALUE);
  machine_end(&m);
}

static void it_stays_while_anything_holds_it(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  uint64_t again = 0;
  const uint64_t a = reserved(sim, 8 * GRANULE), handle = created(sim, 0, 2 * GRANULE);
  expect_sim_ok(vs_sim_map(sim, a, 2 * GRANULE, 0, handle));
  expect_sim_ok(vs_sim_map(sim, a + 4 * GRANULE, 2 * GRANULE, 0, handle)); /* the same in two places */
  assert_int_equal(held(sim, 0), 2 * GRANULE);
  expect_sim_ok(vs_sim_physical_release(sim, handle));
  assert_int_equal(held(sim, 0), 2 * GRANULE);
  expect_sim(vs_sim_physical_release(sim, handle), VS_SIM_INVALID_VALUE); /* mappings are no references */
  expect_sim(vs_sim_map(sim, a + 2 * GRANULE, 2 * GRANULE, 0, handle), VS_SIM_INVALID_VALUE);
  expect_sim_ok(vs_sim_physical_retain(sim, a + 3 * MIB, &again));
  assert_int_equal(again, handle);
  expect_sim_ok(vs_sim_unmap(sim, a, 2 * GRANULE));
  expect_sim_ok(vs_sim_unmap(sim, a + 4 * GRANULE, 2 * GRANULE));
  assert_int_equal(held(sim, 0), 2 * GRANULE); /* retain holds it */
  expect_sim(vs_sim_physical_retain(sim, a, &again), VS_SIM_INVALID_VALUE);
  expect_sim_ok(vs_sim_physical_release(sim, handle));
  assert_int_equal(held(sim, 0), 0);
  machine_end(&m);
}

/* ---- mappings ------------------------------------------------------------------------------------------ */

static void a_mapping_is_a_range(void **state) {
  (void)state;
  machine_begin(&m, 2, GIB);
  vs_sim *sim = process_begin(&m, 7);
  const uint64_t a = reserved(sim, 16 * GRANULE), handle = created(sim, 1, 3 * GRANULE);
  expect_sim_ok(vs_sim_map(sim, a + 2 * GRANULE, 3 * GRANULE, 0, handle));
  assert_null(vs_sim_find(sim, a + 2 * GRANULE - 1));
  assert_null(vs_sim_find(sim, a + 5 * GRANULE));
  const vs_sim_range *range = vs_sim_find(sim, a + 5 * GRANULE - 1);
  assert_int_equal(range->base, a + 2 * GRANULE);
  assert_int_equal(range->size, 3 * GRANULE);
  assert_int_equal(range->kind, VS_SIM_RANGE_MAPPING);
  assert_int_equal(range->device, 1);
  assert_int_equal(range->owner, handle);
  expect_sim(vs_sim_free(sim, range->base, NULL), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_unreserve(sim, a, 16 * GRANULE), VS_SIM_INVALID_VALUE); /* something is mapped there */
  expect_sim_ok(vs_sim_unmap(sim, a + 2 * GRANULE, 3 * GRANULE));
  expect_sim_ok(vs_sim_unreserve(sim, a, 16 * GRANULE));
  machine_end(&m);
}

static void what_cannot_be_mapped(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  const uint64_t a = reserved(sim, 8 * GRANULE), b = reserved(sim, 8 * GRANULE);
  const uint64_t h = created(sim, 0, 2 * GRANULE);
  expect_sim_ok(vs_sim_map(sim, a + 2 * GRANULE, 2 * GRANULE, 0, h));
  const struct {
    uint64_t address, size, offset, handle;
  } bad[] = {
      {a, GRANULE, 0, h},                            /* half of it */
      {a, 2 * GRANULE, GRANULE, h},                  /* from its middle */
      {a, 4 * GRANULE, 0, h},                        /* more than it */
      {a + 4096, 2 * GRANULE, 0, h},                 /* not at a granule */
      {a + GRANULE, 2 * GRANULE, 0, h},              /* over another one */
      {a + 2 * GRANULE, 2 * GRANULE, 0, h},          /* twice */
      {a + 3 * GRANULE, 2 * GRANULE, 0, h},          /* over its end */
      {a + 7 * GRANULE, 2 * GRANULE, 0, h},          /* from one reservation into the next */
      {b + 7 * GRANULE, 2 * GRANULE, 0, h},          /* over the end of what is reserved */
      {b + 8 * GRANULE, 2 * GRANULE, 0, h},          /* nothing is reserved there */
      {UINT64_MAX - GRANULE + 1, 2 * GRANULE, 0, h}, /* nor there */
      {a, 2 * GRANULE, 0, h + 256},                  /* of nothing */
      {a, 2 * GRANULE, 0, 0},
      {a, 0, 0, h},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    expect_sim(vs_sim_map(sim, bad[i].address, bad[i].size, bad[i].offset, bad[i].handle),
               VS_SIM_INVALID_VALUE);
  assert_int_equal(vs_sim_physical_find(sim, h)->mappings, 1);
  expect_sim_ok(vs_sim_map(sim, a, 2 * GRANULE, 0, h)); /* right up to its neighbour */
  machine_end(&m);
}

static void unmapping_takes_whole_mappings(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  const uint64_t a = reserved(sim, 16 * GRANULE), h = created(sim, 0, 2 * GRANULE);
  for (uint64_t i = 0; i < 3; i++) expect_sim_ok(vs_sim_map(sim, a + 2 * i * GRANULE, 2 * GRANULE, 0, h));
  expect_sim_ok(vs_sim_map(sim, a + 8 * GRANULE, 2 * GRANULE, 0, h)); /* behind a gap */
  static const uint64_t bad[][2] = {{0, 1}, {0, 3}, {1, 1},  {1, 3}, {0, 0},
                                    {4, 6}, {6, 2}, {0, 10}, {8, 4}, {14, 2}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    expect_sim(vs_sim_unmap(sim, a + bad[i][0] * GRANULE, bad[i][1] * GRANULE), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_unmap(sim, a, UINT64_MAX), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_unmap(sim, UINT64_MAX - GRANULE + 1, GRANULE), VS_SIM_INVALID_VALUE);
  assert_int_equal(vs_sim_physical_find(sim, h)->mappings, 4);
  expect_sim_ok(vs_sim_unmap(sim, a, 4 * GRANULE)); /* two at once */
  assert_int_equal(vs_sim_physical_find(sim, h)->mappings, 2);
  assert_null(vs_sim_find(sim, a + 3 * GRANULE));
  assert_non_null(vs_sim_find(sim, a + 4 * GRANULE));
  machine_end(&m);
}

static vs_sim_access access_of(const vs_sim *sim, uint64_t address, uint32_t device) {
  vs_sim_access access = VS_SIM_ACCESS_NONE;
  expect_sim_ok(vs_sim_access_get(sim, address, device, &access));
  return access;
}

static void access_is_by_mapping_and_device(void **state) {
  (void)state;
  machine_begin(&m, 2, GIB);
  vs_sim *sim = process_begin(&m, 7);
  vs_sim_access access;
  const uint64_t a = reserved(sim, 8 * GRANULE), h = created(sim, 0, 2 * GRANULE);
  for (uint64_t i = 0; i < 3; i++) expect_sim_ok(vs_sim_map(sim, a + 2 * i * GRANULE, 2 * GRANULE, 0, h));
  assert_int_equal(access_of(sim, a, 0), VS_SIM_ACCESS_NONE); /* inaccessible until access is set */
  expect_sim_ok(vs_sim_access_set(sim, a, 4 * GRANULE, 0, VS_SIM_ACCESS_READ_WRITE));
  expect_sim_ok(vs_sim_access_set(sim, a, 2 * GRANULE, 1, VS_SIM_ACCESS_READ));
  assert_int_equal(access_of(sim, a + 4 * GRANULE - 1, 0), VS_SIM_ACCESS_READ_WRITE);
  assert_int_equal(access_of(sim, a + 4 * GRANULE, 0), VS_SIM_ACCESS_NONE);
  assert_int_equal(access_of(sim, a, 1), VS_SIM_ACCESS_READ);
  assert_int_equal(access_of(sim, a + 2 * GRANULE, 1), VS_SIM_ACCESS_NONE);
  expect_sim_ok(vs_sim_access_set(sim, a, 2 * GRANULE, 0, VS_SIM_ACCESS_NONE));
  assert_int_equal(access_of(sim, a, 0), VS_SIM_ACCESS_NONE);
  assert_int_equal(access_of(sim, a, 1), VS_SIM_ACCESS_READ);
  expect_sim_ok(vs_sim_access_set(sim, a, 2 * GRANULE, VS_SIM_NO_DEVICE_ID, VS_SIM_ACCESS_READ));
  expect_sim(vs_sim_access_set(sim, a, GRANULE, 0, VS_SIM_ACCESS_READ), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_access_set(sim, a, 8 * GRANULE, 0, VS_SIM_ACCESS_READ), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_access_set(sim, a, 2 * GRANULE, 0, (vs_sim_access)2), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_access_set(sim, a, 2 * GRANULE, 2, VS_SIM_ACCESS_READ), VS_SIM_INVALID_DEVICE);
  expect_sim(vs_sim_access_get(sim, a + 6 * GRANULE, 0, &access), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_access_get(sim, a, 2, &access), VS_SIM_INVALID_DEVICE);
  /* Mapped again, nothing of it is remembered. */
  expect_sim_ok(vs_sim_unmap(sim, a, 2 * GRANULE));
  expect_sim_ok(vs_sim_map(sim, a, 2 * GRANULE, 0, h));
  assert_int_equal(access_of(sim, a, 1), VS_SIM_ACCESS_NONE);
  machine_end(&m);
}

/* ---- between processes --------------------------------------------------------------------------------- */

static void another_process_maps_it_for_nothing(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *a = process_begin(&m, 7), *b = process_begin(&m, 8);
  vs_sim_token token;
  uint64_t own, theirs;
  const uint64_t handle = created(a, 0, 4 * GRANULE), at = reserved(b, 4 * GRANULE);
  expect_sim_ok(vs_sim_physical_export(a, handle, &token));
  expect_sim_ok(vs_sim_physical_import(b, &token, &theirs));
  expect_sim_ok(vs_sim_map(b, at, 4 * GRANULE, 0, theirs));
  assert_int_equal(m.machine.cards[0].used_bytes, CONTEXT + 4 * GRANULE); /* of a alone */
  assert_int_equal(held(b, 0), 0);
  assert_int_equal(held(a, 0), 4 * GRANULE);
  expect_sim_ok(vs_sim_unmap(b, at, 4 * GRANULE));
  expect_sim_ok(vs_sim_physical_release(b, theirs));
  assert_int_equal(held(b, 0), 0);
  expect_sim_ok(vs_sim_physical_import(a, &token, &own)); /* in its own process: a reference */
  assert_int_equal(own, handle);
  expect_sim_ok(vs_sim_physical_release(a, handle));
  assert_int_equal(held(a, 0), 4 * GRANULE);
  expect_sim_ok(vs_sim_physical_release(a, handle));
  assert_int_equal(held(a, 0), 0);
  expect_sim(vs_sim_physical_import(a, &token, &own), VS_SIM_INVALID_HANDLE); /* gone */
  assert_int_equal(created(a, 0, 4 * GRANULE), handle);
  expect_sim(vs_sim_physical_import(a, &token, &own), VS_SIM_INVALID_HANDLE); /* another one of that number */
  expect_sim(vs_sim_physical_export(a, handle + 256, &token), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_physical_export(a, created(a, VS_SIM_NO_DEVICE_ID, GRANULE), &token),
             VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_ipc_open(b, &token, &own), VS_SIM_INVALID_VALUE); /* not that kind of token */
  token.size = GRANULE + 1;
  expect_sim(vs_sim_physical_import(b, &token, &own), VS_SIM_INVALID_VALUE);
  machine_end(&m);
}

/* ---- check --------------------------------------------------------------------------------------------- */

static void expect_broken(vs_sim *sim, uint64_t *place, uint64_t value) {
  const uint64_t was = *place;
  assert_true(vs_sim_check(sim));
  *place = value;
  assert_false(vs_sim_check(sim));
  *place = was;
  assert_true(vs_sim_check(sim));
}

static void the_check_sees_ranges_out_of_place(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  const uint64_t address = reserved(sim, 4 * GRANULE), handle = created(sim, 0, 2 * GRANULE);
  expect_sim_ok(vs_sim_map(sim, address, 2 * GRANULE, 0, handle));
  const uint64_t block = allocated(sim, 0, 3 * MIB);
  vs_sim_range *reservation = NULL;
  for (size_t i = 0; i < sim->memory.ranges.count; i++)
    if (sim->memory.ranges.data[i].kind == VS_SIM_RANGE_RESERVED) reservation = &sim->memory.ranges.data[i];
  assert_non_null(reservation);
  expect_broken(sim, &reservation->size, GRANULE); /* the mapping reaches over its end */
  vs_sim_range *range = vs_sim_find_mutable(sim, block);
  expect_broken(sim, &range->size, VS_SIM_WINDOW_SIZE);
  range->device = 1; /* there is one device */
  assert_false(vs_sim_check(sim));
  range->device = 0;
  expect_sim_ok(vs_sim_free(sim, block, NULL));
  const uint32_t spare = sim->memory.spare_range;
  assert_int_not_equal(spare, UINT32_MAX);
  sim->memory.spare_range = UINT32_MAX; /* the entry is lost */
  assert_false(vs_sim_check(sim));
  sim->memory.spare_range = spare;
  sim->memory.ranges.data[spare].uses = spare; /* a circle */
  assert_false(vs_sim_check(sim));
  sim->memory.ranges.data[spare].uses = UINT32_MAX;
  machine_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reserving_costs_nothing),
      cmocka_unit_test(alignment_and_hints),
      cmocka_unit_test(what_cannot_be_reserved),
      cmocka_unit_test(physical_memory_is_charged_when_made),
      cmocka_unit_test(it_stays_while_anything_holds_it),
      cmocka_unit_test(a_mapping_is_a_range),
      cmocka_unit_test(what_cannot_be_mapped),
      cmocka_unit_test(unmapping_takes_whole_mappings),
      cmocka_unit_test(access_is_by_mapping_and_device),
      cmocka_unit_test(another_process_maps_it_for_nothing),
      cmocka_unit_test(the_check_sees_ranges_out_of_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
