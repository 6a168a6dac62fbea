#include "analyze/requests.h"

/* FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/ */
#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME  UINT64_C(0x100000001b3)

static uint64_t add_byte(uint64_t hash, uint64_t byte) { return (hash ^ (byte & 0xff)) * FNV_PRIME; }

uint64_t vs_requests_hash(const vs_slice *slice) {
  const vs_events *events = &slice->snapshot->events;
  uint64_t hash = FNV_OFFSET;
  for (uint32_t event = 0; event < slice->event_count; event++) {
    const uint32_t row = vs_slice_row(slice, event);
    if (vs_events_kind(events, row) != VS_EVENT_ALLOC) continue;
    const uint64_t size = vs_events_size(events, row);
    for (unsigned i = 0; i < 8; i++) hash = add_byte(hash, size >> (8 * i));
  }
  return hash;
}
