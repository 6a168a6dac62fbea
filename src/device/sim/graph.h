/* Captures and graphs: work that is written down now and given to a stream later.
 *
 * **Capture.** A stream that captures runs nothing: each piece of work becomes a node of a graph, behind the
 * stream's `frontier` (the nodes its next work depends on), and is then the frontier itself.
 *
 *   begin(s)            s is the origin of a new capture
 *   record(e, s)        e remembers s' frontier
 *   wait_event(t, e)    t, if it is in no capture, joins that of e; in the same one, the frontiers become one
 *   end(s)              all streams leave; the program gets the graph
 *
 * Work that can happen in no graph is refused, and mostly makes the capture worthless: it is *invalidated*.
 * Its streams and events then answer 901 until end(origin), which answers 901 too, gives no graph and frees
 * the streams. What is refused, and by (*) leaves the capture as it was:
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
 * These are the rules of CUDA's public documentation. Where that is silent (which of two errors comes first,
 * what (*) spares, that a never recorded event may be waited for), they are a choice, not a measurement.
 *
 * Unsafe calls are looked at by vs_sim_unsafe_call: querying and synchronising an event do it themselves,
 * faces do it for device allocation and its like. By the calling thread's mode they are refused:
 *   GLOBAL        while this thread captures, not relaxed, or any other thread captures in global mode
 *   THREAD_LOCAL  while this thread captures, not relaxed
 *   RELAXED       never
 * A capture belongs to the thread that began it.
 *
 * **Graphs** are lists of nodes, each with the nodes it depends on. A node's number never changes and is not
 * used again while its graph lives; its handle says graph and number. Order everywhere: nodes by number,
 * edges by target and then as they were added. An executable graph (exec) is a copy; what happens to the
 * graph later does not touch it.
 *
 * **What has to be called** by launches (host nodes) and ends (destructors of user objects) is the program's
 * code: it is put into a list, in order, which the face drains with vs_sim_next_callback after it let go of
 * its lock.
 *
 * **Memory nodes** take from the device's graph pool (mempool.h) when the node is made, so that their address
 * is good from then on; a real device takes the memory at the first launch. A free node in the same graph
 * gives the piece back at once, for other nodes to take, and each launch takes and gives it again: what is
 * reserved is the most that was held at once. A piece without a free node in its graph stays until the
 * program has freed it, or never used it, and the graph and its execs are gone. As on a device a graph with
 * memory nodes cannot be copied or be a child, has one exec at a time, and loses no nodes or edges.
 *
 * **Bounds**: VS_SIM_HANDLE_PARTS_MOST nodes in a graph, VS_SIM_GRAPH_DEEPEST levels of child graphs, and
 * VS_SIM_GRAPH_MOST_NODES in all levels together; beyond them the answer is VS_SIM_NOT_SUPPORTED, which is
 * also the one for conditional nodes. */
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

/* A piece of work, and what a node keeps of it. Which members mean something depends on the kind. */
typedef struct vs_sim_work {
  vs_sim_node_kind kind;
  uint32_t device;  /* MEM_ALLOC */
  uint64_t object;  /* EVENT_*: the event. HOST: the function. MEM_*: the address. Others: the face's own */
  uint64_t operand; /* HOST: its argument. MEM_ALLOC: bytes. Others: the face's own */
} vs_sim_work;

typedef struct vs_sim_graph_node {
  vs_sim_work work;
  uint32_t first_need, need_count; /* the nodes it depends on: in graph->needs, no two equal */
  uint32_t mark;                   /* = graph->epoch: a walk over the graph was here */
  uint32_t partner;    /* MEM_*: 1 + number of the node of this graph that frees, or made, the same piece */
  uint32_t range;      /* MEM_ALLOC without partner: row of its piece in vs_sim_graphs.ranges. Else nothing */
  bool is_gone;        /* destroyed */
  vs_sim_graph *child; /* of NODE_GRAPH: owned */
} vs_sim_graph_node;

typedef struct vs_sim_graph_reference {
  uint32_t object; /* number of the user object */
  uint32_t count;
} vs_sim_graph_reference;

