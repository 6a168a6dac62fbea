/* The snapshot that PyTorch would have written had the recorded program run as a replay runs it: under its settings, on its card,
 * with its edits. A part of replay.h; the run fills it event by event, and it ends where the run ends.
 *
 *   trace      what the allocator of the replay reports, in its order, with the addresses of the replay. An event has the time,
 *              the metadata and the category of the recorded event of its request, and the stack that PyTorch would give it: an
 *              allocation's own, a free's as recorded. Snapshots that the program took are in it, too. Annotations, and
 *              actions of an unknown name, are left out
 *   segments   those of the replay at its end, with all blocks
 *   settings   those of the replay, and the mark (whatif_mark.h)
 *   devices    the other GPUs of the file have an empty trace; pinned host memory has none
 *
 * A request that failed when it was recorded and succeeds now is an alloc and its free: what the program would have done with the
 * memory is unknown. If it fails again, its oom event requests the recorded size, which was rounded by the recorded settings. */
#ifndef VS_ANALYZE_REPLAY_SNAPSHOT_H
#define VS_ANALYZE_REPLAY_SNAPSHOT_H

#include "analyze/replay_course.h"
#include "analyze/whatif_mark.h"

/* Invariant: `snapshot` has strings, events, traces, segments, blocks and settings of its own, and shares its other tables with
 * the recorded snapshot, which must stay as it is. Ids of the recorded snapshot's strings mean the same in it. */
struct vs_replay_snapshot {
  vs_snapshot snapshot;
  vs_replay_names names;
  uint32_t now; /* event of the trace whose consequences are reported; VS_NO_EVENT: before the first */
  uint32_t
      completed_at; /* where the free that goes on was completed at once: the event that says so; else VS_NO_EVENT */
  uint32_t source; /* event of the trace whose time and metadata the last event has; it never falls */
  uint32_t next;   /* event of the trace: those before it have been passed */
  uint32_t small, large, states[3]; /* strings: types of segments; states by vs_alloc_block_state */
};

/* Before the run of a plan of that snapshot. After it, failed or not, deinit is due. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_replay_snapshot_init(vs_replay_snapshot *out, const vs_host *host,
                                                const vs_snapshot *recorded);
void vs_replay_snapshot_deinit(vs_replay_snapshot *it);

/* After the run, of those settings: the snapshot is complete then. `is_cut_off`: the recording lacks its oldest events.
 * Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_replay_snapshot_seal(vs_replay_snapshot *it, const vs_alloc_settings *settings,
                                                const vs_whatif_mark *mark, bool is_cut_off);

#endif
