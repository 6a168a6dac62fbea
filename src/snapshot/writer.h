/* Writes a snapshot as PyTorch's tools and vramscope read it: a pickle, or JSON of the same shape.
 *
 * Always written in the newest shape, whatever the age of what was read: a dict with "segments" and "device_traces", a
 * trace for every device, address, requested size and frames on every block. A key that was absent stays absent where the
 * newest shape can do without it; docs/formats/snapshot.md lists what is filled in. Data of 2.3 and newer comes back equal
 * from Python's pickle.load.
 *
 * Pickles are of protocol 4 with the opcodes that PyTorch's own page knows; each name, frame and stack is in them once. */
#ifndef VS_SNAPSHOT_WRITER_H
#define VS_SNAPSHOT_WRITER_H

#include "snapshot/model.h"

/* Writes all of `snapshot`, whose invariants hold, in pieces of about 64 KiB. Besides one piece this takes, for a pickle,
 * four bytes for each string, frame and stack, from the snapshot's host.
 *
 * Fails: VS_NO_MEMORY, VS_LIMIT (a string of 4 GiB), and what the writer fails with: what was written is then to be thrown
 *        away. `error` may be NULL. */
VS_MUST_CHECK vs_status vs_snapshot_write(const vs_snapshot *snapshot, vs_file_format format,
                                          const vs_writer *to, vs_error *error);

#endif
