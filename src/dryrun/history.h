/* PyTorch's history of a run: the snapshot that the main process (result.h) wrote. */
#ifndef VS_DRYRUN_HISTORY_H
#define VS_DRYRUN_HISTORY_H

#include "codec/json_doc.h"
#include "dryrun/launch.h"
#include "dryrun/result.h"

/* Copies it to the plan's `snapshot`, and asks the engine about it. *history is {"report": the reply of that method, "inventories": the
 * replies of "inventory" for its devices}; the caller deinitialises it after a failure too. Its root is absent if there is no snapshot
 * or it cannot be read, which the plan's watcher is told.
 *
 * Fails: VS_IO  the copy cannot be written; VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_history_ask(const vs_dryrun_setup *setup, const vs_launch *launch,
                                       const vs_result *result, vs_json_doc *history, vs_error *error);

#endif
