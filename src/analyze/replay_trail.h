/* What a run that does not follow leaves for a picture of it: its reserved bytes over the recorded trace, and the segments and
 * blocks that there are when it ends. A part of replay.h. */
#ifndef VS_ANALYZE_REPLAY_TRAIL_H
#define VS_ANALYZE_REPLAY_TRAIL_H

#include "analyze/replay.h"

typedef struct vs_replay_level {
  uint32_t event;    /* of the recorded trace */
  uint64_t reserved; /* bytes after the requests of that event, until the next level */
} vs_replay_level;

/* Zeros, and `wants_state` as it is needed, before options->trail points at it; deinit is due also where the run failed.
 * Invariant: the events of the levels rise, and each level differs from the one before, the first from `start`. */
struct vs_replay_trail {
  uint64_t start; /* reserved bytes before the trace */
  VS_VEC(vs_replay_level) levels;
  bool wants_state;
  vs_state state; /* meaningful where wants_state and the run succeeded; its moment is the end of the run */
};

void vs_replay_trail_deinit(const vs_host *host, vs_replay_trail *trail);

/* The highest and the lowest reserved bytes of the moments first .. last, both included; first <= last. */
void vs_replay_trail_between(const vs_replay_trail *trail, vs_moment first, vs_moment last, uint64_t *high,
                             uint64_t *low);

/* Executes the invariant; NULL if it holds, else the sentence that does not. */
const char *vs_replay_trail_check(const vs_replay_trail *trail);

#endif
