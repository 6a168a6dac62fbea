/* The recorder: it writes the events of GPU memory to a .vram file as they happen, so that the file is readable
 * however the program ends.
 *
 *   vs_record_event ──▶ ring of the thread ──▶ writer thread ──▶ frame in a shared mapping of the file
 *
 * Each thread has its own ring, which it fills and the writer thread empties, so recording threads do not wait for
 * each other, and allocate nothing after their first event. A global sequence number orders the
 * events of all rings; the writer thread takes them in that order, without gaps, and encodes them (tracefile)
 * directly into the file's pages. A program that is killed loses the events in the rings, at most those of the last
 * `flush_ms`; encoded events belong to the kernel. The ring of a thread that ended goes to the next one that starts.
 *
 * Pressure: a thread whose ring is full waits for the writer (`wait`), at most `wait_ms`; the waits are counted. Otherwise
 * the event is lost and counted, and the file says how many are missing, and from when on. With `checkpoint` all events are
 * lost from then on, until the writer thread has emptied the rings and written the state of all memory; the rest of the
 * recording begins there. Without it each event is taken or lost for itself.
 *
 * If the disk is full or the file fails otherwise, the program goes on, `say` is
 * called once, and later events are counted as lost. The file ends with what was written, the reason, and that count.
 *
 * Fork: the child has no writer thread and does not record: its calls return at once (vs_record_is_on is false), and
 * the parent's file is not mapped there. A child that is to be recorded opens its own recorder.
 *
 * Threads: any, except for open and close. Signal handlers may call vs_record_event; an event that interrupts the
 * recording of another one on the same thread is lost, and counted. */
#ifndef VS_RECORD_RECORD_H
#define VS_RECORD_RECORD_H

#include "record/stacks.h"

typedef struct vs_recorder vs_recorder;

enum {
  VS_RECORD_RING = 32768, /* slots of a thread's ring, 64 bytes each; an event takes one, rarely two */
  VS_RECORD_LEAST_RING = 1024,
  VS_RECORD_MOST_RING = 1 << 24,
  VS_RECORD_FLUSH_MS = 10,
  VS_RECORD_MOST_THREADS = 4096, /* that record at the same time; events of more are lost */
};

typedef struct vs_record_options {
  const char *path;
  bool may_replace; /* an existing file */
  bool wait;        /* a thread whose ring is full waits for the writer, instead of losing the event */
  uint32_t wait_ms; /* for one event at most so long; 0: without a bound */
  /* Writes the state of all memory, by vs_record_state_..., after a loss, and from time to time in a file that keeps the newest events; on the writer thread, while no other thread
   * records an event. False: not now, it is asked again. It must not wait for a thread that may wait for the writer. NULL:
   * there is none. */
  bool (*checkpoint)(void *ctx, vs_recorder *recorder);
  void *checkpoint_ctx;
  uint32_t ring_slots; /* a power of two; 0: VS_RECORD_RING */
  uint32_t flush_ms;   /* the longest pause between two rounds of the writer; 0: VS_RECORD_FLUSH_MS */
  bool is_simulated;   /* nothing of the real process goes into the file: equal runs give equal bytes */
  /* What the caller does not see: which pool an event or a segment is about; when a free completes. */
  bool has_no_pools, has_no_completions;
  /* The file keeps the newest events: those in about so many bytes, or those of at least so much time before the newest one, by the times of
   * the events. 0: all of them. At most one is not 0. Facts (settings, devices) are written again by `checkpoint`, if at all. */
  uint64_t max_bytes, max_ns;
  /* Contexts and texts are numbers of these, which have to outlive the recorder. NULL: events have none. */
  vs_record_stacks *stacks;
  /* A sentence about the recording that a user should see, at most one of each kind. On the writer thread.
   * May be NULL. */
  void (*say)(void *ctx, const char *sentence);
  void *say_ctx;
} vs_record_options;

/* Creates the file and starts the writer thread. `host` outlives the recorder.
 * Fails with a sentence: VS_IO, VS_NOT_FOUND, VS_NO_MEMORY, VS_BAD_ARGUMENT */
VS_MUST_CHECK vs_status vs_record_open(const vs_host *host, const vs_record_options *options,
                                       vs_recorder **out, vs_error *error);

/* What the recorder did so far, or in total once it is closed. lost = lost_ring + lost_file + lost_other. */
typedef struct vs_record_figures {
  uint64_t events;    /* in the file (those that a ring file has overwritten included) */
  uint64_t lost_ring; /* the thread's ring was full, or a loss was not yet followed by the state */
  uint64_t lost_file; /* the file had failed */
  uint64_t
      lost_other; /* no ring for the thread, or in a signal handler, or the thread died while recording it */
  uint64_t bytes; /* of the file */
  uint64_t waits, waited_ns; /* of threads whose ring was full */
  uint64_t checkpoints;      /* states that were written after losses */
  uint64_t lost_since_ns;    /* the time of the first lost event, by the clock of the facts; 0: unknown */
  uint32_t threads;          /* that ever recorded */
  vs_status status;          /* of the file: VS_OK, or why writing stopped */
} vs_record_figures;

