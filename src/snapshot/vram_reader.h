/* Reads a recording (.vram) into the columns of a snapshot.
 *
 * The file has the events of all devices in one order; a snapshot has a trace for each device. The end state is the
 * last complete one of the file, changed by the events after it (vram_state.h). Frames that are only an offset in a
 * library are named by options->name if there is one, else "libfoo.so+0x12ab". */
#ifndef VS_SNAPSHOT_VRAM_READER_H
#define VS_SNAPSHOT_VRAM_READER_H

#include "codec/input.h"
#include "snapshot/reader.h"

/* Memory for reading a recording: VS_READ_BASE_BYTES + VS_READ_VRAM_FACTOR x the bytes read. An event of three bytes
 * becomes one or two rows of about forty bytes. */
enum { VS_READ_VRAM_FACTOR = 256 };

/* `s` must be new and empty. After a failure it may be filled in part; the caller destroys it. */
VS_MUST_CHECK vs_status vs_vram_read(vs_snapshot *s, vs_input *input, const vs_read_options *options,
                                     vs_error *error);

#endif
