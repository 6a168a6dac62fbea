/* What libraries other than PyTorch's allocator took from the driver of a device over the time of a recording. Unlike vs_libraries_at it needs
 * no event of PyTorch's allocator, so it answers for programs without PyTorch, too. */
#ifndef VS_ANALYZE_LIBRARY_COURSE_H
#define VS_ANALYZE_LIBRARY_COURSE_H

#include "analyze/libraries.h"

typedef struct vs_library_row {
  vs_str name;                 /* as vs_library_name; several files of one name are one library */
  uint64_t now, peak, at_peak; /* bytes at the end, at its own peak, and at that of the sum */
} vs_library_row;

/* Invariant: `end` is the sum of the rows' `now`, `peak` that of their `at_peak`, and no row's `peak` is higher than `peak`. */
typedef struct vs_library_course {
  bool
      is_complete; /* the recording tells of every library; else it tells nothing, the list is empty and the sums are 0 */
  uint64_t end, peak;
  int64_t peak_us;             /* the first moment with `peak`; VS_NO_TIME */
  VS_VEC(vs_library_row) list; /* that ever had memory; by falling `at_peak`, then `peak`, then by name */
} vs_library_course;

/* `has_pytorch`: the recording has memory of PyTorch's allocator on this device, so it has to say that it tells of every library. Where it
 * has none, the libraries that it saw are all, unless it says otherwise. Names are borrowed from the snapshot. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_library_course_build(const vs_host *host, const vs_snapshot *snapshot,
                                                int32_t device, bool has_pytorch, vs_library_course *out);
void vs_library_course_deinit(const vs_host *host, vs_library_course *course);

/* The devices that libraries took memory of, rising, each once. Fails: VS_NO_MEMORY */
typedef VS_VEC(int32_t) vs_library_devices;
VS_MUST_CHECK vs_status vs_library_devices_list(const vs_host *host, const vs_snapshot *snapshot,
                                                vs_library_devices *out);

#endif
