/* Sizes of workspaces, in values. cuSOLVER documents none. These are the sizes that LAPACK documents as sufficient
 * for the routine of the same name with blocks of 64 columns; for cuSOLVER's own methods (Jacobi), copies of the
 * matrices. */
#ifndef VS_SIMCUDA_CUSOLVER_SIZES_H
#define VS_SIMCUDA_CUSOLVER_SIZES_H

#include <stdint.h>

enum { VS_CUSOLVER_BLOCK = 64 };

static inline uint64_t vs_size_min(int64_t a, int64_t b) { return (uint64_t)(a < b ? a : b); }
static inline uint64_t vs_size_max(int64_t a, int64_t b) { return (uint64_t)(a > b ? a : b); }

/* A panel of 64 columns of `rows` rows; at least one row. */
static inline uint64_t vs_size_panel(int64_t rows) { return vs_size_max(rows, 1) * VS_CUSOLVER_BLOCK; }
static inline uint64_t vs_size_potrf(int64_t n) { return vs_size_panel(n); }
static inline uint64_t vs_size_getrf(int64_t m, int64_t n) { return vs_size_panel(m > n ? m : n); }
/* dsyevd with vectors: 1 + 6 n + 2 n^2. */
static inline uint64_t vs_size_syevd(int64_t n) {
  return 1 + 6 * (uint64_t)n + 2 * (uint64_t)n * (uint64_t)n;
}
static inline uint64_t vs_size_syevj(int64_t n, int64_t count) {
  return ((uint64_t)n * (uint64_t)n + (uint64_t)n) * (uint64_t)count + 1;
}
/* dgesvd: max(3 min(m, n) + max(m, n), 5 min(m, n)), and a block of both sides. */
static inline uint64_t vs_size_gesvd(int64_t m, int64_t n) {
  const uint64_t least = vs_size_min(m, n), most = vs_size_max(m, n);
  const uint64_t documented = 3 * least + most > 5 * least ? 3 * least + most : 5 * least;
  return documented + vs_size_panel(m + n);
}
static inline uint64_t vs_size_gesvdj(int64_t m, int64_t n, int64_t count) {
  return ((uint64_t)m * (uint64_t)n + vs_size_max(m, n)) * (uint64_t)count + 1;
}
/* A factorised copy in the lower precision, residuals and corrections. */
static inline uint64_t vs_size_gesv(int64_t n, int64_t rhs) {
  return (uint64_t)n * (uint64_t)n + 2 * (uint64_t)n * (uint64_t)rhs + vs_size_panel(n);
}
static inline uint64_t vs_size_gels(int64_t m, int64_t n, int64_t rhs) {
  return (uint64_t)m * (uint64_t)n + 2 * vs_size_max(m, n) * (uint64_t)rhs + vs_size_panel(n);
}

#endif
