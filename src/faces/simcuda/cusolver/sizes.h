/* How large cuSOLVER's workspaces are. cuSOLVER documents no size.
 *
 * Where we could, we asked the library itself, on an H100 with CUDA 13.0 (tests/gpu/measured), and the functions below
 * are formulas that equal every answer in the range where they say `is_measured`. Formulas were found from the numbers
 * alone: the reason for a term is unknown, sizes between the measured ones are inferred, and other GPUs and versions
 * may differ. Elsewhere they are guesses, by a measured function that is near, or by what LAPACK documents for the
 * routine of the same name.
 *
 * `value` is the size of one value in bytes: 4, 8 (double and complex float) or 16. Results are whole values. Sides
 * and counts are not negative. Matrices of more than 2^28 rows or columns are taken as 2^28, so that nothing
 * overflows. Pure; any thread. */
#ifndef VS_SIMCUDA_CUSOLVER_SIZES_H
#define VS_SIMCUDA_CUSOLVER_SIZES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct vs_workspace {
  uint64_t bytes;
  bool is_measured; /* else a guess */
} vs_workspace;

/* ---- Cholesky, LU, LDL, QR */

vs_workspace vs_size_potrf(uint64_t value, int64_t n);
vs_workspace vs_size_potri(uint64_t value, int64_t n);
vs_workspace vs_size_getrf(uint64_t value, int64_t m, int64_t n);
vs_workspace vs_size_xgetrf(uint64_t value, int64_t m, int64_t n);
vs_workspace vs_size_geqrf(uint64_t value, int64_t m, int64_t n);
vs_workspace vs_size_xgeqrf(uint64_t value, int64_t m, int64_t n);
vs_workspace vs_size_orgqr(uint64_t value, int64_t m, int64_t n, int64_t k);
/* A product with the Q of `rows` rows and k reflectors; `others` is the other side of the matrix it is applied to. */
vs_workspace vs_size_ormqr(uint64_t value, int64_t rows, int64_t others, int64_t k);
/* A panel of 64 columns, as LAPACK's routines with blocks of 64. */
vs_workspace vs_size_panel(uint64_t value, int64_t rows);

/* ---- singular values */

vs_workspace vs_size_gesvd(uint64_t value, int64_t m, int64_t n);
vs_workspace vs_size_xgesvd(uint64_t value, int64_t m, int64_t n);
vs_workspace vs_size_gesvdj(uint64_t value, int64_t m, int64_t n);
vs_workspace vs_size_gesvdj_batched(uint64_t value, int64_t m, int64_t n);
/* Copies of `count` matrices, for methods of which nothing is known. */
vs_workspace vs_size_copies(uint64_t value, int64_t m, int64_t n, int64_t count);

/* ---- eigenvalues */

vs_workspace vs_size_syevd(uint64_t value, int64_t n);
vs_workspace vs_size_xsyevd(uint64_t value, int64_t n);
vs_workspace vs_size_xsyevdx(uint64_t value, int64_t n);
vs_workspace vs_size_xsyev_batched(uint64_t value, int64_t n, int64_t count);
vs_workspace vs_size_syevj(uint64_t value, int64_t n);
vs_workspace vs_size_syevj_batched(uint64_t value, int64_t n, int64_t count);
vs_workspace vs_size_geev(uint64_t value, int64_t n);

/* ---- solvers with refinement */

vs_workspace vs_size_gesv(uint64_t value, int64_t n, int64_t rhs);
vs_workspace vs_size_gels(uint64_t value, int64_t m, int64_t n, int64_t rhs);

#endif
