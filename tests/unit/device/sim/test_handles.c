/* Numbers and handles against a naive table. */
#include "device/sim/handles.h"
#include "support/random.h"
#include "support/test.h"

enum { MOST = 200, STEPS = 20000 };

static void the_lowest_free_number_comes_first(void **state) {
  (void)state;
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  vs_sim_numbers numbers = {0};
  bool is_out[MOST] = {false};
  test_random random = {3};
  for (int step = 0; step < STEPS; step++) {
    uint32_t lowest = 0, number;
    while (lowest < MOST && is_out[lowest]) lowest++;
    const uint32_t some = (uint32_t)random_below(&random, MOST);
    if (is_out[some] && random_below(&random, 3) != 0) {
      vs_sim_numbers_give(&numbers, some);
      is_out[some] = false;
    } else if (lowest == MOST) {
      assert_int_equal(vs_sim_numbers_take(&fault.host, &numbers, MOST, &number), VS_SIM_OUT_OF_MEMORY);
    } else {
      assert_int_equal(vs_sim_numbers_take(&fault.host, &numbers, MOST, &number), VS_SIM_OK);
      assert_int_equal(number, lowest);
      is_out[lowest] = true;
    }
  }
  vs_sim_numbers_deinit(&fault.host, &numbers);
  fault_host_expect_empty(&fault);
}

static void handles_find_what_they_name(void **state) {
  (void)state;
  const vs_host *host = vs_host_default();
  vs_sim_handles handles = {0};
  int a, b;
  uint32_t number, part;
  assert_null(vs_sim_handle_find(&handles, VS_SIM_HANDLE_GRAPH, 0, NULL));
  assert_int_equal(vs_sim_handles_add(host, &handles, &a, &number), VS_SIM_OK);
  const uint64_t first = vs_sim_handle_make(&handles, VS_SIM_HANDLE_GRAPH, number, 0);
  const uint64_t node = vs_sim_handle_make(&handles, VS_SIM_HANDLE_NODE, number, 77);
  assert_ptr_equal(vs_sim_handle_find(&handles, VS_SIM_HANDLE_GRAPH, first, NULL), &a);
  assert_ptr_equal(vs_sim_handle_find(&handles, VS_SIM_HANDLE_NODE, node, &part), &a);
  assert_int_equal(part, 77);
  /* Another kind, a part where none belongs, and every single wrong bit. */
  assert_null(vs_sim_handle_find(&handles, VS_SIM_HANDLE_EVENT, first, NULL));
  assert_null(vs_sim_handle_find(&handles, VS_SIM_HANDLE_NODE, first, &part));
  assert_null(vs_sim_handle_find(&handles, VS_SIM_HANDLE_NODE, node, NULL));
  for (int bit = 0; bit < 64; bit++)
    assert_null(vs_sim_handle_find(&handles, VS_SIM_HANDLE_GRAPH, first ^ UINT64_C(1) << bit, NULL));
  /* The number comes back, the handle does not. */
  for (int life = 0; life < 254; life++) {
    vs_sim_handles_remove(&handles, number);
    assert_null(vs_sim_handle_find(&handles, VS_SIM_HANDLE_GRAPH, first, NULL));
    assert_int_equal(vs_sim_handles_add(host, &handles, &b, &number), VS_SIM_OK);
    assert_int_equal(number, 0);
    assert_null(vs_sim_handle_find(&handles, VS_SIM_HANDLE_GRAPH, first, NULL));
  }
  vs_sim_handles_deinit(host, &handles);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_lowest_free_number_comes_first),
      cmocka_unit_test(handles_find_what_they_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
