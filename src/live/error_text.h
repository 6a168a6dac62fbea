/* The sentence of a failure, for functions that have no vs_error. It is kept for the calling thread, and
 * vs_live_error_text returns it. Each function here returns the status, so that failing is one statement. */
#ifndef VS_LIVE_ERROR_TEXT_H
#define VS_LIVE_ERROR_TEXT_H

#include "live/state.h"

/* The conversions are those of vs_format. */
vs_status vs_live_fail(const vs_live *live, vs_status status, const char *format, ...);

/* VS_BAD_ARGUMENT: there is no card of that number. */
vs_status vs_live_no_device(const vs_live *live, uint32_t index);

/* The general sentence of a failure. */
vs_status vs_live_failed(const vs_live *live, vs_status status);

/* Likewise, but VS_NOT_FOUND means that no allocation begins at `address`. */
vs_status vs_live_address_failed(const vs_live *live, vs_status status, uint64_t address);

/* Both for any status: a success has no sentence. */
static inline vs_status vs_live_result(const vs_live *live, vs_status status) {
  return status == VS_OK ? VS_OK : vs_live_failed(live, status);
}
static inline vs_status vs_live_address_result(const vs_live *live, vs_status status, uint64_t address) {
  return status == VS_OK ? VS_OK : vs_live_address_failed(live, status, address);
}

#endif
