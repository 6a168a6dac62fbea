/* Resets, and the keys in their order. That these are PyTorch's is shown by tests/sim/test_settings.py. */
#include "alloc/settings.h"
#include "alloc/statistics.h"
#include "support/test.h"

/* In each part: went up to 10, down to 7. */
static vs_alloc_statistics used(void) {
  vs_alloc_statistics s = {.num_alloc_retries = 1,
                           .num_ooms = 2,
                           .num_oom_rejections = 3,
                           .num_sync_all_streams = 4,
                           .num_device_alloc = 5,
                           .num_device_free = 6,
                           .max_split_size = -1,
                           .sizes[9] = 7,
                           .steps[1] = 8};
  for (int part = 0; part < VS_ALLOC_PARTS; part++)
    for (int group = 0; group < VS_ALLOC_GROUPS; group++) {
      s.part[part].current[group] = part == VS_ALLOC_ALL ? 14 : 7;
      s.part[part].peak[group] = part == VS_ALLOC_ALL ? 20 : 10;
      s.part[part].allocated[group] = 10;
    }
  vs_alloc_stat_increase(&s.oversize_segments, 5);
  vs_alloc_stat_decrease(&s.oversize_segments, 2);
  return s;
}

static void expect_stat(vs_alloc_stat stat, int64_t current, int64_t peak, int64_t allocated, int64_t freed) {
  assert_int_equal(stat.current, current);
  assert_int_equal(stat.peak, peak);
  assert_int_equal(stat.allocated, allocated);
  assert_int_equal(stat.freed, freed);
}

static void test_resets(void **state) {
  (void)state;
  vs_alloc_statistics s = used();
  expect_stat(vs_alloc_statistics_at(&s, VS_ALLOC_ACTIVE, VS_ALLOC_SMALL), 7, 10, 10, 3);
  expect_stat(vs_alloc_statistics_at(&s, VS_ALLOC_ACTIVE, VS_ALLOC_ALL), 14, 20, 20, 6);
  expect_stat(s.oversize_segments, 3, 5, 5, 2);
  vs_alloc_statistics_reset_peak(&s);
  expect_stat(vs_alloc_statistics_at(&s, VS_ALLOC_SEGMENT, VS_ALLOC_LARGE), 7, 7, 10, 3);
  expect_stat(vs_alloc_statistics_at(&s, VS_ALLOC_SEGMENT, VS_ALLOC_ALL), 14, 14, 20, 6);
  expect_stat(s.oversize_segments, 3, 3, 5, 2);
  assert_int_equal(s.num_ooms, 2);
  vs_alloc_statistics_reset_totals(&s);
  expect_stat(vs_alloc_statistics_at(&s, VS_ALLOC_SEGMENT, VS_ALLOC_LARGE), 7, 7, 0, 0);
  expect_stat(vs_alloc_statistics_at(&s, VS_ALLOC_SEGMENT, VS_ALLOC_ALL), 14, 14, 0, 0);
  expect_stat(s.oversize_segments, 3, 3, 0, 0);
  assert_int_equal(s.num_alloc_retries + s.num_ooms + s.num_oom_rejections + s.num_sync_all_streams +
                       s.num_device_alloc + s.num_device_free,
                   0);
  const vs_alloc_statistics reset = s;
  s = used();
  vs_alloc_statistics_reset_totals(&s); /* leaves peaks */
  expect_stat(vs_alloc_statistics_at(&s, VS_ALLOC_SEGMENT, VS_ALLOC_LARGE), 7, 10, 0, 0);
  s = reset;
  assert_int_equal(s.max_split_size, -1);
  assert_int_equal(s.sizes[9] + s.steps[1], 0);
  s.part[VS_ALLOC_SMALL].current[VS_ALLOC_SEGMENT] -= 2; /* and it goes on from there */
  s.part[VS_ALLOC_ALL].current[VS_ALLOC_SEGMENT] -= 2;
  expect_stat(vs_alloc_statistics_at(&s, VS_ALLOC_SEGMENT, VS_ALLOC_SMALL), 5, 7, 0, 2);
  expect_stat(vs_alloc_statistics_at(&s, VS_ALLOC_SEGMENT, VS_ALLOC_ALL), 12, 14, 0, 2);
}

