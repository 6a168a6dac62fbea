#include "query/filter.h"
#include "support/snapshots.h"
#include "unit/query/sample.h"

static vs_snapshot *s;
static vs_frames frames;
static vs_error error;

static int setup(void **state) {
  (void)state;
  s = snapshot_of(vs_str_from(sample_json));
  return vs_frames_init(vs_host_default(), s, &frames) == VS_OK ? 0 : 1;
}

static int teardown(void **state) {
  (void)state;
  vs_frames_deinit(vs_host_default(), &frames);
  vs_snapshot_destroy(s);
  return 0;
}

/* The stack that the first event of the sample has (load; all) and that of the second (forward). */
static uint32_t stack_of(uint32_t event) { return vs_events_stack(&s->events, event); }

static bool keeps(const char *text, const vs_filter_row *row) {
  vs_filter filter;
  expect_ok(vs_filter_init(&filter, vs_host_default(), vs_str_from(text), &error));
  expect_ok(vs_filter_prepare(&filter, s, &frames));
  const bool first = vs_filter_keeps(&filter, s, row), second = vs_filter_keeps(&filter, s, row);
  assert_int_equal(first, second); /* the second time from what it remembers */
  vs_filter_deinit(&filter);
  return first;
}

static void expect_refused(const char *text, const char *why) {
  vs_filter filter;
  expect_status(vs_filter_init(&filter, vs_host_default(), vs_str_from(text), &error), VS_BAD_ARGUMENT);
  assert_string_equal(error.text, why);
}

static void numbers_are_compared(void **state) {
  (void)state;
  const vs_filter_row row = {.size = 1 << 20,
                             .address = 0x7f0000000000,
                             .event = 7,
                             .has = 1u << VS_FILTER_size | 1u << VS_FILTER_address | 1u << VS_FILTER_event |
                                    1u << VS_FILTER_stream};
  const struct {
    const char *filter;
    bool keeps;
  } cases[] = {
      {"", true},
      {"   ", true},
      {"size=1MiB", true},
      {"size=1048576B", true},
      {"size>1MiB", false},
      {"size>=1MiB", true},
      {"size<1MiB", false},
      {"size<=1MiB", true},
      {"size!=1MiB", false},
      {"size>1MB", true},
      {"size<1.1M", true},
      {"size>0.5KiB size<2G", true},
      {"size>0.5KiB size>2G", false},
      {"size<1T", true},
      {"address=0x7f0000000000", true},
      {"address=0X7F0000000000", true},
      {"address=139637976727552", true},
      {"address<0x7f0000000000", false},
      {"event=7", true},
      {"stream=0", true},
      {"stream=7", false},
      {"stream!=7", true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (keeps(cases[i].filter, &row) != cases[i].keeps) fail_msg("filter '%s'", cases[i].filter);
}

/* Binary units by a letter or with i, decimal ones without; to the nearest byte. */
static void sizes_have_units(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t bytes;
  } sizes[] = {
      {"3", 3},
      {"3B", 3},
      {"3K", 3 * 1024},
      {"3KiB", 3 * 1024},
      {"3KB", 3000},
      {"3M", UINT64_C(3) << 20},
      {"3MiB", UINT64_C(3) << 20},
      {"3MB", 3000000},
      {"3G", UINT64_C(3) << 30},
      {"3GiB", UINT64_C(3) << 30},
      {"3GB", UINT64_C(3000000000)},
      {"3T", UINT64_C(3) << 40},
      {"3TiB", UINT64_C(3) << 40},
      {"3TB", UINT64_C(3000000000000)},
      {"0.4B", 0},
      {"0.6B", 1},
      {"1.2346KB", 1235},
  };
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const vs_filter_row row = {.size = sizes[i].bytes, .has = 1u << VS_FILTER_size};
    char filter[32];
    vs_format(filter, sizeof filter, "size=%s", sizes[i].text);
    if (!keeps(filter, &row)) fail_msg("%s is not %llu bytes", filter, (unsigned long long)sizes[i].bytes);
  }
}

