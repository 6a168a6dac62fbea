/* The ledger of a moment: the rows of `vramscope where FILE`, for the methods "ledger" and "bands". */
#ifndef VS_QUERY_LEDGER_ANSWER_H
#define VS_QUERY_LEDGER_ANSWER_H

#include "ledger/ledger.h"
#include "query/engine.h"

/* The members of the reply of "reserved" about a moment (method_reserved.c). Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_reply_reserved_at(vs_call *call, vs_moment moment);

/* The rows of the requested device at a moment, without what is left of each (vs_ledger_complete). `out` is initialized by the caller, who
 * also deinitializes it after a failure.
 *
 * Fails: VS_NOT_FOUND  the device is pinned host memory; VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_ledger_at(vs_call *call, vs_moment moment, vs_ledger *out);

#endif
