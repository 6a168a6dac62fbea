#include "query/trace.h"
#include "query/rows.h"

bool vs_is_folded(const vs_slice *slice, uint32_t event) {
  const vs_events *events = &slice->snapshot->events;
  if (event == 0) return false;
  const uint32_t row = vs_slice_row(slice, event);
  return vs_events_kind(events, row) == VS_EVENT_FREE_COMPLETED &&
         vs_events_kind(events, row - 1) == VS_EVENT_FREE_REQUESTED &&
         vs_events_address(events, row) == vs_events_address(events, row - 1);
}

typedef struct matching {
  const vs_slice *slice;
  const vs_view *view;
  const vs_filter *filter;
  bool is_folded, has_names;
  vs_things allocations, segments; /* where there are names */
} matching;

bool vs_is_of_segment(vs_event_kind kind) {
  return kind >= VS_EVENT_SEGMENT_ALLOC && kind <= VS_EVENT_SEGMENT_UNMAP;
}

uint32_t vs_row_of_event_thing(const vs_view *view, uint32_t event) {
  const vs_slice *slice = view->slice;
  return vs_is_of_segment(vs_events_kind(&slice->snapshot->events, vs_slice_row(slice, event)))
             ? vs_view_mapping_of(view, event)
             : view->lifetimes.row_of_event.data[event];
}

/* The name of what an event is about, for the filter. */
static void add_name(const matching *m, uint32_t event, vs_filter_row *row) {
  const vs_slice *slice = m->slice;
  const uint32_t thing = vs_row_of_event_thing(m->view, event);
  if (thing == VS_NO_ROW) return;
  row->is_segment = vs_is_of_segment(vs_events_kind(&slice->snapshot->events, vs_slice_row(slice, event)));
  const vs_things *things = row->is_segment ? &m->segments : &m->allocations;
  row->thing_address = vs_thing_at(things, thing).address;
  row->version = vs_things_version(things, thing);
  row->has |= 1u << VS_FILTER_name;
}

static bool keeps(void *ctx, uint32_t event) {
  const matching *m = ctx;
  if (m->is_folded && vs_is_folded(m->slice, event)) return false;
  if (vs_filter_is_empty(m->filter)) return true;
  vs_filter_row row = vs_row_of_event(m->slice, event);
  if (m->has_names) add_name(m, event, &row);
  return vs_filter_keeps(m->filter, m->slice->snapshot, &row);
}

static vs_status want_names(vs_call *call, matching *m) {
  if (!vs_filter_asks(m->filter, VS_FILTER_name)) return VS_OK;
  VS_TRY(vs_things_init(call->engine, call->view, VS_DRAWN_allocations, &m->allocations));
  VS_TRY(vs_things_init(call->engine, call->view, VS_DRAWN_segments, &m->segments));
  VS_TRY(vs_things_want_names(call->engine, call->view, &m->allocations));
  m->has_names = true;
  return VS_OK;
}

vs_status vs_trace_matches(vs_call *call, const vs_matches **out) {
  const vs_slice *slice = call->view->slice;
  vs_engine *engine = call->engine;
  vs_filter *filter = &call->request->filter;
  const bool is_folded = call->request->folded;
  matching m = {.slice = slice, .view = call->view, .filter = filter, .is_folded = is_folded};
  vs_matches built;
  *out = NULL;
  VS_TRY(
      vs_filter_allow(filter, engine->snapshot, VS_EVENT_KEYS | 1u << VS_FILTER_name, "events", call->error));
  if (vs_filter_is_empty(filter) && !is_folded) return VS_OK;
  *out = vs_match_cache_find(&call->view->event_matches, filter, is_folded);
  if (*out != NULL) return VS_OK;
  VS_TRY(want_names(call, &m));
  VS_TRY(vs_filter_prepare(filter, engine->snapshot, &engine->frames));
  VS_TRY(vs_matches_build(engine->host, filter, is_folded, slice->event_count, keeps, &m, &built));
  *out = vs_match_cache_put(engine->host, &call->view->event_matches, &built);
  return VS_OK;
}

uint32_t vs_trace_count(const vs_slice *slice, const vs_matches *matches) {
  return matches == NULL ? slice->event_count : matches->kept;
}

uint32_t vs_trace_before(const vs_slice *slice, const vs_matches *matches, uint32_t event) {
  if (event > slice->event_count) event = slice->event_count;
  return matches == NULL ? event : vs_matches_before(matches, event);
}

uint32_t vs_trace_nth(const vs_slice *slice, const vs_matches *matches, uint32_t n) {
  if (n >= vs_trace_count(slice, matches)) return VS_NO_MATCH;
  return matches == NULL ? n : vs_matches_nth(matches, n);
}