/* Invariant: live_edges = sum of the nodes' need_count <= needs.count < 2 * live_edges + some (the rest is
 * left over and squeezed out when it is half); gone nodes have no needs and are in nobody's. */
struct vs_sim_graph {
  uint64_t handle; /* 0 until somebody may know it: copies inside execs, child graphs that nobody asked for */
  uint32_t number; /* in vs_sim_graphs.graphs, where it has a handle */
  vs_sim_graph *parent; /* whose node owns it, NULL for one of its own */
  VS_VEC(vs_sim_graph_node) nodes;
  VS_VEC(uint32_t) needs;
  VS_VEC(uint32_t)
  order; /* of an exec's copy that is not is_ordered: live nodes, each behind what it depends on */
  VS_VEC(vs_sim_graph_reference) references; /* to user objects; no two to the same, counts above 0 */
  uint32_t epoch;
  uint32_t live_nodes, live_edges;
  uint32_t total_nodes;   /* live ones, with those of the child graphs */
  uint32_t depth;         /* 1 without children; never falls */
  uint32_t memory_nodes;  /* MEM_ALLOC and MEM_FREE */
  uint32_t execs;         /* made of it and alive */
  bool is_ordered;        /* every edge leads to a higher number */
  bool is_captured;       /* a capture writes into it */
  uint64_t source_handle; /* of a clone: the graph it was copied from */
};

typedef struct vs_sim_exec {
  uint64_t handle;
  uint32_t number;
  uint64_t flags;
  uint64_t source_handle; /* of the graph: its node handles name the exec's nodes too */
  vs_sim_graph *copy;
  /* Of all levels: nodes that are work (all but child graphs), and of those the ones that do something. */
  uint32_t works, kernels, hosts, records, waits;
} vs_sim_exec;

typedef struct vs_sim_user_object {
  uint64_t handle;
  uint32_t number;
  uint64_t function, argument; /* what is called when the last reference goes */
  uint64_t held;               /* references of the program */
  uint64_t kept;               /* references of graphs and execs */
} vs_sim_user_object;

/* function(argument), to be called by the face. */
typedef struct vs_sim_callback {
  uint64_t function, argument;
} vs_sim_callback;

struct vs_sim_capture {
  uint64_t id; /* 1, 2, 3, ... */
  uint32_t row;
  vs_sim_capture_mode mode;
  uint64_t thread;
  bool is_invalid;
  bool owns_graph; /* made by begin, and gone if this comes to nothing */
  vs_sim_graph *graph;
  vs_sim_stream *origin;
  VS_VEC(vs_sim_stream *) streams; /* that take part, the origin first, in the order of joining */
};

/* A piece of memory that an allocation node made and no free node of its graph gives back. */
typedef struct vs_sim_graph_range {
  uint64_t address;
  uint64_t node; /* handle of the node that made it */
  uint32_t device;
  uint32_t users; /* graphs and execs with that node; 0 and not is_used: a free row */
  bool is_used;   /* launched, and not freed since */
  bool is_gone;   /* its device was reset */
} vs_sim_graph_range;

/* Invariant: callbacks has room for the destructors of all user objects, so that an end cannot fail;
 * by_address leads from each range's address to its row, without free rows and those that are gone. */
typedef struct vs_sim_graphs {
  vs_sim_handles graphs, execs, user_objects;
  VS_VEC(vs_sim_capture *) captures; /* by row; NULL: free */
  vs_sim_numbers capture_rows;
  uint32_t live_captures;
  uint32_t live_user_objects;
  uint64_t last_capture_id;
  VS_VEC(vs_sim_callback) callbacks; /* from first_callback on: still to be handed out */
  size_t first_callback;
  VS_VEC(vs_sim_graph_range) ranges;
  vs_sim_numbers range_rows;
  vs_map by_address;
  VS_VEC(uint32_t) scratch; /* numbers of nodes, of the call that is going on */
} vs_sim_graphs;

/* The next thing to call, in order; false when there is none. */
bool vs_sim_next_callback(vs_sim *sim, vs_sim_callback *callback);

/* ---- work: what every face calls for every launch, copy, memset and library call ---- */

