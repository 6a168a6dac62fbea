/* Takes the records of one frame apart: decoder.c (entries of dictionaries), decoder_records.c (the rest),
 * decoder_events.c (events). Private to the reader.
 *
 * What a record says is judged before it is used: numbers in range, references to entries that were given. A
 * reference to an entry that is lost reads as none. */
#ifndef VS_TRACEFILE_DECODER_H
#define VS_TRACEFILE_DECODER_H

#include "tracefile/bytes.h"
#include "tracefile/dictionaries.h"
#include "tracefile/model.h"
#include "tracefile/reader.h"

typedef VS_VEC(uint32_t) vs_ids;

/* A block that was allocated in this frame. */
typedef struct vs_decoded_block {
  uint64_t address;
  uint32_t site, sizes;
  uint32_t free_site; /* where its free was requested; VS_MODEL_NONE: not yet */
} vs_decoded_block;

/* Invariant: known[d] has a byte for each entry up to the highest that was given, 1 where it was. `contexts`
 * has the ids of those of this frame, by their numbers in it. */
typedef struct vs_decoder {
  const vs_host *host;
  const vs_trace_visitor *visitor;
  vs_trace_report *report;
  vs_trace_item item; /* under construction */
  vs_model model;
  VS_VEC(vs_decoded_block) blocks;
  vs_ids contexts;
  vs_ids
      stack; /* the frames of the stack defined last in this frame of the file, VS_MODEL_NONE for lost ones */
  vs_ids items; /* scratch */
  VS_VEC(uint8_t) known[VS_DICT_COUNT];
  uint32_t next[VS_DICT_COUNT]; /* the number of the next entry */
  uint32_t next_context;        /* contexts are numbered as they come */
  vs_trace_event freed;         /* the last free, while it may be completed */
  bool is_freeing;
  uint64_t events;   /* of this frame so far, counted as the writer counts */
  uint64_t unfolded; /* frames of stacks, all in all: a short record can repeat a long one */
  uint64_t plain;    /* bytes of records, all in all */
} vs_decoder;

VS_MUST_CHECK vs_status vs_decoder_init(vs_decoder *decoder, const vs_host *host,
                                        const vs_trace_visitor *visitor, vs_trace_report *report);
void vs_decoder_deinit(vs_decoder *decoder);

/* Decodes until the end, or the first byte 0 where a record would begin; *used is how far. item.offset and
 * item.process are set. Fails: VS_BAD_FORMAT (a record makes no sense; `used` is where), VS_LIMIT, and what
 * host and visitor fail with */
VS_MUST_CHECK vs_status vs_decoder_frame(vs_decoder *decoder, const uint8_t *records, size_t size,
                                         uint64_t base_address, int64_t base_time, size_t *used);

/* ---- between the parts */

VS_MUST_CHECK static inline vs_status vs_decoder_give(vs_decoder *d, vs_trace_tag tag) {
  d->item.tag = tag;
  return d->visitor->visit(d->visitor->ctx, &d->item);
}

VS_MUST_CHECK vs_status vs_decoder_event(vs_decoder *decoder, uint8_t first, vs_bytes *rest);
VS_MUST_CHECK vs_status vs_decoder_record(vs_decoder *decoder, uint8_t tag, vs_bytes *body);

static inline bool vs_decoder_knows(const vs_decoder *d, vs_dictionary dictionary, uint64_t id) {
  return id < d->known[dictionary].count && d->known[dictionary].data[id] != 0;
}

/* A string, texts or stack that is referred to; what is lost becomes none, and is counted. */
static inline uint32_t vs_decoder_reference(vs_decoder *d, vs_dictionary dictionary, vs_bytes *body) {
  const uint64_t id = vs_get_varint(body);
  if (vs_decoder_knows(d, dictionary, id)) return (uint32_t)id;
  d->report->lost_entries++;
  return VS_TRACE_NONE;
}

static inline bool vs_decoder_truth(vs_bytes *body) {
  const uint64_t truth = vs_get_varint(body);
  if (truth > 1) body->is_bad = true;
  return truth == 1;
}

static inline int32_t vs_decoder_device(vs_bytes *body) {
  const int64_t device = vs_get_signed(body);
  if (device >= VS_TRACE_HOST && device < VS_TRACE_MOST_DEVICES) return (int32_t)device;
  body->is_bad = true;
  return 0;
}

#endif
