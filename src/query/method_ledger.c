/* "ledger": where the memory of a GPU was at a moment, in the rows of `vramscope where FILE`. */
#include "query/ledger_answer.h"
#include "query/reply.h"

vs_status vs_method_ledger(vs_call *call) {
  const vs_host *host = call->engine->host;
  vs_ledger ledger;
  vs_moment moment;
  VS_TRY(vs_find_moment(host, call->device, call->request->at, &moment, call->error));
  vs_ledger_init(&ledger, host);
  vs_status status = vs_ledger_at(call, moment, &ledger);
  if (status == VS_OK) status = vs_ledger_complete(&ledger, true, call->error);
  if (status == VS_OK) {
    vs_reply_device(call, call->device);
    vs_reply_moment(call, call->device, "at", moment);
    vs_ledger_put(call->json, &ledger);
  }
  vs_ledger_deinit(&ledger);
  return status;
}
