/* "pick": what lies at a place of the picture, from the bottom up. */
#include "query/reply.h"
#include "query/scene.h"
#include "query/window.h"

static vs_status write_row(vs_call *call, const vs_stage *stage, const vs_picked *picked) {
  const vs_thing thing = vs_thing_at(&stage->things, picked->row);
  vs_jsonw_object_begin(call->json);
  VS_TRY(vs_reply_thing(call, &stage->things, &thing));
  vs_jsonw_member_u64(call->json, "offset_bytes", picked->offset);
  vs_jsonw_object_end(call->json);
  return VS_OK;
}

static vs_status write_pick(vs_call *call, const vs_stage *stage, vs_moment moment, const vs_pick *pick) {
  vs_jsonw *json = call->json;
  vs_reply_device(call, call->view);
  vs_reply_drawn(call, stage->things.drawn);
  vs_reply_moment(call, call->view, "at", moment);
  vs_jsonw_member_u64(json, "total_bytes", pick->total);
  vs_jsonw_member_u64(json, "count", pick->count);
  vs_jsonw_member_u64(json, "bytes", pick->bytes);
  vs_reply_array_begin(json, "rows");
  for (size_t i = 0; i < pick->rows.count; i++) VS_TRY(write_row(call, stage, &pick->rows.data[i]));
  vs_jsonw_array_end(json);
  return VS_OK;
}

vs_status vs_method_pick(vs_call *call) {
  const vs_host *host = call->engine->host;
  const uint32_t top = (uint32_t)vs_min_u64(call->request->top, UINT32_MAX);
  vs_moment moment;
  vs_stage stage;
  const vs_spans *spans;
  uint64_t y0, y1;
  vs_pick pick;
  VS_TRY(vs_view_moment(call->engine, call->view, call->request->at, &moment, call->error));
  VS_TRY(vs_find_bytes(call, UINT64_MAX, &y0, &y1));
  VS_TRY(vs_stage_build(call, &stage));
  VS_TRY(vs_stage_spans(call, &stage, &spans));
  VS_TRY(vs_pick_build(host, spans, moment, y0, y1, top, &pick));
  const vs_status status = write_pick(call, &stage, moment, &pick);
  vs_pick_deinit(host, &pick);
  return status;
}
