/* The legend of a picture: allocations (or segments) in groups, ordered by weight (bytes x moments).
 *
 * The first VS_LEGEND groups have a colour each, all others share one. The order does not depend on sizes at one
 * moment, so the legend is the same for every window of the trace. */
#ifndef VS_QUERY_COLOURS_H
#define VS_QUERY_COLOURS_H

#include "query/filter_bitmap.h"
#include "query/request.h"

enum { VS_LEGEND = 19 };

typedef struct vs_colour_group {
  uint64_t weight; /* bytes x moments; saturates */
  uint64_t count;
  uint64_t bytes_at_peak;
  uint64_t largest; /* bytes of the largest member, the first of equals, ... */
  uint32_t stack;   /* ... and its stack */
  uint32_t key;     /* see vs_group */
} vs_colour_group;

/* Invariant: of_row[row] = the smaller of VS_LEGEND and the index in `list` of the row's group, for rows that the
 * filter keeps; `list` is in falling order of weight, of equals by count, then in order of first appearance. */
typedef struct vs_colours {
  VS_VEC(char) filter;
  vs_group_by by;
  uint64_t weight; /* of all groups */
  VS_VEC(vs_colour_group) list;
  VS_VEC(uint16_t) of_row;
} vs_colours;

void vs_colours_deinit(const vs_host *host, vs_colours *colours);

/* The last two that were requested. */
typedef struct vs_colour_cache {
  vs_colours slots[2];
  bool is_built[2];
  uint8_t latest;
} vs_colour_cache;

void vs_colour_cache_deinit(const vs_host *host, vs_colour_cache *cache);

#endif
