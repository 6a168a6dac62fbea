/* One table as an Arrow IPC file. */
#include "codec/arrow_writer.h"
#include "query/export.h"
#include "query/table_rows.h"

static vs_status take(void *ctx, const vs_records *batch) {
  vs_arrow *arrow = ctx;
  vs_arrow_records(arrow, batch);
  return arrow->text->status;
}

vs_status vs_export_arrow(vs_call *call) {
  vs_arrow arrow;
  vs_arrow_begin(&arrow, call->text, vs_table_rows_type(call->request->what));
  const vs_status status = vs_table_rows_put(call, &(vs_table_rows_sink){.ctx = &arrow, .take = take});
  if (status == VS_OK) vs_arrow_end(&arrow);
  vs_arrow_deinit(&arrow);
  return status;
}