/* Captured: a node. Else: the clock goes on. Host functions: the face calls them itself unless *captured (may
 * be NULL) says that a launch will. Fails: 901, 906, INVALID_HANDLE, OUT_OF_MEMORY; INVALID_VALUE for a kind
 * that is no work. */
VS_MUST_CHECK vs_sim_error vs_sim_work_add(vs_sim *sim, uint32_t device, uint64_t stream,
                                           const vs_sim_work *work, bool *captured);
/* The same where the kind says it all. */
VS_MUST_CHECK vs_sim_error vs_sim_op(vs_sim *sim, uint32_t device, uint64_t stream, vs_sim_node_kind kind);

/* Work that cannot be captured: 900 and an invalidated capture on a captured stream, else as vs_sim_op. */
VS_MUST_CHECK vs_sim_error vs_sim_op_uncapturable(vs_sim *sim, uint32_t device, uint64_t stream);

/* What faces ask before a potentially unsafe call (cudaMalloc and its like): VS_SIM_OK, or 900, and the
 * captures that are in the way are invalidated. */
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
  uint64_t id; /* 0 unless active, as all that follows */
  uint64_t graph;
  size_t dependency_count; /* vs_sim_capture_dependency tells which */
} vs_sim_capture_info;

/* The thread's mode becomes *mode, and *mode what it was. */
VS_MUST_CHECK vs_sim_error vs_sim_exchange_capture_mode(vs_sim_thread *thread, vs_sim_capture_mode *mode);

VS_MUST_CHECK vs_sim_error vs_sim_capture_begin(vs_sim *sim, const vs_sim_thread *thread, uint32_t device,
                                                uint64_t stream, vs_sim_capture_mode mode);
/* Into a graph that is there already, first behind `dependencies` of it. */
VS_MUST_CHECK vs_sim_error vs_sim_capture_begin_to(vs_sim *sim, const vs_sim_thread *thread, uint32_t device,
                                                   uint64_t stream, uint64_t graph,
                                                   const uint64_t *dependencies, size_t count,
                                                   vs_sim_capture_mode mode);
/* *graph is 0 where it fails. */
VS_MUST_CHECK vs_sim_error vs_sim_capture_end(vs_sim *sim, const vs_sim_thread *thread, uint32_t device,
                                              uint64_t stream, uint64_t *graph);
VS_MUST_CHECK vs_sim_error vs_sim_stream_capture_info(vs_sim *sim, uint32_t device, uint64_t stream,
                                                      vs_sim_capture_info *info);
/* Number `i` of the nodes that the stream's next work depends on; 0 when there are not so many. */
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
/* Fails: INVALID_HANDLE; ILLEGAL_STATE for a child graph, which belongs to its node, and while it is captured
 * into. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_destroy(vs_sim *sim, uint64_t graph);
/* Fails: NOT_SUPPORTED when it has memory nodes. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_clone(vs_sim *sim, uint64_t graph, uint64_t *clone);
/* The node of `clone` that was copied from `node`. Fails: INVALID_VALUE when there is none. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_find_in_clone(const vs_sim *sim, uint64_t node, uint64_t clone,
                                                      uint64_t *found);

/* Listings: with `nodes` NULL, *count becomes how many there are; else *count is the room, and becomes how
 * many were written; room that is left over is filled with 0. `from` and `to` are both NULL or neither. */
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
/* How many nodes of each kind, without those of child graphs. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_counts(const vs_sim *sim, uint64_t graph,
                                               uint64_t counts[static VS_SIM_NODE_KINDS]);

/* A node behind `dependencies`. Kinds: all but GRAPH (next function) and CONDITIONAL. Fails: INVALID_VALUE
 * for a dependency of another graph or named twice; NOT_SUPPORTED. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_add(vs_sim *sim, uint64_t graph, const uint64_t *dependencies,
                                            size_t count, const vs_sim_work *work, uint64_t *node);
/* A node that holds a copy of `child`. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_add_child(vs_sim *sim, uint64_t graph, const uint64_t *dependencies,
                                                  size_t count, uint64_t child, uint64_t *node);
/* Fails: INVALID_VALUE for an edge that is there (add) or not there (remove), from a node to itself, or
 * across graphs; for add, one that would close a circle. All or nothing. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_add_edges(vs_sim *sim, uint64_t graph, const uint64_t *from,
                                                  const uint64_t *to, size_t count);
VS_MUST_CHECK vs_sim_error vs_sim_graph_remove_edges(vs_sim *sim, uint64_t graph, const uint64_t *from,
                                                     const uint64_t *to, size_t count);
VS_MUST_CHECK vs_sim_error vs_sim_node_destroy(vs_sim *sim, uint64_t node);

/* What a node keeps; NULL for a handle that names none. Borrowed until its graph changes. */
const vs_sim_work *vs_sim_node_work(const vs_sim *sim, uint64_t node);
/* Gives a node a new object and operand; the kind stays. Fails: INVALID_VALUE for another kind, NOT_SUPPORTED
 * for memory nodes. */
