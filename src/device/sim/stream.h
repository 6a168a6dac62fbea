/* Streams and events of a simulated device: the order of the work given to it, and which part of it counts as done.
 *
 * Nothing is executed, so a program notices time only by two questions: whether an event is complete, and how long something
 * took. Both have exact answers.
 *
 * **Order.** Each work item (kernel, copy, memset, event record, wait) gets the next number of one sequence over all streams. A
 * stream stores the number of its last work item (`last`) and the number up to which it is done (`done`).
 *
 * **Completion**, by rule (vs_sim_event_rule):
 *   VS_SIM_EVENTS_AT_ONCE  work is done as soon as it is given. Queries never answer "not ready".
 *   VS_SIM_EVENTS_AT_SYNC  work is done only when the program has synchronised with it. These calls complete work:
 *       synchronising an event      the work of its stream up to its record
 *       synchronising a stream      all its work
 *       synchronising a device      all work of all streams of the device
 *       destroying a stream         the same as synchronising it, as no later call can ask about its work
 *     Completed work also completes what it was ordered behind:
 *       a completed wait for an event                       the event's stream up to the event's record
 *       work of the legacy stream                           all earlier work of the device's blocking streams
 *       work of a blocking stream                           all earlier work of the device's legacy stream
 *     Synchronising the legacy stream also synchronises all blocking streams of its device. A query completes nothing. So work
 *     is done at the latest moment at which a real device could be done, which gives an upper bound for what an allocator keeps
 *     because of record_stream. One approximation makes it even later: a stream remembers VS_SIM_MOST_WAITS waits that are not
 *     done yet, and forgets the oldest ones.
 * An event that was never recorded is complete.
 *
 * **Time** is virtual: each work item on any stream advances sim->streams.clock_ns by `work_ns`. So times are positive, small,
 * and the same in every run.
 *
 * **Handles.** Created streams: VS_SIM_STREAM_BASE + 256 * i, the lowest free i first. 0 and 1 are the legacy
 * default stream, 2 the per-thread default stream (one for all threads here) of the device that the call
 * names: `device` is the caller's current device, and matters for these three handles only. Everything is
 * validated: VS_SIM_INVALID_HANDLE for a handle without an object, VS_SIM_INVALID_DEVICE for a device that
 * does not exist, VS_SIM_INVALID_VALUE for a NULL in place of a result. Results are written on success only,
 * unless a function says otherwise.
 *
 * Streams that are being captured behave differently in nearly every function: the rules are in graph.h.
 */
#ifndef VS_DEVICE_SIM_STREAM_H
#define VS_DEVICE_SIM_STREAM_H

#include "device/sim/handles.h"

typedef struct vs_sim vs_sim;
typedef struct vs_sim_capture vs_sim_capture; /* graph.h */

#define VS_SIM_STREAM_BASE UINT64_C(0x50000000)

enum {
  VS_SIM_STREAM_STEP = 256,
  VS_SIM_STREAMS_MOST = 1 << 19, /* handles up to 0x58000000 */
  VS_SIM_MOST_WAITS = 1024,      /* that one stream remembers */
  VS_SIM_WORK_NS = 2000,         /* the initial value of work_ns */
  VS_SIM_PRIORITY_LEAST = 0,
  VS_SIM_PRIORITY_GREATEST = -5
};

/* The handles of the default streams. */
enum { VS_SIM_STREAM_NULL = 0, VS_SIM_STREAM_LEGACY = 1, VS_SIM_STREAM_PER_THREAD = 2 };

/* Flags, with the values that programs pass. */
enum { VS_SIM_STREAM_NON_BLOCKING = 1 };
enum { VS_SIM_EVENT_BLOCKING_SYNC = 1, VS_SIM_EVENT_NO_TIMING = 2, VS_SIM_EVENT_INTERPROCESS = 4 };
/* For record and wait inside a capture: adds a node to the graph instead of an edge. INVALID_VALUE elsewhere. */
enum { VS_SIM_EVENT_EXTERNAL = 1 };

typedef enum vs_sim_event_rule { VS_SIM_EVENTS_AT_ONCE, VS_SIM_EVENTS_AT_SYNC } vs_sim_event_rule;

/* Values as in the runtime. */
typedef enum vs_sim_capture_mode {
  VS_SIM_CAPTURE_GLOBAL = 0,
  VS_SIM_CAPTURE_THREAD_LOCAL = 1,
  VS_SIM_CAPTURE_RELAXED = 2
} vs_sim_capture_mode;

/* The calling thread, for the rules of captures. A face keeps one for each thread; {id} is the value for a new thread. */
typedef struct vs_sim_thread {
  uint64_t id;
  vs_sim_capture_mode mode; /* restricts potentially unsafe calls of this thread */
} vs_sim_thread;

/* A place in a stream. `life` differs after the stream was destroyed or reset. */
typedef struct vs_sim_point {
  uint32_t stream;   /* row of vs_sim_streams.rows */
  uint64_t life;     /* = the stream's id */
  uint64_t position; /* number of the work */
  uint64_t
      legacy; /* number of the last work of the device's legacy stream at that time, for the order between both */
} vs_sim_point;

typedef struct vs_sim_wait {
  uint64_t position; /* of the wait, in the waiting stream */
  vs_sim_point until;
} vs_sim_wait;

