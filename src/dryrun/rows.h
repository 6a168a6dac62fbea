/* The runs of a table, silently, one after the other. Each is a plan of its own, whose row is written into the reply. */
#ifndef VS_DRYRUN_ROWS_H
#define VS_DRYRUN_ROWS_H

#include "codec/json_writer.h"
#include "dryrun/outcome.h"
#include "dryrun/vary_run.h"

typedef struct vs_rows {
  const vs_host *host;
  const vs_dryrun_watch *watch; /* may be NULL */
  vs_dryrun_end *end;
  vs_vary vary; /* which runs there are */
  vs_text text; /* the reply */
  vs_jsonw w;
  /* Why the table ends before its last run. */
  bool was_interrupted;
  vs_error why; /* of a later run that could not be started; its text is empty if there is none */
  /* The run that is made. */
  vs_vary_run run;
  vs_dryrun_setup setup;
  vs_launch launch;
} vs_rows;

/* What the table is to know of a run whose row is written. */
typedef struct vs_row_end {
  vs_verdict verdict;
  int exit_code;
  bool met_errors;        /* of memory, though the program may have completed */
  bool was_squeezed;      /* PyTorch released memory of its cache, because the GPU was full */
  int64_t headroom_bytes; /* of a run that fits */
} vs_row_end;

/* Large, so not for a stack. `vary` is initialized by the caller. NULL: no memory. */
vs_rows *vs_rows_new(const vs_host *host, const vs_dryrun_watch *watch, vs_dryrun_end *end);
void vs_rows_free(vs_rows *rows);

static inline bool vs_rows_are_ended(const vs_rows *rows) {
  return rows->was_interrupted || rows->why.text[0] != 0;
}

/* Checks the plan of a run without running it. Fails: VS_BAD_ARGUMENT, with the values of the run in the sentence */
VS_MUST_CHECK vs_status vs_rows_check(vs_rows *rows, uint32_t number, vs_error *error);

/* Makes a run, after telling the watcher (`progress`, whose stage the caller sets), and writes its row, unless vs_rows_are_ended then. Where the
 * first run cannot be started, that is a failure, later it is the reason why the table ends. */
VS_MUST_CHECK vs_status vs_rows_make(vs_rows *rows, uint32_t number, vs_dryrun_progress *progress,
                                     vs_row_end *row, vs_error *error);

/* "interrupted" and "why" of the reply. */
void vs_rows_put_end(vs_rows *rows);

#endif
