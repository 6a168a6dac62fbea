/* "methods": the list of methods and parameters, which a client can read instead of knowing it. */
#include "query/engine.h"
#include "query/request.h"

vs_status vs_method_methods(vs_call *call) {
  vs_jsonw_member_str(call->json, "version", VS_STR(VS_VERSION_TEXT));
  vs_request_describe(call->json);
  return VS_OK;
}
