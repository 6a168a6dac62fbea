/* Writes a snapshot as a pickle, or as JSON of the same shape, for PyTorch's tools and vramscope.
 *
 * The shape is always the newest, also for a snapshot of an old version: a dict with "segments" and "device_traces", a
 * trace for every device, address, requested size and frames on every block. An absent key stays absent if the newest
 * shape does not require it; docs/formats/snapshot.md lists the keys that are filled in. Data of 2.3 and newer is equal
 * after Python's pickle.load.
 *
 * Pickles have protocol 4 and only opcodes that PyTorch's own page supports; each name, frame and stack is in them
 * once. */
#ifndef VS_SNAPSHOT_WRITER_H
#define VS_SNAPSHOT_WRITER_H

#include "snapshot/model.h"

/* Writes all of `snapshot`, whose invariants must hold, in pieces of about 64 KiB. It needs memory from the snapshot's
 * host for one piece and, for a pickle, four bytes for each string, frame and stack.
 *
 * Fails: VS_NO_MEMORY, VS_LIMIT (a string of 4 GiB), and the failures of the writer; the caller then discards what was
 *        written. `error` may be NULL. */
VS_MUST_CHECK vs_status vs_snapshot_write(const vs_snapshot *snapshot, vs_file_format format,
                                          const vs_writer *to, vs_error *error);

#endif
