/* Compresses a recording: the same frames, each deflated separately, without damaged and unused bytes. */
#ifndef VS_TRACEFILE_COMPACT_H
#define VS_TRACEFILE_COMPACT_H

#include "tracefile/reader.h"

/* Raw deflate (RFC 1951), from a face. *packed is the number of bytes, 0 if `room` is too little. */
typedef struct vs_trace_deflate {
  void *ctx;
  vs_status (*deflate)(void *ctx, const void *from, size_t size, void *to, size_t room, size_t *packed);
} vs_trace_deflate;

/* Keeps one frame at a time in memory. A compressed frame is compressed again. `report` is that of reading, *written
 * the bytes of the result. Fails: as vs_trace_read, `deflate` and the writer. */
VS_MUST_CHECK vs_status vs_trace_compact(const vs_host *host, vs_input *input,
                                         const vs_trace_inflate *inflate, const vs_trace_deflate *deflate,
                                         const vs_writer *to, vs_trace_report *report, uint64_t *written,
                                         vs_error *error);

#endif
