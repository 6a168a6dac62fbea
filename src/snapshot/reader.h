/* Reads a snapshot of any version from bytes: a pickle of any protocol and writer, its JSON form, a recording (.vram), or the
 * account of another program. The format is recognized by content.
 *
 * Bounds (docs/formats/snapshot.md): memory at most VS_READ_BASE_BYTES + VS_READ_FACTOR (for some formats a larger factor) x the
 * bytes read so far;
 * devices VS_MAX_DEVICES; events and blocks below 2^32; and those of codec/pickle.h and codec/json_reader.h. */
#ifndef VS_SNAPSHOT_READER_H
#define VS_SNAPSHOT_READER_H

#include "codec/input.h"
#include "snapshot/model.h"

enum {
  VS_READ_BASE_BYTES = 128 * 1024 * 1024,
  VS_READ_FACTOR = 4,
  VS_READ_ACCOUNT_FACTOR = 8,              /* of the account of another program */
  VS_READ_MAX_TRAILING = 16 * 1024 * 1024, /* bytes after the end marker */
};

/* The readers of other programs' accounts (snapshot/accounts.h). They are passed in, so that a program without them does not
 * contain them. */
typedef struct vs_account_readers {
  /* The format that a file with this beginning has, which is an account; VS_FORMAT_PICKLE for any other. */
  vs_file_format (*recognize)(vs_str head);
  vs_status (*read)(vs_input *input, vs_file_format format, vs_snapshot **out, vs_error *error);
} vs_account_readers;

/* Any of the members may be NULL. */
typedef struct vs_read_options {
  bool (*progress)(void *ctx, uint64_t bytes_read); /* called for each window of the input; false cancels */
  void *progress_ctx;
  /* Inflates a compacted frame of a recording (raw deflate): fills all of `to`, or VS_BAD_FORMAT. */
  vs_status (*inflate)(void *ctx, const void *from, size_t from_size, void *to, size_t to_size);
  void *inflate_ctx;
  /* Names the place at `offset` in a library, innermost first if calls were inlined. Returns the number of names, at
   * most VS_MOST_PLACE_NAMES; 0: unknown. `build_id` is the bytes of the library's note, or empty. The names are
   * borrowed until the next call. */
  size_t (*name)(void *ctx, vs_str path, vs_str build_id, uint64_t offset, vs_place_name *names);
  void *name_ctx;
  /* Reads a pickle opcode by opcode and every dict key by key, without what was learned from those before. The snapshot and the errors are
   * the same; tests compare both. */
  bool each_opcode;
  const vs_account_readers *accounts; /* NULL: only PyTorch's snapshots and recordings are read */
} vs_read_options;

/* Reads `reader` to its end; bytes after the end marker are only counted. `options` may be NULL; `error` (not NULL)
 * has the reason and the offset of a failure. Owner: the caller, vs_snapshot_destroy. */
VS_MUST_CHECK vs_status vs_snapshot_read(const vs_host *host, vs_reader reader,
                                         const vs_read_options *options, vs_snapshot **out, vs_error *error);

#endif
