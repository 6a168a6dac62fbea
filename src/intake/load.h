/* Loads a user's file into an engine, for every face.
 *
 * vs_intake_load links no library: its caller supplies decompression and names. vs_engine_open (<vramscope/files.h>) loads
 * zlib while the program runs, vs_intake_open (linked/open.h) is for programs that link zlib and elfutils. */
#ifndef VS_INTAKE_LOAD_H
#define VS_INTAKE_LOAD_H

#include "intake/input_file.h"
#include <vramscope/query.h>

typedef struct vs_intake {
  vs_str name; /* replies quote it */
  vs_input_options input;
  /* vs_load_options.name: names places in programs and libraries. NULL: none is known. */
  size_t (*name_place)(void *ctx, vs_str path, vs_str build_id, uint64_t offset, vs_place_name *names);
  void *name_ctx;
  const vs_writer *tap; /* gets the decompressed bytes as they are read; NULL: none */
} vs_intake;

/* Replaces the file of `engine` by the content of `file`, which is read to its end and stays open.
 * Fails with what vs_engine_load and the reader of `file` fail with; `error` has the first cause. */
VS_MUST_CHECK vs_status vs_intake_load(const vs_intake *intake, vs_input_file *file, vs_engine *engine,
                                       vs_error *error);

#endif
