/* What bench_allocator_ours compares. */
#ifndef BENCH_ALLOCATOR_SIDES_H
#define BENCH_ALLOCATOR_SIDES_H

#include "measure.h"

extern const bench_side bench_bare, bench_live;

#endif
