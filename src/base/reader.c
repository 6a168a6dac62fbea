#include "base/mem.h"
#include <vramscope/base.h>

static vs_status memory_read(void *ctx, void *data, size_t capacity, size_t *count) {
  vs_memory_reader *state = ctx;
  *count = state->rest.size < capacity ? state->rest.size : capacity;
  if (*count == 0) return VS_OK; /* rest.data may be NULL then, which memcpy does not accept */
  memcpy(data, state->rest.data, *count);
  state->rest.data += *count;
  state->rest.size -= *count;
  return VS_OK;
}

vs_reader vs_reader_from_bytes(vs_memory_reader *state, const void *data, size_t size) {
  state->rest = (vs_str){data, size};
  return (vs_reader){.ctx = state, .read = memory_read};
}
