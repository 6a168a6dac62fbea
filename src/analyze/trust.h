/* Whether a device's figures are reliable: each doubt of findings.def, how often it occurs, and its first event.
 *
 * The trace is checked in two ways. Matching allocations with frees (lifetimes.h) finds missing and doubled entries.
 * Following address ranges forwards (address_check.h), from the state before the first event that the backward replay
 * gives, finds blocks that overlap or are outside of all mapped ranges. Where the trace has no segment events at all,
 * the mapped ranges are unknown, and blocks are not compared with them.
 *
 * Overlaps are found between neighbours by address: the first one is exact; where many blocks overlap at one place,
 * not all further ones are counted. */
#ifndef VS_ANALYZE_TRUST_H
#define VS_ANALYZE_TRUST_H

#include "analyze/address_check.h"
#include "analyze/curve.h"

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

/* Whether events are missing somewhere between the first and the last one. */
static inline bool vs_finding_is_loss(vs_finding_kind kind) {
  return kind == VS_FINDING_DAMAGED_FILE || kind == VS_FINDING_UNRECORDED_EVENTS ||
         kind == VS_FINDING_STOPPED;
}

/* Whether missing events can be the reason of a contradiction. */
static inline bool vs_finding_is_explained(vs_finding_kind kind) {
  return kind >= VS_FINDING_ALLOC_NOT_AT_END && kind <= VS_FINDING_NEGATIVE_CURVE;
}

typedef struct vs_trust {
  vs_tally findings[VS_FINDING_KINDS]; /* by kind; count 0: no such doubt */
  bool is_complete;                    /* no gap and no contradiction: every figure of the device is exact */
} vs_trust;

/* Whether the trace has every event behind a moment, without a contradiction: what was allocated since is known then, whatever was
 * allocated before. */
bool vs_trust_is_complete_since(const vs_trust *trust, vs_moment since);

/* `addresses` is of the same slice (vs_allocated_measure). */
VS_MUST_CHECK vs_status vs_trust_build(const vs_host *host, const vs_lifetimes *lifetimes,
                                       const vs_curves *curves, const vs_address_check *addresses,
                                       vs_trust *out);

/* Adds what a recording lost to allocator_settings, for an export of it: the entry "vramscope_losses", a dict of finding names and
 * counts, in which vs_trust_build finds the losses again. Adds nothing to what lost nothing. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_losses_mark_add(vs_snapshot *snapshot);

#endif
