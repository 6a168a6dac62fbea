/* What libraries have of a device: names, moments, totals against a naive sum, and files that say too much or nothing. */
#include "analyze/libraries.h"
#include "analyze/library_course.h"
#include "base/text.h"
#include "support/random.h"
#include "unit/analyze/made.h"

static void expect_name(const char *path, const char *name) {
  const vs_str got = vs_library_name(vs_str_from(path));
  assert_int_equal(got.size, strlen(name));
  assert_memory_equal(got.data, name, got.size);
}

static void test_names(void **state) {
  (void)state;
  expect_name("/usr/lib/x86_64-linux-gnu/libnccl.so.2", "NCCL");
  expect_name("libcublasLt.so.13", "cuBLAS");
  expect_name("/v/site-packages/nvidia/cudnn/lib/libcudnn_graph.so.9", "cuDNN");
  expect_name("/v/site-packages/cupy_backends/cuda/api/runtime.so", "cupy_backends/cuda/api/runtime.so");
  expect_name("/a/site-packages/b/site-packages/c/d.so", "c/d.so");
  expect_name("/opt/app/libextension.so", "libextension.so");
  expect_name("/opt/not-libnccl.so/lib.so", "lib.so");
  expect_name("/site-packages/", "");
  expect_name("site-packages/x", "x");
  expect_name("", "");
}

static void say(made *m, int32_t device, const char *path, uint64_t bytes, int64_t time_us) {
  vs_library_memory row = {.time_us = time_us, .bytes = bytes, .device = device};
  expect_ok(vs_strings_intern(m->host, &m->snapshot->strings, vs_str_from(path), &row.name));
  expect_ok(vs_vec_reserve(m->host, &m->snapshot->libraries, 1));
  m->snapshot->libraries.data[m->snapshot->libraries.count++] = row;
}

/* Events at 10, 20 .. 10 x count. */
static made begin(uint32_t count) {
  made m = made_begin();
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t row = made_event(&m, VS_EVENT_SNAPSHOT, 0, 0);
    made_time(&m, row, 10 * ((int64_t)i + 1));
  }
  made_trace(&m, 0);
  return m;
}

static vs_library_uses at(made *m, vs_moment moment) {
  vs_library_uses uses;
  expect_ok(vs_libraries_at(m->host, made_slice(m, 0), moment, &uses));
  return uses;
}

static uint64_t bytes_of(const vs_library_uses *uses, const char *name) {
  for (size_t i = 0; i < uses->list.count; i++)
    if (vs_str_equal(uses->list.data[i].name, vs_str_from(name))) return uses->list.data[i].bytes;
  return 0;
}

/* The beginning has what came before the first event, an event what came up to it, the last one all. */
static void test_moments(void **state) {
  (void)state;
  made m = begin(3);
  say(&m, 0, "libnccl.so.2", 100, 5);
  say(&m, 0, "", 1, 5);
  say(&m, 0, "libnccl.so.2", 200, 10);
  say(&m, 0, "libnccl.so.2", 300, 21);
  say(&m, 1, "libnccl.so.2", 999, 21);
  say(&m, 0, "libnccl.so.2", 400, 31);
  static const uint64_t wanted[] = {100, 200, 200, 400};
  for (vs_moment moment = VS_AT_START; moment < 3; moment++) {
    vs_library_uses uses = at(&m, moment);
    assert_true(uses.is_complete);
    assert_int_equal(bytes_of(&uses, "NCCL"), wanted[moment + 1]);
    vs_library_uses_deinit(m.host, &uses);
  }
  made_end(&m);
}

/* Nothing is told before the file says that all is, nor after it says that it is not. */
static void test_what_is_not_complete_is_not_told(void **state) {
  (void)state;
  made m = begin(3);
  say(&m, 0, "libnccl.so.2", 100, 5);
  say(&m, 0, "", 1, 15);
  say(&m, 0, "", 0, 25);
  for (vs_moment moment = 0; moment < 3; moment++) {
    vs_library_uses uses = at(&m, moment);
    assert_int_equal(uses.is_complete, moment == 1);
    assert_int_equal(uses.list.count, moment == 1);
    vs_library_uses_deinit(m.host, &uses);
  }
  made_end(&m);
}

static vs_library_course course_of(made *m, bool has_pytorch) {
  vs_library_course course;
  expect_ok(vs_library_course_build(m->host, m->snapshot, 0, has_pytorch, &course));
  return course;
}

/* Two files of one library are one row, whose own peak is another moment than that of the sum. */
static void test_the_course(void **state) {
  (void)state;
  made m = begin(1);
  say(&m, 0, "a/libnccl.so.2", 100, 5);
  say(&m, 0, "b/libnccl.so.2", 50, 6);
  say(&m, 1, "b/libnccl.so.2", 5000, 6);
  say(&m, 0, "a/libnccl.so.2", 10, 7);
  say(&m, 0, "libx.so", 140, 8);
  say(&m, 0, "libx.so", 140, 9);
  say(&m, 0, "liby.so", 0, 10);
  vs_library_course course = course_of(&m, false);
  assert_true(course.is_complete);
  assert_int_equal(course.peak, 200);
  assert_int_equal(course.peak_us, 8);
  assert_int_equal(course.end, 200);
  assert_int_equal(course.list.count, 2);
  assert_int_equal(course.list.data[0].at_peak, 140);
  assert_int_equal(course.list.data[1].at_peak, 60);
  assert_int_equal(course.list.data[1].peak, 150);
  assert_int_equal(course.list.data[1].now, 60);
  vs_library_course_deinit(m.host, &course);
  made_end(&m);
}

