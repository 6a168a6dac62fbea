/* Captures and graphs: work that is recorded now and given to a stream later.
 *
 * **Capture.** A capturing stream runs nothing: each work item becomes a node of a graph that depends on the stream's `frontier`
 * (the nodes that its next work depends on), and then is the new frontier.
 *
 *   begin(s)            s is the origin of a new capture
 *   record(e, s)        e stores a copy of s' frontier
 *   wait_event(t, e)    t, if it is in no capture, joins that of e; in the same capture the frontiers are merged
 *   end(s)              all streams leave; the program gets the graph
 *
 * A call that no graph can contain is refused, and in most cases it *invalidates* the capture: its streams and events then answer
 * 901 until end(origin), which also answers 901, returns no graph and releases the streams. The refused calls are, with (*) for
 * those that do not invalidate the capture:
 *
 *   900 UNSUPPORTED     querying or synchronising a captured stream or its device; destroying the stream;
 *                       beginning on the legacy stream (*); an unsafe call (below)
 *   901 INVALIDATED     any use after one of the others
 *   902 MERGE           waiting in one capture for an event of another: both are invalidated
 *   903 UNMATCHED       end on a stream that joined (*)
 *   904 UNJOINED        end, while a stream that joined has work that the origin did not wait for: it is over
 *   905 ISOLATION       waiting in a capture for an event recorded outside of one
 *   906 IMPLICIT        using the legacy stream while a blocking stream of its device is captured, or letting
 *                       it join; asking for its capture (is_capturing, info) is answered the same (*)
 *   907 CAPTURED_EVENT  querying, synchronising or timing (*) an event last recorded in a capture, whether
 *                       that goes on or not; waiting for it after the capture's end
 *   908 WRONG_THREAD    end by another thread than begin, unless the capture is relaxed (*)
 *   401 ILLEGAL_STATE   begin on a captured stream, end or new dependencies on one that is not (*)
 *
 * These are the rules of CUDA's public documentation. Where it says nothing (which of two errors comes first, the calls with
 * (*), that waiting for a never recorded event is allowed), they are a choice, not a measurement.
 *
 * vs_sim_unsafe_call checks unsafe calls: querying and synchronising an event call it themselves, faces call it before device
 * allocation and the like. They are refused according to the calling thread's mode:
 *   GLOBAL        while this thread captures, not relaxed, or any other thread captures in global mode
 *   THREAD_LOCAL  while this thread captures, not relaxed
 *   RELAXED       never
 * A capture belongs to the thread that began it.
 *
 * **Graphs** are lists of nodes, each with the nodes it depends on. A node's number never changes and is not reused while its
 * graph exists; its handle contains graph and number. Lists are ordered: nodes by number, edges by target and then in the order
 * in which they were added. An executable graph (exec) is a copy that later changes of the graph do not affect.
 *
 * **Callbacks** into the program, by launches (host nodes) and ends (destructors of user objects), are put into a list, in order.
 * The face drains it with vs_sim_next_callback after it has released its lock.
 *
 * **Memory nodes** allocate a block in the device's graph pool (mempool.h) when the node is made, so that its address is valid
 * from then on; a real device allocates at the first launch. A free node in the same graph frees the block at once, so that other
 * nodes can use the memory, and each launch allocates and frees it again: so the reserved memory is the most that was allocated
 * at once. A block without a free node in its graph lives until the graph and its execs are destroyed and the program has freed
 * it or never used it. As on a device, a graph with memory nodes cannot be copied or be a child, has one exec at a time, and
 * its nodes and edges cannot be removed.
 *
 * **Bounds**: VS_SIM_HANDLE_PARTS_MOST nodes in a graph, VS_SIM_GRAPH_DEEPEST levels of child graphs, and
 * VS_SIM_GRAPH_MOST_NODES in all levels together; beyond them, and for conditional nodes, the answer is VS_SIM_NOT_SUPPORTED. */
#ifndef VS_DEVICE_SIM_GRAPH_H
#define VS_DEVICE_SIM_GRAPH_H

