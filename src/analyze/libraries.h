/* What libraries other than PyTorch's allocator had of a device at a moment: what they had asked the driver for, and not given back. */
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
