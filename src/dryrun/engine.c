#include "dryrun/engine.h"
#include "codec/json_reply.h"
#include "dryrun/need.h"

/* The bytes of a part of the memory at the peak, as python/vramscope_dryrun names it; 0 if there is none. */
static uint64_t part_of(vs_json device, vs_str name) {
  const vs_json parts = vs_reply_at(vs_reply_at(device, "peak"), "metadata");
  for (size_t i = 0; i < vs_json_count(parts); i++)
    if (vs_str_equal(vs_reply_str(vs_json_at(parts, i), "key"), name))
      return vs_reply_u64(vs_json_at(parts, i), "bytes");
  return 0;
}

vs_engine_figures vs_engine_of(const vs_outcome *outcome) {
  const vs_result *result = outcome->result;
  if (result->kv_cache.engines == 0) return (vs_engine_figures){.is_there = false};
  const vs_json devices = vs_reply_at(vs_reply_at(outcome->history, "report"), "devices");
  const vs_json device = vs_outcome_entry_of(outcome, devices, vs_outcome_busiest(outcome));
  return (vs_engine_figures){.is_there = true,
                             .tokens = vs_need_kv_tokens(&result->kv_cache),
                             .max_tokens = result->kv_cache.max_tokens,
                             .cache_bytes = part_of(device, VS_STR("KV cache")),
                             .weight_bytes = part_of(device, VS_STR("weights")),
                             .parameters = vs_reply_u64(vs_need_model(result), "parameters")};
}

/* ---- what smaller types would give */

/* `freed`: bytes that the cache could have, or 0; `tokens`: what it would hold then, or 0 if that is unknown. */
static void put_estimate(vs_jsonw *w, const char *what, uint64_t freed, uint64_t tokens) {
  vs_jsonw_object_begin(w);
  vs_jsonw_member_str(w, "what", vs_str_from(what));
  vs_jsonw_member_u64(w, "freed_bytes", freed);
  if (tokens == 0) vs_jsonw_member_null(w, "tokens");
  else vs_jsonw_member_u64(w, "tokens", tokens);
  vs_jsonw_object_end(w);
}

/* Weights of 16 bits or more, of which a byte for each parameter stays. */
static void put_weights(vs_jsonw *w, const vs_engine_figures *parts, uint64_t tokens) {
  if (parts->parameters == 0 || parts->weight_bytes / 2 < parts->parameters) return;
  const uint64_t freed = parts->weight_bytes - parts->parameters;
  const double more = (double)freed / ((double)parts->cache_bytes / (double)parts->tokens);
  put_estimate(w, "weights of 8 bits", freed, tokens == 0 ? 0 : tokens + (uint64_t)more);
}

void vs_engine_put_estimates(vs_jsonw *w, const vs_engine_figures *parts, uint64_t tokens) {
  vs_jsonw_array_begin(w);
  if (parts->is_there && parts->cache_bytes != 0 && parts->tokens != 0) {
    put_weights(w, parts, tokens);
    if (tokens != 0)
      put_estimate(w, "a KV cache with half the bytes of each value", 0, vs_sat_add_u64(tokens, tokens));
  }
  vs_jsonw_array_end(w);
}
