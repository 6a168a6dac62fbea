#include "faces/simcuda/core/stored_values.h"
#include "base/hash.h"

static const uint64_t FACTOR = UINT64_C(0x8bb84b93962eacc9);

void vs_stored_init(vs_stored_values *stored, const vs_host *host, const vs_given_values *given,
                    uint64_t most_bytes) {
  vs_readback_init(&stored->common, host, given->values, most_bytes);
  vs_readback_init(&stored->kept, host, VS_VALUES_KEEP, most_bytes);
  stored->keeps_also = given->values != VS_VALUES_KEEP && vs_given_keeps(given);
  stored->written = 0;
}

/* A sample of a large write is enough. */
static uint64_t hash_of(const uint8_t *bytes, uint64_t size) {
  enum { SAMPLE = 256 };
  VS_ASSERT(bytes != NULL && size != 0);
  const uint64_t hash = vs_hash_mix(size ^ vs_hash_bytes(bytes, (size_t)vs_min_u64(size, SAMPLE)), FACTOR);
  return size <= SAMPLE ? hash : hash ^ vs_hash_bytes(bytes + size - SAMPLE, SAMPLE);
}

void vs_stored_write(vs_stored_values *stored, uint64_t to, const void *bytes, uint64_t size) {
  if (size != 0) stored->written += hash_of(bytes, size);
  vs_readback_write(&stored->common, to, bytes, size);
  if (stored->keeps_also) vs_readback_write(&stored->kept, to, bytes, size);
}

void vs_stored_fill(vs_stored_values *stored, uint64_t to, uint32_t value, uint32_t element_size,
                    uint64_t size) {
  stored->written += vs_hash_mix(size ^ value, FACTOR);
  vs_readback_fill(&stored->common, to, value, element_size, size);
  if (stored->keeps_also) vs_readback_fill(&stored->kept, to, value, element_size, size);
}

void vs_stored_move(vs_stored_values *stored, uint64_t to, uint64_t from, uint64_t size) {
  vs_readback_move(&stored->common, to, from, size);
  if (stored->keeps_also) vs_readback_move(&stored->kept, to, from, size);
}

void vs_stored_forget(vs_stored_values *stored, uint64_t address, uint64_t size) {
  vs_readback_forget(&stored->common, address, size);
  if (stored->keeps_also) vs_readback_forget(&stored->kept, address, size);
}

/* Both are asked, so that neither says it again. */
bool vs_stored_lost(vs_stored_values *stored) {
  const bool common = vs_readback_lost(&stored->common), kept = vs_readback_lost(&stored->kept);
  return common || kept;
}
