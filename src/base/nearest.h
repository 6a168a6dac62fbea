/* "Did you mean ...?": the known word that is nearest to what was typed. */
#ifndef VS_BASE_NEAREST_H
#define VS_BASE_NEAREST_H

#include "base/text.h"

typedef struct vs_nearest {
  vs_str typed;
  vs_str best;       /* empty: no known word is near enough */
  uint32_t distance; /* of `best`; while there is none, one more than the largest one accepted */
} vs_nearest;

/* Begins a search; then offer every known word. The largest accepted distance depends on the length of the typed
 * word: 1 below 4 letters, 2 below 8, else 3. */
vs_nearest vs_nearest_to(vs_str typed);
void vs_nearest_offer(vs_nearest *nearest, vs_str known);

#endif
