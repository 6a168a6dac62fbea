/* What libraries other than PyTorch's allocator had of a device: what they had asked the driver for, and not given back. */
#ifndef VS_ANALYZE_LIBRARIES_H
#define VS_ANALYZE_LIBRARIES_H

#include "analyze/slice.h"

enum { VS_MOST_LIBRARIES = 256 }; /* of a device; of a file with more nothing is told */

/* Its usual name, "cuBLAS"; else the path of its file behind site-packages, or else the file's name. Borrowed from the path, or constant. */
vs_str vs_library_name(vs_str path);

typedef struct vs_library_use {
  vs_str name; /* several files of one name are one library */
  uint64_t bytes;
} vs_library_use;

typedef struct vs_library_file {
  uint64_t bytes;
  uint32_t path; /* string */
  size_t use;    /* of which it is a part */
} vs_library_file;

/* The rows of one device, taken one after another: the one rule of what they mean. A recording tells of every library from the row
 * that says so (is_told) until a call of the driver is missed, a name is lost, or there are too many libraries (is_missed, which is final).
 *
 * Invariant: the bytes of a use are the sum of its files, and `sum` that of all uses. */
typedef struct vs_library_fold {
  bool is_told, is_missed;
  uint64_t sum;
  VS_VEC(vs_library_file) files;
  VS_VEC(vs_library_use)
  uses; /* in the order in which they first took memory; 0 bytes for those that gave it back */
} vs_library_fold;

/* A fold starts as {.is_told = ...}: true where the rows are all there is of a device. `*use`: which one has other bytes now, or
 * SIZE_MAX. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_library_fold_row(const vs_host *host, const vs_snapshot *snapshot,
                                            const vs_library_memory *row, vs_library_fold *fold, size_t *use);
static inline bool vs_library_fold_is_complete(const vs_library_fold *fold) {
  return fold->is_told && !fold->is_missed;
}
/* All rows that a file has of the device. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_library_fold_device(const vs_host *host, const vs_snapshot *snapshot,
                                               int32_t device, vs_library_fold *fold);
void vs_library_fold_deinit(const vs_host *host, vs_library_fold *fold);

typedef struct vs_library_uses {
  bool
      is_complete; /* the file tells of every library that had memory; else it tells nothing, and the list is empty */
  VS_VEC(vs_library_use) list; /* with memory; the most bytes first, then by name */
} vs_library_uses;

/* At a moment of the slice; VS_AT_START is before its first event. Names are borrowed from the snapshot. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_libraries_at(const vs_host *host, const vs_slice *slice, vs_moment moment,
                                        vs_library_uses *out);
void vs_library_uses_deinit(const vs_host *host, vs_library_uses *uses);

#endif
