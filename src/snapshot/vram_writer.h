/* Writes a snapshot as a recording (.vram), and says a moment of a live process in the same words.
 *
 * Everything that a snapshot knows comes back from vs_snapshot_read, but for what docs/formats/vram.md
 * lists. */
#ifndef VS_SNAPSHOT_VRAM_WRITER_H
#define VS_SNAPSHOT_VRAM_WRITER_H

#include "snapshot/model.h"

/* In frames of about 64 KiB; besides one of them this takes what the dictionaries take. Fails: VS_NO_MEMORY,
 * VS_LIMIT (a string of 32 MiB), and what the writer fails with. */
VS_MUST_CHECK vs_status vs_snapshot_write_vram(const vs_snapshot *snapshot, const vs_writer *to);

#endif
