/* Comma-separated values: one table. A time, address or id that is unknown is an empty field. */
#include "codec/csv_writer.h"
#include "query/export.h"
#include "query/table_rows.h"

static vs_status take(void *ctx, const vs_records *batch) {
  vs_csv *csv = ctx;
  vs_csv_records(csv, batch);
  return csv->text->status;
}

vs_status vs_export_csv(vs_call *call) {
  vs_csv csv;
  vs_csv_begin(&csv, call->text);
  vs_csv_names(&csv, vs_table_rows_type(call->request->what));
  return vs_table_rows_put(call, &(vs_table_rows_sink){.ctx = &csv, .take = take});
}
