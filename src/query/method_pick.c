/* "pick": the items at a place of the picture, from the bottom up. */
#include "query/picture_query.h"
#include "query/reply.h"
#include "query/window.h"

static vs_status write_row(vs_call *call, const vs_picture_query *query, const vs_picked *picked) {
  const vs_item item = vs_item_at(&query->items, picked->row);
  vs_jsonw_object_begin(call->json);
  VS_TRY(vs_reply_item(call, &query->items, &item));
  vs_jsonw_member_u64(call->json, "offset_bytes", picked->offset);
  vs_jsonw_object_end(call->json);
  return VS_OK;
}

static vs_status write_pick(vs_call *call, const vs_picture_query *query, vs_moment moment,
                            const vs_pick *pick) {
  vs_jsonw *json = call->json;
  vs_reply_device(call, call->device);
  vs_reply_drawn(call, query->items.drawn);
  vs_reply_moment(call, call->device, "at", moment);
  vs_jsonw_member_u64(json, "total_bytes", pick->total);
  vs_jsonw_member_u64(json, "count", pick->count);
  vs_jsonw_member_u64(json, "bytes", pick->bytes);
  vs_reply_array_begin(json, "rows");
  for (size_t i = 0; i < pick->rows.count; i++) VS_TRY(write_row(call, query, &pick->rows.data[i]));
  vs_jsonw_array_end(json);
  return VS_OK;
}

vs_status vs_method_pick(vs_call *call) {
  const vs_host *host = call->engine->host;
  const uint32_t top = (uint32_t)vs_min_u64(call->request->top, UINT32_MAX);
  vs_moment moment;
  vs_picture_query query;
  const vs_spans *spans;
  uint64_t y0, y1;
  vs_pick pick;
  VS_TRY(vs_find_moment(call->engine->host, call->device, call->request->at, &moment, call->error));
  VS_TRY(vs_find_bytes(call, UINT64_MAX, &y0, &y1));
  VS_TRY(vs_picture_query_build(call, &query));
  VS_TRY(vs_picture_query_spans(call, &query, &spans));
  VS_TRY(vs_pick_build(host, spans, moment, y0, y1, top, &pick));
  VS_ASSERT(pick.rows.count <= pick.count && pick.bytes <= pick.total);
  const vs_status status = write_pick(call, &query, moment, &pick);
  vs_pick_deinit(host, &pick);
  return status;
}
