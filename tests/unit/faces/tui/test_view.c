/* Which processes are listed and in which order, and what each key does. */
#include "made.h"

typedef struct fixture {
  vs_top_sample sample;
  vs_top_state state;
  vs_top_view view;
} fixture;

static void rebuild(fixture *f) {
  expect_ok(vs_top_view_build(vs_host_default(), &f->view, &f->sample, &f->state));
  assert_null(vs_top_sample_check(&f->sample));
  assert_null(vs_top_view_check(&f->view, &f->sample));
}

static void begin(fixture *f) {
  memset(f, 0, sizeof *f);
  made_loaded(&f->sample);
  vs_top_state_init(&f->state, 1000000);
  rebuild(f);
}

static void end(fixture *f) {
  vs_top_view_deinit(vs_host_default(), &f->view);
  vs_top_sample_deinit(vs_host_default(), &f->sample);
}

static void press(fixture *f, uint32_t key) {
  vs_top_press(&f->state, &f->sample, &f->view, key, 10);
  rebuild(f);
}

static void type(fixture *f, const char *keys) {
  for (; *keys != 0; keys++) press(f, (uint32_t)*keys);
}

static void expect_pids(const fixture *f, size_t count, const uint64_t *pids) {
  assert_int_equal(f->view.rows.count, count);
  for (size_t i = 0; i < count; i++)
    assert_int_equal(f->sample.processes.data[f->view.rows.data[i]].pid, pids[i]);
}

/* ---- order */

static void test_orders(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  static const struct {
    vs_top_sort sort;
    uint64_t pids[4];
  } cases[] = {
      {VS_TOP_SORT_MEMORY, {12345, 2001, 991234, 31337}}, {VS_TOP_SORT_DEVICE, {2001, 12345, 991234, 31337}},
      {VS_TOP_SORT_PID, {2001, 12345, 31337, 991234}},    {VS_TOP_SORT_USER, {12345, 31337, 2001, 991234}},
      {VS_TOP_SORT_KIND, {2001, 12345, 31337, 991234}},   {VS_TOP_SORT_START, {2001, 12345, 31337, 991234}},
      {VS_TOP_SORT_COMMAND, {2001, 31337, 12345, 991234}}};
  f.sample.processes.data[2].start_us = 0; /* of one that is not visible */
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    f.state.sort = cases[i].sort;
    rebuild(&f);
    if (cases[i].sort == VS_TOP_SORT_COMMAND) expect_pids(&f, 4, (uint64_t[]){2001, 31337, 12345, 991234});
    else expect_pids(&f, 4, cases[i].pids);
  }
  end(&f);
}

/* Unknown is neither the most nor the least: it stays at the end whichever way the rest stands. */
static void test_unknown_last(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  f.sample.processes.data[0].bytes = made_unknown(VS_REASON_NOT_VISIBLE);
  rebuild(&f);
  expect_pids(&f, 4, (uint64_t[]){2001, 991234, 31337, 12345});
  press(&f, 'r');
  expect_pids(&f, 4, (uint64_t[]){31337, 991234, 2001, 12345});
  f.state.sort = VS_TOP_SORT_USER;
  rebuild(&f);
  expect_pids(&f, 4, (uint64_t[]){2001, 31337, 12345, 991234});
  end(&f);
}

/* ---- filters */

static void test_filter(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  type(&f, "/PYTHON"); /* any case, and while it is typed */
  expect_pids(&f, 3, (uint64_t[]){12345, 2001, 31337});
  assert_int_equal(f.view.left_out, 1);
  type(&f, " SERVE");
  expect_pids(&f, 1, (uint64_t[]){31337});
  press(&f, VS_KEY_BACKSPACE);
  press(&f, '\r');
  assert_string_equal(f.state.filter, "PYTHON SERV");
  press(&f, VS_KEY_ESCAPE);
  expect_pids(&f, 4, (uint64_t[]){12345, 2001, 991234, 31337});
  type(&f, "/3f2a\n"); /* a container */
  expect_pids(&f, 1, (uint64_t[]){2001});
  press(&f, '/');
  press(&f, VS_KEY_ESCAPE);
  type(&f, "/9912\n"); /* a pid */
  expect_pids(&f, 1, (uint64_t[]){991234});
  end(&f);
}

