/* The settings of PyTorch's allocator that would have reserved least in a run, found by replaying its history under those that a search tries
 * (the engine's method "whatif"). */
#ifndef VS_DRYRUN_REPLAYED_H
#define VS_DRYRUN_REPLAYED_H

#include "changes/changes.h"
#include "codec/json_writer.h"

enum { VS_REPLAYED_SETTINGS = 128 };

typedef struct vs_replayed {
  bool is_known;                       /* the run has a history, whose replay equals it */
  uint32_t tried;                      /* settings, the run's own among them */
  uint64_t own_bytes;                  /* peak reserved with the run's own settings */
  uint64_t bytes;                      /* with `settings` */
  char settings[VS_REPLAYED_SETTINGS]; /* as in PYTORCH_CUDA_ALLOC_CONF */
} vs_replayed;

/* Of a reply of "whatif", which may be absent. The settings are VS_USUAL_SETTINGS unless others reserve clearly less. */
vs_replayed vs_replayed_of(vs_json answer);

/* Whether the settings save too little to matter. */
bool vs_replayed_is_idle(const vs_replayed *replayed);

/* The object "replay" of docs/formats/fit.md; null where nothing is known. */
void vs_replayed_put(vs_jsonw *w, const vs_replayed *replayed);

#endif
