#include "query/ledger_answer.h"
#include "query/reply.h"

/* The reply of "reserved" about the moment, in a text of its own. */
static vs_status write_division(vs_call *call, vs_moment moment, vs_text *bytes) {
  vs_jsonw own, *const outer = call->json;
  vs_jsonw_begin(&own, bytes, 0);
  vs_jsonw_object_begin(&own);
  call->json = &own;
  const vs_status status = vs_reply_reserved_at(call, moment);
  call->json = outer;
  if (status != VS_OK) return status;
  vs_jsonw_object_end(&own);
  vs_jsonw_end(&own);
  return bytes->status;
}

vs_status vs_ledger_at(vs_call *call, vs_moment moment, vs_ledger *out) {
  vs_text bytes;
  vs_json_doc division;
  if (call->device->slice->device == VS_DEVICE_HOST)
    return vs_fail(call->error, VS_NOT_FOUND, VS_NO_OFFSET,
                   "pinned host memory is not a GPU's: it has no ledger");
  vs_text_init(&bytes, call->engine->host, NULL);
  vs_status status = write_division(call, moment, &bytes);
  if (status == VS_OK)
    status = vs_json_doc_init(&division, call->engine->host, vs_text_view(&bytes), call->error);
  vs_text_deinit(&bytes);
  if (status != VS_OK) return status;
  status = vs_ledger_add_recorded(out, vs_json_root(&division), VS_STR(""));
  vs_json_doc_deinit(&division);
  return status;
}
