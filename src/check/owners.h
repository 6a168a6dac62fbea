/* Which lines of the user a check is about: sums of the owners that match a pattern, and the places that a reply names. */
#ifndef VS_CHECK_OWNERS_H
#define VS_CHECK_OWNERS_H

#include "diff/side.h"

/* The bytes of the stacks that match: one of whose files, functions or lines ("model.py:31"), or its label, does. Saturating. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_owners_sum(const vs_host *host, const vs_side *side, vs_str pattern,
                                      uint64_t *bytes);

enum { VS_OWNERS_SHOWN = 5 };

/* Each writes the member "places" with at most VS_OWNERS_SHOWN owners, the largest first: those of which a diff's "after" has more than its
 * "before", those of the stacks that match, those that grow by the reports of the GPUs, or none. `side`: of the run. */
void vs_owners_put_more(vs_jsonw *w, const vs_side *side, vs_json diff);
void vs_owners_put_matching(vs_jsonw *w, const vs_host *host, const vs_side *side, vs_str pattern);
void vs_owners_put_growing(vs_jsonw *w, vs_json devices);
void vs_owners_put_none(vs_jsonw *w);

#endif
