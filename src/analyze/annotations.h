/* Named ranges of the program (record_function), and the innermost one at a time.
 *
 * A START opens a range, an END closes the latest open one of its name; ends without an open range are ignored. The
 * file does not say which thread a range belongs to, so all form one stack: innermost is the open range that began
 * last. */
#ifndef VS_ANALYZE_ANNOTATIONS_H
#define VS_ANALYZE_ANNOTATIONS_H

#include "analyze/slice.h"

typedef struct vs_named_range {
  int64_t from_us;
  int64_t to_us;  /* INT64_MAX: never closed */
  uint32_t name;  /* string id */
  uint32_t depth; /* open ranges when it began */
} vs_named_range;

typedef struct vs_range_change {
  int64_t from_us; /* from here until the next change ... */
  uint32_t name;   /* ... this one is innermost; VS_STRING_NONE: none is open */
} vs_range_change;

typedef struct vs_named_ranges {
  VS_VEC(vs_named_range) ranges;   /* in order of their START */
  VS_VEC(vs_range_change) changes; /* rising times */
} vs_named_ranges;

/* Those of the slice's device; of every device for VS_DEVICE_HOST. Entries without a time are left out. */
VS_MUST_CHECK vs_status vs_named_ranges_build(const vs_host *host, const vs_slice *slice,
                                              vs_named_ranges *out);
void vs_named_ranges_deinit(const vs_host *host, vs_named_ranges *ranges);

/* The name (string id) of the innermost range open at a time; VS_STRING_NONE if none is, or for VS_NO_TIME. */
uint32_t vs_named_ranges_at(const vs_named_ranges *ranges, int64_t time_us);

#endif
