/* The writer's data, shared by writer.c (frames, dictionaries), writer_events.c (events) and writer_records.c (the
 * other records). Private to them. */
#ifndef VS_TRACEFILE_WRITER_INTERNAL_H
#define VS_TRACEFILE_WRITER_INTERNAL_H

#include "base/interned_lists.h"
#include "base/interned_strings.h"
#include "tracefile/bytes.h"
#include "tracefile/dictionaries.h"
#include "tracefile/model.h"
#include "tracefile/rows.h"
#include "tracefile/writer.h"

/* Widths of the interned rows. */
enum { VS_MODULE_WORDS = 4, VS_FRAME_WORDS = 8, VS_CONTEXT_WORDS = 10 };

typedef struct vs_local {
  uint32_t frame, number; /* model.frame, and the context's number in it */
} vs_local;

/* A block that was allocated in this frame. The table is indexed by a hash of the address; a block that hashes to
 * the same index replaces it, and the free of the replaced one takes a longer record. */
typedef struct vs_placed {
  uint64_t address;
  uint32_t frame, number; /* model.frame, and the block's number in it */
  uint32_t site, sizes;
  uint32_t free_site; /* where its free was requested; VS_MODEL_NONE: it was not */
} vs_placed;
enum { VS_PLACED = VS_HOSTILE ? 64 : 8192, VS_PLACED_BITS = VS_HOSTILE ? 6 : 13 };

/* Invariant: written[d] <= entries of dictionary d; if some are not equal, is_behind. While a frame is open frame <=
 * at <= limit, and all bytes from `at` on are 0, or belong to a record that is being written. */
struct vs_tracew {
  const vs_host *host;
  vs_tracew_sink sink;
  vs_tracew_options options;

  uint8_t *frame, *at, *limit; /* frame NULL: none is open */
  uint8_t
      *ready; /* an event that begins before it has all the room it may need. NULL: room has to be checked */
  size_t frame_size;
  uint64_t sequence, bytes, events, frame_events;
  uint8_t *freeing; /* the last record, if it is a free whose completion can still be merged into it */
  vs_trace_event freed;
  uint32_t stack; /* the stack defined last in this frame; VS_TRACE_NONE: none */
  bool needs_checkpoint;

  uint32_t written[VS_DICT_COUNT];
  bool is_behind;
  vs_strings strings;
  vs_lists texts, stacks;
  vs_rows modules, frames, contexts;

  vs_model model;
  vs_map site_by_hash, sizes_by_hash; /* of this frame */
  VS_VEC(vs_local) locals;            /* of each context: its number in a frame */
  vs_placed placed[VS_PLACED];
};

/* writer.c: writes all missing entries, and makes sure that the open frame has room for `bytes` more, from `at` on.
 * May begin a new frame, and so a new model. */
VS_MUST_CHECK vs_status vs_tracew_prepare(vs_tracew *w, size_t bytes);

/* A record with a length: write its body to the address that vs_tracew_body returns, then call vs_tracew_record with
 * its end. There has to be room for the body and VS_RECORD_FRAMING bytes. */
enum { VS_RECORD_FRAMING = 8 };
uint8_t *vs_tracew_body(vs_tracew *w);
void vs_tracew_record(vs_tracew *w, vs_trace_tag tag, uint8_t *end);

static inline bool vs_tracew_has_string(const vs_tracew *w, uint32_t id) {
  return id < vs_strings_count(&w->strings);
}
static inline bool vs_tracew_has_texts(const vs_tracew *w, uint32_t id) {
  return id < vs_lists_count(&w->texts);
}
static inline bool vs_tracew_has_stack(const vs_tracew *w, uint32_t id) {
  return id < vs_lists_count(&w->stacks);
}

/* A flag, and a time as its difference from the last one; or the flag that there is none. */
static inline uint8_t *vs_tracew_put_time(vs_tracew *w, uint8_t *at, int64_t time_us) {
  *at++ = time_us != VS_TRACE_NO_TIME;
  if (time_us == VS_TRACE_NO_TIME) return at;
  at = vs_put_varint(at, vs_fold_sign((int64_t)((uint64_t)time_us - (uint64_t)w->model.time_us)));
  w->model.time_us = time_us;
  return at;
}

#endif
