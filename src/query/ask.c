/* Sends a method and its parameters as a request, and collects the reply in a buffer. */
#include "codec/json_reply.h"
#include <vramscope/query.h>

static vs_status write_params(vs_jsonw *json, const vs_host *host, const char *params, vs_error *error) {
  vs_json_doc doc;
  vs_error inner = {.status = VS_OK, .offset = VS_NO_OFFSET};
  const vs_status status = vs_json_doc_init(&doc, host, vs_str_from(params), &inner);
  if (status == VS_NO_MEMORY) return status;
  if (status != VS_OK)
    return vs_fail(error, VS_BAD_ARGUMENT, inner.offset, "the parameters are not JSON: %s", inner.text);
  vs_jsonw_key(json, VS_STR("params"));
  vs_reply_put(json, vs_json_root(&doc));
  vs_json_doc_deinit(&doc);
  return VS_OK;
}

static vs_status ask(vs_engine *engine, vs_text *request, const char *method, const char *params,
                     vs_buffer *reply, vs_error *error) {
  vs_jsonw json;
  vs_jsonw_begin(&json, request, 0);
  vs_jsonw_object_begin(&json);
  vs_jsonw_member_str(&json, "method", vs_str_from(method));
  if (params != NULL) VS_TRY(write_params(&json, vs_engine_host(engine), params, error));
  vs_jsonw_object_end(&json);
  vs_jsonw_end(&json);
  VS_TRY(vs_text_finish(request));
  return vs_engine_request(engine, vs_text_view(request), vs_buffer_writer(reply), error);
}

vs_status vs_engine_ask(vs_engine *engine, const char *method, const char *params, vs_buffer *reply,
                        vs_error *error) {
  vs_error ignored;
  vs_text request;
  if (error == NULL) error = &ignored;
  *error = (vs_error){.status = VS_OK, .offset = VS_NO_OFFSET};
  reply->size = 0;
  vs_text_init(&request, vs_engine_host(engine), NULL);
  const vs_status status = ask(engine, &request, method, params, reply, error);
  vs_text_deinit(&request);
  if (status == VS_OK) return VS_OK;
  reply->size = 0; /* a part of a streamed reply may be in it */
  if (reply->data != NULL) reply->data[0] = 0;
  return error->status == status ? status
                                 : vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
}