#include "base/map.h"
#include "device/sim/stream.h"

enum { VS_SIM_GRAPH_DEEPEST = 32, VS_SIM_GRAPH_MOST_NODES = 1 << 24 };

/* Values as in the runtime and the driver; a value that is missing here is not simulated. */
typedef enum vs_sim_node_kind {
  VS_SIM_NODE_KERNEL = 0,
  VS_SIM_NODE_MEMCPY = 1,
  VS_SIM_NODE_MEMSET = 2,
  VS_SIM_NODE_HOST = 3,
  VS_SIM_NODE_GRAPH = 4, /* a child graph */
  VS_SIM_NODE_EMPTY = 5,
  VS_SIM_NODE_EVENT_WAIT = 6,
  VS_SIM_NODE_EVENT_RECORD = 7,
  VS_SIM_NODE_MEM_ALLOC = 10,
  VS_SIM_NODE_MEM_FREE = 11,
  VS_SIM_NODE_CONDITIONAL = 13, /* refused */
  VS_SIM_NODE_KINDS
} vs_sim_node_kind;

typedef struct vs_sim_graph vs_sim_graph;

/* A work item, as a call describes it and as a node stores it. Which members have a meaning depends on the kind. */
typedef struct vs_sim_work {
  vs_sim_node_kind kind;
  uint32_t device;  /* MEM_ALLOC */
  uint64_t object;  /* EVENT_*: the event. HOST: the function. MEM_*: the address. Others: for the face */
  uint64_t operand; /* HOST: its argument. MEM_ALLOC: bytes. Others: for the face */
} vs_sim_work;

typedef struct vs_sim_graph_node {
  vs_sim_work work;
  uint32_t first_need, need_count; /* the nodes it depends on: in graph->needs, no two equal */
  uint32_t mark;                   /* = graph->epoch: the current walk has visited the node */
  uint32_t partner; /* MEM_*: 1 + number of the node of this graph that frees, or allocates, the same block */
  uint32_t range;   /* MEM_ALLOC without partner: row of its block in vs_sim_graphs.ranges */
  bool is_gone;     /* destroyed */
  vs_sim_graph *child; /* of NODE_GRAPH: owned */
} vs_sim_graph_node;

typedef struct vs_sim_graph_reference {
  uint32_t object; /* number of the user object */
  uint32_t count;
} vs_sim_graph_reference;

/* Invariant: live_edges = sum of the nodes' need_count <= needs.count < 2 * live_edges + a constant (unused entries are removed
 * when they are half of it); destroyed nodes have no needs and no node needs them. */
struct vs_sim_graph {
  uint64_t handle; /* 0 while the program cannot know the graph: copies inside execs, and most child graphs */
  uint32_t number; /* in vs_sim_graphs.graphs, if it has a handle */
  vs_sim_graph *parent; /* the graph whose node owns it; NULL if no node does */
  VS_VEC(vs_sim_graph_node) nodes;
  VS_VEC(uint32_t) needs;
  VS_VEC(uint32_t) order; /* an exec's copy without is_ordered: live nodes in topological order */
  VS_VEC(vs_sim_graph_reference) references; /* to different user objects, with counts above 0 */
  uint32_t epoch;
  uint32_t live_nodes, live_edges;
  uint32_t total_nodes;   /* live nodes, with those of the child graphs */
  uint32_t depth;         /* 1 without children; never decreases */
  uint32_t memory_nodes;  /* MEM_ALLOC and MEM_FREE */
  uint32_t execs;         /* live execs made of it */
  bool is_ordered;        /* every edge leads to a higher number */
  bool is_captured;       /* a capture adds nodes to it */
  uint64_t source_handle; /* of a clone: the graph it was copied from */
};

typedef struct vs_sim_exec {
  uint64_t handle;
  uint32_t number;
  uint64_t flags;
  uint64_t source_handle; /* of the graph; its node handles also identify the exec's nodes */
  vs_sim_graph *copy;
  /* Over all levels: the nodes other than child graphs, and among them those with an effect. */
  uint32_t works, kernels, hosts, records, waits;
} vs_sim_exec;