typedef struct keys {
  char last[128];
  uint32_t count, private_count;
  int64_t sum;
  vs_text pools; /* the keys "....all.peak" of private pools */
} keys;

static vs_status on_key(void *ctx, vs_str key, int64_t value) {
  keys *k = ctx;
  assert_true(vs_str_compare(vs_str_from(k->last), key) < 0);
  vs_format(k->last, sizeof k->last, "%S", key);
  k->count++;
  k->sum += value;
  if (!vs_str_starts(key, VS_STR("reserved_bytes_by_private_pools."))) return VS_OK;
  k->private_count++;
  if (!vs_str_contains(key, VS_STR(".all.peak"))) return VS_OK;
  vs_text_str(&k->pools, key);
  vs_text_format(&k->pools, " %D\n", value);
  return VS_OK;
}

static keys visit(const char *profile, const vs_alloc_private *pools, uint64_t count) {
  const vs_alloc_statistics s = used();
  vs_alloc_settings settings;
  keys k = {.last = ""};
  vs_text_init(&k.pools, vs_host_default(), NULL);
  vs_alloc_settings_init(&settings);
  settings.rules = vs_alloc_rules_find(vs_str_from(profile));
  expect_ok(vs_alloc_statistics_visit(&s, pools, count, &settings, on_key, &k));
  return k;
}

static void test_keys(void **state) {
  (void)state;
  static const vs_alloc_private pools[] = {
      {.id = {0, 1}, .reserved[VS_ALLOC_ALL].peak = 4},
      {.id = {0, 2}, .reserved[VS_ALLOC_ALL].peak = 5},
      {.id = {0, 10}, .reserved[VS_ALLOC_ALL].peak = 6},
      {.id = {3, 0}, .reserved[VS_ALLOC_ALL].peak = 7},
  };
  keys k = visit("torch-2.15", NULL, 0);
  assert_int_equal(k.count, 123);
  vs_text_deinit(&k.pools);
  k = visit("torch-2.15", pools, 4);
  assert_int_equal(k.count, 123 + 4 * 12);
  expect_text(&k.pools, "reserved_bytes_by_private_pools.0_1.all.peak 4\n"
                        "reserved_bytes_by_private_pools.0_10.all.peak 6\n" /* sorted as text */
                        "reserved_bytes_by_private_pools.0_2.all.peak 5\n"
                        "reserved_bytes_by_private_pools.3_0.all.peak 7\n");
  vs_text_deinit(&k.pools);
  k = visit("torch-2.6", pools, 4);
  assert_int_equal(k.count, 122);
  vs_text_deinit(&k.pools);
  k = visit("torch-2.1", NULL, 0);
  assert_int_equal(k.count, 119);
  vs_text_deinit(&k.pools);
  k = visit("torch-1.13", NULL, 0);
  assert_int_equal(k.count, 107);
  vs_text_deinit(&k.pools);
}

static vs_status stop(void *ctx, vs_str key, int64_t value) {
  (void)key;
  (void)value;
  return --*(int *)ctx == 0 ? VS_CANCELLED : VS_OK;
}

static void test_stops_where_the_visitor_does(void **state) {
  (void)state;
  const vs_alloc_statistics s = used();
  const vs_alloc_private pool = {.id = {0, 1}};
  vs_alloc_settings settings;
  vs_alloc_settings_init(&settings);
  for (int at = 1; at <= 135; at++) {
    int left = at;
    expect_status(vs_alloc_statistics_visit(&s, &pool, 1, &settings, stop, &left), VS_CANCELLED);
    assert_int_equal(left, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_resets),
      cmocka_unit_test(test_keys),
      cmocka_unit_test(test_stops_where_the_visitor_does),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
