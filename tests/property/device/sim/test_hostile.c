/* A program that passes anything as anything: every call with handles that are right, stale, of another kind,
 * or garbage. Nothing crashes (the hostile build looks), answers are answers, and at the end everything is
 * given back. */
#include "support/random.h"
#include "unit/device/sim/work.h"

enum { HANDLES = 64, STEPS = 20000, RUNS = 20, FEW = 6 };

static machine m;
static vs_sim *sim;
static test_random random_now;
static uint64_t handles[HANDLES]; /* what was ever seen, the oldest overwritten */

static uint64_t below(uint64_t bound) { return random_below(&random_now, bound); }

static uint64_t any(void) {
  switch (below(12)) {
    case 0: return random_u64(&random_now);
    case 1: return below(5);
    case 2: return handles[below(HANDLES)] ^ UINT64_C(1) << below(64);
    default: return handles[below(HANDLES)];
  }
}

static void see(uint64_t handle) { handles[below(HANDLES)] = handle; }

static uint32_t any_device(void) {
  return (uint32_t)below(10) == 0 ? UINT32_MAX : (uint32_t)below(CARDS + 1);
}
static uint32_t any_flags(void) {
  return below(4) == 0 ? (uint32_t)random_u64(&random_now) : (uint32_t)below(2);
}

static vs_sim_work any_work(void) {
  const uint64_t size = below(3) == 0 ? random_u64(&random_now) : below(8) << 20;
  return (vs_sim_work){.kind = (vs_sim_node_kind)below(VS_SIM_NODE_KINDS + 2),
                       .device = any_device(),
                       .object = any(),
                       .operand = size};
}

static vs_sim_error call_streams(uint64_t which, const vs_sim_thread *thread) {
  uint64_t out = 0;
  int64_t ns;
  vs_sim_error error;
  switch (which) {
    case 0: error = vs_sim_stream_create(sim, any_device(), any_flags(), (int32_t)any_flags(), &out); break;
    case 1: return below(4) == 0 ? vs_sim_stream_destroy(sim, any()) : VS_SIM_OK;
    case 2: return vs_sim_stream_query(sim, any_device(), any());
    case 3: return below(8) == 0 ? vs_sim_stream_synchronize(sim, any_device(), any()) : VS_SIM_OK;
    case 4: return below(20) == 0 ? vs_sim_device_synchronize(sim, any_device()) : VS_SIM_OK;
    case 5: return vs_sim_stream_wait_event(sim, any_device(), any(), any(), any_flags());
    case 6: error = vs_sim_event_create(sim, any_device(), any_flags(), &out); break;
    case 7: return below(4) == 0 ? vs_sim_event_destroy(sim, any()) : VS_SIM_OK;
    case 8: return vs_sim_event_record(sim, any_device(), any(), any(), any_flags());
    case 9: return below(8) == 0 ? vs_sim_event_query(sim, thread, any()) : VS_SIM_OK;
    case 10: return below(8) == 0 ? vs_sim_event_synchronize(sim, thread, any()) : VS_SIM_OK;
    default: return vs_sim_event_elapsed(sim, any(), any(), &ns);
  }
  if (error == VS_SIM_OK) see(out);
  return error;
}

static vs_sim_error call_captures(uint64_t which, const vs_sim_thread *thread) {
  uint64_t out = 0, few[FEW];
  for (size_t i = 0; i < FEW; i++) few[i] = any();
  const vs_sim_capture_mode mode = (vs_sim_capture_mode)below(4);
  const vs_sim_work work = any_work();
  vs_sim_capture_info info = {0};
  vs_sim_error error = VS_SIM_OK;
  switch (which) {
    case 0: return vs_sim_capture_begin(sim, thread, any_device(), any(), mode);
    case 1: return vs_sim_capture_begin_to(sim, thread, any_device(), any(), any(), few, below(FEW), mode);
    case 2: error = vs_sim_capture_end(sim, thread, any_device(), any(), &out); break;
    case 3:
      return vs_sim_capture_update(sim, any_device(), any(), few, below(FEW), (vs_sim_dependencies)below(3));
    case 4:
      error = vs_sim_stream_capture_info(sim, 0, any(), &info);
      out = info.graph;
      break;
    case 5: see(vs_sim_capture_dependency(sim, 0, any(), below(3))); return VS_SIM_OK;
    case 6: return below(10) == 0 ? vs_sim_unsafe_call(sim, thread) : VS_SIM_OK;
    case 7: return below(10) == 0 ? vs_sim_op_uncapturable(sim, any_device(), any()) : VS_SIM_OK;
    case 8: error = vs_sim_alloc_async(sim, any_device(), any(), below(2) * any(), work.operand, &out); break;
    case 9: return vs_sim_free_async(sim, any_device(), any(), any());
    case 10: return vs_sim_graph_free(sim, any());
    default: return vs_sim_work_add(sim, any_device(), any(), &work, NULL);
  }
  if (error == VS_SIM_OK && out != 0) see(out);
  return error;
}

