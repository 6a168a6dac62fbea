#include "query/things.h"
#include "query/reply.h"
#include "query/rows.h"

const char *vs_things_name(vs_drawn drawn) { return drawn == VS_DRAWN_segments ? "segments" : "allocations"; }

vs_status vs_things_init(vs_engine *engine, vs_view *view, vs_drawn drawn, vs_things *out) {
  const vs_past *past;
  *out = (vs_things){.drawn = drawn, .slice = view->slice};
  VS_TRY(vs_view_past(engine, view, &past));
  VS_TRY(vs_view_segments(engine, view, &out->segments));
  out->lifetimes = past->lifetimes;
  out->mappings = &past->mappings;
  out->count =
      (uint32_t)(drawn == VS_DRAWN_segments ? past->mappings.rows.count : past->lifetimes->rows.count);
  return VS_OK;
}

vs_status vs_things_want_names(vs_engine *engine, vs_view *view, vs_things *things) {
  return things->drawn == VS_DRAWN_segments ? VS_OK : vs_view_names(engine, view, &things->names);
}

uint32_t vs_things_version(const vs_things *things, uint32_t row) {
  if (things->drawn == VS_DRAWN_segments) return things->mappings->rows.data[row].version;
  return things->names->versions.data[row];
}

static vs_thing mapping_at(const vs_things *things, uint32_t row) {
  const vs_mapping *mapping = &things->mappings->rows.data[row];
  return (vs_thing){
      .address = mapping->address,
      .size = mapping->size,
      .row = row,
      .start = mapping->start,
      .free_requested = VS_NO_EVENT,
      .end = mapping->end,
      .stack = vs_mapping_stack(things->mappings, mapping),
      .stream = mapping->stream,
      .pool = mapping->pool,
      .category = VS_STRING_NONE,
  };
}

vs_thing vs_thing_at(const vs_things *things, uint32_t row) {
  if (things->drawn == VS_DRAWN_segments) return mapping_at(things, row);
  const vs_lifetime *life = &things->lifetimes->rows.data[row];
  const vs_slice *slice = things->slice;
  const uint32_t event = vs_lifetime_event(life);
  return (vs_thing){
      .address = life->address,
      .size = life->size,
      .row = row,
      .start = life->start,
      .free_requested = life->free_requested,
      .end = life->end,
      .stack = vs_lifetime_stack(things->lifetimes, life),
      .stream = vs_lifetime_stream(things->lifetimes, life),
      .pool = things->without_pools ? 0 : vs_lifetime_pool(things->lifetimes, things->segments, life),
      .category = event == VS_NO_EVENT
                      ? VS_STRING_NONE
                      : vs_events_category(&slice->snapshot->events, vs_slice_row(slice, event)),
  };
}

vs_keyed vs_thing_keyed(const vs_thing *thing) {
  return (vs_keyed){.size = thing->size,
                    .start = thing->start,
                    .end = thing->end,
                    .stack = thing->stack,
                    .stream = thing->stream,
                    .pool = thing->pool};
}

bool vs_thing_is_live(const vs_thing *thing, vs_moment moment) {
  return (thing->start == VS_NO_EVENT || (vs_moment)thing->start <= moment) &&
         (thing->end == VS_NO_EVENT || (vs_moment)thing->end > moment);
}

uint64_t vs_thing_moments(const vs_slice *slice, const vs_thing *thing) {
  const uint64_t from = thing->start == VS_NO_EVENT ? 0 : (uint64_t)thing->start + 1;
  const uint64_t until = (thing->end == VS_NO_EVENT ? slice->event_count : (uint64_t)thing->end) + 1;
  return until > from ? until - from
                      : 0; /* an implied allocation can end before the first event is over: until = 1 */
}

/* ---- filters --------------------------------------------------------------------------------------------------- */

static void describe_time(const vs_things *things, const vs_thing *thing, const vs_named_ranges *ranges,
                          vs_filter_row *row) {
  const vs_slice *slice = things->slice;
  if (thing->start == VS_NO_EVENT) return;
  row->event = thing->start;
  row->has |= 1u << VS_FILTER_event;
  const int64_t from = vs_slice_time(slice, thing->start);
  const uint32_t range = ranges == NULL ? VS_STRING_NONE : vs_named_ranges_at(ranges, from);
  if (range != VS_STRING_NONE) {
    row->annotation = vs_snapshot_string(slice->snapshot, range);
    row->has |= 1u << VS_FILTER_annotation;
  }
  const int64_t to = thing->end == VS_NO_EVENT ? VS_NO_TIME : vs_slice_time(slice, thing->end);
  if (from == VS_NO_TIME || to == VS_NO_TIME) return;
  row->lifetime_us = to > from ? (uint64_t)to - (uint64_t)from : 0;
  row->has |= 1u << VS_FILTER_lifetime;
}

