/* The sentence of a failure, for functions that have no vs_error. It is kept for the calling thread, and
 * vs_live_error_text returns it. Each function here returns the status, so that failing is one statement. */
#ifndef VS_LIVE_ERROR_TEXT_H
#define VS_LIVE_ERROR_TEXT_H

#include "live/state.h"

/* The conversions are those of vs_format. */
vs_status vs_live_fail(const vs_live *live, vs_status status, const char *format, ...);

/* VS_BAD_ARGUMENT: there is no card of that number. */
vs_status vs_live_no_device(const vs_live *live, uint32_t index);

/* Returns `status`; of a failure it keeps the general sentence of that status. */
vs_status vs_live_result(const vs_live *live, vs_status status);

/* Likewise, but VS_NOT_FOUND means that no allocation begins at `address`. */
vs_status vs_live_address_result(const vs_live *live, vs_status status, uint64_t address);

#endif
