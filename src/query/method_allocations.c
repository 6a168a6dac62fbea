/* "allocations": a list of allocations or segments. */
#include "base/sort.h"
#include "query/picture_query.h"
#include "query/reply.h"

/* Keeps the `most` rows with the smallest keys of any number of rows: `list` is cut whenever it is full. */
typedef struct best {
  const vs_host *host;
  size_t most;
  VS_VEC(vs_sort_pair) list; /* after a cut: the smallest keys first, among equal ones the first row */
  uint64_t limit;            /* a larger key is not one of the smallest */
  uint64_t count, bytes;     /* of all rows */
} best;

typedef VS_VEC(vs_sort_pair) rows;

enum { MORE_AT_ONCE = VS_HOSTILE ? 4 : 65536 };

static vs_status cut(best *b) {
  VS_TRY(vs_sort_pairs(b->host, b->list.data, b->list.count));
  if (b->list.count <= b->most) return VS_OK;
  b->list.count = b->most;
  if (b->most != 0) b->limit = b->list.data[b->most - 1].key;
  VS_ASSERT(b->most == 0 || b->list.data[0].key <= b->limit);
  return VS_OK;
}

/* Rows are added in rising order and the sort is stable, so among equal keys the first rows are kept. */
static vs_status add(best *b, uint64_t key, uint32_t row) {
  if (key > b->limit || b->most == 0) return VS_OK;
  if (b->list.count >= b->most && b->list.count - b->most >= MORE_AT_ONCE) VS_TRY(cut(b));
  VS_TRY(vs_vec_reserve(b->host, &b->list, 1));
  b->list.data[b->list.count++] = (vs_sort_pair){.key = key, .value = row};
  return VS_OK;
}

static uint64_t key_of(const vs_call *call, const vs_item *item) {
  switch (call->request->sort) {
    case VS_SORT_size: return ~item->size;
    case VS_SORT_start: return item->start == VS_NO_EVENT ? 0 : (uint64_t)item->start + 1;
    case VS_SORT_lifetime: break;
  }
  return ~vs_item_moments(call->device->slice, item);
}

static vs_status consider(const vs_call *call, const vs_picture_query *query, uint32_t row, best *b) {
  if (query->bitmap != NULL && !vs_filter_bitmap_has(query->bitmap, row)) return VS_OK;
  const vs_item item = vs_item_at(&query->items, row);
  b->count++;
  b->bytes = vs_sat_add_u64(b->bytes, item.size);
  return add(b, key_of(call, &item), row);
}

/* The rows alive at a moment, rising. */
static vs_status list_alive(vs_call *call, const vs_picture_query *query, vs_moment moment, rows *out) {
  const vs_picture_query everything = {.items = query->items};
  const uint32_t done = vs_done(call->device->slice->event_count, moment);
  const vs_spans *spans;
  VS_TRY(vs_picture_query_spans(call, &everything, &spans));
  for (uint32_t at = vs_spans_next(spans, done, 0); at < spans->count;
       at = vs_spans_next(spans, done, at + 1)) {
    VS_TRY(vs_vec_reserve(call->engine->host, out, 1));
    out->data[out->count++] = (vs_sort_pair){.key = spans->row.data[at]};
  }
  return vs_sort_pairs(call->engine->host, out->data, out->count);
}

static vs_status collect(vs_call *call, const vs_picture_query *query, vs_moment moment, best *b) {
  rows alive = {0};
  vs_status status = VS_OK;
  if (call->request->at.kind == VS_WHEN_NONE) {
    for (uint32_t row = 0; row < query->items.count && status == VS_OK; row++)
      status = consider(call, query, row, b);
  } else {
    status = list_alive(call, query, moment, &alive);
    for (size_t i = 0; i < alive.count && status == VS_OK; i++)
      status = consider(call, query, (uint32_t)alive.data[i].key, b);
  }
  vs_vec_free(call->engine->host, &alive);
  return status == VS_OK ? cut(b) : status;
}

static vs_status write_row(vs_call *call, const vs_picture_query *query, uint32_t row) {
  const vs_item item = vs_item_at(&query->items, row);
  vs_jsonw_object_begin(call->json);
  VS_TRY(vs_reply_item(call, &query->items, &item));
  vs_reply_stack(call, item.stack);
  vs_jsonw_object_end(call->json);
  return VS_OK;
}

static vs_status write_list(vs_call *call, const vs_picture_query *query, vs_moment moment, const best *b) {
  vs_jsonw *json = call->json;
  vs_reply_device(call, call->device);
  vs_reply_drawn(call, query->items.drawn);
  if (call->request->at.kind == VS_WHEN_NONE) vs_jsonw_member_null(json, "at");
  else vs_reply_moment(call, call->device, "at", moment);
  vs_jsonw_member_u64(json, "count", b->count);
  vs_jsonw_member_u64(json, "bytes", b->bytes);
  vs_jsonw_member_u64(json, "offset", call->request->offset);
  vs_reply_array_begin(json, "rows");
  for (uint64_t i = call->request->offset; i < b->list.count; i++)
    VS_TRY(write_row(call, query, b->list.data[i].value));
  vs_jsonw_array_end(json);
  return VS_OK;
}

vs_status vs_method_allocations(vs_call *call) {
  const vs_request *request = call->request;
  vs_moment moment;
  vs_picture_query query;
  VS_TRY(vs_find_moment(call->engine->host, call->device, request->at, &moment, call->error));
  VS_TRY(vs_picture_query_build(call, &query));
  query.items.without_pools = true;
  const uint64_t most = request->top == 0 ? UINT64_MAX : vs_sat_add_u64(request->offset, request->top);
  best b = {.host = call->engine->host, .limit = UINT64_MAX};
  b.most = (size_t)vs_min_u64(most, query.items.count);
  vs_status status = collect(call, &query, moment, &b);
  VS_ASSERT(status != VS_OK || (b.list.count <= b.most && b.list.count <= b.count));
  if (status == VS_OK) status = write_list(call, &query, moment, &b);
  vs_vec_free(call->engine->host, &b.list);
  return status;
}
