/* How long allocations live and how much passes through the cache. Of the allocations whose beginning is in the trace. */
#ifndef VS_ANALYZE_CHURN_H
#define VS_ANALYZE_CHURN_H

#include "analyze/lifetimes.h"

enum { VS_POWERS = 64 };

typedef struct vs_churn {
  uint64_t count, bytes;             /* allocations in the trace, bytes requested by them in all */
  uint64_t ended_count, ended_bytes; /* of these, those that also end in it */
  uint64_t short_count, short_bytes; /* of the ended, those that live for fewer than VS_SHORT_LIFE events */
  uint64_t by_events[VS_POWERS];     /* ended ones: [n] lived for 2^n up to below 2^(n+1) events */
  uint64_t by_us[VS_POWERS];         /* ended ones with both times: [n] likewise in us; [0] is also 0 us */
  uint64_t by_size[VS_POWERS];       /* all of them: [n] asked for 2^n up to below 2^(n+1); [0] is also 0 */
  uint64_t bytes_by_size[VS_POWERS];
} vs_churn;

enum { VS_SHORT_LIFE = 64 };

void vs_churn_measure(const vs_lifetimes *lifetimes, vs_churn *out);

#endif
