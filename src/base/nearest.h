/* "Did you mean ...?": the known word that is nearest to what was typed. */
#ifndef VS_BASE_NEAREST_H
#define VS_BASE_NEAREST_H

#include "base/text.h"

typedef struct vs_nearest {
  vs_str typed;
  vs_str best;       /* empty: nothing is near enough to be worth saying */
  uint32_t distance; /* of `best`; one more than is allowed while there is none */
} vs_nearest;

/* Then offer it every known word. How many slips a guess forgives follows from the length of the word: 1
 * below 4 letters, 2 below 8, else 3. */
vs_nearest vs_nearest_to(vs_str typed);
void vs_nearest_offer(vs_nearest *nearest, vs_str known);

#endif
