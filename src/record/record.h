/* The recorder: what happens to GPU memory goes into a .vram file, while it happens, and stays there
 * however the program ends.
 *
 *   vs_record_event ──▶ ring of the thread ──▶ writer thread ──▶ frame in a shared mapping of the file
 *
 * Each thread has a ring of its own, which it fills and the writer thread empties: nobody waits for
 * anybody, and nothing is allocated after a thread's first event. A global sequence number orders all
 * events of all rings; the writer thread takes them in that order, without gaps, and encodes them
 * (tracefile) straight into the file's pages. So a program that is killed loses what is still in the
 * rings, at most the last `flush_ms`; what the writer had encoded is the kernel's.
 *
 * A full ring means that the event is lost, and counted; the count goes into the file. It never blocks the
 * program, unless `wait` says that it may. A full disk, or any failure of the file: the program goes on,
 * `say` is told once, and what comes is counted as lost.
 *
 * Fork: the child has no writer thread, and does not record: its calls return at once (vs_record_is_on is
 * false). The parent's file is not even mapped there. Who wants a child recorded opens a new recorder in
 * it.
 *
 * Threads: any, but for open and close. Signal handlers: vs_record_event may run in one; an event that
 * interrupts another one's recording on the same thread is lost, and counted. */
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
  bool may_replace;    /* a file that is there */
  bool wait;           /* a full ring waits for the writer instead of losing the event: for tests and demos */
  uint32_t ring_slots; /* a power of two; 0: VS_RECORD_RING */
  uint32_t flush_ms;   /* the writer thread looks at the rings at least that often; 0: VS_RECORD_FLUSH_MS */
  bool is_simulated;   /* nothing of the real process goes into the file: equal runs give equal bytes */
  uint64_t max_bytes;  /* the file keeps the newest events in about that many bytes; 0: all of them */
  /* Contexts and texts are numbers of these, which outlive the recorder. NULL: there are none. */
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

/* What the recorder did, also in the end. lost = lost_ring + lost_file + lost_other. */
typedef struct vs_record_figures {
  uint64_t events;     /* in the file (those that a ring file has overwritten included) */
  uint64_t lost_ring;  /* the thread's ring was full */
  uint64_t lost_file;  /* the file had failed */
  uint64_t lost_other; /* no ring for the thread, within a signal, of a thread that died in between */
  uint64_t bytes;      /* of the file */
  uint32_t threads;    /* that ever recorded */
  vs_status status;    /* of the file: VS_OK, or why it takes nothing any more */
} vs_record_figures;

/* Writes what the rings hold, ends the writer thread, seals and closes the file. No thread may record any
 * more. The recorder is gone afterwards, whatever this returns; `figures` may be NULL. In a child of a
 * fork: only frees.
 * Fails with a sentence: VS_IO  the file is not complete (what it has can be read) */
VS_MUST_CHECK vs_status vs_record_close(vs_recorder *recorder, vs_record_figures *figures, vs_error *error);

/* Returns once everything recorded so far by this thread is in the file's pages. */
void vs_record_flush(vs_recorder *recorder);

vs_record_figures vs_record_figures_of(const vs_recorder *recorder);

/* False once the file has failed, and in a child of a fork. */
bool vs_record_is_on(const vs_recorder *recorder);

/* ---- while the program runs */

/* What an event has beyond vs_event. */
typedef struct vs_record_facts {
  uint64_t time_ns;         /* of any clock that does not go back; see vs_record_clock */
  uint32_t metadata;        /* text id, 0: none */
  uint32_t compile_context; /* text id, 0: none */
  int32_t device;           /* -1: pinned host memory; below 32768 */
} vs_record_facts;

/* The hot path. Called in the order of events of a device: under its lock. */
void vs_record_event(vs_recorder *recorder, const vs_event *event, const vs_record_facts *facts);

/* FREE_REQUESTED, directly followed by the FREE_COMPLETED of the same block: at the price of one. `event`
 * is either of them, its kind does not matter. */
void vs_record_free(vs_recorder *recorder, const vs_event *event, const vs_record_facts *facts);

/* One end of a named range of the program; `name` is a text id. */
void vs_record_annotation(vs_recorder *recorder, uint32_t name, bool is_start, int32_t device,
                          uint64_t time_ns);

/* ---- what the file says about the program; any thread, not hot: they wait for the writer where a ring is
 * full. They go into the file in the order of events and calls. Texts longer than VS_RECORD_MOST_TEXT are
 * cut. */
enum { VS_RECORD_MOST_TEXT = 8192 };

/* At what time of 1970's clock the facts' clock was zero. */
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
  uint64_t bits; /* a truth, an int64_t, the bits of a double, the number of entries inside */
  vs_str text;   /* of a string */
} vs_record_setting_value;
void vs_record_put_setting(vs_recorder *recorder, const vs_record_setting_value *value);

/* What all devices' memory looks like at this moment, between the events before and those after: when
 * recording begins late, and when it ends. begin, then each segment followed by its blocks in address
 * order, then end; by one thread, under the devices' locks. */
typedef struct vs_record_segment {
  uint64_t address, size, stream;
  uint64_t allocated, active,
      requested; /* sums over its blocks; `requested`: as asked for, the others rounded */
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
