/* Sizes of buffers, in bytes, and counts of results. cuSPARSE documents none: these are the minimum for the
 * methods that it is known to use. */
#ifndef VS_SIMCUDA_CUSPARSE_SIZES_H
#define VS_SIMCUDA_CUSPARSE_SIZES_H

#include "faces/simcuda/cusparse/objects.h"

static inline uint64_t vs_count(int64_t value) { return value > 0 ? (uint64_t)value : 0; }

/* One number for each row, as in an array of offsets. */
static inline uint64_t vs_size_of_rows(int64_t rows) { return 4 * (vs_count(rows) + 1); }
/* The levels of a triangular solve: a number for each row, the order of the rows, and a flag for each value. */
static inline uint64_t vs_size_of_levels(int64_t rows, int64_t nnz) {
  return 8 * (vs_count(rows) + 1) + vs_count(nnz);
}
/* A second array of keys and one of positions. */
static inline uint64_t vs_size_of_sort(int64_t nnz) { return 8 * vs_count(nnz); }
/* Copies of the coefficients of the three diagonals of all systems. */
static inline uint64_t vs_size_of_bands(int64_t m, int64_t systems, size_t value) {
  return 2 * vs_count(m) * vs_count(systems) * value;
}

static inline int vs_count_of_sum(int64_t m, int64_t n, int64_t a, int64_t b) {
  const uint64_t cells = vs_count(m) * vs_count(n), values = vs_count(a) + vs_count(b);
  const uint64_t least = values < cells ? values : cells;
  return least > INT32_MAX ? INT32_MAX : (int)least;
}

/* The number of values of a product, if both factors have evenly distributed values: each value of `a` meets as
 * many of `b` as one of its rows has. */
static inline uint64_t vs_count_of_product(const struct cusparseSpMatDescr *a,
                                           const struct cusparseSpMatDescr *b) {
  uint64_t products, cells;
  const uint64_t inner = vs_count(b->rows) > 0 ? vs_count(b->rows) : 1;
  if (__builtin_mul_overflow(vs_count(a->nnz), vs_count(b->nnz), &products)) products = UINT64_MAX;
  if (__builtin_mul_overflow(vs_count(a->rows), vs_count(b->cols), &cells)) cells = UINT64_MAX;
  const uint64_t met = products / inner + (products % inner != 0);
  return met < cells ? met : cells;
}

/* The products before they are summed: an index and a value of up to 16 bytes each. */
static inline uint64_t vs_size_of_product(const struct cusparseSpMatDescr *a,
                                          const struct cusparseSpMatDescr *b) {
  return vs_count_of_product(a, b) * (4 + (vs_data_type_bits(a->type) / 8)) + vs_size_of_rows(a->rows);
}

#endif
