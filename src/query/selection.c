#include "query/selection.h"
#include "base/sort.h"
#include "query/reply.h"

vs_str vs_selection_state(const vs_selection *selection, const vs_lifetime *row) {
  const bool is_pending = vs_lifetime_is_pending(selection->lifetimes, row, selection->set.moment);
  return vs_str_from(vs_block_state_name(is_pending ? VS_BLOCK_PENDING : VS_BLOCK_ALLOCATED));
}

uint32_t vs_selection_category(const vs_selection *selection, const vs_lifetime *row) {
  const vs_slice *slice = selection->lifetimes->slice;
  const uint32_t event = vs_lifetime_event(row);
  return event == VS_NO_EVENT ? VS_STRING_NONE
                              : vs_events_category(&slice->snapshot->events, vs_slice_row(slice, event));
}

/* Removes the rows that the filter does not keep. */
static vs_status apply_filter(vs_call *call, const vs_filter *filter, vs_selection *selection) {
  vs_liveset *set = &selection->set;
  const size_t count = set->rows.count;
  const vs_named_ranges *ranges;
  VS_TRY(vs_ranges_for(call, filter, &ranges));
  if (vs_filter_asks(filter, VS_FILTER_name))
    VS_TRY(vs_items_want_names(call->engine->host, call->device, &selection->items));
  set->rows.count = 0;
  set->bytes = set->pending_bytes = set->pending_count = 0;
  for (size_t i = 0; i < count; i++) {
    const vs_lifetime *row = &selection->lifetimes->rows.data[set->rows.data[i]];
    const vs_item item = vs_item_at(&selection->items, set->rows.data[i]);
    vs_filter_row described = vs_row_of_item(&selection->items, &item, ranges);
    described.state = vs_selection_state(selection, row);
    described.has |= 1u << VS_FILTER_state;
    if (!vs_filter_keeps(filter, call->engine->snapshot, &described)) continue;
    set->rows.data[set->rows.count++] = set->rows.data[i];
    set->bytes = vs_sat_add_u64(set->bytes, row->size);
    if (!vs_lifetime_is_pending(selection->lifetimes, row, set->moment)) continue;
    set->pending_bytes = vs_sat_add_u64(set->pending_bytes, row->size);
    set->pending_count++;
  }
  VS_ASSERT(set->rows.count <= count && set->pending_count <= set->rows.count);
  return VS_OK;
}

/* ---- measures -------------------------------------------------------------------------------------------------- */

static vs_moment start_of(const vs_lifetime *row) {
  return row->start == VS_NO_EVENT ? VS_AT_START : (vs_moment)row->start;
}

/* Collects the rows that begin in (from, to]; with `alive` the rows that are alive at one of the moments from .. to. */
static vs_status collect_between(const vs_host *host, const vs_lifetimes *lifetimes, vs_moment from,
                                 vs_moment to, bool alive, vs_liveset *out) {
  *out = (vs_liveset){.moment = to};
  VS_ASSERT(from <= to);
  for (size_t i = 0; i < lifetimes->rows.count; i++) {
    const vs_lifetime *row = &lifetimes->rows.data[i];
    const vs_moment start = start_of(row);
    const bool begins = row->start != VS_NO_EVENT && start > from && start <= to;
    const bool lives = start <= to && (row->end == VS_NO_EVENT || (vs_moment)row->end > from);
    if (alive ? !lives : !begins) continue;
    VS_TRY(vs_vec_reserve(host, &out->rows, 1));
    out->rows.data[out->rows.count++] = (uint32_t)i;
    out->bytes = vs_sat_add_u64(out->bytes, row->size);
  }
  return VS_OK;
}

static vs_status collect(const vs_call *call, const vs_moment_index *moments, vs_selection *out) {
  const vs_host *host = call->engine->host;
  const vs_lifetimes *lifetimes = out->lifetimes;
  const vs_moment low = out->since < out->at ? out->since : out->at;
  const vs_moment high = out->since < out->at ? out->at : out->since;
  switch (call->request->measure) {
    case VS_MEASURE_live: break;
    case VS_MEASURE_grown: return vs_liveset_difference(host, lifetimes, out->since, out->at, &out->set);
    case VS_MEASURE_freed: return vs_liveset_difference(host, lifetimes, out->at, out->since, &out->set);
    case VS_MEASURE_allocated: return collect_between(host, lifetimes, low, high, false, &out->set);
    case VS_MEASURE_average: return collect_between(host, lifetimes, low, high, true, &out->set);
  }
  return vs_liveset_at(host, lifetimes, vs_moment_index_spans(moments), out->at, &out->set);
}

/* The range of an average: by time if its times differ, else by events. */
typedef struct range {
  const vs_slice *slice;
  vs_moment low, high;
  bool by_time;
  int64_t from, to; /* on that axis */
} range;

static vs_status find_range(vs_call *call, vs_device_cache *device, const vs_selection *selection, range *r) {
  const vs_times *times;
  VS_TRY(vs_cached_times(call->engine->host, device, &times));
  *r = (range){.slice = device->slice, .low = selection->since, .high = selection->at};
  if (r->low > r->high) *r = (range){.slice = device->slice, .low = selection->at, .high = selection->since};
  r->from = r->low;
  r->to = r->high;
  if (times->first_us == VS_NO_TIME) return VS_OK;
  const int64_t from = vs_times_at(times, r->low), to = vs_times_at(times, r->high);
  if (from >= to) return VS_OK;
  r->by_time = true;
  r->from = from;
  r->to = to;
  return VS_OK;
}

