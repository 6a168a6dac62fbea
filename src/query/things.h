/* An allocation or a segment, whichever is asked for: what a picture draws, a list lists and a click picks. */
#ifndef VS_QUERY_THINGS_H
#define VS_QUERY_THINGS_H

#include "analyze/mappings.h"
#include "query/engine.h"

/* What a filter can ask of each: bits 1 << vs_filter_key. What is alive at a moment has a state, too. */
enum {
  VS_SEGMENT_THING_KEYS = 1 << VS_FILTER_size | 1 << VS_FILTER_stream | 1 << VS_FILTER_address |
                          1 << VS_FILTER_pool | 1 << VS_FILTER_event | 1 << VS_FILTER_stack |
                          1 << VS_FILTER_line | 1 << VS_FILTER_annotation | 1 << VS_FILTER_lifetime |
                          1 << VS_FILTER_row | 1 << VS_FILTER_name,
  VS_ALLOCATION_KEYS = VS_SEGMENT_THING_KEYS | 1 << VS_FILTER_category,
  VS_LIVE_KEYS = VS_ALLOCATION_KEYS | 1 << VS_FILTER_state,
};

/* Those of one view. */
typedef struct vs_things {
  vs_drawn drawn;
  uint32_t count; /* rows */
  const vs_slice *slice;
  const vs_lifetimes *lifetimes;
  const vs_mappings *mappings;
  const vs_segment_index *segments;
  const vs_names *names; /* NULL until vs_things_want_names */
  bool without_pools;    /* nobody asks: the pool of each shows as not known */
} vs_things;

VS_MUST_CHECK vs_status vs_things_init(vs_engine *engine, vs_view *view, vs_drawn drawn, vs_things *out);

VS_MUST_CHECK vs_status vs_things_want_names(vs_engine *engine, vs_view *view, vs_things *things);
/* The number in the name. Of an allocation only with names. */
uint32_t vs_things_version(const vs_things *things, uint32_t row);

/* "allocations", "segments". */
const char *vs_things_name(vs_drawn drawn);

typedef struct vs_thing {
  uint64_t address, size;
  uint32_t row;
  uint32_t start, free_requested, end; /* events, VS_NO_EVENT */
  uint32_t stack, stream, pool, category;
} vs_thing;

vs_thing vs_thing_at(const vs_things *things, uint32_t row);
vs_keyed vs_thing_keyed(const vs_thing *thing);
bool vs_thing_is_live(const vs_thing *thing, vs_moment moment);
/* Moments (the start is one) at which it is alive. */
uint64_t vs_thing_moments(const vs_slice *slice, const vs_thing *thing);

/* What a filter sees of it; its name only if that is known. `ranges` of vs_ranges_for. */
vs_filter_row vs_row_of_thing(const vs_things *things, const vs_thing *thing, const vs_named_ranges *ranges);
/* NULL where the filter does not ask for annotations. */
VS_MUST_CHECK vs_status vs_ranges_for(vs_call *call, const vs_filter *filter, const vs_named_ranges **out);

/* Those that a filter keeps; *out is NULL if it keeps all. */
VS_MUST_CHECK vs_status vs_things_matches(vs_call *call, const vs_things *things, vs_filter *filter,
                                          const vs_matches **out);

/* ---- replies: members of the open object */

/* "row", "name", "size_bytes", "label", "start_event", "start_us", "end_event", "end_us". */
VS_MUST_CHECK vs_status vs_reply_thing(vs_call *call, const vs_things *things, const vs_thing *thing);
/* "name", null where there is none. */
VS_MUST_CHECK vs_status vs_reply_thing_name(vs_call *call, const vs_things *things, const vs_thing *thing);
/* "what". */
void vs_reply_drawn(const vs_call *call, vs_drawn drawn);

#endif
