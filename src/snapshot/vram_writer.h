/* Writes a snapshot as a recording (.vram).
 *
 * vs_snapshot_read gives an equal snapshot, except for the losses that docs/formats/vram.md lists. */
#ifndef VS_SNAPSHOT_VRAM_WRITER_H
#define VS_SNAPSHOT_VRAM_WRITER_H

#include "snapshot/model.h"

/* Writes frames of about 64 KiB. It needs memory for one frame and the dictionaries.
 * Fails: VS_NO_MEMORY, VS_LIMIT (a string of 32 MiB), and the failures of the writer. */
VS_MUST_CHECK vs_status vs_snapshot_write_vram(const vs_snapshot *snapshot, const vs_writer *to);

#endif
