/* The records of a recording as values, which the writer takes and the reader gives. docs/formats/vram.md explains
 * the bytes.
 *
 *   dictionaries   strings, lists of strings (texts), modules, frames, stacks: numbered from 0 in the order of their
 *                  definitions, each defined before it is used. Strings, texts and stacks begin with two predefined
 *                  entries: 0 is "none", 1 is the empty one. Contexts are defined again in each frame of the file;
 *                  writer and reader have their own numbers for them.
 *   events         in the order in which they happened. An event has a stack and a context.
 *   state          all segments and blocks of a moment. The state at the end is the last complete one with the changes of
 *                  the events after it.
 *
 * Times are microseconds since 1970, sizes bytes. */
#ifndef VS_TRACEFILE_RECORDS_H
#define VS_TRACEFILE_RECORDS_H

#include "base/check.h"
#include "event/event.h"

#define VS_TRACE_NO_TIME    INT64_MIN
#define VS_TRACE_NO_COUNTER INT64_MIN

enum { VS_TRACE_NONE = 0, VS_TRACE_EMPTY = 1 }; /* ids of strings, texts and stacks */
enum { VS_TRACE_HOST = -1, VS_TRACE_MOST_DEVICES = 1024 };
enum {
  VS_TRACE_LEAST_FRAME_SIZE = 1024,
  VS_TRACE_FRAME_SIZE = 64 * 1024,
  VS_TRACE_MOST_FRAME_SIZE = 64 * 1024 * 1024
};

typedef enum vs_trace_tag {
#define VS_TRACE_TAG(value, name, sentence) VS_TRACE_##name = (value),
#include "tracefile/tags.def"
#undef VS_TRACE_TAG
  VS_TRACE_EVENT, /* an event, in any form of record */
} vs_trace_tag;

/* ---- dictionaries -------------------------------------------------------------------------------------- */

typedef struct vs_trace_string {
  uint32_t id;
  vs_str text; /* any bytes */
} vs_trace_string;

/* Texts: ids of strings. Stack: ids of frames, innermost first. */
typedef struct vs_trace_list {
  uint32_t id;
  uint32_t count;
  const uint32_t *items;
} vs_trace_list;

/* A program or library at its address in the process: native frames are looked up in it, on any machine. */
typedef struct vs_trace_module {
  uint32_t id;
  uint32_t path;     /* string */
  uint32_t build_id; /* string: the bytes of the note; may be none */
  uint64_t base;     /* where offset 0 was mapped */
  uint64_t size;
} vs_trace_module;

/* Fields that torch.fx adds to frames of generated code; strings. */
typedef struct vs_trace_detail {
  uint32_t fx_node_op, fx_node_name, fx_node_target, fx_original_trace;
} vs_trace_detail;

typedef struct vs_trace_frame {
  uint32_t id;
  uint32_t name, file; /* strings */
  int64_t line;        /* of a C++ frame as PyTorch writes them: the offset in the library */
  vs_trace_detail detail;
} vs_trace_frame;

/* A native frame, which has no name yet. Frames of both kinds share their numbers. */
typedef struct vs_trace_native {
  uint32_t id;
  uint32_t module;
  uint64_t offset; /* of the return address in the module's file addresses: address - base */
} vs_trace_native;

/* Properties that many events share. */
typedef struct vs_trace_context {
  uint64_t stream;
  vs_pool_id pool;
  uint64_t thread;                                   /* as the system numbers it; 0: unknown */
  int32_t device;                                    /* VS_TRACE_HOST: pinned host memory */
  bool has_pool;                                     /* false: unknown, and `pool` is (0, 0) */
  uint32_t compile_context, user_metadata, category; /* strings */
  uint32_t forward_frames;                           /* texts */
} vs_trace_context;

typedef struct vs_trace_context_entry {
  uint32_t id;
  vs_trace_context context;
} vs_trace_context_entry;

/* ---- events -------------------------------------------------------------------------------------------- */

typedef struct vs_trace_event {
  uint64_t address; /* OOM: free bytes that the driver reported */
  uint64_t size;    /* see event/kinds.def */
  uint64_t rounded; /* ALLOC and the frees: bytes of the block; 0: unknown. 0 for the others */
  int64_t time_us;  /* VS_TRACE_NO_TIME: unknown */
  uint32_t stack;
  uint32_t context; /* an entry */
  uint32_t action;  /* string; of kind VS_EVENT_UNKNOWN only, else VS_TRACE_NONE */
  uint8_t kind;     /* vs_event_kind */
  bool no_address;  /* the event says none; `address` is 0 */
} vs_trace_event;

typedef struct vs_trace_annotation {
  int64_t time_us;
  uint64_t thread; /* 0: unknown */
  int32_t device;
  uint32_t name,
      stage; /* strings; "START", "END"; VS_TRACE_EMPTY: it began then, and is open at a checkpoint */
} vs_trace_annotation;

/* What a library of the program has taken from the driver, as it asked for it, from here on: in total. An empty name: whether
 * from here on every library of the process that takes memory of this device is told (1) or not (0). */
