/* The sentences that need knowledge: what a figure means and what would help. They hold no numbers, so that every face can
 * show figures in its own way. One sentence, no full stop. */
#ifndef VS_QUERY_ADVICE_H
#define VS_QUERY_ADVICE_H

#include "analyze/report.h"

/* How to record more, as the end of a sentence. */
extern const char vs_advice_how_to_record[];

const char *vs_explain_fragmentation(const vs_holes *holes);
const char *vs_explain_growth(const vs_growth *growth, vs_steps_source source);
const char *vs_explain_oom(vs_oom_verdict verdict);

/* What would help against it, given the settings in the file; NULL where nothing can be said. */
const char *vs_advice_for_oom(const vs_snapshot *snapshot, vs_oom_verdict verdict);

#endif
