/* An engine for inference that runs in a program: it makes its KV cache as large as the card allows, so what it needs is not a number of bytes. */
#ifndef VS_DRYRUN_ENGINE_H
#define VS_DRYRUN_ENGINE_H

#include "codec/json_writer.h"
#include "dryrun/outcome.h"

typedef struct vs_engine_figures {
  bool is_there;
  uint64_t tokens;     /* that its KV cache holds */
  uint64_t max_tokens; /* of a request; it does not start where the cache holds fewer */
  /* Of the process with the highest peak, by PyTorch's memory metadata; 0 where the run has no history. */
  uint64_t cache_bytes, weight_bytes;
  uint64_t parameters; /* of the model; 0: unknown */
} vs_engine_figures;

vs_engine_figures vs_engine_of(const vs_outcome *outcome);

/* The array "estimates" of docs/formats/fit.md: what smaller types would give at most, by arithmetic:
 * engines keep embeddings and scales in larger ones. `parts`: the figures of a run with a history.
 * `tokens`: what the cache holds on the card; 0: the engine does not start there. */
void vs_engine_put_estimates(vs_jsonw *w, const vs_engine_figures *parts, uint64_t tokens);

#endif
