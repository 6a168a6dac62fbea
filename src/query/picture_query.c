#include "query/picture_query.h"

vs_status vs_picture_query_build(vs_call *call, vs_picture_query *out) {
  *out = (vs_picture_query){0};
  VS_TRY(vs_items_init(call->engine->host, call->device, call->request->drawn, &out->items));
  return vs_items_bitmap(call, &out->items, &call->request->filter, &out->bitmap);
}

static vs_str filter_of(const vs_picture_query *query) {
  return query->bitmap == NULL ? VS_STR("")
                               : (vs_str){query->bitmap->filter.data, query->bitmap->filter.count};
}

/* The cache entry of the query: the one for all rows, or the one for a filter, which is cleared if it is of another
 * filter. */
static vs_span_cache *choose_spans(vs_call *call, const vs_picture_query *query) {
  const vs_host *host = call->engine->host;
  const vs_drawn drawn = query->items.drawn;
  if (query->bitmap == NULL) return &call->device->unfiltered[drawn];
  vs_span_cache *cached = &call->device->filtered[drawn];
  if (!vs_str_equal((vs_str){cached->filter.data, cached->filter.count}, filter_of(query)))
    vs_span_cache_deinit(host, cached);
  return cached;
}

static vs_status build_spans(vs_call *call, const vs_picture_query *query, vs_span_cache *cached) {
  const vs_host *host = call->engine->host;
  const vs_items *items = &query->items;
  const vs_str filter = filter_of(query);
  if (items->drawn == VS_DRAWN_allocations && query->bitmap == NULL) {
    cached->spans = &call->device->moments.spans;
    cached->has_spans = true;
    return VS_OK;
  }
  VS_TRY(vs_vec_reserve(host, &cached->filter, filter.size));
  if (filter.size != 0) memcpy(cached->filter.data, filter.data, filter.size);
  cached->filter.count = filter.size;
  const uint64_t *kept = query->bitmap == NULL ? NULL : query->bitmap->bits.data;
  if (items->drawn == VS_DRAWN_segments)
    VS_TRY(vs_spans_of_mappings(host, items->mappings, kept, &cached->own));
  else VS_TRY(vs_spans_of_lifetimes(host, items->lifetimes, kept, &cached->own));
  cached->spans = &cached->own;
  cached->has_spans = true;
  return VS_OK;
}

vs_status vs_picture_query_spans(vs_call *call, const vs_picture_query *query, const vs_spans **out) {
  vs_span_cache *cached = choose_spans(call, query);
  VS_ASSERT(query->bitmap == NULL || query->bitmap->size == query->items.count);
  if (!cached->has_spans) VS_TRY(build_spans(call, query, cached));
  *out = cached->spans;
  VS_ASSERT(*out == &cached->own || *out == &call->device->moments.spans);
  return VS_OK;
}

vs_status vs_picture_query_curve(vs_call *call, const vs_picture_query *query, const vs_curve_index **out) {
  const vs_spans *spans;
  VS_TRY(vs_picture_query_spans(call, query, &spans));
  vs_span_cache *cached = choose_spans(call, query);
  if (!cached->has_curve_index) VS_TRY(vs_curve_index_of_spans(call->engine->host, spans, &cached->curve));
  cached->has_curve_index = true;
  *out = &cached->curve;
  VS_ASSERT(cached->has_spans && cached->curve.spans == spans);
  return VS_OK;
}
