/* Calls that the runtime and the driver share: cudaFree and cuMemFree convert to the same function here. Faces
 * convert handles (all are numbers of device/sim, the same in both libraries), structs and codes, and check what
 * only their documentation forbids.
 *
 * Functions that take the simulation are called under its lock; `thread` is the caller's. The others take the
 * lock themselves. Results are written on success only, and may not be NULL unless that is said. Errors are
 * those of device/sim, and:
 *   UNSUPPORTED (900)  an unsafe call during a capture (device/sim/graph.h), which invalidates that capture */
#ifndef VS_SIMCUDA_SHARED_CALLS_H
#define VS_SIMCUDA_SHARED_CALLS_H

#include "faces/simcuda/core/process.h"

/* ---- memory */

/* Unsafe during a capture, like all functions of this part except vs_call_free_async. */
VS_SIMCUDA_API vs_sim_error vs_call_alloc(vs_sim *sim, const vs_sim_thread *thread, uint32_t device,
                                          uint64_t size, uint64_t *address);
/* Also frees memory of graphs and pools. Waits for the device: the caller ends with
 * vs_simcuda_leave_synchronized. */
VS_SIMCUDA_API vs_sim_error vs_call_free(vs_sim *sim, const vs_sim_thread *thread, uint64_t address);
/* Also frees memory of vs_call_alloc, but not during a capture. */
VS_SIMCUDA_API vs_sim_error vs_call_free_async(vs_sim *sim, uint32_t device, uint64_t stream,
                                               uint64_t address);
/* *memory is NULL for size 0. */
VS_SIMCUDA_API vs_sim_error vs_call_host_alloc(uint64_t size, uint32_t flags, void **memory);
/* Waits for the device. Fails: INVALID_VALUE for memory that is not from vs_call_host_alloc. */
VS_SIMCUDA_API vs_sim_error vs_call_host_free(void *memory);
VS_SIMCUDA_API vs_sim_error vs_call_host_register(vs_sim *sim, const vs_sim_thread *thread, uint64_t address,
                                                  uint64_t size, uint32_t flags);
/* Fails: HOST_MEMORY_NOT_REGISTERED, also for memory from vs_call_host_alloc. */
VS_SIMCUDA_API vs_sim_error vs_call_host_unregister(vs_sim *sim, uint64_t address);
VS_SIMCUDA_API vs_sim_error vs_call_managed_alloc(uint64_t size, void **memory);
/* Whether the whole range is managed memory, so that advice about it is valid. Fails: INVALID_VALUE, also for
 * size 0. */
VS_SIMCUDA_API vs_sim_error vs_call_check_managed(const vs_sim *sim, uint64_t address, uint64_t size);

/* ---- functions of the program, in streams. Fail: INVALID_VALUE for a NULL function. */

/* During a capture it becomes a node, and is called when the graph is launched. */
VS_SIMCUDA_API vs_sim_error vs_call_host_function(uint32_t device, uint64_t stream, uint64_t function,
                                                  uint64_t argument);
/* function(stream, error, argument); cannot be captured. */
VS_SIMCUDA_API vs_sim_error vs_call_stream_callback(uint32_t device, uint64_t stream, uint64_t function,
                                                    uint64_t argument);

/* ---- captures and graphs */

/* What the stream's next work depends on: info.dependency_count nodes, and the data of as many edges, which are
 * zeros (see vs_call_edges_are_special). Both lists are valid until the thread's next call. */
typedef struct vs_call_capture {
  vs_sim_capture_info info;
  const uint64_t *nodes, *edges;
} vs_call_capture;

VS_SIMCUDA_API vs_sim_error vs_call_capture_info(vs_sim *sim, uint32_t device, uint64_t stream,
                                                 vs_call_capture *capture);

/* Edges of a graph may have eight bytes of data each: ports and a type, for kernels that start before another one ends
 * (programmatic launches). As no kernel runs, such an edge is one like any other: the order of work and the life of memory are the
 * same. Whether one of these edges is neither plain nor of that kind; `edges` may be NULL. */
VS_SIMCUDA_API bool vs_call_edges_are_special(const void *edges, size_t count);
/* Writes the data of edges that were listed into a program's arrays: zeros. Says so if edges with data were made before. */
VS_SIMCUDA_API void vs_call_clear_edges(void *edges, size_t count);

/* Where a new node goes: behind `count` nodes of a graph. INVALID_VALUE if `node`, where its handle is written,
 * is NULL, or if `behind` is NULL and count is not 0. */
typedef struct vs_call_place {
  uint64_t *node;
  uint64_t graph;
  const uint64_t *behind;
  size_t count;
} vs_call_place;

VS_SIMCUDA_API vs_sim_error vs_call_add_node(vs_sim *sim, const vs_call_place *where,
                                             const vs_sim_work *work);
VS_SIMCUDA_API vs_sim_error vs_call_add_child(vs_sim *sim, const vs_call_place *where, uint64_t child);
/* A node that allocates. Its address is fixed when the node is added. */
VS_SIMCUDA_API vs_sim_error vs_call_add_alloc(vs_sim *sim, const vs_call_place *where, uint32_t device,
                                              uint64_t size, uint64_t *address);

/* The work of a node. Fails: INVALID_VALUE if the node is of another kind. */
VS_SIMCUDA_API vs_sim_error vs_call_node_work(const vs_sim *sim, uint64_t node, vs_sim_node_kind kind,
                                              vs_sim_work *work);
VS_SIMCUDA_API vs_sim_error vs_call_node_kind(const vs_sim *sim, uint64_t node, vs_sim_node_kind *kind);

VS_SIMCUDA_API vs_sim_error vs_call_exec_flags(const vs_sim *sim, uint64_t exec, uint64_t *flags);
/* vs_sim_exec_launch; counts the graph's kernels as run unless the stream captures. */
VS_SIMCUDA_API vs_sim_error vs_call_exec_launch(vs_sim *sim, uint32_t device, uint64_t exec, uint64_t stream);
/* *result and *node are written also on failure. *result: a vs_sim_update_result, or VS_CALL_UPDATE_ERROR if the
 * graphs were not compared. *node: the node that does not fit, or 0. */
enum { VS_CALL_UPDATE_ERROR = 1 };
VS_SIMCUDA_API vs_sim_error vs_call_exec_update(vs_sim *sim, uint64_t exec, uint64_t graph, uint32_t *result,
                                                uint64_t *node);

#endif
