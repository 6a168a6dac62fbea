/* Reads a snapshot of any age from bytes: a pickle of any protocol and writer, or its JSON form, told by content.
 *
 * Bounds (docs/formats/snapshot.md): memory at most VS_READ_BASE_BYTES + VS_READ_FACTOR x the bytes read so far; devices
 * VS_MAX_DEVICES; events and blocks below 2^32; and those of codec/pickle.h and codec/json_reader.h. */
#ifndef VS_SNAPSHOT_READER_H
#define VS_SNAPSHOT_READER_H

#include "snapshot/model.h"

enum {
  VS_READ_BASE_BYTES = 128 * 1024 * 1024,
  VS_READ_FACTOR = 4,
  VS_READ_MAX_TRAILING = 16 * 1024 * 1024, /* behind the end marker */
};

typedef struct vs_read_options {
  bool (*progress)(void *ctx, uint64_t bytes_read); /* may be NULL; called per window; false cancels */
  void *progress_ctx;
} vs_read_options;

/* Reads `reader` to its end; what lies behind the end marker is counted, not read. `options` may be NULL; `error` (never NULL) tells what and where on failure.
 * Owner: the caller, vs_snapshot_destroy. */
VS_MUST_CHECK vs_status vs_snapshot_read(const vs_host *host, vs_reader reader,
                                         const vs_read_options *options, vs_snapshot **out, vs_error *error);

#endif
