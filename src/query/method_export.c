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

/* What the recording lost goes with it, or the copy would read as complete. The loaded snapshot is afterwards as it was. */
static vs_status export_snapshot(vs_call *call, vs_file_format format) {
  vs_snapshot *s = call->engine->snapshot;
  const size_t settings = s->settings.count;
  const uint32_t has = s->has;
  vs_status status = vs_losses_mark_add(s);
  if (status == VS_OK) status = vs_snapshot_write(s, format, call->reply, call->error);
  VS_ASSERT(s->settings.count >= settings);
  s->settings.count = settings;
  s->has = has;
  return status;
}

vs_status vs_export_pickle(vs_call *call) { return export_snapshot(call, VS_FORMAT_PICKLE); }
vs_status vs_export_json(vs_call *call) { return export_snapshot(call, VS_FORMAT_JSON); }
vs_status vs_export_vram(vs_call *call) { return export_snapshot(call, VS_FORMAT_VRAM); }