typedef struct vs_sim_user_object {
  uint64_t handle;
  uint32_t number;
  uint64_t function, argument; /* the destructor, called when the last reference is released */
  uint64_t held;               /* references of the program */
  uint64_t kept;               /* references of graphs and execs */
} vs_sim_user_object;

/* The face calls function(argument). */
typedef struct vs_sim_callback {
  uint64_t function, argument;
} vs_sim_callback;

struct vs_sim_capture {
  uint64_t id; /* 1, 2, 3, ... */
  uint32_t row;
  vs_sim_capture_mode mode;
  uint64_t thread;
  bool is_invalid;
  bool owns_graph; /* begin made the graph, which is dropped if the capture fails */
  vs_sim_graph *graph;
  vs_sim_stream *origin;
  VS_VEC(vs_sim_stream *) streams; /* the origin first, then the others in the order of joining */
};

/* A block that an allocation node allocated and that no free node of the same graph frees. */
typedef struct vs_sim_graph_range {
  uint64_t address;
  uint64_t node; /* handle of the node that made it */
  uint32_t device;
  uint32_t users; /* graphs and execs with that node; 0 without is_used: a free row */
  bool is_used;   /* launched, and not freed since */
  bool is_gone;   /* its device was reset */
} vs_sim_graph_range;

/* Invariant: callbacks has space for the destructors of all user objects, so that an end cannot fail; by_address maps each
 * range's address to its row, without free rows and rows with is_gone. */
typedef struct vs_sim_graphs {
  vs_sim_handles graphs, execs, user_objects;
  VS_VEC(vs_sim_capture *) captures; /* by row; NULL: free */
  vs_sim_numbers capture_rows;
  uint32_t live_captures;
  uint32_t live_user_objects;
  uint64_t last_capture_id;
  VS_VEC(vs_sim_callback) callbacks; /* those from first_callback on were not returned yet */
  size_t first_callback;
  VS_VEC(vs_sim_graph_range) ranges;
  vs_sim_numbers range_rows;
  vs_map by_address;
  VS_VEC(uint32_t) scratch; /* numbers of nodes, valid during a call */
} vs_sim_graphs;

/* Removes the next callback, in order; false if there is none. */
bool vs_sim_next_callback(vs_sim *sim, vs_sim_callback *callback);

/* ---- work: called by every face for each launch, copy, memset and library call ---- */

/* Adds a node to the capture, or advances the clock if the stream is not captured. The face calls host functions itself unless
 * *captured (may be NULL) is true; then a launch does. Fails: 901, 906, INVALID_HANDLE, OUT_OF_MEMORY; INVALID_VALUE for a kind
 * that is not work. */
VS_MUST_CHECK vs_sim_error vs_sim_work_add(vs_sim *sim, uint32_t device, uint64_t stream,
                                           const vs_sim_work *work, bool *captured);
/* The same for work without further members. */
VS_MUST_CHECK vs_sim_error vs_sim_op(vs_sim *sim, uint32_t device, uint64_t stream, vs_sim_node_kind kind);

/* Work that cannot be captured. On a captured stream it fails with 900 and invalidates the capture, else it is vs_sim_op. */
VS_MUST_CHECK vs_sim_error vs_sim_op_uncapturable(vs_sim *sim, uint32_t device, uint64_t stream);

/* Called by faces before a potentially unsafe call (cudaMalloc and the like). Fails with 900 and invalidates the captures that
 * forbid it. */
VS_MUST_CHECK vs_sim_error vs_sim_unsafe_call(vs_sim *sim, const vs_sim_thread *thread);

/* ---- capture ---- */

/* Values as in the runtime. */
typedef enum vs_sim_capture_status {
  VS_SIM_NOT_CAPTURED = 0,
  VS_SIM_CAPTURE_ACTIVE = 1,
  VS_SIM_CAPTURE_INVALID = 2
} vs_sim_capture_status;

