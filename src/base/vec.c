#include "base/vec.h"

vs_status vs_vec_grow(const vs_host *host, void **data, size_t *capacity, size_t count, size_t extra,
                      size_t size) {
  size_t wanted, bytes;
  VS_ASSERT(count <= *capacity && size != 0 && (*data == NULL) == (*capacity == 0));
  if (__builtin_add_overflow(count, extra, &wanted)) return VS_NO_MEMORY;
  size_t grown = *capacity + *capacity / (VS_HOSTILE ? 16 : 2);
  if (grown < wanted) grown = wanted;
  if (!VS_HOSTILE && grown < 16 && size <= 64) grown = 16;
  if (!vs_mul_size(grown, size, &bytes)) return VS_NO_MEMORY;
  void *moved = host->resize(host->ctx, *data, *capacity * size, bytes);
  if (moved == NULL) return VS_NO_MEMORY;
  *data = moved;
  *capacity = grown;
  return VS_OK;
}
