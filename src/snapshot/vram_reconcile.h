/* What happened while a recorder lost events, derived from the state of the memory before and after: blocks that are gone were
 * freed, blocks that are new were allocated, and segments likewise. Of memory that was allocated and freed in between
 * nothing is left to derive.
 *
 * Blocks and segments are those of a state, in any order; they may come from a hostile file. */
#ifndef VS_SNAPSHOT_VRAM_RECONCILE_H
#define VS_SNAPSHOT_VRAM_RECONCILE_H

#include "snapshot/model.h"

typedef struct vs_vram_memory {
  const vs_segment *segments;
  size_t segment_count;
  const vs_block *blocks; /* segment i owns blocks [first_block, first_block + block_count) */
  size_t block_count;
} vs_vram_memory;

/* An event that makes up for lost ones. */
typedef struct vs_vram_change {
  vs_event_kind kind;
  int32_t device;
  uint64_t address, size; /* as in an event: requested bytes of a block */
  uint64_t rounded;       /* of a block */
  uint32_t stream, pool;  /* as in vs_segment */
  uint32_t stack, forward_frames;
} vs_vram_change;

/* Gets the changes in an order in which they could have happened: first what was freed, then what was allocated. */
typedef struct vs_vram_changes {
  void *ctx;
  vs_status (*change)(void *ctx, const vs_vram_change *change);
} vs_vram_changes;

/* Fails: VS_NO_MEMORY, and as `out` does */
VS_MUST_CHECK vs_status vs_vram_reconcile(const vs_host *host, const vs_vram_memory *before,
                                          const vs_vram_memory *after, const vs_vram_changes *out);

#endif
