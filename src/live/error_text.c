#include "live/error_text.h"

const char *vs_live_error_text(const vs_live *live) { return vs_live_thread_sentence(&live->identity); }

vs_status vs_live_fail(const vs_live *live, vs_status status, const char *format, ...) {
  VS_ASSERT(status != VS_OK);
  va_list arguments;
  va_start(arguments, format);
  vs_format_list(vs_live_thread_sentence_new(&live->identity), VS_LIVE_SENTENCE_SIZE, format, arguments);
  va_end(arguments);
  return status;
}

vs_status vs_live_no_device(const vs_live *live, uint32_t index) {
  const uint32_t count = live->machine.count;
  return vs_live_fail(live, VS_BAD_ARGUMENT, "there is no device %u: this allocator has %u, numbered from 0",
                      index, count);
}

vs_status vs_live_failed(const vs_live *live, vs_status status) {
  return vs_live_fail(live, status, "%s", vs_status_text(status));
}

vs_status vs_live_address_failed(const vs_live *live, vs_status status, uint64_t address) {
  if (status != VS_NOT_FOUND) return vs_live_failed(live, status);
  return vs_live_fail(
      live, status,
      "no allocation begins at address 0x%x: it was freed already, or it never came from this device",
      address);
}
