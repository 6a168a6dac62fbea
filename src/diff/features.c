#include "diff/features.h"
#include "base/sort.h"

void vs_features_deinit(const vs_host *host, vs_features *features) {
  vs_vec_free(host, &features->list);
  vs_vec_free(host, &features->ends);
}

vs_status vs_features_add(const vs_host *host, vs_features *features, uint32_t subject, uint64_t hash,
                          uint64_t weight) {
  VS_ASSERT(features->ends.count == 0);
  if (features->list.count >= UINT32_MAX) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(host, &features->list, 1));
  features->list.data[features->list.count++] =
      (vs_feature){.hash = hash, .weight = weight, .subject = subject};
  return VS_OK;
}

static vs_status sort(const vs_host *host, vs_features *features, vs_sort_pair *order) {
  const size_t count = features->list.count;
  for (size_t i = 0; i < count; i++)
    order[i] = (vs_sort_pair){.key = features->list.data[i].hash, .value = (uint32_t)i};
  VS_TRY(vs_sort_pairs(host, order, count));
  for (size_t i = 0; i < count; i++) order[i].key = features->list.data[order[i].value].subject;
  return vs_sort_pairs(host, order, count);
}

/* Puts the features into the order of `order`, equal ones into one. */
static vs_status merge(const vs_host *host, vs_features *features, const vs_sort_pair *order) {
  vs_features sorted = {0};
  VS_TRY(vs_vec_reserve(host, &sorted.list, features->list.count));
  for (size_t i = 0; i < features->list.count; i++) {
    const vs_feature *feature = &features->list.data[order[i].value];
    vs_feature *last = sorted.list.count == 0 ? NULL : &sorted.list.data[sorted.list.count - 1];
    if (last != NULL && last->subject == feature->subject && last->hash == feature->hash)
      last->weight = vs_sat_add_u64(last->weight, feature->weight);
    else sorted.list.data[sorted.list.count++] = *feature;
  }
  vs_features_deinit(host, features);
  *features = sorted;
  return VS_OK;
}

static vs_status find_ends(const vs_host *host, vs_features *features, uint32_t count) {
  size_t at = 0;
  VS_TRY(vs_vec_reserve(host, &features->ends, count));
  for (uint32_t subject = 0; subject < count; subject++) {
    while (at < features->list.count && features->list.data[at].subject == subject) at++;
    features->ends.data[features->ends.count++] = (uint32_t)at;
  }
  VS_ASSERT(at == features->list.count);
  return VS_OK;
}

vs_status vs_features_sort(const vs_host *host, vs_features *features, uint32_t count) {
  VS_VEC(vs_sort_pair) order = {0};
  vs_status status = vs_vec_reserve(host, &order, features->list.count);
  if (status == VS_OK) status = sort(host, features, order.data);
  if (status == VS_OK) status = merge(host, features, order.data);
  if (status == VS_OK) status = find_ends(host, features, count);
  vs_vec_free(host, &order);
  return status;
}

uint32_t vs_features_similarity(const vs_features *a, uint32_t in_a, const vs_features *b, uint32_t in_b) {
  VS_ASSERT(in_a < a->ends.count && in_b < b->ends.count);
  size_t i = in_a == 0 ? 0 : a->ends.data[in_a - 1], k = in_b == 0 ? 0 : b->ends.data[in_b - 1];
  const size_t end_a = a->ends.data[in_a], end_b = b->ends.data[in_b];
  uint64_t shared = 0, all = 0;
  while (i < end_a || k < end_b) {
    const vs_feature *x = i < end_a ? &a->list.data[i] : NULL, *y = k < end_b ? &b->list.data[k] : NULL;
    const bool only_a = y == NULL || (x != NULL && x->hash < y->hash),
               only_b = x == NULL || (!only_a && y->hash < x->hash);
    if (!only_a && !only_b) shared = vs_sat_add_u64(shared, vs_min_u64(x->weight, y->weight));
    all = vs_sat_add_u64(all, only_a ? x->weight : only_b ? y->weight : vs_max_u64(x->weight, y->weight));
    if (!only_b) i++;
    if (!only_a) k++;
  }
  for (; all >> 50 != 0; all >>= 1) shared >>= 1;
  return all == 0 ? 0 : (uint32_t)(vs_min_u64(shared, all) * VS_SIMILARITY_MOST / all);
}
