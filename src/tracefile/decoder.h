/* Decodes the records of one frame: decoder.c (entries of dictionaries), decoder_events.c (events),
 * decoder_records.c (the others). Private to the reader.
 *
 * Every number of a record is checked before it is used. A reference to a lost entry reads as none. */
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
  uint32_t free_site; /* where its free was requested; VS_MODEL_NONE: it was not */
} vs_decoded_block;

/* Invariant: known[d] has a byte for each entry up to the highest one defined, 1 if it was defined. `contexts` has
 * the ids of this frame's contexts, by their numbers in it. */
typedef struct vs_decoder {
  const vs_host *host;
  const vs_trace_visitor *visitor;
  vs_trace_report *report;
  vs_trace_item item; /* under construction */
  vs_model model;
  VS_VEC(vs_decoded_block) blocks;
  vs_ids contexts;
  vs_ids stack; /* the last stack that this frame of the file defined; lost frames are VS_MODEL_NONE */
  vs_ids items; /* scratch */
  VS_VEC(uint8_t) known[VS_DICT_COUNT];
  uint32_t next[VS_DICT_COUNT]; /* the number of the next entry */
  uint32_t next_context;        /* the number of the next context */
  vs_trace_event freed;         /* the last free, while it may be completed */
  bool is_freeing;
  uint64_t events;   /* of this frame so far, counted as the writer counts */
  uint64_t unfolded; /* total frames of stacks, bounded because a short record can repeat a long stack */
  uint64_t plain;    /* total bytes of records */
} vs_decoder;

VS_MUST_CHECK vs_status vs_decoder_init(vs_decoder *decoder, const vs_host *host,
                                        const vs_trace_visitor *visitor, vs_trace_report *report);
void vs_decoder_deinit(vs_decoder *decoder);

/* Decodes to the end, or to the first byte 0 where a record would begin; *used is the number of bytes decoded. The
 * caller has set item.offset and item.process. Fails: VS_BAD_FORMAT (the record at *used is invalid), VS_LIMIT, and
 * as host and visitor */
VS_MUST_CHECK vs_status vs_decoder_frame(vs_decoder *decoder, const uint8_t *records, size_t size,
                                         uint64_t base_address, int64_t base_time, size_t *used);

/* ---- shared by the three files */

VS_MUST_CHECK static inline vs_status vs_decoder_give(vs_decoder *d, vs_trace_tag tag) {
  d->item.tag = tag;
  return d->visitor->visit(d->visitor->ctx, &d->item);
}

VS_MUST_CHECK vs_status vs_decoder_event(vs_decoder *decoder, uint8_t first, vs_bytes *rest);
VS_MUST_CHECK vs_status vs_decoder_record(vs_decoder *decoder, uint8_t tag, vs_bytes *body);

static inline bool vs_decoder_knows(const vs_decoder *d, vs_dictionary dictionary, uint64_t id) {
  return id < d->known[dictionary].count && d->known[dictionary].data[id] != 0;
}

/* A reference to a string, texts or stack; to a lost entry it becomes none, and is counted. */
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
