/* The data of a recorder. Private to record.
 *
 *   record.c   open, close, and the functions that threads call
 *   drain.c    the writer thread: takes messages from the rings, in order
 *   encode.c   encodes messages as records
 *   sink.c     frames in the file's pages
 *
 * Invariants
 *   order      the numbers of all messages are 0 .. sequence - 1, each once; a thread takes one only for a message that has
 *              room in its ring. `next` <= sequence is the first number that the writer thread has not taken
 *   loss       while the recorder can write checkpoints, the events of a device in the file have no gap up to a LOST, and
 *              none from the state after it on: the first lost event suspends the recording, under the device's lock, and
 *              the writer thread resumes it with the locks of all devices, after it has written the state
 *   threads    members marked (w) belong to the writer thread, or to open and close while there is none */
#ifndef VS_RECORD_RECORDER_H
#define VS_RECORD_RECORDER_H

#include "base/vec.h"
#include "os/mapfile.h"
#include "os/thread.h"
#include "record/record.h"
#include "record/ring.h"
#include "tracefile/writer.h"

/* ---- messages */

typedef enum vs_message_type {
  VS_MESSAGE_EVENT, /* time, address, size, rounded, stream, context | pool; second slot: vs_event_more */
  VS_MESSAGE_FREE,  /* likewise: two events, of kind FREE_REQUESTED and FREE_COMPLETED */
  VS_MESSAGE_ANNOTATION,
  VS_MESSAGE_LIBRARY,
  VS_MESSAGE_CLOCK,
  VS_MESSAGE_DEVICE,
  VS_MESSAGE_SETTING,
  VS_MESSAGE_STATE_BEGIN,
  VS_MESSAGE_SEGMENT,
  VS_MESSAGE_BLOCK,
  VS_MESSAGE_STATE_END,
  VS_MESSAGE_THREAD, /* the ring's next messages are of this thread: its number in the file, its name */
} vs_message_type;

/* How many events are lost with a message. */
static inline uint32_t vs_message_events(vs_message_type type) {
  return type == VS_MESSAGE_EVENT ? 1 : type == VS_MESSAGE_FREE ? 2 : 0;
}

/* Properties that few events have. */
typedef struct vs_event_more {
  vs_pool_id pool;
  uint32_t metadata, compile_context;
} vs_event_more;

/* A pool in 32 bits: 0 is the default pool, n << 1 is (n, 0), n << 1 | 1 is (0, n). Other pools are in vs_event_more. */
#define VS_POOL_IN_MORE UINT32_MAX
static inline uint32_t vs_pool_pack(vs_pool_id pool) {
  if (pool.b == 0 && pool.a < UINT32_MAX / 2) return (uint32_t)pool.a << 1;
  if (pool.a == 0 && pool.b < UINT32_MAX / 2) return (uint32_t)pool.b << 1 | 1;
  return VS_POOL_IN_MORE;
}
static inline vs_pool_id vs_pool_unpack(uint32_t packed) {
  const uint64_t number = packed >> 1;
  return (packed & 1) != 0 ? (vs_pool_id){0, number} : (vs_pool_id){number, 0};
}

/* ---- the file */

enum { VS_CHUNK_FRAMES = 16 }; /* mapped at once; a file that keeps a time has at least so many places */

/* A place of a file that keeps the events of a time, for one frame. The places are a ring in the order of their frames. */
typedef struct vs_sink_place {
  uint64_t newest_ns; /* of the events of its frame, once that is sealed */
  uint64_t next;
} vs_sink_place;

typedef struct vs_sink {
  const vs_host *host;
  vs_mapfile file;
  uint64_t frame;               /* how many were begun */
  uint64_t most;                /* frames of a file of bounded size; 0: unlimited */
  uint64_t most_ns;             /* of a file that keeps a time; 0: unlimited */
  uint64_t newest_ns;           /* of the events so far, which the writer thread tells */
  VS_VEC(vs_sink_place) places; /* with most_ns */
  uint64_t place;               /* of the open frame */
  uint8_t *chunk;               /* the window that contains the open frame */
  uint64_t chunk_number;
  bool may_use_spare; /* the frame that is kept for the reason of a failure; see sink.c */
  vs_error error;     /* of the first failure */
} vs_sink;

/* ---- encoding */

typedef struct vs_context_key {
  uint64_t stream;
  vs_pool_id pool;
  uint64_t thread;
  int32_t device;
  uint32_t metadata, compile_context, reserved;
} vs_context_key;

typedef struct vs_known_context {
  vs_context_key key;
  uint32_t id;
  bool is_used;
} vs_known_context;

typedef struct vs_known_module {
  uint64_t start, end, base;
  uint32_t id;
} vs_known_module;

enum { VS_KNOWN_CONTEXTS = 1024 }; /* a power of two */

/* A named range of the program that has begun and not ended. */
typedef struct vs_open_range {
  uint64_t time_ns, thread;
  uint32_t name; /* a text */
  int32_t device;
} vs_open_range;

/* What a library had of a device when that was last told. */
typedef struct vs_library_total {
  uint64_t bytes, time_ns;
  uint32_t name; /* a text */
  int32_t device;
} vs_library_total;

