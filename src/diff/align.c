#include "diff/align.h"
#include "base/map.h"

/* Points of a pair, beside its similarity (0 to 1000). */
enum { PAIR = 400, SAME_NUMBER = 150, SAME_SHIFT = 250 };

/* The best way to pair the lines up to a pair that ends with it. */
typedef struct cell {
  uint64_t points; /* 0: the two are no pair */
  uint32_t before; /* the cell of the pair before it; VS_ALIGN_NONE: it is the first */
} cell;

typedef struct alignment {
  const vs_host *host;
  const vs_align_side *a, *b;
  VS_VEC(cell) cells;    /* row i, column k: line i of a, line k of b */
  VS_VEC(uint32_t) best; /* by column: the best cell of the rows so far in the columns up to it */
  vs_map by_shift;       /* shift of the numbers -> the best cell of the rows so far with that shift */
} alignment;

static bool has_features(const vs_align_side *side, uint32_t line) {
  const uint32_t subject = side->subjects[line];
  return side->features->ends.data[subject] != (subject == 0 ? 0 : side->features->ends.data[subject - 1]);
}

/* 0: the two are no pair. */
static uint64_t points_of(const vs_align_side *a, uint32_t i, const vs_align_side *b, uint32_t k) {
  const uint32_t similarity =
      vs_features_similarity(a->features, a->subjects[i], b->features, b->subjects[k]);
  const bool is_same_number = a->lines[i] == b->lines[k];
  if (similarity == 0 && !is_same_number && has_features(a, i) && has_features(b, k)) return 0;
  return PAIR + (uint64_t)similarity + (is_same_number ? SAME_NUMBER : 0);
}

static uint64_t points_at(const alignment *all, uint32_t at) {
  return at == VS_ALIGN_NONE ? 0 : all->cells.data[at].points;
}

static uint64_t shift_of(const alignment *all, uint32_t i, uint32_t k) {
  return (uint64_t)all->b->lines[k] - (uint64_t)all->a->lines[i];
}

/* The best cell of an earlier row with the same shift; its column is before this one, because numbers rise. */
static uint32_t same_shift(const alignment *all, uint32_t i, uint32_t k) {
  const size_t slot = vs_map_find(&all->by_shift, shift_of(all, i, k));
  return slot == VS_MAP_NONE ? VS_ALIGN_NONE : all->by_shift.slots[slot].value;
}

static vs_status keep_shift(alignment *all, uint32_t i, uint32_t k, uint32_t at) {
  const uint64_t shift = shift_of(all, i, k);
  const size_t slot = vs_map_find(&all->by_shift, shift);
  if (slot != VS_MAP_NONE) {
    if (points_at(all, at) > points_at(all, all->by_shift.slots[slot].value))
      all->by_shift.slots[slot].value = at;
    return VS_OK;
  }
  VS_TRY(vs_map_reserve(all->host, &all->by_shift));
  vs_map_add(&all->by_shift, shift, at);
  return VS_OK;
}

static void fill_cell(alignment *all, uint32_t i, uint32_t k) {
  cell *to = &all->cells.data[(size_t)i * all->b->count + k];
  const uint64_t own = points_of(all->a, i, all->b, k);
  *to = (cell){.points = 0, .before = VS_ALIGN_NONE};
  if (own == 0) return;
  const uint32_t any = k == 0 ? VS_ALIGN_NONE : all->best.data[k - 1], shifted = same_shift(all, i, k);
  const uint64_t by_any = points_at(all, any),
                 by_shift = shifted == VS_ALIGN_NONE ? 0 : points_at(all, shifted) + SAME_SHIFT;
  *to = (cell){.points = own + vs_max_u64(by_any, by_shift), .before = by_shift > by_any ? shifted : any};
}

static vs_status fill_row(alignment *all, uint32_t i) {
  const uint32_t columns = all->b->count;
  for (uint32_t k = 0; k < columns; k++) fill_cell(all, i, k);
  uint32_t best = VS_ALIGN_NONE;
  for (uint32_t k = 0; k < columns; k++) {
    const uint32_t at = i * columns + k;
    if (all->cells.data[at].points != 0) VS_TRY(keep_shift(all, i, k, at));
    if (points_at(all, all->best.data[k]) > points_at(all, best)) best = all->best.data[k];
    if (points_at(all, at) > points_at(all, best)) best = at;
    all->best.data[k] = best;
  }
  return VS_OK;
}

static vs_status run(alignment *all, uint32_t *mates) {
  const size_t rows = all->a->count, columns = all->b->count;
  if (columns == 0) return VS_OK;
  VS_TRY(vs_vec_reserve(all->host, &all->cells, rows * columns));
  VS_TRY(vs_vec_reserve(all->host, &all->best, columns));
  for (size_t k = 0; k < columns; k++) all->best.data[k] = VS_ALIGN_NONE;
  for (uint32_t i = 0; i < rows; i++) VS_TRY(fill_row(all, i));
  for (uint32_t at = all->best.data[columns - 1]; at != VS_ALIGN_NONE; at = all->cells.data[at].before)
    mates[at / columns] = (uint32_t)(at % columns);
  return VS_OK;
}

void vs_align_equal(const vs_align_side *a, const vs_align_side *b, uint32_t *mates) {
  for (uint32_t i = 0, k = 0; i < a->count; i++) {
    while (k < b->count && b->lines[k] < a->lines[i]) k++;
    mates[i] = k < b->count && b->lines[k] == a->lines[i] ? k : VS_ALIGN_NONE;
  }
}

/* Whether the pairs of equal numbers take all lines of one side, and each of them may be one line. */
static bool have_not_moved(const vs_align_side *a, const vs_align_side *b, const uint32_t *mates) {
  uint32_t pairs = 0;
  for (uint32_t i = 0; i < a->count; i++) {
    if (mates[i] == VS_ALIGN_NONE) continue;
    const uint32_t k = mates[i];
    if (has_features(a, i) && has_features(b, k) &&
        vs_features_similarity(a->features, a->subjects[i], b->features, b->subjects[k]) == 0)
      return false;
    pairs++;
  }
  return pairs == a->count || pairs == b->count;
}

vs_status vs_align_lines(const vs_host *host, const vs_align_side *a, const vs_align_side *b,
                         uint32_t *mates) {
  alignment all = {.host = host, .a = a, .b = b};
  vs_align_equal(a, b, mates);
  if (have_not_moved(a, b, mates) || (uint64_t)a->count * b->count > VS_ALIGN_MOST_PAIRS) return VS_OK;
  for (uint32_t i = 0; i < a->count; i++) mates[i] = VS_ALIGN_NONE;
  const vs_status status = run(&all, mates);
  vs_vec_free(host, &all.cells);
  vs_vec_free(host, &all.best);
  vs_map_deinit(host, &all.by_shift);
  return status;
}