static vs_sim_error call_graphs(uint64_t which) {
  uint64_t out = 0, few[FEW], others[FEW];
  for (size_t i = 0; i < FEW; i++) few[i] = any(), others[i] = any();
  size_t count = below(FEW);
  const vs_sim_work work = any_work();
  vs_sim_error error = VS_SIM_OK;
  switch (which) {
    case 0: error = vs_sim_graph_create(sim, (uint32_t)(below(9) == 0), &out); break;
    case 1: return below(4) == 0 ? vs_sim_graph_destroy(sim, any()) : VS_SIM_OK;
    case 2: error = below(4) == 0 ? vs_sim_graph_clone(sim, any(), &out) : VS_SIM_OK; break;
    case 3: error = vs_sim_graph_find_in_clone(sim, any(), any(), &out); break;
    case 4:
      error = vs_sim_graph_nodes(sim, any(), few, &count);
      out = few[0];
      break;
    case 5: return vs_sim_graph_edges(sim, any(), few, others, &count);
    case 6: return vs_sim_node_dependencies(sim, any(), few, &count);
    case 7: return vs_sim_node_dependents(sim, any(), few, &count);
    case 8: error = vs_sim_graph_add(sim, any(), few, below(3), &work, &out); break;
    case 9:
      error = below(3) == 0 ? vs_sim_graph_add_child(sim, any(), few, below(2), any(), &out) : VS_SIM_OK;
      break;
    case 10: return vs_sim_graph_add_edges(sim, any(), few, others, below(3));
    case 11: return vs_sim_graph_remove_edges(sim, any(), few, others, below(3));
    case 12: return vs_sim_node_destroy(sim, any());
    case 13: return vs_sim_node_set_work(sim, any(), &work);
    default: error = vs_sim_node_child(sim, any(), &out); break;
  }
  if (error == VS_SIM_OK && out != 0) see(out);
  return error;
}

static vs_sim_error call_execs(uint64_t which) {
  uint64_t out = 0;
  const vs_sim_work work = any_work();
  const uint32_t count = any_flags();
  vs_sim_callback callback;
  vs_sim_error error = VS_SIM_OK;
  switch (which) {
    case 0: error = vs_sim_graph_instantiate(sim, any(), any_flags(), &out); break;
    case 1: return below(3) == 0 ? vs_sim_exec_destroy(sim, any()) : VS_SIM_OK;
    case 2: return vs_sim_exec_update(sim, any(), any(), NULL, &out);
    case 3: return vs_sim_exec_set_work(sim, any(), any(), &work);
    case 4: return vs_sim_exec_launch(sim, any_device(), any(), any());
    case 5: return vs_sim_exec_upload(sim, any_device(), any(), any());
    case 6: error = vs_sim_user_object_create(sim, any(), 1, count, any_flags(), &out); break;
    case 7: return vs_sim_user_object_retain(sim, any(), count);
    case 8: return vs_sim_user_object_release(sim, any(), count);
    case 9: return vs_sim_graph_retain(sim, any(), any(), count, any_flags());
    case 10: return vs_sim_graph_release(sim, any(), any(), count);
    case 11: return below(9) == 0 ? vs_sim_graph_memory_trim(sim, any_device()) : VS_SIM_OK;
    case 12:
      while (below(4) != 0 && vs_sim_next_callback(sim, &callback)) {
      }
      return VS_SIM_OK;
    default: return below(300) == 0 ? vs_sim_device_reset(sim, any_device()) : VS_SIM_OK;
  }
  if (error == VS_SIM_OK) see(out);
  return error;
}

static void anything_for_anything(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= RUNS; seed++) {
    random_now = (test_random){seed};
    sim = work_begin(&m, seed % 2 == 0 ? VS_SIM_EVENTS_AT_ONCE : VS_SIM_EVENTS_AT_SYNC);
    for (size_t i = 0; i < HANDLES; i++) handles[i] = i % 4;
    uint64_t fine = 0;
    for (int i = 0; i < STEPS; i++) {
      const vs_sim_thread thread = {.id = below(2), .mode = (vs_sim_capture_mode)below(3)};
      vs_sim_error error;
      switch (below(4)) {
        case 0: error = call_streams(below(12), &thread); break;
        case 1: error = call_captures(below(14), &thread); break;
        case 2: error = call_graphs(below(15)); break;
        default: error = call_execs(below(14)); break;
      }
      fine += error == VS_SIM_OK;
      if (i % 100 == 0) assert_true(vs_sim_check(sim));
    }
    assert_true(fine > STEPS / 10); /* it was not all refused */
    machine_end(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(anything_for_anything)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