static void test_filter_is_bounded(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  press(&f, '/');
  for (int i = 0; i < 300; i++) press(&f, 'x');
  assert_int_equal(strlen(f.state.typed), VS_TOP_TEXT - 1);
  for (int i = 0; i < 300; i++) press(&f, VS_KEY_BACKSPACE);
  assert_string_equal(f.state.typed, "");
  press(&f, 0x20ac); /* what has no place in it is left out */
  press(&f, 7);
  assert_string_equal(f.state.typed, "");
  type(&f, "q"); /* letters are text here, not keys */
  assert_false(f.state.is_over);
  end(&f);
}

static void test_wanted(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  f.state.wanted.users = "bo,ana";
  rebuild(&f);
  expect_pids(&f, 2, (uint64_t[]){12345, 31337});
  f.state.wanted.pids = "31337,1";
  rebuild(&f);
  expect_pids(&f, 1, (uint64_t[]){31337});
  f.state.wanted = (vs_top_wanted){.pids = "3133"};
  rebuild(&f);
  expect_pids(&f, 0, NULL);
  f.state.wanted = (vs_top_wanted){.users = "an"};
  rebuild(&f);
  expect_pids(&f, 0, NULL);
  end(&f);
}

/* ---- devices */

static const char *at_hand(const fixture *f) { return f->sample.devices.data[f->view.device].label; }

static void test_devices(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  assert_string_equal(at_hand(&f), "0");
  press(&f, '1');
  assert_string_equal(at_hand(&f), "1");
  press(&f, 'o');
  expect_pids(&f, 1, (uint64_t[]){31337});
  press(&f, VS_KEY_TAB);
  assert_string_equal(at_hand(&f), "0");
  expect_pids(&f, 3, (uint64_t[]){12345, 2001, 991234});
  press(&f, VS_KEY_BACK_TAB);
  assert_string_equal(at_hand(&f), "1");
  press(&f, '7');
  assert_string_equal(f.state.complaint, "there is no GPU 7 here");
  assert_string_equal(at_hand(&f), "1");
  press(&f, 'o');
  assert_string_equal(f.state.complaint, "");
  expect_pids(&f, 4, (uint64_t[]){12345, 2001, 991234, 31337});
  end(&f);
}

/* The device at hand is a UUID: it stays the same one when rows move, and is the first when it is gone. */
static void test_device_is_kept(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  press(&f, '1');
  const vs_top_device swapped = f.sample.devices.data[0];
  f.sample.devices.data[0] = f.sample.devices.data[1];
  f.sample.devices.data[1] = swapped;
  rebuild(&f);
  assert_int_equal(f.view.device, 0);
  assert_string_equal(at_hand(&f), "1");
  f.sample.devices.data[0].info.uuid[5] = 'x';
  rebuild(&f);
  assert_int_equal(f.view.device, 0);
  end(&f);
}

/* A divided card: its number goes round its MIG devices, and it stands for all their processes. */
static void test_mig(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  f.sample.devices.data[0].info.is_divided = true;
  for (uint32_t i = 0; i < 2; i++) {
    vs_top_device *part = made_device(&f.sample, "NVIDIA H200 MIG 1g.18gb", 16384, 100, 0);
    part->info.is_mig = true;
    part->info.index = part->info.parent = 0;
    part->info.mig_index = i;
    vs_format(part->label, sizeof part->label, "0:%u", i);
  }
  f.sample.processes.data[0].device = 2;
  rebuild(&f);
  press(&f, '0');
  assert_string_equal(at_hand(&f), "0:0");
  press(&f, '0');
  assert_string_equal(at_hand(&f), "0:1");
  press(&f, '0');
  assert_string_equal(at_hand(&f), "0");
  press(&f, 'o');
  expect_pids(&f, 3, (uint64_t[]){12345, 2001, 991234});
  press(&f, '0');
  expect_pids(&f, 1, (uint64_t[]){12345});
  end(&f);
}

