/* Live blocks summed up by every property there is. */
#include "analyze/groups.h"
#include "unit/analyze/made.h"

typedef struct grouped {
  made m;
  vs_lifetimes lifetimes;
  vs_liveset live;
  vs_frames frames;
  vs_groups groups;
} grouped;

static void begin(grouped *g) {
  made_trace(&g->m, 0);
  expect_ok(vs_lifetimes_build(g->m.host, made_slice(&g->m, 0), &g->lifetimes));
  expect_ok(vs_liveset_build(g->m.host, &g->lifetimes, INT64_MAX, &g->live));
  expect_ok(vs_frames_init(g->m.host, g->m.snapshot, &g->frames));
}

static void group(grouped *g, vs_group_by by) {
  vs_groups_deinit(g->m.host, &g->groups);
  expect_ok(vs_groups_build(g->m.host, &g->lifetimes, g->live.rows.data, g->live.rows.count, by, &g->frames,
                            &g->groups));
  assert_int_equal(g->groups.bytes, g->live.bytes);
  assert_int_equal(g->groups.count, g->live.rows.count);
}

static void expect_group(const grouped *g, size_t at, uint64_t bytes, uint64_t count, uint32_t key) {
  assert_true(at < g->groups.list.count);
  const vs_group *group = &g->groups.list.data[at];
  assert_int_equal(group->bytes, bytes);
  assert_int_equal(group->count, count);
  assert_int_equal(group->key, key);
}

static vs_group_name name_of(grouped *g, size_t at) {
  vs_group_name name;
  vs_group_name_get(g->m.snapshot, &g->frames, g->groups.by, &g->groups.list.data[at], &name);
  return name;
}

static void end(grouped *g) {
  vs_groups_deinit(g->m.host, &g->groups);
  vs_frames_deinit(g->m.host, &g->frames);
  vs_liveset_deinit(g->m.host, &g->live);
  vs_lifetimes_deinit(g->m.host, &g->lifetimes);
  made_end(&g->m);
}

static void test_by_stack_and_line(void **state) {
  (void)state;
  grouped g = {.m = made_begin()};
  const uint32_t model = made_frame(&g.m, "forward", "/home/user/model.py", 7);
  const uint32_t same_line = made_frame(&g.m, "<lambda>", "/home/user/model.py", 7);
  const uint32_t train = made_frame(&g.m, "main", "/home/user/train.py", 1);
  const uint32_t eval = made_frame(&g.m, "main", "/home/user/eval.py", 1);
  const uint32_t native = made_frame(&g.m, "at::empty(long)", "libtorch.so", 123456);
  const uint32_t native_too = made_frame(&g.m, "at::empty(long)", "libtorch.so", 123460);
  const uint32_t a = made_stack_of(&g.m, (uint32_t[]){model, train}, 2);
  const uint32_t b = made_stack_of(&g.m, (uint32_t[]){same_line, eval}, 2);
  const uint32_t c = made_stack_of(&g.m, (uint32_t[]){native}, 1);
  const uint32_t d = made_stack_of(&g.m, (uint32_t[]){native_too}, 1);
  (void)made_alloc(&g.m, 1 << 20, 100, a);
  (void)made_alloc(&g.m, 2 << 20, 300, b);
  (void)made_alloc(&g.m, 3 << 20, 100, a);
  (void)made_alloc(&g.m, 4 << 20, 350, c);
  (void)made_alloc(&g.m, 5 << 20, 70, VS_LIST_NONE);
  (void)made_alloc(&g.m, 6 << 20, 50, VS_LIST_EMPTY);
  (void)made_alloc(&g.m, 7 << 20, 350, d);
  (void)made_segment(&g.m, 0, 9 << 20, 512, "small");
  made_block(&g.m, 512, 60, VS_BLOCK_ALLOCATED)->stack = VS_LIST_EMPTY;
  begin(&g);

  group(&g, VS_BY_STACK);
  assert_int_equal(g.groups.list.count, 7);
  expect_group(&g, 0, 350, 1, VS_OWNER_frame + c); /* equal bytes and count: the smaller key first */
  expect_group(&g, 1, 350, 1, VS_OWNER_frame + d);
  expect_group(&g, 2, 300, 1, VS_OWNER_frame + b);
  expect_group(&g, 3, 200, 2, VS_OWNER_frame + a);
  expect_group(&g, 4, 70, 1, VS_OWNER_unrecorded);
  expect_group(&g, 5, 60, 1, VS_OWNER_before);
  expect_group(&g, 6, 50, 1, VS_OWNER_backward); /* an empty stack beside those of Python */
  vs_group_name name = name_of(&g, 3);
  assert_true(name.known && name.has_line);
  expect_str(name.text, "forward");
  expect_str(name.file, "/home/user/model.py");
  assert_int_equal(name.line, 7);
  name = name_of(&g, 4);
  assert_false(name.known);
  expect_str(name.text, "recorded without stacks");
  expect_str(name_of(&g, 5).text, "allocated before recording");
  expect_str(name_of(&g, 6).text, "backward pass (no Python stack)");

  group(&g, VS_BY_LINE);
  assert_int_equal(g.groups.list.count, 5);
  expect_group(&g, 0, 700, 2, VS_OWNER_frame + native); /* C++: by function, whatever the offset */
  assert_int_equal(g.groups.list.data[1].bytes, 500);
  assert_int_equal(g.groups.list.data[1].count, 3);
  assert_int_equal(g.groups.list.data[1].stack, b); /* of the largest one */
  expect_group(&g, 2, 70, 1, VS_OWNER_unrecorded);
  assert_false(name_of(&g, 0).has_line);
  assert_int_equal(name_of(&g, 1).line, 7);
  assert_false(name_of(&g, 2).known);
  end(&g);
}

