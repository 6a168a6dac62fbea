/* What the environment means, each variable by a table; and CUDA_VISIBLE_DEVICES by what NVIDIA's driver
 * makes of it, as PyTorch's own reading of the variable describes it. */
#include "faces/simcuda/core/configuration.h"
#include "support/test.h"
#include <stdlib.h>

/* ---- VRAMSCOPE_SIM_... */

static const char *set_name, *set_value; /* the one variable that is set */

static const char *get(const char *name) {
  return set_name != NULL && strcmp(name, set_name) == 0 ? set_value : NULL;
}

static bool read_with(const char *name, const char *value, vs_configuration *configuration, char *problem) {
  set_name = name;
  set_value = value;
  return vs_configuration_read(configuration, get, problem);
}

static void nothing_set_is_one_h100(void **state) {
  (void)state;
  static vs_configuration c;
  char problem[VS_CONFIGURATION_PROBLEM];
  assert_true(read_with(NULL, NULL, &c, problem));
  assert_int_equal(c.gpu_count, 1);
  assert_string_equal(c.gpus[0].profile->key, "H100");
  assert_false(c.gpus[0].has_context_bytes);
  assert_int_equal(c.given.values, VS_VALUES_ZEROS);
  assert_int_equal(c.events, VS_SIM_EVENTS_AT_ONCE);
  assert_string_equal(c.node, "");
  assert_string_equal(c.run, "");
  assert_true(c.asks_stacks);
  assert_false(c.is_verbose);
  for (int i = 0; i < VS_SIM_FAULT_COUNT; i++) assert_true(c.fail_at[i] == 0 && c.delay_us[i] == 0);
}

static void each_variable_is_read(void **state) {
  (void)state;
  static vs_configuration c;
  char problem[VS_CONFIGURATION_PROBLEM];
  assert_true(read_with("VRAMSCOPE_SIM_GPU", "2xA100,RTX4090:20GiB", &c, problem));
  assert_int_equal(c.gpu_count, 3);
  assert_int_equal(c.gpus[2].total_bytes, UINT64_C(20) << 30);
  assert_true(read_with("VRAMSCOPE_SIM_GPU", "", &c, problem)); /* set and empty is not set */
  assert_string_equal(c.gpus[0].profile->key, "H100");
  assert_true(read_with("VRAMSCOPE_SIM_CONTEXT", "512MiB", &c, problem));
  assert_true(c.gpus[0].has_context_bytes);
  assert_int_equal(c.gpus[0].context_bytes, UINT64_C(512) << 20);
  assert_true(read_with("VRAMSCOPE_SIM_VALUES", "true", &c, problem));
  assert_int_equal(c.given.values, VS_VALUES_TRUE);
  assert_true(read_with("VRAMSCOPE_SIM_VALUES", " keep ", &c, problem));
  assert_int_equal(c.given.values, VS_VALUES_KEEP);
  assert_true(read_with("VRAMSCOPE_SIM_EVENTS", "at-sync", &c, problem));
  assert_int_equal(c.events, VS_SIM_EVENTS_AT_SYNC);
  assert_true(read_with("VRAMSCOPE_SIM_FAULT", "alloc:3, event:1", &c, problem));
  assert_int_equal(c.fail_at[VS_SIM_FAULT_ALLOC], 3);
  assert_int_equal(c.fail_at[VS_SIM_FAULT_EVENT], 1);
  assert_true(read_with("VRAMSCOPE_SIM_DELAY", "stream:250", &c, problem));
  assert_int_equal(c.delay_us[VS_SIM_FAULT_STREAM], 250);
  assert_true(read_with("VRAMSCOPE_SIM_NODE", "/proc/1/fd/7", &c, problem));
  assert_string_equal(c.node, "/proc/1/fd/7");
  assert_true(read_with("VRAMSCOPE_SIM_STACKS", "0", &c, problem));
  assert_false(c.asks_stacks);
  assert_true(read_with("VRAMSCOPE_SIM_VERBOSE", "1", &c, problem));
  assert_true(c.is_verbose);
}

static void a_relative_folder_becomes_absolute(void **state) {
  (void)state;
  static vs_configuration c;
  char problem[VS_CONFIGURATION_PROBLEM], wanted[VS_CONFIGURATION_PATH];
  char *here = realpath(".", NULL);
  assert_non_null(here);
  vs_format(wanted, sizeof wanted, "%s/notes", here);
  free(here);
  assert_true(read_with("VRAMSCOPE_SIM_RUN", "notes", &c, problem));
  assert_string_equal(c.run, wanted);
  assert_true(read_with("VRAMSCOPE_SIM_RUN", "/x/y", &c, problem));
  assert_string_equal(c.run, "/x/y");
}

