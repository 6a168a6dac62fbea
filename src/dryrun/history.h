/* The histories of a run: the snapshots of PyTorch's that its processes wrote, or the recordings of those that were ended before that. */
#ifndef VS_DRYRUN_HISTORY_H
#define VS_DRYRUN_HISTORY_H

#include "codec/json_doc.h"
#include "dryrun/launch.h"
#include "dryrun/result.h"

/* At most so many processes beside the main one (result.h) are asked about, in the order of the result. */
enum { VS_HISTORY_OTHERS = 31 };

/* Writes that of the main process to the plan's `snapshot`, in PyTorch's format, and asks the engine about all of them. *history is
 * {"report": the reply of that method, "inventories": the replies of "inventory" for its devices, "searches": with asks_settings those of
 * "whatif" (one without what can be replayed has none), "others": [{"pid", "report"}] of the
 * other processes}; the caller deinitialises it after a failure too. Its root is absent if the main process has no history or it cannot be read. The
 * plan's watcher is told of those that cannot be read.
 *
 * Fails: VS_IO  the file cannot be written; VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_history_ask(const vs_dryrun_setup *setup, const vs_launch *launch,
                                       const vs_result *result, vs_json_doc *history, vs_error *error);

#endif
