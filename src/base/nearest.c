#include "base/nearest.h"

enum { LONGEST = 64 };

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* Letters to insert, remove, change, or swap with their neighbour, to get from a to b. */
static uint32_t distance(vs_str a, vs_str b) {
  VS_ASSERT(a.size <= LONGEST && b.size <= LONGEST);
  uint32_t rows[3][LONGEST + 1]; /* the row before the last, the last row, this row */
  for (uint32_t j = 0; j <= b.size; j++) rows[1][j] = j;
  for (uint32_t i = 1; i <= a.size; i++) {
    rows[2][0] = i;
    for (uint32_t j = 1; j <= b.size; j++) {
      const bool same = a.data[i - 1] == b.data[j - 1];
      rows[2][j] = smaller(rows[1][j - 1] + !same, smaller(rows[1][j], rows[2][j - 1]) + 1);
      if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] && a.data[i - 2] == b.data[j - 1])
        rows[2][j] = smaller(rows[2][j], rows[0][j - 2] + 1);
    }
    memcpy(rows[0], rows[1], sizeof rows[0]);
    memcpy(rows[1], rows[2], sizeof rows[1]);
  }
  return rows[1][b.size];
}

vs_nearest vs_nearest_to(vs_str typed) {
  const uint32_t allowed = typed.size < 4 ? 1 : typed.size < 8 ? 2 : 3;
  return (vs_nearest){.typed = typed, .best = VS_STR(""), .distance = allowed + 1};
}

void vs_nearest_offer(vs_nearest *nearest, vs_str known) {
  if (nearest->typed.size == 0 || nearest->typed.size > LONGEST || known.size > LONGEST) return;
  /* The beginning of a word counts as distance 1. */
  const bool begins = nearest->typed.size >= 2 && vs_str_starts(known, nearest->typed);
  const uint32_t far = begins ? 1 : distance(nearest->typed, known);
  if (far >= nearest->distance) return;
  nearest->distance = far;
  nearest->best = known;
}
