/* What segments and blocks there are at the end of a recording that does not say it, because the process was
 * killed: those of the last state that it does say, or none, and what happened from then on.
 *
 * Events say addresses and requested bytes. The size of a block follows from its rounded bytes where the
 * recording has them, else by PyTorch's default rules: a multiple of 512, and all of the free block that it
 * came from if too little would be left over (512 bytes in a small segment, 1 MiB in a large one). */
#ifndef VS_SNAPSHOT_VRAM_STATE_H
#define VS_SNAPSHOT_VRAM_STATE_H

#include "snapshot/model.h"

/* Rows `first` and up of the event table happened after the state that the snapshot has; `rounded` and
 * `devices` say of each row the bytes of its block (0: unknown) and its device. Segments and blocks are
 * replaced. */
VS_MUST_CHECK vs_status vs_vram_rebuild(vs_snapshot *s, uint32_t first, const uint64_t *rounded,
                                        const int32_t *devices);

#endif
