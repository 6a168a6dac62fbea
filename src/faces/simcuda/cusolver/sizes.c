/* The formulas. "Measured" is always: on an H100, driver 580, CUDA 13.0; tests/gpu/measured/h100_cusolver.jsonl. */
#include "faces/simcuda/cusolver/sizes.h"

#include "base/check.h"

enum {
  TILE = 32,
  BLOCK = 64,
  MOST_MEASURED = 4096,
  MORE_OF_X = 128 /* bytes that X functions take on top */
};

#define MOST_SIDE (INT64_C(1) << 28) /* 6 squares of it, of 16 bytes, fit 63 bits */

static uint64_t side(int64_t n) {
  VS_ASSERT(n >= 0);
  return (uint64_t)(n < MOST_SIDE ? n : MOST_SIDE);
}

static uint64_t up(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }
static uint64_t tiles(uint64_t n) { return up(n, TILE) / TILE; }

static uint64_t power_of_two_from(uint64_t n) {
  uint64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

static bool in(uint64_t least, uint64_t n, uint64_t most) { return least <= n && n <= most; }

static vs_workspace values(uint64_t value, uint64_t count, bool is_measured) {
  return (vs_workspace){.bytes = value * count, .is_measured = is_measured};
}

static vs_workspace guess(uint64_t value, uint64_t count) { return values(value, count, false); }

/* At most what no card has, so that a few of these, times 16, fit 63 bits. */
static uint64_t times(uint64_t each, uint64_t count) {
  uint64_t all = 0;
  const bool fits = !__builtin_mul_overflow(each, count, &all);
  return fits ? vs_min_u64(all, UINT64_C(1) << 57) : UINT64_C(1) << 57;
}

static vs_workspace with_more(vs_workspace workspace, uint64_t bytes) {
  workspace.bytes += bytes;
  return workspace;
}

static vs_workspace guessed(vs_workspace workspace) {
  workspace.is_measured = false;
  return workspace;
}

/* ---- Cholesky */

/* Measured: 128 bytes, and 4 for each pair of tiles, in units of 32; the type does not matter. */
vs_workspace vs_size_potrf(uint64_t value, int64_t n) {
  const uint64_t t = tiles(side(n));
  (void)value;
  return values(1, 128 + up(4 * t * t, 32), in(1, side(n), MOST_MEASURED));
}

/* Measured: always the same. */
vs_workspace vs_size_potri(uint64_t value, int64_t n) {
  return values(value, 65536, in(1, side(n), MOST_MEASURED));
}

/* ---- LU */

/* Up to 1024 rows. Measured: 256 bytes for each tile of the shorter side, and as many again for up to 16 tiles, whose
 * number is rounded up to a power of two. */
static uint64_t pivots_of_few_rows(uint64_t t) { return 256 * vs_min_u64(power_of_two_from(t), 16); }

/* More rows. Measured at 2000 and 4096 rows only, so the power of two is one of several possible roundings up. */
static uint64_t pivots_of_many_rows(uint64_t value, uint64_t m) {
  return power_of_two_from(m) / 8 * (value + 8) + 8192 * value;
}

/* Measured: 256 bytes, 256 for each tile of the shorter side, and the larger of the pivots and 4 for each pair of
 * tiles. The sum is bytes whatever the type. */
vs_workspace vs_size_getrf(uint64_t value, int64_t m, int64_t n) {
  const uint64_t rows = side(m), t = tiles(vs_min_u64(rows, side(n)));
  const uint64_t pivots = rows <= 1024 ? pivots_of_few_rows(t) : pivots_of_many_rows(value, rows);
  const bool is_measured = in(1, rows, 1024) && in(1, side(n), 1024);
  return values(1, 256 + 256 * t + vs_max_u64(pivots, up(4 * t * t, 256)), is_measured);
}

vs_workspace vs_size_xgetrf(uint64_t value, int64_t m, int64_t n) {
  return guessed(vs_size_getrf(value, m, n));
}

/* ---- QR */

/* Measured: 1024 values for each column, of which it takes at least 256, and 2^19. */
vs_workspace vs_size_geqrf(uint64_t value, int64_t m, int64_t n) {
  const bool is_measured = in(1, side(m), MOST_MEASURED) && in(1, side(n), MOST_MEASURED);
  return values(value, 1024 * (vs_max_u64(side(n), 256) + 512), is_measured);
}

vs_workspace vs_size_xgeqrf(uint64_t value, int64_t m, int64_t n) {
  return with_more(vs_size_geqrf(value, m, n), MORE_OF_X);
}

/* What orgqr takes for its columns behind the first 64. Measured at 100 columns and from 128 on; between 64 and 128 it
 * is a guess. */
static uint64_t further_columns(uint64_t n) {
  if (n <= BLOCK) return 0;
  return n < 128 ? up(n * (n - BLOCK), 32) : 256 * (n - BLOCK);
}

/* Measured with as many reflectors as columns, and higher than wide only at 64 and 100 columns. */
static bool is_measured_orgqr(uint64_t m, uint64_t n, uint64_t k) {
  return k == n && in(1, m, MOST_MEASURED) && (in(1, n, BLOCK) || (n >= 128 && m == n));
}

vs_workspace vs_size_orgqr(uint64_t value, int64_t m, int64_t n, int64_t k) {
  const uint64_t rows = side(m), columns = side(n);
  const uint64_t count = 33024 + up(rows * vs_min_u64(columns, 128), 32) + further_columns(columns);
  return values(value, count, is_measured_orgqr(rows, columns, side(k)));
}

/* Near orgqr: its constant, a panel of Q, and two of the other side. */
vs_workspace vs_size_ormqr(uint64_t value, int64_t rows, int64_t others, int64_t k) {
  return guess(value, 33024 + up(vs_min_u64(side(k), 128) * (side(rows) + 2 * side(others)), 32));
}

vs_workspace vs_size_panel(uint64_t value, int64_t rows) {
  return guess(value, vs_max_u64(side(rows), 1) * BLOCK);
}

/* ---- singular values */

/* Of the constants of gesvd and syevd, the one that depends on whether a matrix is larger than a tile. */
static uint64_t of_a_tile(uint64_t n) { return n <= TILE ? 32 : 64; }

/* Measured, for square matrices. */
static uint64_t square_gesvd(uint64_t n) {
  return 65536 + 256 * n + up(n * n, 32) + up(2 * n * n, 32) + 4 * up(n, 32) + 192 + of_a_tile(n);
}

/* Measured: wide matrices take what square ones of that width do. Of higher ones only two were measured (1000 x 100,
 * 4096 x 64), and no formula found: the guess, a QR factorisation before, is 7% and 1% above them. */
vs_workspace vs_size_gesvd(uint64_t value, int64_t m, int64_t n) {
  const uint64_t rows = side(m), columns = side(n);
  if (rows <= columns)
    return values(value, square_gesvd(columns), in(1, rows, MOST_MEASURED) && columns <= MOST_MEASURED);
  const uint64_t after_qr = 1024 * 768 + 4 * rows * columns + square_gesvd(columns);
  return guess(value, vs_min_u64(after_qr, square_gesvd(rows)));
}

vs_workspace vs_size_xgesvd(uint64_t value, int64_t m, int64_t n) {
  return guessed(with_more(vs_size_gesvd(value, m, n), MORE_OF_X));
}

/* ---- Jacobi methods */

/* Measured in single precision, from 32 to 512. */
static uint64_t jacobi(uint64_t n) {
  const uint64_t t = tiles(n);
  return n * n + n + 4 * t * t + t + 1024 + 1024 * t;
}

vs_workspace vs_size_syevj(uint64_t value, int64_t n) {
  return values(value, jacobi(side(n)), value == 4 && in(32, side(n), 512));
}

/* CuPy's users saw 1028 + 1049 values for each matrix of 4 x 4 in complex: all but 1024 of syevj's for each, and a few
 * that may be one row. */
vs_workspace vs_size_syevj_batched(uint64_t value, int64_t n, int64_t count) {
  VS_ASSERT(count >= 0);
  return guess(value, 1024 + side(n) + times(jacobi(side(n)) - 1024, (uint64_t)count));
}

/* Measured, for square matrices up to 1000: the same for all up to a tile. */
vs_workspace vs_size_gesvdj(uint64_t value, int64_t m, int64_t n) {
  const uint64_t least = vs_min_u64(side(m), side(n)), most = vs_max_u64(side(m), side(n));
  if (most <= TILE) return vs_size_gesvdj_batched(value, m, n);
  const uint64_t count = up(least * most, 32) + up(jacobi(least), 32) + 32 * up(most, 32);
  return values(value, count, least == most && most <= 1000);
}

/* Measured for one and for three square matrices. */
vs_workspace vs_size_gesvdj_batched(uint64_t value, int64_t m, int64_t n) {
  VS_ASSERT(m <= TILE && n <= TILE);
  return values(value, 992, m == n && n >= 1);
}

vs_workspace vs_size_copies(uint64_t value, int64_t m, int64_t n, int64_t count) {
  VS_ASSERT(count >= 0);
  return guess(value, 1 + times(side(m) * side(n) + vs_max_u64(side(m), side(n)), (uint64_t)count));
}

/* ---- eigenvalues */

/* The part of syevd that is rounded. Measured: the first of the two terms up to 512, the second from 1000 on; the
 * larger is taken between, where they cross at 688. */
static uint64_t tridiagonal(uint64_t n) {
  return 2 * n * n - 2 * n + vs_max_u64(768 * n + 65536, n * n + 127 * n + 32896);
}

static uint64_t divide_and_conquer(uint64_t n) { return n * n + 2 * n + 3; }

/* Measured, with and without vectors. */
vs_workspace vs_size_syevd(uint64_t value, int64_t n) {
  const uint64_t count = divide_and_conquer(side(n)) + up(tridiagonal(side(n)) + of_a_tile(side(n)), 32);
  return values(value, count, in(1, side(n), 512) || in(1000, side(n), MOST_MEASURED));
}

vs_workspace vs_size_xsyevd(uint64_t value, int64_t n) {
  return with_more(vs_size_syevd(value, n), MORE_OF_X);
}

vs_workspace vs_size_xsyevdx(uint64_t value, int64_t n) { return guessed(vs_size_xsyevd(value, n)); }

/* Measured for three matrices of 2 to 32 rows: what syevd takes for each, but for one row that they share. */
vs_workspace vs_size_xsyev_batched(uint64_t value, int64_t n, int64_t count) {
  VS_ASSERT(count >= 0);
  const uint64_t rows = side(n), matrices = (uint64_t)count;
  const uint64_t rounded = up(times(tridiagonal(rows) - rows, matrices) + rows + of_a_tile(rows), 32);
  const bool is_measured = in(1, rows, TILE) && in(1, matrices, 3);
  return with_more(values(value, times(divide_and_conquer(rows), matrices) + rounded, is_measured),
                   MORE_OF_X);
}

/* LAPACK's dsyevd with vectors: 1 + 6 n + 2 n^2. */
vs_workspace vs_size_geev(uint64_t value, int64_t n) {
  return guess(value, 1 + 6 * side(n) + 2 * side(n) * side(n));
}

/* ---- solvers with refinement: a factorised copy in the lower precision, residuals and corrections */

vs_workspace vs_size_gesv(uint64_t value, int64_t n, int64_t rhs) {
  return guess(value, side(n) * side(n) + 2 * side(n) * side(rhs) + vs_max_u64(side(n), 1) * BLOCK);
}

vs_workspace vs_size_gels(uint64_t value, int64_t m, int64_t n, int64_t rhs) {
  const uint64_t sides = side(m) * side(n) + 2 * vs_max_u64(side(m), side(n)) * side(rhs);
  return guess(value, sides + vs_max_u64(side(n), 1) * BLOCK);
}
