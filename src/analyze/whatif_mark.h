/* The mark of a snapshot that a replay made: the entry "vramscope_whatif" of allocator_settings, a dict. PyTorch's tools show the
 * entry with the other settings, and ignore it otherwise. */
#ifndef VS_ANALYZE_WHATIF_MARK_H
#define VS_ANALYZE_WHATIF_MARK_H

#include "snapshot/model.h"

typedef struct vs_whatif_mark {
  bool is_there;           /* else the snapshot is a recording, and the rest has no meaning */
  bool is_estimate;        /* the replay does not reproduce the recording, or that lacks events */
  bool ran_out;            /* it ends where a request failed that succeeded when it was recorded */
  uint64_t capacity_bytes; /* that the allocator could reserve; 0: unlimited */
  uint64_t edited;         /* allocations that the edits name; 0: none */
} vs_whatif_mark;

vs_whatif_mark vs_whatif_mark_of(const vs_snapshot *snapshot);

/* Adds the mark to allocator_settings. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_whatif_mark_add(vs_snapshot *snapshot, const vs_whatif_mark *mark);

#endif