typedef struct vs_sim_capture_info {
  vs_sim_capture_status status;
  uint64_t id; /* 0 unless active, like all members below */
  uint64_t graph;
  size_t dependency_count; /* vs_sim_capture_dependency lists them */
} vs_sim_capture_info;

/* Exchanges the thread's mode and *mode. */
VS_MUST_CHECK vs_sim_error vs_sim_exchange_capture_mode(vs_sim_thread *thread, vs_sim_capture_mode *mode);

VS_MUST_CHECK vs_sim_error vs_sim_capture_begin(vs_sim *sim, const vs_sim_thread *thread, uint32_t device,
                                                uint64_t stream, vs_sim_capture_mode mode);
/* Captures into an existing graph; the first work depends on `dependencies`. */
VS_MUST_CHECK vs_sim_error vs_sim_capture_begin_to(vs_sim *sim, const vs_sim_thread *thread, uint32_t device,
                                                   uint64_t stream, uint64_t graph,
                                                   const uint64_t *dependencies, size_t count,
                                                   vs_sim_capture_mode mode);
/* *graph is 0 after a failure. */
VS_MUST_CHECK vs_sim_error vs_sim_capture_end(vs_sim *sim, const vs_sim_thread *thread, uint32_t device,
                                              uint64_t stream, uint64_t *graph);
VS_MUST_CHECK vs_sim_error vs_sim_stream_capture_info(vs_sim *sim, uint32_t device, uint64_t stream,
                                                      vs_sim_capture_info *info);
/* Number `i` of the nodes that the stream's next work depends on; 0 if there are fewer. */
uint64_t vs_sim_capture_dependency(const vs_sim *sim, uint32_t device, uint64_t stream, size_t i);

typedef enum vs_sim_dependencies {
  VS_SIM_DEPENDENCIES_ADD = 0,
  VS_SIM_DEPENDENCIES_SET = 1
} vs_sim_dependencies;
VS_MUST_CHECK vs_sim_error vs_sim_capture_update(vs_sim *sim, uint32_t device, uint64_t stream,
                                                 const uint64_t *dependencies, size_t count,
                                                 vs_sim_dependencies how);

/* ---- graphs ---- */

VS_MUST_CHECK vs_sim_error vs_sim_graph_create(vs_sim *sim, uint32_t flags, uint64_t *graph);
/* Fails: INVALID_HANDLE; ILLEGAL_STATE for a child graph, which belongs to its node, and during a capture into the graph. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_destroy(vs_sim *sim, uint64_t graph);
/* Fails: NOT_SUPPORTED if it has memory nodes. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_clone(vs_sim *sim, uint64_t graph, uint64_t *clone);
/* The node of `clone` that was copied from `node`. Fails: INVALID_VALUE if there is none. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_find_in_clone(const vs_sim *sim, uint64_t node, uint64_t clone,
                                                      uint64_t *found);

/* Lists. With `nodes` NULL, *count receives the number of entries. Else *count is the capacity and receives the number of
 * written entries; the rest of the capacity is filled with 0. `from` and `to` are both NULL or neither. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_nodes(const vs_sim *sim, uint64_t graph, uint64_t *nodes,
                                              size_t *count);
VS_MUST_CHECK vs_sim_error vs_sim_graph_roots(const vs_sim *sim, uint64_t graph, uint64_t *nodes,
                                              size_t *count);
VS_MUST_CHECK vs_sim_error vs_sim_graph_edges(const vs_sim *sim, uint64_t graph, uint64_t *from, uint64_t *to,
                                              size_t *count);
VS_MUST_CHECK vs_sim_error vs_sim_node_dependencies(const vs_sim *sim, uint64_t node, uint64_t *nodes,
                                                    size_t *count);
VS_MUST_CHECK vs_sim_error vs_sim_node_dependents(const vs_sim *sim, uint64_t node, uint64_t *nodes,
                                                  size_t *count);
/* The number of nodes of each kind, without those of child graphs. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_counts(const vs_sim *sim, uint64_t graph,
                                               uint64_t counts[static VS_SIM_NODE_KINDS]);

/* Adds a node that depends on `dependencies`. Kinds: all but GRAPH (next function) and CONDITIONAL. Fails: INVALID_VALUE
 * for a dependency in another graph or listed twice; NOT_SUPPORTED. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_add(vs_sim *sim, uint64_t graph, const uint64_t *dependencies,
                                            size_t count, const vs_sim_work *work, uint64_t *node);
/* Adds a node that owns a copy of `child`. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_add_child(vs_sim *sim, uint64_t graph, const uint64_t *dependencies,
                                                  size_t count, uint64_t child, uint64_t *node);
/* Fails: INVALID_VALUE for an edge that exists (add) or does not exist (remove), from a node to itself, or
 * across graphs; for add, one that would close a cycle. After a failure nothing has changed. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_add_edges(vs_sim *sim, uint64_t graph, const uint64_t *from,
                                                  const uint64_t *to, size_t count);
VS_MUST_CHECK vs_sim_error vs_sim_graph_remove_edges(vs_sim *sim, uint64_t graph, const uint64_t *from,
                                                     const uint64_t *to, size_t count);
VS_MUST_CHECK vs_sim_error vs_sim_node_destroy(vs_sim *sim, uint64_t node);

/* The work of a node; NULL if there is no such node. Borrowed until its graph changes. */
const vs_sim_work *vs_sim_node_work(const vs_sim *sim, uint64_t node);
/* Sets a node's object and operand; the kind has to be the same. Fails: INVALID_VALUE for another kind, NOT_SUPPORTED
 * for memory nodes. */
