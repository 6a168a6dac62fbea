/* Fragmentation over time: the sums of fragmentation.h at successive moments, and the bytes of free blocks by class of
 * size.
 *
 * Addresses are ranked once. The blocks of a moment are then bits over ranks, which are walked in order without
 * sorting. */
#ifndef VS_ANALYZE_HOLES_H
#define VS_ANALYZE_HOLES_H

#include "analyze/fragmentation.h"

typedef struct vs_holes_point {
  vs_moment moment;
  vs_holes holes; /* the same as `all` of a vs_fragmentation */
  uint64_t class_bytes[VS_HOLE_CLASSES];
} vs_holes_point;

/* Fills in points whose moments the caller has set; each is a moment of the trace or VS_AT_START. */
VS_MUST_CHECK vs_status vs_holes_course(const vs_host *host, const vs_moment_index *moments,
                                        vs_holes_point *points, size_t count);

#endif
