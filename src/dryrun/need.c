#include "dryrun/need.h"
#include "codec/json_reply.h"

vs_json vs_need_model(const vs_result *result) {
  if (result->main == SIZE_MAX) return (vs_json){0};
  const vs_json stats = vs_json_root(&result->processes.data[result->main].stats);
  const vs_json model = vs_reply_at(stats, "model");
  return vs_reply_is_unknown(model) ? vs_reply_at(vs_reply_at(stats, "oom"), "model") : model;
}

uint64_t vs_need_training_bytes(const vs_result *result) {
  const vs_json model = vs_need_model(result);
  const vs_str optimizer = vs_json_str(vs_reply_at(model, "optimizer"), VS_STR(""));
  const bool is_adam = optimizer.size >= 4 && vs_str_equal((vs_str){optimizer.data, 4}, VS_STR("Adam"));
  uint32_t used = 0;
  for (uint32_t c = 0; c < result->card_count; c++) used += result->cards[c].is_used;
  const uint64_t weights = vs_reply_u64(model, "parameter_bytes"),
                 trained = vs_reply_u64(model, "trainable_bytes");
  return is_adam && used == 1 && trained < UINT64_MAX / 8 ? vs_sat_add_u64(weights, 3 * trained) : 0;
}

bool vs_need_has_pool(const vs_result_card *card) {
  bool has = false;
  for (vs_pool_owner owner = 0; owner < VS_POOL_OWNERS; owner++) has |= card->pools[owner].is_known;
  return has;
}

uint64_t vs_need_with_pools(const vs_result_card *card) {
  uint64_t taken = 0, used = 0;
  for (vs_pool_owner owner = 0; owner < VS_POOL_OWNERS; owner++) {
    taken = vs_sat_add_u64(taken, card->pools[owner].peak_pool_bytes);
    used = vs_sat_add_u64(used, card->pools[owner].peak_in_use_bytes);
  }
  return vs_sat_add_u64(card->driver_peak_bytes - vs_min_u64(taken, card->driver_peak_bytes), used);
}

/* The size of a card on which the limit of each pool, which is a share of the card, is enough. */
static uint64_t card_bytes_for_pools(const vs_result_card *card) {
  const uint64_t total = card->card->figures.total_bytes;
  uint64_t most = vs_need_with_pools(card);
  for (vs_pool_owner owner = 0; owner < VS_POOL_OWNERS; owner++) {
    const vs_pool_figures *pool = &card->pools[owner];
    if (pool->limit_bytes == 0 || pool->limit_bytes >= total) continue;
    const double bytes = (double)pool->peak_in_use_bytes / ((double)pool->limit_bytes / (double)total);
    most = vs_max_u64(most, bytes < 18e18 ? (uint64_t)bytes : UINT64_MAX);
  }
  return most;
}

/* A card that is smaller than the first figure and not than the second one is enough if the pool may take a larger share of it. */
static void use_pools(const vs_result *result, const vs_result_card *card, vs_fit_need *need) {
  const vs_result_oom *oom = &result->oom;
  const bool is_here = oom->is_pool && card == &result->cards[oom->card] && card->pools[oom->pool].ooms != 0;
  need->bytes = card_bytes_for_pools(card);
  need->cached_bytes = need->bytes - vs_need_with_pools(card);
  need->least_bytes = vs_sat_add_u64(vs_need_with_pools(card), is_here ? oom->asked_bytes : 0);
}

double vs_need_kv_requests(const vs_kv_cache *cache) {
  VS_ASSERT(cache->engines != 0 && cache->for_one != 0);
  return (double)cache->blocks / (double)cache->for_one;
}

uint64_t vs_need_kv_tokens(const vs_kv_cache *cache) {
  const double tokens = vs_need_kv_requests(cache) * (double)cache->max_tokens;
  return tokens < 1e18 ? (uint64_t)tokens : UINT64_MAX;
}

vs_fit_need vs_need_of(const vs_result *result, uint32_t c, bool is_context_given) {
  VS_ASSERT(c < result->card_count);
  const vs_result_card *card = &result->cards[c];
  const uint64_t context = card->card->context_bytes;
  vs_fit_need need = {.bytes = card->driver_peak_bytes,
                      .context_bytes = context,
                      .contexts = card->contexts,
                      .is_context_given = is_context_given,
                      .is_open_ended = result->ooms + result->refused != 0};
  if (vs_need_has_pool(card)) use_pools(result, card, &need);
  if (context != 0 && need.contexts > need.bytes / context) need.contexts = (uint32_t)(need.bytes / context);
  if (card->torch.peak_reserved_bytes > card->torch.peak_allocated_bytes)
    need.cached_bytes = card->torch.peak_reserved_bytes - card->torch.peak_allocated_bytes;
  if (!need.is_open_ended || vs_need_has_pool(card)) return need;
  const vs_result_oom *oom = &result->oom;
  need.least_bytes = need.bytes - (need.cached_bytes < need.bytes ? need.cached_bytes : need.bytes);
  if (card->is_used && vs_need_training_bytes(result) != 0)
    need.least_bytes = vs_max_u64(need.least_bytes, vs_sat_add_u64(vs_need_training_bytes(result), context));
  if (!oom->is_there || oom->card != c) return need;
  VS_ASSERT(card->card->taken_bytes <= card->card->figures.total_bytes);
  const uint64_t used =
      card->card->figures.total_bytes - card->card->taken_bytes -
      vs_min_u64(oom->free_bytes, card->card->figures.total_bytes - card->card->taken_bytes);
  const uint64_t cached = oom->has_torch && oom->reserved_bytes > oom->allocated_bytes
                              ? oom->reserved_bytes - oom->allocated_bytes
                              : 0;
  const uint64_t past = vs_sat_add_u64(used - vs_min_u64(cached, used), oom->asked_bytes);
  need.least_bytes = vs_max_u64(need.least_bytes, past);
  return need;
}