/* ---- choosing */

static uint64_t chosen(const fixture *f) {
  return f->view.chosen == VS_TOP_NONE ? 0 : f->sample.processes.data[f->view.rows.data[f->view.chosen]].pid;
}

static void test_choosing(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  assert_int_equal(chosen(&f), 0);
  press(&f, VS_KEY_DOWN);
  assert_int_equal(chosen(&f), 12345);
  type(&f, "jj");
  assert_int_equal(chosen(&f), 991234);
  press(&f, 'k');
  assert_int_equal(chosen(&f), 2001);
  type(&f, "ss"); /* sorted otherwise, the same process */
  assert_int_equal(chosen(&f), 2001);
  press(&f, VS_KEY_END);
  assert_int_equal(chosen(&f), 991234);
  type(&f, "jjjj");
  assert_int_equal(chosen(&f), 991234);
  press(&f, VS_KEY_PAGE_UP);
  assert_int_equal(chosen(&f), 2001);
  press(&f, '\r');
  assert_true(f.state.has_details);
  press(&f, 'j'); /* goes on below the details */
  assert_true(f.state.has_details);
  assert_int_equal(chosen(&f), 12345);
  press(&f, 'q'); /* any other key goes back, and does nothing else */
  assert_false(f.state.has_details || f.state.is_over);
  f.sample.processes.data[0] = f.sample.processes.data[--f.sample.processes.count];
  rebuild(&f); /* it has ended */
  assert_int_equal(chosen(&f), 0);
  press(&f, VS_KEY_ENTER);
  assert_false(f.state.has_details);
  f.sample.processes.count = 0;
  rebuild(&f);
  press(&f, VS_KEY_DOWN);
  press(&f, VS_KEY_PAGE_UP);
  assert_int_equal(chosen(&f), 0);
  end(&f);
}

/* ---- the rest of the keys */

static void test_switches(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  press(&f, 'p');
  assert_true(f.state.is_paused);
  press(&f, ' ');
  assert_false(f.state.is_paused);
  press(&f, 'g');
  assert_false(f.state.has_graph);
  type(&f, "-----------");
  assert_int_equal(f.state.zoom, VS_TOP_ZOOMS - 1);
  type(&f, "++++++++++");
  assert_int_equal(f.state.zoom, 0);
  press(&f, '?');
  assert_true(f.state.has_help);
  press(&f, VS_KEY_OTHER); /* a change of size closes nothing */
  assert_true(f.state.has_help);
  press(&f, 'q');
  assert_false(f.state.has_help || f.state.is_over);
  for (int i = 0; i < VS_TOP_SORT_COUNT; i++) press(&f, 's');
  assert_int_equal(f.state.sort, VS_TOP_SORT_MEMORY);
  press(&f, 'S');
  assert_int_equal(f.state.sort, VS_TOP_SORT_COMMAND);
  press(&f, 'q');
  assert_true(f.state.is_over);
  end(&f);
}

static void test_interval(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t us;
  } good[] = {{"1", 1000000},    {"0.1", 100000},      {".5", 500000},
              {"2.25", 2250000}, {"3600", 3600000000}, {"1.", 1000000}};
  static const char *const bad[] = {"",         ".",  "0",   "0.09", "0.0999999", "3600.5",
                                    "3601",     "-1", "1e3", "1.5s", "1,5",       "99999999999999999999",
                                    "1.2345678"};
  uint64_t us;
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    assert_true(vs_top_parse_interval(vs_str_from(good[i].text), &us));
    assert_int_equal(us, good[i].us);
  }
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    assert_false(vs_top_parse_interval(vs_str_from(bad[i]), &us));
  fixture f;
  begin(&f);
  type(&f, "d0.25\n");
  assert_int_equal(f.state.interval_us, 250000);
  type(&f, "d0.01\n");
  assert_int_equal(f.state.interval_us, 250000);
  assert_string_equal(f.state.complaint, "\"0.01\" is no interval: seconds from 0.1 to 3600, such as 0.5");
  type(&f, "d");
  press(&f, VS_KEY_ESCAPE);
  assert_int_equal(f.state.interval_us, 250000);
  end(&f);
}

