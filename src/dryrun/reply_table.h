/* The reply about a table of runs (docs/formats/dryrun.md). It is written while the runs are made, so that no run has to be kept.
 *
 *   vs_reply_table_begin(&w, &vary);
 *   vs_reply_table_run(&w, &run) ...         once for each run, in their order
 *   vs_reply_table_end(&w, why);
 *   vs_jsonw_object_end(&w); */
#ifndef VS_DRYRUN_REPLY_TABLE_H
#define VS_DRYRUN_REPLY_TABLE_H

#include "codec/json_writer.h"
#include "dryrun/outcome.h"
#include "dryrun/vary_run.h"

typedef struct vs_table_row {
  const vs_vary *vary;
  const vs_vary_run *run;
  uint32_t number; /* of the run */
  const vs_outcome *outcome;
  vs_str output; /* the end of what a run printed that failed; empty: nothing, or it did not fail */
} vs_table_row;

void vs_reply_table_begin(vs_jsonw *w, const vs_vary *vary);
/* The parts of that: "schema" to "command", and "axes" with "run_count". */
void vs_reply_table_head(vs_jsonw *w, vs_str method, const vs_vary *vary);
void vs_reply_table_axes(vs_jsonw *w, const vs_vary *vary);
void vs_reply_table_run(vs_jsonw *w, const vs_table_row *row);
/* `why`: not all runs were made, because of that; NULL: all were. */
void vs_reply_table_end(vs_jsonw *w, bool was_interrupted, vs_str why);

/* The members "command" and "alone" of a run. */
void vs_reply_table_command(vs_jsonw *w, const vs_vary_run *run);

/* "gpu=L4, batch=8": the values of a run. */
void vs_reply_table_values(vs_text *text, const vs_vary *vary, uint32_t run);

#endif
