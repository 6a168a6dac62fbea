/* The sentences about how complete a recording is (analyze/trust.h). */
#ifndef VS_QUERY_TRUST_LINES_H
#define VS_QUERY_TRUST_LINES_H

#include "query/lines.h"
#include "query/told.h"

/* The line "recording", with the finding that matters most, and one detail line for each finding. */
void vs_say_trust(vs_lines *lines, const vs_told *told);

/* A finding in one sentence, without a full stop: of a loss how many events are missing, and from when on. */
void vs_finding_put(vs_text *text, const vs_told *told, vs_finding_kind kind);

#endif