VS_MUST_CHECK vs_sim_error vs_sim_node_set_work(vs_sim *sim, uint64_t node, const vs_sim_work *work);
/* The graph inside a node of kind GRAPH. It may be read and added to, not destroyed. */
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
/* NULL for a handle that names none. Borrowed until it is destroyed. */
const vs_sim_exec *vs_sim_exec_find(const vs_sim *sim, uint64_t exec);

/* Values as in the runtime. */
typedef enum vs_sim_update_result {
  VS_SIM_UPDATE_SUCCESS = 0,
  VS_SIM_UPDATE_TOPOLOGY_CHANGED = 2,
  VS_SIM_UPDATE_KIND_CHANGED = 3,
  VS_SIM_UPDATE_NOT_SUPPORTED = 6
} vs_sim_update_result;

/* The exec becomes a copy of `graph`, if that has the same nodes and edges in the same order. *result is
 * written where the handles are right; *node, the first of `graph` that does not fit, or 0. Either may be
 * NULL.
 * Fails: GRAPH_EXEC_UPDATE_FAILURE, and the exec stays as it was. */
VS_MUST_CHECK vs_sim_error vs_sim_exec_update(vs_sim *sim, uint64_t exec, uint64_t graph,
                                              vs_sim_update_result *result, uint64_t *node);
/* The same for the exec's node that was copied from `node`. */
VS_MUST_CHECK vs_sim_error vs_sim_exec_set_work(vs_sim *sim, uint64_t exec, uint64_t node,
                                                const vs_sim_work *work);

/* On a captured stream: one node with a copy. Else: the work of all nodes, in the order of their edges; event
 * nodes record their event, host nodes become callbacks, memory nodes take and free.
 * Fails: INVALID_VALUE when its memory of the last launch is not freed and it was not instantiated to do that
 * itself; OUT_OF_MEMORY, and nothing was launched. */
VS_MUST_CHECK vs_sim_error vs_sim_exec_launch(vs_sim *sim, uint32_t device, uint64_t exec, uint64_t stream);
/* Refuses what launch would refuse of its arguments; nothing else. */
VS_MUST_CHECK vs_sim_error vs_sim_exec_upload(vs_sim *sim, uint32_t device, uint64_t exec, uint64_t stream);

/* ---- user objects ---- */

enum { VS_SIM_USER_OBJECT_NO_SYNC = 1 }; /* the flag that creation wants */
enum { VS_SIM_USER_OBJECT_MOVE = 1 };    /* retaining takes the references from the program's own */

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
/* A piece of a pool or of a graph; on a captured stream a free node, and a graph's only.
 * Fails: 901, 906, INVALID_VALUE (no such piece begins there) */
VS_MUST_CHECK vs_sim_error vs_sim_free_async(vs_sim *sim, uint32_t device, uint64_t stream, uint64_t address);
/* A graph's piece; vs_sim_free does this, too. Fails: NOT_FOUND (no graph's), INVALID_VALUE (freed already, or
 * not launched yet) */
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
/* Only a HIGH figure, which begins again at what is there now. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_memory_reset(vs_sim *sim, uint32_t device,
                                                     vs_sim_graph_memory figure);
/* Gives back what is reserved and not used. */
VS_MUST_CHECK vs_sim_error vs_sim_graph_memory_trim(vs_sim *sim, uint32_t device);

#endif
