/* An Arrow IPC file in memory (arrow_writer.h) as a stream of Arrow's C data interface, without a copy: the arrays point into the file's bytes.
 *
 * The structs are those of the published interface (arrow.apache.org/docs/format/CDataInterface.html, CStreamInterface.html): a consumer gets
 * them from us, moves them by copying, and calls `release` once. Each part that a consumer may keep for itself, a child too, keeps the bytes.
 *
 * Threads: what was exported may be used and released in any thread, one at a time. */
#ifndef VS_CODEC_ARROW_C_H
#define VS_CODEC_ARROW_C_H

#include "base/text.h"

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
enum { ARROW_FLAG_NULLABLE = 2 };

struct ArrowSchema {
  const char *format, *name, *metadata;
  int64_t flags, n_children;
  struct ArrowSchema **children, *dictionary;
  void (*release)(struct ArrowSchema *schema);
  void *private_data;
};

struct ArrowArray {
  int64_t length, null_count, offset, n_buffers, n_children;
  const void **buffers;
  struct ArrowArray **children, *dictionary;
  void (*release)(struct ArrowArray *array);
  void *private_data;
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *stream, struct ArrowSchema *out);
  int (*get_next)(struct ArrowArrayStream *stream, struct ArrowArray *out);
  const char *(*get_last_error)(struct ArrowArrayStream *stream);
  void (*release)(struct ArrowArrayStream *stream);
  void *private_data;
};
#endif

/* The bytes, and who keeps them: `drop` is called once, in whatever thread released the last part. */
typedef struct vs_arrow_bytes {
  vs_str file; /* its data is aligned to 8 bytes */
  void *owner;
  void (*drop)(void *owner);
} vs_arrow_bytes;

/* Exports the rows, batch by batch. `bytes.drop` is called when the stream and all that came from it are released, or before a failure returns.
 * Fails: VS_BAD_FORMAT  the bytes are no file of arrow_writer.h; VS_NO_MEMORY. Without a failure the caller releases *stream */
VS_MUST_CHECK vs_status vs_arrow_stream(const vs_host *host, const vs_arrow_bytes *bytes,
                                        struct ArrowArrayStream *stream);

#endif