static void expect_part(const vs_owners *owners, size_t at, uint64_t bytes, uint64_t count, uint32_t frame) {
  assert_true(at < owners->parts.list.count);
  const vs_group *part = &owners->parts.list.data[at];
  assert_int_equal(part->bytes, bytes);
  assert_int_equal(part->count, count);
  assert_int_equal(part->key, VS_OWNER_frame + frame);
}

static void find_owners(grouped *g, vs_owners *out) {
  expect_ok(
      vs_owners_build(g->m.host, &g->lifetimes, g->live.rows.data, g->live.rows.count, &g->frames, out));
  assert_int_equal(out->lines.bytes, g->live.bytes);
}

/* One line of the user that calls a package has more than half: its parts are the lines of the package. */
static void test_owner_parts(void **state) {
  (void)state;
  grouped g = {.m = made_begin()};
  const uint32_t main = made_frame(&g.m, "main", "/home/user/train.py", 1),
                 data = made_frame(&g.m, "load", "/home/user/train.py", 9),
                 again = made_frame(&g.m, "<lambda>", "/home/user/train.py", 1),
                 model = made_frame(&g.m, "forward", "/v/site-packages/transformers/llama.py", 5),
                 linear = made_frame(&g.m, "forward", "/v/site-packages/torch/nn/linear.py", 134),
                 native = made_frame(&g.m, "at::empty(long)", "libtorch.so", 123456);
  const uint32_t through = made_stack_of(&g.m, (uint32_t[]){native, linear, model, main}, 4),
                 package = made_stack_of(&g.m, (uint32_t[]){native, model, main}, 3),
                 own = made_stack_of(&g.m, (uint32_t[]){native, again}, 2),
                 other = made_stack_of(&g.m, (uint32_t[]){linear, data}, 2);
  (void)made_alloc(&g.m, 1 << 20, 300, through);
  (void)made_alloc(&g.m, 2 << 20, 500, package);
  (void)made_alloc(&g.m, 3 << 20, 300, through);
  (void)made_alloc(&g.m, 4 << 20, 100, own);
  (void)made_alloc(&g.m, 5 << 20, 1199, other);
  begin(&g);
  vs_owners owners;
  find_owners(&g, &owners);
  assert_int_equal(owners.lines.list.count, 2);
  assert_int_equal(owners.lines.list.data[0].bytes, 1200);
  assert_int_equal(owners.parts.list.count, 3);
  assert_int_equal(owners.parts.bytes, 1200);
  assert_int_equal(owners.parts.count, 4);
  expect_part(&owners, 0, 600, 2, linear);
  expect_part(&owners, 1, 500, 1, model);
  expect_part(&owners, 2, 100, 1, again); /* the line itself */
  assert_int_equal(owners.parts.list.data[0].each, 300);
  vs_owners_deinit(g.m.host, &owners);
  end(&g);
}