static void what_a_row_does_not_have_is_neither_equal_nor_not(void **state) {
  (void)state;
  const vs_filter_row row = {.size = 5, .has = 1u << VS_FILTER_size};
  assert_true(keeps("size=5", &row));
  assert_false(keeps("category=x", &row));
  assert_false(keeps("category!=x", &row));
  assert_false(keeps("event<10", &row));
}

static void pools_and_names(void **state) {
  (void)state;
  vs_filter_row row = {
      .pool = 2, .state = VS_STR("inactive"), .has = 1u << VS_FILTER_pool | 1u << VS_FILTER_state};
  assert_true(keeps("pool=0,1", &row));
  assert_true(keeps("pool=(0,1)", &row));
  assert_false(keeps("pool=0,0", &row));
  assert_true(keeps("pool!=0,0 pool!=none", &row));
  row.pool = 0;
  assert_true(keeps("pool=none", &row));
  assert_false(keeps("pool=0,0", &row));
  assert_true(keeps("state=inactive", &row));
  assert_false(keeps("state=inact", &row));
  assert_true(keeps("state!=active_allocated", &row));
}

static void text_is_looked_for_in_functions_and_files(void **state) {
  (void)state;
  const vs_filter_row load = {.stack = stack_of(0)}, forward = {.stack = stack_of(1)},
                      none = {.stack = VS_LIST_NONE};
  assert_true(keeps("train.py", &load));
  assert_true(keeps("train.py", &forward));
  assert_true(keeps("model", &forward));
  assert_false(keeps("model", &load));
  assert_true(keeps("train forward", &forward));
  assert_false(keeps("train forward nowhere", &forward));
  assert_true(keeps("\"load; all\"", &load));
  assert_true(keeps("load; all", &load));
  assert_true(keeps("torch::unwind", &forward));
  assert_false(keeps("Train", &load));
  assert_false(keeps("train", &none));
  assert_false(keeps("\"size=5\"", &load)); /* quoted: text, not a comparison */
  assert_true(keeps("<module>", &load));
}

static void stacks_and_lines(void **state) {
  (void)state;
  const vs_filter_row load = {.stack = stack_of(0)}, forward = {.stack = stack_of(1)},
                      none = {.stack = VS_LIST_NONE};
  char same[40], other[40];
  vs_format(same, sizeof same, "stack=%u", load.stack);
  vs_format(other, sizeof other, "stack!=%u", load.stack);
  assert_true(keeps(same, &load));
  assert_false(keeps(same, &forward));
  assert_true(keeps(other, &forward));
  assert_true(keeps("line=model.py:12", &forward)); /* the frame of noise above it does not count */
  assert_true(keeps("line=u/model.py:12", &forward));
  assert_true(keeps("line=\"/home/u/model.py:12\"", &forward));
  assert_false(keeps("line=odel.py:12", &forward));
  assert_false(keeps("line=model.py:13", &forward));
  assert_false(keeps("line=model.py", &forward));
  assert_false(keeps("line=train.py:3", &forward)); /* not the innermost */
  assert_false(keeps("line=model.py:12", &none));
  assert_true(keeps("line!=model.py:12", &load));
  assert_true(keeps("line=model.py:12 train", &forward));
  assert_false(keeps("line=model.py:12 train.py line=data.py:7", &forward));
}

static void values_can_be_quoted(void **state) {
  (void)state;
  const vs_filter_row row = {.annotation = VS_STR("ProfilerStep# 1"),
                             .lifetime_us = 1500,
                             .size = 7,
                             .has = 1u << VS_FILTER_annotation | 1u << VS_FILTER_lifetime |
                                    1u << VS_FILTER_size};
  assert_true(keeps("annotation=\"ProfilerStep# 1\"", &row));
  assert_true(keeps("annotation=\"ProfilerStep# 1\" size=7", &row));
  assert_false(keeps("annotation=\"ProfilerStep# 1\" size=8", &row));
  assert_false(keeps("annotation!=\"ProfilerStep# 1\"", &row));
  assert_false(keeps("annotation=\"\"", &row));
  assert_true(keeps("size=\"7\"", &row));
  assert_true(keeps("lifetime=1.5ms lifetime>1499us lifetime<2s", &row));
  assert_false(keeps("lifetime>=2ms", &row));
}

