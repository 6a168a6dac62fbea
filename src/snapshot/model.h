/* The memory of a moment and the events before it: a PyTorch snapshot as columns. This header explains the format.
 *
 *   devices      a snapshot covers several devices: 0, 1, ... and pinned host memory as VS_DEVICE_HOST
 *   segments     address ranges of a device, obtained from the driver. An expandable segment is one segment for each
 *                contiguous mapped run
 *   blocks       a segment is cut into blocks that tile it in address order. A block is allocated, or freed but waiting
 *                for another stream (pending), or inactive (cached)
 *   trace        the events before, oldest first, one list per device: a window that may begin late (ring buffer)
 *   stacks       the call stacks of events, blocks and segments, interned in `stacks`; in the backward pass followed by
 *                the frames of the forward pass, where those were recorded (snapshot/forward.h)
 *
 * Segments and blocks are the END state, after the last trace entry. Sizes in the trace are REQUESTED bytes, so
 * replaying them gives the requested curve; the rounded size (`allocated`) of a block is only in `blocks`.
 *
 * Invariants (vs_snapshot_check executes them)
 *   blocks       segment i owns blocks [first_block, first_block + block_count), and these ranges tile the block table
 *                in segment order
 *   events       trace t owns events [first, first + count), and these ranges tile the event table in trace order
 *   traces       one for each device, device 0 .. n-1 in order, then VS_DEVICE_HOST if there is one
 *   ids          every string, stack, text, stream, pool and action id is below the count of its table
 *   absent       is distinguished from empty everywhere, so that writing a snapshot gives what was read
 */
#ifndef VS_SNAPSHOT_MODEL_H
#define VS_SNAPSHOT_MODEL_H

#include "event/event.h"
#include "event/stacks.h"
#include "snapshot/forward.h"

#define VS_NO_TIME    INT64_MIN
#define VS_NO_COUNTER INT64_MIN
enum { VS_DEVICE_HOST = -1, VS_MAX_DEVICES = 1024, VS_EVENT_NO_ADDRESS = 1 };

typedef struct vs_events {
  uint32_t count;
  uint32_t capacity; /* rows that every existing column has room for */
#define VS_EVENT_COLUMN(type, name, absent) \
  type *name;                               \
  size_t name##_capacity;
#include "snapshot/event_columns.def"
#undef VS_EVENT_COLUMN
} vs_events;

/* vs_events_size(events, row) and so on: the value of one column, absent or not. */
#define VS_EVENT_COLUMN(type, name, absent)                                    \
  static inline type vs_events_##name(const vs_events *events, uint32_t row) { \
    VS_ASSERT(row < events->count);                                            \
    return events->name == NULL ? (type)(absent) : events->name[row];          \
  }
#include "snapshot/event_columns.def"
#undef VS_EVENT_COLUMN

/* Why events are missing in a recording. */
typedef enum vs_gap_cause {
  VS_GAP_UNRECORDED, /* the recorder could not keep up */
  VS_GAP_STOPPED,    /* the recorder's file had failed */
  VS_GAP_DAMAGED,    /* the file is damaged */
} vs_gap_cause;
enum { VS_GAP_CAUSES = 3 };

typedef struct vs_trace {
  int32_t device;
  uint32_t first; /* row of the event table */
  uint32_t count;
  /* By cause: 1 + the first event (of this trace) before which some are missing, of whatever device; 0: none are. It may be
   * 1 + count: they are missing at the end. */
  uint32_t missing_from[VS_GAP_CAUSES];
} vs_trace;

typedef enum vs_block_state {
  VS_BLOCK_ALLOCATED, /* "active_allocated": the program holds it */
  VS_BLOCK_PENDING,   /* "active_pending_free": freed, but another stream may still use it */
  VS_BLOCK_INACTIVE,  /* "inactive": cached */
  VS_BLOCK_UNKNOWN,   /* a state that this version does not know; counts as inactive */
} vs_block_state;

/* "active_allocated" ..., as in files; `state` must not be VS_BLOCK_UNKNOWN. */
const char *vs_block_state_name(vs_block_state state);

/* Bits of vs_block.has: the value was in the file; else it is derived (builder_finish.c, builder_rows.c). */
enum { VS_BLOCK_HAS_ADDRESS = 1, VS_BLOCK_HAS_REQUESTED = 2 };

