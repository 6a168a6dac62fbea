/* The memory that a run needed: on each card, and for its model. */
#ifndef VS_DRYRUN_NEED_H
#define VS_DRYRUN_NEED_H

#include "dryrun/fit.h"
#include "dryrun/result.h"

/* The model that the hook found in the main process: {"parameters", "parameter_bytes", ...} of docs/formats/dryrun.md;
 * an unknown value if it found none. */
vs_json vs_need_model(const vs_result *result);

/* The bytes of the model's weights, gradients and two moments of Adam, in the types that were seen; activations come on top.
 * 0 if the optimizer is not Adam or unknown, or if more than one card is used. */
uint64_t vs_need_training_bytes(const vs_result *result);

/* What the program needs of a card: arrays and temporaries in the pools of JAX and TensorFlow at their peak, and what is beside the
 * pools. The preallocated rest of a pool is not needed, but some of it may be, because it fragments. Without a pool: the driver's peak. */
uint64_t vs_need_with_pools(const vs_result_card *card);
bool vs_need_has_pool(const vs_result_card *card);

/* How many requests of max_tokens the KV cache holds at the same time, and how many tokens in all. Requests take whole blocks, of each
 * group of layers, so the tokens are those of requests of that length. */
double vs_need_kv_requests(const vs_kv_cache *cache);
uint64_t vs_need_kv_tokens(const vs_kv_cache *cache);

/* The need on card `card`. */
vs_fit_need vs_need_of(const vs_result *result, uint32_t card, bool is_context_given);

#endif