typedef struct vs_encoder {
  const vs_host *host;
  const vs_record_stacks *stacks;
  vs_tracew *file;
  int64_t wall_at_zero;
  bool has_no_pools;
  VS_VEC(uint32_t) stack_ids; /* by number of the stack, 0: not written yet; likewise below */
  VS_VEC(uint32_t) text_ids;
  VS_VEC(uint32_t) frame_ids;
  VS_VEC(vs_known_module) modules; /* the newest last */
  uint64_t modules_version;
  vs_known_context contexts[VS_KNOWN_CONTEXTS];
  struct { /* of the last event's slot: most events have the same context as the one before */
    uint64_t stream, thread;
    uint32_t pool, id;
    int16_t device;
    uint16_t metadata;
    bool is_set;
  } last;
  uint64_t lost_written;
  uint64_t frames_at_checkpoint, checkpoint_ns;
  bool keeps_newest; /* the file does */
  VS_VEC(vs_open_range)
  open; /* if it does: the first VS_RECORDER_MOST_OPEN ranges, in the order in which they began */
  VS_VEC(vs_trace_device)
  devices; /* if it does: all that were told; their names have the numbers in the file */
  VS_VEC(vs_library_total) libraries; /* if it does: the newest of each library and device */
} vs_encoder;

/* ---- whether events are taken */

typedef enum vs_recorder_mode {
  VS_RECORDER_OFF,       /* the file has failed */
  VS_RECORDER_ON,        /* events are taken */
  VS_RECORDER_SUSPENDED, /* an event was lost; so are all others until the state of the memory is written */
} vs_recorder_mode;

enum {
  VS_RECORDER_SPARE_RINGS = 2, /* rings without a thread that keep their memory */
  VS_RECORDER_MOST_OPEN = 4096,
  VS_RECORDER_OWN_SLOTS = 64, /* of the writer thread's own ring: a message of a state has three */
  VS_RECORDER_REST = 9,       /* after a checkpoint none is written for so many times the time that it took */
};

/* ---- all of it */

/* Members that all threads write are on their own cache lines; those of the writer thread come last. */
struct vs_recorder { // NOLINT(clang-analyzer-optin.performance.Padding)
  const vs_host *host;
  vs_record_options options; /* its pointers to the caller's texts are used only while opening */
  uint64_t serial;           /* differs from those of earlier recorders at the same address */
  uint32_t forks;            /* vs_fork_generation of its process */
  vs_recorder *next_live;    /* in the list of open recorders */

  _Alignas(64) _Atomic uint64_t sequence;
  _Alignas(64) _Atomic uint8_t mode; /* vs_recorder_mode */
  _Atomic bool is_stopping;
  vs_wakeup wakeup; /* sent when a ring is half full, or is to be emptied */
  vs_lock lock;     /* guards adding rings */
  _Atomic uint32_t ring_count;
  _Atomic uint64_t lost_suspended, lost_file, lost_other;
  _Atomic uint64_t lost_since; /* the time of the first event that was lost since the last LOST; 0: unknown */
  _Atomic uint64_t first_lost; /* of the first one of all; 0: unknown */
  _Atomic uint64_t waits, waited_ns;
  _Atomic uint64_t events, bytes, checkpoints;
  _Atomic uint32_t threads;
  _Atomic int32_t status;
  vs_thread thread;
  vs_thread_exit_hook exit_hook;
  uint64_t next;        /* (w) */
  uint64_t taken;       /* (w) events in the file */
  uint64_t stuck_since; /* (w) when message `next` was first missing; 0: it is not */
  uint32_t last_ring;   /* (w) */
  bool wants_state;     /* (w) the file keeps its newest part, which lacks the state */
  uint64_t state_began; /* (w) when the last checkpoint was begun */
  uint64_t rests_until; /* (w) no checkpoint before this time */
  vs_ring *own;         /* (w) for what the writer thread records itself, the state after a loss */
  vs_sink sink;         /* (w) */
  vs_encoder encoder;   /* (w) */
  vs_ring *rings[VS_RECORD_MOST_THREADS];
};

/* drain.c */
void vs_recorder_write(void *recorder);        /* the function of the writer thread */
void vs_recorder_drain(vs_recorder *r);        /* takes all messages, at the end */
void vs_recorder_take_own(vs_recorder *r);     /* takes the message in `own`, after all others */
bool vs_recorder_writes(const vs_recorder *r); /* the caller is its writer thread */
void vs_recorder_fail(vs_recorder *r, vs_status status);
void vs_recorder_put_last_loss(
    vs_recorder *r); /* the number of losses, into a file that failed if it can be */
uint64_t vs_recorder_lost(const vs_recorder *r);
uint64_t vs_recorder_lost_ring(const vs_recorder *r);

/* encode.c */
VS_MUST_CHECK vs_status vs_encoder_init(vs_recorder *r);
void vs_encoder_deinit(vs_encoder *e);
/* What a reader needs of what was written before: all names, and whose recording it is. */
VS_MUST_CHECK vs_status vs_encoder_repeat(vs_encoder *e, const vs_record_options *options);
VS_MUST_CHECK vs_status vs_encoder_put(vs_encoder *e, const vs_ring *ring, const vs_slot *message);
/* The total of lost events, if it has changed; `since`: the time of the first one that is new, 0 if it is unknown. */
VS_MUST_CHECK vs_status vs_encoder_lost(vs_encoder *e, uint64_t lost, uint64_t since);
/* Why nothing is recorded any more. */
VS_MUST_CHECK vs_status vs_encoder_stopped(vs_encoder *e, const char *reason, uint64_t time_ns);

/* sink.c */
VS_MUST_CHECK vs_status vs_sink_open(vs_sink *sink, const vs_host *host, const vs_record_options *options,
                                     vs_error *error);
vs_tracew_sink vs_sink_of(vs_sink *sink);
VS_MUST_CHECK vs_status vs_sink_close(vs_sink *sink, vs_error *error);
void vs_sink_abandon(vs_sink *sink);
/* In a child of a fork. */
void vs_sink_forget(vs_sink *sink);

#endif
