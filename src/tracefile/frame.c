#include "tracefile/frame.h"
#include "tracefile/checksum.h"

void vs_frame_header_put(uint8_t *to, const vs_frame_header *header) {
  vs_put_u16(to + 16, header->version);
  to[18] = header->packing;
  to[19] = 0;
  vs_put_u32(to + 20, header->size);
  vs_put_u32(to + 24, header->stored);
  vs_put_u32(to + 28, header->plain);
  vs_put_u32(to + 32, header->process);
  vs_put_u32(to + 36, header->flags);
  vs_put_u64(to + 40, header->sequence);
  vs_put_u64(to + 48, header->events_before);
  vs_put_u64(to + 56, (uint64_t)header->base_time);
  vs_put_u64(to + 64, header->base_address);
  vs_put_u64(to + 72, header->events);
}

void vs_frame_header_get(const uint8_t *from, vs_frame_header *header) {
  *header = (vs_frame_header){
      .checksum = vs_get_u64(from + 8),
      .version = vs_get_u16(from + 16),
      .packing = from[18],
      .size = vs_get_u32(from + 20),
      .stored = vs_get_u32(from + 24),
      .plain = vs_get_u32(from + 28),
      .process = vs_get_u32(from + 32),
      .flags = vs_get_u32(from + 36),
      .sequence = vs_get_u64(from + 40),
      .events_before = vs_get_u64(from + 48),
      .base_time = (int64_t)vs_get_u64(from + 56),
      .base_address = vs_get_u64(from + 64),
      .events = vs_get_u64(from + 72),
  };
}

uint64_t vs_frame_checksum(const uint8_t *frame, size_t stored) {
  const uint64_t sum =
      vs_checksum(frame + VS_FRAME_CHECKED_FROM, VS_FRAME_HEADER - VS_FRAME_CHECKED_FROM + stored);
  return sum == 0 ? 1 : sum;
}

void vs_frame_open(uint8_t *frame) {
  /* A process is killed at some instruction, and has done everything before it in order: so the order of stores
   * matters. */
  __atomic_signal_fence(__ATOMIC_RELEASE);
  for (size_t i = 0; i < VS_FRAME_MAGIC_SIZE; i++) frame[i] = (uint8_t)VS_FRAME_MAGIC[i];
}

void vs_frame_seal(uint8_t *frame, size_t stored) {
  const uint64_t sum = vs_frame_checksum(frame, stored);
  VS_ASSERT(vs_frame_begins(frame) && sum != 0);
  __atomic_signal_fence(__ATOMIC_RELEASE);
  vs_put_u64(frame + 8, sum);
}
