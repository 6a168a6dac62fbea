#include "query/export.h"
#include "snapshot/writer.h"

static vs_status (*const exporters[VS_EXPORT_COUNT])(vs_call *call) = {
#define VS_EXPORT(name, extension, opens_in, sentence) vs_export_##name,
#include "query/exports.def"
#undef VS_EXPORT
};

vs_status vs_method_export(vs_call *call) {
  VS_ASSERT((size_t)call->request->format < VS_EXPORT_COUNT);
  return exporters[call->request->format](call);
}

/* ---- formats of a whole snapshot ----------------------------------------------------------------------------- */

vs_status vs_export_pickle(vs_call *call) {
  return vs_snapshot_write(call->engine->snapshot, VS_FORMAT_PICKLE, call->reply, call->error);
}

vs_status vs_export_json(vs_call *call) {
  return vs_snapshot_write(call->engine->snapshot, VS_FORMAT_JSON, call->reply, call->error);
}

vs_status vs_export_vram(vs_call *call) {
  return vs_snapshot_write(call->engine->snapshot, VS_FORMAT_VRAM, call->reply, call->error);
}
