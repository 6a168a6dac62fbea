/* Reads a recording as a stream, whatever happened to it: damaged frames are skipped and accounted for, the
 * rest is read.
 *
 * Each record is given to `visit` once it is decoded. What an entry or event refers to has been given
 * before, or else the reference is VS_TRACE_NONE and counted (it was in a frame that is lost). Entries come
 * with their ids, which may have gaps where frames are lost, and may come again, the same, at a checkpoint.
 * Contexts come once in each frame that uses them, under a new number each time.
 *
 * Bounds: a frame is at most VS_TRACE_MOST_FRAME_SIZE, a dictionary has at most 2^28 entries; memory is a
 * byte for each, and two frames with what their events take. */
#ifndef VS_TRACEFILE_READER_H
#define VS_TRACEFILE_READER_H

#include "codec/input.h"
#include "tracefile/records.h"

/* Raw deflate (RFC 1951), as a face has it: fills all of `to` or fails. */
typedef struct vs_trace_inflate {
  void *ctx;
  vs_status (*inflate)(void *ctx, const void *from, size_t from_size, void *to, size_t to_size);
} vs_trace_inflate;

typedef enum vs_trace_damage_kind {
  VS_TRACE_TORN,     /* the file ends inside of a frame */
  VS_TRACE_GARBAGE,  /* no frame where one should begin */
  VS_TRACE_CHECKSUM, /* its checksum is wrong */
  VS_TRACE_RECORD,   /* its checksum is right, but a record makes no sense; the rest of the frame is lost */
  VS_TRACE_GAP,      /* a frame number is missing */
} vs_trace_damage_kind;

typedef struct vs_trace_damage {
  vs_trace_damage_kind kind;
  uint64_t offset, bytes; /* of what is lost in the file */
  uint64_t frames, events;
} vs_trace_damage;

enum { VS_TRACE_MOST_DAMAGES = 16 };

typedef struct vs_trace_report {
  uint64_t bytes, frames, events; /* read; the bytes of the whole file */
  uint64_t compacted_frames;
  uint64_t
      open_frames; /* not sealed (the process was killed, or goes on): read up to the last whole record */
  uint64_t lost_bytes, lost_frames, lost_events; /* by damage */
  uint64_t earlier_frames;  /* before the first one of the file: a ring overwrote them, which is no damage */
  uint64_t unrecorded;      /* events that the recorder could not keep, by its own account */
  uint64_t lost_entries;    /* references to entries that are lost */
  uint64_t unknown_records; /* of a newer version */
  uint64_t damages;         /* the first ones are told: */
  vs_trace_damage damage[VS_TRACE_MOST_DAMAGES];
} vs_trace_report;

typedef struct vs_trace_visitor {
  void *ctx;
  vs_status (*visit)(void *ctx, const vs_trace_item *item); /* a failure ends the reading */
} vs_trace_visitor;

/* Whether data begins as every recording does; one byte of the first eight may be damaged. */
enum { VS_TRACE_MAGIC_SIZE = 8 };
bool vs_trace_is(const void *data, size_t size);

/* Reads `input` to its end. `inflate` NULL: compacted frames are refused (VS_UNSUPPORTED).
 * Fails: VS_BAD_FORMAT  there is no frame at all that can be read; VS_UNSUPPORTED  a newer format;
 * VS_NO_MEMORY; and what
 *        reader, inflate (for want of memory) or visitor fail with. `error`: the sentence and the offset. */
VS_MUST_CHECK vs_status vs_trace_read(const vs_host *host, vs_input *input, const vs_trace_inflate *inflate,
                                      const vs_trace_visitor *visitor, vs_trace_report *report,
                                      vs_error *error);

#endif
