/* Reading frames, for compact.c. Private to it and the reader. */
#ifndef VS_TRACEFILE_READER_INTERNAL_H
#define VS_TRACEFILE_READER_INTERNAL_H

#include "tracefile/frame.h"
#include "tracefile/reader.h"

/* Gets each frame that was read: its valid records, decompressed, and its header with the number of their events. */
typedef struct vs_frame_visitor {
  void *ctx;
  vs_status (*frame)(void *ctx, const vs_frame_header *header, const uint8_t *records, size_t size);
} vs_frame_visitor;

VS_MUST_CHECK vs_status vs_trace_read_frames(const vs_host *host, vs_input *input,
                                             const vs_trace_inflate *inflate, const vs_trace_visitor *visitor,
                                             const vs_frame_visitor *frames, vs_trace_report *report,
                                             vs_error *error);

#endif
