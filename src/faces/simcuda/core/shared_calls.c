#include "faces/simcuda/core/shared_calls.h"

#include <stdlib.h>

#include "faces/simcuda/core/callbacks.h"
#include "faces/simcuda/core/process_internal.h"

/* ---- memory */

vs_sim_error vs_call_alloc(vs_sim *sim, const vs_sim_thread *thread, uint32_t device, uint64_t size,
                           uint64_t *address) {
  VS_ASSERT(vs_simcuda_is_locked());
  VS_SIM_TRY(vs_sim_unsafe_call(sim, thread));
  return vs_sim_alloc(sim, device, size, address);
}

vs_sim_error vs_call_free(vs_sim *sim, const vs_sim_thread *thread, uint64_t address) {
  VS_ASSERT(vs_simcuda_is_locked());
  VS_SIM_TRY(vs_sim_unsafe_call(sim, thread));
  return vs_sim_free(sim, address, NULL);
}

vs_sim_error vs_call_free_async(vs_sim *sim, uint32_t device, uint64_t stream, uint64_t address) {
  const vs_sim_range *range = vs_sim_find(sim, address);
  if (range == NULL || range->kind != VS_SIM_RANGE_DEVICE || range->base != address)
    return vs_sim_free_async(sim, device, stream, address);
  VS_SIM_TRY(vs_sim_op_uncapturable(sim, device, stream));
  return vs_sim_free(sim, address, NULL);
}

/* Checks that an unsafe call is allowed now, for calls that then work without the lock. */
static vs_sim_error ask_unsafe(bool is_waiting) {
  vs_sim *sim = vs_simcuda_lock();
  if (sim == NULL) return vs_simcuda_why_not();
  const vs_sim_error error = vs_sim_unsafe_call(sim, &vs_simcuda_this_thread()->sim);
  return is_waiting ? vs_simcuda_leave_synchronized(error) : vs_simcuda_leave(error);
}

vs_sim_error vs_call_host_alloc(uint64_t size, uint32_t flags, void **memory) {
  void *pages = NULL;
  VS_SIM_TRY(ask_unsafe(false));
  if (size != 0) VS_SIM_TRY(vs_simcuda_host_alloc(size, &pages));
  vs_simcuda_lock_begun();
  vs_sim_range *range = vs_sim_find_mutable(&vs_this_process.sim, (uintptr_t)pages);
  if (range != NULL) range->flags = flags;
  vs_simcuda_unlock();
  *memory = pages;
  return VS_SIM_OK;
}

vs_sim_error vs_call_host_free(void *memory) {
  VS_SIM_TRY(ask_unsafe(true));
  return vs_simcuda_host_free(memory);
}

vs_sim_error vs_call_host_register(vs_sim *sim, const vs_sim_thread *thread, uint64_t address, uint64_t size,
                                   uint32_t flags) {
  VS_SIM_TRY(vs_sim_unsafe_call(sim, thread));
  return vs_sim_host_add(sim, address, size, flags, 0);
}

/* A range that CUDA allocated has its size in pages in `user`. */
vs_sim_error vs_call_host_unregister(vs_sim *sim, uint64_t address) {
  const vs_sim_range *range = vs_sim_find(sim, address);
  if (range == NULL || range->kind != VS_SIM_RANGE_HOST || range->user != 0)
    return VS_SIM_HOST_MEMORY_NOT_REGISTERED;
  return vs_sim_host_remove(sim, address, NULL);
}

vs_sim_error vs_call_managed_alloc(uint64_t size, void **memory) {
  VS_SIM_TRY(ask_unsafe(false));
  return vs_simcuda_managed_alloc(size, memory);
}

vs_sim_error vs_call_check_managed(const vs_sim *sim, uint64_t address, uint64_t size) {
  const vs_sim_range *range = vs_sim_find(sim, address);
  if (range == NULL || range->kind != VS_SIM_RANGE_MANAGED || size == 0) return VS_SIM_INVALID_VALUE;
  return size <= range->size - (address - range->base) ? VS_SIM_OK : VS_SIM_INVALID_VALUE;
}

