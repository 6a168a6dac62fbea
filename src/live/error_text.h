/* What a function without a vs_error says when it fails: each returns its status, so that a failure is one statement. The
 * sentence is the calling thread's; vs_live_error_text has it. */
#ifndef VS_LIVE_ERROR_TEXT_H
#define VS_LIVE_ERROR_TEXT_H

#include "live/state.h"

/* The conversions are those of vs_format. */
vs_status vs_live_fail(const vs_live *live, vs_status status, const char *format, ...);

/* VS_BAD_ARGUMENT: there is no card of that number. */
vs_status vs_live_no_device(const vs_live *live, uint32_t index);

/* What a module below answered: VS_OK as it is, a failure with the sentence of its status. */
vs_status vs_live_result(const vs_live *live, vs_status status);

/* The same where VS_NOT_FOUND means that no allocation begins at `address`. */
vs_status vs_live_address_result(const vs_live *live, vs_status status, uint64_t address);

#endif