/* No key does anything but change what is shown: the sample is what it was, and nothing is ever ended. */
static void test_only_looks(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  vs_top_sample before = {0};
  expect_ok(vs_top_sample_copy(vs_host_default(), &before, &f.sample));
  for (uint32_t key = 0; key < 256; key++) press(&f, key);
  for (uint32_t key = VS_KEY_UP; key <= VS_KEY_NONE; key++) press(&f, key);
  assert_memory_equal(before.processes.data, f.sample.processes.data,
                      before.processes.count * sizeof *before.processes.data);
  vs_top_sample_deinit(vs_host_default(), &before);
  end(&f);
}

static void test_nothing_there(void **state) {
  (void)state;
  fixture f = {0};
  vs_top_state_init(&f.state, 1000000);
  made_init(&f.sample);
  rebuild(&f);
  type(&f, "jk0123oosr\n");
  press(&f, VS_KEY_TAB);
  press(&f, VS_KEY_PAGE_DOWN);
  rebuild(&f);
  assert_int_equal(f.view.rows.count, 0);
  end(&f);
}

/* Each check names an invariant that is broken by hand. */
static void test_checks(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  f.sample.processes.data[1].device = 2;
  assert_string_equal(vs_top_sample_check(&f.sample), "a process is on no device");
  f.sample.processes.data[1].device = 1;
  f.sample.devices.data[1].memory.unattributed.value++;
  assert_string_equal(vs_top_sample_check(&f.sample), "the memory of a device does not add up");
  f.sample.devices.data[1].memory.unattributed.value--;
  memset(f.sample.processes.data[0].command, 'x', VS_TOP_COMMAND);
  assert_string_equal(vs_top_sample_check(&f.sample), "a text of a process does not end");
  f.sample.processes.data[0].command[0] = 0;
  assert_null(vs_top_sample_check(&f.sample));
  const uint32_t row = f.view.rows.data[0];
  f.view.rows.data[0] = f.view.rows.data[1];
  assert_string_equal(vs_top_view_check(&f.view, &f.sample), "a process is listed twice");
  f.view.rows.data[0] = 4;
  assert_string_equal(vs_top_view_check(&f.view, &f.sample), "a row is not a process");
  f.view.rows.data[0] = row;
  f.view.chosen = f.view.rows.count;
  assert_string_equal(vs_top_view_check(&f.view, &f.sample), "the chosen row is not listed");
  f.view.chosen = VS_TOP_NONE;
  f.view.device = 2;
  assert_string_equal(vs_top_view_check(&f.view, &f.sample), "the selected device is not one");
  end(&f);
}

static vs_status build_once(const vs_host *host, void *ctx) {
  const fixture *f = ctx;
  vs_top_view view = {0};
  vs_top_sample copy = {0};
  vs_status status = vs_top_view_build(host, &view, &f->sample, &f->state);
  if (status == VS_OK) status = vs_top_sample_copy(host, &copy, &f->sample);
  vs_top_view_deinit(host, &view);
  vs_top_sample_deinit(host, &copy);
  return status;
}

static void test_without_memory(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  (void)fault_prove(build_once, &f);
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_orders),         cmocka_unit_test(test_unknown_last),
      cmocka_unit_test(test_filter),         cmocka_unit_test(test_filter_is_bounded),
      cmocka_unit_test(test_wanted),         cmocka_unit_test(test_devices),
      cmocka_unit_test(test_device_is_kept), cmocka_unit_test(test_mig),
      cmocka_unit_test(test_choosing),       cmocka_unit_test(test_switches),
      cmocka_unit_test(test_interval),       cmocka_unit_test(test_only_looks),
      cmocka_unit_test(test_nothing_there),  cmocka_unit_test(test_checks),
      cmocka_unit_test(test_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
