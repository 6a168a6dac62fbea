#include "analyze/address_ranks.h"
#include "base/sort.h"

static vs_status build(const vs_host *host, const vs_lifetimes *lifetimes, vs_address_ranks *out) {
  const size_t count = lifetimes->addresses.count;
  VS_VEC(vs_sort_pair) order = {0};
  vs_status status = vs_vec_reserve(host, &order, count);
  if (status == VS_OK) status = vs_vec_reserve(host, &out->of_place, count);
  if (status == VS_OK) status = vs_vec_reserve(host, &out->addresses, count);
  for (size_t i = 0; i < count && status == VS_OK; i++)
    order.data[order.count++] = (vs_sort_pair){lifetimes->addresses.data[i], (uint32_t)i};
  if (status == VS_OK) status = vs_sort_pairs(host, order.data, count);
  for (size_t rank = 0; rank < count && status == VS_OK; rank++) {
    VS_ASSERT(rank == 0 || order.data[rank - 1].key < order.data[rank].key);
    out->addresses.data[rank] = order.data[rank].key;
    out->of_place.data[order.data[rank].value] = (uint32_t)rank;
  }
  if (status == VS_OK) out->addresses.count = out->of_place.count = count;
  vs_vec_free(host, &order);
  return status;
}

vs_status vs_address_ranks_build(const vs_host *host, const vs_lifetimes *lifetimes, vs_address_ranks *out) {
  *out = (vs_address_ranks){0};
  const vs_status status = build(host, lifetimes, out);
  if (status != VS_OK) vs_address_ranks_deinit(host, out);
  return status;
}

void vs_address_ranks_deinit(const vs_host *host, vs_address_ranks *ranks) {
  vs_vec_free(host, &ranks->of_place);
  vs_vec_free(host, &ranks->addresses);
}