/* ---- functions of the program, in streams */

vs_sim_error vs_call_host_function(uint32_t device, uint64_t stream, uint64_t function, uint64_t argument) {
  const vs_sim_work work = {.kind = VS_SIM_NODE_HOST, .object = function, .operand = argument};
  bool is_captured = false;
  if (function == 0) return VS_SIM_INVALID_VALUE;
  vs_sim *sim = vs_simcuda_lock();
  if (sim == NULL) return vs_simcuda_why_not();
  VS_SIM_TRY(vs_simcuda_leave(vs_sim_work_add(sim, device, stream, &work, &is_captured)));
  if (is_captured) return VS_SIM_OK;
  return vs_callbacks_add(&(vs_callback){.function = function, .argument = argument});
}

vs_sim_error vs_call_stream_callback(uint32_t device, uint64_t stream, uint64_t function, uint64_t argument) {
  if (function == 0) return VS_SIM_INVALID_VALUE;
  vs_sim *sim = vs_simcuda_lock();
  if (sim == NULL) return vs_simcuda_why_not();
  VS_SIM_TRY(vs_simcuda_leave(vs_sim_op_uncapturable(sim, device, stream)));
  return vs_callbacks_add(&(vs_callback){
      .function = function, .argument = argument, .stream = stream, .is_stream_callback = true});
}

/* ---- captures */

vs_sim_error vs_call_capture_info(vs_sim *sim, uint32_t device, uint64_t stream, vs_call_capture *capture) {
  static _Thread_local struct {
    uint64_t *data; /* the nodes, followed by zeros for their edges */
    size_t capacity;
  } kept;
  VS_SIM_TRY(vs_sim_stream_capture_info(sim, device, stream, &capture->info));
  const size_t count = capture->info.dependency_count;
  if (kept.capacity < count) {
    uint64_t *grown = realloc(kept.data, 2 * count * sizeof *grown);
    if (grown == NULL) return VS_SIM_OUT_OF_MEMORY;
    kept.data = grown;
    kept.capacity = count;
  }
  VS_ASSERT(count <= kept.capacity);
  for (size_t i = 0; i < count; i++) kept.data[i] = vs_sim_capture_dependency(sim, device, stream, i);
  capture->nodes = kept.data;
  capture->edges = count == 0 ? NULL : kept.data + count;
  if (count != 0) memset(kept.data + count, 0, count * sizeof *kept.data);
  return VS_SIM_OK;
}

/* ---- nodes */

/* As cudaGraphEdgeData and CUgraphEdgeData. */
typedef struct edge_data {
  uint8_t from_port, to_port, type, reserved[5];
} edge_data;

enum { LAST_PORT = 2, PROGRAMMATIC = 1 }; /* ports of a kernel: its end, its trigger, its launch */

static atomic_bool had_edge_data;

static bool is_special(const edge_data *edge) {
  static const uint8_t none[sizeof edge->reserved];
  return edge->from_port > LAST_PORT || edge->to_port != 0 || edge->type > PROGRAMMATIC ||
         memcmp(edge->reserved, none, sizeof none) != 0;
}

bool vs_call_edges_are_special(const void *edges, size_t count) {
  static const edge_data plain;
  _Static_assert(sizeof(edge_data) == sizeof(uint64_t), "as the headers of CUDA have it");
  for (size_t i = 0; edges != NULL && i < count; i++) {
    edge_data edge;
    memcpy(&edge, (const char *)edges + i * sizeof edge, sizeof edge);
    if (is_special(&edge)) return true;
    if (memcmp(&edge, &plain, sizeof edge) != 0) had_edge_data = true;
  }
  return false;
}

void vs_call_clear_edges(void *edges, size_t count) {
  if (edges == NULL) return;
  if (had_edge_data && count != 0)
    vs_simcuda_not_simulated("CUDA", "reading the data of the edges of a graph: they read as zeros");
  memset(edges, 0, count * sizeof(uint64_t));
}