static int64_t place_on(const range *r, vs_moment moment) {
  if (moment <= r->low) return r->from;
  if (moment >= r->high) return r->to;
  const int64_t place = r->by_time ? vs_slice_time(r->slice, moment) : moment;
  VS_ASSERT(r->from <= r->to);
  return place < r->from ? r->from : place > r->to ? r->to : place;
}

/* size * part / whole * VS_WEIGHT_PARTS, part <= whole. Both are shifted right until they fit into 31 bits. */
static uint64_t weight_of(uint64_t size, uint64_t part, uint64_t whole) {
  if (whole == 0) return vs_sat_mul_u64(size, VS_WEIGHT_PARTS);
  VS_ASSERT(part <= whole);
  for (; whole >> 31 != 0; whole >>= 1) part >>= 1;
  const uint64_t fraction = (part << 32) / whole; /* of 2^32 */
  return vs_sat_add_u64(vs_sat_mul_u64(size / VS_WEIGHT_PARTS, fraction),
                        size % VS_WEIGHT_PARTS * fraction / VS_WEIGHT_PARTS);
}

static vs_status weigh(vs_call *call, vs_device_cache *device, vs_selection *out) {
  range r;
  VS_TRY(find_range(call, device, out, &r));
  VS_TRY(vs_vec_reserve(call->engine->host, &out->weights, out->set.rows.count));
  for (size_t i = 0; i < out->set.rows.count; i++) {
    const vs_lifetime *row = &out->lifetimes->rows.data[out->set.rows.data[i]];
    const int64_t from = place_on(&r, start_of(row));
    const int64_t to = row->end == VS_NO_EVENT ? r.to : place_on(&r, row->end);
    const uint64_t part = to > from ? (uint64_t)to - (uint64_t)from : 0;
    out->weights.data[out->weights.count++] = weight_of(row->size, part, (uint64_t)r.to - (uint64_t)r.from);
  }
  return VS_OK;
}

static vs_status fill(vs_call *call, vs_device_cache *device, vs_selection *out) {
  vs_filter *filter = &call->request->filter;
  const vs_moment_index *moments;
  VS_TRY(vs_filter_allow(filter, call->engine->snapshot, VS_LIVE_KEYS, "blocks", call->error));
  VS_TRY(vs_find_moment(call->engine->host, device, call->request->at, &out->at, call->error));
  VS_TRY(vs_find_moment(call->engine->host, device, call->request->since, &out->since, call->error));
  VS_TRY(vs_items_init(call->engine->host, device, VS_DRAWN_allocations, &out->items));
  VS_TRY(vs_cached_moments(call->engine->host, device, &moments));
  out->lifetimes = out->items.lifetimes;
  VS_TRY(collect(call, moments, out));
  if (!vs_filter_is_empty(filter)) {
    VS_TRY(vs_filter_prepare(filter, call->engine->snapshot, &call->engine->frames));
    VS_TRY(apply_filter(call, filter, out));
  }
  return call->request->measure == VS_MEASURE_average ? weigh(call, device, out) : VS_OK;
}

vs_status vs_selection_build(vs_call *call, vs_device_cache *device, vs_selection *out) {
  *out = (vs_selection){0};
  const vs_status status = fill(call, device, out);
  if (status != VS_OK) vs_selection_deinit(call, out);
  return status;
}

void vs_selection_deinit(const vs_call *call, vs_selection *selection) {
  vs_liveset_deinit(call->engine->host, &selection->set);
  vs_vec_free(call->engine->host, &selection->weights);
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
  VS_ASSERT(status != VS_OK ||
            !bigger_first(selection->lifetimes->rows.data, out->data[count - 1], out->data[0]));
  return status;
}

/* ---- groups ---------------------------------------------------------------------------------------------------- */

static uint64_t whole_bytes(uint64_t weight) {
  return weight / VS_WEIGHT_PARTS + (weight % VS_WEIGHT_PARTS >= VS_WEIGHT_PARTS / 2);
}

vs_status vs_selection_groups(vs_call *call, const vs_selection *selection, vs_group_by by, vs_groups *out) {
  const vs_host *host = call->engine->host;
  VS_ASSERT(selection->weights.count == 0 || selection->weights.count == selection->set.rows.count);
  VS_TRY(vs_groups_build_weighed(host, selection->lifetimes, selection->set.rows.data,
                                 selection->weights.data, selection->set.rows.count, by,
                                 &call->engine->frames, out));
  if (call->request->measure != VS_MEASURE_average) return VS_OK;
  out->bytes = 0; /* the sum of the rounded bytes, so that shares add up to 1 */
  for (size_t i = 0; i < out->list.count; i++) {
    out->list.data[i].bytes = whole_bytes(out->list.data[i].bytes);
    out->bytes = vs_sat_add_u64(out->bytes, out->list.data[i].bytes);
  }
  const vs_status status = vs_groups_arrange(host, out);
  if (status != VS_OK) vs_groups_deinit(host, out);
  return status;
}

void vs_reply_selection(const vs_call *call, const vs_device_cache *device, const vs_selection *selection) {
  static const char *const names[] = {
      [VS_MEASURE_live] = "live",           [VS_MEASURE_grown] = "grown",     [VS_MEASURE_freed] = "freed",
      [VS_MEASURE_allocated] = "allocated", [VS_MEASURE_average] = "average",
  };
  vs_reply_moment(call, device, "at", selection->at);
  if (call->request->measure == VS_MEASURE_live) vs_jsonw_member_null(call->json, "since");
  else vs_reply_moment(call, device, "since", selection->since);
  vs_jsonw_member_str(call->json, "measure", vs_str_from(names[call->request->measure]));
}
