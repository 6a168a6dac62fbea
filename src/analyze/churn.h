/* How long allocations live, and how many bytes are allocated in all; only of allocations whose alloc is in the
 * trace. */
#ifndef VS_ANALYZE_CHURN_H
#define VS_ANALYZE_CHURN_H

#include "analyze/lifetimes.h"

enum { VS_POWERS = 64 };

typedef struct vs_churn {
  uint64_t count, bytes;             /* allocations, and the bytes that they request in all */
  uint64_t ended_count, ended_bytes; /* of these, the ones that also end in the trace */
  uint64_t short_count, short_bytes; /* of those, the ones that live for fewer than VS_SHORT_LIFE events */
  uint64_t by_events[VS_POWERS];     /* ended ones: [n] lived for 2^n up to below 2^(n+1) events */
  uint64_t by_us[VS_POWERS];         /* ended ones with both times: [n] likewise in us; [0] is also 0 us */
  uint64_t by_size[VS_POWERS];       /* all of them: [n] requests of 2^n up to below 2^(n+1); [0] is also 0 */
  uint64_t bytes_by_size[VS_POWERS];
} vs_churn;

enum { VS_SHORT_LIFE = 64 };

void vs_churn_measure(const vs_lifetimes *lifetimes, vs_churn *out);

#endif
