/* Reads a recording as a stream. Damaged frames are skipped and counted, the others are read.
 *
 * Each record is given to `visit` once it is decoded. An entry or event refers only to entries that were given
 * before; a reference to an entry of a lost frame is VS_TRACE_NONE, and counted. Ids of entries have gaps if frames
 * are lost; at a checkpoint the same entries come again. Contexts come once in each frame that uses them, with a new
 * number each time.
 *
 * Bounds: a frame has at most VS_TRACE_MOST_FRAME_SIZE bytes, a dictionary at most 2^28 entries; memory is one byte
 * for each entry, and two frames with their model. */
#ifndef VS_TRACEFILE_READER_H
#define VS_TRACEFILE_READER_H

#include "codec/input.h"
#include "tracefile/records.h"

/* Decompresses raw deflate (RFC 1951), from a face: fills all of `to` or fails. */
typedef struct vs_trace_inflate {
  void *ctx;
  vs_status (*inflate)(void *ctx, const void *from, size_t from_size, void *to, size_t to_size);
} vs_trace_inflate;

typedef enum vs_trace_damage_kind {
  VS_TRACE_TORN,     /* the file ends inside a frame */
  VS_TRACE_GARBAGE,  /* no frame where one should begin */
  VS_TRACE_CHECKSUM, /* its checksum is wrong */
  VS_TRACE_RECORD,   /* its checksum is right, but a record is invalid; the rest of the frame is lost */
  VS_TRACE_GAP,      /* a frame number is missing */
} vs_trace_damage_kind;

typedef struct vs_trace_damage {
  vs_trace_damage_kind kind;
  uint64_t offset, bytes; /* of the lost bytes in the file */
  uint64_t frames, events;
} vs_trace_damage;

enum { VS_TRACE_MOST_DAMAGES = 16 };

typedef struct vs_trace_report {
  uint64_t bytes, frames, events; /* read; the bytes of the whole file */
  uint64_t compacted_frames;
  uint64_t
      open_frames; /* not sealed (the process was killed, or still runs): read up to the last complete record */
  uint64_t lost_bytes, lost_frames, lost_events; /* by damage */
  uint64_t earlier_frames;  /* before the first one of the file: a ring overwrote them, which is no damage */
  uint64_t unrecorded;      /* events that the recorder lost, by its own count */
  uint64_t lost_entries;    /* references to entries that are lost */
  uint64_t unknown_records; /* of a newer version */
  uint64_t damages;         /* their number; the first ones are: */
  vs_trace_damage damage[VS_TRACE_MOST_DAMAGES];
} vs_trace_report;

typedef struct vs_trace_visitor {
  void *ctx;
  vs_status (*visit)(void *ctx, const vs_trace_item *item); /* a failure ends the reading */
} vs_trace_visitor;

/* Whether data begins with the magic of a recording; one of its eight bytes may be damaged. */
enum { VS_TRACE_MAGIC_SIZE = 8, VS_TRACE_HEADER_SIZE = 80 };
bool vs_trace_is(const void *data, size_t size);

/* Reads `input` to its end. `report` is up to date at each visit: damage before a record is in it. `inflate` NULL: compacted frames are refused (VS_UNSUPPORTED).
 * Fails: VS_BAD_FORMAT (no frame can be read), VS_UNSUPPORTED (a newer format), VS_NO_MEMORY, and as reader, `inflate` (for
 *        lack of memory) and visitor. `error`: the sentence and the offset. */
VS_MUST_CHECK vs_status vs_trace_read(const vs_host *host, vs_input *input, const vs_trace_inflate *inflate,
                                      const vs_trace_visitor *visitor, vs_trace_report *report,
                                      vs_error *error);

#endif