static void nonsense_is_named(void **state) {
  (void)state;
  static const char *cases[][3] = {
      {"VRAMSCOPE_SIM_GPU", "H1000", "VRAMSCOPE_SIM_GPU=H1000: "},
      {"VRAMSCOPE_SIM_CONTEXT", "much", "VRAMSCOPE_SIM_CONTEXT=much: not a size"},
      {"VRAMSCOPE_SIM_VALUES", "ones", "VRAMSCOPE_SIM_VALUES=ones: not one of zeros|true|keep"},
      {"VRAMSCOPE_SIM_VALUES", "zero", "VRAMSCOPE_SIM_VALUES=zero: "},
      {"VRAMSCOPE_SIM_EVENTS", "at-", "VRAMSCOPE_SIM_EVENTS=at-: "},
      {"VRAMSCOPE_SIM_FAULT", "alloc", "VRAMSCOPE_SIM_FAULT=alloc: "},
      {"VRAMSCOPE_SIM_FAULT", "alloc:1,,", "VRAMSCOPE_SIM_FAULT=alloc:1,,: "},
      {"VRAMSCOPE_SIM_DELAY", "nothing:1", "VRAMSCOPE_SIM_DELAY=nothing:1: "},
  };
  static vs_configuration c;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char problem[VS_CONFIGURATION_PROBLEM] = "";
    assert_false(read_with(cases[i][0], cases[i][1], &c, problem));
    assert_true(vs_str_starts(vs_str_from(problem), vs_str_from(cases[i][2])));
  }
  static char long_path[2 * VS_CONFIGURATION_PATH];
  memset(long_path, 'a', sizeof long_path - 1);
  char problem[VS_CONFIGURATION_PROBLEM] = "";
  assert_false(read_with("VRAMSCOPE_SIM_RUN", long_path, &c, problem));
  assert_false(read_with("VRAMSCOPE_SIM_NODE", long_path, &c, problem));
}

/* ---- CUDA_VISIBLE_DEVICES */

/* On a machine of four cards: the list, and what is seen, as digits. */
static void expect_visible(const char *list, const char *wanted) {
  uint32_t cards[VS_SIM_MAX_DEVICES];
  char seen[VS_SIM_MAX_DEVICES + 1];
  const uint32_t count = vs_visible_cards(list, 4, cards);
  for (uint32_t i = 0; i < count; i++) seen[i] = (char)('0' + cards[i]);
  seen[count] = 0;
  assert_string_equal(seen, wanted);
}

static void numbers(void **state) {
  (void)state;
  expect_visible(NULL, "0123");
  expect_visible("", "");
  expect_visible("0,1,2,3", "0123");
  expect_visible("3,1", "31");
  expect_visible("0, 2 ,3", "023");
  expect_visible("-1", "");
  expect_visible("0,-1,2", "0"); /* an invalid entry ends the list */
  expect_visible("0,4,1", "0");
  expect_visible("4", "");
  expect_visible("0,,1", "0");
  expect_visible("0,1,", "01");
  expect_visible("NoDevFiles", "");
  expect_visible("1gpu2,2ampere", "12"); /* only the beginning counts */
  expect_visible("+1", "1");
  expect_visible("0x1", "0");
  expect_visible("1,1", ""); /* a repeated entry hides all */
  expect_visible("0,1,0", "");
  expect_visible("0,-1,0", "0"); /* but not behind the end */
  expect_visible("0,9,0", "");
  expect_visible("1,01", "");
  expect_visible("99999999999999999999", "");
  expect_visible("0,99999999999999999999,1", "0");
  expect_visible("4294967296", ""); /* not 0 */
  expect_visible("0,MIG-1", "0");
  expect_visible("0,GPU-73696d75", "0");
}

static void uuids(void **state) {
  (void)state;
  char one[VS_CARD_UUID_TEXT], two[VS_CARD_UUID_TEXT], list[4 * VS_CARD_UUID_TEXT];
  vs_card_uuid_text(1, one);
  vs_card_uuid_text(2, two);
  assert_int_equal(strlen(one), VS_CARD_UUID_TEXT - 1);
  assert_true(one[8 + 4] == '-' && one[13 + 4] == '-' && one[18 + 4] == '-' && one[23 + 4] == '-');
  expect_visible(one, "1");
  vs_format(list, sizeof list, "%s,%s", two, one);
  expect_visible(list, "21");
  vs_format(list, sizeof list, "%s,%s", two, two);
  expect_visible(list, "");
  vs_format(list, sizeof list, "%s,0", two); /* no mixture */
  expect_visible(list, "2");
  vs_format(list, sizeof list, "%s,GPU-0,%s", two, one);
  expect_visible(list, "2");
  expect_visible("GPU-", ""); /* more than one card begins so */
  one[strlen(one) - 1] = 'f';
  expect_visible(one, "");
  expect_visible("GPU-73696d75-6c61-7465-6400-0000000000011", "");
  uint32_t cards[VS_SIM_MAX_DEVICES];
  assert_int_equal(vs_visible_cards("GPU-73", 1, cards), 1); /* the beginning is enough for one card alone */
  assert_int_equal(vs_visible_cards("GPU-73,GPU-736", 1, cards), 0);
}

static void a_machine_without_cards_shows_none(void **state) {
  (void)state;
  uint32_t cards[VS_SIM_MAX_DEVICES];
  assert_int_equal(vs_visible_cards(NULL, 0, cards), 0);
  assert_int_equal(vs_visible_cards("0", 0, cards), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_set_is_one_h100),
      cmocka_unit_test(each_variable_is_read),
      cmocka_unit_test(a_relative_folder_becomes_absolute),
      cmocka_unit_test(nonsense_is_named),
      cmocka_unit_test(numbers),
      cmocka_unit_test(uuids),
      cmocka_unit_test(a_machine_without_cards_shows_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
