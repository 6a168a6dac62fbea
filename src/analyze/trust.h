/* Whether a device's figures can be believed: each doubt of findings.def, how often, and where it first shows.
 *
 * Two looks at the trace. Matching allocations with frees (lifetimes.h) finds what is missing or doubled. Watching
 * address ranges forwards, with what was there before the first event taken from the backward replay, finds blocks that
 * overlap or lie where nothing was mapped. Where the trace has no segment events at all, nobody knows what was mapped,
 * and blocks are not held against it.
 *
 * An overlap is found at the latest neighbours by address: the first one is exact, where many blocks lie on top of one
 * another not every further one is counted. */
#ifndef VS_ANALYZE_TRUST_H
#define VS_ANALYZE_TRUST_H

#include "analyze/curve.h"
#include "analyze/lifetimes.h"

typedef enum vs_finding_kind {
#define VS_FINDING(name, kind, severity, noun, sentence) VS_FINDING_##name,
#include "analyze/findings.def"
#undef VS_FINDING
} vs_finding_kind;

enum {
  VS_FINDING_KINDS = 0
#define VS_FINDING(name, kind, severity, noun, sentence) +1
#include "analyze/findings.def"
#undef VS_FINDING
};

typedef enum vs_severity { VS_SEVERITY_CONTRADICTION, VS_SEVERITY_GAP, VS_SEVERITY_NOTE } vs_severity;

const char *vs_finding_name(vs_finding_kind kind);     /* "ring_wrapped" */
const char *vs_finding_noun(vs_finding_kind kind);     /* what a tally counts: "block", "time" */
const char *vs_finding_sentence(vs_finding_kind kind); /* one sentence, no full stop */
vs_severity vs_finding_severity(vs_finding_kind kind);
const char *vs_severity_name(vs_severity severity); /* "contradiction", "gap", "note" */

typedef struct vs_trust {
  vs_tally findings[VS_FINDING_KINDS]; /* by kind; count 0: no such doubt */
  bool is_complete;                    /* no gap and no contradiction: every figure of the device is exact */
} vs_trust;

VS_MUST_CHECK vs_status vs_trust_build(const vs_host *host, const vs_lifetimes *lifetimes,
                                       const vs_curves *curves, vs_trust *out);

#endif