typedef struct vs_trace_library {
  int64_t time_us;
  uint64_t bytes;
  uint32_t name; /* string: the path of its file */
  int32_t device;
} vs_trace_library;

/* ---- the state of a moment ----------------------------------------------------------------------------- */

typedef enum vs_trace_moment {
  VS_TRACE_AT_START, /* recording began after the first allocation */
  VS_TRACE_AT_CHECKPOINT,
  VS_TRACE_AT_END,
} vs_trace_moment;

typedef struct vs_trace_state {
  vs_trace_moment moment;
  int64_t time_us;
} vs_trace_state;

enum { /* vs_trace_segment.has: the members that are valid */
       VS_TRACE_HAS_ALLOCATED = 1,
       VS_TRACE_HAS_ACTIVE = 2,
       VS_TRACE_HAS_REQUESTED = 4,
       VS_TRACE_HAS_EXPANDABLE = 8,
};

typedef struct vs_trace_segment {
  uint64_t address, total_size;
  uint64_t allocated, active, requested; /* sums over its blocks; 0 unless `has` them */
  int64_t registration_counter;          /* VS_TRACE_NO_COUNTER */
  uint64_t stream;
  vs_pool_id pool;
  int32_t device;
  bool has_pool, is_expandable;
  uint8_t has;
  uint32_t type; /* string: "small", "large" */
  uint32_t stack;
  uint32_t forward_frames; /* texts */
} vs_trace_segment;

typedef enum vs_trace_block_state {
  VS_TRACE_ALLOCATED,
  VS_TRACE_PENDING,
  VS_TRACE_INACTIVE,
  VS_TRACE_OTHER, /* `state_name` has its name */
} vs_trace_block_state;

typedef struct vs_trace_block {
  uint64_t address, size, requested;
  uint32_t stack;
  uint32_t forward_frames;                       /* texts */
  uint32_t state_name;                           /* string; of VS_TRACE_OTHER only */
  uint8_t state;                                 /* vs_trace_block_state */
  bool is_address_derived, is_requested_derived; /* computed, because the converted snapshot had none */
} vs_trace_block;

/* ---- around it ----------------------------------------------------------------------------------------- */

typedef struct vs_trace_process {
  uint32_t pid, parent;
  uint32_t host, program, writer; /* strings; `writer`: "vramscope 0.1.0" */
  int64_t wall_us;                /* now, by two clocks at the same moment */
  uint64_t monotonic_ns;
  bool is_simulated;       /* on a simulated GPU */
  bool has_no_completions; /* of frees only the request was recorded */
} vs_trace_process;

typedef struct vs_trace_device {
  int32_t device;
  uint32_t name; /* string */
  uint64_t total_bytes;
} vs_trace_device;

typedef struct vs_trace_thread {
  uint64_t thread;
  uint32_t name; /* string */
} vs_trace_thread;

/* Kinds of snapshot/model.h's vs_setting_kind: none, bool, int, real, string, dict. A dict is followed by
 * its entries with depth one more; `bits` is their number, a truth, an int64_t, the bits of a double, or a
 * string. */
typedef enum vs_trace_setting_kind {
  VS_TRACE_SETTING_NONE,
  VS_TRACE_SETTING_BOOL,
  VS_TRACE_SETTING_INT,
  VS_TRACE_SETTING_REAL,
  VS_TRACE_SETTING_STRING,
  VS_TRACE_SETTING_DICT,
} vs_trace_setting_kind;

typedef struct vs_trace_setting {
  uint32_t key; /* string */
  uint8_t kind, depth;
  uint64_t bits;
} vs_trace_setting;

/* Of a recording that was made from a snapshot: its top-level parts (VS_HAS_... of snapshot/model.h) and how
 * many devices had a trace. */
typedef struct vs_trace_shape {
  uint32_t parts;
  uint32_t devices;
  bool has_host;
} vs_trace_shape;

typedef struct vs_trace_lost {
  uint64_t events; /* total since the recording began */
  int64_t
      since_us; /* of the first one that is new, or of a later one if LOST was just before; VS_TRACE_NO_TIME: unknown */
} vs_trace_lost;

typedef struct vs_trace_stopped {
  int64_t time_us;
  uint32_t reason; /* string */
} vs_trace_stopped;

/* One record from the reader; its pointers are borrowed for the call. */
typedef struct vs_trace_item {
  vs_trace_tag tag;
  uint64_t offset;  /* of its frame in the file */
  uint32_t process; /* that wrote it */
  union {
    vs_trace_string string;
    vs_trace_list list; /* TEXTS, STACK */
    vs_trace_module module;
    vs_trace_frame frame;
    vs_trace_native native;
    vs_trace_context_entry context;
    vs_trace_event event;
    vs_trace_annotation annotation;
    vs_trace_library library;
    vs_trace_state state;
    vs_trace_segment segment;
    vs_trace_block block;
    vs_trace_process process;
    vs_trace_device device;
    vs_trace_thread thread;
    vs_trace_setting setting;
    vs_trace_shape shape;
    vs_trace_lost lost;
    vs_trace_stopped stopped;
  } is;
} vs_trace_item;

#endif
