/* All parts of the short answer about a device: its memory at the end, the owners at the peak, fragmentation,
 * growth, failed requests, and doubts about the figures. */
#ifndef VS_ANALYZE_REPORT_H
#define VS_ANALYZE_REPORT_H

#include "analyze/allocated.h"
#include "analyze/churn.h"
#include "analyze/curve.h"
#include "analyze/end_state.h"
#include "analyze/fragmentation.h"
#include "analyze/groups.h"
#include "analyze/growth.h"
#include "analyze/ooms.h"
#include "analyze/trust.h"

enum { VS_REPORT_MOST_PINNED = 10 };

/* Refers to its slice and snapshot, and to itself, so it must not be moved. Its parts may be used for further questions
 * (lifetimes for another moment, frames for names). */
typedef struct vs_report {
  const vs_slice *slice;
  vs_end_state end;
  vs_curves curves;
  vs_allocated allocated;     /* not exact, too, where the trace contradicts itself or has lost events */
  vs_lifetimes own_lifetimes; /* empty where they are borrowed */
  const vs_lifetimes *lifetimes;
  vs_frames frames;
  vs_moment peak_moment; /* = curves.curve[VS_CURVE_REQUESTED].peak_at */
  int64_t peak_time_us;  /* VS_NO_TIME where absent */
  vs_liveset peak_set;   /* alive at that moment */
  vs_owners peak_owners;
  vs_groups peak_by_metadata;
  vs_fragmentation fragmentation; /* at the end */
  vs_churn churn;
  vs_steps steps;
  vs_growths growths;
  vs_ooms ooms;
  vs_trust trust;
} vs_report;

/* On failure nothing is left to free. */
VS_MUST_CHECK vs_status vs_report_build(const vs_host *host, const vs_slice *slice, vs_report *out);
/* The same with an index, which needs no spans, and curves that the caller already has; the report borrows its lifetimes. */
VS_MUST_CHECK vs_status vs_report_build_with(const vs_host *host, const vs_moment_index *moments,
                                             const vs_curves *curves, vs_report *out);
void vs_report_deinit(const vs_host *host, vs_report *report);

#endif