VS_MUST_CHECK vs_sim_error vs_sim_node_set_work(vs_sim *sim, uint64_t node, const vs_sim_work *work);
/* The child graph of a node of kind GRAPH. It may be read and extended, but not destroyed. */
VS_MUST_CHECK vs_sim_error vs_sim_node_child(vs_sim *sim, uint64_t node, uint64_t *graph);

/* ---- executable graphs ---- */

enum {
  VS_SIM_INSTANTIATE_AUTO_FREE = 1, /* memory left by the last launch is freed by the next one */
  VS_SIM_INSTANTIATE_UPLOAD = 2,
  VS_SIM_INSTANTIATE_DEVICE_LAUNCH = 4, /* refused: NOT_SUPPORTED */
  VS_SIM_INSTANTIATE_NODE_PRIORITY = 8
};

VS_MUST_CHECK vs_sim_error vs_sim_graph_instantiate(vs_sim *sim, uint64_t graph, uint64_t flags,
                                                    uint64_t *exec);
VS_MUST_CHECK vs_sim_error vs_sim_exec_destroy(vs_sim *sim, uint64_t exec);
/* NULL if there is no such exec. Borrowed until it is destroyed. */
const vs_sim_exec *vs_sim_exec_find(const vs_sim *sim, uint64_t exec);

/* Values as in the runtime. */
typedef enum vs_sim_update_result {
  VS_SIM_UPDATE_SUCCESS = 0,
  VS_SIM_UPDATE_TOPOLOGY_CHANGED = 2,
  VS_SIM_UPDATE_KIND_CHANGED = 3,
  VS_SIM_UPDATE_NOT_SUPPORTED = 6
} vs_sim_update_result;

/* Makes the exec a copy of `graph`, if that has the same nodes and edges in the same order. *result is written if the handles
 * are valid; *node receives the first node of `graph` that differs, or 0. Either may be NULL.
 * Fails: GRAPH_EXEC_UPDATE_FAILURE; then the exec is unchanged. */
VS_MUST_CHECK vs_sim_error vs_sim_exec_update(vs_sim *sim, uint64_t exec, uint64_t graph,
                                              vs_sim_update_result *result, uint64_t *node);