typedef struct vs_block {
  uint64_t address;
  uint64_t size;           /* rounded bytes */
  uint64_t requested_size; /* bytes requested; of an inactive block: by its last allocation */
  uint32_t stack;
  uint32_t forward_frames; /* id in texts */
  uint32_t state_name;     /* string id */
  uint8_t state;           /* vs_block_state */
  uint8_t has;             /* VS_BLOCK_HAS_... */
} vs_block;

enum {
  VS_SEGMENT_HAS_ALLOCATED = 1,
  VS_SEGMENT_HAS_ACTIVE = 2,
  VS_SEGMENT_HAS_REQUESTED = 4,
  VS_SEGMENT_HAS_EXPANDABLE = 8,
};

typedef struct vs_segment {
  uint64_t address;
  uint64_t total_size;
  uint64_t allocated_size;      /* as the file says, if `has` says that it does */
  uint64_t active_size;         /* likewise */
  uint64_t requested_size;      /* likewise */
  int64_t registration_counter; /* VS_NO_COUNTER where absent */
  int32_t device;
  uint32_t stream; /* index into streams */
  uint32_t pool;   /* 0, or 1 + index into pools */
  uint32_t type;   /* string id: "small", "large" */
  uint32_t stack;
  uint32_t forward_frames; /* id in texts */
  uint32_t first_block, block_count;
  uint8_t has; /* VS_SEGMENT_HAS_... */
  bool is_expandable;
} vs_segment;

/* One end of a named range of the program (record_function). */
typedef struct vs_annotation {
  int64_t time_us; /* VS_NO_TIME where absent */
  int32_t device;
  uint32_t name;  /* string id */
  uint32_t stage; /* string id: "START", "END" */
} vs_annotation;

/* What a library other than PyTorch's allocator has taken from the driver, as it asked for it, from this time on: in total. An empty name:
 * whether from this time on every library that takes memory of the device is told (1) or not (0). Only recordings have these, in their order. */
typedef struct vs_library_memory {
  int64_t time_us; /* VS_NO_TIME where absent */
  uint64_t bytes;
  uint32_t name; /* string id: the path of its file */
  int32_t device;
} vs_library_memory;

/* Limits of allocator_settings; the first one includes the entries of nested dicts. */
enum { VS_MAX_SETTINGS = 65536, VS_MAX_SETTING_DEPTH = 8 };

/* One entry of allocator_settings. A nested dict is an entry of kind VS_SETTING_DICT, followed by its own entries with
 * depth one more. */
typedef enum vs_setting_kind {
  VS_SETTING_NONE,
  VS_SETTING_BOOL,
  VS_SETTING_INT,
  VS_SETTING_REAL,
  VS_SETTING_STRING,
  VS_SETTING_DICT,
} vs_setting_kind;

typedef struct vs_setting {
  uint32_t key;  /* string id */
  uint8_t kind;  /* vs_setting_kind */
  uint8_t depth; /* 0 for an entry of allocator_settings itself */
  uint64_t bits; /* bool, int64_t, the bits of a double, string id, or the number of entries inside */
} vs_setting;

/* A key that was skipped: the kind of its mapping ("trace entry", "segment", ...), its name, and the number of
 * times. */
typedef struct vs_unknown_key {
  const char *where;
  uint32_t key;
  uint64_t count;
} vs_unknown_key;

enum { VS_MAX_UNKNOWN_KEYS = 64 }; /* distinct ones kept by name; others are only in unknown_key_count */

/* The accounts of other programs come behind VRAM: they are read, never written (vs_format_is_account). */
typedef enum vs_file_format {
  VS_FORMAT_PICKLE,
  VS_FORMAT_JSON,
  VS_FORMAT_VRAM,
  VS_FORMAT_KINETO, /* a trace of PyTorch's profiler (snapshot/kineto.h) */
  VS_FORMAT_RMM,    /* a log of RMM's LoggingResourceAdaptor (snapshot/rmm.h) */
  VS_FORMAT_PPROF,  /* JAX's device memory profile (snapshot/pprof.h) */
  VS_FORMAT_NSYS,   /* an export of Nsight Systems (snapshot/nsys.h) */
} vs_file_format;
enum { VS_FORMATS = 7 };

/* False in a WebAssembly module, which has no readers of accounts: so it contains nothing of what is about them alone. */
static inline bool vs_format_is_account(vs_file_format format) {
  return !VS_FREESTANDING && format > VS_FORMAT_VRAM;
}