static void expect_not_allowed(const char *text, const char *sentence) {
  const uint32_t names = 1u << VS_FILTER_action | 1u << VS_FILTER_state;
  vs_filter filter;
  expect_ok(vs_filter_init(&filter, vs_host_default(), vs_str_from(text), &error));
  expect_status(vs_filter_allow(&filter, s, names, "rows", &error), VS_BAD_ARGUMENT);
  assert_string_equal(error.text, sentence);
  vs_filter_deinit(&filter);
}

static void mistakes_are_explained(void **state) {
  (void)state;
  expect_refused("size>big", "filter 'size>big': a size is a number, perhaps with B, KiB, MiB, GiB");
  expect_refused("size>1XB", "filter 'size>1XB': a size is a number, perhaps with B, KiB, MiB, GiB");
  expect_refused("size>99999999T",
                 "filter 'size>99999999T': a size is a number, perhaps with B, KiB, MiB, GiB");
  expect_refused("size>", "filter 'size>': a size is a number, perhaps with B, KiB, MiB, GiB");
  expect_refused("stream=x", "filter 'stream=x': this is compared with a number");
  expect_refused("address=0x", "filter 'address=0x': this is compared with a number");
  expect_refused("pool>0,1", "filter 'pool>0,1': pools have no order, only = and !=");
  expect_refused("pool=1", "filter 'pool=1': a pool is written 0,1 or none");
  expect_refused("state<x", "filter 'state<x': names have no order, only = and !=");
  expect_refused("annotation=\"b", "filter 'annotation=\"b': the quote is not closed");
  expect_refused("lifetime>3", "filter 'lifetime>3': a time is a number with us, ms, s or min");
  expect_refused("line<x:1", "filter 'line<x:1': names have no order, only = and !=");
  expect_refused("stack=x", "filter 'stack=x': this is compared with a number");
  expect_refused("name=x1_2", "filter 'name=x1_2': a name is written b7f0000_2 or s7f0000_0");
  expect_refused("name=b_2", "filter 'name=b_2': a name is written b7f0000_2 or s7f0000_0");
  expect_refused("name=b12", "filter 'name=b12': a name is written b7f0000_2 or s7f0000_0");
  expect_refused("name=b12_", "filter 'name=b12_': a name is written b7f0000_2 or s7f0000_0");
  expect_refused("name=b12345678901234567_1",
                 "filter 'name=b12345678901234567_1': a name is written b7f0000_2 or s7f0000_0");
  expect_refused("name<b1_2", "filter 'name<b1_2': names have no order, only = and !=");
  expect_refused("a \"b", "filter '\"b': the quote is not closed");
  expect_refused(
      "sise>1MiB",
      "filter 'sise>1MiB': unknown key; did you mean 'size'? (put text that contains = < > in double "
      "quotes)");
  expect_refused("vector<float>",
                 "filter 'vector<float>': unknown key (put text that contains = < > in double quotes)");
  vs_filter filter;
  expect_ok(vs_filter_init(&filter, vs_host_default(), VS_STR("size>1 state=inactive"), &error));
  expect_ok(vs_filter_allow(&filter, s, 1u << VS_FILTER_size | 1u << VS_FILTER_state, "rows", &error));
  expect_status(vs_filter_allow(&filter, s, 1u << VS_FILTER_size, "events", &error), VS_BAD_ARGUMENT);
  assert_string_equal(error.text, "filter: events have no 'state'");
  vs_filter_deinit(&filter);
  expect_not_allowed("action=aloc", "filter: unknown action 'aloc'; did you mean 'alloc'?");
  expect_not_allowed("action!=nothing_like_it", "filter: unknown action 'nothing_like_it'");
  expect_not_allowed("state=inactiv", "filter: unknown state 'inactiv'; did you mean 'inactive'?");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_compared),
      cmocka_unit_test(sizes_have_units),
      cmocka_unit_test(what_a_row_does_not_have_is_neither_equal_nor_not),
      cmocka_unit_test(pools_and_names),
      cmocka_unit_test(text_is_looked_for_in_functions_and_files),
      cmocka_unit_test(stacks_and_lines),
      cmocka_unit_test(values_can_be_quoted),
      cmocka_unit_test(mistakes_are_explained),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
