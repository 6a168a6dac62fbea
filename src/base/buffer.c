#include "base/host.h"
#include "base/mem.h"

static const vs_host *host_of(const vs_buffer *buffer) {
#if VS_FREESTANDING
  return buffer->host;
#else
  return buffer->host != NULL ? buffer->host : vs_host_default();
#endif
}

/* Makes room for `size` more bytes and a NUL. Grows by at least one half, so that many small writes are cheap. */
static vs_status reserve(vs_buffer *buffer, size_t size) {
  const vs_host *host = host_of(buffer);
  if (host == NULL) return VS_BAD_ARGUMENT;
  if (buffer->capacity != 0 && buffer->capacity - buffer->size > size) return VS_OK;
  if (size >= SIZE_MAX / 2 - buffer->size) return VS_NO_MEMORY;
  const size_t needed = buffer->size + size + 1, larger = buffer->capacity + buffer->capacity / 2;
  const size_t capacity = needed > larger ? needed : larger;
  char *data = host->resize(host->ctx, buffer->data, buffer->capacity, capacity);
  if (data == NULL) return VS_NO_MEMORY;
  buffer->data = data;
  buffer->capacity = capacity;
  return VS_OK;
}

static vs_status write_buffer(void *ctx, const void *data, size_t size) {
  vs_buffer *buffer = ctx;
  const vs_status status = reserve(buffer, size);
  if (status != VS_OK) return status;
  VS_ASSERT(buffer->capacity - buffer->size > size);
  if (size != 0) memcpy(buffer->data + buffer->size, data, size);
  buffer->size += size;
  buffer->data[buffer->size] = 0;
  return VS_OK;
}

vs_writer vs_buffer_writer(vs_buffer *buffer) { return (vs_writer){.ctx = buffer, .write = write_buffer}; }

void vs_buffer_deinit(vs_buffer *buffer) {
  if (buffer->data != NULL) vs_host_free(host_of(buffer), buffer->data, buffer->capacity);
  buffer->data = NULL;
  buffer->size = buffer->capacity = 0;
}
