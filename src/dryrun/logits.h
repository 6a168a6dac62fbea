/* The logits of a model with a large vocabulary at the peak: a loss that is computed in chunks needs a part of them only. That change is in the
 * program's source, so `fit` does not make it, but says so. */
#ifndef VS_DRYRUN_LOGITS_H
#define VS_DRYRUN_LOGITS_H

#include "codec/json_doc.h"
#include "codec/json_writer.h"

enum { VS_LOGITS_PLACE = 128 };

/* Blocks that are live at the peak and have the size of the largest one that torch.nn.functional.cross_entropy allocated: the logits in its type, their
 * logarithms, their gradients. Copies in another type have another size, so the logits may hold more than this. */
typedef struct vs_logits {
  uint64_t block_bytes; /* 0: unknown, there are none, or they are too small to matter */
  uint64_t blocks;
  char place[VS_LOGITS_PLACE]; /* the line of the program that computes the loss, cut if it is longer */
} vs_logits;

/* Of an inventory at the peak (docs/formats/query.md), which may be absent. */
vs_logits vs_logits_of(vs_json inventory);

/* The object "logits" of docs/formats/fit.md; null where there are none. */
void vs_logits_put(vs_jsonw *w, const vs_logits *logits);

#endif