/* What the account of another program does not say; 0 for PyTorch's snapshots and our recordings.
 * Without segments, each block that is live at the end is the only block of a row of the segment table with its bytes, so
 * that the tables keep their invariants: such a row is no segment, and figures of reserved or cached memory are unknown. */
enum {
  VS_LACKS_SEGMENTS = 1,
  VS_LACKS_ROUNDING = 2,  /* each block has one size: that of the request, or that of the block */
  VS_LACKS_ADDRESSES = 4, /* those of blocks only tell them apart */
  VS_LACKS_STREAMS = 8,
  VS_LACKS_STACKS = 16,
};

/* Of a device in an account that lists several processes: whose memory the columns have. */
typedef struct vs_shown_process {
  int32_t device;
  int64_t pid;
  uint32_t name;   /* string id; empty: unknown */
  uint64_t others; /* processes whose memory on the device is left out */
} vs_shown_process;

typedef struct vs_recorded_device {
  int32_t device;
  uint32_t name; /* string id */
  uint64_t total_bytes;
} vs_recorded_device;

/* A part of a recording in which events are missing. */
typedef struct vs_gap {
  vs_gap_cause cause;
  uint64_t events; /* that are missing; 0: their number is unknown */
  /* From the first one that is missing (or else the last one before it) to the state of all memory with which the
   * recording goes on; VS_NO_TIME: unknown, or no state follows. */
  int64_t from_us, to_us;
} vs_gap;
enum { VS_MOST_GAPS = 64 }; /* that are kept; further ones are joined with the last */

/* The properties that only a recording (.vram) has. */
typedef struct vs_recording {
  uint32_t pid, parent;           /* 0: unknown, as in a recording made from a pickle */
  uint32_t host, program, writer; /* string ids */
  int64_t wall_us;                /* when it began; VS_NO_TIME */
  bool is_simulated;
  VS_VEC(vs_recorded_device) devices;
  uint64_t frames, compacted_frames, open_frames; /* open: the process was killed, or is still recording */
  uint64_t lost_frames, lost_bytes, lost_events;  /* by damage to the file */
  uint64_t lost_entries;                          /* references to names that were in lost frames */
  uint64_t earlier_frames;                        /* frames before the first one, which a ring overwrote */
  uint64_t unrecorded;                            /* events that the recorder reported as dropped */
  VS_VEC(vs_gap) gaps;                            /* in the order of the file */
  uint64_t derived; /* events that are not in the file, derived from the state after a gap */
  uint32_t stopped; /* string id: why the recorder wrote nothing any more; VS_STRING_NONE: it did not stop */
  uint64_t unknown_records; /* of a newer version */
  bool is_rebuilt;          /* the end state was computed from the events */
  /* All frames are sealed, and the last complete state is that of the end, without events after it. */
  bool is_ended;
} vs_recording;

/* The top-level keys of the file. */
enum {
  VS_HAS_SEGMENTS = 1,
  VS_HAS_TRACES = 2,
  VS_HAS_SETTINGS = 4,
  VS_HAS_ANNOTATIONS = 8,
  VS_HAS_HOST_SEGMENTS = 16,
  VS_HAS_HOST_TRACES = 32,
  VS_HAS_NESTED_HOST_TRACES = 64, /* host_traces is a list of lists */
  VS_HAS_ONLY_SEGMENTS = 128,     /* a bare list of segments (PyTorch <= 1.12) */
};

typedef struct vs_snapshot {
  const vs_host *host;
  vs_strings strings;
  vs_stacks stacks;
  vs_lists texts; /* lists of string ids (forward_frames) */
  vs_forward forward;
  vs_events events;
  VS_VEC(vs_trace) traces;
  VS_VEC(vs_segment) segments;
  VS_VEC(vs_block) blocks;
  VS_VEC(vs_annotation) annotations;
  VS_VEC(vs_library_memory) libraries;
  VS_VEC(vs_setting) settings;
  VS_VEC(uint64_t) streams; /* handles, in order of appearance */
  VS_VEC(vs_pool_id) pools; /* in order of appearance */
  VS_VEC(uint32_t) actions; /* string ids: the known kinds first (index = vs_event_kind), then unknown ones */
  VS_VEC(vs_unknown_key) unknown_keys;
  uint64_t unknown_key_count; /* all occurrences */
  vs_file_format format;
  uint32_t pickle_protocol;       /* 0 where the pickle has no PROTO opcode */
  uint64_t bytes;                 /* of the (inflated) input up to its end marker */
  uint64_t trailing_bytes;        /* after the end marker, without zero padding */
  uint32_t has;                   /* VS_HAS_... */
  uint32_t lacks;                 /* VS_LACKS_... */
  uint64_t left_out;              /* entries of an account that are not about the memory of a GPU */
  uint64_t unknown_kinds;         /* entries of an account that were left out, because they may be */
  VS_VEC(vs_shown_process) shown; /* by device; empty: the account does not tell processes apart */
  vs_recording recording;         /* if format is VS_FORMAT_VRAM */
} vs_snapshot;

