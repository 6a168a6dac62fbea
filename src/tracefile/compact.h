/* Packs a recording: the same frames, each deflated for itself, without what was damaged or not used. */
#ifndef VS_TRACEFILE_COMPACT_H
#define VS_TRACEFILE_COMPACT_H

#include "tracefile/reader.h"

/* Raw deflate (RFC 1951), as a face has it. *packed is how many bytes it took, 0 if `room` is too little. */
typedef struct vs_trace_deflate {
  void *ctx;
  vs_status (*deflate)(void *ctx, const void *from, size_t size, void *to, size_t room, size_t *packed);
} vs_trace_deflate;

/* Streams: one frame at a time is in memory. A frame that is packed already is packed again. `report` is of
 * what was read, *written the bytes of the result. Fails: as vs_trace_read, and what deflate and the writer
 * fail with. */
VS_MUST_CHECK vs_status vs_trace_compact(const vs_host *host, vs_input *input,
                                         const vs_trace_inflate *inflate, const vs_trace_deflate *deflate,
                                         const vs_writer *to, vs_trace_report *report, uint64_t *written,
                                         vs_error *error);

#endif
