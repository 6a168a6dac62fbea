/* Computes the segments and blocks at the end of a recording that does not contain them, because the process was
 * killed: from the last complete state of the recording, or none, and the events after it.
 *
 * Events have addresses and requested bytes. The size of a block is its rounded bytes if the recording has them,
 * else it follows PyTorch's default rules: a multiple of 512, and all of the free block that it is cut from if too
 * little would remain (less than 512 bytes in a small segment, at most 1 MiB in a large one). */
#ifndef VS_SNAPSHOT_VRAM_STATE_H
#define VS_SNAPSHOT_VRAM_STATE_H

#include "snapshot/model.h"

/* The rows of the event table that happened after the state that the snapshot has: `first` and up. All devices of rows and
 * segments are below `device_count`. */
typedef struct vs_vram_rows {
  uint32_t first;
  const uint64_t *rounded; /* by row: the bytes of its block; 0: unknown */
  const int32_t *devices;  /* by row */
  uint32_t device_count;
  bool frees_at_request; /* completions were not recorded: a block is free once that was requested */
} vs_vram_rows;

/* Segments and blocks are replaced. */
VS_MUST_CHECK vs_status vs_vram_rebuild(vs_snapshot *s, const vs_vram_rows *rows);

#endif
