/* What a request about the picture is about: things, those that its filter keeps, their spans and groups. */
#ifndef VS_QUERY_SCENE_H
#define VS_QUERY_SCENE_H

#include "query/things.h"

/* Borrowed from call->view until another filter is asked for. `matches` is NULL where the filter keeps all. */
typedef struct vs_stage {
  vs_things things;
  const vs_matches *matches;
} vs_stage;

/* Of call->request: "what" and "filter". */
VS_MUST_CHECK vs_status vs_stage_build(vs_call *call, vs_stage *out);
VS_MUST_CHECK vs_status vs_stage_spans(vs_call *call, const vs_stage *stage, const vs_spans **out);
VS_MUST_CHECK vs_status vs_stage_levels(vs_call *call, const vs_stage *stage, const vs_levels **out);
/* Not for VS_COLOUR_ALLOCATION. */
VS_MUST_CHECK vs_status vs_stage_colours(vs_call *call, const vs_stage *stage, vs_group_by by,
                                         const vs_colours **out);

#endif