/* Half is not more than half, and one line alone says nothing new. */
static void test_owners_without_parts(void **state) {
  (void)state;
  for (uint64_t other = 800; other <= 801; other++) {
    grouped g = {.m = made_begin()};
    const uint32_t main = made_frame(&g.m, "main", "/home/user/train.py", 1),
                   data = made_frame(&g.m, "load", "/home/user/train.py", 9),
                   linear = made_frame(&g.m, "forward", "/v/site-packages/torch/nn/linear.py", 134);
    const uint32_t through = made_stack_of(&g.m, (uint32_t[]){linear, main}, 2),
                   own = made_stack_of(&g.m, (uint32_t[]){main}, 1),
                   load = made_stack_of(&g.m, (uint32_t[]){linear, data}, 2);
    (void)made_alloc(&g.m, 1 << 20, 300, through);
    (void)made_alloc(&g.m, 2 << 20, 500, own);
    (void)made_alloc(&g.m, 3 << 20, other, load);
    begin(&g);
    vs_owners owners;
    find_owners(&g, &owners);
    assert_int_equal(owners.lines.list.count, 2);
    assert_int_equal(owners.parts.list.count, 0);
    vs_owners_deinit(g.m.host, &owners);
    end(&g);
  }
}

static void test_by_place(void **state) {
  (void)state;
  grouped g = {.m = made_begin()};
  const uint32_t pool = made_pool(&g.m, 0, 3), other = made_pool(&g.m, 9, 0),
                 stream = made_stream(&g.m, 0xabc);
  (void)made_alloc(&g.m, 0x1000, 100, 0);
  (void)made_alloc(&g.m, 0x2000, 150, 0);
  expect_ok(vs_events_set_stream(g.m.host, &g.m.snapshot->events, 1, stream));
  expect_ok(vs_events_set_pool(g.m.host, &g.m.snapshot->events, 1, other));
  (void)made_alloc(&g.m, 0x9000, 7, 0);
  made_segment(&g.m, 0, 0x1000, 512, "small")->pool = pool;
  (void)made_block(&g.m, 512, 100, VS_BLOCK_ALLOCATED);
  begin(&g);

  group(&g, VS_BY_STREAM);
  expect_group(&g, 0, 150, 1, stream);
  expect_group(&g, 1, 107, 2, 0);
  assert_int_equal(name_of(&g, 0).numbers[0], 0xabc);
  group(&g, VS_BY_POOL);
  expect_group(&g, 0, 150, 1, other);
  expect_group(&g, 1, 100, 1, pool); /* not recorded, but its segment tells */
  expect_group(&g, 2, 7, 1, 0);
  assert_int_equal(name_of(&g, 0).numbers[0], 9);
  assert_int_equal(name_of(&g, 1).numbers[1], 3);
  assert_false(name_of(&g, 2).known);
  group(&g, VS_BY_SIZE);
  expect_group(&g, 0, 150, 1, 7);
  expect_group(&g, 1, 100, 1, 6);
  expect_group(&g, 2, 7, 1, 2);
  assert_int_equal(name_of(&g, 0).numbers[0], 128);
  assert_int_equal(name_of(&g, 0).numbers[1], 255);
  end(&g);
}