/* The kind of an event; VS_EVENT_UNKNOWN for an action of another name. */
static inline vs_event_kind vs_events_kind(const vs_events *events, uint32_t row) {
  const uint16_t action = vs_events_action(events, row);
  return action < VS_EVENT_UNKNOWN ? (vs_event_kind)action : VS_EVENT_UNKNOWN;
}

static inline bool vs_block_is_active(const vs_block *block) {
  return block->state == VS_BLOCK_ALLOCATED || block->state == VS_BLOCK_PENDING;
}

static inline vs_str vs_snapshot_string(const vs_snapshot *snapshot, uint32_t id) {
  return vs_strings_at(&snapshot->strings, id);
}

/* VS_LACKS_...; none in a WebAssembly module (vs_format_is_account). */
static inline uint32_t vs_snapshot_lacks(const vs_snapshot *snapshot) {
  return VS_FREESTANDING ? 0 : snapshot->lacks;
}

/* Whether a block's address is that of its memory: in accounts it may only tell blocks apart. */
static inline bool vs_block_has_address(const vs_snapshot *snapshot, const vs_block *block) {
  return vs_snapshot_lacks(snapshot) == 0 || (block->has & VS_BLOCK_HAS_ADDRESS) != 0;
}

/* The stack as it was recorded, without the frames of the forward pass. */
static inline uint32_t vs_snapshot_recorded_stack(const vs_snapshot *snapshot, uint32_t stack) {
  const vs_forward *forward = &snapshot->forward;
  const bool is_joined = forward->recorded.count != 0 && stack >= forward->first_stack;
  return is_joined ? forward->recorded.data[stack - forward->first_stack] : stack;
}

/* An empty snapshot, whose tables have only their first entries. Owner: the caller, vs_snapshot_destroy. */
VS_MUST_CHECK vs_status vs_snapshot_create(const vs_host *host, vs_snapshot **out);
void vs_snapshot_destroy(vs_snapshot *snapshot);

/* Adds a row with every column absent; *row is its number. */
VS_MUST_CHECK vs_status vs_events_add(const vs_host *host, vs_events *events, uint32_t *row);
void vs_events_deinit(const vs_host *host, vs_events *events);

/* The values of all columns for one row. */
typedef struct vs_event_row {
#define VS_EVENT_COLUMN(type, name, absent) type name;
#include "snapshot/event_columns.def"
#undef VS_EVENT_COLUMN
} vs_event_row;

/* Adds a row with these values; *row is its number. */
VS_MUST_CHECK vs_status vs_events_append(const vs_host *host, vs_events *events, const vs_event_row *values,
                                         uint32_t *row);

/* vs_events_set_size(host, events, row, value) and so on. Setting `absent` never allocates a column. */
#define VS_EVENT_COLUMN(type, name, absent)                                                          \
  VS_MUST_CHECK vs_status vs_events_set_##name(const vs_host *host, vs_events *events, uint32_t row, \
                                               type value);
#include "snapshot/event_columns.def"
#undef VS_EVENT_COLUMN

/* Adds an entry to allocator_settings under `key`. A string's value is `text`, which is interned; else it is setting.bits. */
VS_MUST_CHECK vs_status vs_snapshot_setting_add(vs_snapshot *snapshot, vs_str key, vs_setting setting,
                                                vs_str text);

/* The trace of a device; NULL if it has none. */
const vs_trace *vs_snapshot_trace(const vs_snapshot *snapshot, int32_t device);

/* Executes the invariants above; NULL if all hold, else the sentence that does not. */
const char *vs_snapshot_check(const vs_snapshot *snapshot);

#endif
