/* The clock of a trace: an index of times, 8 bytes for VS_TIMES_BLOCK events.
 *
 * This clock never goes back: an event without a time, or with a time before that of its predecessor, has the time
 * of its predecessor. The start, and the events before the first one with a time, have the first time. */
#ifndef VS_ANALYZE_TIMES_H
#define VS_ANALYZE_TIMES_H

#include "analyze/slice.h"

enum { VS_TIMES_BLOCK = VS_HOSTILE ? 8 : 256 };

/* Invariant: block_us[b] is the clock after event b * VS_TIMES_BLOCK (so it never falls). */
typedef struct vs_times {
  const vs_slice *slice;
  int64_t first_us, last_us; /* both VS_NO_TIME where no event has a time */
  VS_VEC(int64_t) block_us;
} vs_times;

VS_MUST_CHECK vs_status vs_times_build(const vs_host *host, const vs_slice *slice, vs_times *out);
void vs_times_deinit(const vs_host *host, vs_times *times);

/* The clock at a moment; first_us at the start. */
int64_t vs_times_at(const vs_times *times, vs_moment moment);

/* The first moment at or after a time by that clock; event_count (no moment) if all are before it. */
vs_moment vs_times_first(const vs_times *times, int64_t time_us);

#endif
