#include "dryrun/largest.h"

enum {
  FREE_GUESSES = 5, /* guesses that need not halve what is left */
  MARGIN = 8,       /* a guess that was too large is followed by one that is this part of the rest below it */
};

static vs_largest_bounds bounds_of(const vs_largest *runs, size_t count) {
  vs_largest_bounds bounds = {.fitting = 0, .failing = runs->values->count};
  for (size_t i = 0; i < count; i++) {
    const vs_largest_point *p = &runs->points[i];
    if (p->fits && p->number >= bounds.fitting) bounds.fitting = p->number + 1;
    if (!p->fits && p->number < bounds.failing) bounds.failing = p->number;
  }
  return bounds;
}

vs_largest_bounds vs_largest_bounds_of(const vs_largest *runs) { return bounds_of(runs, runs->count); }

/* Values of which nothing is known. */
static uint64_t width(vs_largest_bounds bounds) { return bounds.failing - bounds.fitting; }

/* Whether it is time for a half: too many guesses did not halve what was left, and the last one was one of these. */
static bool is_slow(const vs_largest *runs) {
  size_t wasted = 0;
  bool is_last = false;
  for (size_t i = 0; i < runs->count; i++) {
    is_last = width(bounds_of(runs, i + 1)) > width(bounds_of(runs, i)) / 2;
    wasted += is_last;
  }
  return is_last && wasted > FREE_GUESSES;
}

static const vs_largest_point *fitting_at(const vs_largest *runs, uint64_t number) {
  for (size_t i = 0; i < runs->count; i++)
    if (runs->points[i].fits && runs->points[i].number == number) return &runs->points[i];
  return NULL;
}

/* The second point of the line: the nearest one that is not so near that rounding decides, else the smallest. */
static const vs_largest_point *partner_of(const vs_largest *runs, const vs_largest_point *top,
                                          uint64_t apart) {
  const vs_largest_point *best = NULL;
  for (size_t i = 0; i < runs->count; i++) {
    const vs_largest_point *p = &runs->points[i];
    if (!p->fits || p->number >= top->number) continue;
    const bool is_apart = top->number - p->number >= apart;
    const bool is_better =
        best == NULL || (is_apart ? top->number - best->number < apart || p->number > best->number
                                  : p->number < best->number);
    if (is_better) best = p;
  }
  return best;
}

/* A third point, below the first one. */
static const vs_largest_point *third_of(const vs_largest *runs, const vs_largest_point *top,
                                        const vs_largest_point *partner) {
  const vs_largest_point *smallest = NULL, *nearest = NULL;
  for (size_t i = 0; i < runs->count; i++) {
    const vs_largest_point *p = &runs->points[i];
    if (!p->fits || p->number >= top->number || p->number == partner->number) continue;
    if (smallest == NULL || p->number < smallest->number) smallest = p;
    if (nearest == NULL || p->number > nearest->number) nearest = p;
  }
  return smallest != NULL && smallest->number < partner->number ? smallest : nearest;
}

/* The square root, by Newton's method, without the mathematical library. Good enough for a guess. */
static double root_of(double value) {
  double root = value > 1 ? value : 1;
  for (int i = 0; i < 100 && root * root > value * (1 + 1e-12); i++) root = (root + value / root) / 2;
  return root;
}

/* What one more unit of the value takes, between two points. */
static double slope(const vs_largest *runs, const vs_largest_point *a, const vs_largest_point *b) {
  const double distance =
      (double)vs_integers_at(runs->values, b->number) - (double)vs_integers_at(runs->values, a->number);
  return ((double)a->spare_bytes - (double)b->spare_bytes) / distance;
}

/* The number of the last value that fits by the line through two runs, or, where it rises faster and faster, by the parabola through three;
 * count of the values: it does not rise. */
static uint64_t by_curve(const vs_largest *runs, const vs_largest_point *top,
                         const vs_largest_point *partner) {
  const vs_largest_point *third = third_of(runs, top, partner);
  const double at = (double)vs_integers_at(runs->values, top->number), rise = slope(runs, partner, top);
  const double spare = (double)top->spare_bytes;
  if (rise <= 0) return runs->values->count;
  if (third != NULL) {
    const double apart = at - (double)vs_integers_at(runs->values, third->number);
    const double bend = (rise - slope(runs, third, partner)) / apart;
    const double begin = rise + bend * (at - (double)vs_integers_at(runs->values, partner->number));
    if (bend > 0)
      return vs_integers_below(runs->values,
                               at + (root_of(begin * begin + 4 * bend * spare) - begin) / (2 * bend));
  }
  return vs_integers_below(runs->values, at + spare / rise);
}

/* With one run: the mean of their logarithms between the value that fits and the end. */
static uint64_t by_growth(const vs_largest *runs, vs_largest_bounds bounds) {
  const uint64_t low = vs_integers_at(runs->values, bounds.fitting - 1);
  const uint64_t high = vs_integers_at(runs->values, bounds.failing - 1);
  return vs_integers_below(runs->values, root_of((double)vs_max_u64(low, 1)) * root_of((double)high));
}

static bool have_two_failed(const vs_largest *runs) {
  return runs->count >= 2 && !runs->points[runs->count - 1].fits && !runs->points[runs->count - 2].fits;
}

static uint64_t half(vs_largest_bounds bounds) { return bounds.fitting + width(bounds) / 2; }

static uint64_t guess(const vs_largest *runs, vs_largest_bounds bounds) {
  const vs_largest_point *top = fitting_at(runs, bounds.fitting - 1);
  const vs_largest_point *partner = partner_of(runs, top, width(bounds) / 4);
  if (partner == NULL) return by_growth(runs, bounds);
  const uint64_t number = by_curve(runs, top, partner);
  if (number < bounds.failing || bounds.failing == runs->values->count) return number;
  if (have_two_failed(runs)) return half(bounds);
  return bounds.failing - 1 - width(bounds) / MARGIN;
}

vs_largest_step vs_largest_next(const vs_largest *runs) {
  const vs_largest_bounds bounds = vs_largest_bounds_of(runs);
  if (runs->count == 0) return (vs_largest_step){VS_LARGEST_TRY, 0};
  if (bounds.fitting == 0) return (vs_largest_step){VS_LARGEST_NONE_FITS, 0};
  if (bounds.fitting >= bounds.failing)
    return (vs_largest_step){bounds.fitting == runs->values->count ? VS_LARGEST_ALL_FIT : VS_LARGEST_FOUND,
                             bounds.fitting - 1};
  uint64_t number = is_slow(runs) ? half(bounds) : guess(runs, bounds);
  number = vs_max_u64(bounds.fitting, vs_min_u64(number, bounds.failing - 1));
  return (vs_largest_step){VS_LARGEST_TRY, number};
}

bool vs_largest_fall(const vs_largest *runs, vs_largest_contradiction *found) {
  *found = (vs_largest_contradiction){.bytes = 0};
  for (size_t i = 0; i < runs->count; i++)
    for (size_t k = 0; k < runs->count; k++) {
      const vs_largest_point *small = &runs->points[i], *large = &runs->points[k];
      if (!small->fits || !large->fits || small->number >= large->number) continue;
      if (small->is_squeezed || large->is_squeezed) continue;
      if (large->spare_bytes <= small->spare_bytes) continue;
      const uint64_t bytes = (uint64_t)large->spare_bytes - (uint64_t)small->spare_bytes;
      if (bytes > found->bytes) *found = (vs_largest_contradiction){small->number, large->number, bytes};
    }
  return found->bytes != 0;
}
