#include "query/selection.h"
#include "base/sort.h"
#include "query/rows.h"

vs_str vs_selection_state(const vs_selection *selection, const vs_lifetime *row) {
  const bool is_pending = vs_lifetime_is_pending(selection->lifetimes, row, selection->set.moment);
  return is_pending ? VS_STR("active_pending_free") : VS_STR("active_allocated");
}

uint32_t vs_selection_category(const vs_selection *selection, const vs_lifetime *row) {
  const vs_slice *slice = selection->lifetimes->slice;
  const uint32_t event = vs_lifetime_event(row);
  return event == VS_NO_EVENT ? VS_STRING_NONE
                              : vs_events_category(&slice->snapshot->events, vs_slice_row(slice, event));
}

static vs_filter_row describe(const vs_selection *selection, const vs_lifetime *row) {
  const vs_snapshot *s = selection->lifetimes->slice->snapshot;
  const uint32_t category = vs_selection_category(selection, row);
  vs_filter_row r = {
      .size = row->size,
      .address = row->address,
      .event = row->start,
      .stream = vs_lifetime_stream(selection->lifetimes, row),
      .pool = vs_lifetime_pool(selection->lifetimes, &selection->segments, row),
      .stack = vs_lifetime_stack(selection->lifetimes, row),
      .state = vs_selection_state(selection, row),
      .category = vs_snapshot_string(s, category),
      .has = 1u << VS_FILTER_size | 1u << VS_FILTER_address | 1u << VS_FILTER_pool | 1u << VS_FILTER_state,
  };
  if (row->start != VS_NO_EVENT) r.has |= 1u << VS_FILTER_event;
  if (r.stream < s->streams.count) r.has |= 1u << VS_FILTER_stream;
  if (category != VS_STRING_NONE) r.has |= 1u << VS_FILTER_category;
  return r;
}

/* Leaves the rows that the filter keeps. */
static void apply_filter(const vs_filter *filter, vs_selection *selection) {
  vs_liveset *set = &selection->set;
  const size_t count = set->rows.count;
  set->rows.count = 0;
  set->bytes = set->pending_bytes = set->pending_count = 0;
  for (size_t i = 0; i < count; i++) {
    const vs_lifetime *row = &selection->lifetimes->rows.data[set->rows.data[i]];
    const vs_filter_row described = describe(selection, row);
    if (!vs_filter_keeps(filter, selection->lifetimes->slice->snapshot, &described)) continue;
    set->rows.data[set->rows.count++] = set->rows.data[i];
    set->bytes = vs_sat_add_u64(set->bytes, row->size);
    if (!vs_lifetime_is_pending(selection->lifetimes, row, set->moment)) continue;
    set->pending_bytes = vs_sat_add_u64(set->pending_bytes, row->size);
    set->pending_count++;
  }
}

static vs_status fill(vs_call *call, vs_view *view, vs_selection *out) {
  vs_filter *filter = &call->request->filter;
  vs_moment moment;
  VS_TRY(vs_filter_allow(filter, VS_LIFE_KEYS, "blocks", call->error));
  VS_TRY(vs_view_moment(view, call->request->at, &moment, call->error));
  VS_TRY(vs_view_lifetimes(call->engine, view, &out->lifetimes));
  VS_TRY(vs_segment_index_build(call->engine->host, view->slice, &out->segments));
  VS_TRY(vs_liveset_build(call->engine->host, out->lifetimes, moment, &out->set));
  if (vs_filter_is_empty(filter)) return VS_OK;
  VS_TRY(vs_filter_prepare(filter, call->engine->snapshot));
  apply_filter(filter, out);
  return VS_OK;
}

vs_status vs_selection_build(vs_call *call, vs_view *view, vs_selection *out) {
  *out = (vs_selection){0};
  const vs_status status = fill(call, view, out);
  if (status != VS_OK) vs_selection_deinit(call, out);
  return status;
}

void vs_selection_deinit(const vs_call *call, vs_selection *selection) {
  vs_segment_index_deinit(call->engine->host, &selection->segments);
  vs_liveset_deinit(call->engine->host, &selection->set);
}

static bool bigger_first(const void *ctx, uint32_t a, uint32_t b) {
  const vs_lifetime *rows = ctx;
  if (rows[a].size != rows[b].size) return rows[a].size > rows[b].size;
  return rows[a].address < rows[b].address;
}

vs_status vs_selection_by_size(const vs_call *call, const vs_selection *selection, vs_rows *out) {
  const vs_host *host = call->engine->host;
  const size_t count = selection->set.rows.count;
  *out = (vs_rows){0};
  if (count == 0) return VS_OK;
  VS_TRY(vs_vec_reserve(host, out, count));
  memcpy(out->data, selection->set.rows.data, count * sizeof *out->data);
  out->count = count;
  const vs_status status =
      vs_sort_rows(host, out->data, count, bigger_first, selection->lifetimes->rows.data);
  if (status != VS_OK) vs_vec_free(host, out);
  return status;
}
