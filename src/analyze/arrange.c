#include "analyze/arrange.h"
#include "base/vec.h"

vs_status vs_arrange(const vs_host *host, void *data, size_t count, size_t size, vs_sort_before before,
                     const void *ctx) {
  VS_VEC(uint32_t) order = {0};
  size_t bytes;
  if (count < 2) return VS_OK;
  VS_ASSERT(data != NULL && size > 0);
  if (!vs_mul_size(count, size, &bytes)) return VS_NO_MEMORY;
  uint8_t *copy = vs_host_alloc(host, bytes);
  vs_status status = copy == NULL ? VS_NO_MEMORY : vs_vec_reserve(host, &order, count);
  if (status == VS_OK)
    for (size_t i = 0; i < count; i++) order.data[order.count++] = (uint32_t)i;
  if (status == VS_OK) status = vs_sort_rows(host, order.data, count, before, ctx);
  if (status == VS_OK) {
    memcpy(copy, data, bytes);
    for (size_t i = 0; i < count; i++) memcpy((uint8_t *)data + i * size, copy + order.data[i] * size, size);
  }
  vs_vec_free(host, &order);
  vs_host_free(host, copy, bytes);
  return status;
}
