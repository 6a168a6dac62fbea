/* One table as a Parquet file. */
#include "codec/parquet_writer.h"
#include "query/export.h"
#include "query/table_rows.h"

static vs_status take(void *ctx, const vs_records *batch) {
  vs_parquet *parquet = ctx;
  vs_parquet_records(parquet, batch);
  return parquet->text->status;
}

vs_status vs_export_parquet(vs_call *call) {
  vs_parquet parquet;
  vs_parquet_begin(&parquet, call->text, vs_table_rows_type(call->request->what));
  const vs_status status = vs_table_rows_put(call, &(vs_table_rows_sink){.ctx = &parquet, .take = take});
  if (status == VS_OK) vs_parquet_end(&parquet);
  vs_parquet_deinit(&parquet);
  return status;
}
