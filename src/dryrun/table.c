#include "dryrun/table.h"
#include "dryrun/reply_table.h"
#include "dryrun/rows.h"

static vs_status make_all(vs_rows *rows, vs_error *error) {
  vs_status status = VS_OK;
  const uint32_t count = rows->vary.run_count;
  for (uint32_t i = 0; status == VS_OK && i < count; i++) status = vs_rows_check(rows, i, error);
  for (uint32_t i = 0; status == VS_OK && i < count && !vs_rows_are_ended(rows); i++) {
    vs_dryrun_progress progress = {.stage = VS_DRYRUN_VARYING, .runs = count};
    vs_row_end row;
    status = vs_rows_make(rows, i, &progress, &row, error);
  }
  vs_dryrun_show_end(&rows->setup);
  return status;
}

static vs_status answer(vs_rows *rows, vs_error *error) {
  enum { INTERRUPTED = 130 };
  vs_reply_table_begin(&rows->w, &rows->vary);
  VS_TRY(make_all(rows, error));
  if (rows->was_interrupted) rows->end->exit_code = INTERRUPTED;
  vs_rows_put_end(rows);
  vs_jsonw_object_end(&rows->w);
  vs_jsonw_end(&rows->w);
  return rows->text.status;
}

vs_status vs_table_run(const vs_host *host, const vs_dryrun_plan *plan, const vs_dryrun_watch *watch,
                       vs_writer reply, vs_dryrun_end *end, vs_error *error) {
  VS_TRY(vs_dryrun_plan_check(plan, error));
  vs_rows *rows = vs_rows_new(host, watch, end);
  if (rows == NULL) return VS_NO_MEMORY;
  vs_status status = vs_vary_init(&rows->vary, host, plan, error);
  if (status == VS_OK) status = answer(rows, error);
  if (status == VS_OK) status = reply.write(reply.ctx, rows->text.bytes.data, rows->text.bytes.count);
  vs_rows_free(rows);
  return status;
}