typedef struct vs_sim_stream {
  uint64_t id; /* never used twice */
  uint64_t handle;
  uint32_t row;
  uint32_t device;
  uint32_t flags;
  int32_t priority;
  bool is_legacy;
  uint64_t last;              /* number of its last work, 0 for none */
  uint64_t legacy;            /* the legacy stream's last work when `last` was given */
  uint64_t done, goal;        /* done <= goal <= last; they differ only while something is being completed */
  struct vs_sim_stream *next; /* in the list of streams whose goal is not reached, during a completion */
  VS_VEC(vs_sim_wait) waits;  /* by rising position, all above `done`; empty with AT_ONCE */
  vs_sim_capture *capture;    /* NULL unless the stream takes part in one */
  VS_VEC(uint32_t) frontier;  /* nodes of the capture's graph that its next work depends on: no two equal */
} vs_sim_stream;

typedef struct vs_sim_event {
  uint64_t handle;
  uint32_t number;
  uint32_t device;
  uint32_t flags;
  bool is_recorded; /* in a stream that was not captured: at `at` and `time_ns` */
  vs_sim_point at;
  uint64_t time_ns;
  uint64_t capture_id; /* of the capture in which it was last recorded, 0 for none */
  uint32_t capture_row;
  VS_VEC(uint32_t) frontier; /* nodes that the record depends on */
} vs_sim_event;

/* Invariant: between calls every stream has reached its goal; streams that are not captured have no
 * frontier; rows[2 * d] is the legacy stream of device d, rows[2 * d + 1] its per-thread stream, and both
 * always exist; row 2 * device_count + i is the stream with handle BASE + 256 * i, NULL while the number i is
 * free. */
typedef struct vs_sim_streams {
  vs_sim_event_rule rule;
  uint64_t work_ns;
  uint64_t clock_ns; /* virtual; requested delays (fault.h) advance it, too */
  uint64_t sequence; /* number of the last work */
  uint64_t last_id;  /* of a stream */
  VS_VEC(vs_sim_stream *) rows;
  vs_sim_numbers numbers; /* of created streams */
  vs_sim_handles events;  /* of vs_sim_event */
} vs_sim_streams;

/* ---- streams ---- */

/* The priority is clamped to [GREATEST, LEAST]. Fails: INVALID_VALUE for unknown flags, OUT_OF_MEMORY. */
VS_MUST_CHECK vs_sim_error vs_sim_stream_create(vs_sim *sim, uint32_t device, uint32_t flags,
                                                int32_t priority, uint64_t *stream);
/* Fails: INVALID_HANDLE, also for a default stream; CAPTURE_UNSUPPORTED while it is captured, which
 * invalidates the capture and leaves the stream. */
VS_MUST_CHECK vs_sim_error vs_sim_stream_destroy(vs_sim *sim, uint64_t stream);

/* The stream of `handle` for a caller on `device`; NULL if there is none. Its device, flags, priority and id may be read.
 * Borrowed until it is destroyed. */
vs_sim_stream *vs_sim_stream_find(const vs_sim *sim, uint32_t device, uint64_t handle);

/* VS_SIM_OK if all its work is done, else VS_SIM_NOT_READY. */
VS_MUST_CHECK vs_sim_error vs_sim_stream_query(vs_sim *sim, uint32_t device, uint64_t stream);
VS_MUST_CHECK vs_sim_error vs_sim_stream_synchronize(vs_sim *sim, uint32_t device, uint64_t stream);
/* All streams of `device`. */
VS_MUST_CHECK vs_sim_error vs_sim_device_synchronize(vs_sim *sim, uint32_t device);
/* Orders later work of the stream behind the last record of the event, also across devices. Flags: EXTERNAL or 0. */
VS_MUST_CHECK vs_sim_error vs_sim_stream_wait_event(vs_sim *sim, uint32_t device, uint64_t stream,
                                                    uint64_t event, uint32_t flags);

/* ---- events ---- */

/* Fails: INVALID_VALUE for unknown flags, or INTERPROCESS without NO_TIMING; OUT_OF_MEMORY. */
VS_MUST_CHECK vs_sim_error vs_sim_event_create(vs_sim *sim, uint32_t device, uint32_t flags, uint64_t *event);
VS_MUST_CHECK vs_sim_error vs_sim_event_destroy(vs_sim *sim, uint64_t event);
/* NULL if there is no such event. Borrowed until it is destroyed. */
vs_sim_event *vs_sim_event_find(const vs_sim *sim, uint64_t event);

/* Flags: EXTERNAL or 0. Fails: INVALID_HANDLE when event and stream are of different devices. */
VS_MUST_CHECK vs_sim_error vs_sim_event_record(vs_sim *sim, uint32_t device, uint64_t event, uint64_t stream,
                                               uint32_t flags);
VS_MUST_CHECK vs_sim_error vs_sim_event_query(vs_sim *sim, const vs_sim_thread *thread, uint64_t event);
VS_MUST_CHECK vs_sim_error vs_sim_event_synchronize(vs_sim *sim, const vs_sim_thread *thread, uint64_t event);
/* The time from the record of `start` to that of `end`; negative if they were recorded in the other order. Fails:
 * INVALID_HANDLE for an event without timing or without a record, or of two devices; NOT_READY if one is not
 * complete. */
VS_MUST_CHECK vs_sim_error vs_sim_event_elapsed(vs_sim *sim, uint64_t start, uint64_t end,
                                                int64_t *nanoseconds);

#endif