vs_filter_row vs_row_of_thing(const vs_things *things, const vs_thing *thing, const vs_named_ranges *ranges) {
  const vs_snapshot *s = things->slice->snapshot;
  vs_filter_row row = {
      .size = thing->size,
      .address = thing->address,
      .stream = thing->stream,
      .pool = thing->pool,
      .stack = thing->stack,
      .number = thing->row,
      .is_segment = things->drawn == VS_DRAWN_segments,
      .thing_address = thing->address,
      .has = 1u << VS_FILTER_size | 1u << VS_FILTER_address | 1u << VS_FILTER_pool | 1u << VS_FILTER_row,
  };
  if (row.is_segment || things->names != NULL) {
    row.version = vs_things_version(things, thing->row);
    row.has |= 1u << VS_FILTER_name;
  }
  if (thing->stream < s->streams.count) row.has |= 1u << VS_FILTER_stream;
  if (thing->category != VS_STRING_NONE) {
    row.category = vs_snapshot_string(s, thing->category);
    row.has |= 1u << VS_FILTER_category;
  }
  describe_time(things, thing, ranges, &row);
  return row;
}

vs_status vs_ranges_for(vs_call *call, const vs_filter *filter, const vs_named_ranges **out) {
  *out = NULL;
  return vs_filter_asks(filter, VS_FILTER_annotation) ? vs_view_ranges(call->engine, call->view, out) : VS_OK;
}

typedef struct matching {
  const vs_things *things;
  const vs_filter *filter;
  const vs_named_ranges *ranges;
} matching;

static bool keeps(void *ctx, uint32_t row) {
  const matching *m = ctx;
  const vs_thing thing = vs_thing_at(m->things, row);
  const vs_filter_row described = vs_row_of_thing(m->things, &thing, m->ranges);
  return vs_filter_keeps(m->filter, m->things->slice->snapshot, &described);
}

vs_status vs_things_matches(vs_call *call, const vs_things *things, vs_filter *filter,
                            const vs_matches **out) {
  vs_engine *engine = call->engine;
  vs_match_cache *cache = &call->view->thing_matches[things->drawn];
  const bool is_segments = things->drawn == VS_DRAWN_segments;
  vs_things asked = *things;
  matching m = {.things = &asked, .filter = filter};
  vs_matches built;
  *out = NULL;
  VS_TRY(vs_filter_allow(filter, engine->snapshot, is_segments ? VS_SEGMENT_THING_KEYS : VS_ALLOCATION_KEYS,
                         vs_things_name(things->drawn), call->error));
  if (vs_filter_is_empty(filter)) return VS_OK;
  *out = vs_match_cache_find(cache, filter, false);
  if (*out != NULL) return VS_OK;
  asked.without_pools = !vs_filter_asks(filter, VS_FILTER_pool);
  if (vs_filter_asks(filter, VS_FILTER_name)) VS_TRY(vs_things_want_names(engine, call->view, &asked));
  VS_TRY(vs_ranges_for(call, filter, &m.ranges));
  VS_TRY(vs_filter_prepare(filter, engine->snapshot, &engine->frames));
  VS_TRY(vs_matches_build(engine->host, filter, false, things->count, keeps, &m, &built));
  *out = vs_match_cache_put(engine->host, cache, &built);
  return VS_OK;
}

/* ---- replies --------------------------------------------------------------------------------------------------- */

void vs_reply_drawn(const vs_call *call, vs_drawn drawn) {
  vs_jsonw_member_str(call->json, "what", vs_str_from(vs_things_name(drawn)));
}

vs_status vs_reply_thing_name(vs_call *call, const vs_things *things, const vs_thing *thing) {
  vs_things named = *things;
  VS_TRY(vs_things_want_names(call->engine, call->view, &named));
  vs_text_format(&call->scratch, "%c%x_%u", things->drawn == VS_DRAWN_segments ? 's' : 'b', thing->address,
                 vs_things_version(&named, thing->row));
  vs_reply_scratch(call, "name");
  return VS_OK;
}

static int64_t time_of(const vs_things *things, uint32_t event) {
  return event == VS_NO_EVENT ? VS_NO_TIME : vs_slice_time(things->slice, event);
}

vs_status vs_reply_thing(vs_call *call, const vs_things *things, const vs_thing *thing) {
  vs_jsonw_member_u64(call->json, "row", thing->row);
  VS_TRY(vs_reply_thing_name(call, things, thing));
  vs_jsonw_member_u64(call->json, "size_bytes", thing->size);
  vs_reply_owner(call, thing->stack, thing->start == VS_NO_EVENT);
  vs_reply_event(call->json, "start_event", thing->start);
  vs_reply_time(call->json, "start_us", time_of(things, thing->start));
  vs_reply_event(call->json, "end_event", thing->end);
  vs_reply_time(call->json, "end_us", time_of(things, thing->end));
  return VS_OK;
}