/* Writes the contents of the rings, ends the writer thread, seals and closes the file. No thread may record any
 * more. Frees the recorder even on a failure; `figures` may be NULL. In a child of a fork it only frees. Fails with
 * a sentence: VS_IO  the file is incomplete (but readable) */
VS_MUST_CHECK vs_status vs_record_close(vs_recorder *recorder, vs_record_figures *figures, vs_error *error);

/* Returns once everything that this thread recorded is in the file's pages. */
void vs_record_flush(vs_recorder *recorder);

vs_record_figures vs_record_figures_of(const vs_recorder *recorder);

/* False once the file has failed, and in a child of a fork. */
bool vs_record_is_on(const vs_recorder *recorder);

/* ---- while the program runs */

/* Properties of an event beyond those of vs_event. */
typedef struct vs_record_facts {
  uint64_t time_ns;         /* of a monotonic clock; see vs_record_clock */
  uint32_t metadata;        /* text id, 0: none */
  uint32_t compile_context; /* text id, 0: none */
  int32_t device;           /* -1: pinned host memory; below 32768 */
} vs_record_facts;

/* The hot path. Called in the order of events of a device: under its lock. */
void vs_record_event(vs_recorder *recorder, const vs_event *event, const vs_record_facts *facts);

/* FREE_REQUESTED directly followed by FREE_COMPLETED of the same block, at the cost of one event. `event` is either
 * of them; its kind is ignored. */
void vs_record_free(vs_recorder *recorder, const vs_event *event, const vs_record_facts *facts);

/* One end of a named range of the program; `name` is a text id. Waits for the writer if the ring is full, `wait_ms` at most. False: it is lost,
 * for lack of room, or because the recorder is off, or in a signal handler; it is not counted. */
bool vs_record_annotation(vs_recorder *recorder, uint32_t name, bool is_start, int32_t device,
                          uint64_t time_ns);

/* What a library has taken from the driver of `device`, in total, from now on. `name` is a text id: the path of its file, or an empty text:
 * `bytes` is then 1 if every library that takes memory of the device is told from now on, 0 if not. Waits for the writer if the ring is full. */
void vs_record_library(vs_recorder *recorder, uint32_t name, int32_t device, uint64_t bytes,
                       uint64_t time_ns);

/* ---- facts about the program. Any thread may call these; they wait for the writer if a ring is full. They are written in
 * the order of events and calls. Texts longer than VS_RECORD_MOST_TEXT are truncated. */
enum { VS_RECORD_MOST_TEXT = 8192 };

/* The time since 1970 at which the clock of the facts was zero. */
void vs_record_clock(vs_recorder *recorder, int64_t wall_ns_at_zero);
void vs_record_device(vs_recorder *recorder, int32_t device, vs_str name, uint64_t total_bytes);
/* One entry of the allocator's settings. A dict is followed by its entries, of depth one more. */
typedef enum vs_record_setting_kind {
  VS_RECORD_SETTING_NONE,
  VS_RECORD_SETTING_BOOL,
  VS_RECORD_SETTING_INT,
  VS_RECORD_SETTING_REAL,
  VS_RECORD_SETTING_STRING,
  VS_RECORD_SETTING_DICT,
} vs_record_setting_kind;

typedef struct vs_record_setting_value {
  vs_str key;
  vs_record_setting_kind kind;
  uint8_t depth;
  uint64_t bits; /* a bool, an int64_t, the bits of a double, the number of entries inside */
  vs_str text;   /* of a string */
} vs_record_setting_value;
void vs_record_put_setting(vs_recorder *recorder, const vs_record_setting_value *value);

/* The state of all devices' memory between two events: at the beginning of a recording that starts late, and at its end.
 * First begin, then each segment followed by its blocks in address order, then end; by one thread, under the devices'
 * locks. */
typedef struct vs_record_segment {
  uint64_t address, size, stream;
  uint64_t allocated, active, requested; /* sums over its blocks; the first two are rounded sizes */
  vs_pool_id pool;
  vs_context context;
  int32_t device;
  int32_t registration; /* -1: none */
  bool is_small, is_expandable;
} vs_record_segment;

typedef enum vs_record_block_state {
  VS_RECORD_ALLOCATED,
  VS_RECORD_PENDING,
  VS_RECORD_FREE
} vs_record_block_state;

typedef struct vs_record_block {
  uint64_t address, size, requested; /* size: rounded bytes */
  vs_context context;
  vs_record_block_state state;
} vs_record_block;

typedef enum vs_record_moment {
  VS_RECORD_AT_START,
  VS_RECORD_AT_CHECKPOINT,
  VS_RECORD_AT_END
} vs_record_moment;

void vs_record_state_begin(vs_recorder *recorder, vs_record_moment moment, uint64_t time_ns);
void vs_record_state_segment(vs_recorder *recorder, const vs_record_segment *segment);
void vs_record_state_block(vs_recorder *recorder, const vs_record_block *block);
void vs_record_state_end(vs_recorder *recorder);

#endif