/* Sets the work of the exec's node that was copied from `node`. */
VS_MUST_CHECK vs_sim_error vs_sim_exec_set_work(vs_sim *sim, uint64_t exec, uint64_t node,
                                                const vs_sim_work *work);

/* On a captured stream adds one node with a copy. Else runs the work of all nodes in topological order: event nodes record their
 * event, host nodes become callbacks, memory nodes allocate and free.
 * Fails: INVALID_VALUE if its memory of the last launch is not freed and it was not instantiated with AUTO_FREE;
 * OUT_OF_MEMORY; then nothing was launched. */
VS_MUST_CHECK vs_sim_error vs_sim_exec_launch(vs_sim *sim, uint32_t device, uint64_t exec, uint64_t stream);
/* Checks the arguments as launch does, and has no other effect. */
VS_MUST_CHECK vs_sim_error vs_sim_exec_upload(vs_sim *sim, uint32_t device, uint64_t exec, uint64_t stream);

/* ---- user objects ---- */

enum { VS_SIM_USER_OBJECT_NO_SYNC = 1 }; /* creation requires this flag */
enum { VS_SIM_USER_OBJECT_MOVE = 1 };    /* retaining moves references of the program to the graph */

VS_MUST_CHECK vs_sim_error vs_sim_user_object_create(vs_sim *sim, uint64_t function, uint64_t argument,
                                                     uint32_t count, uint32_t flags, uint64_t *object);
VS_MUST_CHECK vs_sim_error vs_sim_user_object_retain(vs_sim *sim, uint64_t object, uint32_t count);
/* Fails: INVALID_VALUE for more than the program holds. */
VS_MUST_CHECK vs_sim_error vs_sim_user_object_release(vs_sim *sim, uint64_t object, uint32_t count);
VS_MUST_CHECK vs_sim_error vs_sim_graph_retain(vs_sim *sim, uint64_t graph, uint64_t object, uint32_t count,
                                               uint32_t flags);
VS_MUST_CHECK vs_sim_error vs_sim_graph_release(vs_sim *sim, uint64_t graph, uint64_t object, uint32_t count);

/* ---- memory by streams, and graph memory ---- */

/* From `pool` (0: the current one of the stream's device); on a captured stream an allocation node, from the
 * device's graph pool. Fails: 901, 906, as vs_sim_pool_alloc. */
VS_MUST_CHECK vs_sim_error vs_sim_alloc_async(vs_sim *sim, uint32_t device, uint64_t stream, uint64_t pool,
                                              uint64_t size, uint64_t *address);
/* Frees a block of a pool or of a graph; on a captured stream adds a free node, for a block of a graph only.
 * Fails: 901, 906, INVALID_VALUE (no such block begins there) */
VS_MUST_CHECK vs_sim_error vs_sim_free_async(vs_sim *sim, uint32_t device, uint64_t stream, uint64_t address);
/* Frees a block of a graph, as vs_sim_free does. Fails: NOT_FOUND (no block of a graph), INVALID_VALUE (already freed, or not
 * launched yet) */
VS_MUST_CHECK vs_sim_error vs_sim_graph_free(vs_sim *sim, uint64_t address);

/* Values as in the runtime. */
typedef enum vs_sim_graph_memory {
  VS_SIM_GRAPH_USED = 0,
  VS_SIM_GRAPH_USED_HIGH = 1,
  VS_SIM_GRAPH_RESERVED = 2,
  VS_SIM_GRAPH_RESERVED_HIGH = 3
} vs_sim_graph_memory;

/* Fails: INVALID_DEVICE, INVALID_VALUE (no such figure) */
VS_MUST_CHECK vs_sim_error vs_sim_graph_memory_get(const vs_sim *sim, uint32_t device,
                                                   vs_sim_graph_memory figure, uint64_t *bytes);
/* Resets a HIGH figure to the current value. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_memory_reset(vs_sim *sim, uint32_t device,
                                                     vs_sim_graph_memory figure);
/* Releases memory that is reserved and not used. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_memory_trim(vs_sim *sim, uint32_t device);

#endif