static void test_by_name(void **state) {
  (void)state;
  grouped g = {.m = made_begin()};
  static const int64_t times[] = {15, 16, 25, VS_NO_TIME};
  for (uint32_t i = 0; i < 4; i++) {
    (void)made_alloc(&g.m, 0x1000 * (i + 1), UINT64_C(10) << i, 0);
    made_time(&g.m, i, times[i]);
  }
  const uint32_t weights = made_string(&g.m, "PARAMETER");
  expect_ok(vs_events_set_category(g.m.host, &g.m.snapshot->events, 2, weights));
  expect_ok(vs_events_set_user_metadata(g.m.host, &g.m.snapshot->events, 1, VS_STRING_EMPTY));
  expect_ok(vs_events_set_user_metadata(g.m.host, &g.m.snapshot->events, 3, weights));
  made_annotation(&g.m, "START", "forward", 10);
  made_annotation(&g.m, "END", "forward", 20);
  const uint32_t forward = made_string(&g.m, "forward");
  (void)made_segment(&g.m, 0, 0x9000, 512, "small");
  (void)made_block(&g.m, 512, 1, VS_BLOCK_ALLOCATED); /* known from the end only */
  begin(&g);
  group(&g, VS_BY_CATEGORY);
  expect_group(&g, 0, 111, 4, VS_STRING_NONE);
  expect_group(&g, 1, 40, 1, weights);
  expect_str(name_of(&g, 1).text, "PARAMETER");
  assert_false(name_of(&g, 0).known);
  group(&g, VS_BY_METADATA);
  expect_group(&g, 0, 80, 1, weights);
  expect_group(&g, 1, 71, 4, VS_STRING_NONE); /* an empty text is none */
  expect_str(name_of(&g, 0).text, "PARAMETER");
  assert_false(name_of(&g, 1).known);
  group(&g, VS_BY_ANNOTATION);
  expect_group(&g, 0, 121, 3, VS_STRING_NONE);
  expect_group(&g, 1, 30, 2, forward);
  expect_str(name_of(&g, 1).text, "forward");
  end(&g);
}

/* Sums saturate; sizes 0 and 2^64 - 1 have a class each. */
static void test_extremes(void **state) {
  (void)state;
  grouped g = {.m = made_begin()};
  (void)made_alloc(&g.m, 0x1000, UINT64_MAX, 0);
  (void)made_alloc(&g.m, 0x2000, UINT64_MAX, 0);
  (void)made_alloc(&g.m, 0x3000, 0, 0);
  (void)made_alloc(&g.m, 0x4000, 1, 0);
  begin(&g);
  group(&g, VS_BY_SIZE);
  assert_int_equal(g.groups.list.count, 2);
  expect_group(&g, 0, UINT64_MAX, 2, 63);
  expect_group(&g, 1, 1, 2, 0);
  assert_true(name_of(&g, 0).numbers[1] == UINT64_MAX);
  assert_int_equal(name_of(&g, 1).numbers[0], 0);
  vs_groups none;
  expect_status(vs_groups_build(g.m.host, &g.lifetimes, NULL, 0, VS_BY_LINE, NULL, &none), VS_BAD_ARGUMENT);
  expect_ok(vs_groups_build(g.m.host, &g.lifetimes, NULL, 0, VS_BY_STACK, &g.frames, &none));
  assert_int_equal(none.list.count, 0);
  end(&g);
}

static void test_names_of_properties(void **state) {
  (void)state;
  for (int by = 0; by < VS_GROUP_BYS; by++) {
    vs_group_by found;
    assert_true(vs_group_by_find(vs_str_from(vs_group_by_name((vs_group_by)by)), &found));
    assert_int_equal(found, by);
  }
  vs_group_by found;
  assert_false(vs_group_by_find(VS_STR("stacks"), &found));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_by_stack_and_line),
      cmocka_unit_test(test_owner_parts),
      cmocka_unit_test(test_owners_without_parts),
      cmocka_unit_test(test_by_place),
      cmocka_unit_test(test_by_name),
      cmocka_unit_test(test_extremes),
      cmocka_unit_test(test_names_of_properties),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
