/* What the parts of the writer share: writer.c (frames, dictionaries), writer_events.c (events),
 * writer_records.c (the rest). Private to them. */
#ifndef VS_TRACEFILE_WRITER_INTERNAL_H
#define VS_TRACEFILE_WRITER_INTERNAL_H

#include "base/interned_lists.h"
#include "base/interned_strings.h"
#include "tracefile/bytes.h"
#include "tracefile/dictionaries.h"
#include "tracefile/model.h"
#include "tracefile/rows.h"
#include "tracefile/writer.h"

/* The words of the rows that are interned as such. */
enum { VS_MODULE_WORDS = 4, VS_FRAME_WORDS = 8, VS_CONTEXT_WORDS = 10 };

typedef struct vs_local {
  uint32_t frame, number; /* as the model counts */
} vs_local;

/* Where a block is that was allocated in this frame. Keyed by its address, and overwritten by what falls on
 * the same place: then a free has to tell more, that is all. */
typedef struct vs_placed {
  uint64_t address;
  uint32_t frame, number; /* as the model counts */
  uint32_t site, sizes;
  uint32_t free_site; /* where its free was requested; VS_MODEL_NONE: not yet */
} vs_placed;
enum { VS_PLACED = VS_HOSTILE ? 64 : 8192, VS_PLACED_BITS = VS_HOSTILE ? 6 : 13 };

/* Invariant: written[d] <= entries of dictionary d; is_behind exactly if some are not equal. While a frame
 * is open frame <= at <= limit, and all bytes from `at` on are 0, or belong to a record that is being
 * written. */
struct vs_tracew {
  const vs_host *host;
  vs_tracew_sink sink;
  vs_tracew_options options;

  uint8_t *frame, *at, *limit; /* frame NULL: none is open */
  uint8_t
      *ready; /* before it an event can begin: there is room for all that it may need. NULL: perhaps not */
  size_t frame_size;
  uint64_t sequence, bytes, events, frame_events;
  uint8_t *freeing; /* the last record, if it is a free that may still turn out to be completed at once */
  vs_trace_event freed;
  uint32_t stack; /* the one defined last in this frame; VS_TRACE_NONE */
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

/* writer.c: all entries are in the file, and an open frame has room for `bytes` more. What is at `at` then
 * may be written up to there. The model may have begun anew. */
VS_MUST_CHECK vs_status vs_tracew_prepare(vs_tracew *w, size_t bytes);

/* A record with a length: its body is to be written to what begin returns, and end to be told where it ends.
 * There has to be room for the body and VS_RECORD_FRAMING bytes. */
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

/* A time as the distance from the last one, or that there is none. */
static inline uint8_t *vs_tracew_put_time(vs_tracew *w, uint8_t *at, int64_t time_us) {
  *at++ = time_us != VS_TRACE_NO_TIME;
  if (time_us == VS_TRACE_NO_TIME) return at;
  at = vs_put_varint(at, vs_fold_sign((int64_t)((uint64_t)time_us - (uint64_t)w->model.time_us)));
  w->model.time_us = time_us;
  return at;
}

#endif