static bool is_complete(const vs_call_place *where) {
  return where->node != NULL && (where->behind != NULL || where->count == 0);
}

vs_sim_error vs_call_add_node(vs_sim *sim, const vs_call_place *where, const vs_sim_work *work) {
  if (!is_complete(where)) return VS_SIM_INVALID_VALUE;
  return vs_sim_graph_add(sim, where->graph, where->behind, where->count, work, where->node);
}

vs_sim_error vs_call_add_child(vs_sim *sim, const vs_call_place *where, uint64_t child) {
  if (!is_complete(where)) return VS_SIM_INVALID_VALUE;
  return vs_sim_graph_add_child(sim, where->graph, where->behind, where->count, child, where->node);
}

vs_sim_error vs_call_add_alloc(vs_sim *sim, const vs_call_place *where, uint32_t device, uint64_t size,
                               uint64_t *address) {
  const vs_sim_work work = {.kind = VS_SIM_NODE_MEM_ALLOC, .device = device, .operand = size};
  if (size == 0) return VS_SIM_INVALID_VALUE;
  VS_SIM_TRY(vs_simcuda_use_locked(device));
  VS_SIM_TRY(vs_call_add_node(sim, where, &work));
  const vs_sim_work *added = vs_sim_node_work(sim, *where->node);
  VS_ASSERT(added != NULL && added->kind == VS_SIM_NODE_MEM_ALLOC);
  *address = added->object;
  return VS_SIM_OK;
}

vs_sim_error vs_call_node_work(const vs_sim *sim, uint64_t node, vs_sim_node_kind kind, vs_sim_work *work) {
  const vs_sim_work *found = vs_sim_node_work(sim, node);
  if (found == NULL) return VS_SIM_INVALID_HANDLE;
  if (found->kind != kind) return VS_SIM_INVALID_VALUE;
  *work = *found;
  return VS_SIM_OK;
}

vs_sim_error vs_call_node_kind(const vs_sim *sim, uint64_t node, vs_sim_node_kind *kind) {
  const vs_sim_work *work = vs_sim_node_work(sim, node);
  if (work == NULL) return VS_SIM_INVALID_HANDLE;
  *kind = work->kind;
  return VS_SIM_OK;
}

/* ---- executable graphs */

vs_sim_error vs_call_exec_flags(const vs_sim *sim, uint64_t exec, uint64_t *flags) {
  const vs_sim_exec *found = vs_sim_exec_find(sim, exec);
  if (found == NULL) return VS_SIM_INVALID_HANDLE;
  *flags = found->flags;
  return VS_SIM_OK;
}

vs_sim_error vs_call_exec_launch(vs_sim *sim, uint32_t device, uint64_t exec, uint64_t stream) {
  vs_sim_capture_info info = {.status = VS_SIM_NOT_CAPTURED};
  VS_SIM_TRY(vs_sim_exec_launch(sim, device, exec, stream));
  VS_SIM_TRY(vs_sim_stream_capture_info(sim, device, stream, &info));
  const vs_sim_exec *launched = vs_sim_exec_find(sim, exec);
  VS_ASSERT(launched != NULL);
  if (info.status == VS_SIM_NOT_CAPTURED) vs_simcuda_kernels_ran(launched->kernels);
  return VS_SIM_OK;
}

vs_sim_error vs_call_exec_update(vs_sim *sim, uint64_t exec, uint64_t graph, uint32_t *result,
                                 uint64_t *node) {
  vs_sim_update_result compared = VS_SIM_UPDATE_SUCCESS;
  *node = 0;
  const vs_sim_error error = vs_sim_exec_update(sim, exec, graph, &compared, node);
  const bool is_compared = error == VS_SIM_OK || error == VS_SIM_GRAPH_EXEC_UPDATE_FAILURE;
  *result = is_compared ? (uint32_t)compared : (uint32_t)VS_CALL_UPDATE_ERROR;
  return error;
}