/* With memory of PyTorch's a file has to say that it tells of all; without it, that it does not. A lost name is one that is missed. */
static void test_a_course_that_is_not_complete(void **state) {
  (void)state;
  made m = begin(1);
  say(&m, 0, "libx.so", 140, 8);
  vs_library_course course = course_of(&m, true);
  assert_false(course.is_complete);
  assert_int_equal(course.list.count, 0);
  assert_int_equal(course.peak, 0);
  say(&m, 0, "", 1, 9);
  course = course_of(&m, true);
  assert_true(course.is_complete);
  vs_library_course_deinit(m.host, &course);
  say(&m, 0, "", 0, 10);
  assert_false(course_of(&m, true).is_complete);
  assert_false(course_of(&m, false).is_complete);
  m.snapshot->libraries.count = 1;
  m.snapshot->libraries.data[0].name = VS_STRING_NONE;
  assert_false(course_of(&m, false).is_complete);
  made_end(&m);
}

/* A string that was lost is no sentence about all libraries. */
static void test_a_lost_name(void **state) {
  (void)state;
  made m = begin(1);
  say(&m, 0, "x", 1, 5);
  m.snapshot->libraries.data[0].name = VS_STRING_NONE;
  vs_library_uses uses = at(&m, 0);
  assert_false(uses.is_complete);
  vs_library_uses_deinit(m.host, &uses);
  made_end(&m);
}

/* Several files of one name, in any order of times, against the newest total of each file. */
static void test_newest_totals(void **state) {
  (void)state;
  static const char *const paths[] = {"/a/libcublas.so.13", "/a/libcublasLt.so.13", "/b/libcublas.so.12",
                                      "/c/x.so"};
  test_random random = {.state = 3};
  for (int round = 0; round < 200; round++) {
    made m = begin(5);
    uint64_t newest[4] = {0};
    const vs_moment moment = (vs_moment)random_below(&random, 4);
    say(&m, 0, "", 1, 0);
    for (int i = 0; i < 30; i++) {
      const size_t which = (size_t)random_below(&random, 4);
      const int64_t time = (int64_t)random_below(&random, 60);
      const uint64_t bytes = random_below(&random, 3) * 1000;
      say(&m, 0, paths[which], bytes, time);
      if (time <= 10 * (moment + 1)) newest[which] = bytes;
    }
    vs_library_uses uses = at(&m, moment);
    assert_int_equal(bytes_of(&uses, "cuBLAS"), newest[0] + newest[1] + newest[2]);
    assert_int_equal(bytes_of(&uses, "x.so"), newest[3]);
    for (size_t i = 0; i < uses.list.count; i++) {
      assert_true(uses.list.data[i].bytes != 0);
      assert_true(i == 0 || uses.list.data[i - 1].bytes >= uses.list.data[i].bytes);
    }
    vs_library_uses_deinit(m.host, &uses);
    made_end(&m);
  }
}

/* The end of the course is what libraries have at the end, and both tell of every library, or neither: what is missed once, a call or a
 * name, is missed from then on. */
static void test_both_follow_one_rule(void **state) {
  (void)state;
  static const char *const paths[] = {"", "/a/libcublas.so.13", "/c/x.so"};
  test_random random = {.state = 5};
  int complete = 0;
  for (int round = 0; round < 300; round++) {
    made m = begin(2);
    for (int i = 0; i < 6; i++) {
      const size_t which = (size_t)random_below(&random, 3);
      const uint64_t bytes =
          which == 0 ? (uint64_t)(random_below(&random, 4) != 0) : random_below(&random, 3);
      say(&m, 0, paths[which], bytes, i);
      if (random_below(&random, 20) == 0) m.snapshot->libraries.data[i].name = VS_STRING_NONE;
    }
    vs_library_uses uses = at(&m, 1);
    vs_library_course course = course_of(&m, true);
    assert_int_equal(uses.is_complete, course.is_complete);
    complete += uses.is_complete;
    for (size_t i = 0; i < course.list.count; i++) {
      const vs_str name = course.list.data[i].name;
      assert_int_equal(course.list.data[i].now,
                       bytes_of(&uses, vs_str_equal(name, VS_STR("x.so")) ? "x.so" : "cuBLAS"));
    }
    vs_library_course_deinit(m.host, &course);
    vs_library_uses_deinit(m.host, &uses);
    made_end(&m);
  }
  assert_in_range(complete, 50, 250);
}

static void test_too_many(void **state) {
  (void)state;
  made m = begin(1);
  say(&m, 0, "", 1, 0);
  for (int i = 0; i <= VS_MOST_LIBRARIES; i++) {
    char path[32];
    vs_format(path, sizeof path, "%D.so", (int64_t)i);
    vs_library_uses uses = at(&m, 0);
    assert_true(uses.is_complete);
    assert_int_equal(uses.list.count, i);
    vs_library_uses_deinit(m.host, &uses);
    say(&m, 0, path, 1, 0);
  }
  vs_library_uses uses = at(&m, 0);
  assert_false(uses.is_complete);
  assert_int_equal(uses.list.count, 0);
  made_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),         cmocka_unit_test(test_moments),
      cmocka_unit_test(test_the_course),    cmocka_unit_test(test_a_course_that_is_not_complete),
      cmocka_unit_test(test_a_lost_name),   cmocka_unit_test(test_what_is_not_complete_is_not_told),
      cmocka_unit_test(test_newest_totals), cmocka_unit_test(test_both_follow_one_rule),
      cmocka_unit_test(test_too_many),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
