/* Reads a recording (.vram) into the columns of a snapshot.
 *
 * Events of all devices stand in one order in the file; here each device has its trace. The end state is the
 * last whole one of the file with what the events behind it changed (vram_state.h). Frames that only say
 * where they were in a library are named by `name`, if there is one, else "libfoo.so+0x12ab". */
#ifndef VS_SNAPSHOT_VRAM_READER_H
#define VS_SNAPSHOT_VRAM_READER_H

#include "codec/input.h"
#include "snapshot/reader.h"

/* Memory for reading a recording: VS_READ_BASE_BYTES + VS_READ_VRAM_FACTOR x the bytes read. An event of
 * three bytes becomes a row or two of about forty. */
enum { VS_READ_VRAM_FACTOR = 256 };

/* `s` is new and empty; it is filled, whether this succeeds or not. */
VS_MUST_CHECK vs_status vs_vram_read(vs_snapshot *s, vs_input *input, const vs_read_options *options,
                                     vs_error *error);

#endif
